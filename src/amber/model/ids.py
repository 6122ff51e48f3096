"""Time-ordered ids: document keys sort by when they were made, so that index pages fill in order."""

from __future__ import annotations

_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
_TIME_LETTERS, _RANDOM_LETTERS = 11, 9
RANDOM_BITS = 5 * _RANDOM_LETTERS


def make_id(micros: int, random: int) -> str:
    """Write a time in microseconds (55 bits) and ``RANDOM_BITS`` random bits as 20 letters that sort by time."""
    return _letters(micros, _TIME_LETTERS) + _letters(random, _RANDOM_LETTERS)


def _letters(number: int, width: int) -> str:
    text = ""
    for _ in range(width):
        text = _LETTERS[number & 31] + text
        number >>= 5
    return text
