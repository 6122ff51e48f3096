"""Unique values that a collection declares."""

from __future__ import annotations

import pytest

from amber.errors import UniqueViolation
from amber.model import batch as b
from amber.store.contract import Selection
from amber.testing.conformance import Conformance, together
from amber.testing.samples import SPACE, Hand, snapshot

F = "facts"


def active(handle: object, **more: object) -> dict[str, object]:
    """Give the body of an active fact with a handle."""
    return {"handle": handle, "state": "active", **more}


class UniqueConformance(Conformance):
    """One document at most holds a value, judged on what the whole batch leaves."""

    def test_a_second_holder_is_refused(self, hand: Hand) -> None:
        hand.put("a", **active("x", text="word"))
        before = snapshot(hand.store)
        with pytest.raises(UniqueViolation) as caught:
            hand.send(b.Put(F, "c", {}), b.Put(F, "b", active("x")))
        error = caught.value
        assert (error.collection, error.key, error.holder, error.constraint) == (F, "b", "a", "facts/handle")
        assert snapshot(hand.store) == before

    def test_two_of_one_batch_are_refused(self, hand: Hand) -> None:
        with pytest.raises(UniqueViolation):
            hand.send(b.Put(F, "a", active("x")), b.Put(F, "b", active("x")))
        assert hand.store.position(SPACE) == 0

    def test_the_holder_may_be_written_again(self, hand: Hand) -> None:
        hand.put("a", **active("x"))
        hand.put("a", **active("x", more=1))
        hand.send(b.Touch(F, "a", {"seen": 1}), b.Add(F, "a", "n", 1))
        assert hand.body("a") == active("x", more=1, seen=1, n=1)

    def test_it_holds_only_under_its_condition(self, hand: Hand) -> None:
        hand.put("a", handle="x", state="idle")
        hand.put("b", handle="x", state="idle")
        hand.put("a", **active("x"))
        with pytest.raises(UniqueViolation):
            hand.put("b", **active("x"))
        hand.put("a", handle="x", state="idle")
        hand.put("b", **active("x"))

    def test_none_binds_nothing(self, hand: Hand) -> None:
        hand.send(b.Put(F, "a", active(None)), b.Put(F, "b", active(None)), b.Put(F, "c", {"state": "active"}))

    def test_several_fields_count_together(self, hand: Hand) -> None:
        hand.put("a", first="ana", last="lee")
        hand.put("b", first="ana", last="ray")
        hand.put("c", first="ben", last="lee")
        with pytest.raises(UniqueViolation):
            hand.put("d", first="ana", last="lee")

    def test_none_among_several_fields_binds_nothing(self, hand: Hand) -> None:
        hand.send(b.Put(F, "a", {"first": "ana"}), b.Put(F, "b", {"first": "ana", "last": None}))
        assert hand.store.verify() == []

    def test_fields_do_not_run_into_each_other(self, hand: Hand) -> None:
        hand.put("a", first="a,b", last="c")
        hand.put("b", first="a", last="b,c")
        hand.put("c", first='a","b', last="c")
        hand.put("d", first="a", last='b","c')
        assert hand.store.verify() == []

    def test_values_are_compared_by_the_typed_rule(self, hand: Hand) -> None:
        values = ("1", 1, True, [1], {"a": 1}, "", "x" * 200, "x" * 201, "X" * 200, 10**17, 10**17 + 1)
        hand.send(*(b.Put(F, f"k{place}", active(value)) for place, value in enumerate(values)))
        for value in (*values, 1.0, float(10**17), [1.0]):
            with pytest.raises(UniqueViolation):
                hand.put("other", **active(value))

    def test_two_may_swap_their_values_in_one_batch(self, hand: Hand) -> None:
        hand.send(b.Put(F, "a", active("x")), b.Put(F, "b", active("y")))
        hand.send(b.Put(F, "a", active("y")), b.Put(F, "b", active("x")))
        assert [hand.body(key)["handle"] for key in "ab"] == ["y", "x"]
        for handle in "xy":
            with pytest.raises(UniqueViolation):
                hand.put("c", **active(handle))
        assert hand.store.verify() == []

    def test_three_may_pass_their_values_on(self, hand: Hand) -> None:
        hand.send(*(b.Put(F, key, active(key)) for key in "abc"))
        hand.send(*(b.Put(F, key, active(value)) for key, value in zip("abc", "bca", strict=True)))
        assert hand.store.verify() == []

    def test_a_value_may_be_taken_over_in_one_batch(self, hand: Hand) -> None:
        hand.put("a", **active("x"))
        hand.send(b.Put(F, "b", active("x")), b.Delete(F, "a"))
        hand.send(b.Put(F, "b", {}), b.Put(F, "c", active("x")))
        with pytest.raises(UniqueViolation):
            hand.put("a", **active("x"))

    def test_what_lies_between_in_a_batch_does_not_count(self, hand: Hand) -> None:
        hand.put("a", **active("x"))
        hand.send(b.Put(F, "b", active("x")), b.Put(F, "b", active("y")))
        assert hand.body("b")["handle"] == "y"

    def test_a_delete_releases(self, hand: Hand) -> None:
        hand.put("a", **active("x"))
        hand.delete("a")
        hand.put("b", **active("x"))

    def test_a_purge_releases(self, hand: Hand) -> None:
        hand.put("a", **active("x"))
        hand.store.purge(SPACE, Selection(F, ("a",)), now=5)
        hand.put("b", **active("x"))

    def test_a_value_is_unique_in_its_space(self, hand: Hand) -> None:
        hand.put("a", **active("x"))
        hand.send(b.Put(F, "b", active("x")), space="other")
        assert hand.store.verify() == []

    def test_an_added_document_is_bound(self, hand: Hand) -> None:
        hand.put("a", **active("x"))
        with pytest.raises(UniqueViolation):
            hand.send(b.Add(F, "b", "n", 1, initial=active("x")))

    def test_a_race_for_a_value_has_one_winner(self, hand: Hand) -> None:
        won: list[str] = []

        def take(key: str) -> None:
            try:
                hand.store.commit(b.Batch(SPACE, key, 1, (b.Put(F, key, active("x")),)))
            except UniqueViolation:
                return
            won.append(key)

        together([lambda key=key: take(key) for key in "abcdef"])  # type: ignore[misc]
        assert hand.keys("name") == []
        assert len(won) == 1
        assert hand.store.stats(SPACE).documents[F] == 1
