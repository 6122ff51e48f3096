"""What documents are found by, the writing half: the words of their texts and the entries of their fields.

FTS5 finds which documents hold a token, everything else is our own (see ``search`` and ``engine``). A token is
prefixed with the number of its space, so that spaces share one index without paying for each other. ``amber_doc`` holds
what a search is narrowed by, the distinct tokens of a text (which FTS5 needs again to remove it) and, one byte each,
how often they occur, and the tokens of the field entries. A document that has entries and no text has no ``tokens``.

The newest rows of ``amber_doc`` wait: those with an id over ``folded`` (in ``amber_meta``) are in FTS5 not yet, and who
asks looks at them one by one. When ``PENDING`` wait, the commit that finds it so enters all of them, which costs half
of entering each by itself. Rows at or below ``folded`` are in FTS5, all of them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from amber.backends.sql.entries import entry_tokens
from amber.store.derive import Derived

#: Rows that wait at most.
PENDING = 64
FOLDED = "(SELECT value FROM amber_meta WHERE name = 'folded')"

_FOLDED = f"SELECT {FOLDED}"
_DOC = """INSERT INTO amber_doc (id, space, collection, key, position, length, at, sender, project, session, type,
          tokens, counts, fields) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_FOLD = "INSERT INTO amber_search (rowid, tokens, fields) SELECT id, tokens, fields FROM amber_doc WHERE id > ?"
_FOLDED_ALL = "UPDATE amber_meta SET value = (SELECT coalesce(max(id), 0) FROM amber_doc) WHERE name = 'folded'"


def enter(
    cursor: sqlite3.Cursor, space: int, collection: str, position: int, found: Sequence[tuple[str, Derived]]
) -> None:
    """Let documents be found; they are given by their key."""
    if len(found) == 1:
        key, derived = found[0]
        cursor.execute(_DOC, _row(None, space, collection, key, position, derived))
        newest = cursor.lastrowid or 0
    elif found:
        first = cursor.execute("SELECT ifnull(max(id), 0) + 1 FROM amber_doc").fetchone()[0]
        rows = [_row(n, space, collection, key, position, each) for n, (key, each) in enumerate(found, first)]
        cursor.executemany(_DOC, rows)
        newest = first + len(found) - 1
    else:
        return
    if newest - cursor.execute(_FOLDED).fetchone()[0] >= PENDING:
        fold(cursor)


def fold(cursor: sqlite3.Cursor) -> None:
    """Enter what waits in FTS5."""
    cursor.execute(_FOLD, cursor.execute(_FOLDED).fetchone())
    cursor.execute(_FOLDED_ALL)


def _row(number: int | None, space: int, collection: str, key: str, position: int, derived: Derived) -> tuple[Any, ...]:
    sender, project, session, type, at = derived.facets
    facets = (derived.length, at, sender, project, session, type)
    return (number, space, collection, key, position, *facets, *pack(space, collection, derived))


def pack(space: int, collection: str, derived: Derived) -> tuple[str | None, bytes | None, str | None]:
    """Give the distinct prefixed tokens of a document as one text, their counts, and the tokens of its fields."""
    # between blanks, so that a token is a part of the text exactly when it is there
    fields = f" {' '.join(entry_tokens(space, collection, derived))} " if derived.entries else None
    terms: Mapping[str, int] | None = derived.terms
    if terms is None:
        return None, None, fields
    prefix = f"{space:x}."
    # one join is faster than a prefixed text for each term
    tokens = prefix + f" {prefix}".join(terms) if terms else ""
    return tokens, bytes(terms.values()), fields


def withdraw(cursor: sqlite3.Cursor, space: int, collection: str, key: str) -> None:
    """Let a document be found no more."""
    row = cursor.execute(
        f"""SELECT id, {FOLDED}, tokens, fields FROM amber_doc WHERE space = ? AND collection = ? AND key = ?""",
        (space, collection, key),
    ).fetchone()
    if row is not None:
        _withdraw(cursor, *row)


def _withdraw(cursor: sqlite3.Cursor, number: int, folded: int, tokens: str | None, fields: str | None) -> None:
    if number <= folded:
        sql = "INSERT INTO amber_search (amber_search, rowid, tokens, fields) VALUES ('delete', ?, ?, ?)"
        cursor.execute(sql, (number, tokens, fields))
    cursor.execute("DELETE FROM amber_doc WHERE id = ?", (number,))
    # an id is given anew once it was the last; the row that gets it waits
    cursor.execute(f"{_FOLDED_ALL} AND value > (SELECT coalesce(max(id), 0) FROM amber_doc)")


def replace(
    cursor: sqlite3.Cursor, space: int, collection: str, key: str, position: int, derived: Derived | None
) -> tuple[int, int]:
    """Bring what a document is found by up to date, doing as little as possible.

    :param position: where the document entered the log.
    :return: by how much the searchable documents and their tokens changed.
    """
    row = cursor.execute(
        f"""SELECT id, {FOLDED}, tokens, fields, counts, length, position, at, sender, project, session, type
            FROM amber_doc WHERE space = ? AND collection = ? AND key = ?""",
        (space, collection, key),
    ).fetchone()
    documents = tokens = 0
    if row is not None and row[2] is not None:
        documents, tokens = -1, -row[5]
    if derived is None or (derived.terms is None and not derived.entries):
        if row is not None:
            _withdraw(cursor, *row[:4])
        return documents, tokens
    if derived.terms is not None:
        documents, tokens = documents + 1, tokens + derived.length
    if row is None:
        enter(cursor, space, collection, position, [(key, derived)])
        return documents, tokens
    packed = pack(space, collection, derived)
    if packed != (row[2], row[4], row[3]):
        _withdraw(cursor, *row[:4])
        enter(cursor, space, collection, position, [(key, derived)])
        return documents, tokens
    facets = derived.facets
    new = (position, facets.at, facets.sender, facets.project, facets.session, facets.type)
    if new != tuple(row[6:]):
        cursor.execute(
            """UPDATE amber_doc SET position = ?, at = ?, sender = ?, project = ?, session = ?, type = ?
               WHERE id = ?""",
            (*new, row[0]),
        )
    return documents, tokens
