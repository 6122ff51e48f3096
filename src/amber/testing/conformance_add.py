"""Add: a sum that nobody has to read first."""

from __future__ import annotations

import pytest

from amber.errors import BadInput, LimitReached, NotFound, UniqueViolation
from amber.model import batch as b
from amber.store.contract import Clause, LogQuery, SearchFilter
from amber.testing.conformance import Conformance, together
from amber.testing.samples import SPACE, Hand, snapshot

F = "facts"
TOP, BOTTOM = 2**63 - 1, -(2**63)


class AddConformance(Conformance):
    """Additions of one field, whatever else happens to the document."""

    def test_a_missing_field_counts_as_zero(self, hand: Hand) -> None:
        hand.put("a", name="one", m=None)
        hand.send(b.Add(F, "a", "n", 3))
        hand.send(b.Add(F, "a", "m", -3))
        assert hand.body("a") == {"name": "one", "n": 3, "m": -3}

    def test_an_absent_document_is_made_from_its_beginning(self, hand: Hand) -> None:
        hand.send(b.Add(F, "a", "n", 3, initial={"name": "one", "n": 10}))
        hand.send(b.Add(F, "a", "n", 3, initial={"name": "two", "n": 90}))
        assert hand.body("a") == {"name": "one", "n": 16}

    def test_without_a_beginning_it_is_not_found(self, hand: Hand) -> None:
        with pytest.raises(NotFound) as caught:
            hand.send(b.Add(F, "a", "n", 3))
        assert caught.value.key == "a"
        assert hand.store.position(SPACE) == 0

    def test_it_is_logged_as_a_delta(self, hand: Hand) -> None:
        hand.put("a", n=5, m=5)
        hand.send(b.Add(F, "a", "n", 3), b.Add(F, "a", "m", -1), b.Add(F, "a", "n", 4))
        change = hand.store.log(SPACE, LogQuery())[0].changes[0]
        assert (change.kind, change.before, change.after, change.deltas) == ("add", None, None, {"n": 7, "m": -1})
        assert hand.get("a").revision == 2

    def test_it_leaves_the_other_fields(self, hand: Hand) -> None:
        body = {"n": 1, "name": "é", "payload": {"deep": [1, {"x": None}]}, "text": "some words"}
        hand.put("a", **body)
        hand.send(b.Add(F, "a", "n", 1))
        assert hand.body("a") == {**body, "n": 2}

    def test_totals_follow(self, hand: Hand) -> None:
        hand.put("a", type="t", size=1, uses=10, labels=["l"])
        hand.put("b", type="t", size=2, labels=["l"])
        hand.send(b.Add(F, "a", "uses", 5), b.Add(F, "b", "uses", 2), b.Add(F, "a", "n", 100))
        assert hand.store.total(SPACE, F, "size", ("t",), field="uses") == 17
        assert hand.store.total(SPACE, F, "label", ("l",), field="uses") == 17
        hand.send(b.Put(F, "a", {**hand.body("a"), "uses": 1}), b.Add(F, "a", "uses", 1))
        assert hand.store.total(SPACE, F, "size", ("t",), field="uses") == 4
        hand.delete("a")
        assert hand.store.total(SPACE, F, "size", ("t",), field="uses") == 2
        assert hand.store.verify() == []

    def test_everything_derived_stays(self, hand: Hand) -> None:
        body = {"type": "t", "size": 1, "name": "n", "labels": ["l"], "handle": "h", "state": "active"}
        hand.put("a", **body, text="some words", payload={"x": 1})
        hand.send(b.Add(F, "a", "n", 1), b.Touch(F, "a", {"seen": 1}))
        assert hand.keys("size", ("t",)) == hand.keys("name") == hand.keys("label", ("l",)) == ["a"]
        assert [row.key for row in hand.store.lookup(SPACE, F, ((("payload", "x"), 1),)).rows] == ["a"]
        (found,) = hand.store.candidates(SPACE, [Clause(("words",), 1)], SearchFilter())
        assert (found.key, found.position) == ("a", 1)
        with pytest.raises(UniqueViolation):
            hand.put("b", **body)
        hand.delete("a")
        hand.put("b", **body)
        assert hand.store.verify() == []

    def test_at_most(self, hand: Hand) -> None:
        hand.put("a", n=8)
        hand.send(b.Add(F, "a", "n", 2, at_most=10))
        before = snapshot(hand.store)
        with pytest.raises(LimitReached) as caught:
            hand.send(b.Put(F, "b", {}), b.Add(F, "a", "n", 1, at_most=10))
        assert (caught.value.value, caught.value.at_most) == (11, 10)
        assert snapshot(hand.store) == before
        hand.send(b.Add(F, "a", "n", -1, at_most=10))
        assert hand.body("a")["n"] == 9

    def test_at_most_counts_within_the_batch(self, hand: Hand) -> None:
        hand.put("a", n=8)
        with pytest.raises(LimitReached):
            hand.send(b.Add(F, "a", "n", 2, at_most=10), b.Add(F, "a", "n", 1, at_most=10))
        assert hand.body("a")["n"] == 8

    def test_at_most_holds_for_a_beginning(self, hand: Hand) -> None:
        with pytest.raises(LimitReached):
            hand.send(b.Add(F, "a", "n", 3, at_most=2, initial={}))
        assert hand.absent("a")

    @pytest.mark.parametrize(("start", "n"), [(TOP - 1, 1), (BOTTOM + 1, -1), (-1, BOTTOM + 1), (0, BOTTOM), (0, TOP)])
    def test_it_reaches_the_ends_of_64_bits(self, hand: Hand, start: int, n: int) -> None:
        hand.put("a", n=start)
        hand.send(b.Add(F, "a", "n", n))
        assert hand.body("a")["n"] == start + n
        assert hand.store.log(SPACE, LogQuery())[0].changes[0].deltas == {"n": n}

    @pytest.mark.parametrize(
        ("start", "n"), [(TOP, 1), (BOTTOM, -1), (1, TOP), (-2, BOTTOM), (TOP, 2**70), (BOTTOM, 2**63)]
    )
    def test_it_does_not_leave_64_bits(self, hand: Hand, start: int, n: int) -> None:
        hand.put("a", n=start)
        before = snapshot(hand.store)
        with pytest.raises(BadInput):
            hand.send(b.Add(F, "a", "n", n))
        assert snapshot(hand.store) == before

    def test_nor_does_the_sum_that_is_logged(self, hand: Hand) -> None:
        hand.put("a", n=BOTTOM)
        with pytest.raises(BadInput):
            hand.send(b.Add(F, "a", "n", TOP), b.Add(F, "a", "n", TOP))
        assert hand.body("a")["n"] == BOTTOM

    @pytest.mark.parametrize("field", ["size", "seen", "other", "name", ""])
    def test_it_adds_to_declared_counters_only(self, hand: Hand, field: str) -> None:
        hand.put("a", size=1, other=1, seen=1)
        with pytest.raises(BadInput):
            hand.send(b.Add(F, "a", field, 1))
        assert hand.get("a").revision == 1

    @pytest.mark.parametrize("value", ["1", 1.0, True, [], {}])
    def test_it_adds_to_ints_only(self, hand: Hand, value: object) -> None:
        hand.put("a", n=value)
        with pytest.raises(BadInput):
            hand.send(b.Add(F, "a", "n", 1))
        assert hand.body("a")["n"] == value

    def test_many_threads_lose_nothing(self, hand: Hand) -> None:
        def bump(name: int) -> None:
            for number in range(25):
                write = b.Add(F, "a", "n", 1, initial={"name": "counted"})
                hand.store.commit(b.Batch(SPACE, f"{name}-{number}", 1, (write,)))

        together([lambda name=name: bump(name) for name in range(8)])  # type: ignore[misc]
        assert hand.body("a") == {"name": "counted", "n": 200}

    def test_many_threads_stop_at_the_limit(self, hand: Hand) -> None:
        refused: list[int] = []

        def bump(name: int) -> None:
            for number in range(10):
                write = b.Add(F, "a", "n", 1, at_most=25, initial={})
                try:
                    hand.store.commit(b.Batch(SPACE, f"{name}-{number}", 1, (write,)))
                except LimitReached:
                    refused.append(number)

        together([lambda name=name: bump(name) for name in range(4)])  # type: ignore[misc]
        assert hand.body("a")["n"] == 25
        assert len(refused) == 15
