"""Search over mixed LoCoMo messages: by the store, by the index in memory, by budget, and beside other tenants.

python -m benchmarks.search                      # 10k messages
python -m benchmarks.search --full --record      # 100k messages, 100 tenants of 1,000
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any

from amber import Memory
from amber.search import plan
from amber.search.query import query_terms
from amber.services import recall
from amber.services.exact import ExactIndex
from amber.store.contract import SearchFilter
from benchmarks import search_corpus as corpus
from benchmarks.figures import draw, machine, record

ALL = SearchFilter()
#: Budgets of postings, and pairs of terms of each kind, that are compared.
BUDGETS = (250, 500, 1_000, 2_000, 4_000, 8_000)
PAIRS = (0, 2, 4, 8)
CANDIDATES = (60, 100, 150, 200, 300)


def spread(samples: Sequence[float]) -> dict[str, float]:
    """Give the middle and the 95th percentile of some seconds, in milliseconds."""
    return {
        "p50": round(statistics.median(samples) * 1e3, 3),
        "p95": round(statistics.quantiles(samples, n=20)[18] * 1e3, 3),
    }


def timed(work: Callable[[str], object], questions: Sequence[str], passes: int = 3) -> dict[str, Any]:
    """Give milliseconds of a question: wall and CPU of the thread, each the best of some passes over all of them, so
    that the neighbours of the machine count less."""
    walls, cpus = [9e9] * len(questions), [9e9] * len(questions)
    for _ in range(passes):
        for n, question in enumerate(questions):
            wall, cpu = perf_counter(), thread_time()
            work(question)
            cpus[n], walls[n] = min(cpus[n], thread_time() - cpu), min(walls[n], perf_counter() - wall)
    return {"wall_ms": spread(walls), "cpu_ms": spread(cpus)}


def speed() -> float:
    """Give nanoseconds of one round of an empty loop: a quiet core of 2023 takes about 30."""
    best = 9e9
    for _ in range(5):
        start = thread_time()
        for _ in range(1_000_000):
            pass
        best = min(best, thread_time() - start)
    return round(best * 1e3, 1)


def agreement(memory: Memory, exact: dict[str, list[str]]) -> float:
    """Give the mean share of the ten exactly best that are among the ten found."""
    shares = []
    for question, best in exact.items():
        if best:
            shares.append(len({hit.id for hit in memory.recall(question)} & {*best}) / len(best))
    return round(statistics.fmean(shares), 3)


def by_budget(memory: Memory, questions: Sequence[str], exact: dict[str, list[str]]) -> list[dict[str, Any]]:
    """Give latency and agreement of plans: each figure is varied while the others are as they are."""
    chosen = (plan.DEFAULT_BUDGET, plan.MAX_PAIRS, recall._CANDIDATES)
    tried = [(budget, pairs, chosen[2]) for budget in BUDGETS for pairs in PAIRS]
    tried += [(chosen[0], chosen[1], candidates) for candidates in CANDIDATES if candidates != chosen[2]]
    rows = []
    try:
        for budget, pairs, candidates in tried:
            recall.make_plan = lambda terms, b=budget, p=pairs: plan.make_plan(terms, b, p)  # type: ignore[assignment]
            recall._CANDIDATES = candidates
            row = {"budget": budget, "pairs": pairs, "candidates": candidates, "agreement": agreement(memory, exact)}
            rows.append({**row, **timed(memory.recall, questions, 2), "chosen": (budget, pairs, candidates) == chosen})
            print(json.dumps(rows[-1]), flush=True)
    finally:
        recall.make_plan, recall._CANDIDATES = plan.make_plan, chosen[2]
    return rows


def cold(path: Path, questions: Sequence[str]) -> dict[str, Any]:
    """Time the first question after opening, each in a memory opened anew; with opening, too."""
    first, both, cpu = [], [], []
    for question in questions:
        opened = perf_counter()
        with Memory.open(path) as memory:
            start, spent = perf_counter(), thread_time()
            memory.recall(question)
            cpu.append(thread_time() - spent)
            first.append(perf_counter() - start)
        both.append(perf_counter() - opened)
    return {"wall_ms": spread(first), "cpu_ms": spread(cpu), "with_open_and_close_wall_ms": spread(both)}


def warming(path: Path, questions: Sequence[str]) -> dict[str, Any]:
    """Ask until the index is there, and say what that cost."""
    with Memory.open(path) as memory:
        index = memory._context.exact
        assert index is not None
        walls = []
        while not index.ready:
            start = perf_counter()
            memory.recall(questions[len(walls) % len(questions)])
            walls.append(perf_counter() - start)
        return {"questions": len(walls), "wall_ms": spread(walls), "longest_ms": round(max(walls) * 1e3, 1)}


def beside_numpy(index: ExactIndex, store: Any, questions: Sequence[str]) -> dict[str, Any] | None:
    """Time the same search by numpy, term by term over all postings, without records; None where it is not."""
    try:
        import numpy as np
    except ImportError:
        return None
    postings: dict[str, tuple[list[int], list[int]]] = {}
    lengths: list[int] = []
    after = None
    while True:
        page = store.texts("default", after=after, limit=1_000)
        for text in page.texts:
            for term, count in text.terms.items():
                slots, counts = postings.setdefault(term, ([], []))
                slots.append(len(lengths))
                counts.append(count)
            lengths.append(text.length)
        after = page.cursor
        if after is None:
            break
    arrays = {term: (np.array(a, np.int32), np.array(b, np.float32)) for term, (a, b) in postings.items()}
    length = np.array(lengths, np.float32)
    saturation = 1.8 * (length + 60) / (length.mean() + 60)

    def search(question: str) -> Any:
        scores = np.zeros(len(lengths), np.float32)
        for token, weight, _ in index._index.weigh(query_terms(question)):
            slots, counts = arrays[token]
            scores[slots] += weight * 2.8 * counts / (counts + saturation[slots])
        return np.argpartition(scores, -10)[-10:]

    megabytes = sum(slots.nbytes + slots.nbytes // 4 for slots, _ in arrays.values()) / 1e6
    return {**timed(search, questions), "postings_mb": round(megabytes, 1)}


def tenants(folder: Path, count: int, messages: int, questions: Sequence[str]) -> dict[str, Any]:
    """Time one tenant's questions in a file with others, and the same tenant's alone in a file."""
    found: dict[str, Any] = {"tenants": count, "messages_each": messages}
    for name, spaces in (("alone", 1), ("among others", count)):
        path = folder / f"{name}.db"
        for number in range(spaces):
            with Memory.open(path, space=f"tenant-{number}", durability="off", search_memory=0) as memory:
                corpus.load(memory, messages, seed=number)
        with Memory.open(path, space="tenant-0", search_memory=0) as memory:
            memory.scrub()
            memory.recall(questions[0])
            found[name] = timed(memory.recall, questions, 5)
    found["ratio_cpu_p50"] = round(found["among others"]["cpu_ms"]["p50"] / found["alone"]["cpu_ms"]["p50"], 2)
    return found


def run(messages: int, count: int, each: int) -> dict[str, Any]:
    """Give all figures."""
    questions = corpus.questions()[::8]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "search.db")
        with Memory.open(path, durability="off") as memory:
            corpus.load(memory, messages)
        found: dict[str, Any] = {"messages": messages, "questions": len(questions), "loop_ns": speed()}
        found["first question after open"] = cold(path, questions[::2])
        found["warming"] = warming(path, questions)
        with Memory.open(path) as memory:
            index, store = memory._context.exact, memory._store
            assert index is not None
            start, spent = perf_counter(), thread_time()
            index.complete()
            found["index"] = {
                "made_wall_s": round(perf_counter() - start, 2),
                "made_cpu_s": round(thread_time() - spent, 2),
                "size_mb": round(index.size / 1e6, 1),
            }
            memory.recall(questions[0])
            found["warm, index"] = timed(memory.recall, questions)
            found["the index alone"] = timed(lambda q: index.search(query_terms(q), ALL, 10), questions)
            found["numpy alone"] = beside_numpy(index, store, questions)
            exact = {}
            for question in questions:
                answer = index.search(query_terms(question), ALL, 10)
                assert answer is not None
                exact[question] = [each.key for each in answer.found]
            found["agreement with the index"] = agreement(memory, exact)
        with Memory.open(path, search_memory=0) as memory:
            memory.recall(questions[0])
            found["warm, no index"] = timed(memory.recall, questions)
            found["agreement without"] = agreement(memory, exact)
            print(json.dumps(found, indent=1), flush=True)
            found["by budget"] = by_budget(memory, questions[::3], {q: exact[q] for q in questions})
        found["many tenants"] = tenants(Path(folder), count, each, questions)
        print(json.dumps(found["many tenants"]), flush=True)
    return found


def picture(found: dict[str, Any], path: Path) -> bool:
    """Draw agreement and latency by budget, and the latency of every way to ask."""
    rows = found["by budget"]
    fixed = next(row["candidates"] for row in rows if row["chosen"])

    def lines(value: Callable[[dict[str, Any]], float], label: str) -> Callable[[Any], None]:
        def paint(axis: Any) -> None:
            for pairs in PAIRS:
                some = [row for row in rows if row["pairs"] == pairs and row["candidates"] == fixed]
                axis.plot(
                    [row["budget"] for row in some], [value(row) for row in some], "o-", ms=4, label=f"{pairs} pairs"
                )
            chosen = next(row for row in rows if row["chosen"])
            axis.plot([chosen["budget"]], [value(chosen)], "o", ms=12, mfc="none", color="black", label="chosen")
            axis.set(xscale="log", xlabel="postings of single terms", ylabel=label, xticks=BUDGETS)
            axis.set_xticklabels([str(budget) for budget in BUDGETS])
            axis.minorticks_off()
            axis.legend(frameon=False, fontsize=8)

        return paint

    def candidates(axis: Any) -> None:
        chosen = next(row for row in rows if row["chosen"])
        some = [row for row in rows if (row["budget"], row["pairs"]) == (chosen["budget"], chosen["pairs"])]
        some.sort(key=lambda row: row["candidates"])
        axis.plot([row["cpu_ms"]["p50"] for row in some], [row["agreement"] for row in some], "o-", ms=4)
        for row in some:
            place = (row["cpu_ms"]["p50"], row["agreement"])
            axis.annotate(f"{row['candidates']} ", place, ha="right", va="bottom", fontsize=8)
        axis.set(xlabel="CPU ms, p50", ylabel="agreement of the top 10")

    def ways(axis: Any) -> None:
        names = ["first question after open", "warm, no index", "warm, index", "the index alone", "numpy alone"]
        names = [name for name in names if found.get(name)]
        for shift, kind in ((-0.2, "wall_ms"), (0.2, "cpu_ms")):
            values = [found[name][kind]["p50"] for name in names]
            places = [place + shift for place in range(len(names))]
            axis.barh(places, values, height=0.36, label=kind.replace("_", " "))
            for place, value in zip(places, values, strict=True):
                axis.annotate(f" {value:.2f}", (value, place), va="center", fontsize=8)
        axis.set_yticks(range(len(names)), names)
        axis.set_xlim(right=axis.get_xlim()[1] * 1.12)
        axis.invert_yaxis()
        axis.set(xlabel="ms, p50")
        axis.legend(frameon=False, fontsize=8)

    panels = {
        "agreement with exact scoring": lines(lambda row: row["agreement"], "agreement of the top 10"),
        "latency": lines(lambda row: row["cpu_ms"]["p50"], "CPU ms, p50"),
        "candidates that are ranked": candidates,
        "ways to ask": ways,
    }
    title = f"Search over {found['messages']:,} messages (an empty loop takes {found['loop_ns']} ns a round here)"
    return draw(path, title, panels, width=6)


def main(arguments: list[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, prog="benchmarks.search"
    )
    parser.add_argument("--full", action="store_true", help="100k messages, 100 tenants")
    parser.add_argument("--record", action="store_true", help="keep the figures in results/")
    given = parser.parse_args(arguments)
    if not corpus.SOURCE.exists():
        print(f"The messages are mixed from {corpus.SOURCE}, which is not there.")
        return
    found = run(*((100_000, 100, 1_000) if given.full else (10_000, 10, 300)))
    if given.record:
        path = record("search", {"machine": machine(), **found})
        picture(found, path.with_suffix(".png"))


if __name__ == "__main__":
    main()
