"""Commit: runs inside the writer's transaction, under its lock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from amber.backends.sql.declared import TURN
from amber.backends.sql.engine import Catalog, Cursor, Engine
from amber.backends.sql.judge import judge
from amber.backends.sql.statements import Statements
from amber.backends.sql.tables import index_table, table
from amber.model import batch as b
from amber.model.collection import Body, Collection, Record
from amber.model.where import canonical
from amber.store.codec import decode, decode_body
from amber.store.constraints import judge_unique, ruled_groups
from amber.store.contract import Receipt
from amber.store.derive import Derived
from amber.store.faults import point
from amber.store.prepare import Prepared
from amber.store.resolve import resolve
from amber.store.step import Step, departures, log_images

_SPACE = f"SELECT n, position, last_at, {TURN} FROM amber_space WHERE name = ? /* lock */"
_NEW_SPACE = "INSERT INTO amber_space (name) VALUES (?) ON CONFLICT DO NOTHING"
_UNIQUE = "INSERT INTO amber_unique VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
# the row of a document that left its queue stays, so that an epoch never comes twice
_QUEUE = """INSERT INTO amber_queue VALUES (?, ?, ?, ?, ?, 0, 0) ON CONFLICT (space, collection, key)
            DO UPDATE SET due_at = excluded.due_at, epoch = amber_queue.epoch + 1,
            attempts = CASE WHEN ? THEN 0 ELSE amber_queue.attempts END"""
_CHANGE = """INSERT INTO amber_change (space, position, n, collection, key, kind, deltas, before, after)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"""


class Writing:
    """One commit under way."""

    __slots__ = ("_cursor", "_documents", "_engine", "_space", "_statements", "_tokens")

    def __init__(self, cursor: Cursor, space: int, statements: Mapping[str, Statements], engine: Engine) -> None:
        self._cursor, self._space, self._statements, self._engine = cursor, space, statements, engine
        self._documents = self._tokens = 0

    def load(self, collection: str, key: str) -> Record | None:
        """Read a document inside the transaction."""
        statements = self._statements[collection]
        row = self._cursor.execute(statements.get, (self._space, key)).fetchone()
        return Record(row[0], row[1], row[2], decode_body(statements.collection, row[3])) if row is not None else None

    def holders(self, rule: str, value: str) -> list[str]:
        """Give the keys that hold a unique value."""
        sql = "SELECT key FROM amber_unique WHERE space = ? AND rule = ? AND value = ?"
        return [row[0] for row in self._cursor.execute(sql, (self._space, rule, value))]

    def _run(self, sql: str, rows: Sequence[tuple[Any, ...]]) -> None:
        if len(rows) == 1:
            self._cursor.execute(sql, rows[0])
        elif rows:
            self._cursor.executemany(sql, rows)

    def insert(self, steps: Sequence[Step], position: int) -> None:
        """Enter new documents, table by table."""
        if len(steps) == 1:
            self._insert_one(steps[0], position)
        elif steps:
            self._insert_many(steps, position)

    def _insert_one(self, step: Step, position: int) -> None:
        execute, space, key, derived = self._cursor.execute, self._space, step.key, step.derived
        if derived is None:
            return
        collection = step.collection
        name = collection.name
        sql = self._statements[name]
        execute(sql.insert, (space, key, position, position, derived.encoded, *derived.columns.values()))
        point("commit:document")
        for index, rows in derived.many.items():
            self._run(sql.sides[index][0], [(space, *each, order, key) for each, order in rows])
        if derived.due is not None:
            execute(_QUEUE, (space, name, key, collection.queue_name, derived.due, True))
        if derived.terms is not None or derived.entries:
            self._engine.enter(self._cursor, space, name, position, ((key, derived),))
            if derived.terms is not None:
                self._documents += 1
                self._tokens += derived.length
        for pair in step.new_unique:
            execute(_UNIQUE, (space, *pair, key))
        point("commit:derived")

    def _insert_many(self, steps: Sequence[Step], position: int) -> None:
        space = self._space
        by_collection: dict[str, list[tuple[Step, Derived]]] = {}
        for step in steps:
            if step.derived is not None:
                by_collection.setdefault(step.collection.name, []).append((step, step.derived))
        for name, entered in by_collection.items():
            sql = self._statements[name]
            self._run(
                sql.insert,
                [(space, s.key, position, position, d.encoded, *d.columns.values()) for s, d in entered],
            )
        point("commit:document")
        for name, entered in by_collection.items():
            collection = self._statements[name].collection
            for index, (enter, _) in self._statements[name].sides.items():
                self._run(
                    enter, [(space, *each, order, s.key) for s, d in entered for each, order in d.many.get(index, ())]
                )
            if collection.queue is not None:
                queue = collection.queue_name
                self._run(_QUEUE, [(space, name, s.key, queue, d.due, True) for s, d in entered if d.due is not None])
            if collection.is_found:
                found = [(s.key, d) for s, d in entered if d.terms is not None or d.entries]
                self._engine.enter(self._cursor, space, name, position, found)
                self._documents += sum([d.terms is not None for _, d in found])
                self._tokens += sum([d.length for _, d in found])
        self._run(_UNIQUE, [(space, *pair, step.key) for step in steps for pair in step.new_unique])
        point("commit:derived")

    def rewrite(self, step: Step, position: int) -> None:
        """Change or remove a document, and all that is derived from it."""
        execute, space, key = self._cursor.execute, self._space, step.key
        collection, before, derived = step.collection, step.before, step.derived
        if before is None:
            return
        sql = self._statements[collection.name]
        if step.is_light:
            revision = position if step.kind is not None else before.revision
            counts = collection.count_columns(step.body or {})
            execute(sql.count, (revision, step.encoded, *(counts[name] for name in sql.counters), space, key))
            point("commit:document")
            point("commit:derived")
            return
        if derived is None:
            execute(sql.delete, (space, key))
        else:
            execute(sql.update, (position, derived.encoded, *derived.columns.values(), space, key))
        point("commit:document")
        old = Derived(collection, before.body, "", None)
        self._rewrite_unique(step)
        for by, values in departures(step):
            row = (space, collection.name, by, canonical(list(values)), key)
            execute("INSERT INTO amber_departed VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", row)
        for name, (enter, leave) in sql.sides.items():
            before_rows = old.many.get(name, [])
            after_rows = derived.many.get(name, []) if derived is not None else []
            if before_rows != after_rows:
                self._cursor.executemany(leave, [(space, *each, order, key) for each, order in before_rows])
                self._cursor.executemany(enter, [(space, *each, order, key) for each, order in after_rows])
        if collection.queue is not None:
            due = derived.due if derived is not None else None
            if old.due != due:
                execute(_QUEUE, (space, collection.name, key, collection.queue_name, due, old.due is None))
        if collection.is_found:
            documents, tokens = self._engine.replace(self._cursor, space, collection.name, key, before.created, derived)
            self._documents += documents
            self._tokens += tokens
        point("commit:derived")

    def _rewrite_unique(self, step: Step) -> None:
        space, key = self._space, step.key
        for pair in step.old_unique:
            if pair not in step.new_unique:
                sql = "DELETE FROM amber_unique WHERE space = ? AND rule = ? AND value = ? AND key = ?"
                self._cursor.execute(sql, (space, *pair, key))
        self._run(_UNIQUE, [(space, *pair, key) for pair in step.new_unique if pair not in step.old_unique])

    def log(self, position: int, at: int, batch: b.Batch, logged: Iterable[Step]) -> None:
        """Write the log entry."""
        execute, space = self._cursor.execute, self._space
        undoes = orjson.dumps(batch.undoes).decode() if batch.undoes else None
        execute(
            "INSERT INTO amber_log VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (space, position, batch.operation, at, batch.actor, batch.reason, batch.session, undoes),
        )
        self._run(_CHANGE, [(space, position, n, *_change(step)) for n, step in enumerate(logged)])
        for target in batch.undoes:
            execute("INSERT INTO amber_undone VALUES (?, ?, ?) ON CONFLICT DO NOTHING", (space, target, position))
        point("commit:log")

    def relist(self, collection: Collection, group: str, rule: Body | None) -> None:
        """List the unique values of a group anew, after its run-time rule changed."""
        constraint = collection.rule_name(group)
        self._cursor.execute("DELETE FROM amber_unique WHERE space = ? AND rule = ?", (self._space, constraint))
        for key, body in self.members(collection, group):
            held = [pair for pair in collection.unique_values(body, rule) if pair[0] == constraint]
            self._run(_UNIQUE, [(self._space, *pair, key) for pair in held])

    def members(self, collection: Collection, group: str) -> list[tuple[str, Body]]:
        """Give the documents that fall under the run-time rule of a group."""
        if collection.rules is None:
            return []
        index = collection.by_name[collection.rules.by]
        sql = f"""SELECT key, body FROM {table(collection)} INDEXED BY {index_table(collection, index)}
                  WHERE space = ? AND "{index.equal[0]}" = ? AND "{index.order}" IS NOT NULL"""
        return [(key, decode(body)) for key, body in self._cursor.execute(sql, (self._space, group))]

    def finish(self, position: int, at: int) -> None:
        """Move the space's position, time and sizes."""
        self._cursor.execute(
            """UPDATE amber_space SET position = ?, last_at = ?, documents = documents + ?, tokens = tokens + ?
               WHERE n = ?""",
            (position, at, self._documents, self._tokens, self._space),
        )
        point("commit:space")


