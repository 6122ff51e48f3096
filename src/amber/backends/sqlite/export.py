"""A space as rows, of one snapshot.

A reader of its own holds it, so that other reads and all writes go on meanwhile; the write-ahead log can not be emptied
until it is let go."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from typing import Any

import orjson

from amber.backends.sqlite.connection import Connections, Execute
from amber.backends.sqlite.declared import Declared
from amber.backends.sqlite.schema import table
from amber.backends.sqlite.translate import translate, translated
from amber.model.collection import Collection, Order
from amber.store.codec import decode
from amber.store.moving import in_order
from amber.store.rows import Departure, Document, Entry, Head, Image, Mark, Place, Row, from_object, to_object

Run = Callable[[str, tuple[Any, ...]], Iterable[Any]]
#: What is exported of a borrowed connection waits in memory up to this size, beyond it in a file without a name.
_SPOOL = 16 * 1024 * 1024


def rows(
    connections: Connections, collections: Mapping[str, Collection], declared: Declared, space: str
) -> Generator[Row, None, None]:
    """Give the rows of a space as it is now."""
    if connections.borrowed:
        return _spooled(connections, collections, declared, space)
    snapshot = _Snapshot(connections, declared)
    return snapshot.closing(_rows(snapshot.each, collections, space))


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
        for row in _rows(execute, collections, space):
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


def _rows(run: Run, collections: Mapping[str, Collection], space: str) -> Iterator[Row]:
    found = list(run("SELECT n, position, last_at FROM amber_space WHERE name = ?", (space,)))
    if not found:
        yield Head(0, 0)
        return
    n, position, at = found[0]
    horizon = list(run("SELECT position, at, undos FROM amber_horizon WHERE space = ?", (n,)))
    begin, begun_at, undos = horizon[0] if horizon else (0, 0, "[]")
    counted = {
        name: next(iter(run(f"SELECT count(*) FROM {table(each)} WHERE space = ?", (n,))))[0]
        for name, each in sorted(collections.items())
    }
    documents = {name: count for name, count in counted.items() if count}
    yield Head(position, at, begin, begun_at, tuple(decode(undos)), documents)
    for collection in in_order(collections):
        sql = f"SELECT key, created, revision, body FROM {table(collection)} WHERE space = ? ORDER BY key"
        for key, created, revision, body in run(sql, (n,)):
            yield Document(collection.name, key, created, revision, decode(body))
    yield from _entries(run, n)
    for row in run("SELECT collection, key, position FROM amber_purged WHERE space = ? ORDER BY collection, key", (n,)):
        yield Mark(*row)
    sql = "SELECT collection, key, due_at, epoch, attempts FROM amber_queue WHERE space = ? ORDER BY collection, key"
    for row in run(sql, (n,)):
        yield Place(*row)
    sql = "SELECT collection, by, equal, key FROM amber_departed WHERE space = ? ORDER BY collection, by, key, equal"
    for name, by, equal, key in run(sql, (n,)):
        yield Departure(name, by, values_of(equal), key)


def _entries(run: Run, space: int) -> Iterator[Entry]:
    sql = """SELECT position, collection, key, kind, before, after, deltas, purged FROM amber_change
             WHERE space = ? ORDER BY position, n"""
    changes = iter(run(sql, (space,)))
    change = next(changes, None)
    sql = """SELECT position, operation, at, actor, reason, session, undoes FROM amber_log
             WHERE space = ? ORDER BY position"""
    for position, operation, at, actor, reason, session, undoes in run(sql, (space,)):
        images: list[Image] = []
        while change is not None and change[0] <= position:
            images.append(image_of(change[1:]))
            change = next(changes, None)
        targets = tuple(decode(undoes)) if undoes is not None else ()
        yield Entry(position, operation, at, actor, reason, session, targets, tuple(images))


def image_of(row: Any) -> Image:
    """Read a change from its columns: collection, key, kind, before, after, deltas, purged."""
    collection, key, kind, *encoded, purged = row
    before, after, deltas = (decode(text) if text is not None else None for text in encoded)
    return Image(collection, key, kind, before, after, deltas, bool(purged))


def values_of(equal: str) -> tuple[Order, ...]:
    """Read the values of an index from their canonical text: ``[s"text",d5]``."""
    found: list[Order] = []
    place = 1
    while place < len(equal) - 1:
        value, place = json.JSONDecoder(strict=False).raw_decode(equal, place + 1)
        found.append(value)
        place += 1
    return tuple(found)
