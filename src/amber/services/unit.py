"""Where services read from and write to: the store itself; ``buffer`` and ``moment`` put something before it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, tzinfo
from typing import Any, NamedTuple, TypeVar

from amber.errors import TooLarge, UniqueViolation
from amber.model.batch import (
    MAX_GROUP,
    Batch,
    Expectation,
    Unchanged,
    Write,
)
from amber.model.collection import Collection, Order, Record
from amber.model.ids import LATEST_ID, RANDOM_BITS, RANDOM_BYTES, make_id
from amber.model.times import LATEST
from amber.model.where import Where
from amber.services.exact import ExactIndex
from amber.store.contract import Page, Receipt, Store
from amber.store.retry import again

T = TypeVar("T")
Clock = Callable[[], int]
_SPARE_BITS = 8 * RANDOM_BYTES - RANDOM_BITS
#: Ids that one draw of random bytes is enough for. Each draw lets go of the interpreter for a moment too short for
#: another thread to wake up in, after which that one waits anew: drawn for every id, a busy writer held others out for
#: seconds.
_IDS_IN_DRAW = 512


def system_clock() -> int:
    """Give the time in microseconds since the epoch, UTC."""
    return time.time_ns() // 1000


class IdMaker:
    """Make ids that rise, also when the clock stands still or goes back; ``last`` is the time of the newest one.

    :param floor: gives a time that all ids must be after, asked before the first one: that of the log, which tells
        when the clock was set back since another process wrote.
    """

    def __init__(self, clock: Clock, floor: Clock | None = None) -> None:
        self._clock, self._floor, self.last, self._lock = clock, floor, 0, threading.Lock()
        self._drawn, self._used, self._pid = b"", 0, 0

    def __call__(self) -> str:
        if self._floor is not None:
            self.at_least(self._floor())
            self._floor = None
        with self._lock:
            self.last = last = max(min(self._clock(), LATEST_ID), self.last + 1)
            start = self._used
            if start == len(self._drawn) or self._pid != os.getpid():
                # a forked child draws its own
                self._drawn, start, self._pid = os.urandom(RANDOM_BYTES * _IDS_IN_DRAW), 0, os.getpid()
            self._used = end = start + RANDOM_BYTES
            drawn = self._drawn[start:end]
        return make_id(last, int.from_bytes(drawn, "big") >> _SPARE_BITS)

    def at_least(self, micros: int) -> None:
        """Let all ids to come be later than a time: that of the log, when the clock is behind it."""
        with self._lock:
            self.last = max(self.last, min(micros, LATEST_ID))


class Context(NamedTuple):
    """What one memory hands to its services."""

    store: Store
    space: str
    clock: Clock
    new_id: IdMaker
    zone: tzinfo = UTC
    actor: str | None = None
    #: The texts of the space in the memory of this process, or None.
    exact: ExactIndex | None = None


class Unit:
    """Reads and writes straight through; every write is a commit of its own."""

    #: Whether a commit judges what it expects at once, so that one may expect something without having read it.
    judges = True

    def __init__(self, context: Context) -> None:
        self.context = context
        self.store, self.space, self.new_id = context.store, context.space, context.new_id
        self._latest = 0

    def now(self) -> int:
        """Give the time in microseconds: that of the clock, or of the newest log entry when the clock is behind it."""
        logged = self.store.time(self.space)
        # a time that the calendar does not have could be written and not be read; one before 1970 counts as 1970
        self._latest = now = max(min(self.context.clock(), LATEST), logged, self._latest)
        self.new_id.at_least(logged)
        return now

    def ticks(self) -> int:
        """Give the time in microseconds without a look at the log: not before any that was given here."""
        now = min(self.context.clock(), LATEST)
        if now < self._latest:
            # the clock went back: the log follows the ids, so that those of the next process come after them
            now = max(self._latest, self.new_id.last)
        self._latest = now
        return now

    def get(self, collection: Collection, key: str) -> Record | None:
        """Give a document, or None."""
        return self.store.get(self.space, collection.name, key)

    def get_many(self, collection: Collection, keys: Sequence[str]) -> dict[str, Record]:
        """Give the documents that exist."""
        return self.store.get_many(self.space, collection.name, keys)

    def scan(self, collection: Collection, index: str, equal: Sequence[Order] = (), **options: Any) -> Page:
        """Give one page of an index (see ``Store.scan``)."""
        return self.store.scan(self.space, collection.name, index, equal, **options)

    def count(self, collection: Collection, index: str, equal: Sequence[Order] = ()) -> int:
        """Count the documents of an index that the store holds now."""
        return self.store.count(self.space, collection.name, index, equal)

    def lookup(self, collection: Collection, where: Where, **options: Any) -> Page:
        """Give one page by the field index (see ``Store.lookup``)."""
        return self.store.lookup(self.space, collection.name, where, **options)

    def group(
        self, collection: Collection, index: str, equal: tuple[Order, ...], low: Order | None = None
    ) -> tuple[list[Record], Unchanged]:
        """Give the members of a group with an order of at least ``low``, and the expectation that they are still so
        at the commit.

        :raises TooLarge: when there are more than a batch can expect something of.
        """
        rows = self.store.scan(self.space, collection.name, index, equal, low=low, limit=MAX_GROUP + 1).rows
        if len(rows) > MAX_GROUP:
            raise TooLarge(f"More than {MAX_GROUP} documents share {collection.name}.{index} {[*equal]}.")
        # whatever enters or changes later gets a higher revision than any of these
        since = max((row.revision for row in rows), default=0)
        return rows, Unchanged(collection.name, index, equal, since, len(rows), low)

    def members(self, collection: Collection, index: str, equal: tuple[Order, ...], low: Order) -> list[Record]:
        """Give the first members of a group, for a read from which nothing is decided here."""
        return self.scan(collection, index, equal, low=low, limit=MAX_GROUP).rows

    def commit(
        self,
        writes: Sequence[Write],
        expectations: Sequence[Expectation] = (),
        *,
        session: str | None = None,
        operation: str | None = None,
        reason: str | None = None,
        undoes: tuple[int, ...] = (),
    ) -> Receipt:
        """Commit a batch."""
        context = self.context
        name = operation if operation is not None else self.new_id()
        batch = Batch(
            self.space,
            name,
            self.ticks(),
            tuple(writes),
            tuple(expectations),
            context.actor,
            reason,
            session,
            undoes,
        )
        return self.store.commit(batch)

    def retrying(self, attempt: Callable[[], T]) -> T:
        """Run read, decide, commit until no other writer is in between."""
        holders: set[str] = set()

        def once() -> T:
            try:
                return attempt()
            except UniqueViolation as violation:
                if violation.holder in holders:
                    # it was there when the decision was made: reading again will not replace it either
                    violation.retry = "no"  # type: ignore[misc]
                holders.add(violation.holder)
                raise

        return again(once)

    def first_receipt(self, operation: str | None) -> Receipt | None:
        """Give the receipt of an operation that the caller named and that was committed before."""
        return self.store.receipt(self.space, operation) if operation is not None else None
