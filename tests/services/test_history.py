"""History: who changed what and when; taken back, taken back again, and seen as it was."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.services.stage import DAY, START, Open, SteppingClock, everything, iso, values

from amber.errors import BadInput, NotFound, UndoConflict, Unsupported
from amber.memory import Memory


def test_pages_of_the_log(memory: Memory, open_memory: Open) -> None:
    other = open_memory(actor="other")
    for number in range(120):
        (memory if number % 3 else other).facts.put(number, session="even" if number % 2 == 0 else None)
    assert [entry.position for entry in memory.history.page(limit=3)] == [120, 119, 118]
    assert [entry.position for entry in memory.history.page(limit=3, before=4)] == [3, 2, 1]
    assert memory.history.page(before=1) == memory.history.page(before=-5) == []
    assert len(memory.history.page(limit=200, before=2**62)) == 120
    assert {entry.actor for entry in memory.history.page(actor="other", limit=200)} == {"other"}
    assert len(memory.history.page(session="even", limit=200)) == 60
    both = memory.history.page(session="even", actor="other", limit=200)
    assert [entry.position for entry in both] == [n + 1 for n in range(119, -1, -1) if n % 2 == 0 and n % 3 == 0]
    assert memory.history.page(session="even", actor="other", limit=2) == both[:2]
    assert memory.history.page(session="nobody") == []


@pytest.mark.parametrize("choice", [{}, {"session": "even"}, {"actor": "other"}, {"session": "even", "actor": "other"}])
def test_an_offset_passes_over_the_newest_entries(memory: Memory, open_memory: Open, choice: dict[str, str]) -> None:
    other = open_memory(actor="other")
    for number in range(60):
        (memory if number % 3 else other).facts.put(number, session="even" if number % 2 == 0 else None)
    memory.history.undo(last=3)
    everything = memory.history.page(limit=100, **choice)  # type: ignore[arg-type]
    for offset in (0, 1, 4, len(everything) - 1, len(everything), 200):
        found = memory.history.page(offset=offset, limit=3, **choice)  # type: ignore[arg-type]
        assert found == everything[offset : offset + 3]
        before = everything[2].position
        page = memory.history.page(offset=offset, before=before, limit=100, **choice)
        assert page == everything[3 + offset :]
    for wrong in (-1, "1", 1.0, 2**70):
        with pytest.raises(BadInput):
            memory.history.page(offset=wrong)  # type: ignore[arg-type]


def test_a_page_reads_what_decides_about_its_entries_together(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(30):
        memory.facts.put(number)
    for _ in range(20):
        memory.history.undo(last=1)
    memory.history.redo()
    asked: list[Any] = []
    log = memory._store.log

    def counting(space: str, query: Any) -> Any:
        asked.append(query)
        return log(space, query)

    monkeypatch.setattr(memory._store, "log", counting)
    page = memory.history.page(limit=60)
    # the undo that was taken back itself leaves its change as it was
    assert [entry.position for entry in page if entry.is_undone] == [50, *range(30, 11, -1)]
    assert [entry.kind for entry in page] == ["redo"] + ["undo"] * 20 + ["change"] * 30
    assert len(asked) <= 4


def test_an_entry_says_who_why_and_what(memory: Memory) -> None:
    with memory.transaction(reason="because", session="s") as tx:
        fact = tx.facts.put("x")
    entry = memory.history.get(1)
    assert (entry.position, entry.actor, entry.reason, entry.session, entry.kind) == (
        1,
        "tester",
        "because",
        "s",
        "change",
    )
    assert (entry.undoes, entry.is_undone, entry.at.tzinfo) == ((), False, UTC)
    (change,) = entry.changes
    assert (change.collection, change.id, change.kind, change.before, change.forgotten) == (
        "facts",
        fact.id,
        "put",
        None,
        False,
    )
    assert change.after is not None
    assert change.after["payload"] == "x"
    memory.facts.put("x")
    assert memory.history.page()[0].changes[0].deltas == {"mentions": 1}


@pytest.mark.parametrize("position", [0, -1, 99, 2**63, 2**70])
def test_a_position_that_is_not_there(memory: Memory, position: int) -> None:
    memory.facts.put("x")
    for call in (memory.history.get, memory.history.undo):
        with pytest.raises(NotFound):
            call(position)


@pytest.mark.parametrize("wrong", [True, "1", 1.5, None, b"1"])
def test_what_is_no_position(memory: Memory, wrong: Any) -> None:
    memory.facts.put("x")
    for call in (memory.history.get, memory.history.undo, lambda each: memory.history.undo(last=each)):
        with pytest.raises(BadInput):
            call(wrong)
    if wrong is not None:
        with pytest.raises(BadInput):
            memory.history.page(before=wrong)
    assert values(memory) == ["x"]


def test_of_a_fact(memory: Memory) -> None:
    fact = memory.facts.put({"n": 1}, key="k")
    memory.facts.put("beside")
    memory.facts.patch(fact, {"n": 2})
    memory.facts.delete(fact)
    memory.history.undo(after=0)
    assert [entry.position for entry in memory.history.of(fact)] == [5, 4, 3, 1]
    assert [entry.position for entry in memory.history.of(fact.id, limit=2)] == [5, 4]
    assert memory.history.of("nobody") == []


# -- undo and redo --


def test_undo_of_each_change(memory: Memory) -> None:
    memory.facts.put({"n": 0}, key="k")
    states = [everything(memory)]
    changes: list[Callable[[], Any]] = [
        lambda: memory.facts.put({"n": 1}, key="k"),
        lambda: memory.facts.put({"n": 1}, key="k"),
        lambda: memory.facts.patch(memory.facts.get(key="k"), {"m": 1}),
        lambda: memory.facts.put("held", session="s", ephemeral=True),
        lambda: memory.sessions.promote("s"),
        lambda: memory.facts.delete(memory.facts.get(key="k")),
        lambda: memory.facts.restore(memory.facts.page(key="k", deleted=True).facts[0]),
        lambda: memory.facts.put({"n": 2}, key="k", valid_from="2020-01-01", valid_until="2020-02-01"),
        lambda: memory.facts.put("again", session="s", ephemeral=True),
        lambda: memory.sessions.discard("s"),
    ]
    for change in changes:
        change()
        states.append(everything(memory, ("s",)))
    for state in states[-2::-1]:
        undone = memory.history.undo(last=1)
        assert everything(memory, ("s",)) == state
        assert memory.history.get(undone.position).undoes == undone.positions
    # redo takes the undos back, the newest first
    for state in states[1:]:
        memory.history.redo()
        assert everything(memory, ("s",)) == state
    with pytest.raises(NotFound):
        memory.history.redo()
    for position, state in zip(range(1, 12), states, strict=True):
        assert everything(memory.at(position), ("s",)) == state


def test_undo_names_what_was_changed_since(memory: Memory) -> None:
    one = memory.facts.put({"n": 1}, key="one")
    two = memory.facts.put({"n": 1}, key="two")
    memory.facts.patch(one, {"n": 2})
    with pytest.raises(UndoConflict) as conflict:
        memory.history.undo(1)
    assert (conflict.value.documents, conflict.value.retry) == ((("facts", one.id),), "no")
    with pytest.raises(UndoConflict) as conflict:
        memory.history.undo(1, force=False)
    assert memory.history.position() == 3
    memory.history.undo(1, force=True, reason="for good")
    assert memory.facts.find(one.id) is None
    assert memory.facts.get(key="two") == two
    assert memory.history.page()[0].reason == "for good"


def test_a_mention_since_is_a_change(memory: Memory) -> None:
    memory.facts.put("x")
    memory.facts.put("x")
    with pytest.raises(UndoConflict):
        memory.history.undo(1)
    memory.history.undo(2)
    assert memory.facts.page().facts[0].mentions == 1
    memory.history.undo(1)
    assert values(memory) == []


def test_mentions_are_taken_back_one_by_one(memory: Memory) -> None:
    fact = memory.facts.put("x")
    for _ in range(4):
        memory.facts.put("x")
    memory.history.undo(3)
    assert memory.facts.get(fact).mentions == 4
    memory.history.undo(last=2)
    assert memory.facts.get(fact).mentions == 2
    memory.history.redo()
    assert memory.facts.get(fact).mentions == 4


def test_undone_twice_is_refused(memory: Memory) -> None:
    memory.facts.put("x")
    memory.history.undo(1)
    for force in (False, True):
        with pytest.raises(UndoConflict):
            memory.history.undo(1, force=force)
    with pytest.raises(NotFound):
        memory.history.undo(last=1)
    memory.history.redo()
    assert not memory.history.get(1).is_undone
    memory.history.undo(1)
    assert [entry.kind for entry in memory.history.page()] == ["undo", "redo", "undo", "change"]
    assert [entry.is_undone for entry in memory.history.page()] == [False, False, True, True]


def test_the_last_n_of_a_session_or_actor(memory: Memory, open_memory: Open) -> None:
    other = open_memory(actor="other")
    for number in range(3):
        memory.facts.put(f"a{number}", session="a")
        other.facts.put(f"b{number}", session="b")
    memory.history.undo(last=2, session="a")
    assert values(memory) == ["a0", "b0", "b1", "b2"]
    assert memory.history.page()[0].session == "a"
    memory.history.undo(last=1, actor="other")
    assert values(memory) == ["a0", "b0", "b1"]
    memory.history.undo(last=1, actor="other", session="b")
    assert values(memory) == ["a0", "b0"]
    with pytest.raises(NotFound):
        memory.history.undo(last=1, actor="other", session="a")
    memory.history.redo(session="a")
    assert values(memory) == ["a0", "b0", "a1", "a2"]
    assert len(memory.history.undo(last=50).positions) == 4
    assert values(memory) == []


def test_everything_after_a_point(memory: Memory, clock: SteppingClock) -> None:
    memory.facts.put("one", key="k")
    before, moment = everything(memory), clock.now
    clock.advance(days=1)
    memory.facts.put("two", key="k")
    memory.history.undo(last=1)
    memory.history.redo()
    memory.facts.put("three", sender="ana")
    position = memory.history.undo(after=iso(moment)).position
    assert everything(memory) == before
    memory.history.redo()
    assert values(memory) == ["two", "three"]
    assert len(memory.history.undo(after=position).positions) == 1
    assert everything(memory) == before
    for after in (memory.history.position(), iso(START + 90 * DAY)):
        with pytest.raises(NotFound):
            memory.history.undo(after=after)
    with pytest.raises(BadInput):
        memory.history.undo(after=10_000)
    memory.history.undo(after=0)
    assert everything(memory) == {}


@pytest.mark.parametrize("wrong", [{}, {"position": 1, "last": 1}, {"last": 1, "after": 0}, {"last": 0}, {"last": -1}, {"last": 10**6}, {"last": 1.5}, {"after": "12:61"}, {"after": True}, {"session": "s"}, {"last": 1, "session": ""}, {"last": 1, "actor": 7}])  # fmt: skip
def test_a_bad_undo_is_refused(memory: Memory, wrong: dict[str, Any]) -> None:
    memory.facts.put("x", session="s")
    with pytest.raises(BadInput):
        memory.history.undo(**wrong)
    assert memory.history.position() == 1


def test_to_and_fro_stays_quick(memory: Memory) -> None:
    memory.facts.put("one", key="k")
    position = memory.history.position()
    memory.facts.put("two", key="k")
    started = time.monotonic()
    for _ in range(25):
        memory.history.undo(after=position)
        assert memory.facts.get(key="k").value == "one"
        memory.history.redo()
    assert [entry.kind for entry in memory.history.page(limit=100)].count("undo") == 25
    assert values(memory) == ["two"]
    assert time.monotonic() - started < 10


def test_a_long_chain_of_undos_of_undos(memory: Memory) -> None:
    memory.facts.put("x")
    for _ in range(60):
        memory.history.undo(memory.history.position())
    assert values(memory) == ["x"]
    assert not memory.history.get(1).is_undone
    assert [entry.kind for entry in memory.history.page(limit=3)] == ["redo", "undo", "redo"]


def test_undo_brings_back_what_a_rule_forbids_only_when_it_is_free(memory: Memory) -> None:
    memory.register("t", unique=("v",))
    fact = memory.facts.put({"v": 1}, type="t", sender="ana")
    memory.facts.delete(fact)
    taken = memory.facts.put({"v": 1}, type="t", sender="ben")
    with pytest.raises(Exception, match=taken.id):
        memory.history.undo(3)
    memory.facts.delete(taken)
    memory.history.undo(3)
    assert memory.facts.get(fact.id).is_deleted is False


@pytest.mark.parametrize("key", ["city", None])
def test_what_comes_back_takes_no_place_that_is_held(memory: Memory, key: str | None) -> None:
    one = memory.facts.put("Lisbon", key=key)
    memory.history.undo(last=1)
    two = memory.facts.put("Porto" if key else "Lisbon", key=key)
    with pytest.raises(UndoConflict) as conflict:
        memory.history.redo()
    assert conflict.value.documents == (("facts", two.id),)
    assert memory.facts.page().facts == [two]
    memory.history.redo(force=True)
    assert [fact.id for fact in memory.facts.page()] == [one.id]
    assert memory.facts.get(two.id).superseded_by == one.id
    memory.history.undo(memory.history.position())
    assert [fact.id for fact in memory.facts.page()] == [two.id]


def test_a_registration_can_be_taken_back(memory: Memory) -> None:
    memory.register("t", immutable=True)
    fact = memory.facts.put({"v": 1}, type="t")
    memory.history.undo(1)
    assert memory.facts.patch(fact, {"v": 2}).value == {"v": 2}


def test_an_operation_answers_with_its_first_result(memory: Memory) -> None:
    memory.facts.put("one")
    memory.facts.put("two")
    first = memory.history.undo(last=2, operation="u")
    assert memory.history.undo(last=1, operation="u") == first
    again = memory.history.redo(operation="r")
    assert memory.history.redo(operation="r") == again
    assert memory.history.position() == 4
    assert values(memory) == ["one", "two"]


# -- what was known then --


def test_at_a_position_and_at_a_time(memory: Memory, clock: SteppingClock) -> None:
    alice = memory.facts.put("Alice", key="manager")
    between = clock.now + 500
    clock.advance(days=1)
    memory.facts.put("Bob", key="manager")
    memory.facts.delete(memory.facts.put("note"))
    for moment in (1, iso(between), datetime.fromtimestamp(between / 1e6, UTC) + timedelta(seconds=1)):
        view = memory.at(moment)
        assert view.facts.get(key="manager") == alice
        assert values(view) == values(view, superseded=True, deleted=True) == ["Alice"]
    assert values(memory.at(0)) == values(memory.at("2000-01-01")) == []
    assert values(memory.at(3)) == ["Bob", "note"]
    assert values(memory.at(4), deleted=True) == ["Bob", "note"]
    for wrong in (-1, 5, True, "2026-02-30", None, 1.5):
        with pytest.raises(BadInput):
            memory.at(wrong)  # type: ignore[arg-type]
    with pytest.raises(NotFound, match="no label 'then', and it is no time"):
        memory.at("then")


def test_validity_in_a_view_is_judged_as_it_was(memory: Memory, clock: SteppingClock) -> None:
    memory.facts.put("Lisbon", key="city")
    memory.facts.put("Porto", key="city", valid_from=iso(START + 10 * DAY))
    memory.facts.put("code", ttl="1h")
    clock.advance(days=20)
    assert memory.facts.get(key="city").value == "Porto"
    assert memory.at(3).facts.get(key="city").value == "Lisbon"
    assert memory.at(3).facts.get(key="city", valid_at=iso(START + 11 * DAY)).value == "Porto"
    assert memory.at(iso(START + 12 * DAY)).facts.get(key="city").value == "Porto"
    assert values(memory.at(3)) == ["Lisbon", "code"]
    assert values(memory.at(iso(START + 12 * DAY))) == ["Porto"]


def test_a_view_stays_as_it_is(memory: Memory) -> None:
    facts = [memory.facts.put({"n": number}, key=f"k{number}") for number in range(4)]
    memory.facts.put({"n": 0}, key="k0")
    was = everything(memory)
    view = memory.at(memory.history.position())
    assert everything(view) == was
    memory.facts.patch(facts[1], {"n": 10})
    memory.facts.put({"n": 0}, key="k0")
    memory.facts.put({"n": 20}, key="k2")
    memory.facts.delete(facts[3])
    memory.facts.put("new", session="s")
    assert everything(view) == was
    assert view.facts.get(facts[1]).value == {"n": 1}
    assert view.facts.get(key="k2").value == {"n": 2}
    assert view.facts.get(facts[3]).is_deleted is False
    assert values(view, where={"payload.n": 1}) == [{"n": 1}]
    memory.history.undo(after=1)
    assert everything(view) == was
    assert values(view, limit=1) == [{"n": number} for number in range(4)]


def test_a_view_can_not_be_written_or_searched(memory: Memory) -> None:
    fact = memory.facts.put("x")
    view = memory.at(1)
    for call in (
        lambda: view.facts.put("y"), lambda: view.facts.put("x"), lambda: view.facts.delete(fact),
        lambda: view.facts.restore(fact), lambda: view.facts.patch(fact, {}), lambda: view.sessions.promote("s"),
        lambda: view.sessions.discard("s"), lambda: view.recall("x"),
    ):  # fmt: skip
        with pytest.raises(Unsupported):
            call()
    assert not hasattr(view, "transaction")
    assert memory.history.position() == 1


def test_what_differs_between_two_moments(memory: Memory) -> None:
    kept = memory.facts.put({"n": 1}, key="kept")
    gone = memory.facts.put("gone", session="s", ephemeral=True)
    memory.facts.put("same")
    memory.facts.patch(kept, {"n": 2})
    memory.sessions.discard("s")
    new = memory.facts.put("new")
    memory.register("t", unique=("v",))
    memory.history.undo(memory.history.undo(3).position)
    diff = memory.history.diff(3, memory.history.position())
    assert (diff.start, diff.end, dict(diff.others)) == (3, 9, {"types": 1})
    found = {(each.kind, (each.after or each.before).id) for each in diff.facts}  # type: ignore[union-attr]
    assert found == {("changed", kept.id), ("removed", gone.id), ("added", new.id)}
    (changed,) = (each for each in diff.facts if each.kind == "changed")
    assert changed.before is not None
    assert changed.after is not None
    assert (changed.before.value, changed.after.value) == ({"n": 1}, {"n": 2})
    assert memory.history.diff(3, 3).facts == ()
    assert len(memory.history.diff("2000-01-01", memory.history.position()).facts) == 3
    for wrong in ((3, 2), (0, 99), ("2026-13-01", 1)):
        with pytest.raises(BadInput):
            memory.history.diff(*wrong)


def test_a_conflict_of_an_undo_names_the_fact_and_the_change(memory: Memory) -> None:
    memory.facts.put("Lisbon", sender="ana", key="city")
    first = memory.history.position()
    memory.facts.put("Porto", sender="ana", key="city")
    with pytest.raises(UndoConflict, match=r"city: Lisbon\) was changed since at position 2"):
        memory.history.undo(first)


def test_a_redo_finds_the_undo_of_an_actors_changes(open_memory: Open) -> None:
    memory = open_memory()
    with memory.transaction(actor="bob") as tx:
        tx.facts.put("a")
    memory.history.undo(last=1, actor="bob")
    memory.history.redo(actor="bob")
    assert [fact.value for fact in memory.facts.page()] == ["a"]


def test_two_values_that_come_back_by_force_leave_one_at_each_moment(memory: Memory) -> None:
    """What the first of them leaves of the one that it supersedes is superseded by the second."""
    memory.facts.put("Lagos", key="city", session="s", ephemeral=True)
    start = memory.history.position()
    memory.facts.put("Lisbon", key="city")
    memory.facts.put("Porto", key="city")
    undone = memory.history.undo(after=start)
    memory.sessions.promote("s")
    assert values(memory, key="city") == ["Lagos"]
    memory.history.undo(undone.position, force=True)
    assert values(memory, key="city") == ["Porto"]
    bodies = [fact.body for fact in memory.facts.iter(key="city", superseded=True)]
    spans = sorted((each["valid_from"], each["valid_until"] or 2**62) for each in bodies)
    spans = [span for span in spans if span[0] != span[1]]
    assert all(one[1] <= other[0] for one, other in itertools.pairwise(spans)), spans
