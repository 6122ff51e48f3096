"""What the shared statements leave to Postgres: postings as rows, found and summed by the server.

A posting is (space, term, document). The terms of a document are its distinct words, and the tokens of its field
entries behind a control character, which no word holds. A word too long for a row of a B-tree is posted as its digest.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import psycopg

from amber.backends.sql.engine import Execute, Rows
from amber.backends.sql.entries import entry_tokens
from amber.backends.sql.narrow import conditions
from amber.errors import Corrupt
from amber.model.collection import Facets
from amber.store.arguments import check_candidates
from amber.store.contract import Candidate, Clause, Problem, SearchFilter, TextStats
from amber.store.derive import Derived

#: Stands before what is no word.
_ENTRY, _DIGEST = "\x01", "\x02"
#: UTF-8 bytes of a word that is posted as it is; a row of a B-tree holds 2,704.
_LONGEST = 1_024

_DOC = """INSERT INTO amber_doc (space, collection, key, position, length, at, sender, project, session, type, tokens,
          counts, fields) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_ENTER = f"""WITH d AS ({_DOC} RETURNING id) INSERT INTO amber_posting (space, term, doc)
             SELECT ?, t.term, d.id FROM d, unnest(?::text[]) AS t(term)"""
_LEAVE = "DELETE FROM amber_posting WHERE space = ? AND term = ANY (?::text[]) AND doc = ?"


