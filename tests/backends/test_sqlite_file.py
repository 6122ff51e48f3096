"""The file itself: who may read it, odd paths, what is not ours, locks, and connections that come and go."""

from __future__ import annotations

import gc
import os
import sqlite3
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.backends.conftest import Open, closing_connection
from tests.conftest import open_files

from amber.backends.sqlite import SQLiteStore
from amber.errors import AmberError, BadInput, Closed, Corrupt, SchemaMismatch, TimedOut, Unavailable
from amber.store.contract import LogQuery
from amber.testing import COLLECTIONS, words
from amber.testing.samples import SPACE, Hand

NAMES = (
    "what?.db",
    "100%.db",
    "a%20b.db",
    "a#b.db",
    "two words.db",
    "a'b\"c.db",
    "данные.db",
    "日本語.db",
    "naïve/café/😀.db",
    ":memory:",
    "file:x?mode=memory",
    "semi;colon",
    "-dash",
    "new\nline",
)


@pytest.fixture
def free_umask() -> Iterator[None]:
    """Let new files be open to everybody, unless their maker says otherwise."""
    old = os.umask(0)
    yield
    os.umask(old)


def mode(path: Path) -> int:
    """Give the permissions of a file."""
    return stat.S_IMODE(path.stat().st_mode)


def test_new_files_and_folders_are_private(tmp_path: Path, open_store: Open, free_umask: None) -> None:
    folder = tmp_path / "shared"
    folder.mkdir(mode=0o777)
    store = open_store(folder / "new" / "deep" / "memory.db")
    Hand(store).put("a", name="one")
    made = [folder / "new", folder / "new" / "deep"]
    assert [mode(each) for each in made] == [0o700, 0o700]
    files = sorted((folder / "new" / "deep").iterdir())
    assert [each.name for each in files] == ["memory.db", "memory.db-shm", "memory.db-wal"]
    assert [mode(each) for each in files] == [0o600, 0o600, 0o600]
    assert mode(folder) == 0o777
    store.close()


def test_what_exists_keeps_its_permissions(path: Path, open_store: Open, free_umask: None) -> None:
    path.touch(mode=0o644)
    Hand(open_store()).put("a", name="one")
    assert mode(path) == 0o644
    assert mode(path.with_name("memory.db-wal")) == 0o644


