"""What each store can do, and what each call costs on it: the table of the documentation.

    python -m benchmarks.stores                                    # all stores, on servers of our own
    python -m benchmarks.stores --facts 100000 --record
    python -m benchmarks.stores --from benchmarks/results/stores.json --page docs/reference/stores.md

Times are medians, one caller, servers on the same machine with their data on disk (Postgres with fsync, Redis with an
append-only file written each second). *Trips* is how many answers of the server a call waits for: what a proxy that
holds each answer back for 10 ms makes it longer, in units of 10 ms.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import statistics
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

from amber import Memory
from amber.config import parse_target
from amber.memory import open_store
from benchmarks.figures import machine, record

KINDS = {
    "dict": "in process",
    "sqlite": "SQLite",
    "postgres": "PostgreSQL 18",
    "postgres-15": "PostgreSQL 15",
    "redis": "Valkey 9",
    "redis-7.0": "Redis 7.0",
}
DELAY = 0.010
WORDS = ("coffee", "garden", "meeting", "invoice", "train", "river", "window", "piano", "letter", "winter")
ANSWERS = {True: "yes", False: "no"}


def content(n: int) -> str:
    """Give the text of a fact: three words of ten, and one of its own."""
    return f"note{n} {WORDS[n % 10]} {WORDS[n // 10 % 10]} {WORDS[n // 100 % 10]}"


def fill(memory: Memory, facts: int) -> None:
    """Write facts, 500 in a transaction, in ten types."""
    for start in range(0, facts, 500):
        with memory.transaction() as tx:
            for n in range(start, min(start + 500, facts)):
                tx.facts.put({"n": n, "user": f"u{n % 100}", "content": content(n)}, key=f"f{n}", type=f"t{n % 10}")


def calls(memory: Memory, facts: int) -> dict[str, Callable[[int], object]]:
    """Give what is measured, by name; each takes the number of the call."""

    def in_one_transaction(n: int) -> None:
        with memory.transaction() as tx:
            for each in range(10):
                tx.facts.put({"n": each}, key=f"ten{n}-{each}", type="new")

    def undone(n: int) -> None:
        memory.facts.put({"n": n}, key=f"gone{n}", type="new")
        memory.history.undo(last=1)

    return {
        "a new fact": lambda n: memory.facts.put({"n": n, "content": content(n)}, key=f"new{n}", type="new"),
        "ten facts in one transaction": in_one_transaction,
        "a fact by its key": lambda n: memory.facts.find(key=f"f{n * 7 % facts}"),
        "20 facts of a type by a field": lambda n: memory.facts.page(
            type="t3", where={"user": f"u{n % 10 * 10 + 3}"}, limit=20
        ),
        "count of a type": lambda n: memory.facts.count(type=f"t{n % 10}"),
        "a question to all texts": lambda n: memory.recall(f"{WORDS[n % 10]} {WORDS[n * 3 % 10]}", limit=5),
        "the newest 20 of the log": lambda _: memory.history.page(limit=20),
        "a fact and its undo": undone,
    }


def median(call: Callable[[int], object], numbers: range) -> float:
    """Give the median seconds of calls."""
    spent = []
    for n in numbers:
        begun = perf_counter()
        call(n)
        spent.append(perf_counter() - begun)
    return statistics.median(spent)


def measure(target: str, slow: str | None, facts: int, rounds: int) -> dict[str, Any]:
    """Measure one store, and the same store behind a proxy."""
    with Memory.open(target, search_memory=0) as memory:
        begun = perf_counter()
        fill(memory, facts)
        found: dict[str, Any] = {
            "capabilities": memory._store.capabilities._asdict(),
            "facts per second, 500 in a transaction": round(facts / (perf_counter() - begun)),
        }
        named = calls(memory, facts)
        times = {name: median(call, range(rounds)) for name, call in named.items()}
        trips = {}
        if slow is not None:
            with Memory.open(slow, search_memory=0) as distant:
                for number, (name, call) in enumerate(calls(distant, facts).items(), 1):
                    numbers = range(number * 10_000, number * 10_000 + 7)
                    call(numbers.stop)
                    trips[name] = round((median(call, numbers) - times[name]) / DELAY, 1)
        found["problems"] = len(memory.verify())
        found["ms"] = {name: round(seconds * 1e3, 3) for name, seconds in times.items()}
        found["trips"] = trips
        found["joins"] = joins(target)
        return found


def joins(target: str) -> bool:
    """Tell whether a memory over a connection of the caller's takes part in its transaction."""
    place = parse_target(target)
    if place.kind == "sqlite":
        return open_store(sqlite3.connect(":memory:")).capabilities.enlists
    if place.kind == "postgres":
        import psycopg

        with psycopg.connect(str(place.url)) as connection:
            return open_store(connection).capabilities.enlists
    return False


