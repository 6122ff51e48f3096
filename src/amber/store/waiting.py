"""Waiting for a position, for stores that nobody tells of changes."""

from __future__ import annotations

import time
from collections.abc import Callable

from amber.errors import BadInput
from amber.model.bounds import check_int

#: Seconds between two looks at the position: short at first, then longer, as long as nothing comes.
FIRST, LONGEST = 0.001, 0.05


def check_wait(after: int, timeout: float) -> None:
    """Check what a wait was asked for."""
    check_int("after", after, 0)
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 <= timeout < float("inf"):
        raise BadInput(f"timeout must be a number of seconds from 0, not {timeout!r}.", timeout=timeout)


def wait(position: Callable[[], int], after: int, timeout: float) -> int:
    """Look at a position until it is past ``after`` or ``timeout`` seconds are over, and give it."""
    check_wait(after, timeout)
    until, pause = time.monotonic() + timeout, FIRST
    while (found := position()) <= after and (left := until - time.monotonic()) > 0:
        time.sleep(min(pause, left))
        pause = min(pause * 2, LONGEST)
    return found
