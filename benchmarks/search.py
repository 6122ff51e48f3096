"""Search over many messages: how fast, and how near to scoring every document.

    python -m benchmarks.search                       # 20,000 messages, a minute
    python -m benchmarks.search --full --record       # 100,000 messages, 100 tenants; recorded and drawn

Measured are: the first question after opening in a started interpreter, questions that the store answers by a plan of
some postings budget, and questions that the exact index in memory answers. Agreement is how many of the ten best by
exact scoring a plan finds too. Stop words are left out of questions, as ever. Tenants: the same messages in a space
alone, and in a space beside others in one file.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from amber import Memory
from amber.search import plan
from benchmarks import search_corpus as corpus
from benchmarks.figures import RESULTS, draw, machine, record

BUDGETS = (250, 500, 1_000, 2_000, 4_000, 8_000)


Spent = tuple[float, float]


def spread(samples: Sequence[Spent]) -> dict[str, float]:
    """Give the middle and the 95th percentile of some (wall, CPU) seconds, in milliseconds."""
    figures = {}
    for name, seconds in zip(("", "cpu_"), zip(*samples, strict=True), strict=True):
        figures[f"{name}p50_ms"] = round(statistics.median(seconds) * 1e3, 3)
        figures[f"{name}p95_ms"] = round(statistics.quantiles(seconds, n=20)[18] * 1e3, 3)
    return figures


class Watch:
    """Measure wall and CPU seconds of this thread."""

    def __init__(self) -> None:
        self._start = (time.perf_counter(), time.thread_time())

    def read(self) -> Spent:
        """Give the seconds since this was made."""
        return time.perf_counter() - self._start[0], time.thread_time() - self._start[1]


def asked(memory: Memory, questions: Sequence[str]) -> tuple[list[Spent], list[list[str]]]:
    """Ask, and give the seconds and the ids of the ten best for each."""
    spent, found = [], []
    for question in questions:
        watch = Watch()
        hits = memory.recall(question, limit=10)
        spent.append(watch.read())
        found.append([hit.id for hit in hits])
    return spent, found


def agreement(found: Sequence[Sequence[str]], exact: Sequence[Sequence[str]]) -> float:
    """Give which part of the exact answers was found."""
    there = sum(len(set(one) & set(other)) for one, other in zip(found, exact, strict=True))
    return round(there / max(1, sum(map(len, exact))), 3)


def first_questions(path: Path, questions: Sequence[str]) -> dict[str, float]:
    """Open anew for each question; opening itself is not counted."""
    spent = []
    for question in questions:
        with Memory.open(path) as memory:
            watch = Watch()
            memory.recall(question, limit=10)
            spent.append(watch.read())
    return spread(spent)


def by_budget(path: Path, questions: Sequence[str], exact: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    """Let the store answer with plans of several budgets."""
    rows = []
    usual = plan.make_plan.__defaults__
    try:
        for budget in BUDGETS:
            plan.make_plan.__defaults__ = (budget, plan.MAX_PAIRS)
            with Memory.open(path, search_memory=0) as memory:
                asked(memory, questions[:20])
                spent, found = asked(memory, questions)
            rows.append({"budget": budget, **spread(spent), "agreement": agreement(found, exact)})
            print(rows[-1], flush=True)
    finally:
        plan.make_plan.__defaults__ = usual
    return rows


def tenants(folder: Path, count: int, each: int, questions: Sequence[str]) -> dict[str, Any]:
    """Ask one space alone in a file, and the same beside others."""
    alone, beside = folder / "alone.db", folder / "beside.db"
    for number in range(count):
        with Memory.open(beside, space=f"tenant{number}") as memory:
            corpus.load(memory, each, seed=number)
    with Memory.open(alone, space="tenant0") as memory:
        corpus.load(memory, each, seed=0)
    result: dict[str, Any] = {"tenants": count, "messages_each": each}
    for name, path in (("alone", alone), ("beside", beside)):
        with Memory.open(path, space="tenant0", search_memory=0) as memory:
            asked(memory, questions[:20])
            result[name] = spread(asked(memory, questions)[0])
    result["ratio_p50"] = round(result["beside"]["p50_ms"] / result["alone"]["p50_ms"], 2)
    return result


def run(count: int, spaces: int, sample: int) -> dict[str, Any]:
    """Give all figures."""
    questions = corpus.questions()[:sample]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "search.db"
        start = time.perf_counter()
        with Memory.open(path) as memory:
            corpus.load(memory, count)
        loaded = time.perf_counter() - start
        results: dict[str, Any] = {"messages": count, "questions": len(questions), "loaded_s": round(loaded, 1)}
        with Memory.open(path) as memory:
            index = memory._unit.context.exact
            if index is None:
                raise AssertionError("a memory that was opened without more has an index")
            start = time.perf_counter()
            if not index.complete():
                raise AssertionError("the index does not fit its bound")
            results["index"] = {"seconds": round(time.perf_counter() - start, 2), "megabytes": round(index.size / 1e6)}
            asked(memory, questions[:20])
            spent, exact = asked(memory, questions)
            results["index"] |= spread(spent)
        print({"index": results["index"]}, flush=True)
        results["first_after_open"] = first_questions(path, questions[:60])
        print({"first_after_open": results["first_after_open"]}, flush=True)
        results["by_budget"] = by_budget(path, questions, exact)
        results["tenants"] = tenants(folder, spaces, 500, questions)
        print({"tenants": results["tenants"]}, flush=True)
    return {**results, "default_budget": plan.DEFAULT_BUDGET, "machine": machine()}


def picture(results: dict[str, Any], path: Path) -> bool:
    """Draw latency and agreement by budget."""
    rows = results["by_budget"]
    budgets = [row["budget"] for row in rows]

    def ticks(axis: Any) -> None:
        axis.set_xscale("log")
        axis.set_xticks(budgets, [f"{budget:,}" for budget in budgets], fontsize=8)
        axis.minorticks_off()
        axis.set_xlabel("postings budget")

    def latency(axis: Any) -> None:
        axis.plot(budgets, [row["cpu_p50_ms"] for row in rows], marker="o", label="plan, p50")
        axis.plot(budgets, [row["cpu_p95_ms"] for row in rows], marker="o", label="plan, p95")
        axis.axhline(results["index"]["cpu_p50_ms"], color="green", linestyle="--", label="index in memory, p50")
        ticks(axis)
        axis.set_ylabel("CPU ms")
        axis.legend(fontsize=8)

    def near(axis: Any) -> None:
        axis.plot(budgets, [row["agreement"] for row in rows], marker="o")
        axis.axhline(0.9, color="grey", linestyle=":", label="bound")
        ticks(axis)
        axis.set_ylim(0.5, 1.01)
        axis.legend(fontsize=8)

    title = f"Search over {results['messages']:,} messages, {results['questions']} questions"
    return draw(path, title, {"latency": latency, "agreement of the ten best with exact scoring": near})


def main(arguments: list[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="100,000 messages and 100 tenants")
    parser.add_argument("--record", action="store_true", help="keep the figures in results/ and draw them")
    given = parser.parse_args(arguments)
    results = run(100_000, 100, 200) if given.full else run(20_000, 10, 100)
    if given.record:
        record("search", results)
        picture(results, RESULTS / "search.png")


if __name__ == "__main__":
    main()
