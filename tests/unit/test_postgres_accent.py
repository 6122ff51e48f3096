"""The shared statements as Postgres hears them: rewritten, and understood by a server."""

from __future__ import annotations

import psycopg
import pytest
from tests.servers import shared

from amber.backends.postgres.accent import Accent


@pytest.mark.parametrize(
    ("sql", "heard"),
    [
        ("SELECT key FROM amber_fact WHERE key = ?", 'SELECT key FROM "s".amber_fact WHERE key = %s'),
        (
            "SELECT 1 FROM amber_fact x INDEXED BY amber_fact_by_key WHERE 1 = ?",
            'SELECT 1 FROM "s".amber_fact x WHERE 1 = %s',
        ),
        ("SELECT id FROM amber_doc NOT INDEXED WHERE id > ?", 'SELECT id FROM "s".amber_doc WHERE id > %s'),
        ("SELECT 1 FROM a x CROSS JOIN b d ON d.n = x.n", "SELECT 1 FROM a x JOIN b d ON d.n = x.n"),
        ("SELECT n FROM amber_space WHERE n = ? /* lock */", 'SELECT n FROM "s".amber_space WHERE n = %s FOR UPDATE'),
        (
            "SELECT key FROM amber_queue LIMIT ? /* claim */",
            'SELECT key FROM "s".amber_queue LIMIT %s FOR UPDATE SKIP LOCKED',
        ),
        ("SELECT ? % 2", "SELECT %s %% 2"),
    ],
)
def test_statements_are_rewritten(sql: str, heard: str) -> None:
    accent = Accent("s")
    assert accent(sql) == heard
    assert accent(sql) is accent(sql)


def test_a_schema_of_any_name_is_quoted() -> None:
    assert Accent('a"b')("SELECT 1 FROM amber_log") == 'SELECT 1 FROM "a""b".amber_log'


@pytest.mark.parametrize("kind", ["postgres", "postgres-15"])
def test_a_server_understands_them(kind: str) -> None:
    accent = Accent("pg_temp")
    with psycopg.connect(shared.postgres(kind).url) as connection:
        connection.execute("CREATE TEMPORARY TABLE amber_log (space bigint, position bigint, operation text)")
        connection.execute("CREATE TEMPORARY TABLE amber_undone (space bigint, target bigint, by bigint)")
        for position in (1, 2, 2**40):
            connection.execute(accent("INSERT INTO amber_log VALUES (?, ?, ?)"), (7, position, f"50% {position}"))
        connection.execute(accent("INSERT INTO amber_undone VALUES (?, ?, ?)"), (7, 1, 2))
        sql = """SELECT l.position, (SELECT group_concat(by) FROM amber_undone u WHERE u.target = l.position), l.operation
                 FROM json_each(?) j CROSS JOIN amber_log l ON l.space = ? AND l.position = j.value
                 WHERE l.operation LIKE '50% %' ORDER BY l.position /* lock */"""
        listed = "SELECT position FROM amber_log WHERE position IN (SELECT value FROM json_each(?))"
        assert connection.execute(accent(listed), ("[2, 3]",)).fetchall() == [(2,)]
        # a row of a grouped or derived table can not be held; one of a table can
        found = connection.execute(accent(sql.replace(" /* lock */", "")), (f"[1, {2**40}]", 7)).fetchall()
        assert found == [(1, "2", "50% 1"), (2**40, None, f"50% {2**40}")]
        held = connection.execute(
            accent("SELECT position FROM amber_log WHERE position = ? /* lock */"), (2,)
        ).fetchone()
        assert held == (2,)
