"""Search: FTS5 finds which documents hold a token, everything else is our own.

A token is prefixed with the number of its space, so that spaces share one index without paying for each other.
``amber_doc`` holds what a search is narrowed by, ``amber_text`` the distinct tokens of a document (which FTS5 needs
again to remove it) and, one byte each, how often they occur.
"""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from heapq import nlargest
from typing import Any

from amber.backends.sqlite.connection import Execute
from amber.errors import Corrupt
from amber.model.collection import Facets
from amber.store.arguments import check_candidates
from amber.store.contract import Candidate, Clause, SearchFilter, TextStats
from amber.store.derive import Derived

#: What stands between tokens: a word with it is in no document, and FTS5 would take it apart.
_BETWEEN = re.compile(r"[\x00-\x20\x7f]|^$")
#: Rows fetched by one statement with a list of ids.
_CHUNK = 500


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
    return " ".join([prefix + term for term in terms]), bytes(terms.values())


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


def stats(execute: Execute, space: int, terms: Sequence[str]) -> TextStats:
    """Give the figures that ranking needs."""
    row = execute("SELECT documents, tokens FROM amber_space WHERE n = ?", (space,)).fetchone()
    documents, tokens = row if row is not None else (0, 0)
    frequency = {}
    for term in terms:
        found = execute("SELECT doc FROM amber_vocabulary WHERE term = ?", (f"{space:x}.{term}",)).fetchone()
        frequency[term] = found[0] if found is not None else 0
    return TextStats(documents, tokens / documents if documents else 0.0, frequency)


def candidates(
    execute: Execute,
    space: int,
    clauses: Sequence[Clause],
    filter: SearchFilter,
    also: Sequence[str],
    limit: int,
) -> list[Candidate]:
    """Give the documents with the largest sums of weights."""
    words = check_candidates(clauses, filter, also, limit)
    conditions, values = _conditions(filter)
    if conditions:
        sql = f"""SELECT d.id FROM amber_search CROSS JOIN amber_doc d ON d.id = amber_search.rowid
                  WHERE amber_search MATCH ? AND {conditions}"""
    else:
        sql = "SELECT rowid FROM amber_search WHERE amber_search MATCH ?"
    sums: dict[int, int] = defaultdict(int)
    for clause in clauses:
        if any(_BETWEEN.search(word) for word in clause.words):
            continue
        match = " AND ".join(quoted(space, word) for word in clause.words)
        for (number,) in execute(sql, (match, *values)):
            sums[number] += clause.weight
    return _load(execute, space, words, _best(execute, sums, limit))


def _conditions(filter: SearchFilter) -> tuple[str, list[Any]]:
    parts: list[str] = []
    values: list[Any] = []
    for name in ("sender", "session", "type"):
        value = getattr(filter, name)
        if value is not None:
            parts.append(f"d.{name} = ?")
            values.append(value)
    if filter.project is not None:
        # "0" follows "/" in every byte order, so the range holds what lies below the project by whole segments
        parts.append("(d.project = ? OR (d.project >= ? AND d.project < ?))")
        values += [filter.project, filter.project + "/", filter.project + "0"]
    if filter.since is not None:
        parts.append("d.at >= ?")
        values.append(filter.since)
    if filter.until is not None:
        parts.append("d.at < ?")
        values.append(filter.until)
    if filter.collections:
        parts.append(f"d.collection IN ({', '.join('?' * len(filter.collections))})")
        values += filter.collections
    return " AND ".join(parts), values


def quoted(space: int, term: str) -> str:
    """Write a token as an FTS5 text that can hold anything."""
    return '"' + f"{space:x}.{term}".replace('"', '""') + '"'


def _best(execute: Execute, sums: dict[int, int], limit: int) -> list[int]:
    """Give the ids with the largest sums; ties by newest position, then key, then collection."""
    if len(sums) > limit:
        cut = nlargest(limit, sums.values())[-1]
        sums = {number: total for number, total in sums.items() if total >= cut}
    sql = "SELECT id, position, key, collection FROM amber_doc WHERE id IN ({})"
    rows = [
        (-sums[number], -position, key, collection, number)
        for number, position, key, collection in _fetch(execute, sql, sums)
    ]
    rows.sort()
    return [row[4] for row in rows[:limit]]


def _fetch(execute: Execute, sql: str, numbers: Iterable[int]) -> Iterable[Any]:
    wanted = list(numbers)
    for start in range(0, len(wanted), _CHUNK):
        part = wanted[start : start + _CHUNK]
        yield from execute(sql.format(", ".join("?" * len(part))), part)


def _load(execute: Execute, space: int, words: Sequence[str], best: list[int]) -> list[Candidate]:
    sql = """SELECT d.id, d.collection, d.key, d.position, d.length, d.sender, d.project, d.session, d.type, d.at,
             t.tokens, t.counts FROM amber_doc d JOIN amber_text t ON t.id = d.id WHERE d.id IN ({})"""
    wanted = [(term, f" {space:x}.{term} ") for term in words]
    found = {}
    for row in _fetch(execute, sql, best):
        text, counts = f" {row[10]} ", row[11]
        held = {}
        for term, padded in wanted:
            place = text.find(padded)
            if place >= 0:
                held[term] = counts[text.count(" ", 0, place)]
        found[row[0]] = Candidate(row[1], row[2], row[3], row[4], held, Facets(*row[5:10]))
    if len(found) < len(best):
        raise Corrupt("A text that the search found is gone. Run verify, and restore a backup.")
    return [found[number] for number in best]
