"""Forgetting: purge removes rows, scrub what they leave in the raw files."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

from amber.backends.sqlite.connection import Connections
from amber.backends.sqlite.judge import judge
from amber.backends.sqlite.reach import selected
from amber.backends.sqlite.statements import Statements
from amber.backends.sqlite.transaction import plain
from amber.backends.sqlite.write import Writing
from amber.errors import Unsupported
from amber.model.batch import Expectation
from amber.model.collection import Collection
from amber.model.where import canonical
from amber.store.arguments import check_named, check_selection
from amber.store.constraints import rule_of
from amber.store.contract import PURGE, Named, Purged, Scrubbed, Selection
from amber.store.faults import point
from amber.store.step import Step

#: Pages that one step of a scrub merges or gives back; a step holds the writer for some milliseconds.
_STEP_PAGES = 200
#: Milliseconds that emptying the WAL waits for readers.
_WAIT = 100


def check(collections: Mapping[str, Collection], selection: Selection | Named) -> None:
    """Check what a purge is asked for."""
    if isinstance(selection, Named):
        check_named(selection)
    else:
        check_selection(collections, selection)


def purge(
    cursor: sqlite3.Cursor,
    space: int,
    collections: Mapping[str, Collection],
    statements: Mapping[str, Statements],
    selection: Selection | Named,
    now: int,
    limit: int,
    expectations: Sequence[Expectation],
) -> Purged:
    """Forget up to ``limit`` documents of a selection, or a name in that many log entries."""
    writing = Writing(cursor, space, statements)
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
            cursor.execute("INSERT OR REPLACE INTO amber_purged VALUES (?, ?, ?, ?)", (*place, position))
        changes += _erase(cursor, place, touched)
    for ruled in collections.values():
        if ruled.rules is not None and ruled.rules.collection == collection.name:
            for key, stays in keys[:limit]:
                if not stays:
                    writing.relist(ruled, key, None)
    _clear(cursor, space, touched)
    _finish(cursor, writing, space, position)
    return Purged(documents, changes, len(keys) <= limit, position)


def _purge_name(cursor: sqlite3.Cursor, writing: Writing, space: int, named: Named, now: int, limit: int) -> Purged:
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


def _log(cursor: sqlite3.Cursor, space: int, now: int) -> int:
    """Write the entry of a purge and give its position."""
    last, last_at = cursor.execute("SELECT position, last_at FROM amber_space WHERE n = ?", (space,)).fetchone()
    cursor.execute(
        "INSERT INTO amber_log (space, position, operation, at) VALUES (?, ?, ?, ?)",
        (space, last + 1, f"{PURGE}{last + 1}", max(now, last_at)),
    )
    return int(last) + 1


def _finish(cursor: sqlite3.Cursor, writing: Writing, space: int, position: int) -> None:
    sql = "SELECT at FROM amber_log WHERE space = ? AND position = ?"
    writing.finish(position, cursor.execute(sql, (space, position)).fetchone()[0])


def _erase(cursor: sqlite3.Cursor, place: tuple[int, str, str], touched: set[int]) -> int:
    """Empty the log images of a document, and note in which entries."""
    found = cursor.execute(
        "SELECT rowid, position FROM amber_change WHERE space = ? AND collection = ? AND key = ? AND purged = 0", place
    ).fetchall()
    cursor.executemany(
        "UPDATE amber_change SET purged = 1, before = NULL, after = NULL, deltas = NULL WHERE rowid = ?",
        [(row,) for row, _ in found],
    )
    touched.update(position for _, position in found)
    point("purge:images")
    return len(found)


def _clear(cursor: sqlite3.Cursor, space: int, touched: set[int]) -> None:
    """Take the reason from entries that lost an image, and actor and session from those that have none left."""
    places = [(space, position) for position in sorted(touched)]
    cursor.executemany("UPDATE amber_log SET reason = NULL WHERE space = ? AND position = ?", places)
    cursor.executemany(
        """UPDATE amber_log SET actor = NULL, session = NULL WHERE space = ? AND position = ? AND NOT EXISTS
           (SELECT 1 FROM amber_change c WHERE c.space = amber_log.space AND c.position = amber_log.position
            AND c.purged = 0)""",
        places,
    )


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
                # each page is a row without columns, of which execute takes only the first
                connection.executescript(f"PRAGMA incremental_vacuum({_STEP_PAGES})")
            point("scrub:vacuumed")
            done += 1
        free = ""
    else:
        free = "free pages of the file: run VACUUM" if _pragma(connections, "freelist_count") else ""
    busy = _empty_wal(connections)
    point("scrub:emptied")
    kept = ""
    if connections.borrowed and _pragma(connections, "secure_delete") != 1:
        kept = "deleted rows inside pages, since this connection has secure_delete off: run VACUUM"
    journal = ""
    if connections.borrowed and plain(connection).execute("PRAGMA journal_mode").fetchone()[0] == "persist":
        journal = "the rollback journal, which this connection keeps: set another journal_mode"
    left = [free, kept, journal, "the write-ahead log, held by another reader: scrub again" if busy else ""]
    remaining = tuple(each for each in left if each)
    return Scrubbed(done, not remaining, remaining)


def _pragma(connections: Connections, name: str) -> int:
    with connections.lock:
        return int(plain(connections.writer).execute(f"PRAGMA {name}").fetchone()[0])


def _empty_wal(connections: Connections) -> bool:
    """Write the WAL into the file and empty it; tell whether a reader held that up.

    While SQLite waits for readers no writer gets in, so a file of ours waits only for a moment.
    """
    with connections.lock:
        cursor = plain(connections.writer)
        if connections.borrowed:
            return bool(cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0])
        usual = cursor.execute("PRAGMA busy_timeout").fetchone()[0]
        cursor.execute(f"PRAGMA busy_timeout = {min(usual, _WAIT)}")
        try:
            return bool(cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0])
        finally:
            cursor.execute(f"PRAGMA busy_timeout = {usual}")
