"""Texts: what a reader begins an index of its own with, and how it follows the log."""

from __future__ import annotations

from typing import Any, cast

import pytest

from amber.errors import BadInput
from amber.model import batch as b
from amber.model.collection import Facets
from amber.store.contract import Selection, Store, Text, TextChanges
from amber.testing.conformance import Conformance
from amber.testing.samples import SPACE, Hand

F, N = "facts", "notes"
Place = tuple[str, str]


def all_texts(store: Store, space: str = SPACE, limit: int = 500) -> list[Text]:
    """Give all texts of a space, page by page."""
    found: list[Text] = []
    after: Place | None = None
    while True:
        page = store.texts(space, after=after, limit=limit)
        found += page.texts
        after = page.cursor
        if after is None:
            return found


class Reader:
    """Keep a copy of all texts current, as an index in memory does."""

    def __init__(self, store: Store, limit: int = 500, space: str = SPACE) -> None:
        self.store, self.limit, self.space = store, limit, space
        self.texts: dict[Place, Text] = {}
        self.since = (1, 0)

    def read(self) -> TextChanges:
        """Read one page of changes."""
        page = self.store.text_changes(self.space, self.since, limit=self.limit)
        assert page is not None
        for place in page.gone:
            self.texts.pop(place, None)
        self.texts |= {(text.collection, text.key): text for text in page.texts}
        self.since = page.upto
        return page

    def follow(self) -> None:
        """Read until nothing is left, and compare with all that is there."""
        while self.since != (self.read().position + 1, 0):
            pass
        assert sorted(self.texts) == [(text.collection, text.key) for text in all_texts(self.store, self.space)]
        assert [self.texts[place] for place in sorted(self.texts)] == all_texts(self.store, self.space)


