"""Forgetting: purge removes rows, scrub what they leave in the raw files."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from amber.backends.sqlite.connection import Connections
from amber.backends.sqlite.read import Range
from amber.backends.sqlite.schema import table
from amber.backends.sqlite.statements import Statements
from amber.backends.sqlite.transaction import plain
from amber.backends.sqlite.write import Writing
from amber.errors import Unsupported
from amber.model.collection import Collection
from amber.model.where import canonical
from amber.store.arguments import check_equal
from amber.store.constraints import rule_of
from amber.store.contract import PURGE, Purged, Scrubbed, Selection
from amber.store.faults import point
from amber.store.step import Step

#: Pages that one step of a scrub merges or gives back; a step holds the writer for some milliseconds.
_STEP_PAGES = 200


def purge(
    cursor: sqlite3.Cursor,
    space: int,
    position: int,
    collections: Mapping[str, Collection],
    statements: Mapping[str, Statements],
    selection: Selection,
    now: int,
    limit: int,
) -> Purged:
    """Forget up to ``limit`` documents of a selection."""
    collection = collections[selection.collection]
    keys = _selected(cursor, space, collection, selection, limit + 1)
    if not keys:
        return Purged(0, 0, True)
    position += 1
    writing = Writing(cursor, space, statements)
    documents = changes = 0
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
            cursor.execute("INSERT OR REPLACE INTO amber_purged VALUES (?, ?, ?, ?)", (*place, position))
        changes += _erase(cursor, place)
    for ruled in collections.values():
        if ruled.rules is not None and ruled.rules.collection == collection.name:
            for key, stays in keys[:limit]:
                if not stays:
                    writing.relist(ruled, key, None)
    last_at = cursor.execute("SELECT last_at FROM amber_space WHERE n = ?", (space,)).fetchone()[0]
    at = max(now, last_at)
    cursor.execute(
        "INSERT INTO amber_log (space, position, operation, at) VALUES (?, ?, ?, ?)",
        (space, position, f"{PURGE}{position}", at),
    )
    writing.finish(position, at)
    return Purged(documents, changes, len(keys) <= limit, position)


def _erase(cursor: sqlite3.Cursor, place: tuple[int, str, str]) -> int:
    """Empty the log images of a document; entries with no image left lose their actor, reason and session."""
    positions = cursor.execute(
        """SELECT DISTINCT position FROM amber_change
           WHERE space = ? AND collection = ? AND key = ? AND purged = 0""",
        place,
    ).fetchall()
    cursor.execute(
        """UPDATE amber_change SET purged = 1, before = NULL, after = NULL, deltas = NULL
           WHERE space = ? AND collection = ? AND key = ? AND purged = 0""",
        place,
    )
    erased = cursor.rowcount
    point("purge:images")
    for (position,) in positions:
        cursor.execute(
            """UPDATE amber_log SET actor = NULL, reason = NULL, session = NULL
               WHERE space = ? AND position = ? AND NOT EXISTS
               (SELECT 1 FROM amber_change c WHERE c.space = amber_log.space AND c.position = amber_log.position
                AND c.purged = 0)""",
            (place[0], position),
        )
    return erased


def _selected(
    cursor: sqlite3.Cursor, space: int, collection: Collection, selection: Selection, limit: int
) -> list[tuple[str, bool]]:
    """Give the keys to forget, each with whether its document stays because it stands elsewhere now."""
    if selection.by is None:
        there = (key for key in dict.fromkeys(selection.keys) if _remains(cursor, space, collection, key))
        return [(key, False) for key in there][:limit]
    index = check_equal(collection, selection.by, selection.equal)
    part = Range(collection, index, space, selection.equal, None, None)
    sql = f"SELECT {part.key} FROM {part.source} WHERE {part.where} ORDER BY {part.order}, {part.key} LIMIT ?"
    keys = [(row[0], False) for row in cursor.execute(sql, [*part.values, limit])]
    if len(keys) < limit:
        live = {key for key, _ in keys}
        sql = f"""SELECT e.key, EXISTS (SELECT 1 FROM {table(collection)} d WHERE d.space = e.space AND d.key = e.key)
                  FROM amber_departed e WHERE e.space = ? AND e.collection = ? AND e.by = ? AND e.equal = ?
                  ORDER BY e.key"""
        departed = cursor.execute(sql, (space, collection.name, selection.by, canonical(list(selection.equal))))
        keys += [(key, bool(stays)) for key, stays in departed if key not in live]
    return keys[:limit]


def _remains(cursor: sqlite3.Cursor, space: int, collection: Collection, key: str) -> bool:
    place = (space, collection.name, key)
    sql = f"""SELECT EXISTS (SELECT 1 FROM {table(collection)} WHERE space = ? AND key = ?) OR EXISTS
              (SELECT 1 FROM amber_change WHERE space = ? AND collection = ? AND key = ? AND purged = 0)"""
    return bool(cursor.execute(sql, (space, key, *place)).fetchone()[0])


def scrub(connections: Connections, steps: int) -> Scrubbed:
    """Merge the postings until no deleted token is left, give free pages back, empty the WAL.

    :raises Unsupported: inside a transaction of the caller, which holds the old pages.
    """
    connection = connections.writer
    if connections.borrowed and connection.in_transaction:
        raise Unsupported(
            "scrub needs to run outside your transaction; commit it first. On a connection with autocommit=False there "
            "is always one: set connection.autocommit = True while it runs."
        )
    done = 0
    pages = -_STEP_PAGES
    while done < steps:
        before = connection.total_changes
        connections.write(
            lambda cursor, n=pages: cursor.execute(  # type: ignore[misc]
                "INSERT INTO amber_search (amber_search, rank) VALUES ('merge', ?)", (n,)
            ),
            "scrub",
        )
        pages = _STEP_PAGES
        # FTS5 counts the command itself as one change; more means that it merged something
        if connection.total_changes - before < 2:
            break
        done += 1
    else:
        return Scrubbed(done, False)
    if _pragma(connections, "auto_vacuum") == 2:
        while _pragma(connections, "freelist_count"):
            if done >= steps:
                return Scrubbed(done, False)
            with connections.lock:
                plain(connection).execute(f"PRAGMA incremental_vacuum({_STEP_PAGES})").fetchall()
            point("scrub:vacuumed")
            done += 1
        free = ""
    else:
        free = "free pages of the file: run VACUUM" if _pragma(connections, "freelist_count") else ""
    with connections.lock:
        busy = plain(connection).execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    point("scrub:emptied")
    kept = ""
    if connections.borrowed and _pragma(connections, "secure_delete") != 1:
        kept = "deleted rows inside pages, since this connection has secure_delete off: run VACUUM"
    left = [free, kept, "the write-ahead log, held by another reader: scrub again" if busy else ""]
    remaining = tuple(each for each in left if each)
    return Scrubbed(done, not remaining, remaining)


def _pragma(connections: Connections, name: str) -> int:
    with connections.lock:
        return int(plain(connections.writer).execute(f"PRAGMA {name}").fetchone()[0])
