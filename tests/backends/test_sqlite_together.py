"""Writes that wait for one another share a transaction, and no one's error is another's."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from tests.backends.conftest import Open

from amber.backends.sqlite import SQLiteStore
from amber.errors import Closed, Conflict, Unavailable
from amber.model.batch import Absent, Append, Batch, Put, Write
from amber.store import faults
from amber.store.contract import Receipt

Send = Callable[..., "Future[Receipt]"]


class Passed:
    """Note the fault points that are passed, and do something at one of them."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.act: Callable[[str], None] = lambda _: None
        faults.install(self)

    def __call__(self, name: str) -> None:
        self.names.append(name)
        self.act(name)

    def count(self, name: str) -> int:
        return self.names.count(name)


@pytest.fixture
def passed() -> Iterator[Passed]:
    yield Passed()
    faults.install(None)


def batch(n: int, *writes: Write, **more: Any) -> Batch:
    given = writes or (Append("facts", f"k{n}", {"name": f"n{n}", "text": f"word{n}"}),)
    return Batch("main", more.pop("operation", f"op{n}"), 1_000 + n, given, **more)


def held_back(store: SQLiteStore, batches: list[Batch]) -> list[Future[Receipt]]:
    """Commit batches in threads that all wait for the writer, and let them go together."""
    pool = ThreadPoolExecutor(len(batches))
    waiting = store._connections._waiting
    with store._connections.lock:
        futures = [pool.submit(store.commit, each) for each in batches]
        end = time.monotonic() + 10
        while len(waiting) < len(batches) and time.monotonic() < end:
            time.sleep(0.001)
    pool.shutdown(wait=True)
    return futures


def test_those_that_wait_share_one_transaction(open_store: Open, passed: Passed) -> None:
    store = open_store()
    receipts = [future.result() for future in held_back(store, [batch(n) for n in range(8)])]
    assert passed.count("commit:begun") == passed.count("commit:after-commit") == 1
    assert sorted(each.position or 0 for each in receipts) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert not any(each.repeated for each in receipts)
    assert store.verify() == []


def test_a_refused_one_takes_nobody_along(open_store: Open, passed: Passed) -> None:
    store = open_store()
    store.commit(batch(99))
    batches = [batch(n) for n in range(6)]
    batches[2] = batch(2, expectations=(Absent("facts", "k99"),))
    batches[4] = batch(4, Put("facts", "half", {"name": "half"}), Append("facts", "k99", {"name": "again"}))
    futures = held_back(store, batches)
    assert [type(future.exception()) for future in futures] == [
        Conflict if n in (2, 4) else type(None) for n in range(6)
    ]
    assert passed.count("commit:begun") == 2
    assert store.get("main", "facts", "half") is None
    assert store.get("main", "facts", "k2") is None
    assert store.position("main") == 5
    assert store.verify() == []


def test_the_same_operation_counts_once(open_store: Open) -> None:
    store = open_store()
    futures = held_back(store, [batch(n, operation="same") for n in range(5)])
    receipts = [future.result() for future in futures]
    assert [each.position for each in receipts] == [1] * 5
    assert sorted(each.repeated for each in receipts) == [False, True, True, True, True]
    assert store.stats("main").documents["facts"] == 1


def test_what_a_disk_has_no_room_for_fails_alone(open_store: Open) -> None:
    store = open_store()
    store.commit(batch(99))
    writer = store._connections.writer
    pages = writer.execute("PRAGMA page_count").fetchone()[0]
    writer.execute(f"PRAGMA max_page_count = {pages + 8}")
    batches = [batch(n) for n in range(4)]
    batches[1] = batch(1, Put("facts", "big", {"name": "big", "text": "long word " * 40_000}))
    futures = held_back(store, batches)
    assert isinstance(futures[1].exception(), Unavailable)
    assert [futures[n].result().repeated for n in (0, 2, 3)] == [False] * 3
    writer.execute("PRAGMA max_page_count = 1000000")
    assert store.verify() == []


def test_an_interrupt_of_the_leader_leaves_the_others_to_the_next(open_store: Open, passed: Passed) -> None:
    store = open_store()
    interrupted: list[int] = []

    def once(name: str) -> None:
        if name == "commit:before-commit" and not interrupted:
            interrupted.append(threading.get_ident())
            raise KeyboardInterrupt

    passed.act = once
    futures = held_back(store, [batch(n) for n in range(6)])
    errors = [future.exception() for future in futures]
    assert [type(error) for error in errors].count(KeyboardInterrupt) == 1
    assert sum(error is None for error in errors) == 5
    there = [store.get("main", "facts", f"k{n}") is not None for n in range(6)]
    assert there == [error is None for error in errors]
    assert store.position("main") == 5
    assert store.verify() == []


def test_the_others_get_their_time_out_too(open_store: Open) -> None:
    store = open_store(timeout=0.2)
    store.commit(batch(99))
    other = sqlite3.connect(store._connections.path or "", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    start = time.monotonic()
    futures = held_back(store, [batch(n) for n in range(8)])
    assert {getattr(future.exception(), "code", None) for future in futures} == {"timeout"}
    assert time.monotonic() - start < 1.0
    other.execute("ROLLBACK")
    other.close()
    assert store.commit(batch(0)).position == 2


def test_who_waits_when_the_store_closes_is_told(open_store: Open) -> None:
    store = open_store()
    waiting = store._connections._waiting
    pool = ThreadPoolExecutor(2)
    with store._connections.lock:
        futures = [pool.submit(store.commit, batch(n)) for n in range(2)]
        while len(waiting) < 2:
            time.sleep(0.001)
        store.close()
    pool.shutdown(wait=True)
    assert all(isinstance(future.exception(), Closed) for future in futures)
    assert open_store().position("main") == 0
