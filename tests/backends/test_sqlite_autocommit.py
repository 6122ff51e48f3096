"""The ways in which a connection of the caller's begins transactions: by itself, never, and (Python 3.12) always."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.backends.conftest import Open

from amber.errors import Unsupported
from amber.testing.samples import Hand

MODES: dict[str, dict[str, Any]] = {
    "deferred": {},
    "immediate": {"isolation_level": "IMMEDIATE"},
    "none": {"isolation_level": None},
}
if sys.version_info >= (3, 12):
    MODES |= {"autocommit": {"autocommit": True}, "always": {"autocommit": False}}


@pytest.fixture
def file(path: Path) -> Path:
    return path.with_name("own.db")


@pytest.fixture(params=MODES)
def own(request: pytest.FixtureRequest, file: Path) -> Iterator[sqlite3.Connection]:
    """Give a connection of each mode, with a table of the caller's."""
    connection: sqlite3.Connection = sqlite3.connect(file, **MODES[request.param])
    connection.execute("CREATE TABLE own (value TEXT)")
    connection.commit()
    yield connection
    connection.close()


def rows(path: Path, table: str) -> int:
    """Count what another connection sees."""
    other = sqlite3.connect(path)
    try:
        count: int = other.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    finally:
        other.close()
    return count


def test_it_commits_when_the_caller_has_nothing_open(own: sqlite3.Connection, open_store: Open, file: Path) -> None:
    hand = Hand(open_store(own))
    waits = own.in_transaction
    hand.put("a", name="one", text="zebra")
    assert own.in_transaction is waits
    own.commit()
    assert rows(file, "amber_facts") == 1
    assert hand.body("a")["name"] == "one"
    assert hand.store.verify() == []


def test_it_goes_with_what_the_caller_has_open(own: sqlite3.Connection, open_store: Open, file: Path) -> None:
    hand = Hand(open_store(own))
    own.commit()
    for end in ("rollback", "commit"):
        if not own.in_transaction:
            own.execute("BEGIN")
        own.execute("INSERT INTO own VALUES ('mine')")
        hand.put(end, name=end, text="zebra")
        assert hand.body(end)["name"] == end
        assert rows(file, "own") == 0
        # commit() and rollback() do nothing on a connection with autocommit=True
        own.execute(end.upper())
    assert rows(file, "own") == rows(file, "amber_facts") == 1
    assert hand.keys("name") == ["commit"]
    assert hand.store.verify() == []


def test_a_scrub_says_how_it_can_run(own: sqlite3.Connection, open_store: Open) -> None:
    store = open_store(own)
    own.commit()
    if own.in_transaction:
        with pytest.raises(Unsupported, match="autocommit = True"):
            store.scrub()
        own.autocommit = True  # type: ignore[attr-defined, unused-ignore]
    assert store.scrub().steps >= 0
