"""What a session holds for itself: it shadows the long-term value and never changes it, until it is promoted."""

from __future__ import annotations

from typing import Any

import pytest
from tests.services.stage import SteppingClock, values

from amber.errors import BadInput
from amber.memory import Memory


def test_an_ephemeral_value_shadows_the_long_term_one(memory: Memory) -> None:
    memory.facts.put("tea", key="drink")
    memory.facts.put("coffee", key="drink", session="s1", ephemeral=True)
    assert memory.facts.get(key="drink").value == "tea"
    assert memory.facts.get(key="drink", session="s1").value == "coffee"
    assert memory.facts.get(key="drink", session="s2").value == "tea"
    assert values(memory, key="drink") == ["tea"]
    assert values(memory, session="s1") == ["coffee"]
    assert [hit.text for hit in memory.recall("drink")] == ["drink: tea"]
    assert [hit.text for hit in memory.recall("coffee", session="s1")] == ["drink: coffee"]
    assert memory.recall("coffee", session="s2") == []


def test_discard_brings_back_the_long_term_state(memory: Memory) -> None:
    profile = memory.facts.put({"name": "Ana"}, key="profile", sender="ana")
    memory.facts.put({"name": "A."}, key="profile", sender="ana", session="chat", ephemeral=True)
    kept = memory.facts.put("said in the chat", session="chat")
    assert memory.sessions.discard("chat") == 1
    assert memory.facts.get(key="profile", sender="ana", session="chat") == profile
    assert values(memory, session="chat") == ["said in the chat"]
    assert memory.sessions.discard("chat") == 0
    memory.history.undo(last=1, session="chat")
    assert memory.facts.get(key="profile", sender="ana", session="chat").value == {"name": "A."}
    assert memory.facts.get(kept) == kept


def test_promote_makes_the_session_long_term(memory: Memory) -> None:
    old = memory.facts.put("tea", key="drink")
    held = [
        memory.facts.put("coffee", key="drink", session="s", ephemeral=True),
        memory.facts.put("keyless", session="s", ephemeral=True),
    ]
    assert [fact.id for fact in memory.sessions.promote("s")] == [fact.id for fact in held]
    assert memory.facts.get(key="drink").value == "coffee"
    assert memory.facts.get(old.id).superseded_by == held[0].id
    assert memory.sessions.discard("s") == 0
    assert values(memory) == ["coffee", "keyless"]
    memory.history.undo(last=1, session="s")
    assert memory.facts.get(key="drink").value == "tea"
    assert memory.facts.get(key="drink", session="s").value == "coffee"
    memory.history.redo(session="s")
    assert memory.facts.get(key="drink").value == "coffee"


def test_promote_repeats_what_is_known(memory: Memory) -> None:
    known = memory.facts.put("likes tea")
    held = memory.facts.put("Likes  TEA", session="s", ephemeral=True)
    assert held.id != known.id
    (fact,) = memory.sessions.promote("s")
    assert (fact.id, fact.mentions) == (known.id, 2)
    assert memory.facts.find(held.id) is None


def test_promote_of_several_values_of_one_key(memory: Memory) -> None:
    memory.facts.put("zero", key="k")
    held = [memory.facts.put(value, key="k", session="s", ephemeral=True) for value in ("one", "two", "three")]
    memory.sessions.promote("s")
    assert values(memory, key="k") == ["three"]
    assert [memory.facts.get(key="k", valid_at=fact.valid_from).value for fact in held] == ["one", "two", "three"]
    assert values(memory, key="k", superseded=True) == ["zero", "one", "two", "three"]


def test_promote_in_one_moment(memory: Memory, clock: SteppingClock) -> None:
    memory.facts.put("zero", key="k")
    with memory.transaction() as tx:
        for value in ("one", "two"):
            clock.now -= 1_000
            tx.facts.put(value, key="k", session="s", ephemeral=True)
    memory.sessions.promote("s")
    assert memory.facts.get(key="k").value == "two"
    assert memory.facts.count(key="k") == 1


