"""Commit and claim: runs inside the writer's transaction, under its lock."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from amber.backends.sqlite import text
from amber.backends.sqlite.schema import index_table, insert_many, table
from amber.errors import Conflict, LeaseLost, SourcePurged
from amber.model import batch as b
from amber.model.collection import Body, Collection, Record
from amber.model.where import canonical
from amber.store.codec import decode
from amber.store.constraints import judge_unique, ruled_groups
from amber.store.contract import Lease, Receipt
from amber.store.derive import Analyze, Derived
from amber.store.faults import point
from amber.store.prepare import Prepared
from amber.store.resolve import resolve
from amber.store.step import Step, departures, log_images


class Statements:
    """The SQL of one collection's table, made once."""

    __slots__ = ("columns", "count", "counters", "delete", "get", "insert", "update")

    def __init__(self, collection: Collection) -> None:
        name = table(collection)
        self.columns = [field.name for field in collection.fields if not field.many]
        names = "".join(f', "{column}"' for column in self.columns)
        marks = ", ?" * len(self.columns)
        sets = "".join(f', "{column}" = ?' for column in self.columns)
        self.get = f"SELECT key, created, revision, body FROM {name} WHERE space = ? AND key = ?"
        self.insert = f"INSERT INTO {name} (space, key, created, revision, body{names}) VALUES (?, ?, ?, ?, ?{marks})"
        self.update = f"UPDATE {name} SET revision = ?, body = ?{sets} WHERE space = ? AND key = ?"
        self.counters = [name for name in self.columns if name in collection.counters]
        counts = "".join(f', "{column}" = ?' for column in self.counters)
        self.count = f"UPDATE {name} SET revision = ?, body = ?{counts} WHERE space = ? AND key = ?"
        self.delete = f"DELETE FROM {name} WHERE space = ? AND key = ?"


