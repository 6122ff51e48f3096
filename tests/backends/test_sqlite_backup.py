"""A copy of the file while it is in use: whole, complete, and never in the place of something else."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.backends.conftest import Open
from tests.conftest import open_files

from amber.backends.sqlite import SQLiteStore
from amber.errors import BadInput, Closed, Conflict, Unavailable, Unsupported
from amber.model import batch as b
from amber.store.contract import Copying
from amber.testing.crash import killed_at
from amber.testing.samples import SPACE, Hand, snapshot

F = "facts"


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """Give the path of a copy, in a folder of its own."""
    (tmp_path / "copies").mkdir()
    return tmp_path / "copies" / "copy.db"


@pytest.fixture
def filled(open_store: Open) -> SQLiteStore:
    """Give a store of some megabytes."""
    store = open_store(durability="off")
    for number in range(30):
        Hand(store).send(*(b.Put(F, f"k{number}-{n}", {"text": f"word {n} " * 30, "n": n}) for n in range(100)))
    Hand(store).send(b.Put(F, "a", {"text": "other word"}), space="other")
    return store


def test_the_copy_is_a_memory_like_the_other(filled: SQLiteStore, open_store: Open, target: Path) -> None:
    said: list[Copying] = []
    filled.backup(target, on_progress=said.append)
    assert os.listdir(target.parent) == ["copy.db"]
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert len(said) > 2
    assert (said[-1].done, said[-1].total) == (said[-1].total, said[0].total)
    copy = open_store(target)
    for space in (SPACE, "other"):
        assert snapshot(copy, space) == snapshot(filled, space)
    Hand(copy).put("own", name="of the copy")
    assert filled.get(SPACE, F, "own") is None


def test_others_write_meanwhile(filled: SQLiteStore, open_store: Open, path: Path, target: Path) -> None:
    other = Hand(open_store(path))
    answered: list[int] = []
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            answered.append(other.put(f"late{len(answered)}", text="late word"))

    thread = threading.Thread(target=write)
    thread.start()
    try:
        while len(answered) < 20:
            pass
        before = len(answered)
        seen: list[int] = []
        filled.backup(target, on_progress=lambda _: seen.append(len(answered)))
        # the writer did not wait for the copy
        assert seen[-1] >= before
        after = len(answered)
    finally:
        stop.set()
        thread.join()
    copy = open_store(target)
    assert copy.verify() == []
    position = copy.position(SPACE)
    assert answered[before - 1] <= position <= answered[after - 1] + 1
    assert copy.get_many(SPACE, F, [f"late{n}" for n in range(before)]).keys() == {f"late{n}" for n in range(before)}
    assert copy.stats(SPACE).documents[F] == 3_000 + position - 30


def test_what_is_there_stays(filled: SQLiteStore, open_store: Open, target: Path) -> None:
    target.write_bytes(b"something of mine")
    with pytest.raises(Conflict, match="exists already") as conflict:
        filled.backup(target)
    assert (conflict.value.retry, target.read_bytes()) == ("no", b"something of mine")
    filled.backup(target, overwrite=True)
    assert open_store(target).position(SPACE) == 30
    target.unlink()
    target.symlink_to(target.parent / "nowhere")
    with pytest.raises(Conflict):
        filled.backup(target)
    assert target.is_symlink()


def test_never_over_the_memory_itself(filled: SQLiteStore, path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.db"
    os.link(path, link)
    for same in (path, tmp_path / "." / path.name, link):
        with pytest.raises(Conflict, match="exists already"):
            filled.backup(same)
        with pytest.raises(Conflict, match="is the memory itself"):
            filled.backup(same, overwrite=True)
    assert filled.verify() == []


@pytest.mark.parametrize("suffix", ["-wal", "-journal"])
def test_never_beside_a_log_that_would_be_applied_to_it(filled: SQLiteStore, target: Path, suffix: str) -> None:
    beside = target.with_name("copy.db" + suffix)
    beside.write_bytes(b"left by a crash")
    for overwrite in (False, True):
        with pytest.raises(Conflict, match="open or was not closed"):
            filled.backup(target, overwrite=overwrite)
    assert os.listdir(target.parent) == [beside.name]


@pytest.mark.parametrize("wrong", [".", "no/such/folder/x.db", "a\0b", ""])
def test_a_bad_name(filled: SQLiteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput):
        filled.backup(wrong)


def test_a_failure_leaves_nothing(
    filled: SQLiteStore, target: Path, at_point: Callable[[str, BaseException], None]
) -> None:
    def fail(at: Copying) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        filled.backup(target, on_progress=fail)
    assert os.listdir(target.parent) == []
    for error, raised in (
        (OSError(28, "No space left on device"), Unavailable),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ):
        at_point("backup:before-rename", error)
        with pytest.raises(raised):
            filled.backup(target)
        assert os.listdir(target.parent) == []
    assert open_files(target.parent) == []


def back_up(path: str, target: str) -> None:
    """Copy a store."""
    from tests.crash import work

    with work.opened(path) as store:
        store.backup(target)


@pytest.mark.parametrize("point", ["backup:copied", "backup:before-rename", "backup:after-rename"])
def test_a_kill_leaves_no_part_under_the_name(
    filled: SQLiteStore, path: Path, target: Path, open_store: Open, point: str
) -> None:
    assert killed_at(point, "tests.backends.test_sqlite_backup:back_up", str(path), str(target))
    assert target.exists() is (point == "backup:after-rename")
    if point != "backup:after-rename":
        assert len(os.listdir(target.parent)) == 1
        # the next one to this name clears away what the killed one left
        filled.backup(target)
    assert os.listdir(target.parent) == ["copy.db"]
    assert open_store(target).verify() == []


def test_two_at_once_to_one_name(filled: SQLiteStore, target: Path, open_store: Open) -> None:
    answers: list[str] = []

    def work() -> None:
        try:
            filled.backup(target)
            answers.append("copied")
        except Conflict:
            answers.append("refused")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == ["copied", "refused", "refused", "refused"]
    assert os.listdir(target.parent) == ["copy.db"]
    assert open_store(target).verify() == []


def test_of_a_borrowed_connection(connection: sqlite3.Connection, open_store: Open, target: Path) -> None:
    store = open_store(connection)
    Hand(store).put("a", text="word")
    connection.execute("INSERT INTO own VALUES ('mine')")
    with pytest.raises(Unsupported, match="outside your transaction"):
        store.backup(target)
    assert os.listdir(target.parent) == []
    connection.commit()
    store.backup(target)
    copy = open_store(target)
    assert (Hand(copy).body("a"), copy.verify()) == ({"text": "word"}, [])
    # the rest of the application's database is in it too
    assert sqlite3.connect(target).execute("SELECT value FROM own").fetchall() == [("mine",)]


def test_of_a_database_in_memory(open_store: Open, target: Path) -> None:
    connection = sqlite3.connect(":memory:")
    Hand(open_store(connection)).put("a", text="word")
    open_store(connection).backup(target)
    connection.close()
    assert Hand(open_store(target)).body("a") == {"text": "word"}


def test_after_close(filled: SQLiteStore, target: Path) -> None:
    filled.close()
    with pytest.raises(Closed):
        filled.backup(target)
    assert os.listdir(target.parent) == []


def test_closed_meanwhile(open_store: Open, target: Path) -> None:
    store = open_store(durability="off")
    for number in range(15):
        Hand(store).send(*(b.Put(F, f"k{number}-{n}", {"text": f"word {n} " * 60}) for n in range(200)))
    with pytest.raises(Closed):
        store.backup(target, on_progress=lambda _: store.close())
    assert os.listdir(target.parent) == []


def test_what_was_purged_is_not_in_the_copy(filled: SQLiteStore, target: Path) -> None:
    from amber.store.contract import Selection

    Hand(filled).put("z", text="zebra-41-quartz")
    filled.purge(SPACE, Selection(F, ("z",)), now=5)
    while not filled.scrub().done:
        continue
    filled.backup(target)
    assert b"zebra-41-quartz" not in target.read_bytes()
