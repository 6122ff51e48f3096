"""The verbs of the contract that search, as the store has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from amber.backends.sqlite import search
from amber.backends.sqlite.connection import Connections, Execute
from amber.model.bounds import check_key
from amber.store.arguments import check_text_changes, check_texts
from amber.store.contract import Candidate, Clause, SearchFilter, TextChanges, TextPage, TextStats

T = TypeVar("T")


class Searching:
    """A part of ``SQLiteStore``."""

    _connections: Connections
    _number: Callable[[str], int]
    _read: Callable[[Callable[[Execute], T]], T]

    def text_stats(self, space: str, terms: Sequence[str]) -> TextStats:
        for term in terms:
            check_key(term)
        number = self._number(space)
        return self._read(lambda execute: search.stats(execute, number, terms))

    def candidates(
        self,
        space: str,
        clauses: Sequence[Clause],
        filter: SearchFilter,
        *,
        also: Sequence[str] = (),
        limit: int = 300,
    ) -> list[Candidate]:
        number = self._number(space)
        return self._read(lambda execute: search.candidates(execute, number, clauses, filter, also, limit))

    def texts(self, space: str, *, after: tuple[str, str] | None = None, limit: int = 500) -> TextPage:
        check_texts(after, limit)
        number = self._number(space)
        return self._read_settled(lambda execute, settled: search.texts(execute, number, after, limit, settled))

    def text_changes(self, space: str, since: tuple[int, int], *, limit: int = 500) -> TextChanges | None:
        check_text_changes(since, limit)
        number = self._number(space)
        return self._read_settled(lambda execute, settled: search.text_changes(execute, number, since, limit, settled))

    def _read_settled(self, work: Callable[[Execute, bool], T]) -> T:
        """Run reads, and tell them whether all that they see is there to stay."""
        connections = self._connections
        if not connections.borrowed:
            return self._read(lambda execute: work(execute, True))
        # nobody writes through this store between the look and the read
        with connections.lock:
            settled = not connections.writer.in_transaction
            return self._read(lambda execute: work(execute, settled))