class Writing:
    """One commit under way."""

    __slots__ = ("_collections", "_cursor", "_documents", "_space", "_statements", "_tokens")

    def __init__(
        self,
        cursor: sqlite3.Cursor,
        space: int,
        collections: Mapping[str, Collection],
        statements: Mapping[str, Statements],
    ) -> None:
        self._cursor, self._space = cursor, space
        self._collections, self._statements = collections, statements
        self._documents = self._tokens = 0

    def load(self, collection: str, key: str) -> Record | None:
        """Read a document inside the transaction."""
        row = self._cursor.execute(self._statements[collection].get, (self._space, key)).fetchone()
        return Record(row[0], row[1], row[2], decode(row[3])) if row is not None else None

    def judge(self, expectation: b.Expectation) -> None:
        """Raise the error of an expectation that does not hold."""
        execute, space = self._cursor.execute, self._space
        if isinstance(expectation, b.NotPurged):
            for name, key in expectation.sources:
                sql = "SELECT position FROM amber_purged WHERE space = ? AND collection = ? AND key = ?"
                row = execute(sql, (space, name, key)).fetchone()
                if row is not None and row[0] > expectation.since:
                    raise SourcePurged(f"{name}/{key} was forgotten since it was read.", collection=name, key=key)
            return
        name = expectation.collection
        if isinstance(expectation, b.Unchanged):
            self._judge_group(expectation)
            return
        key = expectation.key
        if isinstance(expectation, b.Leased):
            sql = "SELECT due_at, epoch FROM amber_queue WHERE space = ? AND collection = ? AND key = ?"
            row = execute(sql, (space, name, key)).fetchone()
            if row is None or row[0] is None or row[1] != expectation.epoch:
                raise LeaseLost(f"The lease {expectation.epoch} of {name}/{key} is lost.", collection=name, key=key)
            return
        row = execute(self._statements[name].get, (space, key)).fetchone()
        actual = row[2] if row is not None else None
        expected = expectation.revision if isinstance(expectation, b.AtRevision) else None
        if actual != expected:
            was = "absent" if expected is None else f"at revision {expected}"
            now = "absent" if actual is None else f"at revision {actual}"
            raise Conflict(
                f"{name}/{key} was expected {was} and is {now}.",
                collection=name,
                key=key,
                expected=expected,
                actual=actual,
            )

    def _judge_group(self, expectation: b.Unchanged) -> None:
        collection = self._collections[expectation.collection]
        index = collection.by_name[expectation.by]
        equal = " AND ".join(f'x."{column}" = ?' for column in index.equal)
        equal = f" AND {equal}" if equal else ""
        values = [self._space, *expectation.equal]
        many = collection.many_field(index) is not None
        if expectation.low is not None:
            equal += " AND x.ord >= ?" if many else f' AND x."{index.order}" >= ?'
            values.append(expectation.low)
        if many:
            source = f"""{index_table(collection, index)} x JOIN {table(collection)} d
                         ON d.space = x.space AND d.key = x.key"""
            sql = f"SELECT count(*), max(d.revision) FROM {source} WHERE x.space = ?{equal}"
        else:
            source = f"{table(collection)} x INDEXED BY {index_table(collection, index)}"
            present = f'x."{index.order}" IS NOT NULL'
            sql = f"SELECT count(*), max(x.revision) FROM {source} WHERE x.space = ?{equal} AND {present}"
        count, newest = self._cursor.execute(sql, values).fetchone()
        if count != expectation.size or (newest or 0) > expectation.since:
            name = f"{expectation.collection}.{expectation.by}{list(expectation.equal)}"
            raise Conflict(
                f"The group {name} changed since position {expectation.since}.",
                collection=expectation.collection,
                index=expectation.by,
                equal=expectation.equal,
            )

    def holders(self, rule: str, value: str) -> list[str]:
        """Give the keys that hold a unique value."""
        sql = "SELECT key FROM amber_unique WHERE space = ? AND rule = ? AND value = ?"
        return [row[0] for row in self._cursor.execute(sql, (self._space, rule, value))]

    def write(self, step: Step, position: int) -> None:
        """Carry out a step: the document and all that is derived from it."""
        execute, space, key = self._cursor.execute, self._space, step.key
        collection, before, derived = step.collection, step.before, step.derived
        sql = self._statements[collection.name]
        if step.is_light and before is not None:
            revision = position if step.kind is not None else before.revision
            counts = collection.count_columns(step.body or {})
            execute(sql.count, (revision, step.encoded, *(counts[name] for name in sql.counters), space, key))
            point("commit:document")
            point("commit:derived")
            return
        if derived is None:
            execute(sql.delete, (space, key))
        else:
            columns = [derived.columns[column] for column in sql.columns]
            if before is None:
                execute(sql.insert, (space, key, position, position, derived.encoded, *columns))
            else:
                execute(sql.update, (position, derived.encoded, *columns, space, key))
        point("commit:document")
        old = Derived(collection, before.body, "", None) if before is not None else None
        self._write_unique(step)
        for by, values in departures(step):
            row = (space, collection.name, by, canonical(list(values)), key)
            execute("INSERT OR IGNORE INTO amber_departed VALUES (?, ?, ?, ?, ?)", row)
        if collection.field_index is not None:
            self._write_fields(collection.name, key, old, derived)
        for name in collection.many:
            before_rows = old.many[name] if old is not None else []
            after_rows = derived.many[name] if derived is not None else []
            if before_rows != after_rows:
                index = collection.by_name[name]
                side = index_table(collection, index)
                equal = " AND ".join(f'"{column}" = ?' for column in index.equal)
                delete = f"DELETE FROM {side} WHERE space = ? AND {equal} AND ord = ? AND key = ?"
                self._cursor.executemany(delete, [(space, *each, order, key) for each, order in before_rows])
                insert_many(self._cursor, collection, index, space, key, after_rows)
        if collection.queue is not None:
            self._write_queue(collection, key, old, derived)
        if collection.search is not None:
            self._write_text(step, position)
        point("commit:derived")

    def _write_unique(self, step: Step) -> None:
        space, key = self._space, step.key
        for pair in step.old_unique:
            if pair not in step.new_unique:
                sql = "DELETE FROM amber_unique WHERE space = ? AND rule = ? AND value = ? AND key = ?"
                self._cursor.execute(sql, (space, *pair, key))
        for pair in step.new_unique:
            if pair not in step.old_unique:
                self._cursor.execute("INSERT OR IGNORE INTO amber_unique VALUES (?, ?, ?, ?)", (space, *pair, key))

    def _write_fields(self, name: str, key: str, old: Derived | None, new: Derived | None) -> None:
        before = {(path, value, old.group) for path, value in old.entries} if old is not None else set()
        after = {(path, value, new.group) for path, value in new.entries} if new is not None else set()
        gone, come = before - after, after - before
        if gone:
            sql = """DELETE FROM amber_field
                     WHERE space = ? AND collection = ? AND path = ? AND value = ? AND type = ? AND key = ?"""
            self._cursor.executemany(sql, [(self._space, name, *entry, key) for entry in gone])
        if come:
            rows = [(self._space, name, *entry, key) for entry in come]
            self._cursor.executemany("INSERT OR IGNORE INTO amber_field VALUES (?, ?, ?, ?, ?, ?)", rows)

    def _write_queue(self, collection: Collection, key: str, old: Derived | None, new: Derived | None) -> None:
        before, after = old.due if old is not None else None, new.due if new is not None else None
        if before == after:
            return
        # the row of a document that left its queue stays, so that an epoch never comes twice
        self._cursor.execute(
            """INSERT INTO amber_queue VALUES (?, ?, ?, ?, ?, 0, 0) ON CONFLICT DO UPDATE SET
               due_at = excluded.due_at, epoch = epoch + 1, attempts = CASE WHEN ? THEN 0 ELSE attempts END""",
            (self._space, collection.name, key, collection.queue_name, after, before is None),
        )

    def _write_text(self, step: Step, position: int) -> None:
        name, key, space = step.collection.name, step.key, self._space
        if step.before is None:
            if step.derived is not None and step.derived.terms is not None:
                text.enter(self._cursor, space, name, key, position, step.derived)
                self._documents += 1
                self._tokens += step.derived.length
            return
        documents, tokens = text.replace(self._cursor, space, name, key, step.before.created, step.derived)
        self._documents += documents
        self._tokens += tokens

    def log(self, position: int, at: int, batch: b.Batch, logged: Sequence[Step]) -> None:
        """Write the log entry."""
        execute, space = self._cursor.execute, self._space
        undoes = orjson.dumps(batch.undoes).decode() if batch.undoes else None
        execute(
            "INSERT INTO amber_log VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (space, position, batch.operation, at, batch.actor, batch.reason, batch.session, undoes),
        )
        rows = []
        for n, step in enumerate(logged):
            deltas = orjson.dumps(step.deltas).decode() if step.deltas else None
            rows.append((space, position, n, step.collection.name, step.key, step.kind, deltas, *log_images(step)))
        self._cursor.executemany(
            """INSERT INTO amber_change (space, position, n, collection, key, kind, deltas, before, after)
               VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)""",
            rows,
        )
        for target in batch.undoes:
            execute("INSERT OR IGNORE INTO amber_undone VALUES (?, ?, ?)", (space, target, position))
        point("commit:log")

    def relist(self, collection: Collection, group: str, rule: Body | None) -> None:
        """List the unique values of a group anew, after its run-time rule changed."""
        constraint = collection.rule_name(group)
        execute, space = self._cursor.execute, self._space
        execute("DELETE FROM amber_unique WHERE space = ? AND rule = ?", (space, constraint))
        for key, body in self.members(collection, group):
            for pair in collection.unique_values(body, rule):
                if pair[0] == constraint:
                    execute("INSERT OR IGNORE INTO amber_unique VALUES (?, ?, ?, ?)", (space, *pair, key))

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