class PostgresEngine:
    """See ``sql.engine.Engine``.

    :param schema: where the tables stand; its plain name.
    """

    unreadable: tuple[type[Exception], ...] = (psycopg.DataError, psycopg.InternalError, Corrupt)

    def __init__(self, schema: str) -> None:
        self._schema = schema

    def pack(
        self, space: int, collection: str, derived: Derived
    ) -> tuple[list[str] | None, bytes | None, list[str] | None]:
        fields = entry_tokens(space, collection, derived) if derived.entries else None
        if derived.terms is None:
            return None, None, fields
        return [*derived.terms], bytes(derived.terms.values()), fields

    def enter(
        self, cursor: Any, space: int, collection: str, position: int, found: Sequence[tuple[str, Derived]]
    ) -> None:
        rows = [self._row(space, collection, key, position, derived) for key, derived in found]
        if len(rows) == 1:
            cursor.execute(_ENTER, rows[0])
        elif rows:
            cursor.executemany(_ENTER, rows)

    def replace(
        self, cursor: Any, space: int, collection: str, key: str, position: int, derived: Derived | None
    ) -> tuple[int, int]:
        row = cursor.execute(
            """SELECT id, tokens, counts, fields, length, position, at, sender, project, session, type FROM amber_doc
               WHERE space = ? AND collection = ? AND key = ?""",
            (space, collection, key),
        ).fetchone()
        documents = tokens = 0
        if row is not None and row[1] is not None:
            documents, tokens = -1, -row[4]
        if derived is None or (derived.terms is None and not derived.entries):
            if row is not None:
                _withdraw(cursor, space, row[0], row[1], row[3])
            return documents, tokens
        if derived.terms is not None:
            documents, tokens = documents + 1, tokens + derived.length
        if row is not None and self.pack(space, collection, derived) == tuple(row[1:4]):
            facets = derived.facets
            new = (position, facets.at, facets.sender, facets.project, facets.session, facets.type)
            if new != tuple(row[5:]):
                cursor.execute(
                    """UPDATE amber_doc SET position = ?, at = ?, sender = ?, project = ?, session = ?, type = ?
                       WHERE id = ?""",
                    (*new, row[0]),
                )
            return documents, tokens
        if row is not None:
            _withdraw(cursor, space, row[0], row[1], row[3])
        self.enter(cursor, space, collection, position, [(key, derived)])
        return documents, tokens

    def _row(self, space: int, collection: str, key: str, position: int, derived: Derived) -> tuple[Any, ...]:
        packed = self.pack(space, collection, derived)
        sender, project, session, type, at = derived.facets
        facets = (derived.length, at, sender, project, session, type)
        return (space, collection, key, position, *facets, *packed, space, _terms(packed[0], packed[2]))

    def withdraw(self, cursor: Any, space: int, collection: str, key: str) -> None:
        sql = "SELECT id, tokens, fields FROM amber_doc WHERE space = ? AND collection = ? AND key = ?"
        row = cursor.execute(sql, (space, collection, key)).fetchone()
        if row is not None:
            _withdraw(cursor, space, *row)

    def holding(
        self, space: int, collection: str, asked: Sequence[str], overflow: Sequence[str]
    ) -> tuple[str, list[Any]]:
        parts, values = [], []
        for tokens in (asked, overflow):
            sql, more = _all_of(space, [_ENTRY + token for token in tokens])
            parts.append(sql)
            values += more
        return " UNION ".join(parts), values

    def stats(self, execute: Execute, space: int, terms: Sequence[str]) -> TextStats:
        row = execute("SELECT documents, tokens FROM amber_space WHERE n = ?", (space,)).fetchone()
        documents, tokens = row if row is not None else (0, 0)
        frequency = dict.fromkeys(terms, 0)
        posted = {_posted(term): term for term in frequency if "\0" not in term}
        sql = "SELECT term, count(*) FROM amber_posting WHERE space = ? AND term = ANY (?::text[]) GROUP BY term"
        for term, count in execute(sql, (space, [*posted])):
            frequency[posted[term]] = count
        return TextStats(documents, tokens / documents if documents else 0.0, frequency)

    def candidates(
        self,
        execute: Execute,
        space: int,
        clauses: Sequence[Clause],
        filter: SearchFilter,
        also: Sequence[str],
        limit: int,
    ) -> list[Candidate]:
        words = check_candidates(clauses, filter, also, limit)
        parts: list[str] = []
        values: list[Any] = []
        for clause in clauses:
            if any("\0" in word for word in clause.words):
                continue
            sql, more = _all_of(space, [_posted(word) for word in clause.words])
            if clause.among:
                sql += " AND EXISTS (SELECT 1 FROM amber_posting q WHERE q.space = ? AND q.term = ANY (?::text[])"
                sql += " AND q.doc = p.doc)"
                more += [space, [_posted(word) for word in clause.among if "\0" not in word]]
            parts.append(f"SELECT f.doc, ?::bigint AS weight FROM ({sql}) f")
            values += [clause.weight, *more]
        if not parts:
            return []
        narrowed, given = conditions(filter)
        rows = execute(
            f"""SELECT d.collection, d.key, d.position, d.length, d.sender, d.project, d.session, d.type, d.at,
                d.tokens, d.counts FROM (SELECT doc, sum(weight) AS total FROM ({" UNION ALL ".join(parts)}) h
                GROUP BY doc) s JOIN amber_doc d ON d.id = s.doc {"WHERE " + narrowed if narrowed else ""}
                ORDER BY s.total DESC, d.position DESC, d.key, d.collection LIMIT ?""",
            [*values, *given, limit],
        )
        found = []
        for collection, key, position, length, *facets, tokens, counts in rows:
            there = dict(zip(tokens or (), counts or b"", strict=False))
            held = {word: there[word] for word in words if word in there}
            found.append(Candidate(collection, key, position, length, held, Facets(*facets)))
        return found

    def problems(self, cursor: Any) -> list[Problem]:
        given: dict[int, tuple[int, set[str]]] = {
            number: (space, set(_terms(tokens, fields)))
            for number, space, tokens, fields in cursor.execute("SELECT id, space, tokens, fields FROM amber_doc")
        }
        stray = 0
        for space, term, number in cursor.execute("SELECT space, term, doc FROM amber_posting"):
            there = given.get(number)
            if there is None or there[0] != space or term not in there[1]:
                stray += 1
            else:
                there[1].discard(term)
        missing = sum(len(terms) for _, terms in given.values())
        if not stray and not missing:
            return []
        detail = f"The postings do not match the texts: {missing} are missing and {stray} too many."
        return [Problem("postings", None, None, detail)]

    def tables(self, cursor: Any) -> list[str]:
        sql = """SELECT table_name FROM information_schema.columns
                 WHERE table_schema = ? AND column_name = 'space' ORDER BY table_name"""
        return [name for (name,) in cursor.execute(sql, (self._schema,)).fetchall()]

    def size(self, rows: Rows) -> int | None:
        sql = """SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c JOIN pg_namespace n
                 ON n.oid = c.relnamespace WHERE n.nspname = ? AND c.relkind = 'r'"""
        return int(rows(sql, (self._schema,))[0][0] or 0)


def _terms(tokens: Sequence[str] | None, fields: Sequence[str] | None) -> list[str]:
    """Give the terms that a document is posted under."""
    return [*map(_posted, tokens or ()), *(_ENTRY + token for token in fields or ())]


def _posted(word: str) -> str:
    if len(word) <= _LONGEST // 4 or len(encoded := word.encode()) <= _LONGEST:
        return word
    return _DIGEST + blake2b(encoded, digest_size=20).hexdigest()


def _all_of(space: int, terms: Sequence[str]) -> tuple[str, list[Any]]:
    """Give a query for the documents that hold all of some terms, and its values."""
    first, *others = terms
    sql, values = "SELECT p.doc FROM amber_posting p WHERE p.space = ? AND p.term = ?", [space, first]
    for other in others:
        sql += " AND EXISTS (SELECT 1 FROM amber_posting q WHERE q.space = ? AND q.term = ? AND q.doc = p.doc)"
        values += [space, other]
    return sql, values


def _withdraw(cursor: Any, space: int, number: int, tokens: Sequence[str] | None, fields: Sequence[str] | None) -> None:
    cursor.execute(_LEAVE, (space, _terms(tokens, fields), number))
    cursor.execute("DELETE FROM amber_doc WHERE id = ?", (number,))
