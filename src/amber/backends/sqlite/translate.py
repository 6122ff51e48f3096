"""What errors of the driver mean for the caller."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from amber.backends.sqlite.damage import is_damage, is_other_schema
from amber.errors import AmberError, Closed, Corrupt, SchemaMismatch, TimedOut, Unavailable, Unsupported

#: Somebody else holds the lock.
BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_AWAY = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "the file is read-only",
    sqlite3.SQLITE_IOERR: "the disk reports an error",
    sqlite3.SQLITE_CANTOPEN: "the file can not be opened",
    sqlite3.SQLITE_PERM: "access is not permitted",
}


@contextmanager
def translated(path: Path | None) -> Iterator[None]:
    """Turn the driver's errors into ours; not for hot paths."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise translate(error, path) from error


def code_of(error: Exception) -> int:
    """Give the primary result code of SQLite."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def translate(error: sqlite3.Error | UnicodeDecodeError, path: Path | None) -> AmberError:
    """Say what an error of the driver means for the caller."""
    code, where = code_of(error), f" ({path})" if path is not None else ""
    if code in BUSY:
        return TimedOut(f"Another process or connection holds the write lock{where}: {error}. Nothing was written.")
    if code in _AWAY:
        return Unavailable(f"Nothing was written, {_AWAY[code]}{where}: {error}.")
    if code == sqlite3.SQLITE_NOTADB:
        return Corrupt(f"This is not a SQLite database{where}; name another file. {error}.")
    if code == sqlite3.SQLITE_CORRUPT or is_damage(error):
        return Corrupt(f"The database is damaged{where}: {error}. Run verify, and restore a backup.")
    if is_other_schema(error):
        return SchemaMismatch(
            f"The tables of this memory are not those that it was opened with{where}: {error}. Were they rolled back, "
            "or was it opened by another version of Amber? Open it again."
        )
    if "no such module: fts5" in str(error):
        return Unsupported("This Python's SQLite has no FTS5; Amber needs SQLite 3.40 with FTS5.")
    if isinstance(error, sqlite3.ProgrammingError) and "thread" in str(error):
        return Unsupported(f"The borrowed connection belongs to another thread: {error}")
    if isinstance(error, sqlite3.ProgrammingError) and "closed" in str(error):
        return Closed(f"The connection was closed: {error}")
    return Unavailable(f"SQLite refused{where}: {error}.")
