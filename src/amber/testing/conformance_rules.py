"""Rules that users register at run time: unique payload fields and immutable types."""

from __future__ import annotations

from typing import Any

import pytest

from amber.errors import Immutable, UniqueViolation
from amber.model import batch as b
from amber.model.collection import Body
from amber.store.contract import Selection
from amber.testing.conformance import Conformance
from amber.testing.samples import SPACE, Hand, snapshot

F = "facts"
MAIL: Body = {"unique": [[["payload", "mail"]]]}
NOTHING: Body = {"unique": [], "immutable": False}


def user(mail: Any, **more: Any) -> Body:
    """Give the body of a fact about a user."""
    return {"type": "user", "payload": {"mail": mail}, **more}


class RuleConformance(Conformance):
    """Unique fields of a type that were registered while there are facts already."""

    @pytest.fixture
    def ruled(self, hand: Hand) -> Hand:
        """Give a hand whose store has a rule for users."""
        hand.put("user", "kinds", **MAIL)
        hand.put("a", **user("x"))
        return hand

    def test_a_second_holder_is_refused(self, ruled: Hand) -> None:
        before = snapshot(ruled.store)
        with pytest.raises(UniqueViolation) as caught:
            ruled.put("b", **user("x"))
        assert (caught.value.key, caught.value.holder, caught.value.constraint) == ("b", "a", "facts//user")
        assert snapshot(ruled.store) == before

    def test_it_binds_only_its_type(self, ruled: Hand) -> None:
        ruled.put("b", type="other", payload={"mail": "x"})
        ruled.put("c", payload={"mail": "x"})

    def test_it_binds_only_what_is_to_be_bound(self, ruled: Hand) -> None:
        ruled.put("b", **user("x", state="retired"))
        with pytest.raises(UniqueViolation):
            ruled.put("b", **user("x"))
        ruled.put("a", **user("x", state="retired"))
        ruled.put("b", **user("x"))

    def test_it_binds_only_in_its_space(self, ruled: Hand) -> None:
        ruled.send(b.Put(F, "a", user("x")), b.Put(F, "b", user("x")), space="other")
        assert ruled.store.verify() == []

    def test_a_missing_value_binds_nothing(self, ruled: Hand) -> None:
        ruled.send(b.Put(F, "b", user(None)), b.Put(F, "c", {"type": "user", "payload": {}}), b.Put(F, "d", user(None)))

    def test_two_may_swap_their_values_in_one_batch(self, ruled: Hand) -> None:
        ruled.put("b", **user("y"))
        ruled.send(b.Put(F, "a", user("y")), b.Put(F, "b", user("x")))
        with pytest.raises(UniqueViolation):
            ruled.put("c", **user("y"))
        assert ruled.store.verify() == []

    def test_a_delete_and_a_purge_release(self, ruled: Hand) -> None:
        ruled.delete("a")
        ruled.put("b", **user("x"))
        ruled.store.purge(SPACE, Selection(F, ("b",)), now=5)
        ruled.put("c", **user("x"))

    def test_several_rules_and_fields(self, hand: Hand) -> None:
        rules = [[["payload", "mail"]], [["payload", "first"], ["payload", "last"]]]
        hand.put("user", "kinds", unique=rules)
        hand.put("a", type="user", payload={"mail": "x", "first": "ana", "last": "lee"})
        hand.put("b", type="user", payload={"mail": "y", "first": "ana", "last": "ray"})
        hand.put("c", type="user", payload={"first": "x"})
        with pytest.raises(UniqueViolation):
            hand.put("d", type="user", payload={"mail": "z", "first": "ana", "last": "lee"})
        with pytest.raises(UniqueViolation):
            hand.put("d", type="user", payload={"mail": "y"})

    def test_paths_do_not_run_into_each_other(self, hand: Hand) -> None:
        hand.put("user", "kinds", unique=[[["payload", "a.b"]], [["payload", "a", "b"]]])
        hand.put("a", type="user", payload={"a.b": 1})
        hand.put("b", type="user", payload={"a": {"b": 1}})
        assert hand.store.verify() == []

    def test_values_are_compared_by_the_typed_rule(self, ruled: Hand) -> None:
        values = (1, True, "1", [1], {"a": 1})
        ruled.send(*(b.Put(F, f"k{place}", user(value)) for place, value in enumerate(values)))
        for value in (1.0, True, "1", [1.0], {"a": 1}):
            with pytest.raises(UniqueViolation):
                ruled.put("other", **user(value))

    def test_old_violations_stay_and_are_listed(self, hand: Hand) -> None:
        hand.send(*(b.Put(F, key, user("x")) for key in "abc"), b.Put(F, "d", user("y")))
        hand.put("user", "kinds", **MAIL)
        (problem,) = hand.store.verify()
        assert (problem.kind, problem.collection, problem.key) == ("unique", F, "a")
        assert "a, b, c" in problem.detail

    def test_old_violations_may_be_kept_and_mended(self, hand: Hand) -> None:
        hand.send(*(b.Put(F, key, user("x")) for key in "abc"))
        hand.put("user", "kinds", **MAIL)
        hand.put("a", **user("x", more=1))
        with pytest.raises(UniqueViolation):
            hand.put("d", **user("x"))
        hand.put("a", **user("z"))
        with pytest.raises(UniqueViolation):
            hand.put("a", **user("x"))
        hand.delete("b")
        assert hand.store.verify() == []
        with pytest.raises(UniqueViolation):
            hand.put("d", **user("x"))
        hand.delete("c")
        hand.put("d", **user("x"))

    def test_a_deleted_rule_binds_no_more(self, ruled: Hand) -> None:
        ruled.delete("user", "kinds")
        ruled.put("b", **user("x"))
        assert ruled.store.verify() == []
        ruled.put("user", "kinds", **MAIL)
        assert len(ruled.store.verify()) == 1

    def test_a_purged_rule_binds_no_more(self, ruled: Hand) -> None:
        ruled.store.purge(SPACE, Selection("kinds", ("user",)), now=5)
        assert ruled.store.verify() == []
        ruled.put("b", **user("x"))
        assert ruled.store.verify() == []

    def test_a_changed_rule_binds_other_fields(self, ruled: Hand) -> None:
        ruled.put("b", type="user", payload={"mail": "y", "name": "n"})
        ruled.put("user", "kinds", unique=[[["payload", "name"]]])
        ruled.put("c", **user("x"))
        with pytest.raises(UniqueViolation):
            ruled.put("d", type="user", payload={"name": "n"})
        assert ruled.store.verify() == []

    def test_a_rule_and_documents_of_one_batch(self, hand: Hand) -> None:
        hand.put("a", **user("x"))
        with pytest.raises(UniqueViolation):
            hand.send(b.Put("kinds", "user", MAIL), b.Put(F, "b", user("x")))
        with pytest.raises(UniqueViolation):
            hand.send(b.Put(F, "c", user("y")), b.Put(F, "d", user("y")), b.Put("kinds", "user", MAIL))
        hand.send(b.Put(F, "a", user("y")), b.Put(F, "b", user("x")), b.Put("kinds", "user", MAIL))
        assert hand.store.verify() == []

    def test_a_rule_leaves_with_the_batch_that_deletes_it(self, ruled: Hand) -> None:
        ruled.send(b.Put(F, "b", user("x")), b.Delete("kinds", "user"))
        assert ruled.body("b") == user("x")
        assert ruled.store.verify() == []

    def test_a_document_that_already_had_its_value_may_be_written_with_the_rule(self, hand: Hand) -> None:
        hand.send(b.Put(F, "a", user("x")), b.Put(F, "b", user("x")))
        hand.send(b.Put(F, "a", user("x", more=1)), b.Put("kinds", "user", MAIL))
        assert len(hand.store.verify()) == 1

    def test_a_document_that_changes_its_type_is_bound_by_the_new_one(self, ruled: Hand) -> None:
        ruled.put("b", type="other", payload={"mail": "x"})
        with pytest.raises(UniqueViolation):
            ruled.put("b", **user("x"))
        ruled.put("a", type="other", payload={"mail": "x"})
        ruled.put("b", **user("x"))
        assert ruled.store.verify() == []


