"""Forgetting: what a purge reaches, what it leaves, and that a scrub comes to its end."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from amber.errors import BadInput, UniqueViolation
from amber.model import batch as b
from amber.model.where import parse_where
from amber.store.contract import Change, Clause, LogEntry, LogQuery, Purged, SearchFilter, Selection, Store
from amber.testing.conformance import Conformance
from amber.testing.samples import COLLECTIONS, SPACE, Hand

F = "facts"
SECRET = "zebra-41-quartz"


def readable(store: Store, space: str = SPACE) -> str:
    """Give everything that a store lets one read of a space, as one text."""
    entries = store.log(space, LogQuery(limit=10_000))
    parts: list[Any] = [entry._asdict() for entry in entries]
    keys = {(change.collection, change.key) for entry in entries for change in entry.changes}
    for collection, key in sorted(keys):
        record = store.get(space, collection, key)
        parts.append(record.body if record is not None else None)
    found = store.candidates(space, [Clause((SECRET,), 1)], SearchFilter())
    parts += [
        store.text_stats(space, [SECRET]).frequency[SECRET],
        len(found),
        [problem.detail for problem in store.verify()],
    ]
    return orjson.dumps(parts, default=lambda value: value._asdict(), option=orjson.OPT_NON_STR_KEYS).decode()


class PurgeConformance(Conformance):
    """The document, its images, and everything derived; nothing else."""

    def test_a_document_is_gone_everywhere(self, hand: Hand) -> None:
        body = {"type": "t", "name": "n", "size": 1, "labels": ["l"], "handle": "h", "state": "active"}
        hand.put("a", **body, payload={"x": SECRET}, text=f"{SECRET} word", first=SECRET, last=SECRET)
        hand.put("a", **body, payload={"x": SECRET, "y": 1}, text=SECRET)
        hand.put("b", type="t", name="n", size=2, labels=["l"], text="word", payload={"x": 1})
        kept = hand.get("b")
        assert hand.store.purge(SPACE, Selection(F, ("a",)), now=5)[:3] == (1, 2, True)
        assert SECRET not in readable(hand.store)
        assert hand.absent("a")
        assert hand.keys("name") == hand.keys("size", ("t",)) == hand.keys("label", ("l",)) == ["b"]
        assert hand.store.lookup(SPACE, F, parse_where({"payload.x": SECRET})).rows == []
        hand.put("c", handle="h", state="active", first=SECRET, last=SECRET)
        assert hand.get("b") == kept
        assert hand.store.verify() == []

    def test_by_several_keys(self, hand: Hand) -> None:
        hand.send(*(b.Put(F, key, {"name": key}) for key in "abcde"))
        assert hand.store.purge(SPACE, Selection(F, ("a", "c", "never", "a")), now=5)[:3] == (2, 2, True)
        assert hand.keys("name") == ["b", "d", "e"]
        assert hand.store.purge(SPACE, Selection(F, ("a", "c")), now=5)[:3] == (0, 0, True)

    def test_by_index(self, hand: Hand) -> None:
        hand.send(*(b.Put(F, f"k{n}", {"type": "t" if n % 2 else "u", "size": n, "name": "n"}) for n in range(10)))
        assert hand.store.purge(SPACE, Selection(F, by="size", equal=("t",)), now=5)[:3] == (5, 5, True)
        assert hand.keys("name") == [f"k{n}" for n in range(0, 10, 2)]

    def test_by_multi_valued_index(self, hand: Hand) -> None:
        hand.put("a", size=1, labels=["x", "y"], name="n")
        hand.put("b", size=1, labels=["y"], name="n")
        hand.put("c", size=1, labels=["x"], name="n")
        hand.delete("c")
        assert hand.store.purge(SPACE, Selection(F, by="label", equal=("x",)), now=5)[:3] == (1, 3, True)
        assert hand.keys("name") == ["b"]

    def test_other_collections_and_spaces_are_untouched(self, hand: Hand) -> None:
        hand.send(b.Put(F, "a", {"text": "word"}), b.Put("notes", "a", {"text": "word", "thread": "t", "at": 1}))
        hand.send(b.Put(F, "a", {"text": "word"}), space="other")
        hand.store.purge(SPACE, Selection(F, ("a",)), now=5)
        assert hand.body("a", "notes")["text"] == "word"
        assert hand.store.get("other", F, "a") is not None
        assert len(hand.store.candidates("other", [Clause(("word",), 1)], SearchFilter())) == 1
        assert hand.store.log("other", LogQuery())[0].changes[0].purged is False

    @pytest.mark.parametrize("limit", [1, 2, 3, 7, 100])
    def test_in_chunks(self, hand: Hand, limit: int) -> None:
        hand.send(*(b.Put(F, f"k{n}", {"type": "t", "size": n, "text": SECRET}) for n in range(7)))
        hand.delete("k3")
        hand.delete("k5")
        removed = calls = 0
        while True:
            part = hand.store.purge(SPACE, Selection(F, by="size", equal=("t",)), now=5, limit=limit)
            removed, calls = removed + part.documents, calls + 1
            if part.done:
                break
            assert calls < 20
        assert removed == 5
        assert calls == -(-7 // limit)
        assert SECRET not in readable(hand.store)

    def test_what_was_deleted_before_is_forgotten_in_the_log(self, hand: Hand) -> None:
        hand.put("a", type="t", size=1, text=SECRET)
        hand.put("a", type="t", size=1, text="other")
        hand.delete("a")
        assert hand.store.purge(SPACE, Selection(F, ("a",)), now=5)[:3] == (0, 3, True)
        assert SECRET not in readable(hand.store)
        assert hand.store.purge(SPACE, Selection(F, ("a",)), now=5)[:3] == (0, 0, True)

    def test_what_was_deleted_before_is_found_by_index(self, hand: Hand) -> None:
        hand.put("a", type="t", size=1, text=SECRET)
        hand.put("b", type="u", size=1)
        hand.delete("a")
        hand.delete("b")
        assert hand.store.purge(SPACE, Selection(F, by="size", equal=("t",)), now=5)[:3] == (0, 2, True)
        assert SECRET not in readable(hand.store)
        assert hand.store.log(SPACE, LogQuery(key=(F, "b")))[0].changes[0].before == {"type": "u", "size": 1}

    @pytest.mark.parametrize("way", ["moved", "deleted and made again", "taken out of the index"])
    def test_what_stands_elsewhere_now_loses_its_images_and_stays(self, hand: Hand, way: str) -> None:
        hand.put("a", type="t", size=1, labels=["l"], text=SECRET)
        if way == "deleted and made again":
            hand.delete("a")
        hand.put("a", type="t" if way == "taken out of the index" else "u", size=None, labels=["l"], text="word")
        hand.put("a", type="u", size=2, labels=["l"], text="other word")
        body = hand.body("a")
        documents, changes, done, position, _ = hand.store.purge(SPACE, Selection(F, by="size", equal=("t",)), now=5)
        assert (documents, changes, done) == (0, 4 if way == "deleted and made again" else 3, True)
        assert position == hand.store.position(SPACE)
        assert SECRET not in readable(hand.store)
        assert hand.body("a") == body
        assert hand.keys("label", ("l",)) == hand.keys("size", ("u",)) == ["a"]
        assert hand.store.purge(SPACE, Selection(F, by="size", equal=("t",)), now=5) == Purged(0, 0, True, None)
        assert hand.store.purge(SPACE, Selection(F, by="size", equal=("u",)), now=5)[:3] == (1, 0, True)

    def test_it_stands_in_the_log_without_changes(self, hand: Hand) -> None:
        hand.send(b.Put(F, "a", {}), b.Put(F, "b", {}), at=100)
        purged = hand.store.purge(SPACE, Selection(F, ("a",)), now=200)
        assert purged.position == hand.store.position(SPACE) == 2
        entry = hand.store.log(SPACE, LogQuery(limit=1))[0]
        assert entry == LogEntry(2, entry.operation, 200, None, None, None, (), (), ())
        assert hand.store.position_at(SPACE, 199) == 1
        assert hand.store.purge(SPACE, Selection(F, ("b",)), now=150).position == 3
        assert hand.store.log(SPACE, LogQuery(limit=1))[0].at == 200
        assert hand.store.purge(SPACE, Selection(F, ("b",)), now=300) == Purged(0, 0, True, None)
        assert hand.send(b.Put(F, "c", {}), at=100) == (4, hand.store.log(SPACE, LogQuery())[0].operation, 200, False)

    def test_an_index_without_forget_selects_nothing(self, hand: Hand) -> None:
        hand.put("a", name="n")
        with pytest.raises(BadInput):
            hand.store.purge(SPACE, Selection(F, by="name"), now=5)
        assert hand.body("a") == {"name": "n"}

    def test_actor_and_reason_go_with_the_last_image(self, hand: Hand) -> None:
        hand.send(b.Put(F, "a", {}), actor="ana", reason=SECRET, session="s")
        hand.send(b.Put(F, "a", {"n": 1}), b.Put(F, "b", {}), actor="ben", reason="both", session="s")
        hand.store.purge(SPACE, Selection(F, ("a",)), now=5)
        first, second, _ = hand.store.log(SPACE, LogQuery(reverse=False))
        assert (first.actor, first.reason, first.session, first.position) == (None, None, None, 1)
        # a reason goes with the first image: it may speak of it
        assert (second.actor, second.reason, second.session) == ("ben", None, "s")
        assert second.changes == (Change(F, "a", "put", None, None, None, True), Change(F, "b", "put", None, {}))
        hand.store.purge(SPACE, Selection(F, ("b",)), now=5)
        assert hand.store.log(SPACE, LogQuery(actor="ben")) == hand.store.log(SPACE, LogQuery(session="s")) == []
        assert SECRET not in readable(hand.store)

    def test_deltas_go_too(self, hand: Hand) -> None:
        hand.put("a", n=1)
        hand.send(b.Add(F, "a", "n", 41))
        assert hand.store.purge(SPACE, Selection(F, ("a",)), now=5)[:3] == (1, 2, True)
        assert hand.store.log(SPACE, LogQuery())[1].changes == (Change(F, "a", "add", None, None, None, True),)

    def test_operations_stay_known(self, hand: Hand) -> None:
        receipt = hand.send(b.Put(F, "a", {}), operation="same")
        hand.store.purge(SPACE, Selection(F, ("a",)), now=5)
        assert hand.send(b.Put(F, "a", {}), operation="same") == receipt._replace(repeated=True)
        assert hand.absent("a")

    def test_a_purged_key_may_be_used_again(self, hand: Hand) -> None:
        hand.put("a", text=SECRET)
        hand.store.purge(SPACE, Selection(F, ("a",)), now=5)
        position = hand.put("a", text="new")
        assert hand.get("a") == ("a", position, position, {"text": "new"})
        assert position == hand.store.position(SPACE)
        entry = hand.store.log(SPACE, LogQuery(key=(F, "a"), limit=1))[0]
        assert entry.changes == (Change(F, "a", "put", None, {"text": "new"}),)
        assert hand.store.verify() == []

    def test_rules_bind_after_a_purge(self, hand: Hand) -> None:
        hand.put("user", "kinds", unique=[[["payload", "mail"]]])
        hand.put("a", type="user", payload={"mail": "x"})
        hand.put("b", type="user", payload={"mail": "y"})
        hand.store.purge(SPACE, Selection(F, ("a",)), now=5)
        hand.put("c", type="user", payload={"mail": "x"})
        with pytest.raises(UniqueViolation):
            hand.put("d", type="user", payload={"mail": "y"})
        assert hand.store.verify() == []

    def test_an_unknown_space_has_nothing_to_forget(self, hand: Hand) -> None:
        assert hand.store.purge("nowhere", Selection(F, ("a",)), now=5) == Purged(0, 0, True, None)
        assert hand.store.spaces() == []

    def test_everything_can_be_forgotten(self, hand: Hand) -> None:
        keys = [f"k{n}" for n in range(20)]
        for collection in COLLECTIONS:
            hand.send(*(b.Put(collection.name, key, {"text": SECRET, "due": 1, "note": SECRET}) for key in keys))
        for collection in COLLECTIONS:
            assert hand.store.purge(SPACE, Selection(collection.name, tuple(keys)), now=5)[:3] == (20, 20, True)
        assert SECRET not in readable(hand.store)
        stats = hand.store.stats(SPACE)
        assert (set(stats.documents.values()), stats.searchable, stats.tokens) == ({0}, 0, 0)

    @pytest.mark.parametrize("steps", [1, 2, 1_000])
    def test_a_scrub_comes_to_its_end(self, hand: Hand, steps: int) -> None:
        for number in range(20):
            hand.put(f"k{number}", text=f"{SECRET} word{number} " * 200)
        hand.store.purge(SPACE, Selection(F, tuple(f"k{number}" for number in range(15))), now=5)
        for _ in range(500):
            scrubbed = hand.store.scrub(steps=steps)
            assert scrubbed.steps <= steps
            if scrubbed.done:
                break
        assert scrubbed.done
        assert scrubbed.remaining == ()
        assert len(hand.store.candidates(SPACE, [Clause((SECRET,), 1)], SearchFilter())) == 5
        assert hand.store.verify() == []
