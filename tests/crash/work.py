"""What the children of the crash tests do to a store; each function is run in a process that may be killed."""

from __future__ import annotations

import sys
from pathlib import Path

from amber.backends.sqlite import SQLiteStore
from amber.model import batch as b
from amber.model.collection import Collection, Field, Index
from amber.store.contract import Oldest, Selection
from amber.testing.samples import COLLECTIONS, FACTS, SPACE, Hand, words

F = "facts"
LONG = "long word " * 3_000

BATCHES: dict[str, tuple[b.Write, ...]] = {
    "insert": (b.Put(F, "new", {"type": "t", "size": 9, "name": "n", "labels": ["x"], "text": "fresh word"}),),
    "replace": (b.Put(F, "a", {"type": "u", "size": 8, "labels": ["y"], "text": "other", "payload": {"x": 2}}),),
    "delete": (b.Delete(F, "a"),),
    "append": (b.Append("notes", "n2", {"thread": "t", "at": 2, "text": LONG}),),
    "add": (b.Add(F, "a", "n", 5),),
    "touch": (b.Touch(F, "a", {"seen": 7}), b.Touch("jobs", "j", {"seen": 7})),
    "queue": (b.Put("jobs", "j", {"due": 99}), b.Put("jobs", "k", {"due": 1}), b.Reschedule("jobs", "k", 50)),
    "rule": (b.Put("kinds", "t", {"unique": [[["payload", "x"]]]}),),
    "many": (
        b.Put(F, "a", {"type": "t", "text": "swapped", "handle": "h2", "state": "active"}),
        b.Put(F, "b", {"type": "t", "text": "swapped", "handle": "h1", "state": "active"}),
        b.Delete("notes", "n1"),
        b.Append("notes", "n3", {"thread": "t", "at": 3, "text": LONG}),
        b.Put("jobs", "j", {"due": None}),
        b.Add(F, "counted", "n", 1, initial={"name": "c"}),
    ),
}

WIDER = Collection(
    "facts",
    fields=(*FACTS.fields, Field("state")),
    indexes=(*FACTS.indexes, Index("state", ("state",), "name")),
    unique=FACTS.unique,
    search=FACTS.search,
    field_index=FACTS.field_index,
    rules=FACTS.rules,
    touchable=FACTS.touchable,
    counters=FACTS.counters,
)


def opened(path: str | Path, *, wider: bool = False) -> SQLiteStore:
    """Open the store of a test; ``wider`` with one more field and index, and another analyzer."""
    collections = tuple(WIDER if wider and each is FACTS else each for each in COLLECTIONS)
    return SQLiteStore(path, collections, analyze=words, analyzer="2" if wider else "1", timeout=5.0)


def fill(path: str | Path) -> None:
    """Make the state that every crash test begins with."""
    with opened(path) as store:
        hand = Hand(store)
        body = {"type": "t", "size": 1, "name": "n", "labels": ["x", "y"], "text": "some words", "payload": {"x": 1}}
        hand.put("a", **body, handle="h1", state="active", n=1)
        hand.put("b", **{**body, "text": LONG, "size": 2, "payload": {"x": 2}}, handle="h2", state="active")
        hand.put("n1", "notes", thread="t", at=1, text="a note")
        hand.put("j", "jobs", due=5)


def commit(path: str, name: str) -> None:
    """Commit one batch."""
    with opened(path) as store:
        store.commit(b.Batch(SPACE, "the batch", 2_000_000_000_000_000, BATCHES[name], actor="ana"))


def purge(path: str, way: str) -> None:
    """Forget two documents."""
    selection = Selection(F, ("a", "b")) if way == "keys" else Selection(F, by="size", equal=("t",))
    with opened(path) as store:
        store.purge(SPACE, selection, now=2_000_000_000_000_000)


def trim(path: str) -> None:
    """Forget the two oldest entries."""
    with opened(path) as store:
        store.purge(SPACE, Oldest(2), now=2_000_000_000_000_000)


def claim(path: str) -> None:
    """Claim what is due."""
    with opened(path) as store:
        store.claim(SPACE, "work", 10, lease=1_000, now=2_000_000_000_000_000)


def scrub(path: str) -> None:
    """Remove what a purge left from the raw file."""
    with opened(path) as store:
        store.scrub()


def verify(path: str) -> None:
    """Look whether everything agrees."""
    with opened(path) as store:
        store.verify()


def copy_space(path: str) -> None:
    """Load what one space holds into another one."""
    with opened(path) as store:
        store.load("copied", enumerate(store.export(SPACE)))


def back_up(path: str) -> None:
    """Copy the file while it is open."""
    with opened(path) as store:
        store.backup(f"{path}.backup", overwrite=True)


def create(path: str) -> None:
    """Make a new store."""
    opened(path).close()


def widen(path: str) -> None:
    """Open with another declaration and another analyzer."""
    opened(path, wider=True).close()


def write_on(path: str, name: str) -> None:
    """Commit for ever, and say after each commit which one was answered."""
    store = opened(path)
    number = 0
    while True:
        key = f"{name}-{number}"
        writes = (b.Put(F, key, {"name": key, "text": f"word {key}"}), b.Add(F, "count", "n", 1, initial={}))
        receipt = store.commit(b.Batch(SPACE, key, 1, writes))
        sys.stdout.write(f"{key} {receipt.position}\n")
        sys.stdout.flush()
        number += 1
