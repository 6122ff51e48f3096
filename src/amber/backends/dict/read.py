"""Reads of the in-process store."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence

from amber.backends.dict.space import Entry, Space, StoredEntry
from amber.errors import BadInput
from amber.model.batch import Unchanged
from amber.model.collection import Collection, Order, Record
from amber.model.where import Where, matches
from amber.store.arguments import check_equal, check_log, check_lookup, check_scan, find_collection
from amber.store.codec import decode
from amber.store.contract import Change, Cursor, LogEntry, LogQuery, Page


def known(collections: Mapping[str, Collection], name: str) -> Collection:
    """Give the declaration of a collection."""
    return find_collection(collections, name)


def entries(
    space: Space,
    collection: Collection,
    index: str,
    equal: Sequence[Order],
    low: Order | None,
    high: Order | None,
) -> Sequence[Entry]:
    """Give the (order, key) entries of a range of an index."""
    check_scan(collection, index, equal, low, high, None, 1)
    rows = space.indexes.get((collection.name, index, tuple(equal)), [])
    start = 0 if low is None else bisect_left(rows, low, key=lambda row: row[0])
    end = len(rows) if high is None else bisect_left(rows, high, key=lambda row: row[0])
    return rows[start:end]


def scan(
    space: Space,
    collection: Collection,
    index: str,
    equal: Sequence[Order],
    low: Order | None,
    high: Order | None,
    reverse: bool,
    after: Cursor | None,
    limit: int,
    where: Where,
    scan_limit: int,
) -> Page:
    """Give one page of an index."""
    check_scan(collection, index, equal, low, high, after, limit, where, scan_limit)
    rows = entries(space, collection, index, equal, low, high)
    if after is not None:
        place: Entry = (after.order, after.key)
        if reverse:
            rows = rows[: bisect_left(rows, place)]
        else:
            rows = rows[bisect_right(rows, place) :]
    if reverse:
        rows = rows[::-1]
    return _page(space, collection.name, rows, limit, where, scan_limit)


def _page(space: Space, name: str, rows: Sequence[Entry], limit: int, where: Where, scan_limit: int) -> Page:
    found: list[Record] = []
    for looked, (order, key) in enumerate(rows, 1):
        record = space.load(name, key)
        if record is not None and matches(record.body, where):
            found.append(record)
        if len(found) == limit or (where and looked == scan_limit):
            more = looked < len(rows)
            return Page(found, Cursor(order, key) if more else None, len(found) == limit or not more)
    return Page(found, None)


def lookup(
    space: Space,
    collection: Collection,
    where: Where,
    group: str | None,
    after: Cursor | None,
    limit: int,
    scan_limit: int,
) -> Page:
    """Give one page of documents by their field entries."""
    name = collection.name
    asked = check_lookup(collection, where, group, after, limit, scan_limit)
    keys = set.intersection(*(space.entries.get((name, path, value), set()) for path, value in asked))
    keys |= space.entries.get((name, "*", ""), set())
    documents = space.documents[name]
    if group is not None:
        keys = {key for key in keys if documents[key].derived.group == group}
    rows: list[Entry] = [("", key) for key in sorted(keys) if after is None or key > after.key]
    return _page(space, name, rows, limit, where, scan_limit)


def unchanged(space: Space, collection: Collection, expectation: Unchanged) -> bool:
    """Judge an Unchanged expectation."""
    check_equal(collection, expectation.by, expectation.equal)
    rows: Sequence[Entry] = entries(space, collection, expectation.by, expectation.equal, expectation.low, None)
    documents = space.documents[collection.name]
    newest = max((documents[key].revision for _, key in rows), default=0)
    return len(rows) == expectation.size and newest <= expectation.since


def summable(collection: Collection, field: str) -> None:
    """Check that a field can be summed."""
    declared = collection.columns.get(field)
    if declared is None or declared.kind != "int" or declared.many:
        raise BadInput(f"{collection.name}.{field} is not a declared single int field.", field=field)


def position_at(space: Space, at: int) -> int:
    """Give the newest position not after a time."""
    if space.horizon.position and at < space.horizon.at:
        return 0
    return space.horizon.position + bisect_right(space.log, at, key=lambda entry: entry.at)


def log(space: Space, query: LogQuery) -> list[LogEntry]:
    """Give log entries, newest first unless asked otherwise."""
    check_log(query)
    first = space.horizon.position + 1
    low = max(query.low if query.low is not None else first, first)
    high = min(query.high if query.high is not None else space.position + 1, space.position + 1)
    if query.key is not None:
        positions: Sequence[int] = [p for p in space.places.get(query.key, ()) if low <= p < high]
    else:
        positions = range(low, max(low, high))
    if query.positions is not None:
        named = set(query.positions)
        positions = [p for p in positions if p in named]
    found: list[LogEntry] = []
    passed = 0
    for position in reversed(positions) if query.reverse else positions:
        entry = space.entry(position)
        if query.session is not None and entry.session != query.session:
            continue
        if query.actor is not None and entry.actor != query.actor:
            continue
        passed += 1
        if passed <= query.offset:
            continue
        found.append(_entry(space, entry, query.images))
        if len(found) == query.limit:
            break
    return found


def _entry(space: Space, entry: StoredEntry, images: str) -> LogEntry:
    changes = tuple(
        Change(
            change.collection,
            change.key,
            change.kind,
            decode(change.before) if change.before is not None else None,
            decode(change.after) if change.after is not None and images == "both" else None,
            change.deltas,
            change.purged,
        )
        for change in (entry.changes if images != "none" else ())
    )
    undone = tuple(dict.fromkeys(space.undone.get(entry.position, ())))
    return LogEntry(
        entry.position,
        entry.operation,
        entry.at,
        entry.actor,
        entry.reason,
        entry.session,
        entry.undoes,
        undone,
        changes,
    )
