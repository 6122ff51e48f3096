"""Those who keep words of a memory outside its store, and take part when something is forgotten."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from amber.search.analyzer import clear_cache


class Participant(Protocol):
    """Something beside the store that may hold words of it: published files, a side index, a cache.

    An index that is kept current by log position needs no part in this: a purge has a position of its own.
    """

    #: What receipts call that which it removes, as a plural noun.
    name: str

    def count(self, space: str, collection: str, keys: Sequence[str]) -> int:
        """Tell how many pieces ``forget`` would remove."""

    def forget(self, space: str, collection: str, keys: Sequence[str]) -> int:
        """Remove all that was made from these documents and give how many pieces that was.

        Called before the store forgets them, chunk by chunk; after a crash it is called for the same ones again.
        """

    def settle(self, space: str) -> Sequence[str]:
        """Drop what is held in memory, once the store holds nothing any more, and name what could not be erased."""


class WordCache:
    """The words that this process cached to analyse the next text faster."""

    name = "cached words"

    def count(self, space: str, collection: str, keys: Sequence[str]) -> int:
        return 0

    def forget(self, space: str, collection: str, keys: Sequence[str]) -> int:
        return 0

    def settle(self, space: str) -> Sequence[str]:
        clear_cache()
        return ()


class Participants:
    """The participants of one memory."""

    def __init__(self) -> None:
        self._all: list[Participant] = [WordCache()]

    def join(self, participant: Participant) -> None:
        """Take part from now on; joining again changes nothing."""
        if participant not in self._all:
            self._all.append(participant)

    def __iter__(self) -> Iterator[Participant]:
        return iter([*self._all])
