"""What documents were at a position of the log, worked out from the changes after it."""

from __future__ import annotations

from collections.abc import Iterator

from amber.model.collection import Record
from amber.store.contract import Change, LogEntry, LogQuery, Store

_CHUNK = 500


def entries_after(store: Store, space: str, position: int, until: int | None = None) -> Iterator[LogEntry]:
    """Give the log entries in (position, until], oldest first."""
    high = until + 1 if until is not None else None
    while True:
        chunk = store.log(space, LogQuery(low=position + 1, high=high, reverse=False, limit=_CHUNK))
        yield from chunk
        if len(chunk) < _CHUNK:
            return
        position = chunk[-1].position


class _Then:
    """One document while changes are looked at, oldest first: the first image decides, additions before it are taken
    off."""

    __slots__ = ("added", "known", "state")

    def __init__(self) -> None:
        self.known = False
        self.state: dict[str, object] | None = None
        self.added: dict[str, int] = {}

    def see(self, change: Change) -> None:
        if self.known:
            return
        if change.kind == "add" and not change.purged:
            for field, n in (change.deltas or {}).items():
                self.added[field] = self.added.get(field, 0) + n
            return
        self.known, self.state = True, change.before


def states_at(store: Store, space: str, collection: str, position: int) -> dict[str, Record | None]:
    """Give, for each document changed after a position, what it was there; None where there was none, or where it was
    forgotten since."""
    then: dict[str, _Then] = {}
    for entry in entries_after(store, space, position):
        for change in entry.changes:
            if change.collection == collection:
                then.setdefault(change.key, _Then()).see(change)
    now = store.get_many(space, collection, [key for key, each in then.items() if not each.known])
    return {key: _record(store, space, collection, position, key, each, now.get(key)) for key, each in then.items()}


def _record(
    store: Store, space: str, collection: str, position: int, key: str, then: _Then, now: Record | None
) -> Record | None:
    body = then.state if then.known else (now.body if now is not None else None)
    if body is None:
        return None
    for field, n in then.added.items():
        value = body.get(field)
        body = {**body, field: (value if isinstance(value, int) else 0) - n}
    last = store.log(space, LogQuery(high=position + 1, key=(collection, key), limit=1))
    first = store.log(space, LogQuery(high=position + 1, key=(collection, key), reverse=False, limit=1))
    if not last:
        return None
    return Record(key, first[0].position, last[0].position, body)
