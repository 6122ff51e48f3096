"""Files of earlier days open with the code of today, and hold the same: case 19."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from tests.migrations import day

from amber.backends.sqlite import schema
from amber.errors import SchemaMismatch, UniqueViolation, Unsupported
from amber.memory import Memory
from amber.store import faults
from amber.testing.crash import killed_at

DAYS = sorted(path.name.removesuffix(".db.gz") for path in day.HERE.glob("*.db.gz"))
MIGRATE = [point for point in faults.POINTS if point.startswith(("migrate:", "backup:"))]


def expected(name: str) -> Any:
    return json.loads(gzip.decompress((day.HERE / f"{name}.json.gz").read_bytes()))


def unpacked(name: str, folder: Path) -> Path:
    path = folder / "memory.db"
    path.write_bytes(gzip.decompress((day.HERE / f"{name}.db.gz").read_bytes()))
    return path


@pytest.fixture(params=DAYS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def path(name: str, tmp_path: Path) -> Path:
    """Give a copy of the file of a day."""
    return unpacked(name, tmp_path)


@pytest.fixture
def v1(tmp_path: Path) -> Path:
    """Give a copy of the first file, which the code of today has to migrate."""
    return unpacked("v1", tmp_path)


def version_of(path: Path) -> int:
    connection = sqlite3.connect(path)
    try:
        return int(connection.execute("SELECT value FROM amber_meta WHERE name = 'schema'").fetchone()[0])
    finally:
        connection.close()


def opened(path: str | Path, space: str = "acme", now: int = 2 * 10**15) -> Memory:
    """Open a memory with a clock that stands still."""
    return Memory.open(path, space=space, clock=lambda: now)


def check(path: Path, name: str) -> None:
    """Compare all that was seen on a day with what is seen now."""
    known = expected(name)
    for space, seen in known["spaces"].items():
        with opened(path, space, known["now"]) as memory:
            assert memory.verify() == []
            now = day.observe(memory)
            for what, value in seen.items():
                assert now[what] == value, (space, what)
            assert now.keys() >= seen.keys()


def test_there_is_a_file_for_each_schema() -> None:
    assert [f"v{n}" for n in range(1, schema.VERSION + 1)] == DAYS
    assert sum(path.stat().st_size for path in day.HERE.iterdir() if path.suffix == ".gz") < 200_000


def test_the_same_facts_history_and_hits(path: Path, name: str) -> None:
    before = version_of(path)
    assert before == int(name.removeprefix("v"))
    check(path, name)
    assert version_of(path) == schema.VERSION
    # and once more, now that it was migrated
    check(path, name)


def test_it_goes_on(path: Path, name: str) -> None:
    position = expected(name)["spaces"]["acme"]["position"]
    with opened(path) as memory:
        with pytest.raises(UniqueViolation):
            memory.facts.put({"email": "a@b.io"}, type="preference", sender="else")
        memory.facts.put("Faro", sender="ana", key="city")
        assert memory.history.position() == position + 1
        memory.history.undo(last=1)
        memory.history.undo(last=3, force=True)
        memory.history.redo(force=True)
        memory.history.trim(keep=10)
        assert memory.verify() == []
        copy = path.with_name("copy.db")
        memory.export(path.with_name("e.jsonl"))
        with opened(copy) as other:
            assert other.load(path.with_name("e.jsonl")).intact
            assert day.all_facts(other) == day.all_facts(memory)


def test_a_copy_is_made_first(v1: Path) -> None:
    with opened(v1) as memory:
        copy = memory.migration_copy
        assert copy is not None
        assert copy == v1.with_name("memory.db.schema-1")
        memory.facts.put("later")
    with opened(v1) as memory:
        assert memory.migration_copy is None
    assert sorted(os.listdir(v1.parent)) == ["memory.db", "memory.db.schema-1"]
    assert copy.stat().st_mode & 0o777 == 0o600
    assert version_of(copy) == 1
    check(copy, "v1")


def test_an_older_copy_is_replaced(v1: Path) -> None:
    copy = v1.with_name("memory.db.schema-1")
    copy.write_bytes(b"from an opening that did not come to its end")
    opened(v1).close()
    assert version_of(copy) == 1


def test_a_new_or_empty_file_gets_no_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(tmp_path / "new.db") as memory:
        assert memory.migration_copy is None
    with monkeypatch.context() as patch:
        patch.setattr(schema, "MIGRATIONS", schema.MIGRATIONS[:1])
        patch.setattr(schema, "VERSION", 1)
        opened(tmp_path / "old.db").close()
    assert version_of(tmp_path / "old.db") == 1
    with opened(tmp_path / "old.db") as memory:
        assert memory.migration_copy is None
        memory.facts.put("x")
    assert not list(tmp_path.glob("*.schema-*"))


def test_the_database_of_an_application_is_its_own_to_copy(v1: Path) -> None:
    connection = sqlite3.connect(v1)
    try:
        memory = opened(connection)  # type: ignore[arg-type]
        assert (memory.migration_copy, memory.history.position()) == (None, 37)
        memory.close()
    finally:
        connection.close()
    assert os.listdir(v1.parent) == ["memory.db"]


def test_a_copy_that_can_not_be_made_stops_the_migration(v1: Path) -> None:
    before = v1.read_bytes()
    v1.with_name("memory.db.schema-1").mkdir()
    with pytest.raises(Exception, match="is a folder"):
        opened(v1)
    assert v1.read_bytes() == before
    v1.with_name("memory.db.schema-1").rmdir()
    check(v1, "v1")


def open_it(path: str) -> None:
    """Open a file and close it."""
    opened(path).close()


@pytest.mark.parametrize("point", MIGRATE)
@pytest.mark.parametrize("passing", [1, 2])
def test_a_half_applied_migration_is_finished_or_rolled_back(v1: Path, point: str, passing: int) -> None:
    killed = killed_at(point, "tests.migrations.test_days:open_it", str(v1), passing=passing)
    # documents are gone through only when what is derived from them changed since
    assert killed or passing == 2 or point == "migrate:document"
    assert version_of(v1) == (schema.VERSION if point == "migrate:after-commit" or not killed else 1)
    check(v1, "v1")
    copy = v1.with_name("memory.db.schema-1")
    assert version_of(copy) == 1
    assert sorted(os.listdir(v1.parent)) == ["memory.db", "memory.db.schema-1"]
    check(copy, "v1")


def test_a_newer_database_is_refused_and_left_as_it_is(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("UPDATE amber_meta SET value = ? WHERE name = 'schema'", (schema.VERSION + 1,))
    connection.commit()
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    before = path.read_bytes()
    for create in (True, False):
        with pytest.raises(SchemaMismatch, match="upgrade the amber package") as error:
            Memory.open(path, create=create)
        assert (error.value.found, error.value.known) == (schema.VERSION + 1, schema.VERSION)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["memory.db"]


class WithoutFts5(sqlite3.Connection):
    """A connection of a SQLite that was built without FTS5."""

    def execute(self, sql: str, *given: Any) -> sqlite3.Cursor:
        cursor: sqlite3.Cursor = self.cursor()
        return cursor.execute(sql, *given)

    def cursor(self, *given: Any) -> Any:
        return super().cursor(CursorWithoutFts5)


class CursorWithoutFts5(sqlite3.Cursor):
    lists_modules = True

    def execute(self, sql: str, *given: Any) -> Any:
        if "pragma_module_list" in sql:
            if not self.lists_modules:
                raise sqlite3.OperationalError("no such table: pragma_module_list")
            return super().execute("SELECT 1 WHERE 0")
        if "amber_search" in sql or "fts5" in sql:
            raise sqlite3.OperationalError("no such module: fts5")
        return super().execute(sql, *given)


@pytest.fixture(params=[True, False])
def without_fts5(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    connect = sqlite3.connect
    monkeypatch.setattr(CursorWithoutFts5, "lists_modules", request.param)
    monkeypatch.setattr(sqlite3, "connect", lambda *given, **more: connect(*given, **{**more, "factory": WithoutFts5}))
    return bool(request.param)


def test_without_fts5_it_says_so(path: Path, without_fts5: bool) -> None:
    before = path.read_bytes()

    def search() -> None:
        # a build that does not list its modules is found out at the first search
        with Memory.open(path, space="acme") as memory:
            memory.recall("Lisbon tea")

    with pytest.raises(Unsupported, match="no FTS5"):
        search()
    if without_fts5:
        assert path.read_bytes() == before


def test_without_fts5_no_file_is_made_a_memory(tmp_path: Path, without_fts5: bool) -> None:
    with pytest.raises(Unsupported, match="no FTS5"):
        Memory.open(tmp_path / "new.db")
    if (tmp_path / "new.db").exists():
        assert (tmp_path / "new.db").read_bytes() == b"" or version_is_absent(tmp_path / "new.db")


def version_is_absent(path: Path) -> bool:
    """Tell whether a file holds no table of ours."""
    connection = sqlite3.connect(path)
    try:
        return bool(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0)
    finally:
        connection.close()