class TextsConformance(Conformance):
    """A reader that reads the pages, or follows the log from any place, has what is there."""

    def test_a_text_holds_everything(self, hand: Hand) -> None:
        hand.put("a", text="one two two", sender="ana", project="p", session="s", type="t", at=9)
        hand.put("n", N, text="")
        hand.put("none", text=None)
        page = hand.store.texts(SPACE)
        assert (page.cursor, page.position, page.settled) == (None, 3, True)
        assert page.texts == [
            Text(F, "a", 1, 3, {"one": 1, "two": 2}, Facets("ana", "p", "s", "t", 9)),
            Text(N, "n", 2, 0, {}, Facets(None, None, None, None, 0)),
        ]

    def test_counts_go_up_to_255(self, hand: Hand) -> None:
        hand.put("a", text="word " * 300)
        (text,) = hand.store.texts(SPACE).texts
        assert (text.length, text.terms) == (300, {"word": 255})

    @pytest.mark.parametrize("limit", [1, 2, 3, 20, 500])
    def test_pages_are_in_order_and_whole(self, hand: Hand, limit: int) -> None:
        keys = ["é", "😀", "a", "b", "a/b", "%", "B", "\ufffd"]
        hand.send(*(b.Put(collection, key, {"text": "x"}) for collection in (N, F) for key in keys))
        hand.send(b.Put(F, "x", {"text": "x"}), space="other")
        found = [(text.collection, text.key) for text in all_texts(hand.store, limit=limit)]
        assert found == sorted((collection, key) for collection in (N, F) for key in keys)

    def test_pages_go_on_after_what_is_gone(self, hand: Hand) -> None:
        for key in "abcd":
            hand.put(key, text="x")
        page = hand.store.texts(SPACE, limit=2)
        assert page.cursor == (F, "b")
        hand.delete("b")
        hand.put("c2", text="x")
        assert [text.key for text in hand.store.texts(SPACE, after=page.cursor).texts] == ["c", "c2", "d"]

    def test_an_empty_space(self, store: Store) -> None:
        assert store.texts("nowhere") == ([], None, 0, True)
        assert store.text_changes("nowhere", (1, 0)) == ([], [], (1, 0), 0, True)
        assert store.text_changes("nowhere", (2, 0)) is None

    def test_changes_give_what_is_now(self, hand: Hand) -> None:
        hand.put("a", text="old")
        hand.put("b", text="x")
        position = hand.put("a", text="new words", sender="ana")
        hand.put("c", name="no text")
        hand.delete("b")
        page = hand.store.text_changes(SPACE, (1, 0))
        assert page is not None
        assert page.texts == [Text(F, "a", 1, 2, {"new": 1, "words": 1}, Facets("ana", None, None, None, 0))]
        assert sorted(page.gone) == [(F, "b"), (F, "c")]
        assert (page.upto, page.position, page.settled) == ((6, 0), 5, True)
        later = hand.store.text_changes(SPACE, (position + 1, 0))
        assert later is not None
        assert (later.texts, sorted(later.gone)) == ([], [(F, "b"), (F, "c")])

    def test_nothing_new(self, hand: Hand) -> None:
        hand.put("a", text="x")
        assert hand.store.text_changes(SPACE, (2, 0)) == ([], [], (2, 0), 1, True)
        assert hand.store.text_changes(SPACE, (2, 1)) is None
        assert hand.store.text_changes(SPACE, (3, 0)) is None

    @pytest.mark.parametrize("limit", [1, 2, 3, 7, 500])
    def test_a_reader_that_follows_has_all(self, hand: Hand, limit: int) -> None:
        reader = Reader(hand.store, limit)
        hand.send(*(b.Put(F, f"k{n}", {"text": f"x {n}"}) for n in range(5)))
        reader.follow()
        hand.send(*(b.Put(F, f"k{n}", {"text": f"y {n}"}) for n in range(3)), b.Delete(F, "k4"))
        hand.put("k0", text=None)
        hand.send(b.Add(F, "k1", "n", 1))
        hand.send(b.Put(F, "away", {"text": "z"}), space="other")
        reader.follow()
        hand.put("k0", text="back", sender="ana")
        hand.put("k1", text="y 1", sender="ben")
        hand.put("j", "jobs", due=1)
        reader.follow()
        assert (F, "k4") not in reader.texts
        assert reader.texts[F, "k1"].facets.sender == "ben"

    @pytest.mark.parametrize("limit", [1, 2, 500])
    def test_a_reader_is_told_of_purges(self, hand: Hand, limit: int) -> None:
        reader = Reader(hand.store, limit)
        for n in range(6):
            hand.put(f"k{n}", text=f"x {n}", type="t", size=n)
        reader.follow()
        hand.store.purge(SPACE, Selection(F, ("k1", "k2")), now=5)
        hand.put("k1", text="again")
        hand.store.purge(SPACE, Selection(F, by="size", equal=("t",)), now=5, limit=2)
        hand.store.purge(SPACE, Selection(F, ("k1",)), now=5)
        hand.put("new", text="x")
        reader.follow()
        assert {key for _, key in reader.texts} == {"k4", "k5", "new"}

    def test_half_of_an_entry_and_what_came_meanwhile(self, hand: Hand) -> None:
        reader = Reader(hand.store, 2)
        hand.send(*(b.Put(F, f"k{n}", {"text": "old"}) for n in range(5)))
        assert reader.read().upto == (1, 2)
        hand.put("k0", text="new")
        hand.store.purge(SPACE, Selection(F, ("k4", "k1")), now=5)
        reader.follow()
        assert {key for _, key in reader.texts} == {"k0", "k2", "k3"}

    def test_pages_and_the_changes_since_make_a_whole(self, hand: Hand) -> None:
        hand.send(*(b.Put(F, f"k{n}", {"text": "old"}) for n in range(6)))
        reader = Reader(hand.store)
        first = hand.store.texts(SPACE, limit=3)
        reader.since = (first.position + 1, 0)
        hand.put("k0", text="new")
        hand.delete("k1")
        hand.put("k5", text="new")
        hand.store.purge(SPACE, Selection(F, ("k2", "k4")), now=5)
        hand.put("k00", text="between")
        second = hand.store.texts(SPACE, after=first.cursor)
        reader.texts = {(text.collection, text.key): text for text in (*first.texts, *second.texts)}
        reader.follow()
        assert {key for _, key in reader.texts} == {"k0", "k00", "k3", "k5"}

    @pytest.mark.parametrize(
        "options",
        [{"limit": 0}, {"limit": 10_001}, {"limit": True}, {"after": "a"}, {"after": ("a",)}, {"after": ("a", 1)}],
    )
    def test_bad_pages(self, store: Store, options: dict[str, Any]) -> None:
        with pytest.raises(BadInput):
            store.texts(SPACE, **options)

    @pytest.mark.parametrize("since", [(0, 0), (1, -1), (1,), 1, None, ("1", 0), (1, 0.0), (True, 0), (2**63, 0)])
    def test_bad_places(self, store: Store, since: Any) -> None:
        with pytest.raises(BadInput):
            store.text_changes(SPACE, cast(Any, since))

    def test_bad_limits(self, store: Store) -> None:
        for limit in (0, -1, 10_001):
            with pytest.raises(BadInput):
                store.text_changes(SPACE, (1, 0), limit=limit)
