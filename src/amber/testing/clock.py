"""A clock that stands still until it is told to move."""

from __future__ import annotations

#: 14 November 2023, 22:13:20 UTC.
START = 1_700_000_000_000_000


class FakeClock:
    """Give microseconds since the epoch, UTC; the same ones until ``advance`` is called."""

    def __init__(self, now: int = START) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now

    def advance(self, *, seconds: float = 0, microseconds: int = 0) -> int:
        """Move on, or back for a negative step, and give the new time."""
        self.now += round(seconds * 1_000_000) + microseconds
        return self.now
