"""The transactions of a load that write rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from amber.backends.sql.engine import Catalog, Cursor
from amber.backends.sql.purge import MARK
from amber.backends.sql.refill import KEEP_PLACE, insert_many
from amber.backends.sql.tables import index_table, table
from amber.errors import Conflict
from amber.model.collection import Body, Collection, Record
from amber.model.where import canonical
from amber.store.codec import decode
from amber.store.constraints import rule_of
from amber.store.derive import Analyze, Derived
from amber.store.intake import Intake, derived_of, image_text
from amber.store.rows import Departure, Document, Entry, Mark, Place, Row


class Prepared:
    """A checked row with what was derived from it outside the lock."""

    __slots__ = ("derived", "images", "number", "row", "size")

    def __init__(self, number: int, row: Row, collections: Mapping[str, Collection], analyze: Analyze) -> None:
        self.number, self.row, self.size = number, row, 100
        self.derived: Derived | None = None
        self.images: list[tuple[str | None, str | None]] = []
        if isinstance(row, Document):
            self.derived = derived_of(row, collections, analyze)
            self.size += len(self.derived.encoded)
        elif isinstance(row, Entry):
            self.images = [(image_text(change.before), image_text(change.after)) for change in row.changes]
            self.size += sum(len(image) for pair in self.images for image in pair if image is not None)


class Loading:
    """One transaction of a load."""

    def __init__(self, cursor: Cursor, name: str, catalog: Catalog, intake: Intake) -> None:
        self._cursor, self._collections, self._intake = cursor, catalog.collections, intake
        self._engine = catalog.engine
        row = cursor.execute("SELECT n FROM amber_space WHERE name = ?", (name,)).fetchone()
        if row is None:
            conflict = Conflict("Another load into this space began; this one ends, and nothing of it is kept.")
            conflict.retry = "no"  # type: ignore[misc]
            raise conflict
        self.space: int = row[0]
        self._documents = self._tokens = 0

    def take(self, chunk: Sequence[Prepared]) -> None:
        """Write rows; what stands there already is refused."""
        taken: list[Row] = []
        for prepared in chunk:
            row = prepared.row
            if isinstance(row, Document):
                reason = self._document(row, prepared.derived)
            elif isinstance(row, Entry):
                reason = self._entry(row, prepared.images)
            else:
                reason = self._small(row)
            if reason is None:
                taken.append(row)
            else:
                self._intake.refuse(prepared.number, reason)
        self._cursor.execute(
            "UPDATE amber_space SET documents = documents + ?, tokens = tokens + ? WHERE n = ?",
            (self._documents, self._tokens, self.space),
        )
        for row in taken:
            self._intake.took(row)

    def _load(self, collection: str, key: str) -> Record | None:
        sql = f"SELECT body FROM {table(self._collections[collection])} WHERE space = ? AND key = ?"
        row = self._cursor.execute(sql, (self.space, key)).fetchone()
        return Record(key, 0, 0, decode(row[0])) if row is not None else None

    def _document(self, row: Document, derived: Derived | None) -> str | None:
        cursor, space, key = self._cursor, self.space, row.key
        collection = self._collections[row.collection]
        if derived is None or self._load(row.collection, key) is not None:
            return f"{row.collection}/{key} stands there already."
        names = "".join(f', "{name}"' for name in derived.columns)
        marks = ", ?" * len(derived.columns)
        into = f"INSERT INTO {table(collection)} (space, key, created, revision, body{names})"
        cursor.execute(
            f"{into} VALUES (?, ?, ?, ?, ?{marks})",
            (space, key, row.created, row.revision, derived.encoded, *derived.columns.values()),
        )
        for name, rows in derived.many.items():
            insert_many(cursor, collection, collection.by_name[name], space, key, rows)
        self._hold(key, collection.unique_values(row.body, rule_of(collection, row.body, self._load)))
        for ruled in self._collections.values():
            if ruled.rules is not None and ruled.rules.collection == row.collection:
                self._relist(ruled, key, row.body)
        if derived.due is not None:
            # the place of an export counts, whichever comes first
            cursor.execute(
                KEEP_PLACE,
                (space, collection.name, key, collection.queue_name, derived.due),
            )
        documents, tokens = self._engine.replace(cursor, space, collection.name, key, row.created, derived)
        self._documents += documents
        self._tokens += tokens
        return None

    def _hold(self, key: str, pairs: Iterable[tuple[str, str]]) -> None:
        rows = [(self.space, *pair, key) for pair in pairs]
        self._cursor.executemany("INSERT INTO amber_unique VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", rows)

    def _relist(self, collection: Collection, group: str, rule: Body) -> None:
        """List the unique values of a group whose rule came after some of its documents."""
        assert collection.rules is not None
        index = collection.by_name[collection.rules.by]
        sql = f"""SELECT key, body FROM {table(collection)} INDEXED BY {index_table(collection, index)}
                  WHERE space = ? AND "{index.equal[0]}" = ? AND "{index.order}" IS NOT NULL"""
        for key, body in self._cursor.execute(sql, (self.space, group)).fetchall():
            self._hold(key, collection.unique_values(decode(body), rule))

    def _entry(self, row: Entry, images: Sequence[tuple[str | None, str | None]]) -> str | None:
        execute, space = self._cursor.execute, self.space
        sql = "SELECT 1 FROM amber_log WHERE space = ? AND {} = ?"
        if execute(sql.format("position"), (space, row.position)).fetchone() is not None:
            return f"Position {row.position} stands there already."
        if execute(sql.format("operation"), (space, row.operation)).fetchone() is not None:
            return f"Operation {row.operation!r} stands there already."
        insert_entry(self._cursor, space, row, images)
        return None

    def _small(self, row: Row) -> str | None:
        execute, space = self._cursor.execute, self.space
        if isinstance(row, Mark):
            execute(MARK, (space, *row))
        elif isinstance(row, Place):
            queue = self._collections[row.collection].queue_name
            execute(
                """INSERT INTO amber_queue VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (space, collection, key) DO UPDATE
                   SET due_at = excluded.due_at, epoch = excluded.epoch, attempts = excluded.attempts""",
                (space, row.collection, row.key, queue, row.due_at, row.epoch, row.attempts),
            )
        elif isinstance(row, Departure):
            values = (space, row.collection, row.by, canonical(list(row.equal)), row.key)
            execute("INSERT INTO amber_departed VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", values)
        return None


def insert_entry(cursor: Cursor, space: int, row: Entry, images: Sequence[tuple[str | None, str | None]]) -> None:
    """Write an entry of the log, and the marks of what it takes back."""
    undoes = orjson.dumps(row.undoes).decode() if row.undoes else None
    cursor.execute(
        "INSERT INTO amber_log VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (space, row.position, row.operation, row.at, row.actor, row.reason, row.session, undoes),
    )
    rows: list[tuple[Any, ...]] = []
    for number, (change, pair) in enumerate(zip(row.changes, images, strict=True)):
        deltas = orjson.dumps(change.deltas).decode() if change.deltas is not None else None
        place = (space, row.position, number, change.collection, change.key)
        rows.append((*place, change.kind, int(change.purged), deltas, *pair))
    cursor.executemany(
        """INSERT INTO amber_change (space, position, n, collection, key, kind, purged, deltas, before, after)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        rows,
    )
    marks = [(space, target, row.position) for target in row.undoes]
    cursor.executemany("INSERT INTO amber_undone VALUES (?, ?, ?) ON CONFLICT DO NOTHING", marks)
