"""What goes through all of a memory: verify, a diff from the beginning, moments of the past, a first listing there.

python -m benchmarks.history                     # 10k facts
python -m benchmarks.history --full --record     # 100k facts, as commits of one fact each and of 50
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from amber import Memory
from benchmarks import floor
from benchmarks.figures import draw, machine, record


def seconds(work: Callable[[], object], times: int) -> dict[str, float]:
    """Give the middle of some runs."""
    walls, cpus = [], []
    for _ in range(times):
        wall, cpu = perf_counter(), process_time()
        work()
        walls.append(perf_counter() - wall)
        cpus.append(process_time() - cpu)
    return {"cpu": round(statistics.median(cpus), 3), "wall": round(statistics.median(walls), 3)}


def fill(path: Path, facts: int, per_commit: int) -> None:
    """Fill a file, so many facts in a commit."""
    with Memory.open(path, durability="off") as memory:
        floor.load(memory, 0, facts, per_commit)


def run(facts: int, per_commit: int, times: int) -> dict[str, Any]:
    """Give the seconds of each question to a memory."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "history.db")
        fill(path, facts, per_commit)
        with Memory.open(path) as memory:
            newest = memory.history.position()
            half = newest // 2
            works: dict[str, Callable[[], object]] = {
                "verify": memory.verify,
                "diff of everything": lambda: memory.history.diff(0, newest),
                "diff of the first 10": lambda: memory.history.diff(0, 10),
                "diff of the last 10": lambda: memory.history.diff(newest - 10, newest),
                "listing at position 1": lambda: memory.at(1).facts.page(limit=10),
                "listing at the middle": lambda: memory.at(half).facts.page(limit=10),
                "page of the log": lambda: memory.history.page(limit=100),
                "page of the log, deep": lambda: memory.history.page(limit=100, offset=newest - 100),
            }
            figures = {name: seconds(work, times) for name, work in works.items()}
        return {"facts": facts, "entries": newest, "seconds": figures}


def picture(results: list[dict[str, Any]], path: Path) -> bool:
    """Draw CPU seconds."""

    def panel(row: dict[str, Any]) -> Callable[[Any], None]:
        def paint(axis: Any) -> None:
            names = list(row["seconds"])
            axis.barh(names, [row["seconds"][name]["cpu"] for name in names])
            for place, name in enumerate(names):
                axis.annotate(f" {row['seconds'][name]['cpu']}", (row["seconds"][name]["cpu"], place), va="center")
            axis.invert_yaxis()
            axis.set(xscale="log", xlabel="CPU seconds")

        return paint

    panels = {f"{row['facts']} facts, {row['entries']} entries": panel(row) for row in results}
    return draw(path, "What goes through all of a memory", panels, width=6)


def main(arguments: list[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, prog="benchmarks.history"
    )
    parser.add_argument("--full", action="store_true", help="100k facts")
    parser.add_argument("--record", action="store_true", help="keep the figures in results/")
    given = parser.parse_args(arguments)
    results = []
    for per_commit in (1, 50) if given.full else (50,):
        results.append(run(100_000 if given.full else 10_000, per_commit, 3))
        print(json.dumps(results[-1]), flush=True)
    if given.record:
        path = record("history", {"machine": machine(), "results": results})
        picture(results, path.with_suffix(".png"))


if __name__ == "__main__":
    main()
