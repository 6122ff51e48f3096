"""Tables. Numbered migrations own the contract's tables; those of the collections follow from their declarations.

Everything is named ``amber_...``, so that a memory may live in an application's own database.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path

from amber.backends.sql.declared import RAISE_TURN, check_known, digests
from amber.backends.sql.refill import refill
from amber.backends.sql.tables import check_names, index_table, table
from amber.backends.sqlite.backup import keep_before
from amber.backends.sqlite.connection import Connections
from amber.backends.sqlite.engine import ENGINE
from amber.backends.sqlite.transaction import plain
from amber.errors import NotFound, Unsupported
from amber.model.collection import Collection, Index
from amber.store.derive import Analyze
from amber.store.faults import point

#: Punctuation that the ASCII tokenizer must keep inside tokens.
_PUNCTUATION = r"""!"#$%&'()*+,-./:;<=>?@[\]^_`{|}~"""
_TOKENIZER = "ascii tokenchars '" + _PUNCTUATION.replace("'", "''") + "'"

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE amber_meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID",
        "CREATE TABLE amber_collection (name TEXT PRIMARY KEY, digest TEXT NOT NULL) WITHOUT ROWID",
        """CREATE TABLE amber_space (
            n INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, position INTEGER NOT NULL DEFAULT 0,
            last_at INTEGER NOT NULL DEFAULT 0, documents INTEGER NOT NULL DEFAULT 0,
            tokens INTEGER NOT NULL DEFAULT 0)""",
        """CREATE TABLE amber_log (
            space INTEGER NOT NULL, position INTEGER NOT NULL, operation TEXT NOT NULL, at INTEGER NOT NULL,
            actor TEXT, reason TEXT, session TEXT, undoes TEXT, PRIMARY KEY (space, position)) WITHOUT ROWID""",
        "CREATE UNIQUE INDEX amber_log_operation ON amber_log (space, operation)",
        "CREATE INDEX amber_log_session ON amber_log (space, session, position) WHERE session IS NOT NULL",
        "CREATE INDEX amber_log_actor ON amber_log (space, actor, position) WHERE actor IS NOT NULL",
        """CREATE TABLE amber_change (
            space INTEGER NOT NULL, position INTEGER NOT NULL, n INTEGER NOT NULL, collection TEXT NOT NULL,
            key TEXT NOT NULL, kind TEXT NOT NULL, purged INTEGER NOT NULL DEFAULT 0, deltas TEXT, before TEXT,
            after TEXT)""",
        "CREATE UNIQUE INDEX amber_change_position ON amber_change (space, position, n)",
        "CREATE INDEX amber_change_key ON amber_change (space, collection, key, position)",
        """CREATE TABLE amber_undone (
            space INTEGER NOT NULL, target INTEGER NOT NULL, by INTEGER NOT NULL,
            PRIMARY KEY (space, target, by)) WITHOUT ROWID""",
        """CREATE TABLE amber_unique (
            space INTEGER NOT NULL, rule TEXT NOT NULL, value TEXT NOT NULL, key TEXT NOT NULL,
            PRIMARY KEY (space, rule, value, key)) WITHOUT ROWID""",
        """CREATE TABLE amber_field (
            space INTEGER NOT NULL, collection TEXT NOT NULL, path TEXT NOT NULL, value TEXT NOT NULL,
            type TEXT NOT NULL, key TEXT NOT NULL,
            PRIMARY KEY (space, collection, path, value, type, key)) WITHOUT ROWID""",
        """CREATE TABLE amber_queue (
            space INTEGER NOT NULL, collection TEXT NOT NULL, key TEXT NOT NULL, queue TEXT NOT NULL, due_at INTEGER,
            epoch INTEGER NOT NULL, attempts INTEGER NOT NULL, PRIMARY KEY (space, collection, key)) WITHOUT ROWID""",
        "CREATE INDEX amber_queue_due ON amber_queue (space, queue, due_at, key) WHERE due_at IS NOT NULL",
        """CREATE TABLE amber_purged (
            space INTEGER NOT NULL, collection TEXT NOT NULL, key TEXT NOT NULL, position INTEGER NOT NULL,
            PRIMARY KEY (space, collection, key)) WITHOUT ROWID""",
        """CREATE TABLE amber_departed (
            space INTEGER NOT NULL, collection TEXT NOT NULL, by TEXT NOT NULL, equal TEXT NOT NULL, key TEXT NOT NULL,
            PRIMARY KEY (space, collection, by, equal, key)) WITHOUT ROWID""",
        "CREATE INDEX amber_departed_key ON amber_departed (space, collection, key)",
        """CREATE TABLE amber_doc (
            id INTEGER PRIMARY KEY, space INTEGER NOT NULL, collection TEXT NOT NULL, key TEXT NOT NULL,
            position INTEGER NOT NULL, length INTEGER NOT NULL, at INTEGER NOT NULL, sender TEXT, project TEXT,
            session TEXT, type TEXT)""",
        "CREATE UNIQUE INDEX amber_doc_key ON amber_doc (space, collection, key)",
        "CREATE TABLE amber_text (id INTEGER PRIMARY KEY, tokens TEXT NOT NULL, counts BLOB NOT NULL)",
        f"""CREATE VIRTUAL TABLE amber_search USING fts5 (
            tokens, content='amber_text', content_rowid='id', detail='none', columnsize=0,
            tokenize="{_TOKENIZER.replace('"', '""')}")""",
        "INSERT INTO amber_search (amber_search, rank) VALUES ('automerge', 8)",
        "INSERT INTO amber_search (amber_search, rank) VALUES ('crisismerge', 64)",
        "CREATE VIRTUAL TABLE amber_vocabulary USING fts5vocab ('amber_search', 'row')",
    ),
    (
        """CREATE TABLE amber_horizon (
            space INTEGER PRIMARY KEY, position INTEGER NOT NULL, at INTEGER NOT NULL, undos TEXT NOT NULL)""",
    ),
    # Postings that wait (see ``text``), and field entries as tokens of the same index: a new fact changes half as many
    # pages (decision 0015). What is derived from documents is derived anew.
    (
        "DROP TABLE amber_vocabulary",
        "DROP TABLE amber_search",
        "DROP TABLE amber_text",
        "DROP TABLE amber_doc",
        "DROP TABLE amber_field",
        """CREATE TABLE amber_doc (
            id INTEGER PRIMARY KEY, space INTEGER NOT NULL, collection TEXT NOT NULL, key TEXT NOT NULL,
            position INTEGER NOT NULL, length INTEGER NOT NULL, at INTEGER NOT NULL, sender TEXT, project TEXT,
            session TEXT, type TEXT, tokens TEXT, counts BLOB, fields TEXT)""",
        "CREATE UNIQUE INDEX amber_doc_key ON amber_doc (space, collection, key)",
        f"""CREATE VIRTUAL TABLE amber_search USING fts5 (
            tokens, fields, content='amber_doc', content_rowid='id', detail='none', columnsize=0,
            tokenize="{_TOKENIZER.replace('"', '""')}")""",
        "INSERT INTO amber_search (amber_search, rank) VALUES ('automerge', 8)",
        "INSERT INTO amber_search (amber_search, rank) VALUES ('crisismerge', 64)",
        "CREATE VIRTUAL TABLE amber_vocabulary USING fts5vocab ('amber_search', 'row')",
        "INSERT INTO amber_meta VALUES ('folded', 0)",
        "UPDATE amber_space SET documents = 0, tokens = 0",
        "DELETE FROM amber_collection",
    ),
)
VERSION = len(MIGRATIONS)
_OWN_TABLES = set(re.findall(r"TABLE amber_(\w+)", " ".join(sum(MIGRATIONS, ()))))


