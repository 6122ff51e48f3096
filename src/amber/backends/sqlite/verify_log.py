"""Compare the images of the log with each other: what a change left is what the next one found."""

from __future__ import annotations

import sqlite3
from bisect import bisect
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from amber.errors import Corrupt
from amber.model.collection import Body, Collection
from amber.store.codec import decode

Report = Callable[[str, str | None, str | None, str], None]

_FETCHED = 500


class _Change(NamedTuple):
    collection: str
    key: str
    position: int
    kind: str
    before: str | None
    after: str | None
    deltas: str | None
    purged: int


def check_images(cursor: sqlite3.Cursor, space: int, collections: Mapping[str, Collection], report: Report) -> None:
    """Report images that can not be read, and those that do not follow from the change before.

    What the log does not tell is not compared: the state after an append that keeps no image, before the oldest
    change, around one that was forgotten, and across an entry without changes, in which anything may have been.
    """
    sql = """SELECT position FROM amber_log l WHERE space = ? AND NOT EXISTS
             (SELECT 1 FROM amber_change c WHERE c.space = l.space AND c.position = l.position) ORDER BY position"""
    empty = [row[0] for row in cursor.execute(sql, (space,))]
    for (name, key), changes in groupby(_changes(cursor, space), lambda change: (change.collection, change.key)):
        collection = collections.get(name)
        if collection is not None:
            _follow(collection, key, changes, empty, report)


def _changes(cursor: sqlite3.Cursor, space: int) -> Iterator[_Change]:
    place: tuple[Any, ...] = ("", "", -1, -1)
    while True:
        rows = cursor.execute(
            """SELECT collection, key, position, kind, before, after, deltas, purged, n FROM amber_change
               WHERE space = ? AND (collection, key, position, n) > (?, ?, ?, ?)
               ORDER BY collection, key, position, n LIMIT ?""",
            (space, *place, _FETCHED),
        ).fetchall()
        for row in rows:
            yield _Change(*row[:8])
        if len(rows) < _FETCHED:
            return
        place = (*rows[-1][:3], rows[-1][8])


def _follow(collection: Collection, key: str, changes: Iterator[_Change], empty: Sequence[int], report: Report) -> None:
    known: Body | None = None
    last = 0
    for change in changes:
        if bisect(empty, last) != bisect(empty, change.position):
            known = None
        last = change.position
        try:
            before, after, deltas = (decode(each) if each is not None else None for each in change[4:7])
        except Corrupt as error:
            report("log", collection.name, key, f"The log of {key} can not be read at {change.position}: {error}")
            known = None
            continue
        if known is not None and before is not None and _kept(collection, known) != _kept(collection, before):
            detail = f"The image of {key} before {change.position} is not what the change before it left."
            report("log", collection.name, key, detail)
        if change.purged or change.kind == "append":
            known = None
        elif change.kind == "add":
            known = _added(known, deltas)
        else:
            known = after if change.kind == "put" else None


def _added(body: Body | None, deltas: Any) -> Body | None:
    if body is None or not isinstance(deltas, dict):
        return None
    sums = dict(body)
    for field, n in deltas.items():
        value = sums.get(field)
        sums[field] = (value if isinstance(value, int) else 0) + n
    return sums


def _kept(collection: Collection, body: Any) -> Any:
    if not isinstance(body, dict):
        return body
    return {name: value for name, value in body.items() if name not in collection.touchable}