class ImmutableConformance(Conformance):
    """Types whose facts may not be changed; the sample collection lets all but the payload change."""

    @pytest.fixture
    def fixed(self, hand: Hand) -> Hand:
        """Give a hand whose store holds an immutable fact."""
        hand.put("user", "kinds", immutable=True)
        hand.put("a", **user("x"))
        return hand

    def test_what_is_forbidden_is_refused(self, fixed: Hand) -> None:
        before = snapshot(fixed.store)
        for write in (b.Put(F, "a", user("y")), b.Delete(F, "a"), b.Put(F, "a", {"type": "other"})):
            with pytest.raises(Immutable) as caught:
                fixed.send(b.Put(F, "other", {}), write)
            assert (caught.value.collection, caught.value.key, caught.value.retry) == (F, "a", "no")
        assert snapshot(fixed.store) == before

    def test_what_is_not_forbidden_goes_through(self, fixed: Hand) -> None:
        fixed.put("a", **user("x", more=1))
        fixed.send(b.Touch(F, "a", {"seen": 1}), b.Add(F, "a", "n", 1))
        fixed.put("b", **user("y"))
        assert fixed.body("a") == user("x", more=1, seen=1, n=1)

    def test_the_end_of_the_batch_counts(self, fixed: Hand) -> None:
        fixed.send(b.Delete(F, "a"), b.Put(F, "a", user("x", again=True)))
        assert fixed.body("a") == user("x", again=True)

    def test_an_undoing_batch_passes(self, fixed: Hand) -> None:
        fixed.send(b.Delete(F, "a"), undoes=(2,))
        assert fixed.absent("a")

    def test_a_purge_passes(self, fixed: Hand) -> None:
        fixed.store.purge(SPACE, Selection(F, ("a",)), now=5)
        assert fixed.absent("a")

    def test_facts_from_before_the_rule_are_bound(self, hand: Hand) -> None:
        hand.put("a", **user("x"))
        hand.put("user", "kinds", immutable=True)
        with pytest.raises(Immutable):
            hand.delete("a")

    def test_a_changed_rule_lets_go(self, fixed: Hand) -> None:
        fixed.put("user", "kinds", **NOTHING)
        fixed.put("a", **user("y"))
        fixed.put("user", "kinds", immutable=True)
        fixed.delete("user", "kinds")
        fixed.delete("a")

    def test_the_rule_of_the_end_of_the_batch_counts(self, fixed: Hand) -> None:
        fixed.send(b.Delete(F, "a"), b.Delete("kinds", "user"))
        assert fixed.absent("a")

    def test_other_types_and_spaces_are_free(self, fixed: Hand) -> None:
        fixed.put("c", type="other", payload={"v": 1})
        fixed.put("c", type="other", payload={"v": 2})
        fixed.send(b.Put(F, "a", user("x")), space="other")
        fixed.send(b.Delete(F, "a"), space="other")
