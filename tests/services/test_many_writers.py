"""Many writers at once: processes on one new file, threads on one fact, and a writer that dies or stands still."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.services import workers
from tests.services.stage import Open

from amber.errors import AmberError, Conflict, TimedOut
from amber.memory import Memory
from amber.testing.crash import start

THREADS = 20


def at_once(count: int, work: Callable[[int], Any]) -> list[Any]:
    """Do the same in several threads, begun together; give what each said, an error of ours as itself."""
    barrier = threading.Barrier(count)
    said: list[Any] = [None] * count

    def run(number: int) -> None:
        barrier.wait()
        try:
            said[number] = work(number)
        except AmberError as error:
            said[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return said


def test_eight_processes_make_one_new_file(sqlite_path: Path) -> None:
    assert workers.together(workers.many, str(sqlite_path), 8, 200) == [200] * 8
    with Memory.open(sqlite_path, space="acme") as memory:
        assert memory.facts.count() == 4_800
        entries = memory.history.page(limit=10_000)
        assert [entry.position for entry in entries] == [*range(1_600, 0, -1)]
        assert {len(entry.changes) for entry in entries} == {3}
        for number in range(8):
            own = [fact.value for fact in memory.facts.iter(sender=f"s{number}")]
            assert own == [f"{number} {n} {part}" for n in range(200) for part in range(3)]
        assert memory.verify() == []


def test_eight_processes_make_one_new_file_of_several_spaces(sqlite_path: Path) -> None:
    assert workers.together(workers.many_in_spaces, str(sqlite_path), 8, 15, 3) == [15] * 8
    for n in range(3):
        with Memory.open(sqlite_path, space=f"space{n}") as memory:
            assert memory.history.position() == 40
            assert [entry.position for entry in memory.history.page(limit=1_000)] == [*range(40, 0, -1)]
            assert memory.facts.count() == 120
            assert memory.verify() == []


def test_twenty_threads_say_one_fact(memory: Memory) -> None:
    said = at_once(THREADS, lambda number: memory.facts.put("Prefers dark mode", sender="ana"))
    assert len({fact.id for fact in said}) == 1
    (fact,) = memory.facts.page(superseded=True, deleted=True)
    assert fact.mentions == THREADS
    assert [entry.position for entry in memory.history.page(limit=100)] == [*range(THREADS, 0, -1)]
    memory.history.undo(last=THREADS - 1)
    assert memory.facts.get(fact.id).mentions == 1


def test_twenty_threads_say_different_values_of_one_key(memory: Memory) -> None:
    said = at_once(THREADS, lambda number: memory.facts.put(f"value {number}", sender="ana", key="k"))
    assert [fact for fact in said if isinstance(fact, AmberError)] == []
    (current,) = memory.facts.page(sender="ana", key="k")
    every = memory.facts.page(sender="ana", key="k", superseded=True)
    assert sorted(fact.value for fact in every) == sorted(f"value {n}" for n in range(THREADS))
    # the one that was written last is the current one
    assert current.id == max(said, key=lambda fact: fact.position).id
    assert sum(fact.valid_until is None for fact in every) == 1


def test_twenty_threads_patch_one_fact(memory: Memory) -> None:
    fact = memory.facts.put({"sum": 0})
    said = at_once(THREADS, lambda number: memory.facts.patch(fact, {f"member {number}": {"of": number}}))
    assert [each for each in said if isinstance(each, AmberError)] == []
    assert memory.facts.get(fact).value == {"sum": 0, **{f"member {n}": {"of": n} for n in range(THREADS)}}
    assert memory.history.position() == 1 + THREADS


def test_twenty_threads_delete_one_fact(memory: Memory) -> None:
    fact = memory.facts.put("zebra")
    said = at_once(THREADS, lambda number: memory.facts.delete(fact))
    assert sum(isinstance(each, Conflict) for each in said) == THREADS - 1
    assert memory.facts.get(fact).is_deleted
    assert memory.history.position() == 2


def test_twenty_transactions_that_conflict(memory: Memory) -> None:
    """Each reads a balance and writes it one higher, again until nobody was in between: none is lost."""
    fact = memory.facts.put({"balance": 0, "by": []})

    def work(number: int) -> int:
        for attempt in range(500):
            try:
                with memory.transaction(reason=f"thread {number}") as tx:
                    value = tx.facts.get(fact).value
                    tx.facts.patch(fact, {"balance": value["balance"] + 1, "by": [*value["by"], number]})
                    tx.facts.put(f"receipt {number}", sender=f"s{number}")
                return attempt
            except Conflict:
                time.sleep(0.001 * number)
        raise AssertionError("never got through")

    said = at_once(THREADS, work)
    assert all(isinstance(each, int) for each in said), said
    value = memory.facts.get(fact).value
    assert value["balance"] == THREADS
    assert sorted(value["by"]) == [*range(THREADS)]
    # what lost wrote nothing, the receipts neither
    assert memory.history.position() == 1 + THREADS
    assert memory.facts.count() == 1 + THREADS


def test_an_operation_that_twenty_threads_send_happens_once(memory: Memory) -> None:
    said = at_once(THREADS, lambda number: memory.facts.put(f"from {number}", key="k", operation="only once"))
    assert len({fact.id for fact in said}) == 1
    assert memory.history.position() == 1
    assert memory.facts.count(superseded=True) == 1


def test_spaces_of_one_store_do_not_meet(open_memory: Open) -> None:
    memories = [open_memory(f"space{n}") for n in range(4)]
    at_once(THREADS, lambda number: memories[number % 4].facts.put(f"value {number}", key="k"))
    for memory in memories:
        assert memory.history.position() == THREADS // 4
        assert memory.facts.count(key="k") == 1
        assert memory.verify() == []


HOLD = "tests.services.test_many_writers:hold"


def hold(path: str) -> None:
    """Stop in the middle of a transaction, holding the lock; goes on when a line comes, or dies there."""
    from amber.store import faults

    with Memory.open(path, space="acme") as memory:

        def hook(point: str) -> None:
            if point == "commit:log":
                faults.install(None)
                print("holding", flush=True)
                time.sleep(1.5)

        faults.install(hook)
        memory.facts.put("from the holder")
    print("done", flush=True)


def holding(path: Path) -> subprocess.Popen[str]:
    child = start(HOLD, str(path))
    assert child.stdout is not None
    assert child.stdout.readline() == "holding\n"
    return child


def ended(child: subprocess.Popen[str]) -> str:
    said, _ = child.communicate(timeout=60)
    return said


def test_a_writer_killed_with_the_lock_keeps_nobody_waiting(sqlite_path: Path) -> None:
    with Memory.open(sqlite_path, space="acme", timeout=20) as memory:
        memory.facts.put("before")
        child = holding(sqlite_path)
        said: list[Any] = []
        waiting = threading.Thread(target=lambda: said.append(memory.facts.put("from one who waited")))
        waiting.start()
        time.sleep(0.1)
        assert said == []
        child.kill()
        begun = time.monotonic()
        waiting.join()
        assert time.monotonic() - begun < 1.5
        ended(child)
        assert [fact.value for fact in memory.facts.iter()] == ["before", "from one who waited"]
        assert memory.history.position() == 2
        assert memory.verify() == []


def test_a_writer_that_stands_still_with_the_lock(sqlite_path: Path) -> None:
    with Memory.open(sqlite_path, space="acme", timeout=0.3) as memory:
        memory.facts.put("before")
        child = holding(sqlite_path)
        os.kill(child.pid, signal.SIGSTOP)
        writes: list[Callable[[], Any]] = [
            lambda: memory.facts.put("refused"),
            lambda: memory.facts.delete(memory.facts.page().facts[0]),
            lambda: memory.history.undo(last=1),
        ]
        for write in writes:
            begun = time.monotonic()
            with pytest.raises(TimedOut, match="Nothing was written") as caught:
                write()
            assert 0.25 < time.monotonic() - begun < 3
            assert caught.value.retry == "wait"
        # reading goes on, and sees nothing of what is not committed
        assert [fact.value for fact in memory.facts.iter()] == ["before"]
        assert [hit.text for hit in memory.recall("before")] == ["before"]
        os.kill(child.pid, signal.SIGCONT)
        assert ended(child) == "done\n"
        memory.facts.put("after")
        assert [fact.value for fact in memory.facts.iter()] == ["before", "from the holder", "after"]
        assert memory.history.position() == 3
        assert memory.verify() == []
