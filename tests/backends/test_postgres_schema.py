"""The tables on a Postgres server: made once by many, refused when newer, left alone when none shall be made."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from tests.servers import shared

from amber.backends.postgres import schema
from amber.backends.postgres.accent import Accent
from amber.backends.postgres.translate import translate
from amber.errors import NotFound, SchemaMismatch, TimedOut, Unavailable

ACCENT = Accent("made here")


@pytest.fixture(params=["postgres", "postgres-15"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    server = shared.postgres(request.param)
    yield server.url
    with psycopg.connect(server.url) as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {ACCENT.schema} CASCADE")


def make(url: str) -> None:
    with psycopg.connect(url) as connection:
        schema.migrate(connection, ACCENT)


def test_eight_at_once_make_the_tables_once(url: str) -> None:
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(make, [url] * 8))
    with psycopg.connect(url) as connection:
        assert schema.check_version(connection, ACCENT) == schema.VERSION
        connection.execute(ACCENT("INSERT INTO amber_space (name) VALUES (?)"), ("user/1",))
        assert connection.execute(ACCENT("SELECT n, position FROM amber_space")).fetchall() == [(1, 0)]


def test_none_is_made_that_shall_not_be(url: str) -> None:
    with psycopg.connect(url) as connection:
        with pytest.raises(NotFound):
            schema.check_version(connection, ACCENT, create=False)
        assert schema.current(connection, ACCENT) == 0


def test_a_newer_one_is_refused_and_left_alone(url: str) -> None:
    make(url)
    with psycopg.connect(url) as connection:
        connection.execute(ACCENT("UPDATE amber_meta SET value = 99 WHERE name = 'schema'"))
    with pytest.raises(SchemaMismatch, match="schema 99, newer than"):
        make(url)
    with psycopg.connect(url) as connection:
        assert schema.current(connection, ACCENT) == 99


def test_texts_are_ordered_by_their_bytes(url: str) -> None:
    make(url)
    names = ["a", "B", "_", "é", "ab", "a/b", "a0"]
    with psycopg.connect(url) as connection:
        for name in names:
            connection.execute(ACCENT("INSERT INTO amber_space (name) VALUES (?)"), (name,))
        found = connection.execute(ACCENT("SELECT name FROM amber_space ORDER BY name")).fetchall()
    assert [name for (name,) in found] == sorted(names, key=str.encode)


def test_errors_say_what_they_mean_and_show_no_password(url: str) -> None:
    make(url)
    with psycopg.connect(url) as one, psycopg.connect(url) as other:
        one.execute(ACCENT("LOCK TABLE amber_space"))
        other.execute("SET lock_timeout = '50ms'")
        with pytest.raises(psycopg.Error) as caught:
            other.execute(ACCENT("SELECT n FROM amber_space"))
    assert isinstance(translate(caught.value, url), TimedOut)
    with psycopg.connect(url) as one, pytest.raises(psycopg.Error) as caught:
        one.execute(Accent("nowhere")("SELECT n FROM amber_space"))
    assert isinstance(translate(caught.value, url), SchemaMismatch)
    with pytest.raises(psycopg.Error) as caught:
        psycopg.connect("postgresql://me:secret@127.0.0.1:1/x", connect_timeout=2)
    unreachable = translate(caught.value, "postgresql://me:secret@127.0.0.1:1/x")
    assert isinstance(unreachable, Unavailable)
    assert "secret" not in unreachable.message
