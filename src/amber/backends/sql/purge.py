"""Forgetting: purge removes rows. What they leave in raw files is the engine's to scrub."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from amber.backends.sql.engine import Catalog, Cursor
from amber.backends.sql.judge import judge
from amber.backends.sql.reach import selected
from amber.backends.sql.write import Writing
from amber.model.batch import Expectation
from amber.model.collection import Collection
from amber.model.where import canonical
from amber.store.arguments import check_named, check_selection
from amber.store.constraints import rule_of
from amber.store.contract import PURGE, Named, Purged, Selection
from amber.store.faults import point
from amber.store.step import Step

#: Marks a document as purged.
MARK = """INSERT INTO amber_purged VALUES (?, ?, ?, ?) ON CONFLICT (space, collection, key) DO UPDATE
          SET position = excluded.position"""


def check(collections: Mapping[str, Collection], selection: Selection | Named) -> None:
    """Check what a purge is asked for."""
    if isinstance(selection, Named):
        check_named(selection)
    else:
        check_selection(collections, selection)


def purge(
    cursor: Cursor,
    space: int,
    catalog: Catalog,
    selection: Selection | Named,
    now: int,
    limit: int,
    expectations: Sequence[Expectation],
) -> Purged:
    """Forget up to ``limit`` documents of a selection, or a name in that many log entries."""
    collections, statements = catalog.collections, catalog.statements
    cursor.execute("SELECT n FROM amber_space WHERE n = ? /* lock */", (space,))
    writing = Writing(cursor, space, statements, catalog.engine)
    for expectation in expectations:
        judge(cursor.execute, space, statements, expectation)
    if isinstance(selection, Named):
        return _purge_name(cursor, writing, space, selection, now, limit)
    collection = collections[selection.collection]
    keys = selected(cursor.execute, space, collection, selection, limit + 1)
    if not keys:
        return Purged(0, 0, True)
    position = _log(cursor, space, now)
    documents = changes = 0
    touched: set[int] = set()
    for key, stays in keys[:limit]:
        record = writing.load(collection.name, key)
        if record is not None and not stays:
            documents += 1
            step = Step(collection, key, record)
            step.old_unique = collection.unique_values(record.body, rule_of(collection, record.body, writing.load))
            step.body, step.kind = None, "delete"
            writing.rewrite(step, position)
        point("purge:document")
        place = (space, collection.name, key)
        if stays:
            cursor.execute(
                "DELETE FROM amber_departed WHERE space = ? AND collection = ? AND key = ? AND by = ? AND equal = ?",
                (*place, selection.by, canonical(list(selection.equal))),
            )
        else:
            cursor.execute("DELETE FROM amber_departed WHERE space = ? AND collection = ? AND key = ?", place)
            cursor.execute(MARK, (*place, position))
        changes += _erase(cursor, place, touched)
    for ruled in collections.values():
        if ruled.rules is not None and ruled.rules.collection == collection.name:
            for key, stays in keys[:limit]:
                if not stays:
                    writing.relist(ruled, key, None)
    _clear(cursor, space, touched)
    _finish(cursor, writing, space, position)
    return Purged(documents, changes, len(keys) <= limit, position)


def _purge_name(cursor: Cursor, writing: Writing, space: int, named: Named, now: int, limit: int) -> Purged:
    sql = f"SELECT position FROM amber_log WHERE space = ? AND {named.part} = ? ORDER BY position LIMIT ?"
    found = cursor.execute(sql, (space, named.name, limit + 1)).fetchall()
    if not found:
        return Purged(0, 0, True)
    sql = f"UPDATE amber_log SET {named.part} = NULL, reason = NULL WHERE space = ? AND position = ?"
    cursor.executemany(sql, [(space, position) for (position,) in found[:limit]])
    point("purge:images")
    position = _log(cursor, space, now)
    _finish(cursor, writing, space, position)
    return Purged(0, 0, len(found) <= limit, position, len(found[:limit]))


def _log(cursor: Cursor, space: int, now: int) -> int:
    """Write the entry of a purge and give its position."""
    last, last_at = cursor.execute("SELECT position, last_at FROM amber_space WHERE n = ?", (space,)).fetchone()
    cursor.execute(
        "INSERT INTO amber_log (space, position, operation, at) VALUES (?, ?, ?, ?)",
        (space, last + 1, f"{PURGE}{last + 1}", max(now, last_at)),
    )
    return int(last) + 1


def _finish(cursor: Cursor, writing: Writing, space: int, position: int) -> None:
    sql = "SELECT at FROM amber_log WHERE space = ? AND position = ?"
    writing.finish(position, cursor.execute(sql, (space, position)).fetchone()[0])


def _erase(cursor: Cursor, place: tuple[int, str, str], touched: set[int]) -> int:
    """Empty the log images of a document, and note in which entries."""
    found = cursor.execute(
        """UPDATE amber_change SET purged = 1, before = NULL, after = NULL, deltas = NULL
           WHERE space = ? AND collection = ? AND key = ? AND purged = 0 RETURNING position""",
        place,
    ).fetchall()
    touched.update(position for (position,) in found)
    point("purge:images")
    return len(found)


def _clear(cursor: Cursor, space: int, touched: set[int]) -> None:
    """Take the reason from entries that lost an image, and actor and session from those that have none left."""
    places = [(space, position) for position in sorted(touched)]
    cursor.executemany("UPDATE amber_log SET reason = NULL WHERE space = ? AND position = ?", places)
    cursor.executemany(
        """UPDATE amber_log SET actor = NULL, session = NULL WHERE space = ? AND position = ? AND NOT EXISTS
           (SELECT 1 FROM amber_change c WHERE c.space = amber_log.space AND c.position = amber_log.position
            AND c.purged = 0)""",
        places,
    )
