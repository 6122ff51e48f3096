"""Show the passage of a text that answers a question best."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple, Protocol

from amber.search.analyzer import token_spans
from amber.search.characters import continues
from amber.search.words import Kind, segments

SCANNED = 200_000
"""Characters of a text that are looked at."""

_ELLIPSIS = "\u2026"
_BLANKS = re.compile(r"\s+")
_ZERO_WIDTH_JOINER = "\u200d"


class WeightedToken(Protocol):
    """A token and what it is worth; `Term` and `PlannedTerm` are such."""

    @property
    def token(self) -> str:
        """Return the token as `analyze` gives it."""

    @property
    def weight(self) -> float:
        """Return the worth of the token: best times its idf, so that rare words draw the window."""


class Snippet(NamedTuple):
    """A passage, and where the matches lie in it when it is read without the marks."""

    text: str
    spans: tuple[tuple[int, int], ...]


class _Match(NamedTuple):
    start: int
    end: int
    token: str


def snippet(text: str, terms: Iterable[WeightedToken], width: int = 160, mark: tuple[str, str] = ("[", "]")) -> Snippet:
    """Return the window of at most `width` characters whose distinct matched terms weigh most, the first of equals.

    White space is folded to single blanks. The ellipses at cut ends and the marks come on top of `width`. `spans` count
    characters of the text without the marks, ellipsis included; overlapping and touching matches are one. No cut falls
    inside a character's combining marks. Linear in the text, of which the first 200,000 characters are looked at.

    :raises ValueError: if `width` is less than 1.
    """
    if width < 1:
        raise ValueError(f"width must be at least 1, not {width}")
    weights: dict[str, float] = {}
    for term in terms:
        weights[term.token] = max(term.weight, weights.get(term.token, 0.0))
    folded = _BLANKS.sub(" ", text[:SCANNED]).strip()
    matches = _matches(folded, weights)
    first, last = _best(matches, weights, width)
    focus = (matches[first].start, max(match.end for match in matches[first : last + 1])) if matches else (0, 0)
    start, end = _window(folded, *focus, width)
    lead = _ELLIPSIS if start > 0 else ""
    tail = _ELLIPSIS if end < len(folded) or len(text) > SCANNED else ""
    spans = _merge(matches, start, end, len(lead) - start)
    return Snippet(_marked(f"{lead}{folded[start:end]}{tail}", spans, mark), spans)


def _matches(folded: str, weights: dict[str, float]) -> list[_Match]:
    """Return the matches in order; a character by itself is none when the question has it inside a pair."""
    if not weights:
        return []
    covered = {
        part.token for token in weights for part in segments(token) if part.kind is Kind.SINGLE and part.token != token
    }
    found = [
        _Match(start, end, token)
        for token, start, end, kind in token_spans(folded)
        if token in weights and not (kind is Kind.SINGLE and token in covered)
    ]
    found.sort()
    return found


def _best(matches: list[_Match], weights: dict[str, float], width: int) -> tuple[int, int]:
    """Return the first and last of the matches that fit into `width` and whose distinct tokens weigh most."""
    best, first, last = 0.0, 0, 0
    inside: Counter[str] = Counter()
    total = 0.0
    left = 0
    for right, match in enumerate(matches):
        inside[match.token] += 1
        if inside[match.token] == 1:
            total += weights[match.token]
        while left < right and match.end - matches[left].start > width:
            leaving = matches[left].token
            inside[leaving] -= 1
            if inside[leaving] == 0:
                total -= weights[leaving]
            left += 1
        if total > best + 1e-9:
            best, first, last = total, left, right
    return first, last


def _window(folded: str, focus_start: int, focus_end: int, width: int) -> tuple[int, int]:
    """Return a window around the focus that begins and ends at word borders where there are any near."""
    if len(folded) <= width:
        return 0, len(folded)
    focus_end = min(focus_end, focus_start + width)
    spare = width - (focus_end - focus_start)
    slack = max(16, width // 4)
    start = max(0, min(focus_start - spare // 2, len(folded) - width))
    end = start + width
    if start > 0 and folded[start - 1] != " ":
        border = folded.find(" ", start, min(focus_start, start + slack))
        start = border + 1 if border >= 0 else start
    if end < len(folded) and folded[end] != " ":
        border = folded.rfind(" ", max(focus_end, end - slack), end)
        end = border if border >= 0 else end
    while 0 < start < focus_start and _inside(folded, start):
        start += 1
    while start < end < len(folded) and _inside(folded, end):
        end -= 1
    while start < end and folded[start] == " ":
        start += 1
    while start < end and folded[end - 1] == " ":
        end -= 1
    return start, end


def _inside(folded: str, place: int) -> bool:
    """Tell whether a cut at `place` would split what is seen as one character."""
    return continues(folded[place]) or folded[place - 1] == _ZERO_WIDTH_JOINER


def _merge(matches: list[_Match], start: int, end: int, shift: int) -> tuple[tuple[int, int], ...]:
    """Return the parts of the matches inside the window as disjoint spans moved by `shift`."""
    merged: list[tuple[int, int]] = []
    for match in matches:
        left, right = max(match.start, start), min(match.end, end)
        if left >= right:
            continue
        if merged and left <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], right))
        else:
            merged.append((left, right))
    return tuple((left + shift, right + shift) for left, right in merged)


def _marked(text: str, spans: tuple[tuple[int, int], ...], mark: tuple[str, str]) -> str:
    pieces: list[str] = []
    position = 0
    for left, right in spans:
        pieces += (text[position:left], mark[0], text[left:right], mark[1])
        position = right
    pieces.append(text[position:])
    return "".join(pieces)
