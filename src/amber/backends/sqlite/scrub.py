"""Scrub: what purges and changes leave in the raw files goes, in small steps."""

from __future__ import annotations

from amber.backends.sqlite.connection import Connections
from amber.backends.sqlite.transaction import plain
from amber.errors import Unsupported
from amber.store.contract import Scrubbed
from amber.store.faults import point

#: Pages that one step of a scrub merges or gives back; a step holds the writer for some milliseconds.
_STEP_PAGES = 200
#: Milliseconds that emptying the WAL waits for readers.
_WAIT = 100


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