def migrate(
    connections: Connections, collections: Sequence[Collection], analyze: Analyze, analyzer: str
) -> Path | None:
    """Bring the tables to this version of Amber, in one transaction.

    :return: where a file of ours that holds data was copied to before numbered migrations changed it.
    :raises SchemaMismatch: when the database was written by a newer Amber; it is left untouched.
    :raises Unsupported: when this SQLite has no FTS5.
    """
    names = digests(collections, analyzer)
    declared = {collection: names[collection.name] for collection in collections}
    for collection in declared:
        check_names(collection, _OWN_TABLES)
    connections.check()
    reader = plain(connections.writer)
    found = check_version(connections.writer)
    there = dict(reader.execute("SELECT name, digest FROM amber_collection")) if found else {}
    if found == VERSION and all(there.get(each.name) == digest for each, digest in declared.items()):
        return None

    def work(cursor: sqlite3.Cursor) -> Path | None:
        # read again under the lock: another process may have been faster
        old = current(cursor)
        copy = keep_before(connections, old) if old < VERSION and _holds_data(cursor, old) else None
        _migrate(cursor, old, declared, analyze)
        return copy

    return connections.write(work, "migrate")


def _holds_data(cursor: sqlite3.Cursor, version: int) -> bool:
    sql = "SELECT 1 FROM amber_space WHERE position > 0"
    return version > 0 and cursor.execute(sql).fetchone() is not None


