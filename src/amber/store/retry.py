"""Read, decide, commit, and again when somebody else was faster."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from amber.errors import Conflict

T = TypeVar("T")

#: Attempts before a conflict reaches the caller. Each failed attempt means that another writer succeeded.
ATTEMPTS = 100
#: The longest pause between attempts, in seconds; pauses grow to it and are drawn at random.
_LONGEST = 0.02


def again(attempt: Callable[[], T]) -> T:
    """Run ``attempt`` until it is not beaten by another writer, at most ``ATTEMPTS`` times.

    :raises Conflict: the last one; at once when reading again can not help.
    """
    for number in range(1, ATTEMPTS):
        try:
            return attempt()
        except Conflict as conflict:
            if conflict.retry != "reread":
                raise
        time.sleep(random.uniform(0, min(_LONGEST, 0.0002 * 2 ** min(number, 10))))
    return attempt()
