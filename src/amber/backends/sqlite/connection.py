"""Connections: one writer under a lock, a reader per thread, or the caller's own connection for everything.

A file of ours: WAL, BEGIN IMMEDIATE, busy timeout set before anything that may wait. A borrowed connection keeps all
its settings, is never closed, and inside the caller's open transaction Amber works in a savepoint that it releases.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock, local
from typing import Any, Literal, TypeVar
from weakref import WeakSet

from amber.errors import (
    AmberError,
    BadInput,
    Closed,
    Corrupt,
    NotFound,
    SchemaMismatch,
    TimedOut,
    Unavailable,
    Unsupported,
)
from amber.store.faults import point

T = TypeVar("T")
Execute = Callable[..., sqlite3.Cursor]
Durability = Literal["off", "normal", "full"]

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_AWAY = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "the file is read-only",
    sqlite3.SQLITE_IOERR: "the disk reports an error",
    sqlite3.SQLITE_CANTOPEN: "the file can not be opened",
    sqlite3.SQLITE_PERM: "access is not permitted",
}


class _Reader:
    """A connection that closes when its thread ends.

    The lock is held while it is used: closing a connection under a running statement ends the process.
    """

    __slots__ = ("__weakref__", "connection", "lock")

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.lock = RLock()

    def __del__(self) -> None:
        self.connection.close()


class Connections:
    """All connections of one store.

    :param create: make a file that is not there; else that is NotFound.
    :param durability: what a power loss may take: ``full`` nothing that was answered, ``normal`` (default) the last
        commits but never consistency, ``off`` for throw-away files. A crash of the process alone loses nothing.
    :param timeout: seconds to wait for another process's write before TimedOut.
    :param inspect: looks at a file before anything of it is changed, and raises when it must stay as it is.
    """

    def __init__(
        self,
        target: str | os.PathLike[str] | sqlite3.Connection,
        *,
        create: bool,
        durability: Durability,
        timeout: float,
        inspect: Callable[[sqlite3.Connection], object],
    ) -> None:
        if durability not in ("off", "normal", "full"):
            raise BadInput(f"durability must be off, normal or full, not {durability!r}.", durability=durability)
        self.lock = RLock()
        self.pid = os.getpid()
        self.borrowed = isinstance(target, sqlite3.Connection)
        self.path = None if isinstance(target, sqlite3.Connection) else Path(target).absolute()
        self._durability, self._timeout = durability, timeout
        self._local = local()
        self._readers: WeakSet[_Reader] = WeakSet()
        self._closed = False
        if isinstance(target, sqlite3.Connection):
            _check_borrowed(target)
            self.writer = target
        else:
            _drop_inherited()
            _opened.add(self)
            if not create and not Path(target).exists():
                raise NotFound(f"There is no memory at {str(target)!r}.", target=str(target))
            prepare_file(Path(target))
            with translated(self.path):
                self.writer = self._open(inspect)

    def _open(self, inspect: Callable[[sqlite3.Connection], object] | None = None) -> sqlite3.Connection:
        connection = sqlite3.connect(
            str(self.path), timeout=self._timeout, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        try:
            if inspect is not None:
                self._retry(lambda: inspect(connection))
            self._retry(lambda: self._configure(connection))
        except BaseException:
            connection.close()
            raise
        return connection

    def _configure(self, connection: sqlite3.Connection) -> None:
        execute = connection.execute
        if execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            execute("PRAGMA auto_vacuum = INCREMENTAL")
            execute("PRAGMA journal_mode = WAL")
        execute(f"PRAGMA synchronous = {self._durability.upper()}")
        # FAST leaves what a page held behind the end of a row that the same transaction puts there, in segments of the
        # postings too; what was forgotten would stay in the file
        execute("PRAGMA secure_delete = ON")
        execute("PRAGMA foreign_keys = OFF")

    def _retry(self, work: Callable[[], object]) -> None:
        # switching to WAL answers "locked" at once, without the busy handler, while another process does the same
        end = time.monotonic() + self._timeout
        while True:
            try:
                work()
                return
            except sqlite3.OperationalError as error:
                if _code(error) not in _BUSY or time.monotonic() > end:
                    raise
                time.sleep(0.005)

    def check(self) -> None:
        """Refuse work after close and in a forked child.

        :raises Closed: in both cases.
        """
        if self._closed:
            raise Closed("This memory was closed; open it again.")
        if os.getpid() != self.pid:
            raise Closed(f"This memory was opened by process {self.pid}; open it again in the forked child.")

    def _reader(self) -> _Reader:
        """Give what this thread reads with; not for a borrowed connection."""
        try:
            found: _Reader = self._local.reader
        except AttributeError:
            self.check()
            with translated(self.path):
                found = _Reader(self._open())
            self._local.reader = found
            self._readers.add(found)
        return found

    def own_reader(self) -> _Reader:
        """Give a reader for what takes longer than one call; it is closed with the others, or by the caller."""
        self.check()
        with translated(self.path):
            made = _Reader(self._open())
        self._readers.add(made)
        return made

    def read(self, work: Callable[[Execute], T]) -> T:
        """Run several reads on one snapshot; ``work`` gets what runs a statement."""
        if self.borrowed:
            with self.lock, translated(self.path):
                self.check()
                return self._read(lambda sql, values=(): plain(self.writer).execute(sql, values), work)
        reader = self._reader()
        with reader.lock, translated(self.path):
            self.check()
            return self._read(reader.connection.execute, work)

    def _read(self, execute: Execute, work: Callable[[Execute], T]) -> T:
        if self.borrowed and self.writer.in_transaction:
            return work(execute)
        execute("BEGIN")
        try:
            return work(execute)
        finally:
            execute("COMMIT")

    def rows(self, sql: str, values: Any = ()) -> list[Any]:
        """Run one reading statement."""
        try:
            if self.borrowed:
                with self.lock:
                    self.check()
                    return plain(self.writer).execute(sql, values).fetchall()
            reader = self._reader()
            with reader.lock:
                if self._closed or os.getpid() != self.pid:
                    self.check()
                return reader.connection.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise translate(error, self.path) from error

    def write(self, work: Callable[[sqlite3.Cursor], T], name: str, *, keep: bool = True) -> T:
        """Run a write as one transaction; any exception leaves nothing of it.

        :param name: prefix of the fault points passed here.
        :param keep: False rolls back at the end: a check that SQLite only lets writers make.
        """
        # checked before the lock too: a forked child may inherit it locked
        self.check()
        with self.lock:
            self.check()
            try:
                nested = self.borrowed and self.writer.in_transaction
                result = self._write(plain(self.writer), work, name, nested=nested, keep=keep)
            except sqlite3.Error as error:
                raise translate(error, self.path) from error
            point(name + ":after-commit")
            return result

    def _write(
        self, cursor: sqlite3.Cursor, work: Callable[[sqlite3.Cursor], T], name: str, *, nested: bool, keep: bool
    ) -> T:
        begun = False
        try:
            cursor.execute("SAVEPOINT amber" if nested else "BEGIN IMMEDIATE")
            begun = True
            point(name + ":begun")
            result = work(cursor)
            point(name + ":before-commit")
            if keep:
                cursor.execute("RELEASE amber" if nested else "COMMIT")
            else:
                _roll_back(cursor, nested)
            return result
        except BaseException:
            if begun or not nested:
                _roll_back(cursor, nested)
            raise
        finally:
            cursor.close()

    def drop(self) -> None:
        """Close the connections that the parent of this process opened, as far as none was in use at the fork."""
        _opened.discard(self)
        for reader in list(self._readers):
            if reader.lock.acquire(blocking=False):
                reader.connection.close()
                reader.lock.release()
        if not self._closed and hasattr(self, "writer") and not self.writer.in_transaction:
            self.writer.close()

    def close(self) -> None:
        """Close what was opened here."""
        with self.lock:
            if self._closed:
                return
            self._closed = True
            if self.borrowed or os.getpid() != self.pid:
                return
            for reader in list(self._readers):
                with reader.lock:
                    reader.connection.close()
            self.writer.close()


_opened: WeakSet[Connections] = WeakSet()


def _drop_inherited() -> None:
    """Close the idle connections that a fork brought along.

    SQLite keeps one set of file locks for each process and takes those of an inherited connection, which the system
    did not inherit, for held: a new connection beside it would hold none, and lose its commits when the parent closes.
    """
    for each in list(_opened):
        if each.pid != os.getpid() and each.lock.acquire(blocking=False):
            try:
                each.drop()
            finally:
                each.lock.release()


def _roll_back(cursor: sqlite3.Cursor, nested: bool) -> None:
    # some errors (disk full, corrupt page) have rolled back already
    if cursor.connection.in_transaction:
        if nested:
            cursor.execute("ROLLBACK TO amber")
            cursor.execute("RELEASE amber")
        else:
            cursor.execute("ROLLBACK")


def plain(connection: sqlite3.Connection) -> sqlite3.Cursor:
    """Give a cursor that yields tuples, whatever row factory the connection has."""
    cursor = connection.cursor()
    cursor.row_factory = None
    return cursor


def _check_borrowed(connection: sqlite3.Connection) -> None:
    try:
        value = plain(connection).execute("SELECT 'é'").fetchone()[0]
    except sqlite3.ProgrammingError as error:
        raise BadInput(f"The connection can not be used: {error}.") from error
    if value != "é":
        raise Unsupported(
            "The connection has a text_factory that does not give str; Amber needs a connection with the default one."
        )


def prepare_file(path: Path) -> None:
    """Make a new file, and the folders it lies in, readable by the owner alone; leave what exists as it is.

    :raises BadInput: when the path is a folder or can not be a file name.
    :raises Unavailable: when it can not be made.
    """
    try:
        if path.is_dir():
            raise BadInput(f"{str(path)!r} is a folder; name a file.", path=str(path))
        missing = [folder for folder in path.absolute().parents if not folder.exists()]
        for folder in reversed(missing):
            folder.mkdir(mode=0o700, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return
    except BadInput:
        raise
    except ValueError as error:
        raise BadInput(f"{str(path)!r} can not be a file name: {error}.", path=str(path)) from error
    except OSError as error:
        raise Unavailable(f"{str(path)!r} can not be made: {error.strerror}.", path=str(path)) from error


@contextmanager
def translated(path: Path | None) -> Iterator[None]:
    """Turn the driver's errors into ours; not for hot paths."""
    try:
        yield
    except sqlite3.Error as error:
        raise translate(error, path) from error