def commit(cursor: Cursor, prepared: Prepared, catalog: Catalog, *, careful: bool) -> Receipt:
    """Apply a prepared batch.

    All reads come before the first write, but for the texts of rewritten documents and for run-time rules.

    :param catalog: its declarations are checked against the tables.
    :param careful: look up first whether the operation was committed before and whether appended documents exist.
        Otherwise that is left to the indexes: any error, also one of the driver, then only says that the batch is to
        be rolled back and applied once more with care, which gives the first receipt or the error that comes first.
    """
    collections, statements = catalog.collections, catalog.statements
    batch = prepared.batch
    execute = cursor.execute
    row = execute(_SPACE, (batch.space,)).fetchone()
    if row is None or not catalog.declared.knows(row[3]):
        catalog.declared.check(execute)
    if row is None:
        # another one may make it at the same time
        execute(_NEW_SPACE, (batch.space,))
        row = execute(_SPACE, (batch.space,)).fetchone()
    space, position, last_at, _ = row
    if careful and (first := receipt(cursor, space, batch.operation)) is not None:
        return first
    for expectation in batch.expectations:
        judge(execute, space, statements, expectation)
    writing = Writing(cursor, space, statements, catalog.engine)
    at = max(batch.at, last_at) if position else batch.at
    steps, moves = resolve(prepared, collections, writing.load, catalog.analyze, careful=careful)
    groups = ruled_groups(steps, catalog.homes)
    judge_unique(steps, groups, writing.holders, writing.members)
    logged = [step for step in steps if step.kind is not None]
    if logged:
        position += 1
    elif not careful and (first := receipt(cursor, space, batch.operation)) is not None:
        return first
    for step in steps:
        if step.before is not None:
            writing.rewrite(step, position)
    writing.insert([step for step in steps if step.before is None], position)
    for move in moves:
        _move(cursor, space, move)
    for collection, group, rule in groups:
        writing.relist(collection, group, rule)
    if logged:
        writing.log(position, at, batch, logged)
    if steps:
        writing.finish(position, at if logged else last_at)
    return Receipt(position if logged else None, batch.operation, at)


def _change(step: Step) -> tuple[Any, ...]:
    deltas = orjson.dumps(step.deltas).decode() if step.deltas else None
    return (step.collection.name, step.key, step.kind, deltas, *log_images(step))


def receipt(cursor: Cursor, space: int, operation: str) -> Receipt | None:
    """Give the receipt of an operation that was committed before."""
    sql = "SELECT position, at FROM amber_log WHERE space = ? AND operation = ?"
    first = cursor.execute(sql, (space, operation)).fetchone()
    return Receipt(first[0], operation, first[1], repeated=True) if first is not None else None


def _move(cursor: Cursor, space: int, move: b.Reschedule) -> None:
    cursor.execute(
        """UPDATE amber_queue SET due_at = ?, attempts = coalesce(?, attempts)
           WHERE space = ? AND collection = ? AND key = ? AND due_at IS NOT NULL""",
        (move.due_at, move.attempts, space, move.collection, move.key),
    )
