"""Where services read from and write to: the store itself, a transaction's buffer over it, or a moment of the past."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, tzinfo
from typing import Any, NamedTuple, TypeVar

from amber.errors import TooLarge, Unsupported
from amber.model.batch import (
    MAX_GROUP,
    Absent,
    Add,
    Append,
    AtRevision,
    Batch,
    Delete,
    Expectation,
    Put,
    Touch,
    Unchanged,
    Write,
)
from amber.model.collection import Body, Collection, Order, Record
from amber.model.ids import RANDOM_BITS, make_id
from amber.model.where import Where, matches
from amber.services.past import states_at
from amber.store.contract import MAX_PAGE, SCAN_LIMIT, Cursor, LogQuery, Page, Receipt, Store
from amber.store.retry import again

T = TypeVar("T")
Clock = Callable[[], int]


def system_clock() -> int:
    """Give the time in microseconds since the epoch, UTC."""
    return time.time_ns() // 1000


class IdMaker:
    """Make ids that rise within a process, also when the clock stands still or goes back."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._last, self._lock = clock, 0, threading.Lock()

    def __call__(self) -> str:
        with self._lock:
            self._last = max(self._clock(), self._last + 1)
            return make_id(self._last, secrets.randbits(RANDOM_BITS))


class Context(NamedTuple):
    """What one memory hands to its services."""

    store: Store
    space: str
    clock: Clock
    new_id: IdMaker
    zone: tzinfo = UTC
    actor: str | None = None


