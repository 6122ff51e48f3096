"""Declarations that change from one version of an application to the next."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from tests.backends.conftest import Open, closing_connection

from amber.backends.sqlite import SQLiteStore
from amber.errors import BadInput, UniqueViolation
from amber.model import batch as b
from amber.model.collection import Collection, Field, Index, Queue, Search, Unique
from amber.store.contract import Clause, SearchFilter, Selection
from amber.testing.samples import COLLECTIONS, ERRANDS, FACTS, JOBS, KINDS, SPACE, Hand, facets, words

BODY: dict[str, Any] = {"type": "t", "size": 1, "name": "n", "labels": ["l"], "text": "some words", "payload": {"x": 1}}


def changed(collection: Collection, **fields: Any) -> Collection:
    """Give a declaration with other values in some of its parts."""
    made = {each.name: getattr(collection, each.name) for each in dataclasses.fields(collection) if each.init}
    return Collection(**{**made, **fields})


def among(collection: Collection) -> tuple[Collection, ...]:
    """Give the sample collections with one replaced."""
    return tuple(collection if each.name == collection.name else each for each in COLLECTIONS)


@pytest.fixture
def filled(open_store: Open) -> None:
    """Fill a store in two spaces and close it."""
    store = open_store()
    for space in (SPACE, "other"):
        hand = Hand(store, space=space)
        for number in range(5):
            hand.put(f"k{number}", **{**BODY, "size": number}, colour="red" if number % 2 else None, tags=["x", "y"])
        hand.send(b.Put("facts", "k0", {**hand.body("k0"), "more": 1}))
        hand.put("j", "jobs", due=5)
        hand.put("due", "kinds", when=7)
    store.close()


def find(store: SQLiteStore, word: str) -> list[str]:
    return [each.key for each in store.candidates(SPACE, [Clause((word,), 1)], SearchFilter())]


def test_a_new_field_and_its_index_are_filled(filled: None, open_store: Open) -> None:
    fields = (
        *FACTS.fields,
        Field("colour"),
        Field("tags", many=True),
        Field("twice", "int", derive=lambda body: 2 * body["size"]),
    )
    indexes = (
        *FACTS.indexes,
        Index("colour", ("colour",), "size"),
        Index("tag", ("tags",), "twice"),
        Index("twice", (), "twice"),
    )
    store = open_store(collections=among(changed(FACTS, fields=fields, indexes=indexes)))
    hand = Hand(store)
    assert hand.keys("colour", ("red",)) == ["k1", "k3"]
    assert hand.keys("tag", ("y",), low=4) == ["k2", "k3", "k4"]
    assert hand.keys("twice", reverse=True) == ["k4", "k3", "k2", "k1", "k0"]
    assert store.total("other", "facts", "twice", field="twice") == 20
    assert store.verify() == []
    hand.put("k1", **BODY, colour="blue", tags=[])
    assert hand.keys("colour", ("red",)) == ["k3"]
    assert store.verify() == []


def test_an_index_that_is_gone_leaves_nothing(filled: None, path: Path, open_store: Open) -> None:
    indexes = tuple(index for index in FACTS.indexes if "label" not in index.name)
    store = open_store(collections=among(changed(FACTS, indexes=indexes)))
    with pytest.raises(BadInput):
        store.scan(SPACE, "facts", "label", ("l",))
    with closing_connection(path) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE name LIKE '%label%'").fetchall()
    assert tables == []
    assert store.verify() == []


def test_a_changed_rule_of_a_field_needs_another_version(filled: None, open_store: Open) -> None:
    upper = Field("name", derive=lambda body: str(body.get("name")).upper(), version=2)
    fields = tuple(upper if field.name == "name" else field for field in FACTS.fields)
    store = open_store(collections=among(changed(FACTS, fields=fields)))
    assert len(Hand(store).keys("name", low="N", high="O")) == 5
    assert store.verify() == []


def test_another_analyzer_makes_the_postings_anew(filled: None, open_store: Open) -> None:
    store = open_store(analyze=lambda text: [word[::-1] for word in words(text)], analyzer="backwards")
    assert find(store, "words") == []
    assert len(find(store, "sdrow")) == 5
    assert store.text_stats(SPACE, ["sdrow"]) == (5, 2.0, {"sdrow": 5})
    assert store.verify() == []


def test_search_that_comes_and_goes(filled: None, open_store: Open) -> None:
    store = open_store(collections=among(changed(FACTS, search=None)))
    assert find(store, "words") == []
    assert store.stats(SPACE).searchable == 0
    assert store.verify() == []
    store.close()
    store = open_store(collections=among(changed(KINDS, search=Search(lambda body: str(body["when"]), facets))))
    assert len(find(store, "words")) == 5
    assert find(store, "7") == ["due"]
    assert store.verify() == []


def test_a_new_unique_value_binds_later_writes(filled: None, open_store: Open) -> None:
    unique = (*FACTS.unique, Unique("colour", lambda body: body.get("colour"), lambda _: True))
    store = open_store(collections=among(changed(FACTS, unique=unique)))
    assert [problem.kind for problem in store.verify(SPACE)] == ["unique"]
    with pytest.raises(UniqueViolation):
        Hand(store).put("new", colour="red")
    Hand(store).put("new", colour="blue")


def test_a_new_queue_holds_what_is_due(filled: None, open_store: Open) -> None:
    store = open_store(collections=among(changed(KINDS, queue=Queue("later", "when"))))
    assert [lease.key for lease in store.claim(SPACE, "later", 5, lease=10, now=10)] == ["due"]
    assert sorted(store.due_spaces("work", 10)) == [SPACE, "other"]
    assert store.verify() == []


def test_a_queue_of_another_name_keeps_its_leases(filled: None, open_store: Open) -> None:
    store = open_store()
    store.claim(SPACE, "work", 1, lease=100, now=10)
    store.close()
    store = open_store(collections=among(changed(JOBS, queue=Queue("chores", "due"))))
    assert store.claim(SPACE, "chores", 5, lease=10, now=50) == []
    (lease,) = store.claim(SPACE, "chores", 5, lease=10, now=500)
    assert (lease.key, lease.epoch, lease.attempts) == ("j", 2, 2)
    assert store.claim(SPACE, "work", 5, lease=10, now=500) == []
    assert store.verify() == []


def test_a_collection_that_is_not_declared_is_left_alone(filled: None, open_store: Open) -> None:
    store = open_store(collections=(FACTS, KINDS, ERRANDS))
    assert store.claim(SPACE, "work", 5, lease=10, now=100) == []
    assert store.due_spaces("work", 100) == []
    with pytest.raises(BadInput):
        store.get(SPACE, "jobs", "j")
    assert store.verify() == []
    store.close()
    assert Hand(open_store()).body("j", "jobs") == {"due": 5}


def test_the_same_declarations_write_nothing(filled: None, path: Path, open_store: Open) -> None:
    with closing_connection(path) as connection:
        before = connection.execute("PRAGMA data_version").fetchone()
        open_store()
        assert connection.execute("PRAGMA data_version").fetchone() == before


def test_a_purge_reaches_what_an_index_before_it_kept(filled: None, open_store: Open) -> None:
    index = Index("colour", ("colour",), "size", forget=True)
    collections = among(changed(FACTS, fields=(*FACTS.fields, Field("colour")), indexes=(*FACTS.indexes, index)))
    store = open_store(collections=collections)
    Hand(store).send(b.Delete("facts", "k1"))
    assert store.purge(SPACE, Selection("facts", by="colour", equal=("red",)), now=1).changes == 3
    assert store.verify() == []


@pytest.mark.parametrize(
    "name", ["log", "space", "text", "search", "queue", "field", "meta", "doc", "unique", "change"]
)
def test_names_of_the_stores_own_tables_are_refused(open_store: Open, name: str) -> None:
    with pytest.raises(BadInput):
        open_store(collections=(Collection(name),))


@pytest.mark.parametrize("name", ["", "Facts", "1st", "a-b", "a b", 'a"b', "a;b", "é", "facts_by_name"])
def test_names_that_are_no_names_are_refused(open_store: Open, name: str) -> None:
    with pytest.raises(BadInput):
        open_store(collections=(Collection(name),))


@pytest.mark.parametrize("name", ["body", "key", "space", "revision", "created", "rowid", "ord", "Size", "a b"])
def test_fields_that_are_no_names_are_refused(open_store: Open, name: str) -> None:
    with pytest.raises(BadInput):
        open_store(collections=(Collection("things", fields=(Field(name),)),))


@pytest.mark.parametrize("name", ["order", "select", "index", "group", "from", "id", "value", "type", "position", "n"])
def test_words_of_sql_are_names(open_store: Open, name: str) -> None:
    field = Field(name)
    things = Collection("things", fields=(field,), indexes=(Index(name, (name,), name),), counters=frozenset({"n"}))
    hand = Hand(open_store(collections=(things,)))
    hand.send(b.Put("things", "a", {name: "x"}))
    assert [row.key for row in hand.store.scan(SPACE, "things", name, ("x",)).rows] == ["a"]
    assert hand.store.verify() == []
