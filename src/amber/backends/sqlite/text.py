"""Search, the writing half: FTS5 finds which documents hold a token, everything else is our own (see ``search``).

A token is prefixed with the number of its space, so that spaces share one index without paying for each other.
``amber_doc`` holds what a search is narrowed by, ``amber_text`` the distinct tokens of a document (which FTS5 needs
again to remove it) and, one byte each, how often they occur.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from amber.store.derive import Derived

_DOC = """INSERT INTO amber_doc (id, space, collection, key, position, length, at, sender, project, session, type)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_TEXT = "INSERT INTO amber_text VALUES (?, ?, ?)"
_SEARCH = "INSERT INTO amber_search (rowid, tokens) VALUES (?, ?)"


def enter(
    cursor: sqlite3.Cursor, space: int, collection: str, position: int, found: Sequence[tuple[str, Derived]]
) -> None:
    """Make documents with a text searchable; they are given by their key."""
    if len(found) == 1:
        key, derived = found[0]
        cursor.execute(_DOC, (None, *_facets(space, collection, key, position, derived)))
        number = cursor.lastrowid
        tokens, counts = pack(space, derived)
        cursor.execute(_TEXT, (number, tokens, counts))
        cursor.execute(_SEARCH, (number, tokens))
    elif found:
        first = cursor.execute("SELECT ifnull(max(id), 0) + 1 FROM amber_doc").fetchone()[0]
        packed = [(number, *pack(space, derived)) for number, (_, derived) in enumerate(found, first)]
        rows = [(n, *_facets(space, collection, key, position, each)) for n, (key, each) in enumerate(found, first)]
        cursor.executemany(_DOC, rows)
        cursor.executemany(_TEXT, packed)
        cursor.executemany(_SEARCH, [row[:2] for row in packed])


def _facets(space: int, collection: str, key: str, position: int, derived: Derived) -> tuple[Any, ...]:
    sender, project, session, type, at = derived.facets
    return (space, collection, key, position, derived.length, at, sender, project, session, type)


def pack(space: int, derived: Derived) -> tuple[str, bytes]:
    """Give the distinct prefixed tokens of a document as one text, and their counts."""
    terms: Mapping[str, int] = derived.terms or {}
    prefix = f"{space:x}."
    # one join is faster than a prefixed text for each term
    tokens = prefix + f" {prefix}".join(terms) if terms else ""
    return tokens, bytes(terms.values())


def withdraw(cursor: sqlite3.Cursor, space: int, collection: str, key: str) -> int:
    """Make a document unsearchable; give its length in tokens, or -1 when it was not searchable."""
    row = cursor.execute(
        """SELECT d.id, d.length, t.tokens FROM amber_doc d JOIN amber_text t ON t.id = d.id
           WHERE d.space = ? AND d.collection = ? AND d.key = ?""",
        (space, collection, key),
    ).fetchone()
    if row is None:
        return -1
    number, length, tokens = row
    cursor.execute("INSERT INTO amber_search (amber_search, rowid, tokens) VALUES ('delete', ?, ?)", (number, tokens))
    cursor.execute("DELETE FROM amber_text WHERE id = ?", (number,))
    cursor.execute("DELETE FROM amber_doc WHERE id = ?", (number,))
    return int(length)


def replace(
    cursor: sqlite3.Cursor, space: int, collection: str, key: str, position: int, derived: Derived | None
) -> tuple[int, int]:
    """Bring the postings of a document that exists up to date, doing as little as possible.

    :param position: where the document entered the log.
    :return: by how much the searchable documents and their tokens changed.
    """
    row = cursor.execute(
        """SELECT d.id, d.length, d.position, d.at, d.sender, d.project, d.session, d.type, t.tokens, t.counts
           FROM amber_doc d JOIN amber_text t ON t.id = d.id WHERE d.space = ? AND d.collection = ? AND d.key = ?""",
        (space, collection, key),
    ).fetchone()
    if row is None:
        if derived is None or derived.terms is None:
            return 0, 0
        enter(cursor, space, collection, position, [(key, derived)])
        return 1, derived.length
    if derived is None or derived.terms is None:
        withdraw(cursor, space, collection, key)
        return -1, -row[1]
    tokens, counts = pack(space, derived)
    if tokens != row[8] or counts != row[9]:
        withdraw(cursor, space, collection, key)
        enter(cursor, space, collection, position, [(key, derived)])
        return 0, derived.length - row[1]
    facets = derived.facets
    new = (position, facets.at, facets.sender, facets.project, facets.session, facets.type)
    if new != tuple(row[2:8]):
        cursor.execute(
            """UPDATE amber_doc SET position = ?, at = ?, sender = ?, project = ?, session = ?, type = ?
               WHERE id = ?""",
            (*new, row[0]),
        )
    return 0, 0
