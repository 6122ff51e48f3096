"""Import of recorded sessions: megabytes of files a second, memory, and what of it is reading and raw rows.

Each pass is a process of its own, so that nothing is cached from the one before: it imports into a new file, imports
again (nothing is new then), reads the files alone (both passes of the readers), and inserts the rows that the import
wrote raw, one transaction for each commit, into an empty file with the same tables. MB/s are of process CPU time, which
is what one core does; wall time stands beside it.

    python -m benchmarks.importing                       # Claude and Codex sessions of ../shared/data
    python -m benchmarks.importing --all --passes 5 --record
"""

from __future__ import annotations

import argparse
import json
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from amber import Memory
from amber.pipeline.transcripts import Refusal, discover, open_session
from benchmarks.figures import draw, machine, record

DATA = Path(__file__).parents[2] / "shared" / "data" / "transcripts"
#: The bounds of the issue.
FAST, SMALL = 15.0, 150.0

#: The tables that a message enters, and how the rows of one commit are found.
TABLES = {
    "amber_messages": "SELECT * FROM amber_messages WHERE created = ?",
    "amber_doc": "SELECT * FROM amber_doc WHERE collection = 'messages' AND position = ?",
    "amber_log": "SELECT * FROM amber_log WHERE position = ?",
    "amber_change": "SELECT * FROM amber_change WHERE position = ?",
    "amber_sessions": "SELECT * FROM amber_sessions WHERE created = ?",
}


