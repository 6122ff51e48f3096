"""A search costs what its own space holds: the rows of other tenants, with the same words, are not looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.backends.conftest import Open

from amber.backends.sqlite import SQLiteStore, text
from amber.model import batch as b
from amber.store.contract import Clause, SearchFilter
from amber.testing.samples import SPACE, Hand

F = "facts"
CLAUSES = [Clause(("word",), 1), Clause(("rare",), 5), Clause(("word", "other"), 2)]


@pytest.fixture(autouse=True)
def nothing_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The few rows that wait for FTS5, of all spaces together, are another cost (at most ``PENDING`` rows)."""
    monkeypatch.setattr(text, "PENDING", 1)


def steps(store: SQLiteStore, work: Callable[[], Any]) -> int:
    """Count the steps of SQLite's machine, all postings merged: how many segments there are depends on how many
    commits there were lately, whosever."""
    while not store.scrub().done:
        pass
    work()
    connection = store._connections._reader().connection
    done = [0]

    def count() -> int:
        done[0] += 1
        return 0

    connection.set_progress_handler(count, 1)
    try:
        work()
    finally:
        connection.set_progress_handler(None, 1)
    return done[0]


def fill(store: SQLiteStore, space: str, count: int) -> None:
    texts = [f"word other {'rare' if n % 10 == 0 else ''} w{n}" for n in range(count)]
    writes = [b.Put(F, f"k{n}", {"text": text, "sender": f"s{n % 3}"}) for n, text in enumerate(texts)]
    Hand(store, space=space).send(*writes)


READS: dict[str, Callable[[SQLiteStore], Any]] = {
    "stats": lambda store: store.text_stats(SPACE, ["word", "rare", "none"]),
    "candidates": lambda store: store.candidates(SPACE, CLAUSES, SearchFilter(), also=["w3"]),
    "the best candidates": lambda store: store.candidates(SPACE, CLAUSES, SearchFilter(), limit=7),
    "narrowed candidates": lambda store: store.candidates(SPACE, CLAUSES, SearchFilter(sender="s1")),
    "a page of texts": lambda store: store.texts(SPACE, limit=10),
    "the last texts": lambda store: store.texts(SPACE, after=(F, "k9"), limit=10),
    "changes": lambda store: store.text_changes(SPACE, (1, 30), limit=20),
    "no changes": lambda store: store.text_changes(SPACE, (2, 0)),
}


@pytest.mark.parametrize("name", READS)
def test_other_tenants_cost_nothing(open_store: Open, name: str) -> None:
    store = open_store()
    fill(store, "before", 300)
    fill(store, SPACE, 60)
    alone, found = steps(store, lambda: READS[name](store)), READS[name](store)
    for tenant in range(30):
        fill(store, f"tenant-{tenant}", 120)
    assert READS[name](store) == found
    among_others = steps(store, lambda: READS[name](store))
    assert among_others <= alone * 1.1 + 60, (alone, among_others)
    # the count does tell when more is looked at
    fill_more = [b.Put(F, f"k{n}", {"text": "word other rare"}) for n in range(60, 400)]
    Hand(store).send(*fill_more)
    if name in ("candidates", "the best candidates"):
        assert steps(store, lambda: READS[name](store)) > 2 * alone
