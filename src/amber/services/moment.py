"""A moment of the past, to read from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from amber.errors import Unsupported
from amber.model.batch import MAX_GROUP, Unchanged
from amber.model.collection import Collection, Order, Record
from amber.services.overlay import Overlaid
from amber.services.past import States
from amber.services.unit import Context
from amber.store.contract import LogQuery, Receipt


class PastUnit(Overlaid):
    """Reads of what was known at a position of the log; writes are refused.

    Fields that touches set (unlogged) show their present values.
    """

    def __init__(self, context: Context, position: int, moment: int | None) -> None:
        super().__init__(context)
        self.position, self._moment = position, moment
        self._states: dict[str, States] = {}
        self._present: dict[str, tuple[dict[str, Record | None], list[str]]] = {}

    def now(self) -> int:
        """Give the moment that is looked at (a position's is that of its entry), so that validity and time to live
        are judged as they were."""
        if self._moment is not None:
            return self._moment
        entries = self.store.log(
            self.space, LogQuery(low=self.position, high=self.position + 1, limit=1, images="none")
        )
        # the entry at the horizon is gone, its time is known
        return entries[0].at if entries else self.store.horizon(self.space).at if self.position else 0

    def _seen(self, collection: str) -> dict[str, Record | None]:
        states = self._states.get(collection)
        if states is None:
            states = States(self.store, self.space, collection, self.position)
            states = self._states.setdefault(collection, states)
        return states.changed()

    def _near(self, collection: Collection, index: str, equal: tuple[Order, ...]) -> Iterable[str]:
        seen = self._seen(collection.name)
        known = self._present.get(collection.name)
        if known is None or known[0] is not seen:
            # most often what changed since was not there yet
            known = (seen, [key for key, record in seen.items() if record is not None])
            self._present[collection.name] = known
        return known[1]

    def get(self, collection: Collection, key: str) -> Record | None:
        record = self._base(collection.name, key)
        # after the store was read, so that what was changed in between is seen as it was
        seen = self._seen(collection.name)
        return seen.get(key, record)

    def group(
        self, collection: Collection, index: str, equal: tuple[Order, ...], low: Order | None = None
    ) -> tuple[list[Record], Unchanged]:
        rows = self.scan(collection, index, equal, low=low, limit=MAX_GROUP).rows
        return rows, Unchanged(collection.name, index, equal, self.position, len(rows), low)

    def first_receipt(self, operation: str | None) -> Receipt | None:
        # what every write asks first
        return self.commit()

    def commit(self, *_: Any, **__: Any) -> Receipt:
        raise Unsupported(f"This is the memory as it was at position {self.position}: it can only be read.")
