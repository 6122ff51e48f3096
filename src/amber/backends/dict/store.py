"""DictStore: the contract over ``Space`` objects, one lock for all, in turn."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from amber.backends.dict import move, purge, read, text, trim, write
from amber.backends.dict.space import Space
from amber.backends.dict.turns import Turns
from amber.backends.dict.verify import find_problems
from amber.errors import Closed, Unsupported
from amber.model.batch import MAX_WRITES, Batch, Expectation
from amber.model.bounds import MAX_SPACE, check_int, check_key, check_name
from amber.model.collection import Collection, Order, Record
from amber.model.where import Where
from amber.store import waiting
from amber.store.arguments import check_limit, check_text_changes, check_texts
from amber.store.contract import (
    SCAN_LIMIT,
    Candidate,
    Capabilities,
    Clause,
    Copying,
    Cursor,
    Horizon,
    Lease,
    LogEntry,
    LogQuery,
    Named,
    Oldest,
    Page,
    Problem,
    Purged,
    QueueState,
    Reach,
    Receipt,
    Scrubbed,
    SearchFilter,
    Selection,
    Stats,
    TextChanges,
    TextPage,
    TextStats,
)
from amber.store.derive import Analyze
from amber.store.prepare import check_expectations, prepare
from amber.store.rows import Loaded, Numbered, Row


class DictStore:
    """Keep everything in this process; it is gone when the process ends.

    :param collections: the declarations of what will be kept.
    :param analyze: gives the tokens of a text.
    """

    capabilities = Capabilities(
        "dict", durable=False, many_processes=False, enlists=False, scrubs=True, max_writes=MAX_WRITES
    )

    def __init__(self, collections: Iterable[Collection], *, analyze: Analyze) -> None:
        self.collections: Mapping[str, Collection] = {declared.name: declared for declared in collections}
        self._analyze = analyze
        self._lock = Turns()
        self._spaces: dict[str, Space] = {}
        self._pid = os.getpid()
        self._closed = False
        self.migration_copy: Path | None = None

    def _check(self) -> None:
        if self._closed:
            raise Closed("This memory was closed; open it again.")
        if os.getpid() != self._pid:
            raise Closed(f"This memory lives in process {self._pid}; a forked child has no part in it.")

    def _space(self, name: str) -> Space:
        self._check()
        check_name("space", name, MAX_SPACE)
        return self._spaces.get(name) or Space()

    def commit(self, batch: Batch) -> Receipt:
        prepared = prepare(batch, self.collections, self._analyze)
        with self._lock:
            space = self._space(batch.space)
            receipt = write.commit(space, prepared, self.collections, self._analyze)
            # a batch without any effect makes no space
            if space.position:
                self._spaces[batch.space] = space
            return receipt

    def claim(self, space: str, queue: str, n: int, *, lease: int, now: int) -> list[Lease]:
        with self._lock:
            return write.claim(self._space(space), self.collections, queue, n, lease=lease, now=now)

    def purge(
        self,
        space: str,
        selection: Selection | Named | Oldest,
        *,
        now: int,
        limit: int = 500,
        expectations: Sequence[Expectation] = (),
    ) -> Purged:
        check_expectations(self.collections, expectations)
        with self._lock:
            if isinstance(selection, Oldest):
                return trim.trim(self._space(space), self.collections, selection, limit, expectations)
            return purge.purge(self._space(space), self.collections, selection, now, limit, expectations)

    def reach(
        self, space: str, selection: Selection | Named, *, after: Cursor | str | None = None, limit: int = 500
    ) -> Reach:
        with self._lock:
            return purge.reach(self._space(space), self.collections, selection, after, limit)

    def scrub(self, *, steps: int = 1_000) -> Scrubbed:
        self._check()
        check_int("steps", steps, 1)
        return Scrubbed(0, True)

    def receipt(self, space: str, operation: str) -> Receipt | None:
        with self._lock:
            check_key(operation)
            return write.receipt(self._space(space), operation)

    def get(self, space: str, collection: str, key: str) -> Record | None:
        with self._lock:
            found = self._space(space)
            read.known(self.collections, collection)
            check_key(key)
            return found.load(collection, key)

    def get_many(self, space: str, collection: str, keys: Sequence[str]) -> dict[str, Record]:
        with self._lock:
            found = self._space(space)
            read.known(self.collections, collection)
            for key in keys:
                check_key(key)
            records = (found.load(collection, key) for key in keys)
            return {record.key: record for record in records if record is not None}

    def scan(
        self,
        space: str,
        collection: str,
        index: str,
        equal: Sequence[Order] = (),
        *,
        low: Order | None = None,
        high: Order | None = None,
        reverse: bool = False,
        after: Cursor | None = None,
        limit: int = 100,
        where: Where = (),
        scan_limit: int = SCAN_LIMIT,
    ) -> Page:
        declared = read.known(self.collections, collection)
        with self._lock:
            return read.scan(
                self._space(space), declared, index, equal, low, high, reverse, after, limit, where, scan_limit
            )

    def lookup(
        self,
        space: str,
        collection: str,
        where: Where,
        *,
        group: str | None = None,
        after: Cursor | None = None,
        limit: int = 100,
        scan_limit: int = SCAN_LIMIT,
    ) -> Page:
        declared = read.known(self.collections, collection)
        with self._lock:
            return read.lookup(self._space(space), declared, where, group, after, limit, scan_limit)

    def count(
        self,
        space: str,
        collection: str,
        index: str,
        equal: Sequence[Order] = (),
        *,
        low: Order | None = None,
        high: Order | None = None,
    ) -> int:
        declared = read.known(self.collections, collection)
        with self._lock:
            return len(read.entries(self._space(space), declared, index, equal, low, high))

    def total(
        self,
        space: str,
        collection: str,
        index: str,
        equal: Sequence[Order] = (),
        *,
        field: str,
        low: Order | None = None,
        high: Order | None = None,
    ) -> int:
        declared = read.known(self.collections, collection)
        read.summable(declared, field)
        with self._lock:
            found = self._space(space)
            rows = read.entries(found, declared, index, equal, low, high)
            values = (found.documents[collection][key].derived.columns[field] for _, key in rows)
            return sum(value or 0 for value in values)

    def position(self, space: str) -> int:
        with self._lock:
            return self._space(space).position

    def wait(self, space: str, after: int, *, timeout: float) -> int:
        return waiting.wait(partial(self.position, space), after, timeout)

    def time(self, space: str) -> int:
        with self._lock:
            return self._space(space).time

    def position_at(self, space: str, at: int) -> int:
        with self._lock:
            check_int("at", at)
            return read.position_at(self._space(space), at)

    def horizon(self, space: str) -> Horizon:
        with self._lock:
            return self._space(space).horizon

    def log(self, space: str, query: LogQuery) -> list[LogEntry]:
        with self._lock:
            return read.log(self._space(space), query)

    def text_stats(self, space: str, terms: Sequence[str]) -> TextStats:
        with self._lock:
            for term in terms:
                check_key(term)
            return text.stats(self._space(space), terms)

    def candidates(
        self,
        space: str,
        clauses: Sequence[Clause],
        filter: SearchFilter,
        *,
        also: Sequence[str] = (),
        limit: int = 300,
    ) -> list[Candidate]:
        with self._lock:
            return text.candidates(self._space(space), clauses, filter, also, limit)

    def texts(self, space: str, *, after: tuple[str, str] | None = None, limit: int = 500) -> TextPage:
        check_texts(after, limit)
        with self._lock:
            return text.page(self._space(space), after, limit)

    def text_changes(self, space: str, since: tuple[int, int], *, limit: int = 500) -> TextChanges | None:
        check_text_changes(since, limit)
        with self._lock:
            return text.changes(self._space(space), since, limit)

    def queued(self, space: str, collection: str, key: str) -> QueueState | None:
        with self._lock:
            found = self._space(space)
            read.known(self.collections, collection)
            check_key(key)
            return found.queue.get((collection, key))

    def due_spaces(self, queue: str, now: int, *, limit: int = 100) -> list[str]:
        check_int("now", now)
        check_limit(limit)
        names = {declared.name for declared in self.collections.values() if declared.queue_name == queue}
        due: list[tuple[int, str]] = []
        with self._lock:
            self._check()
            for name, space in self._spaces.items():
                times = [s.due_at for place, s in space.queue.items() if place[0] in names and s.due_at is not None]
                if times and min(times) <= now:
                    due.append((min(times), name))
        return [name for _, name in sorted(due)[:limit]]

    def spaces(self) -> list[str]:
        with self._lock:
            self._check()
            return sorted(self._spaces)

    def verify(self, space: str | None = None) -> list[Problem]:
        with self._lock:
            names = self.spaces() if space is None else [space]
            return [p for name in names for p in find_problems(self._space(name), self.collections, self._analyze)]

    def stats(self, space: str) -> Stats:
        with self._lock:
            found = self._space(space)
            documents = {name: len(found.documents[name]) for name in sorted(self.collections)}
            return Stats(space, found.position, documents, len(found.texts), found.tokens, None)

    def export(self, space: str) -> Generator[Row, None, None]:
        with self._lock:
            # the copies are shallow: what is stored is never changed in place
            return move.rows(self._space(space), self.collections)

    def load(self, space: str, rows: Iterable[Numbered]) -> Loaded:
        with self._lock:
            move.check_empty(self._space(space), space)
        loading = move.Loading(self.collections, self._analyze)
        for number, row in rows:
            loading.take(number, row)
        loaded = loading.finish()
        with self._lock:
            move.check_empty(self._space(space), space)
            if loading.space.position:
                self._spaces[space] = loading.space
        return loaded

    def backup(
        self,
        path: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        on_progress: Callable[[Copying], None] | None = None,
    ) -> None:
        self._check()
        raise Unsupported("A memory of this process alone has no file to copy; export it, and load that elsewhere.")

    def close(self) -> None:
        self._closed = True

    def __enter__(self) -> DictStore:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()
