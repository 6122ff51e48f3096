"""Before the lock: check a batch and derive what its documents need. The expensive part of a commit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from amber.errors import BadInput, TooLarge
from amber.model import batch as b
from amber.model.bounds import MAX_SPACE, check_int, check_key, check_name, check_text, is_plain
from amber.model.collection import Body, Collection
from amber.store.arguments import check_equal, find_collection
from amber.store.codec import encode
from amber.store.contract import LOST, PURGE
from amber.store.derive import Analyze, Derived, check_order


class Prepared:
    """A checked batch with what could be derived before the lock."""

    __slots__ = ("batch", "derived")

    def __init__(self, batch: b.Batch, derived: list[Derived | None]) -> None:
        self.batch = batch
        self.derived = derived


def prepare(
    batch: b.Batch, collections: Mapping[str, Collection], analyze: Analyze, max_writes: int = b.MAX_WRITES
) -> Prepared:
    """Check a batch and derive what its documents need.

    :raises BadInput, TooLarge: see ``Store.commit``.
    """
    check_name("space", batch.space, MAX_SPACE)
    check_name("operation", batch.operation)
    if batch.operation.startswith((PURGE, LOST)):
        raise BadInput(
            f"Operations that begin with {PURGE!r} or {LOST!r} are the store's own.", operation=batch.operation
        )
    check_int("at", batch.at)
    for target in batch.undoes:
        check_int("undoes", target, 1)
    check_text("actor", batch.actor)
    check_text("reason", batch.reason)
    check_text("session", batch.session)
    if len(batch.writes) > max_writes:
        raise TooLarge(f"A batch of {len(batch.writes)} writes is over the bound of {max_writes}; send several.")
    derived: list[Derived | None] = []
    total = 0
    for write in batch.writes:
        if type(write) not in b.WRITES:
            raise BadInput(f"A batch holds writes, not {write!r}.", write=write)
        collection = find_collection(collections, write.collection)
        if type(write.key) is not str or not write.key or not is_plain(write.key):
            check_name("key", write.key, b.MAX_KEY)
        if isinstance(write, (b.Put, b.Append)):
            encoded = _encode_body(write.body)
            total += len(encoded) if encoded.isascii() else len(encoded.encode())
            derived.append(Derived(collection, write.body, encoded, analyze))
            continue
        _check_small(write, collection)
        derived.append(None)
    if total > b.MAX_BYTES:
        raise TooLarge(f"A batch of {total} bytes is over the bound of {b.MAX_BYTES}; send several.", bytes=total)
    check_expectations(collections, batch.expectations)
    return Prepared(batch, derived)


def _encode_body(body: Body) -> str:
    if type(body) is not dict:
        raise BadInput(f"The body of a document must be a dict, not {type(body).__name__}.", body=body)
    return encode(body)


def _check_small(write: b.Write, collection: Collection) -> None:
    if isinstance(write, b.Add):
        check_int("n", write.n)
        if write.at_most is not None:
            check_int("at_most", write.at_most)
        if write.field not in collection.counters:
            raise BadInput(f"{collection.name} does not declare {write.field!r} as a counter.", field=write.field)
        if write.initial is not None:
            _encode_body(write.initial)
    elif isinstance(write, b.Touch):
        if not isinstance(write.values, Mapping):
            raise BadInput(f"A touch needs a mapping of fields to values, not {write.values!r}.", values=write.values)
        other = [name for name in write.values if name not in collection.touchable]
        if other:
            raise BadInput(f"{collection.name} does not declare {other} as touchable.", fields=other)
        encode(dict(write.values))
    elif isinstance(write, b.Reschedule):
        if collection.queue is None:
            raise BadInput(f"{collection.name} declares no queue.", collection=collection.name)
        check_int("due_at", write.due_at)
        if write.attempts is not None:
            check_int("attempts", write.attempts, 0)


def check_expectations(collections: Mapping[str, Collection], expectations: Iterable[b.Expectation]) -> None:
    """Check the form of expectations.

    :raises BadInput, TooLarge: when one can not be judged.
    """
    for expectation in expectations:
        if isinstance(expectation, b.Unchanged):
            collection = find_collection(collections, expectation.collection)
            _check_group(expectation.size)
            check_int("since", expectation.since)
            index = check_equal(collection, expectation.by, expectation.equal)
            check_order(collection, index.order, collection.columns[index.order].kind, expectation.low)
        elif isinstance(expectation, b.NotPurged):
            _check_group(len(expectation.sources))
            check_int("since", expectation.since)
            for name, key in expectation.sources:
                find_collection(collections, name)
                check_key(key)
        elif type(expectation) in b.EXPECTATIONS:
            collection = find_collection(collections, expectation.collection)
            check_key(expectation.key)
            if isinstance(expectation, b.AtRevision):
                check_int("revision", expectation.revision)
            elif isinstance(expectation, b.Leased):
                check_int("epoch", expectation.epoch)
                if collection.queue is None:
                    raise BadInput(f"{collection.name} declares no queue.", collection=collection.name)
        else:
            raise BadInput(f"A batch expects expectations, not {expectation!r}.", expectation=expectation)


def _check_group(size: int) -> None:
    check_int("size", size, 0)
    if size > b.MAX_GROUP:
        raise TooLarge(f"A batch can expect something of {b.MAX_GROUP} documents at a time, not {size}.", size=size)
