"""Postings on a Postgres server: what is entered is found, what is withdrawn is not, and a check sees what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from tests.servers import shared

from amber.backends.postgres import schema
from amber.backends.postgres.accent import Accent
from amber.backends.postgres.engine import PostgresEngine
from amber.store.codec import encode
from amber.store.contract import Clause, SearchFilter
from amber.store.derive import Derived
from amber.testing import words
from amber.testing.samples import NOTES

ACCENT = Accent("postings")
ENGINE = PostgresEngine("postings")
NAME = NOTES.name
ANY = SearchFilter()


class Spoken:
    """A cursor that speaks with the accent."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def execute(self, sql: str, values: Any = ()) -> Any:
        return self._connection.execute(ACCENT(sql), values)

    def executemany(self, sql: str, rows: Any) -> Any:
        with self._connection.cursor() as cursor:
            cursor.executemany(ACCENT(sql), rows)


@pytest.fixture(params=["postgres", "postgres-15"])
def cursor(request: pytest.FixtureRequest) -> Iterator[Spoken]:
    with psycopg.connect(shared.postgres(request.param).url) as connection:
        schema.migrate(connection, ACCENT)
        yield Spoken(connection)
        connection.rollback()


def derived(text: str) -> Derived:
    body = {"text": text}
    return Derived(NOTES, body, encode(body), words)


def keys(cursor: Spoken, *clauses: Clause, filter: SearchFilter = ANY, space: int = 1) -> list[str]:
    return [each.key for each in ENGINE.candidates(cursor.execute, space, clauses, filter, (), 10)]


def test_what_is_entered_is_found_until_it_is_withdrawn(cursor: Spoken) -> None:
    long = "x" * 5_000
    texts = {"a": "red apple red", "b": "green apple", "c": f"{long} pear"}
    ENGINE.enter(cursor, 1, NAME, 1, [(key, derived(text)) for key, text in texts.items()])
    ENGINE.enter(cursor, 2, NAME, 1, [("z", derived("apple"))])
    assert keys(cursor, Clause(("apple",), 1)) == ["a", "b"]
    assert keys(cursor, Clause(("apple",), 1), Clause(("green",), 5)) == ["b", "a"]
    assert keys(cursor, Clause(("apple", "red"), 1)) == ["a"]
    assert keys(cursor, Clause(("apple",), 1, ("green", "blue"))) == ["b"]
    assert keys(cursor, Clause((long,), 1)) == ["c"]
    assert keys(cursor, Clause(("a\0b",), 1)) == []
    assert keys(cursor, Clause(("apple",), 1), space=2) == ["z"]
    found = ENGINE.candidates(cursor.execute, 1, [Clause(("red",), 1)], ANY, ("apple",), 10)
    assert found[0].counts == {"red": 2, "apple": 1}
    assert dict(ENGINE.stats(cursor.execute, 1, ["apple", "pear", "no"]).frequency) == {"apple": 2, "pear": 1, "no": 0}
    assert ENGINE.problems(cursor) == []
    assert ENGINE.replace(cursor, 1, NAME, "a", 1, derived("yellow")) == (0, -2)
    assert ENGINE.replace(cursor, 1, NAME, "b", 1, None) == (-1, -2)
    assert keys(cursor, Clause(("apple",), 1)) == []
    assert keys(cursor, Clause(("yellow",), 1)) == ["a"]
    (kept,) = cursor.execute("SELECT tokens, counts, fields FROM amber_doc WHERE key = ?", ("a",)).fetchall()
    assert kept == ENGINE.pack(1, NAME, derived("yellow"))
    assert kept != ENGINE.pack(1, NAME, derived("blue"))
    ENGINE.withdraw(cursor, 1, NAME, "a")
    assert cursor.execute("SELECT key FROM amber_doc WHERE space = ?", (1,)).fetchall() == [("c",)]
    assert ENGINE.problems(cursor) == []
    assert {"amber_doc", "amber_posting", "amber_log"} <= set(ENGINE.tables(cursor))
    assert (ENGINE.size(lambda sql, values: cursor.execute(sql, values).fetchall()) or 0) > 8_192


def test_a_missing_posting_and_one_too_many_are_seen(cursor: Spoken) -> None:
    ENGINE.enter(cursor, 1, NAME, 1, [("a", derived("red apple"))])
    cursor.execute("UPDATE amber_posting SET term = ? WHERE term = ?", ("blue", "red"))
    (problem,) = ENGINE.problems(cursor)
    assert problem.kind == "postings"
    assert "1 are missing and 1 too many" in problem.detail
