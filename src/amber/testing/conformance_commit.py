"""Commit: what one batch does, its receipt, positions, times and revisions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from amber.errors import AmberError, BadInput, Closed, Conflict
from amber.model import batch as b
from amber.store.contract import Change, Clause, LogEntry, LogQuery, SearchFilter, Selection, Store
from amber.testing.conformance import Conformance, together
from amber.testing.samples import SPACE, Hand, operation, placed, snapshot

#: Texts that stores have lost, changed or choked on.
AWKWARD_TEXTS = (
    "",
    " ",
    "\0",
    "a\0b",
    "\u2028\u2029",
    "\u202eright to left",
    "\ufffd\ufeff",
    "naïve café",
    "e\u0301",
    "日本語",
    "👩‍👩‍👧‍👦🇩🇪",
    "'; DROP TABLE amber_facts; --",
    '"quoted" \\ back',
    "{x} {{y}} %s %(a)s $1 ?",
    "<|endoftext|>",
    "\r\n\t",
)


class CommitConformance(Conformance):
    """Each kind of write, the receipt, and what a position, a time and a revision promise."""

    def test_a_put_inserts_and_replaces(self, hand: Hand) -> None:
        hand.put("a", name="one", more=1)
        hand.put("a", name="two")
        assert hand.body("a") == {"name": "two"}

    def test_an_append_inserts_once(self, hand: Hand) -> None:
        hand.send(b.Append("notes", "n", {"thread": "t", "at": 1}))
        with pytest.raises(Conflict) as caught:
            hand.send(b.Append("notes", "n", {"thread": "t", "at": 2}))
        assert (caught.value.collection, caught.value.key) == ("notes", "n")
        assert hand.body("n", "notes") == {"thread": "t", "at": 1}

    def test_an_append_works_after_a_delete(self, hand: Hand) -> None:
        hand.send(b.Append("notes", "n", {"thread": "t", "at": 1}))
        hand.delete("n", "notes")
        hand.send(b.Append("notes", "n", {"thread": "t", "at": 2}))
        assert hand.body("n", "notes")["at"] == 2

    def test_a_delete_removes_and_may_be_repeated(self, hand: Hand) -> None:
        hand.put("a", name="one")
        hand.delete("a")
        assert hand.absent("a")
        assert hand.send(b.Delete("facts", "a")).position is None

    def test_a_touch_is_neither_logged_nor_a_revision(self, hand: Hand) -> None:
        revision = hand.put("a", name="one")
        receipt = hand.send(b.Touch("facts", "a", {"seen": 5}))
        assert receipt.position is None
        assert hand.get("a") == ("a", revision, revision, {"name": "one", "seen": 5})
        assert len(hand.store.log(SPACE, LogQuery())) == 1

    def test_a_touch_of_an_absent_document_does_nothing(self, hand: Hand) -> None:
        assert hand.send(b.Touch("facts", "a", {"seen": 5})).position is None
        assert hand.absent("a")
        assert hand.store.spaces() == []

    def test_a_reschedule_moves_a_queued_document(self, hand: Hand) -> None:
        hand.put("j", "jobs", due=100)
        assert hand.send(b.Reschedule("jobs", "j", 200, attempts=7)).position is None
        assert hand.store.queued(SPACE, "jobs", "j") == (200, 0, 7)
        hand.send(b.Reschedule("jobs", "j", 300))
        assert hand.store.queued(SPACE, "jobs", "j") == (300, 0, 7)

    def test_a_reschedule_leaves_what_is_not_queued(self, hand: Hand) -> None:
        hand.put("j", "jobs", due=None)
        hand.send(b.Reschedule("jobs", "j", 200), b.Reschedule("jobs", "other", 200))
        assert hand.store.claim(SPACE, "work", 9, lease=10, now=1_000) == []

    def test_the_receipt_names_position_operation_and_time(self, hand: Hand) -> None:
        hand.put("a", name="one")
        later = hand.clock.now + 50
        assert hand.send(b.Put("facts", "b", {}), operation="mine", at=later) == (2, "mine", later, False)

    def test_a_repeated_operation_gets_the_first_receipt_and_does_nothing(self, hand: Hand) -> None:
        first = hand.send(b.Put("facts", "a", {"name": "one"}), operation="same")
        hand.put("b", name="between")
        hand.clock.advance(seconds=60)
        again = hand.send(b.Put("facts", "a", {"name": "two"}), b.Put("facts", "c", {}), operation="same")
        assert again == first._replace(repeated=True)
        assert hand.body("a") == {"name": "one"}
        assert hand.absent("c")
        assert hand.store.position(SPACE) == 2

    def test_a_repeated_operation_is_not_judged_again(self, hand: Hand) -> None:
        batch = hand.batch(b.Put("facts", "a", {}), expect=[b.Absent("facts", "a")])
        first = hand.store.commit(batch)
        assert hand.store.commit(batch) == first._replace(repeated=True)

    def test_a_refused_operation_may_be_sent_again(self, hand: Hand) -> None:
        hand.put("a", name="one")
        refused = hand.batch(b.Put("facts", "b", {}), expect=[b.Absent("facts", "a")])
        with pytest.raises(Conflict):
            hand.store.commit(refused)
        hand.delete("a")
        assert hand.store.commit(refused).repeated is False

    @pytest.mark.parametrize("name", ["purge/1", "purge/2", "purge/"])
    def test_operations_that_a_purge_could_have_are_refused(self, hand: Hand, name: str) -> None:
        with pytest.raises(BadInput):
            hand.send(b.Put("facts", "a", {}), operation=name)
        hand.put("a", name="one")
        hand.store.purge(SPACE, Selection("facts", ("a",)), now=1)
        assert hand.store.receipt(SPACE, "purge/2") is None
        assert hand.put("a", name="one") == 3

    def test_operations_are_known_by_space(self, hand: Hand, store: Store) -> None:
        first = hand.send(b.Put("facts", "a", {}), operation="same")
        other = hand.send(b.Put("facts", "a", {}), operation="same", space="other")
        assert (first.repeated, other.repeated) == (False, False)
        assert store.receipt("other", "same") == other._replace(repeated=True)

    def test_the_receipt_of_an_operation_can_be_asked_for(self, hand: Hand, store: Store) -> None:
        receipt = hand.send(b.Put("facts", "a", {}), operation="asked")
        assert store.receipt(SPACE, "asked") == receipt._replace(repeated=True)
        assert store.receipt(SPACE, "never") is None
        assert store.receipt("nowhere", "asked") is None

    def test_positions_have_no_gap(self, hand: Hand) -> None:
        assert hand.store.position(SPACE) == 0
        given = []
        for number in range(5):
            given.append(hand.put(f"k{number}", name="x"))
            hand.send(b.Touch("facts", "k0", {"seen": number}))
            with pytest.raises(Conflict):
                hand.send(b.Put("facts", "z", {}), expect=[b.AtRevision("facts", "z", 1)])
        assert given == [1, 2, 3, 4, 5]
        assert hand.store.position(SPACE) == 5

    def test_positions_have_no_gap_when_many_write(self, hand: Hand) -> None:
        def write(name: int) -> None:
            for number in range(10):
                hand.store.commit(b.Batch(SPACE, f"{name}-{number}", 1, (b.Put("facts", f"{name}-{number}", {}),)))

        together([lambda name=name: write(name) for name in range(4)])  # type: ignore[misc]
        entries = hand.store.log(SPACE, LogQuery(reverse=False))
        assert [entry.position for entry in entries] == list(range(1, 41))
        assert len({entry.operation for entry in entries}) == 40

    def test_times_never_fall(self, hand: Hand) -> None:
        times = [hand.send(b.Put("facts", "a", {"n": at}), at=at).at for at in (500, 300, 700, 699, 700)]
        assert times == [500, 500, 700, 700, 700]
        assert [entry.at for entry in hand.store.log(SPACE, LogQuery(reverse=False))] == times

    def test_the_time_of_a_space_is_that_of_its_newest_entry(self, hand: Hand) -> None:
        assert hand.store.time(SPACE) == 0
        for at, newest in ((500, 500), (300, 500), (700, 700)):
            hand.send(b.Put("facts", "a", {"n": at}), at=at)
            assert hand.store.time(SPACE) == newest
        hand.store.purge(SPACE, Selection("facts", keys=("a",)), now=900)
        assert (hand.store.time(SPACE), hand.store.time("elsewhere")) == (900, 0)

    def test_times_before_1970_are_times(self, hand: Hand) -> None:
        assert [hand.send(b.Put("facts", "a", {"n": at}), at=at).at for at in (-500, -700, -2)] == [-500, -500, -2]

    def test_revisions_rise_also_after_a_delete(self, hand: Hand) -> None:
        seen = [hand.put("a", name="one"), hand.put("a", name="two")]
        hand.delete("a")
        seen.append(hand.put("a", name="two"))
        assert seen == [1, 2, 4]
        assert hand.get("a").revision == 4

    def test_created_is_kept_until_a_delete(self, hand: Hand) -> None:
        hand.put("other", name="x")
        hand.put("a", name="one")
        hand.put("a", name="two")
        assert hand.get("a")[1:3] == (2, 3)
        hand.delete("a")
        hand.put("a", name="three")
        assert hand.get("a")[1:3] == (5, 5)

    def test_a_batch_is_one_position(self, hand: Hand) -> None:
        hand.send(b.Put("facts", "a", {}), b.Append("notes", "n", {}), b.Put("jobs", "j", {"due": 1}))
        assert hand.store.position(SPACE) == 1
        assert [hand.get(key, kind).revision for kind, key in (("facts", "a"), ("notes", "n"), ("jobs", "j"))] == [
            1,
            1,
            1,
        ]

    def test_a_body_comes_back_as_it_was_given(self, hand: Hand) -> None:
        body: dict[str, Any] = {
            "texts": list(AWKWARD_TEXTS),
            "numbers": [0, -1, 1.5, -0.0, 1e308, 5e-324, 2**63 - 1, -(2**63), 10**17 + 1],
            "others": [True, False, None, [], {}, [[]], {"": {"": 1}}],
            **dict.fromkeys(AWKWARD_TEXTS, "as a key"),
        }
        hand.put("a", **body)
        found = hand.body("a")
        assert found == body
        assert [type(number) for number in found["numbers"]] == [type(number) for number in body["numbers"]]
        assert str(found["numbers"][3]) == "-0.0"
        assert [type(found["others"][0]), type(found["others"][1])] == [bool, bool]

    @pytest.mark.parametrize("key", [text for text in AWKWARD_TEXTS if text and "\0" not in text])
    def test_a_key_may_be_any_text(self, hand: Hand, key: str) -> None:
        hand.put(key, name=key)
        assert hand.get(key) == (key, 1, 1, {"name": key})
        assert hand.keys("name") == [key]
        assert hand.store.log(SPACE, LogQuery(key=("facts", key)))[0].changes[0].key == key

    def test_keys_of_equal_look_are_different(self, hand: Hand) -> None:
        hand.send(*(b.Put("facts", key, {"name": "n"}) for key in ("A", "a", "é", "e\u0301", "a ", "ａ")))
        assert hand.keys("name") == sorted(("A", "a", "é", "e\u0301", "a ", "ａ"))

    def test_who_and_why_are_kept(self, hand: Hand) -> None:
        hand.send(b.Put("facts", "a", {}), actor="ana", reason="because", session="s-1", operation="o", at=7)
        change = Change("facts", "a", "put", None, {}, None, False)
        assert hand.store.log(SPACE, LogQuery()) == [
            LogEntry(1, "o", 7, "ana", "because", "s-1", (), (), (change,)),
        ]

    def test_nobody_outside_can_change_what_is_stored(self, hand: Hand) -> None:
        inner: dict[str, Any] = {"v": 1}
        hand.put("a", payload=inner)
        hand.put("a", payload=inner, step=2)
        inner["v"] = 2
        hand.body("a")["payload"]["v"] = 3
        change = hand.store.log(SPACE, LogQuery())[0].changes[0]
        assert change.before is not None
        change.before["payload"]["v"] = 4
        hand.store.scan(SPACE, "facts", "name").rows.clear()
        assert hand.body("a")["payload"] == {"v": 1}
        assert hand.store.log(SPACE, LogQuery())[0].changes[0].before == {"payload": {"v": 1}}

    def test_get_many_gives_those_that_exist(self, hand: Hand) -> None:
        hand.send(*(b.Put("facts", f"k{number}", {"n": number}) for number in range(1_200)))
        asked = [f"k{number}" for number in range(1_300)]
        found = hand.store.get_many(SPACE, "facts", [*asked, "k1", "k1"])
        assert {key: record.body["n"] for key, record in found.items()} == {f"k{n}": n for n in range(1_200)}
        assert hand.store.get_many(SPACE, "facts", []) == {}

    def test_a_reader_never_sees_half_a_commit(self, hand: Hand, store: Store) -> None:
        keys = [f"k{number}" for number in range(600)]
        hand.send(*(b.Put("facts", key, {"name": "x", "round": 0}) for key in keys))
        done = False

        def write() -> None:
            nonlocal done
            try:
                for number in range(1, 6):
                    hand.send(*(b.Put("facts", key, {"name": "x", "round": number}) for key in keys))
            finally:
                done = True

        def read() -> None:
            while not done:
                together = store.get_many(SPACE, "facts", keys).values()
                assert len({record.body["round"] for record in together}) == 1
                rows = store.scan(SPACE, "facts", "name", limit=600, where=((("name",), "x"),)).rows
                assert len({record.body["round"] for record in rows}) == 1

        together([write, read, read])


class ClosedConformance(Conformance):
    """A closed store does nothing any more."""

    def test_every_call_is_refused_after_close(self, hand: Hand, store: Store) -> None:
        hand.put("a", name="one", size=1, payload={"a": 1}, text="one")
        store.close()
        calls: tuple[Callable[[], object], ...] = (
            lambda: hand.put("b", name="two"),
            lambda: store.claim(SPACE, "work", 1, lease=1, now=1),
            lambda: store.purge(SPACE, Selection("facts", ("a",)), now=1),
            lambda: store.reach(SPACE, Selection("facts", ("a",))),
            lambda: store.scrub(),
            lambda: store.receipt(SPACE, "x"),
            lambda: store.get(SPACE, "facts", "a"),
            lambda: store.get_many(SPACE, "facts", ["a"]),
            lambda: store.scan(SPACE, "facts", "name"),
            lambda: store.lookup(SPACE, "facts", ((("payload", "a"), 1),)),
            lambda: store.count(SPACE, "facts", "name"),
            lambda: store.total(SPACE, "facts", "name", field="size"),
            lambda: store.position(SPACE),
            lambda: store.position_at(SPACE, 1),
            lambda: store.log(SPACE, LogQuery()),
            lambda: store.text_stats(SPACE, ["one"]),
            lambda: store.candidates(SPACE, [Clause(("one",), 1)], SearchFilter()),
            lambda: store.queued(SPACE, "jobs", "j"),
            lambda: store.due_spaces("work", 1),
            lambda: store.spaces(),
            lambda: store.verify(),
            lambda: store.verify(SPACE),
            lambda: store.stats(SPACE),
        )
        went_on: list[object] = []
        for number, call in enumerate(calls):
            try:
                went_on.append((number, call()))
            except Closed:
                continue
            except AmberError as error:
                went_on.append((number, error))
        assert went_on == []

    def test_close_may_be_called_again(self, store: Store) -> None:
        store.close()
        store.close()

    def test_a_bad_batch_after_a_good_one_changes_nothing(self, hand: Hand) -> None:
        hand.put("a", name="one", text="word")
        before = snapshot(hand.store)
        with pytest.raises(Conflict):
            hand.send(b.Put("facts", "b", {"text": "other"}), b.Append("facts", "a", {}), operation=operation())
        assert snapshot(hand.store) == before
        assert placed(hand.send(b.Put("facts", "b", {}))) == 2