def peak() -> float:
    """Give the largest memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def spent(work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """Give what comes of some work, and the seconds it took."""
    wall, cpu = perf_counter(), process_time()
    result = work()
    return result, {"cpu": process_time() - cpu, "wall": perf_counter() - wall}


def read(paths: list[Path]) -> int:
    """Read sessions as the import does, and keep nothing; give how many messages there are."""
    count = 0
    for path in discover(paths, lambda *_: None):
        reader = open_session(path)
        if not isinstance(reader, Refusal):
            for part in reader.sessions():
                part.info()
                count += sum(1 for _ in part)
    return count


def rows(source: Path) -> list[list[tuple[str, list[Any]]]]:
    """Give the rows of each commit, by table."""
    connection = sqlite3.connect(source)
    newest = connection.execute("SELECT max(position) FROM amber_log").fetchone()[0]
    found = [
        [(table, connection.execute(sql, (position,)).fetchall()) for table, sql in TABLES.items()]
        for position in range(1, newest + 1)
    ]
    connection.close()
    return found


def insert(target: Path, commits: list[list[tuple[str, list[Any]]]]) -> None:
    """Insert rows raw."""
    connection = sqlite3.connect(target, isolation_level=None, cached_statements=256)
    for pragma in ("synchronous = NORMAL", "secure_delete = ON"):
        connection.execute(f"PRAGMA {pragma}")
    for tables in commits:
        connection.execute("BEGIN IMMEDIATE")
        for table, each in tables:
            if each:
                connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(each[0]))})", each)
            if table == "amber_doc":
                postings = [(row[0], *row[11:14:2]) for row in each]
                connection.executemany("INSERT INTO amber_search (rowid, tokens, fields) VALUES (?, ?, ?)", postings)
        connection.execute("COMMIT")
    connection.close()


def one_pass(paths: list[Path]) -> dict[str, Any]:
    """Give the seconds of each part, in a process that did nothing else."""
    idle = peak()
    with tempfile.TemporaryDirectory() as folder:
        ours, raw = Path(folder, "ours.db"), Path(folder, "raw.db")
        with Memory.open(ours) as memory:
            done, imported = spent(lambda: memory.import_sessions(paths))
            memory_peak = peak()
            _, again = spent(lambda: memory.import_sessions(paths))
        _, reading = spent(lambda: read(paths))
        Memory.open(raw).close()
        commits = rows(ours)
        _, floor = spent(lambda: insert(raw, commits))
        return {
            # a file of several sessions gives a result for each
            "megabytes": sum({each.path: each.bytes for each in done}.values()) / 1e6,
            "sessions": sum(each.status == "imported" for each in done),
            "messages": sum(each.messages for each in done),
            "file_megabytes": ours.stat().st_size / 1e6,
            "peak_mb": memory_peak,
            "idle_mb": idle,
            "seconds": {"import": imported, "again": again, "reading": reading, "floor": floor},
        }


def summary(passes: list[dict[str, Any]]) -> dict[str, Any]:
    """Give the middle of the passes."""
    first = passes[0]

    def middle(part: str, clock: str) -> float:
        return statistics.median(each["seconds"][part][clock] for each in passes)

    size = first["megabytes"]
    return {
        "megabytes": round(size, 2),
        "sessions": first["sessions"],
        "messages": first["messages"],
        "import_mb_per_cpu_second": round(size / middle("import", "cpu"), 1),
        "import_mb_per_second": round(size / middle("import", "wall"), 1),
        "again_mb_per_cpu_second": round(size / middle("again", "cpu"), 1),
        "reading_mb_per_cpu_second": round(size / middle("reading", "cpu"), 1),
        "floor_mb_per_cpu_second": round(size / middle("floor", "cpu"), 1),
        "cpu_us_per_message": round(middle("import", "cpu") / first["messages"] * 1e6, 1),
        "ratio_to_reading_and_floor": round(
            middle("import", "cpu") / (middle("reading", "cpu") + middle("floor", "cpu")), 2
        ),
        "peak_mb": round(max(each["peak_mb"] for each in passes), 1),
        "idle_mb": round(max(each["idle_mb"] for each in passes), 1),
    }


def picture(figures: dict[str, Any], path: Path) -> bool:
    """Draw the speeds, and the memory."""

    def speeds(axis: Any) -> None:
        names = ("import", "again", "reading", "floor")
        values = [figures[f"{name}_mb_per_cpu_second"] for name in names]
        axis.barh(names, values, color=["C0", "C2", "C1", "C1"])
        for place, value in enumerate(values):
            axis.annotate(f" {value}", (value, place), va="center", fontsize=8)
        axis.axvline(FAST, color="C3", linestyle="--", linewidth=1)
        axis.invert_yaxis()
        axis.set(xscale="log", xlabel="MB of files per CPU second (bound: 15)")

    def memory(axis: Any) -> None:
        axis.bar(["before", "peak"], [figures["idle_mb"], figures["peak_mb"]], width=0.5, color=["C7", "C0"])
        axis.axhline(SMALL, color="C3", linestyle="--", linewidth=1)
        axis.set_ylabel("MB of memory (bound: 150)")

    title = f"Import of {figures['sessions']} sessions, {figures['messages']} messages, {figures['megabytes']} MB"
    return draw(path, title, {"speed": speeds, "memory": memory})


def main(arguments: list[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, prog="benchmarks.importing"
    )
    parser.add_argument("paths", nargs="*", type=Path, help="default: the Claude and Codex sessions of ../shared/data")
    parser.add_argument("--all", action="store_true", help="all of ../shared/data/transcripts")
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--record", action="store_true", help="keep the figures in results/")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    paths = given.paths or ([DATA] if given.all else [DATA / "claude", DATA / "codex"])
    missing = [str(path) for path in paths if not path.exists()]
    if missing:
        print(f"importing: there is no {', '.join(missing)}; name files or folders of sessions")
        return
    if given.child:
        print(json.dumps(one_pass(paths)))
        return
    command = [sys.executable, "-m", "benchmarks.importing", "--child", *map(str, paths)]
    passes = [json.loads(subprocess.check_output(command)) for _ in range(given.passes)]
    figures = {**summary(passes), "machine": machine()}
    print(json.dumps(figures))
    if given.record:
        path = record("importing", {**figures, "passes": passes})
        picture(figures, path.with_suffix(".png"))


if __name__ == "__main__":
    main()
