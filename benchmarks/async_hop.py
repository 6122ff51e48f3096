"""What awaiting costs: the hop alone, and puts and gets through the sync and the async face. Only ratios mean anything.

    python -m benchmarks.async_hop [--rounds 5]

The kinds take turns in each round; the fastest round of each is given, in microseconds for each operation, since on a
busy machine the others say more about its other work. ``gap`` is the longest time in milliseconds between two turns of
the event loop at a heartbeat of 5 ms, in the best round.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from amber import AsyncMemory, Memory, _hop
from amber._hop import Hop

#: Tasks at once.
TASKS = 16
PUTS, GETS, CALLS, PAGES = 320, 1_600, 3_200, 48


def nothing() -> None:
    """Do nothing."""


class Rounds:
    """Collects the microseconds of each kind."""

    def __init__(self) -> None:
        self.found: dict[str, list[float]] = {}

    def sync(self, name: str, work: Callable[[int], object], count: int) -> None:
        """Measure calls one after the other."""
        start = time.perf_counter()
        for n in range(count):
            work(n)
        self._keep(name, start, count)

    async def one(self, name: str, work: Callable[[int], Awaitable[object]], count: int) -> None:
        """Measure awaited calls one after the other."""
        start = time.perf_counter()
        for n in range(count):
            await work(n)
        self._keep(name, start, count)

    async def many(self, name: str, work: Callable[[int], Awaitable[object]], count: int) -> None:
        """Measure awaited calls of several tasks at once."""

        async def task(first: int) -> None:
            for n in range(first, count, TASKS):
                await work(n)

        start = time.perf_counter()
        await asyncio.gather(*(task(first) for first in range(TASKS)))
        self._keep(name, start, count)

    def _keep(self, name: str, start: float, count: int) -> None:
        self.found.setdefault(name, []).append((time.perf_counter() - start) / count * 1e6)


async def gap(work: Coroutine[Any, Any, None]) -> float:
    """Give the longest gap between two heartbeats, in milliseconds."""
    gaps: list[float] = []

    async def beat() -> None:
        last = time.perf_counter()
        while True:
            await asyncio.sleep(0.005)
            now = time.perf_counter()
            gaps.append(now - last)
            last = now

    beating = asyncio.create_task(beat())
    await work
    beating.cancel()
    return max(gaps, default=0.0) * 1e3


async def hops(rounds: Rounds, pool: ThreadPoolExecutor) -> None:
    """Measure the hop alone, beside what the standard library offers."""
    loop, hop = asyncio.get_running_loop(), Hop()
    kinds: dict[str, Callable[[int], Awaitable[object]]] = {
        "hop": lambda _: hop.run(nothing),
        "to_thread": lambda _: asyncio.to_thread(nothing),
        "own_executor": lambda _: loop.run_in_executor(pool, nothing),
    }
    for name, work in kinds.items():
        await rounds.one(f"{name}_sequential", work, CALLS)
        await rounds.many(f"{name}_{TASKS}_tasks", work, CALLS)
    await hop.close(nothing)


async def faces(rounds: Rounds, plain: Memory, threaded: Memory, memory: AsyncMemory, turn: int) -> None:
    """Measure puts and gets on both faces, of files that grow alike; another kind is first in each round."""

    def text(kind: str, n: int) -> dict[str, Any]:
        return {"value": f"note {kind} {turn} {n}: the train to Porto leaves at nine", "sender": f"s{n % 50}"}

    ids = [view.facts.put("kept", key="k").id for view in (plain, threaded)]
    ids.append((await memory.facts.put("kept", key="k")).id)

    async def sync() -> None:
        rounds.sync("sync_put", lambda n: plain.facts.put(**text("a", n)), PUTS)
        rounds.sync("sync_get", lambda _: plain.facts.get(ids[0]), GETS)

    async def awaited() -> None:
        await rounds.one("async_put_sequential", lambda n: memory.facts.put(**text("a", n)), PUTS)
        await rounds.one("async_get_sequential", lambda _: memory.facts.get(ids[2]), GETS)

    async def awaited_at_once() -> None:
        await rounds.many(f"async_put_{TASKS}_tasks", lambda n: memory.facts.put(**text("b", n)), PUTS)
        await rounds.many(f"async_get_{TASKS}_tasks", lambda _: memory.facts.get(ids[2]), GETS)

    def put(n: int, kind: str) -> Awaitable[object]:
        return asyncio.to_thread(threaded.facts.put, **text(kind, n))

    async def to_thread() -> None:
        await rounds.one("to_thread_put_sequential", lambda n: put(n, "a"), PUTS)
        await rounds.one("to_thread_get_sequential", lambda _: asyncio.to_thread(threaded.facts.get, ids[1]), GETS)

    async def to_thread_at_once() -> None:
        await rounds.many(f"to_thread_put_{TASKS}_tasks", lambda n: put(n, "b"), PUTS)
        await rounds.many(f"to_thread_get_{TASKS}_tasks", lambda _: asyncio.to_thread(threaded.facts.get, ids[1]), GETS)

    kinds = [sync, awaited, to_thread, awaited_at_once, to_thread_at_once]
    for n in range(len(kinds)):
        await kinds[(n + turn) % len(kinds)]()


async def gaps(path: Path) -> dict[str, float]:
    """Measure how long the event loop has to wait for its turn, by what runs in the threads."""
    found: dict[str, float] = {}
    idle = Rounds()
    before = _hop.READERS
    async with AsyncMemory.open(path) as memory:
        found["gap_ms_1000_puts"] = await gap(
            idle.many("", lambda n: memory.facts.put(f"gap {n}", sender=f"s{n % 50}"), 1_000)
        )
    for readers in (1, before, 16):
        _hop.READERS = readers
        try:
            async with AsyncMemory.open(path) as memory:
                pages = idle.many("", lambda _: memory.facts.page(limit=1_000), PAGES)
                found[f"gap_ms_long_reads_{readers}_readers"] = await gap(pages)
        finally:
            _hop.READERS = before
    return found


async def measure(folder: Path, count: int) -> dict[str, Any]:
    """Give all figures."""
    rounds = Rounds()
    with (
        ThreadPoolExecutor(16) as pool,
        Memory.open(folder / "a.db") as plain,
        Memory.open(folder / "b.db") as threaded,
    ):
        async with AsyncMemory.open(folder / "async.db") as memory:
            for turn in range(count):
                await hops(rounds, pool)
                await faces(rounds, plain, threaded, memory, turn)
    turns = [await gaps(folder / "async.db") for _ in range(count)]
    us = {name: min(each) for name, each in rounds.found.items()}
    ratios = {
        "hop_to_to_thread": us["hop_sequential"] / us["to_thread_sequential"],
        "async_put_to_sync_put": us["async_put_sequential"] / us["sync_put"],
        "async_put_to_to_thread_put": us["async_put_sequential"] / us["to_thread_put_sequential"],
        f"async_put_{TASKS}_tasks_to_sync_put": us[f"async_put_{TASKS}_tasks"] / us["sync_put"],
        f"async_put_{TASKS}_tasks_to_to_thread": us[f"async_put_{TASKS}_tasks"] / us[f"to_thread_put_{TASKS}_tasks"],
        "async_get_to_sync_get": us["async_get_sequential"] / us["sync_get"],
        "async_get_to_to_thread_get": us["async_get_sequential"] / us["to_thread_get_sequential"],
    }
    return {
        "microseconds": {name: round(value, 1) for name, value in us.items()},
        "ratios": {name: round(value, 2) for name, value in ratios.items()},
        "milliseconds": {name: round(min(turn[name] for turn in turns), 1) for name in turns[0]},
    }


def main(arguments: list[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "async.json")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        result = asyncio.run(measure(Path(folder), given.rounds))
    text = json.dumps(result, indent=1)
    print(text)
    given.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
