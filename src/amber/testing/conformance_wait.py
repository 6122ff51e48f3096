"""Waiting for what others commit."""

from __future__ import annotations

import time
from typing import Any

import pytest

from amber.errors import BadInput
from amber.testing.conformance import Conformance, together
from amber.testing.samples import SPACE, Hand

#: Seconds that nothing takes that does not hang.
LONG = 60.0


class WaitConformance(Conformance):
    """Waiting for a position, in its own space, at most as long as asked."""

    def test_what_is_there_is_given_at_once(self, hand: Hand) -> None:
        hand.put("a", n=1)
        hand.put("b", n=1)
        assert hand.store.wait(SPACE, 0, timeout=LONG) == 2
        assert hand.store.wait(SPACE, 1, timeout=LONG) == 2

    @pytest.mark.parametrize("timeout", [0, 0.03])
    def test_nothing_comes(self, hand: Hand, timeout: float) -> None:
        hand.put("a", n=1)
        Hand(hand.store, hand.clock, space="other").put("a", n=1)
        Hand(hand.store, hand.clock, space="other").put("a", n=2)
        begun = time.monotonic()
        assert hand.store.wait(SPACE, 1, timeout=timeout) == 1
        assert hand.store.wait(SPACE, 9, timeout=0) == 1
        assert hand.store.wait("new", 0, timeout=0) == 0
        assert time.monotonic() - begun >= timeout

    def test_a_commit_wakes_all_who_wait(self, hand: Hand) -> None:
        found: list[int] = []

        def listen() -> None:
            at = 0
            while at < 20:
                at = hand.store.wait(SPACE, at, timeout=LONG)
                found.append(at)

        def write() -> None:
            for number in range(20):
                hand.put(f"k{number}", n=number)

        together([listen, listen, listen, write])
        assert found.count(20) == 3

    @pytest.mark.parametrize(
        ("after", "timeout"),
        [(-1, 1.0), ("1", 1.0), (None, 1.0), (1.0, 1.0), (0, -1), (0, float("inf")), (0, float("nan")), (0, None)],
    )
    def test_a_bad_wait_is_refused(self, hand: Hand, after: Any, timeout: Any) -> None:
        with pytest.raises(BadInput):
            hand.store.wait(SPACE, after, timeout=timeout)
        with pytest.raises(BadInput):
            hand.store.wait("", 0, timeout=0)
