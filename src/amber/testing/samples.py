"""The collections and small tools that the conformance suite works with; between them they use all of a declaration."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any

from amber.model import batch as b
from amber.model.collection import (
    Body,
    Collection,
    Facets,
    Field,
    FieldIndex,
    Index,
    Queue,
    Record,
    Rules,
    Search,
    Unique,
)
from amber.store.contract import Clause, LogQuery, Receipt, SearchFilter, Store
from amber.testing.clock import FakeClock

MakeStore = Callable[[Iterable[Collection]], Store]

#: The space that a test works in unless it says otherwise.
SPACE = "main"


def words(text: str) -> list[str]:
    """Give the tokens of a text: what the suite's stores analyse with."""
    return text.casefold().split()


def facets(body: Body) -> Facets:
    """Give what a search for a sample document can be narrowed by."""
    return Facets(body.get("sender"), body.get("project"), body.get("session"), body.get("type"), body.get("at") or 0)


def forbids(before: Body, after: Body | None, _: int) -> bool:
    """Tell whether immutability forbids a step: an immutable fact keeps its payload and is not deleted."""
    return after is None or after.get("payload") != before.get("payload")


#: Everything but a queue. One active fact has a handle, one fact a pair of first and last name.
FACTS = Collection(
    "facts",
    fields=(
        Field("type"),
        Field("name"),
        Field("size", "int"),
        Field("labels", many=True),
        Field("always", "int", derive=lambda _: 0),
        Field("uses", "int"),
    ),
    indexes=(
        Index("name", (), "name"),
        Index("size", ("type",), "size", forget=True),
        Index("group", ("type",), "always"),
        Index("label", ("labels",), "size", forget=True),
        Index("typed_label", ("type", "labels"), "name"),
    ),
    unique=(
        Unique("handle", lambda body: body.get("handle"), lambda body: body.get("state") == "active"),
        Unique("pair", lambda body: (body.get("first"), body.get("last")), lambda _: True),
    ),
    search=Search(lambda body: body.get("text"), facets),
    field_index=FieldIndex("payload", "type"),
    rules=Rules("kinds", lambda body: body.get("type"), lambda body: body.get("state") != "retired", forbids, "group"),
    touchable=frozenset({"seen"}),
    counters=frozenset({"n", "m", "uses"}),
)
#: The rules of the types of facts.
KINDS = Collection("kinds")
#: Appended once, logged without the image after it.
NOTES = Collection(
    "notes",
    fields=(Field("thread"), Field("at", "int")),
    indexes=(Index("thread", ("thread",), "at"),),
    search=Search(lambda body: body.get("text"), facets),
    log="before",
)
#: Two collections that wait in one queue.
JOBS = Collection("jobs", queue=Queue("work", "due"), touchable=frozenset({"seen"}), counters=frozenset({"n"}))
ERRANDS = Collection("errands", queue=Queue("work", "due"))

COLLECTIONS = (FACTS, KINDS, NOTES, JOBS, ERRANDS)

_numbers = count(1)


def operation() -> str:
    """Give an operation id that was not given before."""
    return f"operation-{os.getpid()}-{next(_numbers)}"


class Hand:
    """Write to a store in few words."""

    def __init__(self, store: Store, clock: FakeClock | None = None, space: str = SPACE) -> None:
        self.store, self.space = store, space
        self.clock = clock or FakeClock()

    def batch(self, *writes: b.Write, expect: Sequence[b.Expectation] = (), **rest: Any) -> b.Batch:
        """Make a batch of the writes; what is not given is filled in."""
        rest.setdefault("space", self.space)
        rest.setdefault("operation", operation())
        if "at" not in rest:
            rest["at"] = self.clock.advance(microseconds=1)
        return b.Batch(writes=writes, expectations=tuple(expect), **rest)

    def send(self, *writes: b.Write, expect: Sequence[b.Expectation] = (), **rest: Any) -> Receipt:
        """Commit the writes."""
        return self.store.commit(self.batch(*writes, expect=expect, **rest))

    def put(self, key: str, collection: str = "facts", /, **body: Any) -> int:
        """Put one document and give its position."""
        return placed(self.send(b.Put(collection, key, body)))

    def delete(self, key: str, /, collection: str = "facts") -> int:
        """Delete one document and give the position."""
        return placed(self.send(b.Delete(collection, key)))

    def get(self, key: str, /, collection: str = "facts") -> Record:
        """Give a document that is there."""
        record = self.store.get(self.space, collection, key)
        assert record is not None, f"{collection}/{key} is absent"
        return record

    def body(self, key: str, /, collection: str = "facts") -> Body:
        """Give the body of a document that is there."""
        return self.get(key, collection).body

    def absent(self, key: str, /, collection: str = "facts") -> bool:
        """Tell whether there is no such document."""
        return self.store.get(self.space, collection, key) is None

    def keys(
        self, index: str, equal: Sequence[str | int] = (), /, collection: str = "facts", **options: Any
    ) -> list[str]:
        """Give the keys of a scan."""
        return [record.key for record in self.store.scan(self.space, collection, index, equal, **options).rows]


def placed(receipt: Receipt) -> int:
    """Give the position of a receipt that has one."""
    assert receipt.position is not None, "nothing was logged"
    return receipt.position


def snapshot(store: Store, space: str = SPACE) -> list[Any]:
    """Give all that can be read of a space: equal before and after what must change nothing."""
    position = store.position(space)
    entries = store.log(space, LogQuery(reverse=False, limit=10_000))
    places = sorted({(change.collection, change.key) for entry in entries for change in entry.changes})
    kept = [(collection, store.get(space, collection, key)) for collection, key in places]
    terms = sorted({term for _, record in kept if record for term in words(str(record.body.get("text") or ""))})
    queued = [store.queued(space, collection, key) for collection, key in places]
    indexed = [
        [store.scan(space, "facts", "name").rows, store.scan(space, "notes", "thread", ("t",)).rows],
        store.text_stats(space, terms),
        store.candidates(space, [Clause((term,), 1) for term in terms], SearchFilter()),
    ]
    sizes = store.stats(space)._replace(bytes=None)
    return [position, entries, kept, queued, indexed, sizes, store.verify(space)]
