"""A lock that those who wait get in the order in which they came.

The locks of ``threading`` promise no order, and a thread that lets go and asks again at once mostly wins: a busy writer
kept a reader out for four seconds and 25,000 commits. Here the one who lets go hands over.
"""

from __future__ import annotations

from collections import deque
from threading import Lock, get_ident


class Turns:
    """A reentrant lock, first come first served; entered with ``with``."""

    def __init__(self) -> None:
        self._gate = Lock()
        self._waiting: deque[tuple[int, Lock]] = deque()
        self._owner: int | None = None
        self._depth = 0

    def __enter__(self) -> None:
        me = get_ident()
        if self._owner == me:
            self._depth += 1
            return
        with self._gate:
            if self._owner is None:
                self._owner = me
                return
            place = (me, Lock())
            place[1].acquire()
            self._waiting.append(place)
        try:
            place[1].acquire()
        except BaseException:
            self._give_up(place)
            raise

    def __exit__(self, *_: object) -> None:
        if self._depth:
            self._depth -= 1
            return
        with self._gate:
            self._hand_over()

    def _hand_over(self) -> None:
        if not self._waiting:
            self._owner = None
            return
        self._owner, turn = self._waiting.popleft()
        turn.release()

    def _give_up(self, place: tuple[int, Lock]) -> None:
        with self._gate:
            if place in self._waiting:
                self._waiting.remove(place)
            else:
                self._hand_over()
