"""Two declarations of one collection at once, as when a library is upgraded while an old process runs: no silent loss."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.backends.conftest import Open, closing_connection
from tests.crash import work

from amber.errors import SchemaMismatch
from amber.model import batch as b
from amber.model.collection import Collection, Field, Index
from amber.store.contract import Clause, LogQuery, SearchFilter, Selection
from amber.testing.samples import COLLECTIONS, FACTS, SPACE, Hand

WIDER = tuple(work.WIDER if each is FACTS else each for each in COLLECTIONS)
EXTRA = Collection("extra", fields=(Field("name"),), indexes=(Index("name", (), "name"),))


def uses(hand: Hand) -> dict[str, Callable[[], Any]]:
    """Give everything that goes by the declaration."""
    store = hand.store
    return {
        "put": lambda: hand.put("new", name="new", state="active", text="zebra"),
        "add": lambda: hand.send(b.Add("facts", "a", "n", 1)),
        "touch": lambda: hand.send(b.Touch("facts", "a", {"seen": 1})),
        "append": lambda: hand.send(b.Append("notes", "n", {"thread": "t", "at": 1, "text": "zebra"})),
        "claim": lambda: store.claim(SPACE, "work", 5, lease=9, now=99),
        "purge": lambda: store.purge(SPACE, Selection("facts", ("a",)), now=9),
        "search": lambda: store.candidates(SPACE, [Clause(("zebra",), 1)], SearchFilter()),
        "figures": lambda: store.text_stats(SPACE, ["zebra"]),
        "look-up": lambda: store.lookup(SPACE, "facts", ((("payload", "x"), 1),)),
    }


@pytest.mark.parametrize("change", [{"collections": WIDER}, {"analyzer": "9"}], ids=["fields", "analyzer"])
def test_an_old_process_is_told_when_a_new_one_declared_otherwise(open_store: Open, change: dict[str, Any]) -> None:
    old = Hand(open_store())
    old.put("a", type="t", name="a", state="active", text="zebra", payload={"x": 1})
    old.put("j", "jobs", due=1)
    new = Hand(open_store(**change))
    for name, use in uses(old).items():
        with pytest.raises(SchemaMismatch, match="Open it again") as caught:
            use()
        assert "facts" in caught.value.collections, name
    # what does not go by it is still read
    assert old.body("a")["name"] == "a"
    assert len(old.store.log(SPACE, LogQuery())) == 2
    assert old.store.position(SPACE) == new.store.position(SPACE) == 2
    for use in uses(new).values():
        use()
    assert new.store.verify() == []
    # opened again by the old one: now the new one is told
    again = Hand(open_store())
    again.put("b", name="b", state="active", text="zebra")
    assert again.store.verify() == []
    with pytest.raises(SchemaMismatch):
        new.put("c", name="c")
    last = Hand(open_store(**change))
    assert last.keys("name") == ["b", "new"]
    if "collections" in change:
        assert last.keys("state", ("active",)) == ["b", "new"]
    assert {found.key for found in last.store.candidates(SPACE, [Clause(("zebra",), 1)], SearchFilter())} >= {
        "b",
        "new",
    }
    assert last.store.verify() == []


def test_an_old_process_is_told_when_a_new_one_migrated(path: Path, open_store: Open) -> None:
    old = Hand(open_store())
    old.put("a", type="t", name="a", text="zebra", payload={"x": 1})
    with closing_connection(path) as newer:
        newer.execute("UPDATE amber_meta SET value = value + 1 WHERE name IN ('schema', 'declared')")
        newer.commit()
    for use in uses(old).values():
        with pytest.raises(SchemaMismatch, match="was migrated to schema"):
            use()
    assert old.body("a")["name"] == "a"
    assert old.store.position(SPACE) == 1


def test_a_lost_index_is_no_empty_answer(open_store: Open) -> None:
    new = Hand(open_store(collections=WIDER))
    new.put("a", name="a", state="active")
    assert new.keys("state", ("active",)) == ["a"]
    open_store()
    with pytest.raises(SchemaMismatch, match="another version of Amber"):
        new.keys("state", ("active",))


def test_another_collection_beside_disturbs_nobody(open_store: Open) -> None:
    one = Hand(open_store())
    one.put("a", name="a", text="zebra")
    other = Hand(open_store(collections=(*COLLECTIONS, EXTRA)))
    other.put("x", "extra", name="x")
    assert one.put("b", name="b") == 3
    assert other.keys("name") == ["a", "b"]
    assert one.store.verify() == other.store.verify() == []


def test_the_same_declaration_again_changes_nothing(open_store: Open) -> None:
    one = Hand(open_store())
    for number in range(3):
        Hand(open_store()).put(f"k{number}", name="n")
        one.put(f"own{number}", name="n")
    assert one.store.verify() == []
