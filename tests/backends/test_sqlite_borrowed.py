"""A connection of the caller's own: used, never changed, never closed."""

from __future__ import annotations

import sqlite3
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.backends.conftest import Open, closing_connection

from amber.errors import BadInput, Closed, TimedOut, Unsupported
from amber.model import batch as b
from amber.store.contract import Clause, LogQuery, SearchFilter, Selection
from amber.testing.samples import SPACE, Hand, snapshot


def as_dict(cursor: sqlite3.Cursor, row: tuple[Any, ...]) -> dict[str, Any]:
    """Give a row as a dict, as many applications have it."""
    return {column[0]: value for column, value in zip(cursor.description, row, strict=True)}


def use(hand: Hand) -> None:
    """Call everything that reads or writes."""
    store = hand.store
    hand.put("a", type="t", size=1, name="n", labels=["l"], text="some words", payload={"x": 1}, uses=1)
    hand.put("b", type="t", size=2, name="n", labels=["l"], text="some words", payload={"x": 1})
    hand.put("j", "jobs", due=1)
    assert len(store.claim(SPACE, "work", 5, lease=10, now=5)) == 1
    assert store.due_spaces("work", 50) == [SPACE]
    assert store.get_many(SPACE, "facts", ["a"])["a"].body["size"] == 1
    assert hand.keys("size", ("t",)) == hand.keys("label", ("l",)) == ["a", "b"]
    assert hand.keys("size", ("t",), where=((("size",), 1),)) == ["a"]
    assert len(store.lookup(SPACE, "facts", ((("payload", "x"), 1),)).rows) == 2
    assert store.count(SPACE, "facts", "name") == 2
    assert store.total(SPACE, "facts", "name", field="uses") == 1
    assert store.text_stats(SPACE, ["words"]) == (2, 2.0, {"words": 2})
    assert len(store.candidates(SPACE, [Clause(("words",), 1)], SearchFilter(since=0))) == 2
    assert len(store.log(SPACE, LogQuery(key=("facts", "a")))) == 1
    assert store.position_at(SPACE, 10**17) == store.position(SPACE) == 3
    assert store.purge(SPACE, Selection("facts", ("b",)), now=5).documents == 1
    assert store.verify() == []
    assert store.spaces() == [SPACE]
    assert store.stats(SPACE).documents["facts"] == 1


@pytest.mark.parametrize("factory", [None, sqlite3.Row, as_dict])
@pytest.mark.parametrize("nested", [False, True])
def test_everything_works_with_every_row_factory(
    connection: sqlite3.Connection, open_store: Open, factory: Any, nested: bool
) -> None:
    connection.row_factory = factory
    store = open_store(connection)
    if nested:
        connection.execute("INSERT INTO own VALUES ('mine')")
    use(Hand(store))
    assert connection.row_factory is factory
    assert connection.in_transaction is nested
    if nested:
        connection.commit()
    assert store.scrub().done or store.scrub().remaining
    row = connection.execute("SELECT 1 AS one").fetchone()
    assert (row["one"] if factory else row[0]) == 1


def test_it_is_never_closed(connection: sqlite3.Connection, open_store: Open) -> None:
    store = open_store(connection)
    Hand(store).put("a", name="one")
    store.close()
    with pytest.raises(Closed):
        store.get(SPACE, "facts", "a")
    assert connection.execute("SELECT count(*) FROM amber_facts").fetchone() == (1,)


def test_it_keeps_its_settings(connection: sqlite3.Connection, open_store: Open) -> None:
    names = ("journal_mode", "synchronous", "foreign_keys", "secure_delete", "busy_timeout", "auto_vacuum")
    connection.execute("PRAGMA foreign_keys = ON")
    before = [connection.execute(f"PRAGMA {name}").fetchone() for name in names]
    levels = (connection.isolation_level, connection.text_factory)
    use(Hand(open_store(connection)))
    assert [connection.execute(f"PRAGMA {name}").fetchone() for name in names] == before
    assert (connection.isolation_level, connection.text_factory) == levels


def test_it_declares_that_it_enlists(connection: sqlite3.Connection, open_store: Open) -> None:
    assert open_store(connection).capabilities.enlists is True
    assert open_store().capabilities.enlists is False


def test_a_rollback_of_the_caller_takes_the_work_along(connection: sqlite3.Connection, open_store: Open) -> None:
    store = open_store(connection)
    hand = Hand(store)
    hand.put("a", name="one", text="word")
    before = snapshot(store)
    connection.execute("INSERT INTO own VALUES ('mine')")
    hand.put("a", name="two", text="other")
    hand.send(b.Put("facts", "x", {}), space="vanishing")
    assert store.get("vanishing", "facts", "x") is not None
    connection.rollback()
    assert snapshot(store) == before
    assert store.get("vanishing", "facts", "x") is None
    hand.send(b.Put("facts", "y", {}), space="another")
    assert store.get("vanishing", "facts", "y") is None
    assert connection.execute("SELECT * FROM own").fetchall() == []
    assert store.verify() == []


def test_a_commit_of_the_caller_keeps_both(connection: sqlite3.Connection, open_store: Open, tmp_path: Path) -> None:
    store = open_store(connection)
    connection.execute("INSERT INTO own VALUES ('mine')")
    Hand(store).put("a", name="one")
    with closing_connection(tmp_path / "own.db") as other:
        assert other.execute("SELECT count(*) FROM amber_facts").fetchone() == (0,)
        connection.commit()
        assert other.execute("SELECT count(*) FROM amber_facts").fetchone() == (1,)
        assert other.execute("SELECT count(*) FROM own").fetchone() == (1,)


