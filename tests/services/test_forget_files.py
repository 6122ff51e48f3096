"""After a forget the words are in none of the raw files: whatever was done with them, whoever reads, wherever it dies."""

from __future__ import annotations

import sqlite3
import threading
import time
from pathlib import Path

import pytest
from tests.services.forget_work import SESSION, WORD, fill

from amber.memory import Memory
from amber.store.faults import POINTS
from amber.testing.crash import killed_at


def files_with(path: Path, *words: str) -> list[str]:
    """Name the files beside a database, itself included, that hold one of the words."""
    found = []
    for file in sorted(path.parent.glob(path.name + "*")):
        content = file.read_bytes().lower()
        found += [f"{file.name}: {word}" for word in words if word.lower().encode() in content]
    return found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "db").mkdir()
    return tmp_path / "db" / "amber.db"


def check_the_rest(memory: Memory) -> None:
    """Check that all that is not forgotten is there."""
    assert memory.facts.count(sender="ben") == 41
    assert len(memory.recall("garden river", limit=100)) == 40
    assert memory.sessions.page() == []
    assert memory.stats().documents == {"facts": 41, "messages": 0, "sessions": 0, "types": 1}
    assert memory.verify() == []


@pytest.mark.parametrize("sender", ["ana", WORD])
def test_no_byte_of_a_sender_is_left(path: Path, tmp_path: Path, sender: str) -> None:
    with Memory.open(path, space="acme") as memory:
        fill(memory, sender, tmp_path)
        assert files_with(path, WORD) != []
        receipt = memory.forget(sender=sender)
        assert receipt.remaining == ()
        assert receipt.steps > 0
        # while it is open, too
        assert files_with(path, WORD, "zebra", sender) == []
        check_the_rest(memory)
    assert files_with(path, WORD, "zebra", sender) == []
    with Memory.open(path, space="acme") as memory:
        check_the_rest(memory)
        memory.facts.put("new words", sender=sender)
        assert memory.forget(sender=sender).total == 1
    assert files_with(path, sender) == []


@pytest.mark.parametrize("scope", ["session", "project"])
def test_no_byte_of_a_session_or_project_is_left(path: Path, tmp_path: Path, scope: str) -> None:
    name = {"session": f"run {WORD}", "project": f"p/{WORD}"}[scope]
    with Memory.open(path, space="acme") as memory:
        memory.facts.put(f"of {name}", session=f"run {WORD}", project=f"p/{WORD}", sender="eva")
        memory.facts.put(f"below {name}", project=f"p/{WORD}/deep", session=f"run {WORD}")
        memory.facts.delete(memory.facts.put(f"gone {WORD}", session=f"run {WORD}", project=f"p/{WORD}"))
        memory.facts.put("kept", sender="eva")
        receipt = memory.forget(**{scope: name})  # type: ignore[arg-type]
        assert receipt.documents == {"facts": 3}
        assert files_with(path, WORD, "quartz") == []
        assert [fact.value for fact in memory.facts.iter()] == ["kept"]


def test_no_byte_of_a_recorded_session_is_left(path: Path, tmp_path: Path) -> None:
    with Memory.open(path, space="acme") as memory:
        fill(memory, "ana", tmp_path)
        memory.forget(session=SESSION)
        memory.forget(sender="ana")
        assert files_with(path, WORD) == []


def test_a_reader_is_named_and_a_later_scrub_ends_it(path: Path, tmp_path: Path) -> None:
    with Memory.open(path, space="acme") as memory:
        fill(memory, "ana", tmp_path)
        other = sqlite3.connect(path)
        try:
            other.execute("BEGIN")
            other.execute("SELECT count(*) FROM amber_facts").fetchall()
            began = time.monotonic()
            receipt = memory.forget(sender="ana")
            # writers are not held up for the whole timeout of 30 s
            assert time.monotonic() - began < 15
            assert memory.facts.count(sender="ana") == 0
            assert "held by another reader" in receipt.remaining[0]
            assert "not clean yet" in str(receipt)
            assert memory.scrub().done is False
            assert files_with(path, WORD) != []
        finally:
            other.close()
        assert memory.scrub().done
        assert files_with(path, WORD) == []


