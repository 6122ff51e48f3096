"""An export reads one snapshot.

A reader of its own holds it, so that other reads and all writes go on meanwhile; the write-ahead log can not be emptied
until it is let go."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Generator, Iterator, Mapping
from typing import Any

import orjson

from amber.backends.sql import export
from amber.backends.sql.declared import Declared
from amber.backends.sql.engine import Execute
from amber.backends.sqlite.connection import Connections
from amber.backends.sqlite.translate import translate, translated
from amber.model.collection import Collection
from amber.store.rows import Row, from_object, to_object

#: What is exported of a borrowed connection waits in memory up to this size, beyond it in a file without a name.
_SPOOL = 16 * 1024 * 1024


def rows(
    connections: Connections, collections: Mapping[str, Collection], declared: Declared, space: str
) -> Generator[Row, None, None]:
    """Give the rows of a space as it is now."""
    if connections.borrowed:
        return _spooled(connections, collections, declared, space)
    snapshot = _Snapshot(connections, declared)
    return snapshot.closing(export.rows(snapshot.each, collections, space))


class _Snapshot:
    def __init__(self, connections: Connections, declared: Declared) -> None:
        self._connections = connections
        self._reader = connections.own_reader()
        with translated(connections.path):
            self._reader.connection.execute("BEGIN")
            # the snapshot is taken by the first read
            declared.check(self._reader.connection.execute)

    def each(self, sql: str, values: tuple[Any, ...]) -> Iterator[Any]:
        lock = self._reader.lock
        try:
            with lock:
                cursor = self._reader.connection.execute(sql, values)
            while True:
                with lock:
                    row = cursor.fetchone()
                if row is None:
                    return
                yield row
        except sqlite3.Error as error:
            self._connections.check()
            raise translate(error, self._connections.path) from error

    def closing(self, found: Iterator[Row]) -> Generator[Row, None, None]:
        try:
            yield from found
        finally:
            with self._reader.lock:
                self._reader.connection.close()


def _spooled(
    connections: Connections, collections: Mapping[str, Collection], declared: Declared, space: str
) -> Generator[Row, None, None]:
    """Read all at once, since the caller goes on working with the connection, and hold it outside of memory."""
    file = tempfile.SpooledTemporaryFile(max_size=_SPOOL)  # noqa: SIM115

    def work(execute: Execute) -> None:
        declared.check(execute)
        for row in export.rows(execute, collections, space):
            file.write(orjson.dumps(to_object(row), option=orjson.OPT_APPEND_NEWLINE))

    try:
        connections.read(work)
    except BaseException:
        file.close()
        raise

    def each() -> Generator[Row, None, None]:
        with file:
            file.seek(0)
            for line in file:
                yield from_object(orjson.loads(line))

    return each()
