"""Bytes that changed on the disk: typed errors, nothing wrong passed for right, and what is whole stays readable.

What the file holds twice is compared: documents with their columns, indexes, postings and images in the log. What it
holds once can not be: who, when and why of a log entry, and of messages what is neither searched nor indexed.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from tests.services.test_import import claude_session, write

from amber.errors import Corrupt, NotFound, SchemaMismatch, Unavailable
from amber.memory import Memory
from amber.model.fact import FACTS

#: Damaged copies that one run looks at; a file of its own for each batch.
COPIES = 60

Looks = dict[str, Any]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a closed memory of facts of every kind."""
    path = tmp_path_factory.mktemp("damage") / "facts.db"
    with Memory.open(path) as memory:
        memory.register("u", unique=("v",))
        memory.facts.put({"v": 1}, type="u")
        for n in range(12):
            memory.facts.put({"n": n, "text": f"zebra {n} " + "word " * (n * 60)}, sender="ana", key=f"k{n % 5}")
            memory.facts.put(f"said {n % 3} times", project="p/q")
        memory.facts.delete(memory.facts.put("gone zebra"))
        memory.history.undo(last=1)
        memory._store.scrub()
    return path


@pytest.fixture(scope="module")
def with_session(original: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the same with a recorded session."""
    folder = tmp_path_factory.mktemp("session")
    path = folder / "session.db"
    shutil.copy(original, path)
    with Memory.open(path) as memory:
        memory.import_sessions(write(folder / "session.jsonl", *claude_session(60)))
        memory._store.scrub()
    return path


def look(memory: Memory) -> Looks:
    """Read everything in every way; what can not be read is an error of ours in its place."""
    ways: dict[str, Callable[[], Any]] = {
        "listed": lambda: [fact.body for fact in memory.facts.iter(superseded=True, deleted=True)],
        "looked up": lambda: [fact.body for fact in memory.facts.page(where={"payload.n": 3})],
        "by key": lambda: memory.facts.get(sender="ana", key="k1").body,
        "found": lambda: [(hit.text, hit.score) for hit in memory.recall("zebra message 7", kinds=("fact",))],
        "found for ana": lambda: [(hit.text, hit.score) for hit in memory.recall("zebra", sender="ana")],
        "changes": lambda: [(entry.position, entry.changes) for entry in memory.history.page(limit=1_000)],
        "at 7": lambda: [fact.body for fact in memory.at(7).facts.iter()],
        "differences": lambda: memory.history.diff(3, 9),
        "stats": lambda: memory.stats()._replace(bytes=None),
    }
    return {name: _answer(way) for name, way in ways.items()}


def _answer(way: Callable[[], Any]) -> Any:
    try:
        return way()
    except (Corrupt, SchemaMismatch, NotFound) as error:
        return error.code


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Change some bytes, or a stretch of them, somewhere."""
    changed = bytearray(data)
    for _ in range(chance.choice([1, 1, 1, 3, 30])):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    if chance.random() < 0.1:
        begin, length = chance.randrange(len(changed)), chance.choice([16, 512, 4_096])
        changed[begin : begin + length] = bytes(len(changed[begin : begin + length]))
    if chance.random() < 0.05:
        del changed[chance.randrange(len(changed)) :]
    return bytes(changed)


@pytest.mark.parametrize("seed", range(2))
def test_no_changed_byte_passes_for_right(original: Path, tmp_path: Path, seed: int) -> None:
    with Memory.open(original) as memory:
        whole = look(memory)
        assert memory.verify() == []
    chance, data = random.Random(seed), original.read_bytes()
    outcomes = set()
    for number in range(COPIES):
        path = tmp_path / f"{number}.db"
        path.write_bytes(damaged(data, chance))
        try:
            with Memory.open(path, timeout=1) as memory:
                found, problems = look(memory), memory.verify()
        except (Corrupt, SchemaMismatch, Unavailable) as error:
            outcomes.add(error.code)
            continue
        other = [name for name in whole if found[name] != whole[name]]
        outcomes.add("noticed" if problems else "the same")
        assert problems or not other, (number, other)
    assert {"corrupt", "noticed", "the same"} <= outcomes


def test_every_changed_byte_of_a_session_is_whole_or_a_typed_error(with_session: Path, tmp_path: Path) -> None:
    chance, data = random.Random(3), with_session.read_bytes()
    for number in range(COPIES):
        path = tmp_path / f"{number}.db"
        path.write_bytes(damaged(data, chance))
        try:
            with Memory.open(path, timeout=1) as memory:
                look(memory)
                for session in memory.sessions.page():
                    list(memory.sessions.iter_messages(session.id))
                memory.verify()
                memory.facts.put("one more")
        except (Corrupt, SchemaMismatch, Unavailable):
            continue


@pytest.mark.parametrize("member", ["payload", "deleted_at", "valid_from", "mentions", "digest", "subject"])
def test_verify_names_a_document_whose_body_lost_a_member(original: Path, tmp_path: Path, member: str) -> None:
    path = tmp_path / "memory.db"
    shutil.copy(original, path)
    with Memory.open(path) as memory:
        fact = memory.facts.get(sender="ana", key="k1")
        writer = memory._store._connections.writer  # type: ignore[attr-defined]
        sql = f"""UPDATE amber_facts SET body = replace(body, '"{member}"', '"{member[:-1]}!"') WHERE key = ?"""
        assert writer.execute(sql, (fact.id,)).rowcount == 1
        problems = memory.verify()
        assert fact.id in {problem.key for problem in problems}


def _members(path: Path) -> list[str]:
    with Memory.open(path) as memory:
        return sorted(memory.facts.get(sender="ana", key="k1").body)


def test_a_member_that_is_gone_is_a_typed_error_everywhere(original: Path, tmp_path: Path) -> None:
    """Of the body of a fact in the file, and of its images in the log."""
    members = _members(original)
    assert {*members} == FACTS.members
    for member, table, column in product(members, ("amber_facts", "amber_change"), ("body", "before", "after")):
        if (table == "amber_facts") != (column == "body"):
            continue
        path = tmp_path / f"{member}-{column}.db"
        shutil.copy(original, path)
        sql = f"""UPDATE {table} SET {column} = replace({column}, '"{member}":', '"{member[:-1]}!":')"""
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute(sql).rowcount > 0
            connection.commit()
        with Memory.open(path) as memory:
            look(memory)
            ways: tuple[Callable[[], Any], ...] = (
                lambda: memory.facts.put("new", sender="ana", key="k1"),
                lambda: memory.facts.patch(memory.facts.get(sender="ana", key="k2"), {"n": 1}),
                lambda: memory.facts.delete(memory.facts.get(sender="ana", key="k3")),
                lambda: memory.history.undo(last=3),
                lambda: [str(fact) for fact in memory.facts.iter()],
            )
            for way in ways:
                _answer(way)
            assert memory.verify()


def test_a_truncated_file_is_reported(original: Path, tmp_path: Path) -> None:
    data = original.read_bytes()
    for part in range(1, 10):
        path = tmp_path / f"{part}.db"
        path.write_bytes(data[: len(data) * part // 10])
        try:
            with Memory.open(path) as memory:
                problems = memory.verify()
        except Corrupt:
            continue
        assert problems, part


def test_the_rest_of_a_file_with_a_lost_page_is_read(original: Path, tmp_path: Path) -> None:
    """The log is damaged; the facts are not."""
    path = tmp_path / "memory.db"
    shutil.copy(original, path)
    with Memory.open(path) as memory:
        whole = look(memory)
        writer = memory._store._connections.writer  # type: ignore[attr-defined]
        sql = "SELECT rootpage FROM sqlite_master WHERE name = 'amber_log'"
        page, size = writer.execute(sql).fetchone()[0], writer.execute("PRAGMA page_size").fetchone()[0]
        memory._store.scrub()
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)
    with Memory.open(path) as memory:
        found = look(memory)
        for way in ("listed", "looked up", "by key", "found", "found for ana"):
            assert found[way] == whole[way]
        assert found["changes"] == "corrupt"
        assert "file" in {problem.kind for problem in memory.verify()}
        with pytest.raises(Corrupt, match="Run verify"):
            memory.facts.put("one more")
        assert look(memory) == found


@pytest.mark.parametrize("seed", range(3))
def test_garbage_in_the_log_beside_it_gives_an_earlier_state(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    with Memory.open(tmp_path / "memory.db") as memory:
        for number in range(30):
            memory.facts.put(number, key=f"k{number}")
        files = {name: (tmp_path / f"memory.db{name}").read_bytes() for name in ("", "-wal")}
    for number in range(8):
        path = tmp_path / f"{seed}-{number}.db"
        path.write_bytes(files[""])
        log = bytearray(files["-wal"])
        for _ in range(chance.choice([1, 50])):
            log[chance.randrange(len(log))] = chance.randrange(256)
        if chance.random() < 0.3:
            del log[chance.randrange(len(log)) :]
        Path(f"{path}-wal").write_bytes(bytes(log))
        with Memory.open(path) as memory:
            values = [fact.value for fact in memory.facts.iter()]
            assert values == [*range(memory.history.position())]
            assert memory.verify() == []
            memory.facts.put("goes on")


def test_a_log_of_another_file_is_not_mixed_in(tmp_path: Path) -> None:
    """What stands beside it is no write-ahead log at all."""
    with Memory.open(tmp_path / "memory.db") as memory:
        memory.facts.put("one")
    for text in (b"", b"not a log", b"\0" * 5_000, b"\x37\x7f\x06\x82" + b"x" * 9_000):
        (tmp_path / "memory.db-wal").write_bytes(text)
        with Memory.open(tmp_path / "memory.db") as memory:
            assert [fact.value for fact in memory.facts.iter()] == ["one"]
            assert memory.verify() == []
