"""A transaction's buffer: writes wait for its end, which sends them as one batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from amber.errors import Closed, Unsupported
from amber.model.batch import (
    MAX_GROUP,
    Absent,
    Add,
    Append,
    AtRevision,
    Delete,
    Expectation,
    Put,
    Touch,
    Unchanged,
    Write,
)
from amber.model.collection import Body, Collection, Order, Record
from amber.model.where import Where
from amber.services.overlay import Overlaid
from amber.services.unit import Context
from amber.store.contract import Page, Receipt

T = TypeVar("T")
Place = tuple[str, str, tuple[Order, ...]]


class BufferedUnit(Overlaid):
    """Reads that see the buffered writes; writes wait for the end of the transaction, which sends one batch.

    What is read, document by document and key by key, must still be so at the end. Documents that come into a listing
    meanwhile are not noticed.
    """

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.writes: list[Write] = []
        self.expectations: dict[Expectation, None] = {}
        self._documents: dict[str, dict[str, Record | None]] = {}
        self._bases: dict[tuple[str, str], Record | None] = {}
        # by collection, index and values: the documents written here that stood there, and from where a group was read
        self._places: dict[Place, dict[str, None]] = {}
        self._lows: dict[Place, Order | None] = {}
        self._sessions: set[str | None] = set()
        self._refusal: str | None = None

    def refuse(self, reason: str | None) -> None:
        """Refuse all reads and writes from here on, because they would reach nobody; None: take them."""
        self._refusal = reason

    def _seen(self, collection: str) -> dict[str, Record | None]:
        self.check_open()
        return self._documents.setdefault(collection, {})

    def check_open(self) -> None:
        """Check that what is written now will be sent.

        :raises Closed: when it will not.
        """
        if self._refusal is not None:
            raise Closed(self._refusal)

    def _base(self, collection: str, key: str) -> Record | None:
        place = (collection, key)
        if place not in self._bases:
            self._note(collection, key, super()._base(collection, key))
        return self._bases[place]

    def _note(self, collection: str, key: str, record: Record | None) -> None:
        """Remember a document as it was first read: at the end it must still be so."""
        if (collection, key) not in self._bases:
            self._bases[collection, key] = record
            expected = AtRevision(collection, key, record.revision) if record is not None else Absent(collection, key)
            self.expectations[expected] = None

    def _noted(self, collection: Collection, page: Page) -> Page:
        seen = self._seen(collection.name)
        for record in page.rows:
            if record.key not in seen:
                self._note(collection.name, record.key, record)
        return page

    def scan(self, collection: Collection, index: str, equal: Sequence[Order] = (), **options: Any) -> Page:
        return self._noted(collection, super().scan(collection, index, equal, **options))

    def lookup(self, collection: Collection, where: Where, **options: Any) -> Page:
        return self._noted(collection, super().lookup(collection, where, **options))

    def members(self, collection: Collection, index: str, equal: tuple[Order, ...], low: Order) -> list[Record]:
        return self.group(collection, index, equal, low)[0]

    def group(
        self, collection: Collection, index: str, equal: tuple[Order, ...], low: Order | None = None
    ) -> tuple[list[Record], Unchanged]:
        _, expectation = super().group(collection, index, equal, low)
        # what was first seen of a group is what must still be so; a wider range joins it
        place = (collection.name, index, equal)
        if place not in self._lows or _is_wider(low, self._lows[place]):
            self._lows[place] = low
            self.expectations[expectation] = None
        return self.scan(collection, index, equal, low=low, limit=MAX_GROUP).rows, expectation

    def _near(self, collection: Collection, index: str, equal: tuple[Order, ...]) -> Iterable[str]:
        self.check_open()
        return self._places.get((collection.name, index, equal), ())

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
        self.check_open()
        self._sessions.add(session)
        for expectation in expectations:
            if isinstance(expectation, (AtRevision, Absent)):
                # what this transaction wrote itself is judged by what was there before it
                if expectation.key not in self._seen(expectation.collection):
                    self.expectations[expectation] = None
            elif not isinstance(expectation, Unchanged):
                self.expectations[expectation] = None
        for write in writes:
            self._overlay(write, self.store.collections[write.collection])
        self.writes += writes
        return Receipt(None, "", self.now())

    def _overlay(self, write: Write, collection: Collection) -> None:
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
        for index in collection.indexes if body is not None else ():
            for equal, _ in collection.index_rows(index, body or {}):
                self._places.setdefault((collection.name, index.name, equal), {})[write.key] = None

    def retrying(self, attempt: Callable[[], T]) -> T:
        return attempt()

    def first_receipt(self, operation: str | None) -> Receipt | None:
        return None

    def send(self, *, session: str | None, operation: str | None, reason: str | None) -> Receipt | None:
        """Commit what was buffered, in this session or else in the one that all of it belongs to; None when nothing
        was."""
        if not self.writes:
            return None
        common = next(iter(self._sessions)) if len(self._sessions) == 1 else None
        return super().commit(
            self.writes,
            tuple(self.expectations),
            session=session if session is not None else common,
            operation=operation,
            reason=reason,
        )


def _is_wider(low: Order | None, known: Order | None) -> bool:
    return known is not None and (low is None or low < known)  # type: ignore[operator]
