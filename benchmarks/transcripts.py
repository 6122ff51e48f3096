"""Read all recorded sessions of a folder with all readers: what comes out of each format, and how fast.

Only reading is timed (both passes, from a warm cache), not the import. Small files say little about speed, so each
format is read again and again for a while. A line per format; what is refused is named with its reason.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

from amber.pipeline.transcripts import Refusal, open_session

#: The shared data folder, where it stands beside the checkout.
DATA = Path(__file__).parents[2] / "shared" / "data"


def read(path: Path) -> tuple[str, int, int] | Refusal:
    """Read a file whole; give its format, how many sessions and how many messages it holds."""
    reader = open_session(path)
    if isinstance(reader, Refusal):
        return reader
    name, sessions, messages = "", 0, 0
    for part in reader.sessions():
        name = part.info().format
        sessions += 1
        messages += sum(1 for _ in part)
    return name, sessions, messages


def measure(paths: list[Path], seconds: float) -> float:
    """Give the best MB/s of reading these files, over some time."""
    size, best = sum(path.stat().st_size for path in paths), 0.0
    end = time.perf_counter() + seconds
    while True:
        start = time.perf_counter()
        for path in paths:
            read(path)
        now = time.perf_counter()
        best = max(best, size / 1e6 / (now - start))
        if now > end:
            return best


def run(folder: Path, seconds: float) -> dict[str, Any]:
    """Give the figures of each format, and how many files were refused as what."""
    files: dict[str, list[Path]] = {}
    counts: dict[str, Counter[str]] = {}
    refused: Counter[str] = Counter()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        found = read(path)
        if isinstance(found, Refusal):
            refused[found.name or "unknown"] += 1
            print(f"refused {path.relative_to(folder)}: {found.reason}")
            continue
        name, sessions, messages = found
        files.setdefault(name, []).append(path)
        counts.setdefault(name, Counter()).update(sessions=sessions, messages=messages)
    formats = {}
    for name, paths in sorted(files.items()):
        formats[name] = {
            "files": len(paths),
            "sessions": counts[name]["sessions"],
            "messages": counts[name]["messages"],
            "bytes": sum(path.stat().st_size for path in paths),
            "mb_per_s": round(measure(paths, seconds), 1),
        }
        print(json.dumps({"format": name, **formats[name]}), flush=True)
    return {"formats": formats, "refused": dict(sorted(refused.items()))}


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=DATA)
    parser.add_argument("--seconds", type=float, default=2.0, help="how long each format is read for")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "transcripts.json")
    given = parser.parse_args()
    results = run(given.folder, given.seconds)
    given.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
