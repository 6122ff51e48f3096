"""Who takes part in forgetting: collections by declaration, others by joining; and what runs at the same time."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.services.stage import STORES, Open, target_of, values
from tests.services.test_forget import EXAMPLES, WORD, counted, said

from amber.errors import Conflict, Unavailable
from amber.memory import COLLECTIONS, Memory, open_store
from amber.model.batch import Batch, Put
from amber.model.collection import SCOPES, Collection, Field, ForgottenBy, ForgottenWith, Index
from amber.search.analyzer import _chunks
from amber.services.unit import Context, IdMaker
from amber.store.contract import Purged, Store

#: How fields and members of bodies that name a scope are called.
NAMES = {"sender": "sender", "session": "session", "project": "project", "projects": "project", "senders": "sender"}


class TestDeclarations:
    def test_every_field_that_names_a_scope_is_declared(self) -> None:
        for collection in COLLECTIONS:
            named = {NAMES[field.name] for field in collection.fields if field.name in NAMES}
            declared = {by.scope for by in collection.forgotten_by}
            assert named <= declared, f"{collection.name} has {named - declared} and says not how it is forgotten by it"

    def test_every_document_that_names_a_scope_goes_with_it(self, memory: Memory, tmp_path: Path) -> None:
        memory.import_sessions(EXAMPLES, sender="ana", project="atlas/web")
        session = memory.sessions.page(limit=1)[0].id
        memory.facts.put("x", sender="ana", project="atlas", session=session)
        memory.register("thing")
        memory.history.label("begun")
        # a new collection must have a document here
        held = {collection.name: memory.stats().documents[collection.name] for collection in COLLECTIONS}
        assert all(held.values()), held
        for collection in COLLECTIONS:
            for record in documents(memory, collection):
                scopes = {NAMES[name] for name in record.body if name in NAMES and record.body[name] is not None}
                reached = {by.scope for by in collection.forgotten_by}
                reached |= {scope for each in collection.forgotten_with for scope in each.scopes}
                assert scopes <= reached, (collection.name, scopes - reached)
        for scope, name in (("project", "atlas"), ("sender", "ana")):
            memory.forget(**{scope: name})  # type: ignore[arg-type]
            left = [record.body for collection in COLLECTIONS for record in documents(memory, collection)]
            assert [body for body in left if name in (body.get(scope) or "").split("/")] == []
        # types and labels name nobody
        kept = {name: held[name] for name in ("types", "labels")}
        assert memory.stats().documents == {**dict.fromkeys(held, 0), **kept}

    @pytest.mark.parametrize("by", ["name", "wide", "nothing"])
    def test_a_declaration_needs_an_index_that_forgets(self, by: str) -> None:
        fields = (Field("name"), Field("other"), Field("at", "int"))
        indexes = (Index("name", ("name",), "at"), Index("wide", ("name", "other"), "at", forget=True))
        for more in ({"forgotten_by": (ForgottenBy("sender", by),)}, {"forgotten_with": (ForgottenWith("facts", by),)}):
            with pytest.raises(ValueError, match="no index with forget and one equal field"):
                Collection("things", fields, indexes, **more)

    def test_a_new_collection_joins_by_its_declaration(self, store_of: Any) -> None:
        tasks = Collection(
            "tasks",
            fields=(Field("sender"), Field("fact"), Field("at", "int")),
            indexes=(
                Index("sender", ("sender",), "at", forget=True),
                Index("fact", ("fact",), "at", forget=True),
            ),
            forgotten_by=(ForgottenBy("sender", "sender"),),
            forgotten_with=(ForgottenWith("facts", "fact", ("sender",)),),
        )
        memory = memory_over(store_of((*COLLECTIONS, tasks)))
        fact = memory.facts.put(WORD, sender="ana")
        bodies = {"a": {"sender": "ana", "at": 1}, "b": {"fact": fact.id, "at": 2}, "c": {"sender": "ben", "at": 3}}
        memory._store.commit(Batch("acme", "op", 1, tuple(Put("tasks", key, body) for key, body in bodies.items())))
        assert memory.forget(sender="ana", dry_run=True).documents == {"facts": 1, "tasks": 2}
        assert memory.forget(sender="ana").documents == {"facts": 1, "tasks": 2}
        assert [memory._store.get("acme", "tasks", key) is None for key in "abc"] == [True, True, False]
        memory.close()


def documents(memory: Memory, collection: Collection) -> list[Any]:
    keys = {
        change.id
        for entry in memory.history.page(limit=10_000)
        for change in entry.changes
        if change.collection == collection.name
    }
    return [*memory._store.get_many(memory.space, collection.name, sorted(keys)).values()]


@pytest.fixture(params=STORES)
def store_of(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Give a maker of stores with other collections."""

    def make(collections: Sequence[Collection]) -> Store:
        return open_store(target_of(request.param, tmp_path), collections=collections)

    return make


def memory_over(store: Store) -> Memory:
    def clock() -> int:
        return 1_700_000_000_000_000

    return Memory(store, Context(store, "acme", clock, IdMaker(clock)))


class Files:
    """What a feature that publishes one file for each fact would be."""

    name = "published files"

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.files: dict[tuple[str, str, str], str] = {}
        self.settled: list[str] = []
        self.left: tuple[str, ...] = ()

    def count(self, space: str, collection: str, keys: Sequence[str]) -> int:
        return sum((space, collection, key) in self.files for key in keys)

    def forget(self, space: str, collection: str, keys: Sequence[str]) -> int:
        # before the documents are gone
        assert all(self.memory._store.get(space, collection, key) is not None for key in keys)
        return sum(self.files.pop((space, collection, key), None) is not None for key in keys)

    def settle(self, space: str) -> Sequence[str]:
        assert self.memory.facts.count(sender="ana") == 0
        self.settled.append(space)
        return self.left