class Unit:
    """Reads and writes straight through; every write is a commit of its own."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.store, self.space, self.new_id = context.store, context.space, context.new_id

    def now(self) -> int:
        """Give the time in microseconds."""
        return self.context.clock()

    def get(self, collection: Collection, key: str) -> Record | None:
        """Give a document, or None."""
        return self.store.get(self.space, collection.name, key)

    def get_many(self, collection: Collection, keys: Sequence[str]) -> dict[str, Record]:
        """Give the documents that exist."""
        return self.store.get_many(self.space, collection.name, keys)

    def scan(self, collection: Collection, index: str, equal: Sequence[Order] = (), **options: Any) -> Page:
        """Give one page of an index (see ``Store.scan``)."""
        return self.store.scan(self.space, collection.name, index, equal, **options)

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
        since = self.store.position(self.space)
        rows = self.store.scan(self.space, collection.name, index, equal, low=low, limit=MAX_GROUP + 1).rows
        if len(rows) > MAX_GROUP:
            raise TooLarge(f"More than {MAX_GROUP} documents share {collection.name}.{index} {[*equal]}.")
        return rows, Unchanged(collection.name, index, equal, since, len(rows), low)

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
            context.clock(),
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
        return again(attempt)

    def first_receipt(self, operation: str | None) -> Receipt | None:
        """Give the receipt of an operation that the caller named and that was committed before."""
        return self.store.receipt(self.space, operation) if operation is not None else None


class _Overlaid(Unit):
    """Reads that see some documents as they are here, and all others as they are in the store."""

    def _seen(self, collection: str) -> dict[str, Record | None]:
        raise NotImplementedError

    def get(self, collection: Collection, key: str) -> Record | None:
        seen = self._seen(collection.name)
        return seen[key] if key in seen else self._base(collection.name, key)

    def _base(self, collection: str, key: str) -> Record | None:
        return self.store.get(self.space, collection, key)

    def get_many(self, collection: Collection, keys: Sequence[str]) -> dict[str, Record]:
        found = ((key, self.get(collection, key)) for key in keys)
        return {key: record for key, record in found if record is not None}

    def scan(self, collection: Collection, index: str, equal: Sequence[Order] = (), **options: Any) -> Page:
        seen = self._seen(collection.name)
        if not seen:
            return super().scan(collection, index, equal, **options)
        limit, reverse = options.get("limit", 100), options.get("reverse", False)
        base = super().scan(collection, index, equal, **{**options, "limit": min(limit + len(seen), MAX_PAGE)})
        declared = collection.by_name[index]
        rows = [(Cursor(_order(collection, index, row.body), row.key), row) for row in base.rows if row.key not in seen]
        low, high, after, where = (options.get(name) for name in ("low", "high", "after", "where"))
        for key, record in seen.items():
            if record is None or not matches(record.body, where or ()):
                continue
            for each, order in collection.index_rows(declared, record.body):
                place = Cursor(order, key)
                if each == tuple(equal) and _within(place, low, high, after, reverse):
                    rows.append((place, record))
        rows.sort(key=lambda row: row[0], reverse=reverse)
        if base.cursor is not None:
            # beyond the last row of the base page there may be rows that were not read
            edge = base.cursor
            rows = [row for row in rows if (row[0] >= edge if reverse else row[0] <= edge)]
        return _cut(rows, limit, base)

    def lookup(self, collection: Collection, where: Where, **options: Any) -> Page:
        seen = self._seen(collection.name)
        limit, after, group = options.get("limit", 100), options.get("after"), options.get("group")
        base = super().lookup(collection, where, **{**options, "limit": min(limit + len(seen), MAX_PAGE)})
        index = collection.field_index
        rows = [(Cursor("", row.key), row) for row in base.rows if row.key not in seen]
        for key, record in seen.items():
            if record is None or index is None or not matches(record.body, where):
                continue
            if (group is None or (record.body.get(index.group) or "") == group) and (after is None or key > after.key):
                rows.append((Cursor("", key), record))
        rows.sort(key=lambda row: row[0])
        if base.cursor is not None:
            rows = [row for row in rows if row[0] <= base.cursor]
        return _cut(rows, limit, base)


def _order(collection: Collection, index: str, body: Body) -> Order:
    order: Order = collection.columns[collection.by_name[index].order].derive(body)
    return order


def _within(place: Cursor, low: Any, high: Any, after: Cursor | None, reverse: bool) -> bool:
    if (low is not None and place.order < low) or (high is not None and place.order >= high):
        return False
    return after is None or (place < after if reverse else place > after)


def _cut(rows: list[tuple[Cursor, Record]], limit: int, base: Page) -> Page:
    kept = rows[:limit]
    if len(rows) > limit:
        return Page([row for _, row in kept], kept[-1][0])
    return Page([row for _, row in kept], base.cursor, base.complete)


class PastUnit(_Overlaid):
    """Reads of what was known at a position of the log; writes are refused.

    Fields that touches set (unlogged) show their present values.
    """

    def __init__(self, context: Context, position: int, moment: int | None) -> None:
        super().__init__(context)
        self.position, self._moment = position, moment
        self._states: dict[str, dict[str, Record | None]] = {}

    def now(self) -> int:
        """Give the moment that is looked at (a position's is that of its entry), so that validity and time to live
        are judged as they were."""
        if self._moment is not None:
            return self._moment
        entries = self.store.log(self.space, LogQuery(low=self.position, high=self.position + 1, limit=1))
        return entries[0].at if entries else 0

    def _seen(self, collection: str) -> dict[str, Record | None]:
        states = self._states.get(collection)
        if states is None:
            states = self._states[collection] = states_at(self.store, self.space, collection, self.position)
        return states

    def group(
        self, collection: Collection, index: str, equal: tuple[Order, ...], low: Order | None = None
    ) -> tuple[list[Record], Unchanged]:
        rows = self.scan(collection, index, equal, low=low, limit=MAX_GROUP).rows
        return rows, Unchanged(collection.name, index, equal, self.position, len(rows), low)

    def commit(self, *_: Any, **__: Any) -> Receipt:
        raise Unsupported(f"This is the memory as it was at position {self.position}: it can only be read.")


class BufferedUnit(_Overlaid):
    """Reads that see the buffered writes; writes wait for the end of the transaction, which sends one batch."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.writes: list[Write] = []
        self.expectations: dict[Expectation, None] = {}
        self._documents: dict[str, dict[str, Record | None]] = {}
        self._bases: dict[tuple[str, str], Record | None] = {}

    def _seen(self, collection: str) -> dict[str, Record | None]:
        return self._documents.setdefault(collection, {})

    def _base(self, collection: str, key: str) -> Record | None:
        place = (collection, key)
        if place not in self._bases:
            self._bases[place] = super()._base(collection, key)
        return self._bases[place]

    def group(
        self, collection: Collection, index: str, equal: tuple[Order, ...], low: Order | None = None
    ) -> tuple[list[Record], Unchanged]:
        _, expectation = super().group(collection, index, equal, low)
        groups = ((each.collection, each.by, each.equal) for each in self.expectations if isinstance(each, Unchanged))
        # what was first seen of a group is what must still be so; a wider range joins it
        if (collection.name, index, equal) not in groups or self._widens(expectation):
            self.expectations[expectation] = None
        return self.scan(collection, index, equal, low=low, limit=MAX_GROUP).rows, expectation

    def _widens(self, new: Unchanged) -> bool:
        known = [each for each in self.expectations if isinstance(each, Unchanged) and each[:3] == new[:3]]
        return all(each.low is not None and (new.low is None or new.low < each.low) for each in known)  # type: ignore[operator]

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
        if operation is not None or undoes:
            raise Unsupported(
                "Inside a transaction, name the operation at transaction(operation=...); undo outside it."
            )
        for expectation in expectations:
            if isinstance(expectation, (AtRevision, Absent)):
                # what this transaction wrote itself is judged by what was there before it
                if expectation.key not in self._seen(expectation.collection):
                    self.expectations[expectation] = None
            elif not isinstance(expectation, Unchanged):
                self.expectations[expectation] = None
        for write in writes:
            self._overlay(write)
        self.writes += writes
        return Receipt(None, "", self.now())

    def _overlay(self, write: Write) -> None:
        seen = self._seen(write.collection)
        known = write.key in seen
        old = seen[write.key] if known else self._base(write.collection, write.key)
        body: Body | None = old.body if old is not None else None
        if isinstance(write, (Put, Append)):
            body = write.body
        elif isinstance(write, Delete):
            body = None
        elif isinstance(write, Add):
            body = body if body is not None else write.initial
            if body is not None:
                body = {**body, write.field: (body.get(write.field) or 0) + write.n}
        elif isinstance(write, Touch) and body is not None:
            body = {**body, **write.values}
        revision, created = (old.revision, old.created) if old is not None else (0, 0)
        seen[write.key] = Record(write.key, created, revision, body) if body is not None else None

    def retrying(self, attempt: Callable[[], T]) -> T:
        return attempt()

    def first_receipt(self, operation: str | None) -> Receipt | None:
        return None

    def send(self, *, session: str | None, operation: str | None, reason: str | None) -> Receipt | None:
        """Commit what was buffered; None when nothing was."""
        if not self.writes:
            return None
        return super().commit(
            self.writes, tuple(self.expectations), session=session, operation=operation, reason=reason
        )


__all__ = ["SCAN_LIMIT", "BufferedUnit", "Context", "IdMaker", "PastUnit", "Unit", "system_clock"]
