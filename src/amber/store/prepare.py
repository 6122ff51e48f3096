"""Before the lock: check a batch and derive what its documents need. The expensive part of a commit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from amber.errors import BadInput, TooLarge
from amber.model import batch as b
from amber.model.bounds import MAX_SPACE, check_name, check_text
from amber.model.collection import Collection
from amber.store.arguments import check_equal, find_collection
from amber.store.codec import encode
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
    if type(batch.at) is not int:
        raise BadInput(f"The time of a batch must be integer microseconds, not {batch.at!r}.", at=batch.at)
    for name in ("actor", "reason", "session"):
        check_text(name, getattr(batch, name))
    if len(batch.writes) > max_writes:
        raise TooLarge(f"A batch of {len(batch.writes)} writes is over the bound of {max_writes}; send several.")
    derived: list[Derived | None] = []
    total = 0
    for write in batch.writes:
        collection = find_collection(collections, write.collection)
        check_name("key", write.key, b.MAX_KEY)
        if isinstance(write, (b.Put, b.Append)):
            encoded = encode(write.body)
            total += len(encoded)
            derived.append(Derived(collection, write.body, encoded, analyze))
            continue
        _check_small(write, collection)
        derived.append(None)
    if total > b.MAX_BYTES:
        raise TooLarge(f"A batch of {total} bytes is over the bound of {b.MAX_BYTES}; send several.", bytes=total)
    _check_expectations(batch.expectations, collections)
    return Prepared(batch, derived)


def _check_small(write: b.Write, collection: Collection) -> None:
    if isinstance(write, b.Add):
        if type(write.n) is not int:
            raise BadInput(f"Add needs an int, not {write.n!r}.", n=write.n)
        if write.field not in collection.counters:
            raise BadInput(f"{collection.name} does not declare {write.field!r} as a counter.", field=write.field)
        if write.initial is not None:
            encode(write.initial)
    elif isinstance(write, b.Touch):
        other = sorted(set(write.values) - collection.touchable)
        if other:
            raise BadInput(f"{collection.name} does not declare {other} as touchable.", fields=other)
        encode(dict(write.values))
    elif isinstance(write, b.Reschedule):
        if collection.queue is None:
            raise BadInput(f"{collection.name} declares no queue.", collection=collection.name)
        if type(write.due_at) is not int:
            raise BadInput(f"due_at must be integer microseconds, not {write.due_at!r}.")


def _check_expectations(expectations: Iterable[b.Expectation], collections: Mapping[str, Collection]) -> None:
    for expectation in expectations:
        if isinstance(expectation, b.NotPurged):
            _check_group(len(expectation.sources))
            for name, _ in expectation.sources:
                find_collection(collections, name)
            continue
        collection = find_collection(collections, expectation.collection)
        if isinstance(expectation, b.Unchanged):
            _check_group(expectation.size)
            index = check_equal(collection, expectation.by, expectation.equal)
            check_order(collection, index.order, collection.columns[index.order].kind, expectation.low)
        elif isinstance(expectation, b.Leased) and collection.queue is None:
            raise BadInput(f"{collection.name} declares no queue.", collection=collection.name)


def _check_group(size: int) -> None:
    if size > b.MAX_GROUP:
        raise TooLarge(f"A batch can expect something of {b.MAX_GROUP} documents at a time, not {size}.", size=size)
