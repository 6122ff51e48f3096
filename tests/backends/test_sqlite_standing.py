"""A file or folder that may not be written, and a file that is deleted, replaced or changed while it is open."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.backends.conftest import Open

from amber.backends.sqlite import SQLiteStore
from amber.errors import AmberError, Unavailable
from amber.model import batch as b
from amber.store.contract import Selection
from amber.testing import COLLECTIONS, words
from amber.testing.samples import SPACE, Hand, snapshot

NOBODY = 65_534


def as_ordinary_user(work: Callable[[], object]) -> str:
    """Run work in a child without the rights of root; give the error that it ends with, or nothing."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # from Python 3.12 on a fork beside threads warns
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:  # pragma: no cover
        told = ""
        try:
            if os.geteuid() == 0:
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            work()
        except BaseException as error:
            told = f"{type(error).__name__}: {error}"
        os.write(writing, told.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return text


@pytest.fixture
def folder() -> Iterator[Path]:
    """Give a folder that ordinary users can reach, which pytest's own are not."""
    made = Path(tempfile.mkdtemp(dir="/tmp"))
    made.chmod(0o755)
    yield made
    made.chmod(0o755)
    shutil.rmtree(made)


def filled(path: Path) -> list[Any]:
    """Make a store of everything and give all that can be read of it."""
    with SQLiteStore(path, COLLECTIONS, analyze=words) as store:
        hand = Hand(store)
        hand.put("t", "kinds", unique=[[["payload", "x"]]])
        hand.put("a", type="t", size=1, name="n", labels=["x"], text="zebra words", payload={"x": 1})
        hand.put("b", name="m", text="zebra")
        hand.put("j", "jobs", due=5)
        path.chmod(0o644)
        return snapshot(store)


def reads_and_never_writes(path: Path, whole: list[Any]) -> None:
    """Check all reads and all writes of a file that can only be read."""
    before = path.read_bytes()
    with SQLiteStore(path, COLLECTIONS, analyze=words, timeout=1) as store:
        assert snapshot(store) == whole
        assert store.verify() == []
        hand = Hand(store)
        writes: list[Callable[[], Any]] = [
            lambda: hand.put("c", name="new"),
            lambda: hand.send(b.Touch("facts", "a", {"seen": 1})),
            lambda: store.claim(SPACE, "work", 1, lease=5, now=9),
            lambda: store.purge(SPACE, Selection("facts", ("a",)), now=9),
            store.scrub,
        ]
        for write in writes:
            with pytest.raises(Unavailable, match="read-only"):
                write()
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append(snapshot(store)))
        thread.start()
        thread.join()
        assert found == [whole]
        assert snapshot(store) == whole
    assert path.read_bytes() == before


#: Permissions of the file and of its folder -> what is so.
RIGHTS = {"file": (0o444, 0o777), "folder": (0o666, 0o555), "both": (0o444, 0o555), "nobody's": (0o644, 0o755)}


@pytest.mark.parametrize("which", RIGHTS)
def test_what_may_only_be_read_is_read(folder: Path, which: str) -> None:
    path = folder / "memory.db"
    whole = filled(path)
    file_mode, folder_mode = RIGHTS[which]
    if os.geteuid() != 0 and which == "nobody's":
        file_mode, folder_mode = 0o444, 0o555
    path.chmod(file_mode)
    folder.chmod(folder_mode)
    assert as_ordinary_user(lambda: reads_and_never_writes(path, whole)) == ""


def test_a_read_only_file_in_another_journal_mode_is_read(folder: Path) -> None:
    path = folder / "memory.db"
    whole = filled(path)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = delete")
    connection.close()
    path.chmod(0o444)
    folder.chmod(0o555)
    assert as_ordinary_user(lambda: reads_and_never_writes(path, whole)) == ""


def test_damage_is_found_in_a_file_that_may_only_be_read(folder: Path) -> None:
    path = folder / "memory.db"
    filled(path)
    connection = sqlite3.connect(path)
    connection.execute("INSERT INTO amber_search (rowid, tokens) VALUES (77, '1.ghost')")
    connection.commit()
    connection.close()
    folder.chmod(0o555)

    def look() -> None:
        with SQLiteStore(path, COLLECTIONS, analyze=words) as store:
            assert [problem.kind for problem in store.verify()] == ["postings"]

    assert as_ordinary_user(look) == ""


def test_changes_that_wait_in_a_log_are_not_passed_over(folder: Path) -> None:
    path = folder / "memory.db"
    with SQLiteStore(path, COLLECTIONS, analyze=words) as store:
        Hand(store).put("a", name="one")
        shutil.copy(path, folder / "copy.db")
        shutil.copy(f"{path}-wal", folder / "copy.db-wal")
    for each in folder.glob("copy*"):
        each.chmod(0o644)
    folder.chmod(0o555)
    told = as_ordinary_user(lambda: SQLiteStore(folder / "copy.db", COLLECTIONS, analyze=words))
    assert told.startswith("Unavailable:")
    assert "copy.db-wal' holds changes" in told
    folder.chmod(0o755)
    with SQLiteStore(folder / "copy.db", COLLECTIONS, analyze=words) as store:
        assert Hand(store).keys("name") == ["a"]


