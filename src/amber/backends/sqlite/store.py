"""SQLiteStore: the contract on one file, by ``connection``, ``schema``, ``write``, ``read``, ``text``, ``purge``
and ``trim``, ``export`` and ``load``, ``backup``."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from amber.backends.sql import load, purge, reach, read, trim, write
from amber.backends.sql.claim import claim
from amber.backends.sql.declared import Declared, digests
from amber.backends.sql.engine import Catalog, Rows
from amber.backends.sql.judge import judge
from amber.backends.sql.statements import Statements
from amber.backends.sql.tables import by_name, table
from amber.backends.sql.verify import find_problems
from amber.backends.sqlite import backup, snapshot
from amber.backends.sqlite.connection import Connections, Durability, Execute
from amber.backends.sqlite.engine import ENGINE
from amber.backends.sqlite.schema import VERSION, check_version, migrate
from amber.backends.sqlite.scrub import scrub
from amber.backends.sqlite.searching import Searching
from amber.backends.sqlite.translate import translate, translated
from amber.errors import Corrupt
from amber.model.batch import MAX_WRITES, Batch, Expectation
from amber.model.bounds import MAX_SPACE, check_int, check_key, check_name
from amber.model.collection import Collection, Order, Record
from amber.model.where import Where
from amber.store import waiting
from amber.store.arguments import check_claim, check_limit, check_oldest, find_collection
from amber.store.codec import decode_body
from amber.store.constraints import rule_homes
from amber.store.contract import (
    LOST,
    PURGE,
    SCAN_LIMIT,
    Capabilities,
    Copying,
    Cursor,
    Horizon,
    Lease,
    LogEntry,
    LogQuery,
    Named,
    Oldest,
    Page,
    Problem,
    Purged,
    QueueState,
    Reach,
    Receipt,
    Scrubbed,
    Selection,
    Stats,
)
from amber.store.derive import Analyze
from amber.store.prepare import check_expectations, prepare
from amber.store.rows import Loaded, Numbered, Row

T = TypeVar("T")


class SQLiteStore(Searching):
    """Keep a memory in one SQLite file, or in the database of a connection that the caller owns.

    :param target: a path (used as it is: ``?``, ``%`` and ``#`` are letters), or an open connection. With a connection
        Amber works in the caller's open transaction, in a savepoint, and does not commit it; with none open it begins
        and commits its own. The connection is never closed and keeps its settings.
    :param collections: the declarations of what will be kept.
    :param analyze: gives the tokens of a text.
    :param analyzer: names the analyzer's version: with another one all postings are made anew at open.
    :param create: make what is not there yet; else NotFound, and nothing is made.
    :param durability: see ``Connections``. :param timeout: seconds to wait for another writer.
    :raises SchemaMismatch: when the database was written by a newer Amber.
    :raises Corrupt: when the file is not a SQLite database.
    """

    def __init__(
        self,
        target: str | os.PathLike[str] | sqlite3.Connection,
        collections: Iterable[Collection],
        *,
        analyze: Analyze,
        analyzer: str = "",
        create: bool = True,
        durability: Durability = "normal",
        timeout: float = 30.0,
    ) -> None:
        self.collections: Mapping[str, Collection] = by_name(collections)
        self._statements = {name: Statements(each) for name, each in self.collections.items()}
        self._numbers: dict[str, int] = {}
        self._declared = Declared(digests(self.collections.values(), analyzer), VERSION)
        homes = rule_homes(self.collections.values())
        self._catalog = Catalog(self.collections, homes, self._statements, analyze, self._declared, ENGINE)
        self._connections = Connections(
            target,
            create=create,
            durability=durability,
            timeout=timeout,
            inspect=partial(check_version, create=create),
        )
        self.capabilities = Capabilities(
            "sqlite",
            durable=True,
            many_processes=True,
            enlists=self._connections.borrowed,
            scrubs=True,
            max_writes=MAX_WRITES,
            backs_up=True,
        )
        try:
            #: where the data was copied to, when opening migrated them
            self.migration_copy = migrate(self._connections, [*self.collections.values()], analyze, analyzer)
        except sqlite3.Error as error:
            self._connections.close()
            raise translate(error, self._connections.path) from error
        except BaseException:
            self._connections.close()
            raise

    def _number(self, space: str) -> int:
        """Give the number of a space, or -1 when nobody wrote to it."""
        number = self._numbers.get(space)
        if number is None:
            check_name("space", space, MAX_SPACE)
            found = self._connections.rows("SELECT n, position FROM amber_space WHERE name = ?", (space,))
            if not found:
                return -1
            number = int(found[0][0])
            # inside a caller's transaction the space may still vanish; one without entries may be replaced by a load
            if found[0][1] and not self._connections.borrowed:
                self._numbers[space] = number
        return number

    def commit(self, batch: Batch) -> Receipt:
        prepared = prepare(batch, self.collections, self._catalog.analyze)
        return self._connections.share(
            lambda cursor: write.commit(cursor, prepared, self._catalog, careful=False),
            lambda cursor: write.commit(cursor, prepared, self._catalog, careful=True),
            "commit",
        )

    def claim(self, space: str, queue: str, n: int, *, lease: int, now: int) -> list[Lease]:
        names = check_claim(self.collections, queue, n, lease, now)
        number = self._number(space)

        def work(cursor: sqlite3.Cursor) -> list[Lease]:
            self._declared.check(cursor.execute)
            return claim(cursor, self._statements, number, names, queue, n, lease=lease, now=now)

        return self._connections.write(work, "claim")

    def purge(
        self,
        space: str,
        selection: Selection | Named | Oldest,
        *,
        now: int,
        limit: int = 500,
        expectations: Sequence[Expectation] = (),
    ) -> Purged:
        check_expectations(self.collections, expectations)
        check_limit(limit)
        if isinstance(selection, Oldest):
            check_oldest(selection)
            upto, place = selection.upto, self._number(space)

            def trimming(cursor: sqlite3.Cursor) -> Purged:
                self._declared.check(cursor.execute)
                for expectation in expectations:
                    judge(cursor.execute, place, self._statements, expectation)
                return trim.trim(cursor, place, upto, limit)

            return self._connections.write(trimming, "trim")
        purge.check(self.collections, selection)
        check_int("now", now)
        number = self._number(space)
        if number < 0 and not expectations:
            return Purged(0, 0, True)

        def work(cursor: sqlite3.Cursor) -> Purged:
            self._declared.check(cursor.execute)
            return purge.purge(cursor, number, self._catalog, selection, now, limit, expectations)

        return self._connections.write(work, "purge")

    def reach(
        self, space: str, selection: Selection | Named, *, after: Cursor | str | None = None, limit: int = 500
    ) -> Reach:
        purge.check(self.collections, selection)
        check_limit(limit)
        number = self._number(space)
        return self._read(lambda execute: reach.find(execute, number, self.collections, selection, after, limit))

    def scrub(self, *, steps: int = 1_000) -> Scrubbed:
        self._connections.check()
        check_int("steps", steps, 1)
        with translated(self._connections.path):
            return scrub(self._connections, steps)

    def receipt(self, space: str, operation: str) -> Receipt | None:
        check_key(operation)
        if operation.startswith((PURGE, LOST)):
            return None
        sql = "SELECT position, at FROM amber_log WHERE space = ? AND operation = ?"
        found = self._connections.rows(sql, (self._number(space), operation))
        return Receipt(found[0][0], operation, found[0][1], repeated=True) if found else None

    def get(self, space: str, collection: str, key: str) -> Record | None:
        statements = self._statements.get(collection)
        if statements is None:
            find_collection(self.collections, collection)
            return None
        check_key(key)
        number = self._numbers.get(space) or self._number(space)
        found = self._connections.rows(statements.get, (number, key))
        if not found:
            return None
        row = found[0]
        return Record(row[0], row[1], row[2], decode_body(statements.collection, row[3]))

    def get_many(self, space: str, collection: str, keys: Sequence[str]) -> dict[str, Record]:
        kind = find_collection(self.collections, collection)
        name = table(kind)
        number = self._number(space)
        for key in keys:
            check_key(key)

        def work(execute: Execute) -> dict[str, Record]:
            found = {}
            for start in range(0, len(keys), 500):
                part = keys[start : start + 500]
                marks = ", ".join("?" * len(part))
                sql = f"SELECT key, created, revision, body FROM {name} WHERE space = ? AND key IN ({marks})"
                for key, created, revision, body in execute(sql, (number, *part)):
                    found[key] = Record(key, created, revision, decode_body(kind, body))
            return found

        return self._connections.read(work)

    def scan(
        self,
        space: str,
        collection: str,
        index: str,
        equal: Sequence[Order] = (),
        *,
        low: Order | None = None,
        high: Order | None = None,
        reverse: bool = False,
        after: Cursor | None = None,
        limit: int = 100,
        where: Where = (),
        scan_limit: int = SCAN_LIMIT,
    ) -> Page:
        declared = find_collection(self.collections, collection)
        number, more = self._number(space), (index, equal, low, high, reverse, after, limit, where, scan_limit)
        if not where:
            return read.scan(self._connections.rows, number, declared, *more)
        # several statements: on one snapshot
        return self._connections.read(lambda execute: read.scan(_fetcher(execute), number, declared, *more))

    def lookup(
        self,
        space: str,
        collection: str,
        where: Where,
        *,
        group: str | None = None,
        after: Cursor | None = None,
        limit: int = 100,
        scan_limit: int = SCAN_LIMIT,
    ) -> Page:
        declared = find_collection(self.collections, collection)
        number, more = self._number(space), (where, group, after, limit, scan_limit)
        return self._read(lambda execute: read.lookup(_fetcher(execute), ENGINE, number, declared, *more))

    def count(
        self,
        space: str,
        collection: str,
        index: str,
        equal: Sequence[Order] = (),
        *,
        low: Order | None = None,
        high: Order | None = None,
    ) -> int:
        declared = find_collection(self.collections, collection)
        return read.count(self._connections.rows, self._number(space), declared, index, equal, low, high)

    def total(
        self,
        space: str,
        collection: str,
        index: str,
        equal: Sequence[Order] = (),
        *,
        field: str,
        low: Order | None = None,
        high: Order | None = None,
    ) -> int:
        declared = find_collection(self.collections, collection)
        return read.total(self._connections.rows, self._number(space), declared, index, equal, field, low, high)

    def position(self, space: str) -> int:
        check_name("space", space, MAX_SPACE)
        found = self._connections.rows("SELECT position FROM amber_space WHERE name = ?", (space,))
        return int(found[0][0]) if found else 0

    def wait(self, space: str, after: int, *, timeout: float) -> int:
        return waiting.wait(partial(self.position, space), after, timeout)

    def time(self, space: str) -> int:
        check_name("space", space, MAX_SPACE)
        found = self._connections.rows("SELECT last_at FROM amber_space WHERE name = ?", (space,))
        return int(found[0][0]) if found else 0

    def position_at(self, space: str, at: int) -> int:
        check_int("at", at)
        return read.position_at(self._connections.rows, self._number(space), self.position(space), at)

    def horizon(self, space: str) -> Horizon:
        return read.horizon(self._connections.rows, self._number(space))

    def log(self, space: str, query: LogQuery) -> list[LogEntry]:
        number = self._number(space)
        return self._connections.read(lambda execute: read.log(_fetcher(execute), number, query, self.collections))

    def queued(self, space: str, collection: str, key: str) -> QueueState | None:
        find_collection(self.collections, collection)
        check_key(key)
        sql = "SELECT due_at, epoch, attempts FROM amber_queue WHERE space = ? AND collection = ? AND key = ?"
        found = self._connections.rows(sql, (self._number(space), collection, key))
        return QueueState(*found[0]) if found else None

    def due_spaces(self, queue: str, now: int, *, limit: int = 100) -> list[str]:
        check_int("now", now)
        check_limit(limit)
        names = [each.name for each in self.collections.values() if each.queue_name == queue]
        sql = f"""SELECT s.name, (SELECT min(due_at) FROM amber_queue q WHERE q.space = s.n AND q.queue = ?
                  AND q.due_at IS NOT NULL AND q.collection IN ({", ".join("?" * len(names))})) AS due
                  FROM amber_space s WHERE s.position > 0 AND due <= ? ORDER BY due, s.name LIMIT ?"""
        return [row[0] for row in self._connections.rows(sql, (queue, *names, now, limit))]

    def spaces(self) -> list[str]:
        return [
            row[0] for row in self._connections.rows("SELECT name FROM amber_space WHERE position > 0 ORDER BY name")
        ]

    def _read(self, work: Callable[[Execute], T]) -> T:
        """Read by what was declared, when that is still so."""

        def checked(execute: Execute) -> T:
            self._declared.check(execute)
            return work(execute)

        return self._connections.read(checked)

    def verify(self, space: str | None = None) -> list[Problem]:
        if space is not None:
            check_name("space", space, MAX_SPACE)
        numbers: dict[str, int] = {}
        unread: list[Problem] = []
        try:
            # one without a position is being loaded, or was never written to
            rows = self._connections.rows("SELECT name, n FROM amber_space WHERE position > 0")
            numbers = {name: n for name, n in rows if space is None or name == space}
        except Corrupt as error:
            unread.append(Problem("file", None, None, f"The spaces can not be listed: {error.message}"))
        return unread + self._connections.write(
            lambda cursor: find_problems(cursor, numbers, self._catalog), "verify", keep=False
        )

    def stats(self, space: str) -> Stats:
        number, rows = self._number(space), self._connections.rows
        found = rows("SELECT position, documents, tokens FROM amber_space WHERE n = ?", (number,))
        position, searchable, tokens = found[0] if found else (0, 0, 0)
        documents = {
            name: int(rows(f"SELECT count(*) FROM {table(each)} WHERE space = ?", (number,))[0][0])
            for name, each in sorted(self.collections.items())
        }
        return Stats(space, position, documents, searchable, tokens, ENGINE.size(rows))

    def export(self, space: str) -> Generator[Row, None, None]:
        check_name("space", space, MAX_SPACE)
        return snapshot.rows(self._connections, self.collections, self._declared, space)

    def load(self, space: str, rows: Iterable[Numbered]) -> Loaded:
        check_name("space", space, MAX_SPACE)
        return load.load(self._connections.write, self._catalog, space, rows)

    def backup(
        self,
        path: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        on_progress: Callable[[Copying], None] | None = None,
    ) -> None:
        backup.backup(self._connections, path, overwrite=overwrite, on_progress=on_progress)

    def close(self) -> None:
        self._connections.close()

    def __enter__(self) -> SQLiteStore:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def _fetcher(execute: Execute) -> Rows:
    return lambda sql, values: execute(sql, values).fetchall()
