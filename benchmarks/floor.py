"""Commit and point read through the facade beside the same rows through raw ``sqlite3``, in one run.

The floor inserts exactly the rows that Amber wrote (document, field entries, postings, log) with prepared statements,
one transaction for each fact, into a copy of Amber's own file: same tables, indexes, pages and settings. Its point
read is the SELECT alone. Both are measured in turn, a few of ours, then the same of the floor, so that what else the
machine does hits both. At the end both files must hold the same number of rows in every table.

    python -m benchmarks.floor             # 1k and 10k facts, seconds
    python -m benchmarks.floor --full      # 1k, 10k, 100k and 1M facts, about ten minutes, recorded and drawn
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from amber import Memory
from amber.backends.sqlite.text import PENDING
from amber.model.batch import Append, Batch
from amber.model.fact import FACTS, Fact, digest_of, subject_of
from benchmarks.figures import draw, machine, record, spread, timed

Rows = list[tuple[str, Any]]

WORDS = (
    "garden river bridge winter engine paper silver market letter window summer doctor kitchen planet music forest "
    "coffee travel mountain question history lantern harbour meadow copper violin"
).split()

#: The tables that a new fact enters, in the order of the commit, and how its rows are found.
TABLES = {
    "amber_facts": "SELECT * FROM amber_facts WHERE space = 1 AND key = :key",
    "amber_doc": "SELECT * FROM amber_doc WHERE space = 1 AND collection = 'facts' AND key = :key",
    "amber_log": "SELECT * FROM amber_log WHERE space = 1 AND position = :position",
    "amber_change": "SELECT * FROM amber_change WHERE space = 1 AND position = :position",
}
#: Amber enters the postings of this many documents at once, and so does the floor.
FOLD = "INSERT INTO amber_search (rowid, tokens, fields) SELECT id, tokens, fields FROM amber_doc WHERE id > ?"
FOLDED = "UPDATE amber_meta SET value = ? WHERE name = 'folded'"
SPACE = "UPDATE amber_space SET position = ?, last_at = ?, documents = documents + 1, tokens = tokens + ? WHERE n = 1"
READ = "SELECT key, created, revision, body FROM amber_facts WHERE space = ? AND key = ?"

#: Facts in one batch while a file is filled.
LOADED = 5_000
#: Calls before it is the other one's turn.
GROUP = 25


def sentence(n: int) -> str:
    """Give a sentence of 20 words, always the same for a number."""
    chosen = random.Random(n)
    return f"note {n}: " + " ".join(chosen.choice(WORDS) for _ in range(18))


def load(memory: Memory, first: int, count: int, per_commit: int = LOADED) -> None:
    """Fill a memory with facts as the facade would put them, in large batches through its store."""
    pattern = memory.facts.put(sentence(first), sender="s0").body
    unit = memory.facts._unit
    for start in range(first + 1, first + count, per_commit):
        writes = []
        for n in range(start, min(start + per_commit, first + count)):
            now = unit.now()
            times = dict.fromkeys(("valid_from", "created_at", "updated_at", "last_seen"), now)
            body = {**pattern, **times, "payload": sentence(n), "sender": f"s{n % 50}"}
            body["digest"] = digest_of(body["payload"])
            body["subject"] = subject_of(body)
            writes.append(Append(FACTS.name, unit.new_id(), body))
        unit.store.commit(Batch(unit.space, unit.new_id(), unit.now(), tuple(writes)))


class Floor:
    """Raw inserts into a copy of the file of a memory, and raw reads of it."""

    def __init__(self, source: Path, target: Path) -> None:
        self.source = sqlite3.connect(source, isolation_level=None)
        for each in (target, target.with_name(target.name + "-wal"), target.with_name(target.name + "-shm")):
            each.unlink(missing_ok=True)
        self.raw = sqlite3.connect(target, isolation_level=None, cached_statements=256)
        self.source.backup(self.raw)
        for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "secure_delete = ON", "foreign_keys = OFF"):
            self.raw.execute(f"PRAGMA {pragma}")
        self.folded = self.raw.execute("SELECT value FROM amber_meta WHERE name = 'folded'").fetchone()[0]
        self.inserts = {}
        for name in TABLES:
            width = len(self.raw.execute(f"PRAGMA table_info({name})").fetchall())
            self.inserts[name] = f"INSERT INTO {name} VALUES ({', '.join('?' * width)})"

    def rows(self, fact: Fact) -> Rows:
        """Give what the commit of a new fact wrote, by statement."""
        names = {"key": fact.id, "position": fact.position}
        written: Rows = []
        found = {table: self.source.execute(sql, names).fetchall() for table, sql in TABLES.items()}
        if not all(found.values()):
            raise AssertionError(f"A commit wrote nothing to {[name for name, each in found.items() if not each]}.")
        for table, rows in found.items():
            written += [(self.inserts[table], row) for row in rows]
        number, length = found["amber_doc"][0][0], found["amber_doc"][0][5]
        if number - self.folded >= PENDING:
            written += [(FOLD, (self.folded,)), (FOLDED, (number,))]
            self.folded = number
        written.append((SPACE, (fact.position, found["amber_log"][0][3], length)))
        return written

    def commit(self, written: Rows) -> None:
        """Insert the rows of one commit in one transaction."""
        execute = self.raw.execute
        execute("BEGIN IMMEDIATE")
        for sql, row in written:
            execute(sql, row)
        execute("COMMIT")

    def read(self, key: str) -> Any:
        """Read one document."""
        return self.raw.execute(READ, (1, key)).fetchone()

    def compare(self) -> None:
        """See that both files hold the same number of rows in every table: the work was the same."""
        names = [row[0] for row in self.source.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for name in names:
            mine, theirs = (c.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for c in (self.source, self.raw))
            # the segments of the postings depend on when they are merged
            if mine != theirs and not name.startswith("amber_search_"):
                raise AssertionError(f"{name} has {mine} rows, and {theirs} in the floor.")

    def close(self) -> None:
        """Close both files."""
        self.source.close()
        self.raw.close()


def put(memory: Memory, texts: dict[int, str], facts: dict[int, Fact], n: int) -> None:
    """Put one of some new facts."""
    facts[n] = memory.facts.put(texts[n], sender=f"s{n % 50}")


def commits(memory: Memory, floor: Floor, first: int, samples: int) -> tuple[list[float], list[float]]:
    """Put new facts, and insert the same rows raw, in turn."""
    ours: list[float] = []
    raw: list[float] = []
    for start in range(first, first + samples, GROUP):
        numbers = range(start, start + GROUP)
        texts = {n: sentence(n) for n in numbers}
        facts: dict[int, Fact] = {}
        ours += timed(partial(put, memory, texts, facts), numbers)
        raw += timed(floor.commit, [floor.rows(facts[n]) for n in numbers])
    return ours, raw


def reads(memory: Memory, floor: Floor, size: int, samples: int) -> tuple[list[float], list[float]]:
    """Read random facts through the facade and raw, in turn."""
    sql = "SELECT key FROM amber_facts WHERE rowid = ?"
    places = (random.Random(size).randrange(1, size + 1) for _ in range(samples))
    ids = [floor.source.execute(sql, (place,)).fetchone()[0] for place in places]
    ours: list[float] = []
    raw: list[float] = []
    for start in range(0, samples, GROUP):
        part = ids[start : start + GROUP]
        ours += timed(memory.facts.get, part)
        raw += timed(floor.read, part)
    return ours, raw


def run(sizes: list[int], samples: int, folder: Path) -> list[dict[str, Any]]:
    """Give the figures at each size."""
    results = []
    ours, raw = folder / "ours.db", folder / "raw.db"
    there = 0
    for size in sizes:
        start = time.perf_counter()
        with Memory.open(ours) as memory:
            load(memory, there, size - there)
        floor = Floor(ours, raw)
        loaded = time.perf_counter() - start
        with Memory.open(ours) as memory:
            commits(memory, floor, size, 4 * GROUP)  # both caches are warm from here on
            mine, insert = commits(memory, floor, size + 4 * GROUP, samples)
            reads(memory, floor, size, 4 * GROUP)
            get, select = reads(memory, floor, size, 2 * samples)
        floor.compare()
        floor.close()
        there = size + samples + 4 * GROUP
        row = {
            "facts": size,
            "loaded_seconds": round(loaded, 1),
            "megabytes": round(ours.stat().st_size / 1e6, 1),
            "commit_us": spread(mine),
            "floor_commit_us": spread(insert),
            "read_us": spread(get),
            "floor_read_us": spread(select),
        }
        for what in ("commit", "read"):
            row[f"{what}_ratio"] = {
                name: round(value / row[f"floor_{what}_us"][name], 2) for name, value in row[f"{what}_us"].items()
            }
        results.append(row)
        print(json.dumps(row), flush=True)
    return results


def growth(results: list[dict[str, Any]]) -> dict[str, float]:
    """Give how much the middle grew from the first size to the last."""
    first, last = results[0], results[-1]
    return {
        name: round(last[name]["p50"] / first[name]["p50"], 2)
        for name in ("commit_us", "floor_commit_us", "read_us", "floor_read_us")
    }


def picture(results: list[dict[str, Any]], path: Path) -> bool:
    """Draw microseconds by size."""
    sizes = [row["facts"] for row in results]

    def panel(what: str, figures: tuple[str, ...], bound: float) -> Callable[[Any], None]:
        def paint(axis: Any) -> None:
            for name, color in zip(figures, ("C0", "C1", "C3"), strict=False):
                axis.plot(sizes, [row[f"{what}_us"][name] for row in results], f"{color}-o", label=f"Amber {name}")
                axis.plot(sizes, [row[f"floor_{what}_us"][name] for row in results], f"{color}--x", label=f"raw {name}")
            for row in results:
                axis.annotate(
                    f"x{row[f'{what}_ratio']['p50']}",
                    (row["facts"], row[f"{what}_us"]["p50"]),
                    textcoords="offset points",
                    xytext=(0, 6),
                    ha="center",
                    fontsize=8,
                )
            axis.set(xscale="log", yscale="log", xlabel="facts in the store", ylabel="microseconds")
            axis.legend(fontsize=7, ncols=len(figures), loc="upper center", bbox_to_anchor=(0.5, -0.14))
            axis.text(0.02, 0.02, f"bound: p50 x{bound}", transform=axis.transAxes, fontsize=7, color="grey")

        return paint

    panels = {
        "new fact": panel("commit", ("p50", "mean", "p99"), 2.0),
        "point read": panel("read", ("p50", "p99"), 3.0),
    }
    return draw(path, "A new fact and a point read beside the same rows through raw sqlite3", panels)


def main(arguments: list[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, prog="benchmarks.floor"
    )
    parser.add_argument("--full", action="store_true", help="1k, 10k, 100k and 1M facts, recorded in results/")
    parser.add_argument("--sizes", default=None)
    parser.add_argument("--samples", type=int, default=None, help="commits at each size")
    parser.add_argument("--out", type=Path, default=None, help="where the figures go; without --full: nowhere")
    parser.add_argument("--from", dest="given", type=Path, help="draw and record these figures instead of new ones")
    given = parser.parse_args(arguments)
    if given.given is not None:
        figures = json.loads(given.given.read_text())
        picture(figures["sizes"], record("floor", figures, given.out).with_suffix(".png"))
        return
    sizes = given.sizes or ("1000,10000,100000,1000000" if given.full else "1000,10000")
    samples = given.samples or (4_000 if given.full else 1_000)
    with tempfile.TemporaryDirectory() as folder:
        sizes_given = [int(size) for size in sizes.split(",")]
        results = run(sizes_given, samples // GROUP * GROUP, Path(folder))
    figures = {"machine": machine(), "p50_growth": growth(results), "sizes": results}
    print(json.dumps({"p50_growth": figures["p50_growth"]}))
    if given.out is not None or given.full:
        path = record("floor", figures, given.out)
        picture(results, path.with_suffix(".png"))


if __name__ == "__main__":
    main()
