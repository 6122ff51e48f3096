"""Compare the images of the log with each other: what a change left is what the next one found."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from amber.backends.sql.engine import Cursor
from amber.errors import Corrupt
from amber.model.collection import Body, Collection, Record
from amber.store.codec import decode

Report = Callable[[str, str | None, str | None, str], None]
Load = Callable[[str, str], Record | None]

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


def check_images(cursor: Cursor, space: int, collections: Mapping[str, Collection], load: Load, report: Report) -> None:
    """Report images that can not be read, those that do not follow from the change before, and documents that are not
    what the additions since the newest image make of it.

    :param load: gives a document, by collection and key.

    What the log does not tell is not compared: the state after an append that keeps no image, before the oldest
    change, around one that was forgotten, and across an entry without changes, in which anything may have been.
    """
    sql = """SELECT position FROM amber_log l WHERE space = ? AND NOT EXISTS
             (SELECT 1 FROM amber_change c WHERE c.space = l.space AND c.position = l.position) ORDER BY position"""
    empty = [row[0] for row in cursor.execute(sql, (space,))]
    for (name, key), changes in groupby(_changes(cursor, space), lambda change: (change.collection, change.key)):
        collection = collections.get(name)
        if collection is not None:
            known, kind, last = _follow(collection, key, changes, empty, report)
            # after a put the document was compared with its image already
            if known is not None and kind == "add":
                record = load(name, key)
                # one of another revision was changed in an entry that was lost, or is reported for that
                if (
                    record is not None
                    and record.revision == last
                    and _kept(collection, known) != _kept(collection, record.body)
                ):
                    report("log", name, key, f"{key} is not what the changes of the log make of it.")


def _changes(cursor: Cursor, space: int) -> Iterator[_Change]:
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


def _follow(
    collection: Collection, key: str, changes: Iterator[_Change], empty: Sequence[int], report: Report
) -> tuple[Body | None, str, int]:
    """Give what a document is after its changes, as far as the log tells, and the kind and position of the last."""
    known: Body | None = None
    last, kind = 0, ""
    for change in changes:
        if bisect(empty, last) != bisect(empty, change.position):
            known = None
        last, kind = change.position, change.kind
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
    return known, kind, last


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
