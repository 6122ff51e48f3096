"""Expectations: each holding and failing, alone and in races."""

from __future__ import annotations

import pytest

from amber.errors import Conflict, LeaseLost, SourcePurged
from amber.model import batch as b
from amber.store.contract import Selection
from amber.testing.conformance import Conformance, together
from amber.testing.samples import SPACE, Hand, placed

F = "facts"


class ExpectationConformance(Conformance):
    """The five expectations, judged against the state before the first write of their batch."""

    def holds(self, hand: Hand, *expect: b.Expectation) -> bool:
        """Tell whether a batch with these expectations goes through; it changes one document when it does."""
        before = hand.store.position(SPACE)
        try:
            receipt = hand.send(b.Put("kinds", "mark", {"n": before}), expect=expect)
        except (Conflict, LeaseLost, SourcePurged):
            assert hand.store.position(SPACE) == before
            return False
        assert receipt.position == before + 1
        return True

    def test_at_revision(self, hand: Hand) -> None:
        first = hand.put("a", name="one")
        second = hand.put("a", name="two")
        assert self.holds(hand, b.AtRevision(F, "a", second))
        assert not self.holds(hand, b.AtRevision(F, "a", first))
        assert not self.holds(hand, b.AtRevision(F, "a", second + 1))
        assert not self.holds(hand, b.AtRevision(F, "other", 1))
        hand.delete("a")
        assert not self.holds(hand, b.AtRevision(F, "a", second))
        third = hand.put("a", name="two")
        assert not self.holds(hand, b.AtRevision(F, "a", second))
        assert self.holds(hand, b.AtRevision(F, "a", third))

    def test_a_touch_keeps_the_revision(self, hand: Hand) -> None:
        revision = hand.put("a", name="one")
        hand.send(b.Touch(F, "a", {"seen": 1}))
        assert self.holds(hand, b.AtRevision(F, "a", revision))

    def test_the_error_says_what_was_expected_and_what_is(self, hand: Hand) -> None:
        hand.put("a", name="one")
        with pytest.raises(Conflict) as caught:
            hand.send(b.Put(F, "a", {}), expect=[b.AtRevision(F, "a", 7)])
        assert caught.value.details == {"collection": F, "key": "a", "expected": 7, "actual": 1}
        with pytest.raises(Conflict) as caught:
            hand.send(b.Put(F, "a", {}), expect=[b.Absent(F, "a")])
        assert caught.value.details == {"collection": F, "key": "a", "expected": None, "actual": 1}

    def test_absent(self, hand: Hand) -> None:
        assert self.holds(hand, b.Absent(F, "a"))
        hand.put("a", name="one")
        assert not self.holds(hand, b.Absent(F, "a"))
        hand.delete("a")
        assert self.holds(hand, b.Absent(F, "a"))

    def test_they_are_judged_before_the_first_write(self, hand: Hand) -> None:
        receipt = hand.send(b.Put(F, "a", {}), expect=[b.Absent(F, "a")])
        hand.send(b.Delete(F, "a"), b.Put(F, "b", {}), expect=[b.AtRevision(F, "a", placed(receipt))])
        assert hand.absent("a")

    def test_all_must_hold(self, hand: Hand) -> None:
        hand.put("a", name="one")
        assert self.holds(hand, b.AtRevision(F, "a", 1), b.Absent(F, "b"))
        assert not self.holds(hand, b.AtRevision(F, "a", 1), b.Absent(F, "b"), b.Absent(F, "a"))

    def test_a_batch_of_expectations_alone_is_judged(self, hand: Hand) -> None:
        assert hand.send(expect=[b.Absent(F, "a")]).position is None
        with pytest.raises(Conflict):
            hand.send(expect=[b.AtRevision(F, "a", 1)])

    def test_leased(self, hand: Hand) -> None:
        hand.put("j", "jobs", due=10)
        (lease,) = hand.store.claim(SPACE, "work", 1, lease=100, now=50)
        assert self.holds(hand, b.Leased("jobs", "j", lease.epoch))
        assert not self.holds(hand, b.Leased("jobs", "j", lease.epoch + 1))
        assert not self.holds(hand, b.Leased("jobs", "other", 1))
        (later,) = hand.store.claim(SPACE, "work", 1, lease=100, now=500)
        assert not self.holds(hand, b.Leased("jobs", "j", lease.epoch))
        assert self.holds(hand, b.Leased("jobs", "j", later.epoch))
        hand.delete("j", "jobs")
        assert not self.holds(hand, b.Leased("jobs", "j", later.epoch))

    def test_not_purged(self, hand: Hand) -> None:
        hand.send(b.Put(F, "a", {}), b.Put(F, "b", {}))
        read = hand.store.position(SPACE)
        assert self.holds(hand, b.NotPurged(((F, "a"), (F, "b")), read))
        read = hand.store.position(SPACE)
        hand.store.purge(SPACE, Selection(F, ("a",)), now=5)
        assert not self.holds(hand, b.NotPurged(((F, "a"),), read))
        assert not self.holds(hand, b.NotPurged(((F, "b"), (F, "a")), read))
        assert self.holds(hand, b.NotPurged(((F, "b"),), read))
        assert self.holds(hand, b.NotPurged(((F, "never"),), 0))

    def test_not_purged_looks_at_what_was_read_since(self, hand: Hand) -> None:
        hand.put("a", name="old")
        hand.store.purge(SPACE, Selection(F, ("a",)), now=5)
        hand.put("a", name="new")
        assert self.holds(hand, b.NotPurged(((F, "a"),), hand.store.position(SPACE)))
        assert not self.holds(hand, b.NotPurged(((F, "a"),), 0))

    def test_a_purge_while_nothing_is_written_is_seen(self, hand: Hand) -> None:
        # the read, the purge and the write all happen at one position of the log
        hand.put("a", name="old")
        read = hand.store.position(SPACE)
        hand.store.purge(SPACE, Selection(F, ("a",)), now=5)
        with pytest.raises(SourcePurged) as caught:
            hand.send(b.Put(F, "derived", {}), expect=[b.NotPurged(((F, "a"),), read)])
        assert (caught.value.collection, caught.value.key) == (F, "a")

    def test_a_race_for_an_absent_key_has_one_winner(self, hand: Hand) -> None:
        won: list[int] = []

        def write(number: int) -> None:
            batch = b.Batch(SPACE, f"race-{number}", 1, (b.Put(F, "a", {"n": number}),), (b.Absent(F, "a"),))
            try:
                hand.store.commit(batch)
            except Conflict:
                return
            won.append(number)

        together([lambda number=number: write(number) for number in range(8)])  # type: ignore[misc]
        assert [hand.body("a")["n"]] == won

    def test_read_decide_commit_loses_no_update(self, hand: Hand) -> None:
        hand.put("a", n=0)

        def bump(name: int) -> None:
            for number in range(10):
                while True:
                    record = hand.get("a")
                    write = b.Put(F, "a", {"n": record.body["n"] + 1})
                    expect = (b.AtRevision(F, "a", record.revision),)
                    try:
                        hand.store.commit(b.Batch(SPACE, f"{name}-{number}-{record.revision}", 1, (write,), expect))
                    except Conflict:
                        continue
                    break

        together([lambda name=name: bump(name) for name in range(4)])  # type: ignore[misc]
        assert hand.body("a")["n"] == 40