def in_a_thread(work: Callable[[], Any]) -> Any:
    """Give what a call in another thread gives."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]


@pytest.mark.parametrize("name", NAMES)
def test_a_path_is_used_as_it_is(tmp_path: Path, open_store: Open, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for target in (name, Path(name), tmp_path / name):
        store = open_store(target)
        Hand(store).put("a", name=name)
        assert in_a_thread(partial(store.get, SPACE, "facts", "a")).body == {"name": name}
        store.close()
    assert {each.name for each in tmp_path.rglob("*") if each.is_file()} == {Path(name).name}


def test_a_relative_path_stays_where_it_was(tmp_path: Path, open_store: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    store = open_store("memory.db")
    Hand(store).put("a", name="one")
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert Hand(store).body("a") == {"name": "one"}
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_folder_is_no_file(tmp_path: Path, open_store: Open) -> None:
    with pytest.raises(BadInput, match="folder"):
        open_store(tmp_path)
    with pytest.raises(BadInput, match="folder"):
        open_store("")


def test_what_can_not_be_a_path(tmp_path: Path, open_store: Open) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(BadInput):
        open_store(str(tmp_path / "a\0b"))
    with pytest.raises(Unavailable):
        open_store(tmp_path / "file" / "memory.db")
    with pytest.raises(Unavailable):
        open_store(tmp_path / ("x" * 300))
    with pytest.raises(BadInput, match="durability"):
        open_store(tmp_path / "x.db", durability="maximal")
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    "content",
    [
        b"hello",
        b"\0" * 100,
        b"not a database " * 1_000,
        b"\0" * 8_192,
        b"SQLite format 3\0",
        b"SQLite format 3\0" + b"x" * 5_000,
    ],
    ids=["short", "100 zeros", "text", "zeros", "only the header", "a damaged header"],
)
def test_what_is_no_database_is_left_as_it_is(path: Path, open_store: Open, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(Corrupt, match="not a SQLite database"):
        open_store()
    assert path.read_bytes() == content
    assert [each.name for each in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_a_newer_schema_is_left_as_it_is(path: Path, open_store: Open, journal: str) -> None:
    with open_store() as store:
        Hand(store).put("a", name="one")
    with closing_connection(path) as connection:
        connection.execute("DROP TABLE own")
        connection.execute("UPDATE amber_meta SET value = 999 WHERE name = 'schema'")
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute(f"PRAGMA journal_mode = {journal}")
    before = path.read_bytes()
    with pytest.raises(SchemaMismatch, match="upgrade") as caught:
        open_store()
    assert caught.value.found == 999
    assert path.read_bytes() == before


def test_a_database_of_somebody_else_is_shared(path: Path, open_store: Open) -> None:
    with closing_connection(path) as connection:
        connection.execute("INSERT INTO own VALUES ('mine')")
        connection.commit()
    store = open_store()
    Hand(store).put("a", name="one")
    store.close()
    with closing_connection(path) as connection:
        assert connection.execute("SELECT * FROM own").fetchall() == [("mine",)]


def test_everything_is_there_after_a_reopen(path: Path, open_store: Open) -> None:
    store = open_store()
    hand = Hand(store)
    for number in range(50):
        hand.put(f"k{number}", name=f"n{number}", text=f"word{number}")
    before = store.log(SPACE, _all())
    store.close()
    again = open_store()
    assert again.log(SPACE, _all()) == before
    assert again.stats(SPACE).documents["facts"] == 50
    assert again.verify() == []


def _all() -> Any:
    return LogQuery(limit=10_000)


def test_a_locked_file_gives_a_typed_error_in_time(path: Path, open_store: Open) -> None:
    hand = Hand(open_store(timeout=0.3))
    hand.put("a", name="one")
    with closing_connection(path) as other:
        other.execute("BEGIN IMMEDIATE")
        begun = time.monotonic()
        with pytest.raises(TimedOut) as caught:
            hand.put("b", name="two")
        assert 0.25 < time.monotonic() - begun < 2
        assert caught.value.retry == "wait"
        assert hand.keys("name") == ["a"]
        other.rollback()
    assert hand.put("b", name="two") == 2


def test_a_new_file_that_is_locked_gives_a_typed_error_in_time(path: Path, open_store: Open) -> None:
    with closing_connection(path) as other:
        other.execute("BEGIN EXCLUSIVE")
        begun = time.monotonic()
        with pytest.raises(TimedOut):
            open_store(timeout=0.3)
        assert time.monotonic() - begun < 2
    open_store(timeout=0.3)


def as_ordinary_user(work: Callable[[], None]) -> str:
    """Run work in a child without the rights of root and give the name of the error that it ends with."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover
        name = "none"
        try:
            if os.geteuid() == 0:
                os.setgid(65_534)
                os.setuid(65_534)
            work()
        except BaseException as error:
            name = type(error).__name__
        os.write(writing, name.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as told:
        name = told.read()
    os.waitpid(child, 0)
    return name


def test_what_may_not_be_written_gives_a_typed_error() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        path = folder / "memory.db"
        with SQLiteStore(path, COLLECTIONS, analyze=words) as store:
            Hand(store).put("a", name="one")
        path.chmod(0o444)
        folder.chmod(0o555)

        def write() -> None:
            with SQLiteStore(path, COLLECTIONS, analyze=words, timeout=1) as mine:
                Hand(mine).put("b", name="two")

        def make() -> None:
            SQLiteStore(folder / "new" / "memory.db", COLLECTIONS, analyze=words, timeout=1)

        before = path.read_bytes()
        assert as_ordinary_user(write) == Unavailable.__name__
        assert as_ordinary_user(make) == Unavailable.__name__
        path.chmod(0o000)
        assert as_ordinary_user(write) == Unavailable.__name__
        path.chmod(0o644)
        assert path.read_bytes() == before
        folder.chmod(0o755)


def test_the_reader_of_a_thread_that_ends_is_closed(path: Path, open_store: Open) -> None:
    store = open_store()
    Hand(store).put("a", name="one")
    before = len(open_files(path))
    for _ in range(20):
        thread = threading.Thread(target=lambda: store.get(SPACE, "facts", "a"))
        thread.start()
        thread.join()
    gc.collect()
    # SQLite keeps one descriptor back for the next thread
    assert len(open_files(path)) <= before + 1


@pytest.mark.parametrize("turn", range(5))
def test_close_while_others_read_and_write(path: Path, open_store: Open, turn: int) -> None:
    store = open_store()
    hand = Hand(store)
    for number in range(300):
        hand.put(f"k{number}", name="n", text="some words", size=number, type="t")
    running = threading.Barrier(5)
    ends: list[type[BaseException]] = []

    def until_closed(work: Callable[[], object]) -> None:
        running.wait()
        try:
            while True:
                work()
        except BaseException as error:
            ends.append(type(error))

    def read() -> None:
        store.scan(SPACE, "facts", "name", where=((("size",), 5),))
        store.get(SPACE, "facts", "k1")

    works: list[Callable[[], object]] = [read, read, store.verify, lambda: hand.put("x", name="n")]
    threads = [threading.Thread(target=until_closed, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    running.wait()
    time.sleep(0.01 * turn)
    store.close()
    for thread in threads:
        thread.join()
    assert ends == [Closed] * 4
    assert open_files(path) == []
    with open_store() as again:
        assert again.verify() == []


def test_every_error_of_the_driver_becomes_one_of_ours(path: Path, open_store: Open) -> None:
    store = open_store()
    Hand(store).put("a", name="one")
    store._connections.writer.execute("DROP TABLE amber_log")
    with pytest.raises(AmberError):
        Hand(store).put("b", name="two")
    with pytest.raises(AmberError):
        store.log(SPACE, _all())
    assert isinstance(store._connections.writer, sqlite3.Connection)