def test_readers_that_come_and_go_hold_nothing_up(path: Path, tmp_path: Path) -> None:
    with Memory.open(path, space="acme") as memory:
        fill(memory, "ana", tmp_path)
        stop = threading.Event()

        def read() -> None:
            while not stop.is_set():
                memory.recall("garden", limit=5)

        threads = [threading.Thread(target=read) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            receipt = memory.forget(sender="ana")
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        assert receipt.remaining == ()
        assert files_with(path, WORD) == []


@pytest.mark.parametrize("passing", [1, 2, 4])
@pytest.mark.parametrize("point", [point for point in POINTS if point.startswith("purge:")])
def test_killed_in_a_purge_the_same_call_finishes(path: Path, tmp_path: Path, point: str, passing: int) -> None:
    with Memory.open(path, space="acme") as memory:
        fill(memory, "ana", tmp_path)
    assert killed_at(point, "tests.services.forget_work:forget", str(path), "ana", passing=passing)
    with Memory.open(path, space="acme") as memory:
        assert memory.verify() == []
        memory.forget(sender="ana")
        assert files_with(path, WORD) == []
        check_the_rest(memory)


def test_killed_in_a_scrub_the_same_call_finishes(path: Path, tmp_path: Path) -> None:
    with Memory.open(path, space="acme") as memory:
        fill(memory, "ana", tmp_path)
    # the work kills itself with SIGKILL, which is what is looked for
    assert killed_at("migrate:begun", "tests.services.forget_work:scrub_halfway", str(path), "ana")
    with Memory.open(path, space="acme") as memory:
        assert memory.facts.count(sender="ana") == 0
        assert files_with(path, WORD) != []
        assert memory.forget(sender="ana").is_empty
        assert files_with(path, WORD) == []
        check_the_rest(memory)


def test_a_borrowed_connection(path: Path, tmp_path: Path) -> None:
    own = sqlite3.connect(path)
    try:
        own.execute("PRAGMA secure_delete = ON")
        memory = Memory.open(own, space="acme")
        fill(memory, "ana", tmp_path)
        own.commit()
        receipt = memory.forget(sender="ana")
        assert ["VACUUM" in each for each in receipt.remaining] == [True]
        own.execute("VACUUM")
        assert memory.scrub().done
        assert files_with(path, WORD) == []
        check_the_rest(memory)
    finally:
        own.close()


def test_a_journal_that_is_kept_is_named(path: Path, tmp_path: Path) -> None:
    own = sqlite3.connect(path)
    try:
        own.execute("PRAGMA secure_delete = ON")
        own.execute("PRAGMA journal_mode = PERSIST")
        memory = Memory.open(own, space="acme")
        fill(memory, "ana", tmp_path)
        own.commit()
        receipt = memory.forget(sender="ana")
        assert "the rollback journal" in receipt.remaining[-1]
        own.execute("VACUUM")
        own.execute("PRAGMA journal_mode = DELETE")
        assert memory.scrub().done
        assert files_with(path, WORD) == []
    finally:
        own.close()


def test_in_a_transaction_of_the_caller(path: Path, tmp_path: Path) -> None:
    own = sqlite3.connect(path)
    try:
        memory = Memory.open(own, space="acme")
        fill(memory, "ana", tmp_path)
        own.commit()
        before = memory.facts.count(sender="ana")
        own.execute("BEGIN")
        receipt = memory.forget(sender="ana")
        assert receipt.total > 40
        assert "commit it first" in receipt.remaining[0]
        assert memory.facts.count(sender="ana") == 0
        own.rollback()
        # what the caller takes back is taken back
        assert memory.facts.count(sender="ana") == before
        assert memory.verify() == []
    finally:
        own.close()
