"""A copy of the file while it is in use, by SQLite's own backup, in steps."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

from amber.backends.sqlite.connection import Connections
from amber.backends.sqlite.translate import translate
from amber.errors import Conflict, Unsupported
from amber.store.contract import Copying
from amber.store.faults import point
from amber.store.whole_file import check_target, whole_file

Report = Callable[[Copying], None]
#: Pages that one step copies: the time between two reports, and between two looks at an interrupt.
_PAGES = 256
#: What lies beside a database while it is open, or after a crash.
_BESIDE = ("-wal", "-journal")


def backup(
    connections: Connections, target: str | os.PathLike[str], *, overwrite: bool, on_progress: Report | None
) -> None:
    """Copy the database as it is now to a file, whole or not at all.

    On a file of ours other threads and processes go on writing: one read transaction holds the state that is copied.
    A borrowed connection is copied under its lock, in one step.

    :raises Unsupported: inside a transaction of the caller, whose end nobody knows yet.
    """
    connections.check()
    path = Path(target)
    check_target(path, overwrite=overwrite)
    _check_beside(connections, path)
    if connections.borrowed:
        with connections.lock:
            if connections.writer.in_transaction:
                raise Unsupported("A backup needs to run outside your transaction; commit it first.")
            with whole_file(path, overwrite=overwrite) as temporary:
                _copy(connections, connections.writer, temporary, -1, on_progress)
        return
    _from_reader(connections, path, overwrite=overwrite, on_progress=on_progress)


def _from_reader(connections: Connections, path: Path, *, overwrite: bool, on_progress: Report | None) -> None:
    reader = connections.own_reader()
    try:
        with whole_file(path, overwrite=overwrite) as temporary:
            with reader.lock:
                reader.connection.execute("BEGIN")
                reader.connection.execute("SELECT 1 FROM sqlite_master").fetchone()
            _copy(connections, reader.connection, temporary, _PAGES, on_progress)
    except sqlite3.Error as error:
        connections.check()
        raise translate(error, connections.path) from error
    finally:
        with reader.lock:
            reader.connection.close()


def keep_before(connections: Connections, version: int) -> Path | None:
    """Copy a file before its schema changes, beside it and named after the old version: ``agent.db.schema-1``.

    Runs inside the transaction that will change it, so that no other process writes in between; an older copy of that
    name, from an opening that did not come to its end, is replaced. A borrowed connection's database is its owner's to
    copy.
    """
    if connections.borrowed or connections.path is None:
        return None
    path = connections.path.with_name(f"{connections.path.name}.schema-{version}")
    _check_beside(connections, path)
    _from_reader(connections, path, overwrite=True, on_progress=None)
    return path


def _copy(
    connections: Connections, source: sqlite3.Connection, temporary: Path, pages: int, on_progress: Report | None
) -> None:
    def report(_: int, remaining: int, total: int) -> None:
        if on_progress is not None:
            on_progress(Copying(total - remaining, total))
        # a step that fails leaves the copy open in the driver until it is over
        connections.check()

    copy = sqlite3.connect(temporary, isolation_level=None)
    try:
        # nobody opens the copy before it is whole; then it is made durable at once
        copy.execute("PRAGMA journal_mode = OFF")
        copy.execute("PRAGMA synchronous = OFF")
        source.backup(copy, pages=pages, progress=report)
    except sqlite3.Error as error:
        connections.check()
        raise translate(error, temporary) from error
    finally:
        copy.close()
    point("backup:copied")


def _check_beside(connections: Connections, path: Path) -> None:
    """Refuse a name whose write-ahead log or journal is there: SQLite would apply it to the copy."""
    if connections.path is not None and path.exists() and path.samefile(connections.path):
        raise _refusal(f"{str(path)!r} is the memory itself; name another file.")
    for suffix in _BESIDE:
        beside = path.with_name(path.name + suffix)
        if beside.exists():
            raise _refusal(
                f"{str(beside)!r} belongs to a database that is open or was not closed; name another file, or close it."
            )


def _refusal(text: str) -> Conflict:
    conflict = Conflict(text)
    conflict.retry = "no"  # type: ignore[misc]
    return conflict
