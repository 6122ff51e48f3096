"""Rows into a new space. It is filled under a name that no text can equal (a BLOB), chunk by chunk while others write,
and gets its own name in the last transaction."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

from amber.backends.sqlite import text
from amber.backends.sqlite.connection import Connections
from amber.backends.sqlite.declared import Declared
from amber.backends.sqlite.load_end import finish
from amber.backends.sqlite.load_rows import Loading, Prepared
from amber.errors import AmberError
from amber.model.collection import Collection
from amber.store.derive import Analyze
from amber.store.intake import Intake
from amber.store.moving import not_empty
from amber.store.rows import Loaded, Numbered

T = TypeVar("T")

#: A chunk is written when it has so many rows, or so many bytes of JSON.
_CHUNK_ROWS, _CHUNK_BYTES = 500, 4 * 1024 * 1024
#: Documents that one step of clearing takes out of the postings.
_CLEARED = 500


def load(
    connections: Connections,
    collections: Mapping[str, Collection],
    declared: Declared,
    analyze: Analyze,
    space: str,
    rows: Iterable[Numbered],
) -> Loaded:
    """Fill a space that nobody wrote to."""
    name = space.encode() + b"\0" + secrets.token_bytes(8)
    intake = Intake(collections)

    def checked(work: Callable[[sqlite3.Cursor], T], point: str) -> T:
        def write(cursor: sqlite3.Cursor) -> T:
            declared.check(cursor.execute)
            return work(cursor)

        return connections.write(write, point)

    checked(lambda cursor: _begin(cursor, space, name), "load")
    try:
        _clear_dead(connections)
        for chunk in _chunks(rows, intake, collections, analyze):
            checked(lambda cursor, c=chunk: Loading(cursor, name, collections, intake).take(c), "load")  # type: ignore[misc]
        return checked(lambda cursor: finish(cursor, space, name, collections, intake), "load-end")
    except BaseException:
        _abandon(connections, name)
        raise


def _chunks(
    rows: Iterable[Numbered], intake: Intake, collections: Mapping[str, Collection], analyze: Analyze
) -> Iterator[list[Prepared]]:
    chunk: list[Prepared] = []
    size = 0
    for number, row in rows:
        if not intake.accepts(number, row):
            continue
        try:
            prepared = Prepared(number, row, collections, analyze)
        except AmberError as error:
            intake.refuse(number, error.message)
            continue
        chunk.append(prepared)
        size += prepared.size
        if len(chunk) >= _CHUNK_ROWS or size >= _CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _begin(cursor: sqlite3.Cursor, space: str, name: bytes) -> None:
    row = cursor.execute("SELECT position FROM amber_space WHERE name = ?", (space,)).fetchone()
    if row is not None and row[0]:
        raise not_empty(space, row[0])
    # what a load left that was killed is cleared away; one that still runs finds itself without its space, and ends
    for n, old in cursor.execute("SELECT n, name FROM amber_space WHERE typeof(name) = 'blob'").fetchall():
        if old.startswith(space.encode() + b"\0"):
            _kill(cursor, n)
    cursor.execute("INSERT INTO amber_space (name) VALUES (?)", (name,))


def _kill(cursor: sqlite3.Cursor, n: int) -> None:
    cursor.execute("UPDATE amber_space SET name = ? WHERE n = ?", (b"\0" + secrets.token_bytes(8), n))


def _abandon(connections: Connections, name: bytes) -> None:
    """Clear away what was loaded so far; when that can not be done now, the next load does it."""

    def work(cursor: sqlite3.Cursor) -> None:
        row = cursor.execute("SELECT n FROM amber_space WHERE name = ?", (name,)).fetchone()
        if row is not None:
            _kill(cursor, row[0])

    try:
        connections.write(work, "load")
        _clear_dead(connections)
    except AmberError:
        return


def _clear_dead(connections: Connections) -> None:
    while connections.write(_clear_some, "load"):
        pass


def _clear_some(cursor: sqlite3.Cursor) -> bool:
    """Clear a part of a load that is dead; tell whether there was one."""
    sql = "SELECT n FROM amber_space WHERE typeof(name) = 'blob' AND substr(name, 1, 1) = x'00'"
    row = cursor.execute(sql).fetchone()
    if row is None:
        return False
    n = row[0]
    sql = "SELECT collection, key FROM amber_doc WHERE space = ? LIMIT ?"
    searchable = cursor.execute(sql, (n, _CLEARED)).fetchall()
    for collection, key in searchable:
        text.withdraw(cursor, n, collection, key)
    if len(searchable) == _CLEARED:
        return True
    tables = cursor.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, 6) = 'amber_'")
    for (name,) in tables.fetchall():
        columns = {column[1] for column in cursor.execute(f'PRAGMA table_info("{name}")')}
        if "space" in columns:
            cursor.execute(f'DELETE FROM "{name}" WHERE space = ?', (n,))
    cursor.execute("DELETE FROM amber_space WHERE n = ?", (n,))
    return True
