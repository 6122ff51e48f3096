"""Labels: names for positions, wherever a moment is asked for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.services.stage import Open, SteppingClock, iso, values

from amber.errors import BadInput, Conflict, NotFound
from amber.memory import Memory


def test_a_label_stands_where_the_log_is_then(memory: Memory) -> None:
    memory.facts.put("one")
    label = memory.history.label("v1", reason="shipped")
    assert (label.name, label.position, label.revision) == ("v1", 2, 2)
    assert label.position == memory.history.position()
    memory.facts.put("two")
    assert memory.history.labels() == [label]
    assert values(memory.at("v1")) == ["one"]
    assert memory.history.resolve("v1") == 2
    entry = memory.history.get(2)
    assert (entry.kind, entry.reason, entry.changes[0].collection) == ("change", "shipped", "labels")
    assert label.at is not None
    assert timedelta(0) <= entry.at - label.at < timedelta(seconds=1)
    diff = memory.history.diff("v1", memory.history.position())
    assert ([each.after.value for each in diff.facts if each.after], dict(diff.others)) == (["two"], {})


def test_on_a_position_a_time_and_another_label(memory: Memory, clock: SteppingClock) -> None:
    memory.facts.put("one")
    between = clock.now
    clock.advance(days=1)
    memory.facts.put("two")
    first = memory.history.label("first", 1)
    assert (first.position, first.at) == (1, memory.history.get(1).at)
    assert memory.history.label("beginning", 0).at is None
    assert memory.history.label("by time", iso(between)).position == 1
    assert memory.history.label("by datetime", datetime.fromtimestamp(between / 1e6, UTC)).position in (0, 1)
    assert memory.history.label("by label", "first").position == 1
    assert [each.position for each in memory.history.labels()] == sorted(
        each.position for each in memory.history.labels()
    )
    assert values(memory.at("by label")) == ["one"]
    assert values(memory.at("beginning")) == []


def test_an_undo_after_a_label_leaves_the_label(memory: Memory) -> None:
    memory.facts.put("one")
    memory.history.label("v1")
    memory.history.label("early", 1)
    memory.facts.put("two")
    assert memory.history.undo(after="v1").positions == (4, 3)
    assert (values(memory), [each.name for each in memory.history.labels()]) == (["one"], ["v1"])
    memory.history.redo()
    memory.history.undo(after="early")
    assert (values(memory), [each.name for each in memory.history.labels()]) == (["one"], ["early"])
    memory.history.label("now")
    with pytest.raises(NotFound, match="Nothing was written after"):
        memory.history.undo(after="now")


def test_labels_are_undone_and_redone(memory: Memory) -> None:
    memory.facts.put("one")
    label = memory.history.label("v1")
    memory.history.undo(last=1)
    assert memory.history.labels() == []
    memory.facts.put("two")
    memory.history.redo()
    (again,) = memory.history.labels()
    assert (again.position, again.at) == (label.position, label.at)
    memory.history.unlabel("v1")
    assert memory.history.labels() == []
    memory.history.undo(last=1)
    assert [each.position for each in memory.history.labels()] == [label.position]


def test_a_label_that_stands_elsewhere(memory: Memory) -> None:
    memory.facts.put("one")
    first = memory.history.label("v1", 1)
    assert memory.history.label("v1", 1) == first
    position = memory.history.position()
    for given in (0, None):
        with pytest.raises(Conflict, match="stands at position 1 already") as conflict:
            memory.history.label("v1", given)
        assert (conflict.value.retry, conflict.value.position) == ("no", 1)
    assert memory.history.position() == position
    assert memory.history.label("v1", 0, move=True).position == 0
    assert memory.history.label("v1", move=True).position == position + 2
    assert [each.name for each in memory.history.labels()] == ["v1"]


@pytest.mark.parametrize(
    "name",
    ["", "7", "007", "-1", "+5", "1.5", "1e5", "1_000", "nan", "inf", "0x", "2026-11-15", "2026-11", "20261115", "2026-W05", "2026-02-30",
     "2026-11-15T12:00:00+01:00", "12:00", "12:61", "12", "90d", "1h30m", "5 m", " v1", "v1 ", "a\nb", "a\0b", "a\tb", "\u202e", "x" * 600, 7, None, True],
)  # fmt: skip
def test_a_name_that_could_be_taken_for_something_else(memory: Memory, name: Any) -> None:
    if name == "0x":
        assert memory.history.label(name).name == name
        return
    with pytest.raises(BadInput):
        memory.history.label(name)
    assert memory.history.position() == 0


@pytest.mark.parametrize("name", ["v1", "release 1.0", "2nd draft", "vor dem Umzug", "发布", "🚀", "a/b", "x' OR 1=1 --", "%", "T", "now", "w"])  # fmt: skip
def test_a_name_that_is_one(memory: Memory, name: str) -> None:
    memory.facts.put("one")
    memory.history.label(name)
    memory.facts.put("two")
    assert values(memory.at(name)) == ["one"]
    memory.history.unlabel(name)
    assert memory.history.labels() == []


def test_an_unknown_label_names_near_ones(memory: Memory) -> None:
    memory.facts.put("one")
    calls = (
        lambda name: memory.at(name),
        lambda name: memory.history.diff(name, 1),
        lambda name: memory.history.undo(after=name),
        lambda name: memory.history.resolve(name),
        lambda name: memory.history.label("other", name),
    )
    for call in calls:
        with pytest.raises(NotFound, match="there are no labels yet"):
            call("v1")
    for name in ("release-1", "release-2", "before import", "after import", "zebra"):
        memory.history.label(name)
    for call in calls:
        with pytest.raises(NotFound, match=r"'release-[12]', 'release-[12]'.* and 3 more"):
            call("relese-1")
        with pytest.raises(NotFound, match="no label 'then', and it is no time"):
            call("then")
        with pytest.raises(NotFound):
            call(" ")
    with pytest.raises(NotFound, match="'before import'"):
        memory.history.unlabel("before the import")


def test_a_label_lives_in_its_space(open_memory: Open) -> None:
    one, other = open_memory("one"), open_memory("other")
    one.facts.put("x")
    one.history.label("v1")
    other.facts.put("y")
    assert other.history.labels() == []
    with pytest.raises(NotFound):
        other.at("v1")


def test_a_label_beside_other_writers(open_memory: Open) -> None:
    memory, other = open_memory(), open_memory(actor="other")
    memory.facts.put("one")
    commit = memory._store.commit

    def faster(batch: Any) -> Any:
        memory._store.commit = commit  # type: ignore[method-assign]
        other.facts.put("between")
        return commit(batch)

    memory._store.commit = faster  # type: ignore[method-assign]
    label = memory.history.label("v1")
    # a moment between the call and its answer; and all after it can still be undone without the label
    assert (label.position, label.revision) == (2, 3)
    memory.facts.put("two")
    memory.history.undo(after="v1")
    assert (values(memory), [each.name for each in memory.history.labels()]) == (["one", "between"], ["v1"])


def test_an_operation_that_was_used_for_something_else(memory: Memory) -> None:
    memory.facts.put("one", operation="op")
    for call in (lambda: memory.history.label("v1", operation="op"), lambda: memory.history.unlabel("v1", operation="op")):  # fmt: skip
        with pytest.raises(BadInput, match="used for something else"):
            call()
