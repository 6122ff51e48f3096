"""Retention: the beginning of the log goes, and all that is left is as good as before."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.services.stage import DAY, START, Open, SteppingClock, everything, iso, values

from amber.errors import BadInput, Conflict, NotFound, UndoConflict
from amber.memory import Memory
from amber.model.times import from_micros
from amber.services import retention


def days(memory: Memory, clock: SteppingClock, count: int = 10) -> None:
    """Write an entry a day: the value of one key, superseded each time."""
    for number in range(1, count + 1):
        memory.facts.put(f"value {number}", key="k")
        clock.advance(days=1)


def test_by_number(memory: Memory, clock: SteppingClock) -> None:
    days(memory, clock)
    before, page = everything(memory), memory.history.page(limit=4)
    trimmed = memory.history.trim(keep=4)
    assert (trimmed.entries, trimmed.position, trimmed.labels, trimmed.dry_run) == (6, 6, (), False)
    assert everything(memory) == before
    assert memory.history.page(limit=100) == page
    assert (memory.history.oldest(), memory.history.position()) == (6, 10)
    assert memory.history.trim(keep=4).entries == memory.history.trim(keep=100).entries == 0
    assert memory.history.trim(keep=4).position == 6


def test_by_age(memory: Memory, clock: SteppingClock) -> None:
    days(memory, clock)
    written = [entry.at for entry in memory.history.page(limit=100)][::-1]
    trimmed = memory.history.trim(older_than="7d")
    assert (trimmed.entries, trimmed.position, trimmed.oldest) == (4, 4, written[3])
    assert memory.history.trim(older_than="7d").entries == 0
    assert memory.history.trim(older_than=timedelta(days=5)).position == 6
    assert memory.history.trim(older_than="2000w").entries == 0
    assert memory.history.trim(older_than="500000w").entries == 0


def test_by_both_goes_what_neither_keeps(memory: Memory, clock: SteppingClock) -> None:
    days(memory, clock)
    assert memory.history.trim(older_than="7d", keep=9, dry_run=True).position == 1
    assert memory.history.trim(older_than="7d", keep=2, dry_run=True).position == 4
    assert memory.history.trim(older_than="7d", keep=2).position == 4


def test_a_dry_run_changes_nothing(memory: Memory, clock: SteppingClock) -> None:
    days(memory, clock)
    memory.history.label("early", 2)
    told = memory.history.trim(keep=3, dry_run=True)
    assert (told.dry_run, memory.history.oldest(), len(memory.history.page(limit=100))) == (True, 0, 11)
    done = memory.history.trim(keep=3)
    assert done._replace(dry_run=True) == told
    assert done.labels == ("early",)


@pytest.mark.parametrize("wrong", [{}, {"keep": -1}, {"keep": True}, {"keep": "5"}, {"older_than": "soon"}, {"older_than": 5}, {"older_than": "0d"}])  # fmt: skip
def test_a_bad_bound_is_refused(memory: Memory, wrong: dict[str, Any]) -> None:
    memory.facts.put("x")
    with pytest.raises(BadInput):
        memory.history.trim(**wrong)
    assert memory.history.oldest() == 0


def test_the_past_begins_at_the_horizon(memory: Memory, clock: SteppingClock) -> None:
    days(memory, clock)
    views = {position: everything(memory.at(position)) for position in range(11)}
    times = [entry.at for entry in memory.history.page(limit=100)][::-1]
    memory.history.label("early", 4)
    memory.history.label("edge", 6)
    opened = memory.at(4)
    trimmed = memory.history.trim(keep=memory.history.position() - 6)
    assert trimmed.labels == ("early",)
    for position in range(6, 11):
        assert everything(memory.at(position)) == views[position]
    assert everything(memory.at(times[5])) == everything(memory.at("edge")) == views[6]
    assert memory.at(6).facts.get(key="k").value == "value 6"
    oldest = f"the oldest moment that can be seen is position 6 \\({from_micros(round(times[5].timestamp() * 1e6)).isoformat()[:19]}"
    for call in (
        lambda: memory.at(5), lambda: memory.at(0), lambda: memory.at("early"), lambda: memory.at(times[4]), lambda: memory.at(iso(START)),
        lambda: memory.history.diff(2, 8), lambda: memory.history.diff("early", 8), lambda: memory.history.undo(after=3), lambda: memory.history.undo(after="early"),
        lambda: memory.history.get(6), lambda: memory.history.get(1), lambda: memory.history.undo(6), lambda: opened.facts.page(),
        lambda: memory.history.label("new", 5), lambda: memory.history.resolve(iso(START + DAY)),
    ):  # fmt: skip
        with pytest.raises(NotFound, match=oldest) as error:
            call()
        assert error.value.oldest == 6
    assert len(memory.history.diff(6, 8).facts) == 3
    assert memory.history.label("still", 6).position == 6


def test_a_view_that_has_read_on_notices(memory: Memory) -> None:
    for number in range(3):
        memory.facts.put({"n": number}, key="k")
    view = memory.at(2)
    seen = everything(view)
    for number in range(3, 6):
        memory.facts.put({"n": number}, key="k")
    memory.history.trim(keep=1)
    with pytest.raises(NotFound, match="trimmed"):
        everything(view)
    view = memory.at(5)
    everything(view)
    memory.history.trim(keep=0)
    memory.facts.put({"n": 9}, key="k")
    memory.history.trim(keep=0)
    with pytest.raises(NotFound, match="trimmed"):
        everything(view)
    assert seen


def test_the_whole_log_may_go(memory: Memory, clock: SteppingClock) -> None:
    days(memory, clock)
    before = everything(memory)
    trimmed = memory.history.trim(keep=0)
    assert (trimmed.position, trimmed.entries) == (10, 10)
    assert memory.history.page() == []
    assert everything(memory) == everything(memory.at(10)) == before
    with pytest.raises(NotFound):
        memory.history.undo(last=1)
    with pytest.raises(NotFound):
        memory.history.redo()
    memory.facts.put("eleven", key="k")
    assert memory.history.undo(last=1).positions == (11,)
    memory.history.redo()
    assert memory.facts.get(key="k").value == "eleven"
    assert values(memory.at(10)) == ["value 10"]


def test_an_empty_memory(memory: Memory) -> None:
    assert memory.history.trim(keep=0) == (0, 0, None, (), False)
    assert memory.history.trim(older_than="1d").oldest is None


# -- undo and redo of what is left --


def test_every_undo_that_is_left_does_what_it_did(open_memory: Open) -> None:
    def build(space: str) -> Memory:
        memory = open_memory(space)
        fact = memory.facts.put({"n": 0}, key="k")
        memory.facts.put("x")
        memory.facts.put("x")
        memory.facts.patch(fact, {"n": 1})
        memory.facts.delete(fact)
        memory.history.undo(last=1)
        memory.facts.put("held", session="s", ephemeral=True)
        memory.sessions.promote("s")
        memory.history.undo(last=2)
        memory.history.redo()
        return memory

    whole = build("whole")
    for upto in range(1, 10):
        memory = build(f"cut at {upto}")
        memory.history.trim(keep=10 - upto)
        ids = dict(zip(sorted(everything(whole, ("s",))), sorted(everything(memory, ("s",))), strict=True))
        for position in range(upto + 1, 11):
            answers: list[Any] = []
            for each in (whole, memory):
                try:
                    each.history.undo(position)
                    answers.append(shown(each))
                    each.history.undo(each.history.position())
                except (UndoConflict, Conflict) as error:
                    answers.append(error.code)
            assert answers[0] == answers[1], (upto, position)
        # back to where both were
        assert shown(whole) == shown(memory)
        assert len(ids) == len(everything(whole, ("s",)))


def shown(memory: Memory) -> list[Any]:
    """Give the facts without what differs between two memories that were told the same."""
    facts = everything(memory, ("s",)).values()
    return [
        [body[name] for name in ("key", "payload", "mentions", "ephemeral")] + [body["deleted_at"] is None]
        for body in facts
    ]


def test_a_redo_whose_undo_is_left_and_whose_change_is_gone(memory: Memory) -> None:
    memory.facts.put("one")
    memory.facts.put("two")
    memory.history.undo(2)
    memory.history.trim(keep=1)
    (entry,) = memory.history.page()
    assert (entry.kind, entry.undoes, entry.is_undone) == ("undo", (2,), False)
    assert memory.history.redo().positions == (3,)
    assert values(memory) == ["one", "two"]
    with pytest.raises(NotFound):
        memory.history.redo()
    memory.history.undo(4)
    assert values(memory) == ["one"]


def test_an_undo_and_a_redo_are_told_apart_when_what_they_took_back_is_gone(memory: Memory) -> None:
    memory.facts.put("one")
    memory.history.undo(1)
    memory.history.redo()
    memory.history.undo(after=2)
    kinds = [entry.kind for entry in memory.history.page()]
    assert kinds == ["undo", "redo", "undo", "change"]
    for keep in (3, 2, 1):
        memory.history.trim(keep=keep)
        assert [entry.kind for entry in memory.history.page()] == kinds[:keep]
    assert memory.history.redo().positions == (4,)
    assert values(memory) == ["one"]
    # a redo is no undo, so there is nothing to redo now
    memory.history.trim(keep=1)
    assert [entry.kind for entry in memory.history.page()] == ["redo"]
    with pytest.raises(NotFound):
        memory.history.redo()


def test_a_redo_by_an_actor(open_memory: Open) -> None:
    memory, other = open_memory(), open_memory(actor="other")
    other.facts.put("one")
    memory.history.undo(last=1, actor="other")
    memory.history.trim(keep=1)
    # whose change it was is not known any more, who made the undo is
    with pytest.raises(NotFound):
        memory.history.redo(actor="other")
    memory.history.redo(actor="tester")
    assert values(memory) == ["one"]


def test_messages_whose_image_is_the_live_row(memory: Memory, transcript: Any) -> None:
    memory.facts.put("first")
    memory.import_sessions(transcript)
    memory.history.trim(keep=1)
    session = memory.sessions.page()[0]
    memory.history.undo(2)
    assert memory.sessions.page() == []
    memory.history.redo()
    assert [message.text for message in memory.sessions.messages(session.id)] == ["zebra"]
    assert memory.sessions.get(session.id).body == session.body


@pytest.fixture
def transcript(tmp_path: Any) -> Any:
    import orjson

    line = {
        "parentUuid": None, "isSidechain": False, "type": "user", "uuid": "u1", "timestamp": "2026-10-05T08:00:00.250Z",
        "sessionId": "11111111-2222-4333-8444-555555555555", "cwd": "/home/ana/atlas", "version": "2.1.214",
        "message": {"role": "user", "content": "zebra"},
    }  # fmt: skip
    path = tmp_path / "session.jsonl"
    path.write_bytes(orjson.dumps(line) + b"\n")
    return path


def test_an_old_operation_is_applied_again(memory: Memory) -> None:
    first = memory.facts.put("one", operation="op")
    assert memory.facts.put("one", operation="op") == first
    memory.history.trim(keep=0)
    again = memory.facts.put("one", operation="op")
    # the receipt is gone, so this is the same fact said again
    assert (again.id, again.mentions) == (first.id, 2)


def test_what_was_created_before_keeps_its_positions(memory: Memory) -> None:
    fact = memory.facts.put({"n": 0}, key="k")
    memory.facts.patch(fact, {"n": 1})
    memory.facts.put("other")
    memory.facts.patch(fact, {"n": 2})
    memory.history.trim(keep=1)
    assert (memory.facts.get(fact.id).position, memory.facts.get(fact.id).revision) == (1, 4)
    seen = memory.at(3).facts.get(fact.id)
    # its revision then was 2, which is not known any more: at the horizon or before
    assert (seen.value, seen.position, seen.revision) == ({"n": 1}, 1, 3)
    tx = memory.transaction()
    tx.__enter__()
    tx.facts.patch(fact.id, {"n": 3})
    memory.facts.patch(fact.id, {"n": 4})
    memory.history.trim(keep=0)
    with pytest.raises(Conflict):
        tx.__exit__(None, None, None)


def test_chunks_let_others_in_and_are_finished_later(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        memory.facts.put(number)
    monkeypatch.setattr(retention, "CHUNK", 6)
    purge, calls = memory._store.purge, []

    def broken(*given: Any, **more: Any) -> Any:
        calls.append(given)
        if len(calls) == 3:
            raise OSError("stopped")
        memory.facts.put(f"between {len(calls)}")
        return purge(*given, **more)

    with monkeypatch.context() as patch:
        patch.setattr(memory._store, "purge", broken)
        with pytest.raises(OSError, match="stopped"):
            memory.history.trim(keep=2)
    assert memory.history.oldest() == 12
    assert memory.verify() == []
    assert memory.history.trim(keep=2).entries == 8
    assert [entry.position for entry in memory.history.page()] == [22, 21]


def test_forgetting_after_a_trim(memory: Memory) -> None:
    from amber.store.contract import Selection

    fact = memory.facts.put("zebra quartz", sender="ana")
    memory.facts.put("other")
    memory.history.trim(keep=1)
    memory._store.purge("acme", Selection("facts", by="sender", equal=("ana",)), now=START)
    assert memory.facts.find(fact.id) is None
    assert [entry.kind for entry in memory.history.page()] == ["purge", "change"]
    memory.history.trim(keep=0)
    assert memory.history.page() == []