def check_version(connection: sqlite3.Connection, *, create: bool = True) -> int:
    """Give the schema version of a database that this Amber can work with, 0 when it holds no memory yet.

    :raises SchemaMismatch: when it was written by a newer one.
    :raises NotFound: when it holds no memory and none shall be made.
    """
    cursor = plain(connection)
    _check_fts5(cursor)
    found = current(cursor)
    if not found and not create:
        raise NotFound("There is no memory in this database; it holds something else, or nothing.")
    check_known(found, VERSION)
    return found


def _check_fts5(cursor: sqlite3.Cursor) -> None:
    try:
        found = cursor.execute("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'").fetchone()
    except sqlite3.OperationalError:
        # a build that does not list its modules: the first search says whether it has this one
        return
    if found is None:
        raise Unsupported(
            f"This Python's SQLite ({sqlite3.sqlite_version}) has no FTS5, which Amber needs: use one whose SQLite "
            "is 3.40 or later with FTS5. Nothing was changed."
        )


def current(cursor: sqlite3.Cursor) -> int:
    """Give the schema version of a database, 0 when it holds no memory yet."""
    if cursor.execute("SELECT 1 FROM sqlite_master WHERE name = 'amber_meta'").fetchone() is None:
        return 0
    row = cursor.execute("SELECT value FROM amber_meta WHERE name = 'schema'").fetchone()
    return int(row[0]) if row else 0


def _migrate(cursor: sqlite3.Cursor, old: int, declared: Mapping[Collection, str], analyze: Analyze) -> None:
    for statements in MIGRATIONS[old:]:
        for statement in statements:
            cursor.execute(statement)
            point("migrate:statement")
    if old < VERSION:
        cursor.execute("INSERT OR REPLACE INTO amber_meta VALUES ('schema', ?)", (VERSION,))
        cursor.execute(RAISE_TURN)
    there = dict(cursor.execute("SELECT name, digest FROM amber_collection"))
    for collection, digest in declared.items():
        if there.get(collection.name) != digest:
            cursor.execute(RAISE_TURN)
            _declare(cursor, collection, analyze)
            cursor.execute("INSERT OR REPLACE INTO amber_collection VALUES (?, ?)", (collection.name, digest))
            point("migrate:declared")


def _declare(cursor: sqlite3.Cursor, collection: Collection, analyze: Analyze) -> None:
    name = table(collection)
    cursor.execute(
        f"""CREATE TABLE IF NOT EXISTS {name} (
            space INTEGER NOT NULL, key TEXT NOT NULL, created INTEGER NOT NULL, revision INTEGER NOT NULL,
            body TEXT NOT NULL, UNIQUE (space, key))"""
    )
    there = {row[1] for row in cursor.execute(f"PRAGMA table_info({name})")}
    for field in collection.fields:
        if not field.many and field.name not in there:
            kind = "INTEGER" if field.kind == "int" else "TEXT"
            cursor.execute(f'ALTER TABLE {name} ADD COLUMN "{field.name}" {kind}')
    for (old,) in cursor.execute(
        "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND name LIKE '%\\_by\\_%' ESCAPE '\\'",
        (name,),
    ).fetchall():
        cursor.execute(f"DROP INDEX {old}")
    for (old,) in cursor.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE ? ESCAPE '\\'",
        (f"{name}_by_".replace("_", "\\_") + "%",),
    ).fetchall():
        cursor.execute(f"DROP TABLE {old}")
    for index in collection.indexes:
        if collection.many_field(index) is not None:
            _make_side(cursor, collection, index)
    refill(cursor, ENGINE, collection, analyze)
    for index in collection.indexes:
        if collection.many_field(index) is None:
            columns = ", ".join(f'"{column}"' for column in (*index.equal, index.order))
            present = " AND ".join(f'"{column}" IS NOT NULL' for column in (*index.equal, index.order))
            cursor.execute(
                f"CREATE INDEX {index_table(collection, index)} ON {name} (space, {columns}, key) WHERE {present}"
            )


def _make_side(cursor: sqlite3.Cursor, collection: Collection, index: Index) -> None:
    """Make the table of a multi-valued index."""
    kinds = {field.name: "INTEGER" if field.kind == "int" else "TEXT" for field in collection.fields}
    columns = ", ".join(f'"{column}" {kinds[column]} NOT NULL' for column in index.equal)
    keys = ", ".join(f'"{column}"' for column in index.equal)
    cursor.execute(
        f"""CREATE TABLE {index_table(collection, index)} (space INTEGER NOT NULL, {columns},
            ord {kinds[index.order]} NOT NULL, key TEXT NOT NULL,
            PRIMARY KEY (space, {keys}, ord, key)) WITHOUT ROWID"""
    )