def test_a_refused_batch_leaves_the_rows_of_the_caller(connection: sqlite3.Connection, open_store: Open) -> None:
    hand = Hand(open_store(connection))
    hand.put("a", name="one")
    connection.execute("INSERT INTO own VALUES ('mine')")
    with pytest.raises(BadInput):
        hand.send(b.Put("facts", "b", {}), b.Put("facts", "c", {"name": 5}))
    with pytest.raises(Exception, match="exists already"):
        hand.send(b.Put("facts", "b", {}), b.Append("facts", "a", {}))
    connection.commit()
    assert connection.execute("SELECT * FROM own").fetchall() == [("mine",)]
    assert hand.absent("b")


def test_without_a_transaction_it_makes_its_own(
    connection: sqlite3.Connection, open_store: Open, tmp_path: Path
) -> None:
    hand = Hand(open_store(connection))
    hand.put("a", name="one")
    assert connection.in_transaction is False
    with closing_connection(tmp_path / "own.db") as other:
        assert other.execute("SELECT count(*) FROM amber_facts").fetchone() == (1,)


def test_savepoints_of_the_caller_work(connection: sqlite3.Connection, open_store: Open) -> None:
    hand = Hand(open_store(connection))
    connection.execute("BEGIN")
    hand.put("a", name="one")
    connection.execute("SAVEPOINT amber")
    hand.put("b", name="two")
    connection.execute("ROLLBACK TO amber")
    connection.execute("COMMIT")
    assert hand.keys("name") == ["a"]


def modes() -> list[dict[str, Any]]:
    """Give the ways in which this Python's connections may begin transactions."""
    known: list[dict[str, Any]] = [{"isolation_level": level} for level in ("", None, "IMMEDIATE", "EXCLUSIVE")]
    if sys.version_info >= (3, 12):
        known += [{"autocommit": mode} for mode in (True, False, sqlite3.LEGACY_TRANSACTION_CONTROL)]
    return known


@pytest.mark.parametrize("mode", modes(), ids=str)
def test_every_way_of_beginning_transactions(open_store: Open, tmp_path: Path, mode: dict[str, Any]) -> None:
    own = sqlite3.connect(tmp_path / "own.db", **mode)
    try:
        store = open_store(own)
        inside = own.in_transaction
        use(Hand(store))
        assert own.in_transaction is inside
        if inside:
            own.commit()
        with closing_connection(tmp_path / "own.db") as other:
            assert other.execute("SELECT count(*) FROM amber_facts").fetchone() == (1,)
    finally:
        own.close()


def test_another_thread_gets_a_typed_error(connection: sqlite3.Connection, open_store: Open) -> None:
    store = open_store(connection)
    found: list[BaseException] = []

    def call() -> None:
        for work in (lambda: store.get(SPACE, "facts", "a"), lambda: Hand(store).put("a", name="one")):
            try:
                work()
            except BaseException as error:
                found.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    assert [type(error) for error in found] == [Unsupported, Unsupported]


def test_threads_may_share_one_that_allows_it(open_store: Open, tmp_path: Path) -> None:
    own = sqlite3.connect(tmp_path / "own.db", check_same_thread=False)
    try:
        store = open_store(own)
        writes = [b.Add("facts", "a", "n", 1, initial={"name": "n"})]

        def bump(name: int) -> None:
            for number in range(20):
                store.commit(b.Batch(SPACE, f"{name}-{number}", 1, tuple(writes)))
                store.get(SPACE, "facts", "a")

        threads = [threading.Thread(target=bump, args=(name,)) for name in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert Hand(store).body("a")["n"] == 80
    finally:
        own.close()


def test_what_can_not_be_used_is_refused(open_store: Open, tmp_path: Path) -> None:
    own = sqlite3.connect(tmp_path / "own.db")
    own.text_factory = bytes
    try:
        with pytest.raises(Unsupported, match="text_factory"):
            open_store(own)
        own.text_factory = str
        open_store(own)
    finally:
        own.close()
    with pytest.raises((BadInput, Closed)):
        open_store(own)


def test_one_that_was_closed_meanwhile_gives_a_typed_error(open_store: Open, tmp_path: Path) -> None:
    own = sqlite3.connect(tmp_path / "own.db")
    store = open_store(own)
    own.close()
    for call in (lambda: store.get(SPACE, "facts", "a"), lambda: Hand(store).put("a", name="one"), store.scrub):
        with pytest.raises(Closed):
            call()


def test_a_scrub_inside_the_transaction_of_the_caller_is_refused(
    connection: sqlite3.Connection, open_store: Open
) -> None:
    store = open_store(connection)
    connection.execute("INSERT INTO own VALUES ('mine')")
    with pytest.raises(Unsupported, match="outside"):
        store.scrub()


def test_a_lock_of_somebody_else_gives_a_typed_error(open_store: Open, tmp_path: Path) -> None:
    own = sqlite3.connect(tmp_path / "own.db", timeout=0.1)
    try:
        hand = Hand(open_store(own))
        with closing_connection(tmp_path / "own.db") as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(TimedOut):
                hand.put("a", name="one")
            own.execute("BEGIN")
            with pytest.raises(TimedOut):
                hand.put("a", name="one")
            assert own.in_transaction
            own.rollback()
            other.rollback()
        hand.put("a", name="one")
    finally:
        own.close()
