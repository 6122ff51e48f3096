"""Where a memory lies, and what may be said about it."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from tests.services.stage import Open, values

from amber.errors import AmberError, BadInput, NotFound, SchemaMismatch, Unsupported


@pytest.mark.parametrize(
    "target",
    ["", " ", b"x.db", "sqlite:///x.db?durability", "sqlite:///x.db?timeout=soon", "sqlite:///x.db?timeout=nan", "sqlite:///x.db?timeout=-1",
     "sqlite:///x.db?timeout=inf", "sqlite:///x.db?colour=red", "sqlite:///x.db?durability=some", "sqlite://host/x.db", "sqlite:///x.db#part",
     "sqlite:///", "memory:x", "memory:?x=1", "file:x.db", "sqlite:///:memory:"],
)  # fmt: skip
def test_a_bad_target_is_refused(open_at: Open, target: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput):
        open_at(target)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("scheme", ["mysql://localhost/x", "https://example.org/x.db"])
def test_a_store_that_is_not_there_is_named(open_at: Open, scheme: str) -> None:
    with pytest.raises(Unsupported, match=scheme.partition("://")[0]):
        open_at(scheme)


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
def test_a_bad_setting_is_refused(open_at: Open, wrong: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(BadInput):
        open_at(tmp_path / "x.db", **wrong)
    assert list(tmp_path.iterdir()) == []


def test_the_ways_to_name_a_file(open_at: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a b%20c.db"
    monkeypatch.setenv("AMBER_DB", str(path))
    monkeypatch.setenv("AMBER_SPACE", "mine")
    quoted = str(path).replace("%", "%25").replace(" ", "%20")
    for number, target in enumerate((None, path, str(path), f"sqlite:///{quoted}?durability=full&timeout=5")):
        with open_at(target) as memory:
            assert memory.space == "mine"
            assert memory.facts.count() == number
            memory.facts.put(number)
    with open_at(path, space="other") as memory:
        assert memory.facts.count() == 0


def test_what_was_written_is_there_again(open_at: Open, tmp_path: Path) -> None:
    path = tmp_path / "amber.db"
    with open_at(path) as memory:
        with memory.transaction() as tx:
            for number in range(1_000):
                tx.facts.put(f"fact {number}")
        hits = [hit.id for hit in memory.recall("fact 7")]
    for _ in range(2):
        with open_at(path) as memory:
            assert memory.facts.count() == 1_000
            assert [hit.id for hit in memory.recall("fact 7")] == hits
            assert memory.verify() == []


def test_a_connection_stays_the_callers(open_at: Open, tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "own.db", isolation_level=None, check_same_thread=False)
    connection.execute("CREATE TABLE own (n)")
    with open_at(connection) as memory:
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


def test_a_file_of_something_else_is_left_alone(open_at: Open, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but something of mine " * 100)
    with pytest.raises(AmberError):
        open_at(path)
    assert path.read_text().startswith("not a database")


def test_opening_without_making_makes_nothing(open_at: Open, tmp_path: Path) -> None:
    path = tmp_path / "folder" / "memory.db"
    with pytest.raises(NotFound):
        open_at(path, create=False)
    assert not path.parent.exists()
    with open_at(path) as made:
        made.facts.put("a")
    with open_at(path, create=False) as memory:
        assert values(memory) == ["a"]


def test_a_database_of_something_else_is_left_alone_when_nothing_may_be_made(open_at: Open, tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE books (title TEXT)")
    other.commit()
    other.close()
    before = path.read_bytes()
    with pytest.raises(NotFound):
        open_at(path, create=False)
    assert path.read_bytes() == before


@pytest.mark.parametrize("option", [{"durability": "full"}, {"timeout": 3}])
def test_a_connection_keeps_its_own_settings(open_at: Open, option: dict[str, Any]) -> None:
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    with pytest.raises(BadInput):
        open_at(connection, **option)
    connection.close()


def test_tables_that_were_rolled_back_are_named(open_at: Open, tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "app.db", isolation_level=None, check_same_thread=False)
    connection.execute("BEGIN")
    memory = open_at(connection)
    memory.facts.put("a")
    connection.execute("ROLLBACK")
    with pytest.raises(SchemaMismatch, match="Open it again"):
        memory.facts.put("b")
    with open_at(connection) as again:
        again.facts.put("b")
        assert values(again) == ["b"]
    connection.close()