@contextmanager
def serve(kind: str, folder: Path) -> Iterator[tuple[str, str | None]]:
    """Give the target of a kind of store, and the same behind a proxy."""
    if kind == "dict":
        yield "memory:", None
        return
    if kind == "sqlite":
        yield str(folder / "amber.db"), None
        return
    from tests.servers.postgres import Postgres
    from tests.servers.proxy import Proxy
    from tests.servers.redis import Redis

    server: Postgres | Redis
    if kind.startswith("postgres"):
        server = Postgres(
            "15" if kind == "postgres-15" else "18", fsync="on", full_page_writes="on", shared_buffers="256MB"
        )
    else:
        server = Redis("7.0" if kind == "redis-7.0" else "valkey", appendonly="yes", appendfsync="everysec")
    proxy = Proxy(server.port, DELAY)
    yield server.url, server.url.replace(f":{server.port}/", f":{proxy.port}/")
    proxy.remove()
    server.remove()


def page(results: dict[str, Any]) -> str:
    """Write the table of the documentation."""
    stores: dict[str, Any] = results["stores"]
    names = [KINDS[kind] for kind in stores]
    head = f"| | {' | '.join(names)} |\n| --- |{' --- |' * len(names)}"

    def row(title: str, cells: list[str]) -> str:
        return f"| {title} | {' | '.join(cells)} |"

    def can(field: str) -> list[str]:
        return [ANSWERS[each["capabilities"][field]] for each in stores.values()]

    able = [
        row("outlives the process", can("durable")),
        row("several processes at once", can("many_processes")),
        row("joins a transaction of the caller's", [ANSWERS[each["joins"]] for each in stores.values()]),
        row("`scrub` clears the raw files", can("scrubs")),
        row("`backup` of its own", can("backs_up")),
        row("writes in one commit, at most", [f"{each['capabilities']['max_writes']:,}" for each in stores.values()]),
    ]
    measured = next(iter(stores.values()))["ms"]
    costs = [row(name, [f"{each['ms'][name]:.2f}" for each in stores.values()]) for name in measured]
    trips = [
        row(name, [f"{each['trips'][name]:.0f}" if each["trips"] else "none" for each in stores.values()])
        for name in measured
    ]
    bulk = "facts per second, 500 in a transaction"
    filled = row("facts per second, 500 in a transaction", [f"{each[bulk]:,}" for each in stores.values()])
    where = results["machine"]
    return "\n".join(
        [
            "# The stores: what each can do, and what it costs",
            "",
            "Every store keeps the whole contract; the table says where they differ. Written by",
            "`python -m benchmarks.stores` from a run, never by hand.",
            "",
            "## What each can do",
            "",
            head,
            *able,
            "",
            "What a scrub can not reach on a server (archives of its log, replicas, backups, the disk's own copies) is",
            "said by its receipt.",
            "",
            f"## Milliseconds, with {results['facts']:,} facts",
            "",
            f"Medians of one caller; the servers run on the same {where['cpus']} cores, with their data on disk. Good",
            "for comparing columns, not machines.",
            "",
            head,
            *costs,
            filled,
            "",
            "## Trips",
            "",
            "How many answers of the server a call waits for: over a network, each costs one round trip.",
            "",
            head,
            *trips,
            "",
        ]
    )


def main(arguments: list[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, prog="benchmarks.stores"
    )
    parser.add_argument("--stores", default=",".join(KINDS), help="which ones, with commas")
    parser.add_argument("--facts", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--from", dest="given", type=Path, help="a recorded result instead of a run")
    parser.add_argument("--page", type=Path, help="write the documentation's page")
    parser.add_argument("--record", action="store_true", help="keep the figures in results/")
    given = parser.parse_args(arguments)
    if given.given:
        results = json.loads(given.given.read_text())
    else:
        stores: dict[str, Any] = {}
        for kind in given.stores.split(","):
            with tempfile.TemporaryDirectory() as folder, serve(kind, Path(folder)) as (target, slow):
                stores[kind] = measure(target, slow, given.facts, given.rounds)
        results = {"facts": given.facts, "rounds": given.rounds, "machine": machine(), "stores": stores}
    print(json.dumps(results, indent=1))
    if given.record:
        record("stores", results)
    if given.page:
        given.page.write_text(page(results))


if __name__ == "__main__":
    main()
