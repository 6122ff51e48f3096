"""Commit and point read through the facade beside the same rows through raw ``sqlite3``, in one run.

The floor inserts exactly the rows that Amber wrote (document, field entries, postings, log) into the same tables with
prepared statements, one transaction per fact, with the same pragmas; its point read is the SELECT alone.
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from amber import Memory

WORDS = (
    "garden river bridge winter engine paper silver market letter window summer doctor kitchen planet music forest "
    "coffee travel mountain question history lantern harbour meadow copper violin"
).split()

#: The tables that a new fact enters, and how its rows are found by the position of its commit.
TABLES = {
    "amber_facts": "SELECT * FROM amber_facts WHERE created = ?",
    "amber_field": "SELECT * FROM amber_field WHERE key = (SELECT key FROM amber_facts WHERE created = ?)",
    "amber_doc": "SELECT * FROM amber_doc WHERE position = ?",
    "amber_text": "SELECT t.* FROM amber_text t JOIN amber_doc d ON d.id = t.id WHERE d.position = ?",
    "amber_log": "SELECT * FROM amber_log WHERE position = ?",
    "amber_change": "SELECT * FROM amber_change WHERE position = ?",
}
POSTINGS = """SELECT t.id, t.tokens FROM amber_text t JOIN amber_doc d ON d.id = t.id WHERE d.position = ?"""


def sentence(n: int) -> str:
    """Give a sentence of 20 words, always the same for a number."""
    chosen = random.Random(n)
    return f"note {n}: " + " ".join(chosen.choice(WORDS) for _ in range(18))


def timed(work: Callable[[int], object], numbers: range) -> list[float]:
    """Give the microseconds of each call."""
    spent = []
    for n in numbers:
        start = time.perf_counter()
        work(n)
        spent.append((time.perf_counter() - start) * 1e6)
    return spent


def facade(path: Path, first: int, count: int) -> list[float]:
    """Put new facts through the facade."""
    with Memory.open(path) as memory:
        return timed(lambda n: memory.facts.put(sentence(n), sender=f"s{n % 50}"), range(first, first + count))


def floor(source: Path, target: Path, first: int, count: int) -> list[float]:
    """Insert the rows of some commits raw, in a database with the same tables."""
    read = sqlite3.connect(source)
    groups = []
    for position in range(first + 1, first + count + 1):
        rows = [(table, row) for table, sql in TABLES.items() for row in read.execute(sql, (position,))]
        groups.append((rows, read.execute(POSTINGS, (position,)).fetchall(), position))
    read.close()
    write = sqlite3.connect(target, isolation_level=None, cached_statements=256)
    for pragma in ("synchronous = NORMAL", "secure_delete = ON"):
        write.execute(f"PRAGMA {pragma}")
    inserts = {
        table: f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})" for rows, *_ in groups for table, row in rows
    }

    def commit(n: int) -> None:
        rows, postings, position = groups[n]
        write.execute("BEGIN IMMEDIATE")
        for table, row in rows:
            write.execute(inserts[table], row)
        write.executemany("INSERT INTO amber_search (rowid, tokens) VALUES (?, ?)", postings)
        write.execute("UPDATE amber_space SET position = ? WHERE n = 1", (position,))
        write.execute("COMMIT")

    spent = timed(commit, range(count))
    write.close()
    return spent


def reads(path: Path, count: int) -> tuple[list[float], list[float]]:
    """Read random facts through the facade and raw."""
    with Memory.open(path) as memory:
        raw = sqlite3.connect(path)
        ids = [row[0] for row in raw.execute("SELECT key FROM amber_facts ORDER BY random() LIMIT ?", (count,))]
        sql = "SELECT key, created, revision, body FROM amber_facts WHERE space = ? AND key = ?"
        ours, floor = [], []
        for _ in range(3):
            ours += timed(lambda n: memory.facts.get(ids[n]), range(len(ids)))
            floor += timed(lambda n: raw.execute(sql, (1, ids[n])).fetchone(), range(len(ids)))
        raw.close()
    return ours, floor


def run(sizes: list[int], samples: int, passes: int) -> list[dict[str, float]]:
    """Give the figures at each size."""
    results = []
    with tempfile.TemporaryDirectory() as folder:
        ours, raw = Path(folder, "ours.db"), Path(folder, "raw.db")
        Memory.open(raw).close()
        copy = sqlite3.connect(raw)
        copy.execute("INSERT INTO amber_space (n, name) VALUES (1, 'default')")
        copy.commit()
        copy.close()
        there = 0
        for size in sizes:
            grow = max(0, size - there)
            facade(ours, there, grow)
            floor(ours, raw, there, grow)
            there += grow
            mine, base = [], []
            for _ in range(passes):
                mine += facade(ours, there, samples)
                base += floor(ours, raw, there, samples)
                there += samples
            get, select = reads(ours, 2_000)
            row = {
                "facts": size,
                "commit_p50_us": statistics.median(mine),
                "floor_commit_p50_us": statistics.median(base),
                "commit_p50_ratio": statistics.median(mine) / statistics.median(base),
                "commit_mean_ratio": statistics.fmean(mine) / statistics.fmean(base),
                "commit_p99_us": statistics.quantiles(mine, n=100)[98],
                "read_p50_us": statistics.median(get),
                "floor_read_p50_us": statistics.median(select),
                "read_p50_ratio": statistics.median(get) / statistics.median(select),
            }
            results.append({name: round(value, 2) for name, value in row.items()})
            print(json.dumps(results[-1]), flush=True)
    return results


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1000,10000")
    parser.add_argument("--samples", type=int, default=500)
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "floor.json")
    given = parser.parse_args()
    results = run([int(size) for size in given.sizes.split(",")], given.samples, given.passes)
    given.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
