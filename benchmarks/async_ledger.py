"""Sixteen tasks that commit new facts and read them back: AsyncMemory beside MemState's AsyncSQLiteStorage, in turn.

Both get the same payloads under ids of the caller (Amber: the key of the fact), log each commit, and use WAL with
``synchronous = NORMAL``; Amber writes its field entries and postings as well. Each pass works on new files. While the
tasks run, a ticker notes the longest time in which the event loop did nothing else.

    python -m benchmarks.async_ledger                  # both, when memstate is installed; else Amber alone
    python -m benchmarks.async_ledger --only memstate
    python -m benchmarks.async_ledger --passes 5 --record

MemState needs ``pip install "memstate[sqlite-async]"`` in an environment of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

from benchmarks.figures import draw, machine, record, spread

TASKS = 16
#: A tick of the loop, in seconds.
TICK = 0.001


def payload(n: int) -> dict[str, Any]:
    """Give the payload that ``bench_ledger.py`` commits."""
    return {
        "user": f"u{n % 100}",
        "n": n,
        "flag": n % 2 == 0,
        "score": n / 7,
        "content": f"fact number {n} " + "lorem ipsum " * 8,
        "tags": ["a", "b"],
        "nested": {"level": n % 5},
    }


class Ledger(Protocol):
    """What is measured of a library."""

    async def commit(self, n: int) -> object: ...
    async def get(self, n: int) -> object: ...
    async def close(self) -> None: ...


class MemState:
    """MemState's async store on its async SQLite storage."""

    def __init__(self, store: Any, storage: Any, fact: Any) -> None:
        self._store, self._storage, self._fact = store, storage, fact

    @classmethod
    async def open(cls, path: Path) -> MemState:
        """Open a new file."""
        from memstate import AsyncMemoryStore, Fact
        from memstate.backends.sqlite import AsyncSQLiteStorage

        storage = AsyncSQLiteStorage(str(path))
        await storage.connect()
        return cls(AsyncMemoryStore(storage), storage, Fact)

    async def commit(self, n: int) -> object:
        fact = self._fact(id=f"f{n}", type="t", payload=payload(n))
        return await self._store.commit(fact, session_id="S")

    async def get(self, n: int) -> object:
        return await self._store.get(f"f{n}")

    async def close(self) -> None:
        await self._storage.close()


class Amber:
    """AsyncMemory."""

    def __init__(self, memory: Any) -> None:
        self._memory = memory

    @classmethod
    async def open(cls, path: Path) -> Amber:
        """Open a new file."""
        from amber import AsyncMemory

        return cls(await AsyncMemory.open(path))

    async def commit(self, n: int) -> object:
        return await self._memory.facts.put(payload(n), key=f"f{n}", type="t", session="S")

    async def get(self, n: int) -> object:
        return await self._memory.facts.find(key=f"f{n}")

    async def close(self) -> None:
        await self._memory.close()


OPEN: dict[str, Callable[[Path], Awaitable[Ledger]]] = {"memstate": MemState.open, "amber": Amber.open}


async def _tick(stalls: list[float]) -> None:
    while True:
        start = perf_counter()
        await asyncio.sleep(TICK)
        stalls.append((perf_counter() - start - TICK) * 1e6)


async def _all(work: Callable[[int], Awaitable[object]], count: int, spent: list[float]) -> float:
    """Let the tasks do their shares; give the calls per second."""

    async def share(first: int) -> None:
        for n in range(first, count, TASKS):
            start = perf_counter()
            if await work(n) is None:
                raise AssertionError(f"Nothing came of fact {n}.")
            spent.append((perf_counter() - start) * 1e6)

    start = perf_counter()
    await asyncio.gather(*(share(first) for first in range(TASKS)))
    return count / (perf_counter() - start)


async def one_pass(name: str, path: Path, count: int) -> dict[str, Any]:
    """Give the figures of one library on a new file."""
    ledger = await OPEN[name](path)
    stalls: list[float] = []
    ticker = asyncio.create_task(_tick(stalls))
    try:
        commits: list[float] = []
        gets: list[float] = []
        committed = await _all(ledger.commit, count, commits)
        got = await _all(ledger.get, count, gets)
    finally:
        ticker.cancel()
        await ledger.close()
    return {
        "commits_per_second": round(committed),
        "gets_per_second": round(got),
        "commit_us": spread(commits),
        "get_us": spread(gets),
        "longest_stall_of_the_loop_us": round(max(stalls), 1),
    }


def run(names: list[str], passes: int, count: int) -> dict[str, list[dict[str, Any]]]:
    """Give the figures of each pass; the libraries take turns."""
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(passes):
            for name in names:
                figures = asyncio.run(one_pass(name, Path(folder, f"{name}{turn}.db"), count))
                found[name].append(figures)
                print(name, json.dumps(figures), flush=True)
    return found


def ratios(found: dict[str, list[dict[str, Any]]]) -> dict[str, dict[str, float]]:
    """Give how many times faster Amber is, pass by pass: the middle, the least and the most."""
    result = {}
    for what in ("commits_per_second", "gets_per_second"):
        each = [ours[what] / theirs[what] for ours, theirs in zip(found["amber"], found["memstate"], strict=True)]
        result[what] = {
            "median": round(statistics.median(each), 2),
            "min": round(min(each), 2),
            "max": round(max(each), 2),
        }
    return result


def picture(found: dict[str, list[dict[str, Any]]], path: Path) -> bool:
    """Draw calls per second of each pass."""

    def panel(what: str) -> Callable[[Any], None]:
        def paint(axis: Any) -> None:
            for place, passes in enumerate(found.values()):
                values = [figures[what] for figures in passes]
                axis.bar(place, statistics.median(values), width=0.5, color=f"C{place}")
                axis.plot([place] * len(values), values, "k.", markersize=4)
                axis.annotate(f"{statistics.median(values):,.0f}", (place, statistics.median(values)), ha="center")
            axis.set_xticks(range(len(found)), list(found))
            axis.set_ylabel("per second")

        return paint

    return draw(
        path,
        f"{TASKS} tasks on one object",
        {"commits of new facts": panel("commits_per_second"), "reads by id": panel("gets_per_second")},
    )


def main(arguments: list[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, prog="benchmarks.async_ledger"
    )
    parser.add_argument("--only", choices=OPEN)
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--facts", type=int, default=4_000)
    parser.add_argument("--record", action="store_true", help="keep the figures in results/")
    given = parser.parse_args(arguments)
    names = [given.only] if given.only else _installed()
    if not names:
        return
    found = run(names, given.passes, given.facts)
    figures: dict[str, Any] = {"machine": machine(), "tasks": TASKS, "passes": found}
    if len(names) == 2:
        figures["ratio"] = ratios(found)
        print(json.dumps(figures["ratio"]))
    if given.record:
        path = record("async_ledger", figures)
        picture(found, path.with_suffix(".png"))


def _installed() -> list[str]:
    import amber

    names = [name for name in ("memstate", "aiosqlite") if find_spec(name) is None]
    if names:
        print(f"async_ledger: without {' and '.join(names)} Amber alone is measured")
    if "AsyncMemory" not in amber.__all__:
        print("async_ledger: this Amber has no AsyncMemory yet")
        return [] if names else ["memstate"]
    return ["amber"] if names else ["memstate", "amber"]


if __name__ == "__main__":
    main()
