"""End a process with kill -9 at a named point of a write, to see what is left on the disk.

The work runs in a new Python, so that nothing of it is shared with the test: no lock, no cache, no open file.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from importlib import import_module

from amber.store import faults


def killed_at(point: str, work: str, *arguments: str, passing: int = 1, timeout: float = 60.0) -> bool:
    """Run ``work`` in a process of its own, which kills itself when it passes ``point``.

    :param point: one of ``faults.POINTS``.
    :param work: ``module:function``; the function gets ``arguments`` and must be importable from ``sys.path``.
    :param passing: at which passing of the point, counted from 1.
    :return: whether the point was passed; False when the work came to its end before.
    :raises ValueError: for a point that does not exist.
    :raises AssertionError: when the work failed by itself; the text is what it wrote.
    """
    if point not in faults.POINTS:
        raise ValueError(f"{point!r} is not a fault point; there are: {', '.join(faults.POINTS)}.")
    command = [sys.executable, "-m", __name__, point, str(passing), work, *arguments]
    child = subprocess.run(
        command,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    if child.returncode == -signal.SIGKILL:
        return True
    if child.returncode != 0:
        raise AssertionError(f"{work} failed before it reached {point}:\n{child.stdout}{child.stderr}")
    return False


def environment() -> dict[str, str]:
    """Give an environment in which a child imports what this process can import."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(place for place in sys.path if place)}


def start(work: str, *arguments: str) -> subprocess.Popen[str]:
    """Start ``work`` in a process of its own that nothing kills; its output can be read."""
    command = [sys.executable, "-m", __name__, "", "0", work, *arguments]
    return subprocess.Popen(
        command,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
    )


def _main(point: str, passing: str, work: str, *arguments: str) -> None:
    left = int(passing)

    def hook(passed: str) -> None:
        nonlocal left
        if passed == point:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    module, _, function = work.partition(":")
    target = getattr(import_module(module), function)
    if point:
        faults.install(hook)
    target(*arguments)


if __name__ == "__main__":
    _main(*sys.argv[1:])
