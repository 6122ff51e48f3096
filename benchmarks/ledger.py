"""The ledger benchmark of ``../shared/tools`` beside MemState on one backend: run, compared, checked, drawn.

    python -m benchmarks.ledger                      # 1k and 10k facts, one pass
    python -m benchmarks.ledger --full --record      # 1k to 100k facts, three passes in turn: half an hour
    python -m benchmarks.ledger --backend postgres   # or redis, inmemory: on servers of our own
    python -m benchmarks.ledger --from result.json --record

MemState needs ``pip install "memstate[sqlite-async,postgres,redis]" greenlet``; the adapter says how its surface maps.
A figure is flat when the largest size takes at most 1.5 times as long as the smallest (a deep offset: 2.0 times).
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.figures import draw, machine, record

TOOL = Path(__file__).parents[2] / "shared" / "tools" / "bench_ledger.py"
#: What must be flat, and how much it may grow.
FLAT = {
    "commit singleton": 1.5,
    "query type+filter": 1.5,
    "get_tx_log limit 100": 1.5,
    "get_tx_log limit 1": 1.5,
    "get_tx_log deep offset": 2.0,
    "rollback(1)": 1.5,
}


def measure(backend: str, arguments: list[str]) -> dict[str, Any]:
    """Run the shared tool on a backend, MemState and Amber in turn."""
    with tempfile.TemporaryDirectory() as folder, serve(backend) as server:
        out = Path(folder, "ledger.json")
        command = [sys.executable, str(TOOL), "--backends", backend, "--vs", "benchmarks.ledger_adapter:Adapter"]
        subprocess.run([*command, *server, *arguments, "--out", str(out)], check=True)
        result: dict[str, Any] = json.loads(out.read_text())
        return result


@contextmanager
def serve(backend: str) -> Iterator[list[str]]:
    """Run the server that a backend needs, with its data on disk, and give the tool's options for it."""
    if backend == "postgres":
        from tests.servers.postgres import Postgres

        postgres = Postgres("18", fsync="on", full_page_writes="on", shared_buffers="256MB")
        yield ["--pg", postgres.url.replace("postgresql:", "postgresql+psycopg:")]
        postgres.remove()
    elif backend == "redis":
        from tests.servers.redis import Redis

        redis = Redis("7.0", appendonly="yes", appendfsync="everysec")
        yield ["--redis", redis.url]
        redis.remove()
    else:
        yield []


def by_size(results: dict[str, Any], backend: str = "sqlite") -> dict[str, dict[int, float]]:
    """Give the medians of what grows, by name and size; of a query by returned row."""
    found: dict[str, dict[int, float]] = {}
    for name, figures in results[backend].items():
        match = re.fullmatch(r"(.*?) @(\d+)k(?: log| \((\d+) rows\))?", name)
        if match is not None:
            rows = max(int(match[3] or 1), 1)
            found.setdefault(match[1], {})[int(match[2]) * 1000] = figures["median"] / rows
    return found


def compare(result: dict[str, Any]) -> dict[str, Any]:
    """Give how much faster Amber is (above 1: faster), and how much each figure grows from the first size."""
    backend = backend_of(result)
    theirs, ours = result["results"][backend], result["vs"]["results"][backend]
    ratios = {}
    for name, figures in theirs.items():
        ratio = ours[name]["median"] / figures["median"]
        ratios[name] = round(ratio if figures["unit"] == "/s" else 1 / ratio, 2)
    grown: dict[str, Any] = {}
    for lib, results in (("amber", result["vs"]["results"]), ("memstate", result["results"])):
        for name, sizes in by_size(results, backend).items():
            growth = round(sizes[max(sizes)] / sizes[min(sizes)], 2)
            grown.setdefault(name, {})[lib] = growth
            if lib == "amber" and name in FLAT:
                grown[name]["flat"] = growth <= FLAT[name]
    return {"speed_ratio": ratios, "growth": grown}


def backend_of(result: dict[str, Any]) -> str:
    """Give the one backend of a result."""
    (backend,) = result["results"]
    return str(backend)


def picture(result: dict[str, Any], path: Path) -> bool:
    """Draw milliseconds by size."""
    backend = backend_of(result)
    ours, theirs = by_size(result["vs"]["results"], backend), by_size(result["results"], backend)

    def panel(name: str) -> Callable[[Any], None]:
        def paint(axis: Any) -> None:
            for found, style, label in ((ours, "C0-o", "Amber"), (theirs, "C1--x", "MemState")):
                axis.plot(list(found[name]), list(found[name].values()), style, label=label)
            axis.set(xscale="log", yscale="log", xlabel="facts", ylabel="ms per row" if "query" in name else "ms")
            axis.legend(fontsize=7)

        return paint

    names = ("commit singleton", "query type+filter", "get_tx_log deep offset", "rollback(1)", "discard_session(100)")
    rates = {name: (result["vs"]["results"][backend][name], result["results"][backend][name]) for name in _RATES}

    def speeds(axis: Any) -> None:
        for place, (mine, other) in enumerate(rates.values()):
            axis.barh(place - 0.2, mine["median"], height=0.35, color="C0")
            axis.barh(place + 0.2, other["median"], height=0.35, color="C1")
        axis.set_yticks(range(len(rates)), list(rates))
        axis.invert_yaxis()
        axis.set(xscale="log", xlabel="per second")

    title = f"Amber (blue) and MemState (orange): {backend}"
    return draw(path, title, {"speed": speeds, **{name: panel(name) for name in names}}, width=3.6)


_RATES = ("commit new", "update", "get (10k facts)")


def main(arguments: list[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, prog="benchmarks.ledger"
    )
    parser.add_argument("--full", action="store_true", help="1k, 10k and 100k facts, three passes")
    parser.add_argument("--backend", default="sqlite", choices=("inmemory", "sqlite", "postgres", "redis"))
    parser.add_argument("--from", dest="given", type=Path, help="a result of bench_ledger.py instead of a new run")
    parser.add_argument("--record", action="store_true", help="keep the figures in results/")
    given = parser.parse_args(arguments)
    if given.given is None:
        missing = _missing()
        if missing:
            print(f"ledger: left out, {missing}")
            return
    quick = ["--sizes", "1000,10000", "--runs", "3"]
    result = (
        json.loads(given.given.read_text())
        if given.given
        else measure(given.backend, ["--passes", "3"] if given.full else quick)
    )
    figures = {**compare(result), "machine": machine(), **result}
    print(json.dumps({name: figures[name] for name in ("speed_ratio", "growth")}, indent=1))
    if given.record:
        backend = backend_of(result)
        path = record("ledger" if backend == "sqlite" else f"ledger_{backend}", figures)
        picture(result, path.with_suffix(".png"))


def _missing() -> str | None:
    if not TOOL.exists():
        return f"there is no {TOOL}"
    try:
        import memstate  # noqa: F401
    except ImportError:
        return "memstate is not installed"
    return None


if __name__ == "__main__":
    main()
