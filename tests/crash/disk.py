"""A disk that is full: a real one of some megabytes where mounting is allowed, else a bound on the size of files."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from amber.testing.crash import environment

#: Run a command in a mount namespace of its own: as root, or as a user who may have one.
WAYS = (("unshare", "-m", "sh", "-c"), ("unshare", "-rm", "sh", "-c"))
MEGABYTES = 3


@contextmanager
def bounded(size: int) -> Iterator[None]:
    """Let no file of this process grow beyond a size for a block; what exceeds it is refused like on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def run_on_small_disk(function: str, folder: Path) -> subprocess.CompletedProcess[str] | None:
    """Run ``module:function`` with a folder that is a disk of its own; None where nobody may mount one."""
    mount = f"mount -t tmpfs -o size={MEGABYTES}m none '{folder}'"
    command = f"{mount} && exec '{sys.executable}' -m amber.testing.crash '' 0 {function} '{folder}'"
    for way in WAYS:
        try:
            allowed = subprocess.run([*way, mount], capture_output=True, check=False)
        except FileNotFoundError:
            continue
        if allowed.returncode == 0:
            return subprocess.run(
                [*way, command], env=environment(), capture_output=True, text=True, timeout=100, check=False
            )
    return None


def fill(folder: str) -> None:
    """Write a file until the disk has no room left at all."""
    size = 1 << 16
    with open(os.path.join(folder, "ballast"), "ab", buffering=0) as file:
        while size:
            try:
                file.write(b"x" * size)
            except OSError:
                size //= 2


def free(folder: str) -> None:
    """Give the room back."""
    os.remove(os.path.join(folder, "ballast"))
