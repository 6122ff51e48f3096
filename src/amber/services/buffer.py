"""A transaction's buffer: writes wait for its end, which sends them as one batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from amber.errors import Unsupported
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
from amber.services.overlay import Overlaid
from amber.services.unit import Context
from amber.store.contract import Receipt

T = TypeVar("T")


class BufferedUnit(Overlaid):
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
