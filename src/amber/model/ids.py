"""Time-ordered ids: document keys sort by when they were made, so that index pages fill in order."""

from __future__ import annotations

_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
_TIME_LETTERS, _RANDOM_LETTERS = 11, 9
RANDOM_BITS = 5 * _RANDOM_LETTERS
RANDOM_BYTES = -(-RANDOM_BITS // 8)
#: The latest time that a clock may tell an id, in the year 3111; from then on ids only count.
LATEST_ID = (1 << 5 * _TIME_LETTERS) - (1 << 44)


_PAIRS = [one + other for one in _LETTERS for other in _LETTERS]


def make_id(micros: int, random: int) -> str:
    """Write a time in microseconds (55 bits) and ``RANDOM_BITS`` random bits as 20 letters that sort by time."""
    number = (micros << RANDOM_BITS) | random
    return "".join([_PAIRS[number >> shift & 1023] for shift in range(90, -1, -10)])