def _code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def translate(error: sqlite3.Error, path: Path | None) -> AmberError:
    """Say what an error of the driver means for the caller."""
    code, where = _code(error), f" ({path})" if path is not None else ""
    if code in _BUSY:
        return TimedOut(f"Another process or connection holds the write lock{where}: {error}. Nothing was written.")
    if code in _AWAY:
        return Unavailable(f"Nothing was written, {_AWAY[code]}{where}: {error}.")
    if code == sqlite3.SQLITE_NOTADB:
        return Corrupt(f"This is not a SQLite database{where}; name another file. {error}.")
    if code == sqlite3.SQLITE_CORRUPT:
        return Corrupt(f"The database is damaged{where}: {error}. Run verify, and restore a backup.")
    if "no such table: amber_" in str(error):
        return SchemaMismatch(f"The tables of this memory are gone{where}; were they rolled back? Open it again.")
    if "no such module: fts5" in str(error):
        return Unsupported("This Python's SQLite has no FTS5; Amber needs SQLite 3.40 with FTS5.")
    if isinstance(error, sqlite3.ProgrammingError) and "thread" in str(error):
        return Unsupported(f"The borrowed connection belongs to another thread: {error}")
    if isinstance(error, sqlite3.ProgrammingError) and "closed" in str(error):
        return Closed(f"The connection was closed: {error}")
    return Unavailable(f"SQLite refused{where}: {error}.")
