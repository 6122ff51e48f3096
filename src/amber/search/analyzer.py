"""Turn a text into the tokens that are indexed; documents and questions go through the same function."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from amber.search.characters import normalise, normalise_with_offsets
from amber.search.words import Segment, forget_leaves, segments, tokens

ANALYZER_VERSION: int = 2
"""Changes whenever `analyze` gives other tokens for some text; an index of another version must be rebuilt."""

_CHUNK = re.compile(r"\S+")
# Besides white space, what is part of no word, address or number and of no rule about their neighbours. The more a text
# is cut, the more often a piece of it was met before.
_BORDERS = '"()[]{}<>|`^→'
# It makes one character with a < or > before it.
_SLASH = "\N{COMBINING LONG SOLIDUS OVERLAY}"

#: How many chunks of one length are kept in a generation, and how long they are at most.
_SHORT, _LONG = (32_768, 32), (4_096, 256)


class _Chunks(dict[str, tuple[str, ...]]):
    """Cache the tokens of chunks in two generations; when the young one is full it becomes the old one."""

    def __init__(self, size: int, length: int, longer: _Chunks | None = None) -> None:
        super().__init__()
        self.size, self.length, self.longer = size, length, longer
        self.old: dict[str, tuple[str, ...]] = {}

    def __missing__(self, chunk: str) -> tuple[str, ...]:
        if len(chunk) > self.length:
            return tokens(normalise(chunk)) if self.longer is None else self.longer[chunk]
        found = self.old.get(chunk)
        if found is None:
            found = tokens(normalise(chunk))
        if len(self) >= self.size:
            self.old = dict(self)
            self.clear()
        self[chunk] = found
        return found

    def forget(self) -> None:
        self.old = {}
        self.clear()
        if self.longer is not None:
            self.longer.forget()


_chunks = _Chunks(*_SHORT, _Chunks(*_LONG))


def analyze(text: str) -> list[str]:
    """Return the tokens of `text` in order, duplicates kept.

    Takes any string, never raises, linear in its length; safe in all threads. A token has 1 to 64 characters, none of
    them white space, a control character or a surrogate. White space separates: the tokens of two texts joined by a
    new line are the tokens of the one and then of the other. Letters of ASCII words are stemmed; a word built of
    others gives its whole form unstemmed, then its parts.
    """
    return list(chain.from_iterable(map(_chunks.__getitem__, _cut(text))))


def _cut(text: str) -> list[str]:
    if _SLASH not in text:
        # a pass for each is three times as fast as one regular expression for all
        for border in _BORDERS:
            text = text.replace(border, " ")
    return text.split()


def token_spans(text: str) -> Iterator[Segment]:
    """Yield the tokens of `text` as `analyze` gives them, with their places in `text`."""
    for match in _CHUNK.finditer(text):
        normalised, offsets = normalise_with_offsets(match[0])
        start = match.start()
        for token, left, right, kind in segments(normalised):
            end = offsets[right]
            if end <= offsets[right - 1]:
                end = next(offset for offset in offsets[right:] if offset > offsets[right - 1])
            yield Segment(token, start + offsets[left], start + end, kind)


def clear_cache() -> None:
    """Forget the words that were cached to analyse the next text faster; a purge calls this."""
    _chunks.forget()
    forget_leaves()