class UnchangedConformance(Conformance):
    """A group is unchanged exactly when no member was written and none came or went."""

    @pytest.fixture
    def group(self, hand: Hand) -> b.Unchanged:
        """Give the expectation that the two facts of type t are as they are now."""
        hand.put("a", type="t", size=1, labels=["x"])
        hand.put("b", type="t", size=2, labels=["x", "y"])
        hand.put("other", type="u", size=1, labels=["z"])
        return b.Unchanged(F, "size", ("t",), hand.store.position(SPACE), 2)

    def holds(self, hand: Hand, group: b.Unchanged) -> bool:
        """Tell whether the group passes as unchanged."""
        try:
            hand.send(b.Put("kinds", "mark", {}), expect=[group])
        except Conflict:
            return False
        return True

    def test_the_error_says_which_group(self, hand: Hand, group: b.Unchanged) -> None:
        hand.delete("a")
        with pytest.raises(Conflict) as caught:
            hand.send(b.Put("kinds", "mark", {}), expect=[group])
        assert caught.value.details == {"collection": F, "index": "size", "equal": ("t",)}

    def test_while_others_change(self, hand: Hand, group: b.Unchanged) -> None:
        hand.put("other", type="u", size=2)
        hand.put("more", type="u", size=1)
        hand.delete("other")
        assert self.holds(hand, group)

    def test_touches_do_not_count(self, hand: Hand, group: b.Unchanged) -> None:
        hand.send(b.Touch(F, "a", {"seen": 1}))
        assert self.holds(hand, group)

    def test_after_an_insert(self, hand: Hand, group: b.Unchanged) -> None:
        hand.put("c", type="t", size=3)
        assert not self.holds(hand, group)

    def test_after_an_update(self, hand: Hand, group: b.Unchanged) -> None:
        hand.put("a", type="t", size=1, labels=["x"], more=True)
        assert not self.holds(hand, group)

    def test_after_an_add(self, hand: Hand, group: b.Unchanged) -> None:
        hand.send(b.Add(F, "a", "n", 1))
        assert not self.holds(hand, group)

    def test_after_a_delete(self, hand: Hand, group: b.Unchanged) -> None:
        hand.delete("a")
        assert not self.holds(hand, group)

    def test_after_a_purge(self, hand: Hand, group: b.Unchanged) -> None:
        hand.store.purge(SPACE, Selection(F, ("a",)), now=5)
        assert not self.holds(hand, group)

    def test_after_a_delete_and_an_insert(self, hand: Hand, group: b.Unchanged) -> None:
        hand.delete("a")
        hand.put("c", type="t", size=1)
        assert not self.holds(hand, group)

    def test_after_a_delete_and_the_same_again(self, hand: Hand, group: b.Unchanged) -> None:
        hand.delete("a")
        hand.put("a", type="t", size=1, labels=["x"])
        assert not self.holds(hand, group)

    def test_after_both_in_one_batch(self, hand: Hand, group: b.Unchanged) -> None:
        hand.send(b.Delete(F, "a"), b.Put(F, "c", {"type": "t", "size": 1}))
        assert not self.holds(hand, group)

    def test_after_a_member_moved_away(self, hand: Hand, group: b.Unchanged) -> None:
        hand.put("a", type="u", size=1)
        assert not self.holds(hand, group)

    def test_after_a_member_left_the_index(self, hand: Hand, group: b.Unchanged) -> None:
        hand.put("a", type="t", size=None)
        assert not self.holds(hand, group)

    def test_after_a_member_came(self, hand: Hand, group: b.Unchanged) -> None:
        hand.put("other", type="t", size=1)
        assert not self.holds(hand, group)

    def test_after_one_moved_away_and_one_came(self, hand: Hand, group: b.Unchanged) -> None:
        hand.send(b.Put(F, "a", {"type": "u", "size": 1}), b.Put(F, "other", {"type": "t", "size": 1}))
        assert not self.holds(hand, group)

    def test_after_a_member_went_and_came_back(self, hand: Hand, group: b.Unchanged) -> None:
        hand.put("a", type="u", size=1)
        hand.put("a", type="t", size=1, labels=["x"])
        assert not self.holds(hand, group)

    def test_an_empty_group(self, hand: Hand) -> None:
        empty = b.Unchanged(F, "size", ("t",), 0, 0)
        assert self.holds(hand, empty)
        hand.put("a", type="t", size=1)
        assert not self.holds(hand, empty)
        hand.delete("a")
        assert self.holds(hand, empty)

    def test_a_multi_valued_index(self, hand: Hand, group: b.Unchanged) -> None:
        labelled = b.Unchanged(F, "label", ("x",), group.since, 2)
        hand.put("other", type="u", size=1, labels=["z", "y"])
        assert self.holds(hand, labelled)
        hand.put("other", type="u", size=1, labels=["z", "x"])
        assert not self.holds(hand, labelled)
        hand.put("other", type="u", size=1, labels=["z"])
        assert self.holds(hand, labelled)
        hand.put("b", type="t", size=2, labels=["y"])
        assert not self.holds(hand, labelled)

    def test_the_upper_part_of_a_group(self, hand: Hand, group: b.Unchanged) -> None:
        upper = group._replace(low=2, size=1)
        hand.put("a", type="t", size=0)
        assert self.holds(hand, upper)
        hand.put("a", type="t", size=2)
        assert not self.holds(hand, upper)

    def test_a_race_of_two_that_may_not_both_enter(self, hand: Hand) -> None:
        empty = b.Unchanged(F, "size", ("t",), 0, 0)
        won: list[str] = []

        def enter(key: str) -> None:
            try:
                hand.store.commit(b.Batch(SPACE, key, 1, (b.Put(F, key, {"type": "t", "size": 1}),), (empty,)))
            except Conflict:
                return
            won.append(key)

        together([lambda key=key: enter(key) for key in ("a", "b", "c", "d")])  # type: ignore[misc]
        assert hand.keys("size", ("t",)) == won
