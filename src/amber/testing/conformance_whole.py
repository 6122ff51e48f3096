"""The store as a whole: spaces, verify, stats."""

from __future__ import annotations

import pytest

from amber.model import batch as b
from amber.model.where import parse_where
from amber.store.contract import Clause, LogQuery, SearchFilter, Selection, Stats
from amber.testing.conformance import Conformance
from amber.testing.samples import SPACE, Hand, snapshot

F = "facts"
#: Each was a prefix, a pattern or an escape of another somewhere.
SPACES = (
    "a",
    "ab",
    "a/b",
    "a%",
    "a_b",
    "axb",
    "%",
    "_",
    "A",
    'a"b',
    "a'b",
    "a\\b",
    "a;b",
    "a b",
    " ",
    "é",
    "e\u0301",
    "😀",
    "日本",
    "*",
)


class SpaceConformance(Conformance):
    """Nothing crosses the border of a space."""

    @pytest.fixture
    def spread(self, hand: Hand) -> Hand:
        """Give a hand that wrote the same keys to every space."""
        for number, space in enumerate(SPACES):
            body = {"type": "t", "size": 1, "name": space, "text": "word", "payload": {"x": 1}, "n": number}
            more = {"handle": "h", "state": "active", "labels": ["l"]}
            writes = (b.Put(F, "k", {**body, **more}), b.Put("jobs", "k", {"due": 5}), b.Put(F, f"own-{number}", {}))
            hand.send(*writes, space=space, operation="same", session="s", actor="ana")
        return hand

    @pytest.mark.parametrize("space", SPACES)
    def test_reads_see_one_space(self, spread: Hand, space: str) -> None:
        number, store = SPACES.index(space), spread.store
        record = store.get(space, F, "k")
        assert record is not None
        assert record.body["n"] == number
        assert store.get(space, F, f"own-{(number + 1) % len(SPACES)}") is None
        assert [row.body["n"] for row in store.scan(space, F, "size", ("t",)).rows] == [number]
        assert [row.body["n"] for row in store.scan(space, F, "label", ("l",)).rows] == [number]
        assert [row.body["n"] for row in store.lookup(space, F, parse_where({"payload.x": 1})).rows] == [number]
        assert store.get_many(space, F, ["k"])["k"].body["n"] == number
        assert (store.count(space, F, "name"), store.total(space, F, "size", ("t",), field="size")) == (1, 1)
        assert store.position(space) == 1
        for query in (LogQuery(), LogQuery(session="s"), LogQuery(actor="ana"), LogQuery(key=(F, "k"))):
            assert [entry.changes[0].after["n"] for entry in store.log(space, query) if entry.changes[0].after] == [
                number
            ]
        assert len(store.candidates(space, [Clause(("word",), 1)], SearchFilter())) == 1
        assert store.text_stats(space, ["word"]) == (1, 1.0, {"word": 1})
        assert store.stats(space).documents[F] == 2

    def test_writes_stay_in_their_space(self, spread: Hand) -> None:
        others = {space: snapshot(spread.store, space) for space in SPACES if space != "a%"}
        spread.send(b.Put(F, "k", {}), b.Delete("jobs", "k"), space="a%")
        spread.store.claim("a%", "work", 5, lease=10, now=100)
        spread.store.purge("a%", Selection(F, ("k", "own-0")), now=5)
        assert {space: snapshot(spread.store, space) for space in others} == others
        assert spread.store.verify() == []

    def test_they_are_named_in_order(self, spread: Hand) -> None:
        assert spread.store.spaces() == sorted(SPACES)
        assert spread.store.due_spaces("work", 10) == sorted(SPACES)

    def test_asking_makes_no_space(self, hand: Hand) -> None:
        store = hand.store
        assert store.get("x", F, "a") is None
        assert store.get_many("x", F, ["a"]) == {}
        assert store.position("x") == 0
        assert store.queued("x", "jobs", "a") is None
        assert store.text_stats("x", ["a"]) == (0, 0.0, {"a": 0})
        assert store.candidates("x", [Clause(("a",), 1)], SearchFilter()) == []
        assert store.verify("x") == []
        assert store.claim("x", "work", 1, lease=1, now=1) == []
        assert store.stats("x")[:5] == ("x", 0, dict.fromkeys(sorted(store.collections), 0), 0, 0)
        hand.send(b.Delete(F, "a"), b.Reschedule("jobs", "a", 1), space="x")
        assert store.spaces() == []


class VerifyConformance(Conformance):
    """A sound store has no problems; sizes are right."""

    def test_a_new_store_is_sound(self, hand: Hand) -> None:
        assert hand.store.verify() == []
        assert hand.store.verify(SPACE) == []

    def test_a_used_store_is_sound(self, hand: Hand) -> None:
        for number in range(30):
            body = {"type": f"t{number % 3}", "size": number, "name": f"n{number}", "labels": [f"l{number % 4}", "all"]}
            text, payload = f"word{number} common", {"x": number, "deep": {"y": [number]}}
            hand.put(f"k{number % 20}", **body, text=text, payload=payload, handle=f"h{number}", state="active")
            hand.send(b.Append("notes", f"n{number}", {"thread": "t", "at": number, "text": text}))
            hand.put(f"j{number % 7}", "jobs", due=number if number % 2 else None)
        hand.send(b.Touch(F, "k1", {"seen": 1}), b.Add(F, "k2", "uses", 7), b.Delete(F, "k3"))
        hand.store.claim(SPACE, "work", 2, lease=10, now=100)
        hand.store.purge(SPACE, Selection(F, by="label", equal=("l2",)), now=5)
        hand.store.purge(SPACE, Selection("notes", ("n1", "n2")), now=5)
        before = snapshot(hand.store)
        assert hand.store.verify() == []
        assert snapshot(hand.store) == before

    def test_verify_looks_at_one_space_when_asked(self, hand: Hand) -> None:
        hand.send(*(b.Put(F, key, {"type": "user", "payload": {"mail": "x"}}) for key in "ab"), space="bad")
        hand.send(b.Put("kinds", "user", {"unique": [[["payload", "mail"]]]}), space="bad")
        hand.put("a", name="good")
        assert hand.store.verify(SPACE) == []
        assert [problem.kind for problem in hand.store.verify("bad")] == ["unique"]
        assert hand.store.verify() == hand.store.verify("bad")

    def test_stats(self, hand: Hand) -> None:
        hand.put("a", text="one two three")
        hand.put("b", name="n")
        hand.put("a", text="one two")
        hand.put("j", "jobs", due=1)
        hand.delete("b")
        stats = hand.store.stats(SPACE)
        documents = {"errands": 0, F: 1, "jobs": 1, "kinds": 0, "notes": 0}
        assert stats == Stats(SPACE, 5, documents, 1, 2, stats.bytes)
        assert stats.bytes is None or stats.bytes > 0
