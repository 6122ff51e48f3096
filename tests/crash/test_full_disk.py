"""A full disk: a typed error, nothing written, nothing lost, and all works again when there is room."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.crash import work
from tests.crash.disk import bounded, fill, free, run_on_small_disk
from tests.services.test_import import claude_session, write

from amber.backends.sqlite import SQLiteStore
from amber.errors import Unavailable
from amber.memory import Memory
from amber.model import batch as b
from amber.store.contract import Selection
from amber.testing.samples import SPACE, Hand, snapshot

NOW = 2_000_000_000_000_000
Full = Callable[[], AbstractContextManager[None]]


def fill_up(hand: Hand) -> int:
    """Put documents until there is no room; give how many were answered."""
    number = 0
    try:
        while True:
            hand.put(f"full-{number}", name="n", text=f"zebra {number} " * 500)
            number += 1
    except Unavailable:
        return number


def check_full(path: Path, full: Full) -> None:
    """Go through everything that writes, on a full disk and after it."""
    work.fill(path)
    with work.opened(path) as store:
        hand = Hand(store)
        with full():
            answered = fill_up(hand)
            keys = ("a", *(f"full-{n}" for n in range(answered)))
            before = snapshot(store)
            assert store.stats(SPACE).documents["facts"] == 2 + answered
            writes: list[Callable[[], Any]] = [
                lambda: hand.put("a", name="other", text="z" * 100_000),
                lambda: hand.send(*(b.Put("facts", f"m{n}", {"text": "w" * 40_000}) for n in range(20))),
                lambda: store.purge(SPACE, Selection("facts", keys), now=NOW),
                lambda: work.widen(str(path)),
            ]
            for attempt in (*writes, *writes):
                with pytest.raises(Unavailable, match="Nothing was written") as caught:
                    attempt()
                assert caught.value.retry == "wait"
                assert snapshot(store) == before
            scrub_anyway(store)
            assert snapshot(store) == before
        # room again: on the same connections
        assert snapshot(store) == before
        assert hand.put("after", name="n", text="room again") == store.position(SPACE)
        purged = store.purge(SPACE, Selection("facts", keys), now=NOW)
        assert (purged.documents, purged.done) == (answered + 1, True)
        assert store.scrub().done
        assert store.verify() == []
    work.widen(str(path))
    with work.opened(path) as store:
        assert store.verify() == []
        assert Hand(store).keys("name") == ["after", "b"]


def scrub_anyway(store: SQLiteStore) -> None:
    """Scrub where there may be room for it or not."""
    with suppress(Unavailable):
        store.scrub()


@pytest.mark.parametrize("room", [20_000, 200_000])
def test_a_file_that_can_not_grow(tmp_path: Path, room: int) -> None:
    path = tmp_path / "memory.db"

    def full() -> AbstractContextManager[None]:
        return bounded(max(each.stat().st_size for each in tmp_path.iterdir()) + room)

    check_full(path, full)


def test_a_log_that_can_not_grow(tmp_path: Path) -> None:
    """The write-ahead log alone is full: the database beside it is larger."""
    path = tmp_path / "memory.db"
    work.fill(path)
    with work.opened(path) as store:
        hand = Hand(store)
        hand.send(*(b.Put("facts", f"big{n}", {"text": f"{n} " * 10_000}) for n in range(20)))
        store.scrub()
        assert path.with_name("memory.db-wal").stat().st_size == 0
        before = snapshot(store)
        with bounded(4_096):
            with pytest.raises(Unavailable, match="Nothing was written"):
                hand.put("x", name="n", text="z" * 10_000)
            assert snapshot(store) == before
        assert hand.put("x", name="n")
        assert store.verify() == []


def test_an_import_that_finds_no_room_goes_on_later(tmp_path: Path) -> None:
    recording = write(tmp_path / "session.jsonl", *claude_session(900))
    with Memory.open(tmp_path / "memory.db") as memory:
        with bounded(tmp_path.joinpath("memory.db").stat().st_size + 1_000_000):
            with pytest.raises(Unavailable, match="Nothing was written"):
                memory.import_sessions(recording)
        (session,) = memory.sessions.page()
        taken = len(list(memory.sessions.iter_messages(session.id)))
        assert 0 < taken == session.messages < 900
        assert memory.verify() == []
        (done,) = memory.import_sessions(recording)
        assert (done.messages, memory.sessions.get(session.id).messages) == (900 - taken, 900)
        assert memory.verify() == []


def test_there_is_no_room_for_a_new_file(tmp_path: Path) -> None:
    with bounded(0):
        with pytest.raises(Unavailable):
            Memory.open(tmp_path / "new.db")
    with Memory.open(tmp_path / "new.db") as memory:
        memory.facts.put("zebra")
        assert memory.verify() == []


def on_the_disk(folder: str) -> None:
    """Run in a process of its own, with a folder that is a small disk."""

    @contextmanager
    def full() -> Iterator[None]:
        fill(folder)
        yield
        free(folder)

    check_full(Path(folder) / "memory.db", full)
    fill(folder)
    with pytest.raises(Unavailable):
        Memory.open(Path(folder) / "new.db")
    free(folder)
    with Memory.open(Path(folder) / "new.db") as memory:
        memory.facts.put("zebra")
        assert memory.verify() == []


def test_a_real_disk_that_is_full(tmp_path: Path) -> None:
    done = run_on_small_disk(f"{__name__}:on_the_disk", tmp_path)
    # where nobody may mount a disk, the tests above stand for it
    assert done is None or (done.returncode, done.stdout, done.stderr) == (0, "", "")