def commit(
    cursor: sqlite3.Cursor,
    prepared: Prepared,
    collections: Mapping[str, Collection],
    statements: Mapping[str, Statements],
    analyze: Analyze,
) -> Receipt:
    """Apply a prepared batch."""
    batch = prepared.batch
    row = cursor.execute("SELECT n, position, last_at FROM amber_space WHERE name = ?", (batch.space,)).fetchone()
    if row is None:
        cursor.execute("INSERT INTO amber_space (name) VALUES (?)", (batch.space,))
        row = (cursor.lastrowid, 0, 0)
    space, position, last_at = row
    first = cursor.execute(
        "SELECT position, at FROM amber_log WHERE space = ? AND operation = ?", (space, batch.operation)
    ).fetchone()
    if first is not None:
        return Receipt(first[0], batch.operation, first[1], repeated=True)
    writing = Writing(cursor, space, collections, statements)
    for expectation in batch.expectations:
        writing.judge(expectation)
    at = max(batch.at, last_at) if position else batch.at
    steps, moves = resolve(prepared, collections, writing.load, analyze)
    judge_unique(steps, collections, writing.holders, writing.members)
    logged = [step for step in steps if step.kind is not None]
    if logged:
        position += 1
    for step in steps:
        writing.write(step, position)
    for move in moves:
        _move(cursor, space, move)
    for collection, group, rule in ruled_groups(steps, collections):
        writing.relist(collection, group, rule)
    if logged:
        writing.log(position, at, batch, logged)
    if steps:
        writing.finish(position, at if logged else last_at)
    return Receipt(position if logged else None, batch.operation, at)


def _move(cursor: sqlite3.Cursor, space: int, move: b.Reschedule) -> None:
    cursor.execute(
        """UPDATE amber_queue SET due_at = ?, attempts = coalesce(?, attempts)
           WHERE space = ? AND collection = ? AND key = ? AND due_at IS NOT NULL""",
        (move.due_at, move.attempts, space, move.collection, move.key),
    )


def claim(
    cursor: sqlite3.Cursor,
    statements: Mapping[str, Statements],
    space: int,
    names: Sequence[str],
    queue: str,
    n: int,
    *,
    lease: int,
    now: int,
) -> list[Lease]:
    """Hand out due rows of these collections, earliest first."""
    marks = ", ".join("?" * len(names))
    rows = cursor.execute(
        f"""SELECT collection, key, epoch, attempts FROM amber_queue
            WHERE space = ? AND queue = ? AND due_at <= ? AND collection IN ({marks})
            ORDER BY due_at, key, collection LIMIT ?""",
        (space, queue, now, *names, n),
    ).fetchall()
    leases = []
    for collection, key, epoch, attempts in rows:
        cursor.execute(
            """UPDATE amber_queue SET due_at = ?, epoch = ?, attempts = ?
               WHERE space = ? AND collection = ? AND key = ?""",
            (now + lease, epoch + 1, attempts + 1, space, collection, key),
        )
        body: Any = cursor.execute(statements[collection].get, (space, key)).fetchone()[3]
        leases.append(Lease(collection, key, epoch + 1, attempts + 1, now + lease, decode(body)))
    return leases
