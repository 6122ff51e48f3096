"""Derive anew what is kept beside the documents of a collection, after its declaration or the analyzer changed."""

from __future__ import annotations

from collections.abc import Iterable

from amber.backends.sql.engine import Cursor, Engine
from amber.backends.sql.tables import index_table, table
from amber.model.collection import Body, Collection, Index
from amber.store.codec import decode
from amber.store.derive import Analyze, Derived
from amber.store.faults import point

#: Gives a document a place in its queue, unless it has one.
KEEP_PLACE = """INSERT INTO amber_queue VALUES (?, ?, ?, ?, ?, 0, 0) ON CONFLICT (space, collection, key) DO UPDATE
                SET due_at = coalesce(amber_queue.due_at, excluded.due_at)"""


def refill(cursor: Cursor, engine: Engine, collection: Collection, analyze: Analyze) -> None:
    """Derive columns, multi-valued indexes, unique values, postings and field entries of all documents anew."""
    name = table(collection)
    many = {index.name: index for index in collection.indexes if collection.many_field(index) is not None}
    single = [field.name for field in collection.fields if not field.many]
    assignments = ", ".join(f'"{column}" = ?' for column in single)
    # run-time rules are listed anew below; declared constraints are named after their collection
    cursor.execute(
        "DELETE FROM amber_unique WHERE rule >= ? AND rule < ?", (f"{collection.name}/", f"{collection.name}0")
    )
    queue = collection.queue_name
    cursor.execute("UPDATE amber_queue SET queue = coalesce(?, queue) WHERE collection = ?", (queue, collection.name))
    for space, key, created, stored in cursor.execute(f"SELECT space, key, created, body FROM {name}").fetchall():
        body = decode(stored)
        derived = Derived(collection, body, stored, analyze)
        if single:
            values = [derived.columns[column] for column in single]
            cursor.execute(f"UPDATE {name} SET {assignments} WHERE space = ? AND key = ?", (*values, space, key))
        for index_name, rows in derived.many.items():
            insert_many(cursor, collection, many[index_name], space, key, rows)
        held = [(space, *pair, key) for pair in collection.unique_values(body, _rule(cursor, collection, space, body))]
        cursor.executemany("INSERT INTO amber_unique VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", held)
        if derived.due is not None:
            # one that waits already keeps its lease
            cursor.execute(
                KEEP_PLACE,
                (space, collection.name, key, queue, derived.due),
            )
        documents, tokens = engine.replace(cursor, space, collection.name, key, created, derived)
        point("migrate:document")
        cursor.execute(
            "UPDATE amber_space SET documents = documents + ?, tokens = tokens + ? WHERE n = ?",
            (documents, tokens, space),
        )


def _rule(cursor: Cursor, collection: Collection, space: int, body: Body) -> Body | None:
    group = collection.rules.key(body) if collection.rules is not None else None
    if group is None or collection.rules is None:
        return None
    sql = f"SELECT body FROM amber_{collection.rules.collection} WHERE space = ? AND key = ?"
    row = cursor.execute(sql, (space, group)).fetchone()
    return decode(row[0]) if row is not None else None


def insert_many(
    cursor: Cursor,
    collection: Collection,
    index: Index,
    space: int,
    key: str,
    rows: Iterable[tuple[tuple[str | int, ...], str | int]],
) -> None:
    """Enter a document in a multi-valued index."""
    marks = ", ".join("?" * (len(index.equal) + 3))
    sql = f"INSERT INTO {index_table(collection, index)} VALUES ({marks}) ON CONFLICT DO NOTHING"
    cursor.executemany(sql, [(space, *equal, order, key) for equal, order in rows])
