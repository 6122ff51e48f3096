"""A busy thread leaves others their turn, in process and on a file."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from amber import Memory
from amber.backends.dict.turns import Turns
from amber.services.unit import IdMaker

#: Writes that pass while another thread asks once: one that is under way and what fits in a switch of threads.
WRITES_BETWEEN = 500


@pytest.fixture(params=["memory:", "file"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    place = str(tmp_path / "amber.db") if request.param == "file" else request.param
    with Memory.open(place) as opened:
        yield opened


def test_a_busy_writer_does_not_hold_a_reader_out(memory: Memory) -> None:
    stop = threading.Event()

    def write() -> None:
        for number in range(20_000):
            if stop.is_set():
                return
            memory.facts.put(f"fact {number}", key="one")

    memory.facts.put("fact", key="one")
    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(20):
            before = memory.history.position()
            memory.facts.get(key="one")
            assert memory.history.position() - before < WRITES_BETWEEN
    finally:
        stop.set()
        writer.join()


def test_turns_come_in_order() -> None:
    turns, came, started = Turns(), [], []

    def wait(number: int) -> None:
        started.append(number)
        with turns:
            came.append(number)

    threads = [threading.Thread(target=wait, args=(number,)) for number in range(5)]
    with turns, turns:
        for number, thread in enumerate(threads):
            thread.start()
            while len(turns._waiting) <= number:
                pass
        assert came == []
    for thread in threads:
        thread.join()
    assert came == [0, 1, 2, 3, 4]
    with turns:
        assert came


def test_an_interrupted_wait_gives_its_turn_up(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = Turns()

    class Interrupted:
        def __init__(self) -> None:
            self.asked = 0

        def acquire(self) -> None:
            self.asked += 1
            if self.asked == 2:
                raise KeyboardInterrupt

        def release(self) -> None:
            pass

    real = threading.Lock
    with turns:
        monkeypatch.setattr("amber.backends.dict.turns.Lock", Interrupted)
        failed: list[type[BaseException]] = []

        def wait() -> None:
            try:
                with turns:
                    raise AssertionError("not its turn")
            except KeyboardInterrupt as error:
                failed.append(type(error))

        thread = threading.Thread(target=wait)
        thread.start()
        thread.join()
        assert failed == [KeyboardInterrupt]
        monkeypatch.setattr("amber.backends.dict.turns.Lock", real)
    with turns:
        assert not turns._waiting


def test_a_forked_child_makes_other_ids() -> None:
    # the clock stands still: only the random part tells the ids of the two processes apart
    maker = IdMaker(lambda: 1)
    maker()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, maker().encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 100).decode() != maker()


def test_ids_rise_over_many_draws() -> None:
    maker = IdMaker(lambda: 1)
    made = [maker() for _ in range(2_000)]
    assert made == sorted(set(made))
