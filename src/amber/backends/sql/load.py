"""Rows into a new space. It is filled under a name that is too long for a space, chunk by chunk while others write, and
gets its own name in the last transaction."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

from amber.backends.sql.engine import Catalog, Cursor, Engine, Write
from amber.backends.sql.load_end import finish
from amber.backends.sql.load_rows import Loading, Prepared
from amber.errors import AmberError
from amber.model.bounds import MAX_SPACE
from amber.model.collection import Collection
from amber.store.derive import Analyze
from amber.store.intake import Intake
from amber.store.moving import not_empty
from amber.store.rows import Loaded, Numbered

T = TypeVar("T")

#: A chunk is written when it has so many rows, or so many bytes of JSON.
_CHUNK_ROWS, _CHUNK_BYTES = 500, 4 * 1024 * 1024
#: Longer than the name of a space can be: what begins so is being loaded, or its load is dead.
_LOADING, _DEAD = "loading/".ljust(MAX_SPACE + 1, "/"), "dead/".ljust(MAX_SPACE + 1, "/")
#: The values of a range of names that begin so: "0" follows "/" in every byte order.
_ALL_LOADING, _ALL_DEAD = (_LOADING, f"{_LOADING[:-1]}0"), (_DEAD, f"{_DEAD[:-1]}0")
#: Documents that one step of clearing takes out of the postings.
_CLEARED = 500


def load(write: Write, catalog: Catalog, space: str, rows: Iterable[Numbered]) -> Loaded:
    """Fill a space that nobody wrote to.

    :param write: runs a write as one transaction, under the name of its fault points.
    """
    name = f"{_LOADING}{secrets.token_hex(8)}/{space}"
    intake = Intake(catalog.collections)

    def checked(work: Callable[[Cursor], T], point: str) -> T:
        def checking(cursor: Cursor) -> T:
            catalog.declared.check(cursor.execute)
            return work(cursor)

        return write(checking, point)

    checked(lambda cursor: _begin(cursor, space, name), "load")
    try:
        _clear_dead(write, catalog.engine)
        for chunk in _chunks(rows, intake, catalog.collections, catalog.analyze):
            checked(lambda cursor, c=chunk: Loading(cursor, name, catalog, intake).take(c), "load")  # type: ignore[misc]
        return checked(lambda cursor: finish(cursor, space, name, catalog, intake), "load-end")
    except BaseException:
        _abandon(write, catalog.engine, name)
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


def _begin(cursor: Cursor, space: str, name: str) -> None:
    row = cursor.execute("SELECT position FROM amber_space WHERE name = ?", (space,)).fetchone()
    if row is not None and row[0]:
        raise not_empty(space, row[0])
    # what a load left that was killed is cleared away; one that still runs finds itself without its space, and ends
    sql = "SELECT n, name FROM amber_space WHERE name >= ? AND name < ?"
    for n, old in cursor.execute(sql, _ALL_LOADING).fetchall():
        if old[len(_LOADING) :].partition("/")[2] == space:
            _kill(cursor, n)
    cursor.execute("INSERT INTO amber_space (name) VALUES (?)", (name,))


def _kill(cursor: Cursor, n: int) -> None:
    cursor.execute("UPDATE amber_space SET name = ? WHERE n = ?", (_DEAD + secrets.token_hex(8), n))


def _abandon(write: Write, engine: Engine, name: str) -> None:
    """Clear away what was loaded so far; when that can not be done now, the next load does it."""

    def work(cursor: Cursor) -> None:
        row = cursor.execute("SELECT n FROM amber_space WHERE name = ?", (name,)).fetchone()
        if row is not None:
            _kill(cursor, row[0])

    try:
        write(work, "load")
        _clear_dead(write, engine)
    except AmberError:
        return


def _clear_dead(write: Write, engine: Engine) -> None:
    while write(lambda cursor: _clear_some(cursor, engine), "load"):
        pass


def _clear_some(cursor: Cursor, engine: Engine) -> bool:
    """Clear a part of a load that is dead; tell whether there was one."""
    sql = "SELECT n FROM amber_space WHERE name >= ? AND name < ? LIMIT 1"
    row = cursor.execute(sql, _ALL_DEAD).fetchone()
    if row is None:
        return False
    n = row[0]
    sql = "SELECT collection, key FROM amber_doc WHERE space = ? LIMIT ?"
    searchable = cursor.execute(sql, (n, _CLEARED)).fetchall()
    for collection, key in searchable:
        engine.withdraw(cursor, n, collection, key)
    if len(searchable) == _CLEARED:
        return True
    for name in engine.tables(cursor):
        cursor.execute(f"DELETE FROM {name} WHERE space = ?", (n,))
    cursor.execute("DELETE FROM amber_space WHERE n = ?", (n,))
    return True
