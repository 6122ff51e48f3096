"""Connections: one writer under a lock, a reader per thread, or the caller's own connection for everything.

A file of ours: WAL, BEGIN IMMEDIATE, busy timeout set before anything that may wait. A borrowed connection keeps all
its settings, is never closed, and inside the caller's open transaction Amber works in a savepoint that it releases.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from threading import RLock, local
from typing import Any, Literal, TypeVar
from weakref import WeakSet

from amber.backends.sqlite import forks
from amber.backends.sqlite.standing import Standing
from amber.backends.sqlite.transaction import Call, Waiting, Work, plain, run
from amber.backends.sqlite.translate import BUSY, code_of, translate, translated
from amber.errors import BadInput, Closed, NotFound, Unavailable, Unsupported

T = TypeVar("T")
Execute = Callable[..., sqlite3.Cursor]
Durability = Literal["off", "normal", "full"]

#: Bytes of a page of a new file. A commit writes whole pages, most of them for a few bytes each; a search reads faster
#: from larger ones (decision 0015).
_PAGE = 2048
#: Bytes of the write-ahead log that are written into the file at a time.
_CHECKPOINT = 4_096_000


class _Reader:
    """A connection that closes when its thread ends.

    The lock is held while it is used: closing a connection under a running statement ends the process.
    """

    __slots__ = ("__weakref__", "connection", "lock")

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.lock = RLock()

    def __del__(self) -> None:
        forks.close(self.connection)


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
        self._waiting = Waiting()
        self.opening = RLock()
        self.standing = Standing(self.path or Path())
        if isinstance(target, sqlite3.Connection):
            _check_borrowed(target)
            self.writer = target
        else:
            forks.enter(self)
            try:
                if not create and not Path(target).exists():
                    raise NotFound(f"There is no memory at {str(target)!r}.", target=str(target))
                prepare_file(Path(target))
                with translated(self.path):
                    self.writer = self._open(inspect)
                self.standing.note()
            finally:
                self.opening.release()

    def _open(self, inspect: Callable[[sqlite3.Connection], object] | None = None) -> sqlite3.Connection:
        try:
            return self._connect(inspect)
        except sqlite3.OperationalError as error:
            self.standing.freeze(error)
            return self._connect(inspect)

    def _connect(self, inspect: Callable[[sqlite3.Connection], object] | None) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.standing.target,
            timeout=self._timeout,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
            uri=self.standing.frozen,
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
        if self.standing.frozen:
            return
        if execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            # of a file that holds nothing yet
            execute(f"PRAGMA page_size = {_PAGE}")
            execute("PRAGMA auto_vacuum = INCREMENTAL")
            execute("PRAGMA journal_mode = WAL")
        execute(f"PRAGMA synchronous = {self._durability.upper()}")
        # FAST leaves what a page held behind the end of a row that the same transaction puts there, in segments of the
        # postings too; what was forgotten would stay in the file
        execute("PRAGMA secure_delete = ON")
        execute("PRAGMA foreign_keys = OFF")
        size = execute("PRAGMA page_size").fetchone()[0]
        execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT // size}")

    def _retry(self, work: Callable[[], object]) -> None:
        # switching to WAL answers "locked" at once, without the busy handler, while another process does the same
        end = time.monotonic() + self._timeout
        while True:
            try:
                work()
                return
            except sqlite3.OperationalError as error:
                if code_of(error) not in BUSY or time.monotonic() > end:
                    raise
                time.sleep(0.005)

    def check(self) -> None:
        """Refuse work after close and in a forked child, and when the file is not the one that was opened.

        :raises Closed: in the first two cases. :raises Unavailable: in the third.
        """
        self._check_process()
        self.standing.check()

    def _check_process(self) -> None:
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
            with self.opening, translated(self.path):
                found = _Reader(self._open())
                self._local.reader = found
                self._readers.add(found)
        return found

    def own_reader(self) -> _Reader:
        """Give a reader for what takes longer than one call; it is closed with the others, or by the caller."""
        self.check()
        with self.opening, translated(self.path):
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
                if self._closed or os.getpid() != self.pid or self.standing.frozen:
                    self.check()
                return reader.connection.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise translate(error, self.path) from error

    def write(self, work: Work[T], name: str, *, keep: bool = True) -> T:
        """Run a write as one transaction; any exception leaves nothing of it.

        :param name: prefix of the fault points passed here.
        :param keep: False rolls back at the end: a check that SQLite only lets writers make.
        """
        # checked before the lock too: a forked child may inherit it locked
        self._check_process()
        with self.lock:
            self.check()
            try:
                nested = self.borrowed and self.writer.in_transaction
                return run(self.writer, work, name, nested=nested, keep=keep)
            except sqlite3.Error as error:
                raise translate(error, self.path) from error

    def share(self, work: Work[T], careful: Work[T], name: str) -> T:
        """Run a short write as one transaction, or together with those that other threads wait with.

        :param careful: when ``work`` fails, this is run in its place after all of it was rolled back, and gives the
            result or the error.
        """
        self._check_process()
        if self.borrowed:
            with self.lock, translated(self.path):
                self.check()
                return run(self.writer, work, name, careful=careful, nested=self.writer.in_transaction)
        if self.lock.acquire(blocking=False):
            try:
                if not self._waiting:
                    self.check()
                    return run(self.writer, work, name, careful=careful)
            except sqlite3.Error as error:
                raise translate(error, self.path) from error
            finally:
                self.lock.release()
        call = Call(work, careful)
        self._waiting.add(call)
        try:
            with self.lock:
                if not call.done:
                    self.check()
                    self._waiting.lead(self.writer, call, name)
        except BaseException:
            # interrupted while it waited: nobody else shall begin it then
            self._waiting.withdraw(call)
            raise
        if call.error is not None:
            if isinstance(call.error, sqlite3.Error):
                raise translate(call.error, self.path) from call.error
            raise call.error
        result: T = call.result
        return result

    def readers(self) -> list[_Reader]:
        """Give the connections of threads (see ``forks``)."""
        return list(self._readers)

    def is_idle(self) -> bool:
        """Tell whether no transaction is under way (see ``forks``)."""
        connections = [reader.connection for reader in self._readers]
        if not self._closed and hasattr(self, "writer"):
            connections.append(self.writer)
        return self._closed or not any(connection.in_transaction for connection in connections)

    def drop(self) -> None:
        """Close the connections that the parent of this process opened; none was in use at the fork (see ``forks``)."""
        for reader in list(self._readers):
            reader.connection.close()
        if not self._closed and hasattr(self, "writer"):
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
