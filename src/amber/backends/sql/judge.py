"""What a batch expects, judged inside the writer's transaction."""

from __future__ import annotations

from collections.abc import Mapping

from amber.backends.sql.engine import Execute
from amber.backends.sql.statements import Statements
from amber.errors import Conflict, LeaseLost, SourcePurged
from amber.model import batch as b


def judge(execute: Execute, space: int, statements: Mapping[str, Statements], expectation: b.Expectation) -> None:
    """Raise the error of an expectation that does not hold."""
    if isinstance(expectation, b.Unchanged):
        _judge_group(execute, space, statements[expectation.collection], expectation)
    elif isinstance(expectation, b.NotPurged):
        _judge_sources(execute, space, expectation)
    elif isinstance(expectation, b.Leased):
        _judge_lease(execute, space, expectation)
    else:
        _judge_document(execute, space, statements[expectation.collection], expectation)


def _judge_document(execute: Execute, space: int, statements: Statements, expectation: b.AtRevision | b.Absent) -> None:
    name, key = expectation.collection, expectation.key
    row = execute(statements.revision, (space, key)).fetchone()
    actual = row[0] if row is not None else None
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


def _judge_group(execute: Execute, space: int, statements: Statements, expectation: b.Unchanged) -> None:
    whole, bounded = statements.groups[expectation.by]
    low = expectation.low
    if low is None:
        found = execute(whole, (space, *expectation.equal))
    else:
        found = execute(bounded, (space, *expectation.equal, low))
    count, newest = found.fetchone()
    if count != expectation.size or (newest or 0) > expectation.since:
        name = f"{expectation.collection}.{expectation.by}{list(expectation.equal)}"
        raise Conflict(
            f"The group {name} changed since position {expectation.since}.",
            collection=expectation.collection,
            index=expectation.by,
            equal=expectation.equal,
        )


def _judge_lease(execute: Execute, space: int, expectation: b.Leased) -> None:
    name, key = expectation.collection, expectation.key
    sql = "SELECT due_at, epoch FROM amber_queue WHERE space = ? AND collection = ? AND key = ? /* lock */"
    row = execute(sql, (space, name, key)).fetchone()
    if row is None or row[0] is None or row[1] != expectation.epoch:
        raise LeaseLost(f"The lease {expectation.epoch} of {name}/{key} is lost.", collection=name, key=key)


def _judge_sources(execute: Execute, space: int, expectation: b.NotPurged) -> None:
    for name, key in expectation.sources:
        sql = "SELECT position FROM amber_purged WHERE space = ? AND collection = ? AND key = ?"
        row = execute(sql, (space, name, key)).fetchone()
        if row is not None and row[0] > expectation.since:
            raise SourcePurged(f"{name}/{key} was forgotten since it was read.", collection=name, key=key)
