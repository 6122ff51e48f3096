"""Where a memory lies, and what may be said about it."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from tests.services.stage import values

from amber.errors import AmberError, BadInput, NotFound, SchemaMismatch, Unsupported
from amber.memory import Memory


@pytest.mark.parametrize(
    "target",
    ["", " ", b"x.db", "sqlite:///x.db?durability", "sqlite:///x.db?timeout=soon", "sqlite:///x.db?timeout=nan", "sqlite:///x.db?timeout=-1",
     "sqlite:///x.db?timeout=inf", "sqlite:///x.db?colour=red", "sqlite:///x.db?durability=some", "sqlite://host/x.db", "sqlite:///x.db#part",
     "sqlite:///", "memory:x", "memory:?x=1", "file:x.db", "sqlite:///:memory:"],
)  # fmt: skip
def test_a_bad_target_is_refused(target: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput):
        Memory.open(target)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("scheme", ["postgresql://localhost/x", "redis://localhost", "https://example.org/x.db"])
def test_a_store_that_is_not_there_is_named(scheme: str) -> None:
    with pytest.raises(Unsupported, match=scheme.partition("://")[0]):
        Memory.open(scheme)


@pytest.mark.parametrize(
    "wrong",
    [
        {"space": ""},
        {"space": "x" * 201},
        {"space": "\0"},
        {"actor": ""},
        {"actor": 7},
        {"timeout": "x"},
        {"timeout": -1},
    ],
)
def test_a_bad_setting_is_refused(wrong: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(BadInput):
        Memory.open(tmp_path / "x.db", **wrong)
    assert list(tmp_path.iterdir()) == []


def test_the_ways_to_name_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a b%20c.db"
    monkeypatch.setenv("AMBER_DB", str(path))
    monkeypatch.setenv("AMBER_SPACE", "mine")
    quoted = str(path).replace("%", "%25").replace(" ", "%20")
    for number, target in enumerate((None, path, str(path), f"sqlite:///{quoted}?durability=full&timeout=5")):
        with Memory.open(target) as memory:
            assert memory.space == "mine"
            assert memory.facts.count() == number
            memory.facts.put(number)
    with Memory.open(path, space="other") as memory:
        assert memory.facts.count() == 0


def test_what_was_written_is_there_again(tmp_path: Path) -> None:
    path = tmp_path / "amber.db"
    with Memory.open(path) as memory:
        with memory.transaction() as tx:
            for number in range(1_000):
                tx.facts.put(f"fact {number}")
        hits = [hit.id for hit in memory.recall("fact 7")]
    for _ in range(2):
        with Memory.open(path) as memory:
            assert memory.facts.count() == 1_000
            assert [hit.id for hit in memory.recall("fact 7")] == hits
            assert memory.verify() == []


def test_a_connection_stays_the_callers(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "own.db", isolation_level=None)
    connection.execute("CREATE TABLE own (n)")
    with Memory.open(connection) as memory:
        memory.facts.put("kept")
        connection.execute("BEGIN")
        connection.execute("INSERT INTO own VALUES (1)")
        memory.facts.put("dropped with the caller's row")
        assert memory.facts.count() == 2
        connection.execute("ROLLBACK")
        assert values(memory) == ["kept"]
        assert memory.history.position() == 1
        assert memory.verify() == []
    assert connection.execute("SELECT count(*) FROM own").fetchone() == (0,)
    connection.close()


def test_a_file_of_something_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but something of mine " * 100)
    with pytest.raises(AmberError):
        Memory.open(path)
    assert path.read_text().startswith("not a database")


def test_opening_without_making_makes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "memory.db"
    with pytest.raises(NotFound):
        Memory.open(path, create=False)
    assert not path.parent.exists()
    with Memory.open(path) as made:
        made.facts.put("a")
    with Memory.open(path, create=False) as memory:
        assert values(memory) == ["a"]


def test_a_database_of_something_else_is_left_alone_when_nothing_may_be_made(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE books (title TEXT)")
    other.commit()
    other.close()
    before = path.read_bytes()
    with pytest.raises(NotFound):
        Memory.open(path, create=False)
    assert path.read_bytes() == before


@pytest.mark.parametrize("option", [{"durability": "full"}, {"timeout": 3}])
def test_a_connection_keeps_its_own_settings(option: dict[str, Any]) -> None:
    connection = sqlite3.connect(":memory:")
    with pytest.raises(BadInput):
        Memory.open(connection, **option)
    connection.close()


def test_tables_that_were_rolled_back_are_named(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "app.db", isolation_level=None)
    connection.execute("BEGIN")
    memory = Memory.open(connection)
    memory.facts.put("a")
    connection.execute("ROLLBACK")
    with pytest.raises(SchemaMismatch, match="Open it again"):
        memory.facts.put("b")
    with Memory.open(connection) as again:
        again.facts.put("b")
        assert values(again) == ["b"]
    connection.close()
