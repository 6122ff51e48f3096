"""What documents were at a position of the log, worked out from the changes after it."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator

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


class States:
    """What the documents of a collection were at a position, however much is written while one looks."""

    def __init__(self, store: Store, space: str, collection: str, position: int) -> None:
        self._store, self._space, self._collection, self._position = store, space, collection, position
        self._lock = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        self._read = self._position
        self._then: dict[str, _Then] = {}
        self._found: dict[str, Record | None] = {}

    def changed(self) -> dict[str, Record | None]:
        """Give, for each document changed after the position up to now, what it was there; None where there was none,
        or where it was forgotten since."""
        with self._lock:
            while self._store.position(self._space) > self._read:
                self._follow()
            return self._found

    def _follow(self) -> None:
        touched: dict[str, None] = {}
        for entry in entries_after(self._store, self._space, self._read):
            if not entry.changes and self._read > self._position:
                # something was forgotten, also from images that were read before
                self._forget()
                return
            for change in entry.changes:
                if change.collection == self._collection:
                    self._then.setdefault(change.key, _Then()).see(change)
                    touched[change.key] = None
            self._read = entry.position
        self._work_out(key for key in touched if not self._then[key].known or key not in self._found)
        # a document with additions was worked out from what it is now, until its first image came
        self._work_out(key for key in touched if self._then[key].known)

    def _work_out(self, keys: Iterable[str]) -> None:
        named = list(keys)
        now = self._store.get_many(self._space, self._collection, [key for key in named if not self._then[key].known])
        # what was added after the last entry that was read comes with the next ones
        for key in named:
            then, record = self._then[key], now.get(key)
            self._found[key] = state_from(self._store, self._space, self._collection, self._position, key, then, record)


def states_at(store: Store, space: str, collection: str, position: int) -> dict[str, Record | None]:
    """Give what ``States.changed`` gives, once."""
    return States(store, space, collection, position).changed()


def state_from(
    store: Store, space: str, collection: str, position: int, key: str, then: _Then, now: Record | None
) -> Record | None:
    """Give a document as it was, from what its changes told."""
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
