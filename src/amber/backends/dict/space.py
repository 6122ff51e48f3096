"""What the in-process store holds for one space, and how a step changes it.

Bodies are kept encoded, so that nobody outside can change what is stored.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from typing import Any, NamedTuple

from amber.model.collection import Body, Collection, Facets, Order, Record
from amber.store.codec import decode
from amber.store.contract import ChangeKind, Horizon, QueueState
from amber.store.derive import Derived
from amber.store.step import Step, departures

Place = tuple[str, str]
Entry = tuple[Order, str]


class Stored(NamedTuple):
    """A document at rest, with what was derived from it."""

    created: int
    revision: int
    encoded: str
    derived: Derived


class StoredChange(NamedTuple):
    """A change at rest: images are encoded."""

    collection: str
    key: str
    kind: ChangeKind
    before: str | None
    after: str | None
    deltas: dict[str, int] | None
    purged: bool = False


class StoredEntry(NamedTuple):
    """A log entry at rest."""

    position: int
    operation: str
    at: int
    actor: str | None
    reason: str | None
    session: str | None
    undoes: tuple[int, ...]
    changes: list[StoredChange]


class Space:
    """One space: documents, indexes, log and the rest."""

    def __init__(self) -> None:
        #: the entries after the horizon
        self.log: list[StoredEntry] = []
        self.horizon = Horizon()
        self.operations: dict[str, int] = {}
        self.undone: dict[int, list[int]] = defaultdict(list)
        self.documents: dict[str, dict[str, Stored]] = defaultdict(dict)
        self.indexes: dict[tuple[str, str, tuple[Order, ...]], list[Entry]] = {}
        self.entries: dict[tuple[str, str, str], set[str]] = defaultdict(set)
        self.unique: dict[tuple[str, str], set[str]] = defaultdict(set)
        self.postings: dict[str, dict[Place, int]] = defaultdict(dict)
        self.texts: dict[Place, tuple[int, Facets]] = {}
        self.tokens = 0
        #: the places of texts in order, and the position that they are right at
        self.listed: tuple[int, list[Place]] = (0, [])
        self.queue: dict[Place, QueueState] = {}
        self.purged: dict[Place, int] = {}
        # by document: the positions at which it was changed, each with the number of the change in its entry
        self.places: dict[Place, dict[int, int]] = defaultdict(dict)
        self.departed: dict[tuple[str, str, tuple[Order, ...]], dict[str, None]] = {}
        # the same by document: where it stood once
        self.marks: dict[Place, set[tuple[str, tuple[Order, ...]]]] = {}

    @property
    def position(self) -> int:
        return self.horizon.position + len(self.log)

    @property
    def time(self) -> int:
        """The time of the newest entry."""
        return self.log[-1].at if self.log else self.horizon.at

    def place_of(self, position: int) -> int:
        """Give the place of an entry in the list of those that are left."""
        return position - self.horizon.position - 1

    def entry(self, position: int) -> StoredEntry:
        """Give an entry after the horizon."""
        return self.log[self.place_of(position)]

    def load(self, collection: str, key: str) -> Record | None:
        """Give a document as an own copy."""
        stored = self.documents[collection].get(key)
        if stored is None:
            return None
        return Record(key, stored.created, stored.revision, decode(stored.encoded))

    def apply(self, step: Step, position: int) -> None:
        """Carry out a step; nothing in here can fail."""
        collection, key = step.collection, step.key
        documents = self.documents[collection.name]
        old = documents.get(key)
        if step.is_light and old is not None:
            revision = position if step.kind is not None else old.revision
            old.derived.columns.update(collection.count_columns(step.body or {}))
            documents[key] = Stored(old.created, revision, step.encoded, old.derived)
            return
        for index, equal in departures(step):
            self.mark((collection.name, key), index, equal)
        if old is not None:
            self.withdraw(collection, key, old.derived)
        for pair in step.old_unique:
            self.unique[pair].discard(key)
        for pair in step.new_unique:
            self.unique[pair].add(key)
        if step.derived is None:
            documents.pop(key, None)
            self._enqueue(collection, key, old.derived.due if old is not None else None, None)
            return
        created = old.created if old is not None else position
        documents[key] = Stored(created, position, step.encoded, step.derived)
        self.enter(collection, key, step.derived)
        self._enqueue(collection, key, old.derived.due if old is not None else None, step.derived.due)

    def _enqueue(self, collection: Collection, key: str, old: int | None, new: int | None) -> None:
        # the row of a document that left its queue stays, so that an epoch never comes twice
        if new == old:
            return
        state = self.queue.get((collection.name, key))
        epoch, attempts = (state.epoch + 1, state.attempts) if state else (0, 0)
        self.queue[collection.name, key] = QueueState(new, epoch, 0 if old is None else attempts)

    def enter(self, collection: Collection, key: str, derived: Derived) -> None:
        """Make a document findable."""
        name = collection.name
        for index, equal, order in index_entries(collection, derived):
            insort(self.indexes.setdefault((name, index, equal), []), (order, key))
        for path, value in derived.entries:
            self.entries[name, path, value].add(key)
        if derived.terms is not None:
            for term, count in derived.terms.items():
                self.postings[term][name, key] = count
            self.texts[name, key] = (derived.length, derived.facets)
            self.tokens += derived.length

    def withdraw(self, collection: Collection, key: str, derived: Derived) -> None:
        """Make a document unfindable."""
        name = collection.name
        for index, equal, order in index_entries(collection, derived):
            rows = self.indexes[name, index, equal]
            del rows[bisect_left(rows, (order, key))]
            if not rows:
                del self.indexes[name, index, equal]
        for path, value in derived.entries:
            self.entries[name, path, value].discard(key)
        for term in derived.terms or ():
            postings = self.postings[term]
            del postings[name, key]
            if not postings:
                del self.postings[term]
        if self.texts.pop((name, key), None) is not None:
            self.tokens -= derived.length

    def mark(self, place: Place, by: str, equal: tuple[Order, ...]) -> None:
        """Remember that a document once stood in an index under these values."""
        self.departed.setdefault((place[0], by, equal), {})[place[1]] = None
        self.marks.setdefault(place, set()).add((by, equal))

    def unmark(self, place: Place, by: str | None, equal: tuple[Order, ...]) -> None:
        """Forget that a document once stood in an index under these values; everywhere when no index is named."""
        marks = self.marks.get(place, set())
        for mark in [*marks] if by is None else [(by, equal)]:
            if mark in marks:
                marks.discard(mark)
                departed = self.departed[place[0], *mark]
                del departed[place[1]]
                if not departed:
                    del self.departed[place[0], *mark]
        if not marks:
            self.marks.pop(place, None)

    def relist(self, collection: Collection, group: str, rule: Body | None) -> None:
        """List the unique values of a group anew, after its run-time rule changed."""
        constraint = collection.rule_name(group)
        for pair in [pair for pair in self.unique if pair[0] == constraint]:
            del self.unique[pair]
        for key, body in self.members(collection, group):
            for pair in collection.unique_values(body, rule):
                self.unique[pair].add(key)

    def members(self, collection: Collection, group: str) -> list[tuple[str, Body]]:
        """Give the documents that fall under the run-time rule of a group."""
        if collection.rules is None:
            return []
        keys = [key for _, key in self.indexes.get((collection.name, collection.rules.by, (group,)), [])]
        return [(key, decode(self.documents[collection.name][key].encoded)) for key in keys]


def index_entries(collection: Collection, derived: Derived) -> list[tuple[str, tuple[Order, ...], Order]]:
    """Give all (index, equal values, order value) of a document."""
    found: list[tuple[str, tuple[Order, ...], Order]] = []
    for index in collection.indexes:
        if index.name in derived.many:
            found.extend((index.name, equal, order) for equal, order in derived.many[index.name])
            continue
        equal: tuple[Any, ...] = tuple(derived.columns[name] for name in index.equal)
        order = derived.columns[index.order]
        if order is not None and None not in equal:
            found.append((index.name, equal, order))
    return found
