"""Turn a text into the tokens that are indexed; documents and questions go through the same function."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from amber.search.characters import normalise, normalise_with_offsets
from amber.search.words import Segment, segments, tokens

ANALYZER_VERSION: int = 2
"""Changes whenever `analyze` gives other tokens for some text; an index of another version must be rebuilt."""

_GENERATION = 32_768
_CACHED_LENGTH = 32
_CHUNK = re.compile(r"\S+")


class _Chunks(dict[str, tuple[str, ...]]):
    """Cache the tokens of short chunks in two generations; when the young one is full it becomes the old one."""

    old: dict[str, tuple[str, ...]]

    def __init__(self) -> None:
        super().__init__()
        self.old = {}

    def __missing__(self, chunk: str) -> tuple[str, ...]:
        if len(chunk) > _CACHED_LENGTH:
            return tokens(normalise(chunk))
        found = self.old.get(chunk)
        if found is None:
            found = tokens(normalise(chunk))
        if len(self) >= _GENERATION:
            self.old = dict(self)
            self.clear()
        self[chunk] = found
        return found

    def forget(self) -> None:
        self.old = {}
        self.clear()


_chunks = _Chunks()


def analyze(text: str) -> list[str]:
    """Return the tokens of `text` in order, duplicates kept.

    Takes any string, never raises, linear in its length; safe in all threads. A token has 1 to 64 characters, none of
    them white space, a control character or a surrogate. White space separates: the tokens of two texts joined by a
    new line are the tokens of the one and then of the other. Letters of ASCII words are stemmed; a word built of
    others gives its whole form unstemmed, then its parts.
    """
    return list(chain.from_iterable(map(_chunks.__getitem__, text.split())))


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
