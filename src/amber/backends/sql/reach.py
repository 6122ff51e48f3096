"""What a purge would reach: the documents of a selection, and those of which only log images are left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from amber.backends.sql.engine import Execute
from amber.backends.sql.read import Range
from amber.backends.sql.tables import table
from amber.model.collection import Collection
from amber.model.where import canonical
from amber.store.arguments import check_equal, check_place
from amber.store.codec import decode
from amber.store.contract import Cursor, Named, Reach, Reached, Selection

#: Keys in one statement.
_CHUNK = 500


def selected(
    execute: Execute, space: int, collection: Collection, selection: Selection, limit: int
) -> list[tuple[str, bool]]:
    """Give the keys to forget, each with whether its document stays because it stands elsewhere now."""
    if selection.by is None:
        there = (key for key in dict.fromkeys(selection.keys) if _remains(execute, space, collection, key))
        return [(key, False) for key in there][:limit]
    if selection.keys:
        return _among(execute, space, collection, selection)[:limit]
    keys = [(key, False) for _, key in _standing(execute, space, collection, selection, None, limit)]
    if len(keys) < limit:
        keys += _departed(execute, space, collection, selection, "", limit - len(keys))
    return keys


def find(
    execute: Execute,
    space: int,
    collections: Mapping[str, Collection],
    selection: Selection | Named,
    after: Cursor | str | None,
    limit: int,
) -> Reach:
    """Give one page of what a purge would reach."""
    if isinstance(selection, Named):
        sql = f"SELECT count(*) FROM amber_log WHERE space = ? AND {selection.part} = ?"
        return Reach([], None, execute(sql, (space, selection.name)).fetchone()[0])
    collection = collections[selection.collection]
    check_place(collection, selection, after)
    if selection.by is None or selection.keys:
        keys = selected(execute, space, collection, selection, len(selection.keys))
        return Reach(_weigh(execute, space, collection, keys), None)
    keys = []
    if not isinstance(after, str):
        found = _standing(execute, space, collection, selection, after, limit + 1)
        keys = [(key, False) for _, key in found[:limit]]
        if len(found) > limit:
            return Reach(_weigh(execute, space, collection, keys), Cursor(*found[limit - 1]))
        after = ""
    room = limit - len(keys)
    gone = _departed(execute, space, collection, selection, after, room + 1)
    # when the page was full before, the next one begins with what only stood there once
    more = len(gone) > room
    last = gone[room - 1][0] if room and more else ""
    return Reach(_weigh(execute, space, collection, keys + gone[:room]), last if more else None)


def _standing(
    execute: Execute, space: int, collection: Collection, selection: Selection, after: Cursor | None, limit: int
) -> list[Any]:
    """Give the (order, key) entries of an index under the values of a selection."""
    index = check_equal(collection, selection.by or "", selection.equal)
    part = Range(collection, index, space, selection.equal, None, None)
    beyond = f" AND ({part.order}, {part.key}) > (?, ?)" if after is not None else ""
    sql = f"""SELECT {part.order}, {part.key} FROM {part.source} WHERE {part.where}{beyond}
              ORDER BY {part.order}, {part.key} LIMIT ?"""
    found: list[Any] = execute(sql, [*part.values, *(after or ()), limit]).fetchall()
    return found


def _departed(
    execute: Execute, space: int, collection: Collection, selection: Selection, after: str, limit: int
) -> list[tuple[str, bool]]:
    """Give what once stood there and does not now, by key."""
    sql = f"""SELECT e.key, d.body FROM amber_departed e LEFT JOIN {table(collection)} d
              ON d.space = e.space AND d.key = e.key
              WHERE e.space = ? AND e.collection = ? AND e.by = ? AND e.equal = ? AND e.key > ? ORDER BY e.key"""
    place = (space, collection.name, selection.by, canonical(list(selection.equal)), after)
    found: list[tuple[str, bool]] = []
    for key, body in execute(sql, place):
        if not _stands(collection, selection, body):
            found.append((key, body is not None))
        if len(found) == limit:
            break
    return found


def _among(execute: Execute, space: int, collection: Collection, selection: Selection) -> list[tuple[str, bool]]:
    """Give those of the keys that stand, or once stood, in the index under these values."""
    sql = f"""SELECT (SELECT body FROM {table(collection)} WHERE space = ? AND key = ?), EXISTS
              (SELECT 1 FROM amber_departed WHERE space = ? AND collection = ? AND by = ? AND equal = ? AND key = ?)"""
    equal = canonical(list(selection.equal))
    found = []
    for key in dict.fromkeys(selection.keys):
        values = (space, key, space, collection.name, selection.by, equal, key)
        body, departed = execute(sql, values).fetchone()
        if _stands(collection, selection, body):
            found.append((key, False))
        elif departed:
            found.append((key, body is not None))
    return found


def _stands(collection: Collection, selection: Selection, body: str | None) -> bool:
    """Tell whether a document is in an index under these values now."""
    if body is None or selection.by is None:
        return False
    rows = collection.index_rows(collection.by_name[selection.by], decode(body))
    return any(equal == tuple(selection.equal) for equal, _ in rows)


def _remains(execute: Execute, space: int, collection: Collection, key: str) -> bool:
    place = (space, collection.name, key)
    sql = f"""SELECT EXISTS (SELECT 1 FROM {table(collection)} WHERE space = ? AND key = ?) OR EXISTS
              (SELECT 1 FROM amber_change WHERE space = ? AND collection = ? AND key = ? AND purged = 0)"""
    return bool(execute(sql, (space, key, *place)).fetchone()[0])


def _weigh(execute: Execute, space: int, collection: Collection, keys: Sequence[tuple[str, bool]]) -> list[Reached]:
    """Look up what there is of each key."""
    there: set[str] = set()
    images: dict[str, tuple[int, int]] = {}
    for start in range(0, len(keys), _CHUNK):
        part = [key for key, _ in keys[start : start + _CHUNK]]
        marks = ", ".join("?" * len(part))
        sql = f"SELECT key FROM {table(collection)} WHERE space = ? AND key IN ({marks})"
        there.update(row[0] for row in execute(sql, (space, *part)))
        sql = f"""SELECT key, count(*), min(position) FROM amber_change
                  WHERE space = ? AND collection = ? AND key IN ({marks}) AND purged = 0 GROUP BY key"""
        images.update({row[0]: (row[1], row[2]) for row in execute(sql, (space, collection.name, *part))})
    nothing: tuple[int, None] = (0, None)
    return [Reached(key, key in there, stays, *images.get(key, nothing)) for key, stays in keys]
