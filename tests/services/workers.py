"""What other processes do to one file."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.synchronize import Barrier
from typing import Any

from tests.services.stage import OPEN, finish

from amber.errors import AmberError
from amber.memory import Memory
from amber.services.unit import system_clock

Work = Callable[..., Any]


def together(work: Work, path: str, count: int, *given: Any) -> list[Any]:
    """Let ``count`` processes do the same at once, each with its number, and give what came of each."""
    context = multiprocessing.get_context("spawn")
    barrier, answers = context.Barrier(count), context.Queue()
    children = [
        context.Process(target=_run, args=(work, path, number, barrier, answers, given)) for number in range(count)
    ]
    for child in children:
        child.start()
    found = dict(answers.get(timeout=60) for _ in children)
    for child in children:
        child.join(timeout=60)
        assert child.exitcode == 0
    answers.close()
    return [found[number] for number in range(count)]


def _run(work: Work, path: str, number: int, barrier: Barrier, answers: Any, given: tuple[Any, ...]) -> None:
    barrier.wait(timeout=60)
    try:
        # every other process is an async one
        memory = OPEN["async" if number % 2 else "sync"](path, space="acme", actor=f"p{number}")
        try:
            answer = work(memory, number, *given)
        finally:
            finish(memory)
    except AmberError as error:
        answer = error.code
    answers.put((number, answer))


def put_unique(memory: Memory, number: int, same_sender: bool) -> str:
    memory.register("u", unique=("v",))
    sender = "ana" if same_sender else f"s{number}"
    return memory.facts.put({"v": 1, "by": number}, type="u", sender=sender).id


def mention(memory: Memory, number: int, times: int) -> int:
    for _ in range(times):
        memory.facts.put("Prefers  dark mode" if number % 2 else "prefers DARK mode")
    return times


def patch_members(memory: Memory, number: int, id: str, times: int) -> int:
    for n in range(times):
        memory.facts.patch(id, {f"p{number}": {str(n): True}})
    return times


def many(memory: Memory, number: int, times: int) -> int:
    for n in range(times):
        with memory.transaction(session=f"s{number}") as tx:
            for part in range(3):
                tx.facts.put(f"{number} {n} {part}", sender=f"s{number}")
    return times


def many_in_spaces(memory: Memory, number: int, times: int, spaces: int) -> int:
    """Write to several spaces in turn, each writer beginning with another one."""
    own = [Memory(memory._store, memory._context._replace(space=f"space{n}")) for n in range(spaces)]
    for n in range(times):
        with own[(n + number) % spaces].transaction(session=f"s{number}") as tx:
            for part in range(3):
                tx.facts.put(f"{number} {n} {part}", sender=f"s{number}")
    return times


def put_or_undo(memory: Memory, number: int, times: int) -> list[str]:
    """Say the same thing again and again, or take back whatever was said last."""
    outcomes = []
    for _ in range(times):
        try:
            if number % 2:
                memory.history.undo(last=1)
            else:
                memory.facts.put("contested", key="k")
            outcomes.append("ok")
        except AmberError as error:
            outcomes.append(error.code)
    return outcomes


def supersede(memory: Memory, number: int, times: int) -> int:
    for n in range(times):
        memory.facts.put(f"{number}/{n}", key="k")
    return times


def with_another_clock(memory: Memory, number: int, times: int) -> int:
    """Supersede a value with a clock that is days off; each reads what it wrote, or what somebody wrote since."""
    off = (number - 1) * 86_400_000_000
    with Memory.open(_path_of(memory), space="acme", clock=lambda: system_clock() + off) as mine:
        for n in range(times):
            written = mine.facts.put(f"{number}/{n}", key="k")
            found = mine.facts.get(key="k")
            assert found.id == written.id or found.position > written.position
    return times


def _path_of(memory: Memory) -> str:
    return str(memory._store._connections.path)  # type: ignore[attr-defined]


def take_in(memory: Memory, number: int, path: str) -> list[tuple[str, int]]:
    return [(each.status, each.messages) for each in memory.import_sessions(path)]
