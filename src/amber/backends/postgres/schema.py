"""Tables. Numbered migrations own the contract's tables, as on SQLite; those of the collections follow from their
declarations. All stand in one schema of the database, which the caller may name.

Texts are compared by their bytes (``COLLATE "C"``), as on every store. Postings are rows: a term of a space and the
document that holds it; the entries of the field index are terms too.
"""

from __future__ import annotations

from typing import Any

import psycopg

from amber.backends.postgres.accent import Accent
from amber.backends.sql.declared import check_known
from amber.errors import NotFound
from amber.store.faults import point

_TEXT = 'text COLLATE "C"'
_SPACE = "space bigint NOT NULL"

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        f"CREATE TABLE {{}}.amber_meta (name {_TEXT} PRIMARY KEY, value bigint)",
        f"CREATE TABLE {{}}.amber_collection (name {_TEXT} PRIMARY KEY, digest text NOT NULL)",
        f"""CREATE TABLE {{}}.amber_space (
            n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name {_TEXT} NOT NULL UNIQUE,
            position bigint NOT NULL DEFAULT 0, last_at bigint NOT NULL DEFAULT 0, documents bigint NOT NULL DEFAULT 0,
            tokens bigint NOT NULL DEFAULT 0) WITH (fillfactor = 50)""",
        f"""CREATE TABLE {{}}.amber_log (
            {_SPACE}, position bigint NOT NULL, operation {_TEXT} NOT NULL, at bigint NOT NULL, actor {_TEXT},
            reason {_TEXT}, session {_TEXT}, undoes text, PRIMARY KEY (space, position))""",
        "CREATE UNIQUE INDEX amber_log_operation ON {}.amber_log (space, operation)",
        """CREATE INDEX amber_log_session ON {}.amber_log (space, session, position)
           WHERE session IS NOT NULL AND octet_length(session) <= 512""",
        """CREATE INDEX amber_log_actor ON {}.amber_log (space, actor, position)
           WHERE actor IS NOT NULL AND octet_length(actor) <= 512""",
        f"""CREATE TABLE {{}}.amber_change (
            {_SPACE}, position bigint NOT NULL, n bigint NOT NULL, collection {_TEXT} NOT NULL, key {_TEXT} NOT NULL,
            kind text NOT NULL, purged bigint NOT NULL DEFAULT 0, deltas text, before text, after text,
            PRIMARY KEY (space, position, n))""",
        "CREATE INDEX amber_change_key ON {}.amber_change (space, collection, key, position)",
        f"""CREATE TABLE {{}}.amber_undone (
            {_SPACE}, target bigint NOT NULL, by bigint NOT NULL, PRIMARY KEY (space, target, by))""",
        f"""CREATE TABLE {{}}.amber_unique (
            {_SPACE}, rule {_TEXT} NOT NULL, value {_TEXT} NOT NULL, key {_TEXT} NOT NULL,
            PRIMARY KEY (space, rule, value, key))""",
        f"""CREATE TABLE {{}}.amber_queue (
            {_SPACE}, collection {_TEXT} NOT NULL, key {_TEXT} NOT NULL, queue {_TEXT} NOT NULL, due_at bigint,
            epoch bigint NOT NULL, attempts bigint NOT NULL, PRIMARY KEY (space, collection, key))""",
        """CREATE INDEX amber_queue_due ON {}.amber_queue (space, queue, due_at, key, collection)
           WHERE due_at IS NOT NULL""",
        f"""CREATE TABLE {{}}.amber_purged (
            {_SPACE}, collection {_TEXT} NOT NULL, key {_TEXT} NOT NULL, position bigint NOT NULL,
            PRIMARY KEY (space, collection, key))""",
        f"""CREATE TABLE {{}}.amber_departed (
            {_SPACE}, collection {_TEXT} NOT NULL, by {_TEXT} NOT NULL, equal {_TEXT} NOT NULL, key {_TEXT} NOT NULL,
            PRIMARY KEY (space, collection, by, equal, key))""",
        "CREATE INDEX amber_departed_key ON {}.amber_departed (space, collection, key)",
        (
            "CREATE TABLE {}.amber_horizon (space bigint PRIMARY KEY, position bigint NOT NULL, at bigint NOT NULL, "
            "undos text NOT NULL)"
        ),
        f"""CREATE TABLE {{}}.amber_doc (
            id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, {_SPACE}, collection {_TEXT} NOT NULL,
            key {_TEXT} NOT NULL, position bigint NOT NULL, length bigint NOT NULL, at bigint NOT NULL, sender {_TEXT},
            project {_TEXT}, session {_TEXT}, type {_TEXT}, tokens text[], counts bytea, fields text[])""",
        "CREATE UNIQUE INDEX amber_doc_key ON {}.amber_doc (space, collection, key)",
        f"""CREATE TABLE {{}}.amber_posting (
            {_SPACE}, term {_TEXT} NOT NULL, doc bigint NOT NULL, PRIMARY KEY (space, term, doc))""",
    ),
)
VERSION = len(MIGRATIONS)
#: A number of ours among the advisory locks of a database; a schema's own is the second one.
_LOCK = 0x616D6272


def current(connection: psycopg.Connection[Any], accent: Accent) -> int:
    """Give the schema version of a memory, 0 when there is none yet."""
    (there,) = connection.execute("SELECT to_regclass(%s)", (accent("amber_meta"),)).fetchone() or (None,)
    if there is None:
        return 0
    row = connection.execute(accent("SELECT value FROM amber_meta WHERE name = 'schema'")).fetchone()
    return int(row[0]) if row is not None else 0


def check_version(connection: psycopg.Connection[Any], accent: Accent, *, create: bool = True) -> int:
    """Give the schema version of a memory that this Amber can work with, 0 when there is none yet.

    :raises SchemaMismatch: when it was written by a newer one.
    :raises NotFound: when there is none and none shall be made.
    """
    found = current(connection, accent)
    if not found and not create:
        raise NotFound("There is no memory in this schema of the database; it holds something else, or nothing.")
    check_known(found, VERSION)
    return found


def migrate(connection: psycopg.Connection[Any], accent: Accent) -> None:
    """Bring the contract's tables to this version of Amber, inside the transaction that is open.

    One at a time does so in a schema: an advisory lock is held until the transaction ends, and what another process
    has done meanwhile is seen under it.
    """
    connection.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", (_LOCK, accent.schema))
    old = check_version(connection, accent)
    if not old:
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {accent.schema}")
    for statements in MIGRATIONS[old:]:
        for statement in statements:
            connection.execute(statement.replace("{}", accent.schema))
            point("migrate:statement")
    if old < VERSION:
        connection.execute(
            accent(
                """INSERT INTO amber_meta VALUES ('schema', ?) ON CONFLICT (name) DO UPDATE
                   SET value = excluded.value"""
            ),
            (VERSION,),
        )
