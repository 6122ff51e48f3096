"""What documents were at a position of the log, worked out from the changes after it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Literal, NamedTuple

from amber.model.collection import Record
from amber.services.resolve import trimmed
from amber.store.contract import Change, LogEntry, LogQuery, Store

_CHUNK = 500


def entries_after(
    store: Store, space: str, position: int, until: int | None = None, *, images: Literal["both", "before"] = "both"
) -> Iterator[LogEntry]:
    """Give the log entries in (position, until], oldest first.

    :raises NotFound: when some of them were trimmed, also while they are read.
    """
    high = until + 1 if until is not None else None
    while True:
        chunk = store.log(space, LogQuery(low=position + 1, high=high, reverse=False, limit=_CHUNK, images=images))
        # positions have no gap but the one that a trim makes
        whole = chunk[0].position == position + 1 if chunk else until is not None and until <= position
        if not whole:
            horizon = store.horizon(space)
            if horizon.position > position:
                raise trimmed(horizon, f"Position {position}")
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
        self._purged = 0
        self._start()

    def _start(self) -> None:
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
        for entry in entries_after(self._store, self._space, self._read, images="before"):
            if not entry.changes and entry.position > self._purged:
                # something was forgotten, perhaps an image that is held here
                self._purged = self._store.position(self._space)
                self._start()
                return
            for change in entry.changes:
                if change.collection == self._collection:
                    then = self._then.setdefault(change.key, _Then())
                    if not then.known:
                        touched[change.key] = None
                    then.see(change)
            self._read = entry.position
        added = [key for key in touched if not self._then[key].known]
        # one that is changed before it is read here comes again with the next entries
        now = self._store.get_many(self._space, self._collection, added)
        place = (self._store, self._space, self._collection)
        found = {key: _record(*place, self._position, key, self._then[key], now.get(key)) for key in touched}
        # readers may be going through the one they were given
        self._found = {**self._found, **found}


def states_at(store: Store, space: str, collection: str, position: int) -> dict[str, Record | None]:
    """Give what ``States.changed`` gives, once."""
    return States(store, space, collection, position).changed()


class Changed(NamedTuple):
    """The documents that changed between two positions: those of one collection with their states there, None where
    there was none or it was forgotten since; those of the others by number."""

    states: dict[str, tuple[Record | None, Record | None]]
    others: dict[str, int]


def changed_between(store: Store, space: str, collection: str, first: int, last: int) -> Changed:
    """Give what changed in the entries in (first, last], in the order of the first change."""
    thens: dict[str, _Then] = {}
    others: dict[str, set[str]] = {}
    for entry in entries_after(store, space, first, last, images="before"):
        for change in entry.changes:
            if change.collection == collection:
                thens.setdefault(change.key, _Then()).see(change)
            else:
                others.setdefault(change.collection, set()).add(change.key)
    ends = _states_of(store, space, collection, [*thens], last)
    states: dict[str, tuple[Record | None, Record | None]] = {}
    for key, then in thens.items():
        end = ends.get(key)
        begin = (
            _record(store, space, collection, first, key, then, end)
            if then.state is not None or not then.known
            else None
        )
        states[key] = (begin, end)
    return Changed(states, {name: len(keys) for name, keys in sorted(others.items())})


def _states_of(store: Store, space: str, collection: str, keys: list[str], position: int) -> dict[str, Record | None]:
    """Give what documents were at a position: most often what they are now."""
    now = store.get_many(space, collection, keys)
    newest = store.position(space)
    later = [key for key in keys if key not in now or now[key].revision > position]
    found: dict[str, Record | None] = {**now, **dict.fromkeys(later)}
    if newest == position:
        return found
    if len(later) > newest - position:
        # one pass over what came after is shorter than a look for each
        changed = states_at(store, space, collection, position)
        found.update((key, changed[key] if key in changed else now.get(key)) for key in later)
    else:
        found.update((key, state_of(store, space, collection, key, position)) for key in later)
    return found


def state_of(store: Store, space: str, collection: str, key: str, position: int) -> Record | None:
    """Give one document as it was at a position; None when it was not there, or was forgotten since. Where the log was
    trimmed, what lies at the horizon or below reads as the horizon."""
    then, low = _Then(), position + 1
    now = store.get(space, collection, key)
    while not then.known:
        chunk = store.log(space, LogQuery(low=low, key=(collection, key), reverse=False, limit=_CHUNK))
        for entry in chunk:
            # what came after the document was read is not in it
            if now is None or entry.position <= now.revision:
                for change in entry.changes:
                    if (change.collection, change.key) == (collection, key):
                        then.see(change)
        if len(chunk) < _CHUNK:
            break
        low = chunk[-1].position + 1
    return _record(store, space, collection, position, key, then, now)


def _record(
    store: Store, space: str, collection: str, position: int, key: str, then: _Then, now: Record | None
) -> Record | None:
    body = then.state if then.known else (now.body if now is not None else None)
    if body is None:
        return None
    for field, n in then.added.items():
        value = body.get(field)
        body = {**body, field: (value if isinstance(value, int) else 0) - n}
    was = LogQuery(high=position + 1, key=(collection, key), limit=1, images="before")
    first, last = store.log(space, was._replace(reverse=False)), store.log(space, was)
    if first and _begins(first[0], collection, key):
        created = first[0].position
    else:
        created = _created_before(store, space, collection, key, position, first)
    return Record(key, created, last[0].position if last else max(store.horizon(space).position, created), body)


def _created_before(store: Store, space: str, collection: str, key: str, position: int, first: list[LogEntry]) -> int:
    """Give where a document came in that was there before the first entry that tells of it: that one was trimmed or
    lost."""
    now = store.get(space, collection, key)
    if now is not None and now.created <= position:
        # it was there all the time since
        return now.created
    return store.horizon(space).position or (first[0].position if first else position)


def _begins(entry: LogEntry, collection: str, key: str) -> bool:
    """Tell whether a document came in with an entry; else it was there before, however old the log is."""
    changes = [change for change in entry.changes if (change.collection, change.key) == (collection, key)]
    return any(change.kind in ("put", "append") and change.before is None for change in changes)
