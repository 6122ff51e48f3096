"""Compare the postings of FTS5 with the texts that they were made from."""

from __future__ import annotations

import sqlite3

from amber.backends.sqlite import text

_WRITES = (sqlite3.SQLITE_READONLY,)


def postings_match(cursor: sqlite3.Cursor) -> bool:
    """Tell whether every token of every text has its posting, and there is no other.

    FTS5 does it itself, with a command that only one who may write can give; else both sides are summed up here.

    :raises sqlite3.DatabaseError: when they can not be read.
    """
    try:
        # what waits has its postings nowhere; all of this is rolled back
        text.fold(cursor)
        cursor.execute("INSERT INTO amber_search (amber_search, rank) VALUES ('integrity-check', 1)")
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", 0)
        if code & 0xFF == sqlite3.SQLITE_CORRUPT:
            return False
        if code & 0xFF not in _WRITES:
            raise
        return _sums_match(cursor)
    return True


def _sums_match(cursor: sqlite3.Cursor) -> bool:
    cursor.execute("CREATE VIRTUAL TABLE temp.amber_postings USING fts5vocab('main', 'amber_search', 'instance')")
    try:
        count = total = 0
        for token, number in cursor.execute("SELECT term, doc FROM temp.amber_postings"):
            count += 1
            total += hash((token, number))
        sql = f"SELECT id, tokens, fields FROM amber_doc WHERE id <= {text.FOLDED}"
        for number, tokens, fields in cursor.execute(sql):
            for token in (*(tokens or "").split(), *(fields or "").split()):
                count -= 1
                total -= hash((token, number))
    finally:
        cursor.execute("DROP TABLE temp.amber_postings")
    return count == total == 0