class TestParticipants:
    def test_they_take_part(self, memory: Memory) -> None:
        files = Files(memory)
        for _ in range(2):
            memory._forgetting.participants.join(files)
        for sender in ("ana", "ana", "ben"):
            fact = memory.facts.put(f"{WORD} {len(files.files)}", sender=sender)
            files.files["acme", "facts", fact.id] = WORD
        planned = memory.forget(sender="ana", dry_run=True)
        assert (planned.others, len(files.files), files.settled) == ({"published files": 2}, 3, [])
        files.left = ("a copy on a server that is away: call again",)
        receipt = memory.forget(sender="ana")
        assert counted(receipt) == counted(planned)
        assert (len(files.files), files.settled) == (1, ["acme"])
        assert receipt.remaining == files.left
        assert "2 published files" in str(receipt)
        assert "not clean yet: a copy on a server that is away" in str(receipt)

    def test_cached_words_are_forgotten(self, memory: Memory) -> None:
        memory.facts.put(WORD, sender="ana")
        memory.recall(WORD)
        assert WORD in {*_chunks, *_chunks.old}
        memory.forget(sender="ana")
        assert WORD not in {*_chunks, *_chunks.old}


class TestKilled:
    """A call that ends in the middle is finished by the same call."""

    def test_at_each_purge(self, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
        memory.import_sessions(EXAMPLES / "claude", sender="ana")
        session = memory.sessions.page(limit=1)[0].id
        last = memory.facts.put(f"{WORD} 0", sender="ana", session=session)
        for n in range(1, 8):
            last = memory.facts.put(f"{WORD} {n}", derived_from=[last], source="derived")
        memory.facts.put(f"{WORD} alone", session=session)
        memory.facts.put("kept", sender="ben")
        planned = memory.forget(sender="ana", dry_run=True)
        purge, removed, calls = memory._store.purge, Purged(0, 0, True), 0
        while True:
            passed = 0

            def broken(*given: Any, **more: Any) -> Purged:
                nonlocal passed, removed
                # one that found something to do, and then the power failed
                if passed:
                    raise Unavailable("the power failed")
                done = purge(*given, **more)
                passed += done.position is not None
                removed = Purged(removed.documents + done.documents, removed.changes + done.changes, True)
                return done

            with monkeypatch.context() as patch:
                patch.setattr(memory._store, "purge", broken)
                calls += 1
                assert calls < 200
                try:
                    memory.forget(sender="ana")
                    break
                except Unavailable:
                    assert memory.verify() == []
        assert calls > 10
        assert removed.documents == planned.total
        assert removed.changes == sum(planned.images.values())
        assert values(memory) == ["kept"]
        assert {name: n for name, n in memory.stats().documents.items() if n} == {"facts": 1}
        assert WORD not in said(memory)


class TestConcurrent:
    def test_writers_go_on_and_what_was_there_is_gone(self, memory: Memory, open_memory: Open) -> None:
        old = []
        for start in range(0, 600, 100):
            with memory.transaction() as tx:
                old += [tx.facts.put(f"old {n}", sender="ana").id for n in range(start, start + 100)]
        stop, began = threading.Event(), threading.Event()
        written: list[str] = []

        def write(number: int) -> None:
            n = 0
            while not stop.is_set() and n < 2_000:
                written.append(memory.facts.put(f"new {number} {n}", sender="ana").id)
                memory.facts.put(f"ben {number} {n}", sender="ben")
                n += 1
                if n > 5:
                    began.set()

        threads = [threading.Thread(target=write, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        assert began.wait(30)
        before = len(written)
        receipt = memory.forget(sender="ana")
        stop.set()
        for thread in threads:
            thread.join()
        there = set(memory._store.get_many("acme", "facts", [*old, *written]))
        assert not there & {*old, *written[:before]}
        assert receipt.total >= 600 + before
        assert memory.facts.count(sender="ben") >= 15
        memory.forget(sender="ana")
        assert memory.facts.count(sender="ana") == 0

    def test_two_at_a_time(self, memory: Memory) -> None:
        with memory.transaction() as tx:
            for n in range(900):
                tx.facts.put(f"{WORD} {n}", sender="ana")
        receipts: list[Any] = []
        threads = [threading.Thread(target=lambda: receipts.append(memory.forget(sender="ana"))) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(receipt.total for receipt in receipts) == 900
        assert memory.facts.count(sender="ana") == 0

    def test_it_gives_up_when_others_are_always_faster(self, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
        source = memory.facts.put(WORD, sender="ana")
        purge = memory._store.purge

        def slower(*given: Any, **more: Any) -> Purged:
            memory.facts.put(f"so {memory.history.position()}", derived_from=[source], source="derived")
            return purge(*given, **more)

        with monkeypatch.context() as patch:
            patch.setattr(memory._store, "purge", slower)
            with pytest.raises(Conflict):
                memory.forget(sender="ana")
        memory.forget(sender="ana")
        assert memory.facts.count() == 0


def test_scopes_are_what_forget_takes() -> None:
    assert set(SCOPES) == {"sender", "session", "project"}
