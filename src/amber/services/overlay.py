"""A store seen with some documents as they are elsewhere: in a buffer, or in the past."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

from amber.model.collection import Body, Collection, Order, Record
from amber.model.where import Where, matches
from amber.services.unit import Unit
from amber.store.contract import MAX_PAGE, Cursor, Page


class Overlaid(Unit, ABC):
    """Reads that see some documents as they are here, and all others as they are in the store."""

    judges = False

    @abstractmethod
    def _seen(self, collection: str) -> dict[str, Record | None]:
        """Give the documents of a collection that are seen otherwise; None for one that is not there."""

    def _near(self, collection: Collection, index: str, equal: tuple[Order, ...]) -> Iterable[str]:
        """Name the documents seen otherwise that an index may find under these values."""
        return self._seen(collection.name)

    def get(self, collection: Collection, key: str) -> Record | None:
        seen = self._seen(collection.name)
        return seen[key] if key in seen else self._base(collection.name, key)

    def _base(self, collection: str, key: str) -> Record | None:
        return self.store.get(self.space, collection, key)

    def get_many(self, collection: Collection, keys: Sequence[str]) -> dict[str, Record]:
        found = ((key, self.get(collection, key)) for key in keys)
        return {key: record for key, record in found if record is not None}

    def scan(self, collection: Collection, index: str, equal: Sequence[Order] = (), **options: Any) -> Page:
        limit, reverse = options.get("limit", 100), options.get("reverse", False)
        more = len(self._seen(collection.name))
        base = super().scan(collection, index, equal, **{**options, "limit": min(limit + more, MAX_PAGE)})
        # after the store was read, so that what was changed in between is seen as it is here
        seen = self._seen(collection.name)
        if not seen:
            return base
        declared = collection.by_name[index]
        rows = [(Cursor(_order(collection, index, row.body), row.key), row) for row in base.rows if row.key not in seen]
        low, high, after, where = (options.get(name) for name in ("low", "high", "after", "where"))
        for key in self._near(collection, index, tuple(equal)):
            record = seen.get(key)
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
        limit, after, group = options.get("limit", 100), options.get("after"), options.get("group")
        more = len(self._seen(collection.name))
        base = super().lookup(collection, where, **{**options, "limit": min(limit + more, MAX_PAGE)})
        seen = self._seen(collection.name)
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