def test_another_declaration_can_not_be_made_in_a_read_only_file(folder: Path) -> None:
    path = folder / "memory.db"
    filled(path)
    folder.chmod(0o555)
    told = as_ordinary_user(lambda: SQLiteStore(path, COLLECTIONS, analyze=words, analyzer="9"))
    assert told.startswith("Unavailable: Nothing was written, the file is read-only")


def test_a_change_behind_a_read_only_folder_is_noticed(folder: Path) -> None:
    path = folder / "memory.db"
    filled(path)
    folder.chmod(0o555)
    asking, telling = os.pipe(), os.pipe()

    def look() -> None:
        with SQLiteStore(path, COLLECTIONS, analyze=words) as store:
            assert store.position(SPACE) == 4
            os.write(telling[1], b"x")
            os.read(asking[0], 1)
            store.position(SPACE)

    def change() -> None:
        os.read(telling[0], 1)
        folder.chmod(0o755)
        with SQLiteStore(path, COLLECTIONS, analyze=words) as store:
            Hand(store).put("c", name="new")
        folder.chmod(0o555)
        os.write(asking[1], b"x")

    changing = threading.Thread(target=change)
    changing.start()
    told = as_ordinary_user(look)
    os.write(telling[1], b"x")
    changing.join()
    for end in (*asking, *telling):
        os.close(end)
    assert told.startswith("Unavailable:")
    assert "somebody changed it" in told


def gone(path: Path) -> None:
    path.unlink()


def renamed(path: Path) -> None:
    path.rename(path.with_name("elsewhere.db"))


def replaced(path: Path) -> None:
    other = path.with_name("other.db")
    with SQLiteStore(other, COLLECTIONS, analyze=words) as store:
        Hand(store).put("other", name="other")
    os.replace(other, path)


@pytest.mark.parametrize("happens", [gone, renamed, replaced])
def test_a_file_that_is_not_there_any_more_takes_nothing(
    path: Path, open_store: Open, happens: Callable[[Path], None]
) -> None:
    store = open_store()
    hand = Hand(store)
    hand.put("a", name="one")
    store.scrub()
    happens(path)
    attempts: list[Callable[[], Any]] = [
        lambda: hand.put("b", name="two"),
        lambda: store.purge(SPACE, Selection("facts", ("a",)), now=9),
        lambda: store.claim(SPACE, "work", 1, lease=5, now=9),
        store.verify,
        store.scrub,
    ]
    for attempt in attempts:
        with pytest.raises(Unavailable, match=r"while it was open.*nothing was written"):
            attempt()
    # a thread that begins to read does not read another file
    found: list[Any] = []

    def read() -> None:
        try:
            found.append(store.get(SPACE, "facts", "a"))
        except AmberError as error:
            found.append(error.code)

    thread = threading.Thread(target=read)
    thread.start()
    thread.join()
    assert found == ["unavailable"]
    store.close()
    with open_store() as again:
        assert Hand(again).keys("name") == (["other"] if happens is replaced else [])
        assert again.verify() == []


def test_a_file_that_comes_back_goes_on(path: Path, open_store: Open) -> None:
    hand = Hand(open_store())
    hand.put("a", name="one")
    path.rename(path.with_name("away"))
    with pytest.raises(Unavailable, match="deleted or moved away"):
        hand.put("b", name="two")
    path.with_name("away").rename(path)
    assert hand.put("b", name="two") == 2
    assert hand.keys("name") == ["a", "b"]


def test_a_file_made_read_only_while_it_is_open_goes_on_until_it_is_opened_anew(folder: Path) -> None:
    path = folder / "memory.db"
    whole = filled(path)
    if os.geteuid() == 0:
        for each in (folder, path):
            os.chown(each, NOBODY, NOBODY)

    def work() -> None:
        # rights are asked for when a file is opened: the writer has it, a reader that comes later can only read
        with SQLiteStore(path, COLLECTIONS, analyze=words) as store:
            path.chmod(0o444)
            hand = Hand(store)
            position = hand.put("c", name="new")
            assert hand.keys("name")[-1] == "c"
            assert store.verify() == []
        assert position == whole[0] + 1
        with SQLiteStore(path, COLLECTIONS, analyze=words) as store:
            assert store.position(SPACE) == position
            with pytest.raises(Unavailable, match="read-only"):
                Hand(store).put("d", name="newer")

    assert as_ordinary_user(work) == ""
