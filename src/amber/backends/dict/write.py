"""Commit and claim of the in-process store: everything is judged before the first change."""

from __future__ import annotations

from collections.abc import Mapping

from amber.backends.dict.read import unchanged
from amber.backends.dict.space import Space, StoredChange, StoredEntry
from amber.errors import Conflict, LeaseLost, SourcePurged
from amber.model import batch as b
from amber.model.collection import Collection
from amber.store.arguments import check_claim
from amber.store.codec import decode
from amber.store.constraints import judge_unique, rule_homes, ruled_groups
from amber.store.contract import LOST, PURGE, Lease, QueueState, Receipt
from amber.store.derive import Analyze
from amber.store.prepare import Prepared
from amber.store.resolve import resolve
from amber.store.step import Step, log_images


def commit(space: Space, prepared: Prepared, collections: Mapping[str, Collection], analyze: Analyze) -> Receipt:
    """Apply a prepared batch."""
    batch = prepared.batch
    first = receipt(space, batch.operation)
    if first is not None:
        return first
    for expectation in batch.expectations:
        judge(space, collections, expectation)
    at = max(batch.at, space.time) if space.position else batch.at
    steps, moves = resolve(prepared, collections, space.load, analyze)
    groups = ruled_groups(steps, rule_homes(collections.values()))
    judge_unique(steps, groups, lambda constraint, value: space.unique.get((constraint, value), ()), space.members)
    logged = [step for step in steps if step.kind is not None]
    position = space.position + 1 if logged else space.position
    changes = [_change(step) for step in logged]
    for step in steps:
        space.apply(step, position)
    for move in moves:
        _move(space, move)
    for collection, group, rule in groups:
        space.relist(collection, group, rule)
    if not logged:
        return Receipt(None, batch.operation, at)
    space.log.append(
        StoredEntry(position, batch.operation, at, batch.actor, batch.reason, batch.session, batch.undoes, changes)
    )
    space.operations[batch.operation] = position
    for target in batch.undoes:
        space.undone[target].append(position)
    for number, step in enumerate(logged):
        space.places[step.collection.name, step.key][position] = number
    return Receipt(position, batch.operation, at)


def receipt(space: Space, operation: str) -> Receipt | None:
    """Give the first receipt of an operation."""
    position = space.operations.get(operation) if not operation.startswith((PURGE, LOST)) else None
    return Receipt(position, operation, space.entry(position).at, repeated=True) if position is not None else None


def _change(step: Step) -> StoredChange:
    before, after = log_images(step)
    assert step.kind is not None
    return StoredChange(step.collection.name, step.key, step.kind, before, after, dict(step.deltas) or None)


def _move(space: Space, move: b.Reschedule) -> None:
    state = space.queue.get((move.collection, move.key))
    if state is not None and state.due_at is not None:
        attempts = state.attempts if move.attempts is None else move.attempts
        space.queue[move.collection, move.key] = QueueState(move.due_at, state.epoch, attempts)


def judge(space: Space, collections: Mapping[str, Collection], expectation: b.Expectation) -> None:
    """Raise the error of an expectation that does not hold."""
    if isinstance(expectation, b.NotPurged):
        for place in expectation.sources:
            if space.purged.get(place, -1) > expectation.since:
                raise SourcePurged(
                    f"{place[0]}/{place[1]} was forgotten since it was read.", collection=place[0], key=place[1]
                )
        return
    name = expectation.collection
    if isinstance(expectation, b.Unchanged):
        if not unchanged(space, collections[name], expectation):
            raise Conflict(
                f"The group {name}.{expectation.by}{[*expectation.equal]} changed since {expectation.since}.",
                collection=name,
                index=expectation.by,
                equal=expectation.equal,
            )
        return
    key = expectation.key
    if isinstance(expectation, b.Leased):
        state = space.queue.get((name, key))
        if state is None or state.due_at is None or state.epoch != expectation.epoch:
            raise LeaseLost(f"The lease {expectation.epoch} of {name}/{key} is lost.", collection=name, key=key)
        return
    stored = space.documents[name].get(key)
    actual = stored.revision if stored is not None else None
    expected = expectation.revision if isinstance(expectation, b.AtRevision) else None
    if actual != expected:
        raise conflict(name, key, expected, actual)


def conflict(collection: str, key: str, expected: int | None, actual: int | None) -> Conflict:
    """Say what was expected of a document and what is there."""
    was = "absent" if expected is None else f"at revision {expected}"
    now = "absent" if actual is None else f"at revision {actual}"
    return Conflict(
        f"{collection}/{key} was expected {was} and is {now}.",
        collection=collection,
        key=key,
        expected=expected,
        actual=actual,
    )


def claim(
    space: Space, collections: Mapping[str, Collection], queue: str, n: int, *, lease: int, now: int
) -> list[Lease]:
    """Hand out due rows, earliest first."""
    names = check_claim(collections, queue, n, lease, now)
    due = sorted(
        (state.due_at, place[1], place[0])
        for place, state in space.queue.items()
        if place[0] in names and state.due_at is not None and state.due_at <= now
    )
    leases = []
    for _, key, collection in due[:n]:
        state = space.queue[collection, key]
        taken = QueueState(now + lease, state.epoch + 1, state.attempts + 1)
        space.queue[collection, key] = taken
        body = decode(space.documents[collection][key].encoded)
        leases.append(Lease(collection, key, taken.epoch, taken.attempts, now + lease, body))
    return leases
