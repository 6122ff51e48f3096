"""How long it takes to forget a sender, and how long another writer waits meanwhile.

Fills a file with facts of two senders, forgets one while a second process writes facts of the other, and tells: the
seconds of the dry run and of the forget with its scrub, how long the purges hold the writer, and how long the second
process waits for its commits before and during.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import tempfile
import time
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

from amber import Memory
from amber.services import forgetting

BATCH = 500


def fill(memory: Memory, n: int) -> None:
    """Put ``n`` facts of ana, of 20 words each, and a hundredth of that of ben."""
    for start in range(0, n, BATCH):
        with memory.transaction() as tx:
            for number in range(start, min(start + BATCH, n)):
                words = " ".join(f"word{(number * 7 + k * k) % 4_000}" for k in range(20))
                tx.facts.put({"text": words, "n": number}, sender="ana", session=f"s{number % 100}")
                if number % 100 == 0:
                    tx.facts.put(f"about ben {number}", sender="ben")


def write_on(path: str, phases: Any, stop: Event) -> None:
    """Commit a fact every 5 ms and give how long each commit took, in ms."""
    waits = []
    with Memory.open(path) as memory:
        number = 0
        while not stop.is_set():
            began = time.perf_counter()
            memory.facts.put(f"ben writes {number}", sender="ben")
            waits.append((time.time(), 1_000 * (time.perf_counter() - began)))
            number += 1
            time.sleep(0.005)
    phases.put(waits)


def spread(values: list[float]) -> dict[str, float]:
    """Give median, 99th percentile and maximum."""
    ordered = sorted(values) or [0.0]
    return {
        "n": len(values),
        "p50": round(ordered[len(ordered) // 2], 2),
        "p99": round(ordered[int(len(ordered) * 0.99)], 2),
        "max": round(ordered[-1], 2),
    }


def measure(n: int, chunk: int, *, writer: bool) -> dict[str, Any]:
    """Fill, forget, and give the figures."""
    forgetting.CHUNK = chunk
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "amber.db")
        with Memory.open(path) as memory:
            fill(memory, n)
            began = time.perf_counter()
            planned = memory.forget(sender="ana", dry_run=True)
            dry = time.perf_counter() - began
            held: list[float] = []
            purge = memory._store.purge

            def timed(*given: Any, **more: Any) -> Any:
                begun = time.perf_counter()
                answer = purge(*given, **more)
                held.append(1_000 * (time.perf_counter() - begun))
                return answer

            memory._store.purge = timed  # type: ignore[method-assign]
            spawning = multiprocessing.get_context("spawn")
            stop, phases = spawning.Event(), spawning.Queue()
            process = spawning.Process(target=write_on, args=(path, phases, stop))
            if writer:
                process.start()
                time.sleep(3)
            start, began = time.time(), time.perf_counter()
            receipt = memory.forget(sender="ana")
            seconds, end = time.perf_counter() - began, time.time()
            waits: list[tuple[float, float]] = []
            if writer:
                stop.set()
                waits = phases.get(timeout=60)
                process.join()
            assert receipt.documents == planned.documents == {"facts": n}
            assert memory.verify() == []
            return {
                "facts": n,
                "chunk": chunk,
                "dry_run_s": round(dry, 2),
                "forget_s": round(seconds, 2),
                "facts_per_s": round(n / seconds),
                "purge_ms": spread(held),
                "scrub_steps": receipt.steps,
                "remaining": receipt.remaining,
                "other_process_ms_before": spread([each for at, each in waits if at < start]),
                "other_process_ms_during": spread([each for at, each in waits if start <= at <= end]),
            }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--facts", type=int, default=100_000)
    parser.add_argument("--chunk", type=int, default=forgetting.CHUNK)
    parser.add_argument("--no-writer", action="store_true")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    result = measure(options.facts, options.chunk, writer=not options.no_writer)
    text = json.dumps(result, indent=1)
    print(text)
    if options.out is not None:
        options.out.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
