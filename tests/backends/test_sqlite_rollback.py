"""Any exception inside a write leaves nothing of it, wherever it comes from."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.backends.conftest import Open
from tests.crash import work

from amber.errors import Unavailable
from amber.model import batch as b
from amber.store import faults
from amber.store.contract import Selection
from amber.testing.samples import SPACE, Hand, snapshot

AtPoint = Callable[[str, BaseException], None]
COMMIT = [point for point in faults.POINTS if point.startswith("commit:")]
PURGE = [point for point in faults.POINTS if point.startswith("purge:")]
ERRORS: list[BaseException] = [RuntimeError("injected"), KeyboardInterrupt(), MemoryError(), SystemExit(3)]


@pytest.mark.parametrize("point", COMMIT)
@pytest.mark.parametrize("error", ERRORS, ids=repr)
def test_a_commit(path: Path, open_store: Open, at_point: AtPoint, point: str, error: BaseException) -> None:
    work.fill(path)
    store = open_store(analyzer="1")
    before = snapshot(store)
    at_point(point, error)
    with pytest.raises(type(error)):
        store.commit(b.Batch(SPACE, "the batch", 1, work.BATCHES["many"]))
    faults.install(None)
    done = point == "commit:after-commit"
    assert (snapshot(store) == before) is not done
    receipt = store.commit(b.Batch(SPACE, "the batch", 1, work.BATCHES["many"]))
    assert receipt.repeated is done
    assert store.verify() == []


@pytest.mark.parametrize("point", PURGE)
def test_a_purge(path: Path, open_store: Open, at_point: AtPoint, point: str) -> None:
    work.fill(path)
    store = open_store(analyzer="1")
    before = snapshot(store)
    at_point(point, RuntimeError("injected"))
    with pytest.raises(RuntimeError, match="injected"):
        store.purge(SPACE, Selection("facts", ("a", "b")), now=1)
    faults.install(None)
    assert (snapshot(store) == before) is (point != "purge:after-commit")
    store.purge(SPACE, Selection("facts", ("a", "b")), now=1)
    assert store.verify() == []


@pytest.mark.parametrize("point", ["migrate:begun", "migrate:before-commit"])
def test_an_open(open_store: Open, at_point: AtPoint, point: str) -> None:
    at_point(point, RuntimeError("injected"))
    with pytest.raises(RuntimeError, match="injected"):
        open_store()
    faults.install(None)
    store = open_store()
    Hand(store).put("a", name="one")
    assert store.verify() == []


@pytest.mark.parametrize("point", ["commit:begun", "commit:document", "commit:before-commit"])
@pytest.mark.parametrize("nested", [False, True])
def test_a_commit_on_a_connection_of_the_caller(
    connection: sqlite3.Connection, open_store: Open, at_point: AtPoint, point: str, nested: bool
) -> None:
    store = open_store(connection)
    connection.commit()
    hand = Hand(store)
    hand.put("a", name="one")
    before = snapshot(store)
    if nested:
        connection.execute("INSERT INTO own VALUES ('mine')")
    at_point(point, RuntimeError("injected"))
    with pytest.raises(RuntimeError, match="injected"):
        hand.put("b", name="two")
    faults.install(None)
    assert snapshot(store) == before
    assert connection.in_transaction is nested
    if nested:
        connection.commit()
        assert connection.execute("SELECT value FROM own").fetchall() == [("mine",)]
    hand.put("b", name="two")


@pytest.mark.parametrize("code", [sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR])
def test_an_error_of_the_disk_is_typed(open_store: Open, at_point: AtPoint, code: int) -> None:
    store = open_store()
    hand = Hand(store)
    hand.put("a", name="one")
    error: Any = sqlite3.OperationalError("the disk")
    error.sqlite_errorcode = code
    at_point("commit:log", error)
    with pytest.raises(Unavailable, match="disk") as caught:
        hand.put("b", name="two")
    assert caught.value.retry == "wait"
    faults.install(None)
    assert hand.put("b", name="two") == 2


def test_a_full_disk_leaves_nothing(open_store: Open) -> None:
    store = open_store()
    hand = Hand(store)
    hand.put("a", name="one")
    before = snapshot(store)
    pages = store._connections.writer.execute("PRAGMA page_count").fetchone()[0]
    store._connections.writer.execute(f"PRAGMA max_page_count = {pages + 3}")
    with pytest.raises(Unavailable, match="full"):
        hand.put("b", text="long word " * 20_000)
    assert snapshot(store) == before
    store._connections.writer.execute("PRAGMA max_page_count = 1000000")
    hand.put("b", text="long word " * 20_000)
    assert store.verify() == []