def test_promote_supersedes_a_unique_value_as_a_put_does(memory: Memory) -> None:
    memory.register("profile", unique=("email",))
    old = memory.facts.put({"email": "x", "n": 1}, type="profile", sender="ana")
    memory.facts.put({"email": "x", "n": 2}, type="profile", sender="ana", session="s", ephemeral=True)
    (fact,) = memory.sessions.promote("s")
    assert values(memory, type="profile") == [{"email": "x", "n": 2}]
    assert memory.facts.get(old.id).superseded_by == fact.id


def test_what_is_over_is_not_promoted(memory: Memory, clock: SteppingClock) -> None:
    memory.facts.put("tea", key="drink")
    memory.facts.put("coffee", key="drink", session="s", ephemeral=True, ttl="1h")
    clock.advance(days=1)
    assert memory.sessions.promote("s") == []
    assert memory.facts.get(key="drink").value == "tea"


def test_a_later_promotion_holds(memory: Memory) -> None:
    memory.facts.put("coffee", key="drink", session="s", ephemeral=True)
    memory.facts.put("tea", key="drink")
    memory.sessions.promote("s")
    assert values(memory, key="drink") == ["coffee"]


def test_many_are_discarded_and_promoted_at_once(memory: Memory) -> None:
    for session in ("one", "two"):
        with memory.transaction() as tx:
            for number in range(1_300):
                tx.facts.put(number, session=session, ephemeral=True)
    position = memory.history.position()
    assert memory.sessions.discard("one") == 1_300
    assert len(memory.sessions.promote("two")) == 1_300
    assert memory.history.position() == position + 2
    assert memory.facts.count() == 1_300


def test_a_session_put_again_without_ephemeral_stays_apart(memory: Memory) -> None:
    memory.facts.put("x", key="k", session="s", ephemeral=True)
    memory.facts.put("y", key="k", session="s")
    assert memory.facts.get(key="k", session="s").value == "x"
    assert memory.facts.get(key="k").value == "y"
    memory.sessions.discard("s")
    assert memory.facts.get(key="k", session="s").value == "y"


@pytest.mark.parametrize("session", [None, "", 7, "\0", ["s"]])
def test_an_unset_session_is_refused(memory: Memory, session: Any) -> None:
    memory.facts.put("long-term")
    memory.facts.put("held", session="s", ephemeral=True)
    for call in (memory.sessions.discard, memory.sessions.promote):
        with pytest.raises(BadInput):
            call(session)
    assert (memory.facts.count(), memory.facts.count(session="s")) == (1, 1)


def test_an_operation_answers_with_its_first_result(memory: Memory) -> None:
    memory.facts.put("tea", key="drink")
    memory.facts.put("again")
    for value, key in (("coffee", "drink"), ("x", None), ("Again", None)):
        memory.facts.put(value, key=key, session="s", ephemeral=True)
    first = memory.sessions.promote("s", operation="p")
    memory.facts.put("more", session="s", ephemeral=True)
    assert {fact.id for fact in memory.sessions.promote("s", operation="p")} == {fact.id for fact in first}
    assert len(first) == 3
    assert memory.sessions.discard("s", operation="d") == 1
    memory.facts.put("even more", session="s", ephemeral=True)
    assert memory.sessions.discard("s", operation="d") == 1
    assert memory.facts.count(session="s") == 3


def test_what_was_said_since_is_not_made_undone_by_a_promotion(memory: Memory) -> None:
    memory.facts.put("Lisbon", key="city")
    memory.facts.put("Berlin", key="city", session="s", ephemeral=True)
    rome = memory.facts.put("Rome", key="city")
    (berlin,) = memory.sessions.promote("s")
    assert memory.facts.get(key="city").value == "Berlin"
    rome = memory.facts.get(rome.id)
    assert rome.valid_until == berlin.valid_from
    assert rome.valid_from < berlin.valid_from
