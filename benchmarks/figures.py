"""What every benchmark says of its samples, and how results are kept and drawn."""

from __future__ import annotations

import json
import os
import platform
import sqlite3
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

RESULTS = Path(__file__).parent / "results"


def timed(work: Callable[[Any], object], given: Iterable[Any]) -> list[float]:
    """Give the microseconds of each call."""
    spent = []
    for each in given:
        start = perf_counter()
        work(each)
        spent.append((perf_counter() - start) * 1e6)
    return spent


def spread(samples: Sequence[float]) -> dict[str, float]:
    """Give the middle, the mean, the 99th percentile and the longest of some microseconds."""
    cuts = statistics.quantiles(samples, n=100)
    return {
        "p50": round(statistics.median(samples), 2),
        "mean": round(statistics.fmean(samples), 2),
        "p99": round(cuts[98], 2),
        "longest": round(max(samples), 2),
    }


def machine() -> dict[str, Any]:
    """Say what the figures were measured on."""
    return {
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "cpus": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
    }


def record(name: str, results: Any, out: Path | None = None) -> Path:
    """Write results beside the ones that are there; give the file."""
    path = out if out is not None else RESULTS / f"{name}.json"
    path.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    return path


def draw(path: Path, title: str, panels: Mapping[str, Callable[[Any], None]], width: float = 5.2) -> bool:
    """Draw panels, three in a row; False when matplotlib is not there (``pip install amber[bench]``)."""
    try:
        import matplotlib as mpl
    except ImportError:
        return False
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    columns = min(len(panels), 3)
    lines = -(-len(panels) // columns)
    figure, axes = plt.subplots(lines, columns, figsize=(width * columns, 4.4 * lines), squeeze=False)
    for axis in axes.flat[len(panels) :]:
        axis.set_axis_off()
    for axis, (name, panel) in zip(axes.flat, panels.items(), strict=False):
        panel(axis)
        axis.set_title(name, fontsize=10)
        axis.spines[["top", "right"]].set_visible(False)
    figure.suptitle(title, fontsize=11)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return True
