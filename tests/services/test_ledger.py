"""Faults of a ledger of facts that others published, each with the right value. The names are those of the list."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.services.stage import Open, values

from amber.errors import BadInput, NotFound, UndoConflict, UniqueViolation
from amber.memory import Memory
from amber.store.contract import Receipt

# -- B.1 and B.2: fact and log together, undo, sessions --


def test_a3_a_commit_that_fails_leaves_nothing(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    fact = memory.facts.put({"v": 1}, key="a")

    def fail(batch: Any) -> Receipt:
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(memory._store, "commit", fail)
        with pytest.raises(OSError, match="disk full"):
            memory.facts.patch(fact, {"v": 2})
    assert (memory.facts.get(fact), memory.history.position(), memory.recall("2")) == (fact, 1, [])
    memory.history.undo(last=1)
    assert values(memory) == []


def test_a8_an_undo_eats_one_step_only(memory: Memory) -> None:
    memory.facts.put({"v": 1}, key="a", session="S")
    memory.facts.put({"v": 2}, key="a", session="S")
    memory.history.undo(last=1, session="S")
    memory.facts.put("b", session="S")
    memory.history.undo(last=2, session="S")
    assert values(memory, superseded=True, deleted=True) == []


def test_r1_a_discard_can_be_undone(memory: Memory) -> None:
    for name in ("okapi", "zebra"):
        memory.facts.put(name, session="S", ephemeral=True)
    assert memory.sessions.discard("S") == 2
    memory.history.undo(last=1, session="S")
    assert values(memory, session="S") == ["okapi", "zebra"]
    assert len(memory.recall("okapi zebra", session="S")) == 2


def test_r2_discard_takes_ephemeral_facts_only(memory: Memory) -> None:
    memory.facts.put("held", session="S", ephemeral=True)
    memory.facts.put("kept", session="S")
    memory.sessions.discard("S")
    assert values(memory, session="S") == ["kept"]


def test_r5_what_was_promoted_is_not_discarded(memory: Memory) -> None:
    memory.facts.put("held", session="S", ephemeral=True)
    memory.sessions.promote("S")
    assert memory.sessions.discard("S") == 0
    assert values(memory) == ["held"]


def test_r6_a_later_write_of_another_session_is_not_overwritten(memory: Memory) -> None:
    for value, session in ((1, "A"), (2, "A"), (3, "B")):
        memory.facts.put({"x": value}, key="x", session=session)
    with pytest.raises(UndoConflict) as conflict:
        memory.history.undo(last=1, session="A")
    assert conflict.value.documents
    assert memory.facts.get(key="x").value == {"x": 3}


def test_r7_positions_go_on_after_opening_again(open_at: Open, sqlite_path: Path) -> None:
    for value in range(4):
        with open_at(sqlite_path) as memory:
            memory.facts.put(value, key="v", session="S")
    with open_at(sqlite_path) as memory:
        assert [entry.position for entry in memory.history.page()] == [4, 3, 2, 1]
        memory.history.undo(last=1, session="S")
        assert memory.facts.get(key="v").value == 2


def test_r9_changes_without_a_session_can_be_read_and_undone(memory: Memory) -> None:
    memory.facts.put("no session")
    memory.facts.put("session", session="S")
    assert [entry.session for entry in memory.history.page()] == ["S", None]
    memory.history.undo(1)
    assert values(memory) == ["session"]


def test_r10_undoing_a_promotion_keeps_a_later_change(memory: Memory) -> None:
    fact = memory.facts.put({"v": 1}, session="S", ephemeral=True)
    memory.sessions.promote("S")
    memory.facts.patch(fact, {"v": 3})
    with pytest.raises(UndoConflict):
        memory.history.undo(2)
    assert memory.facts.get(fact).value == {"v": 3}


def test_r11_a_fact_whose_making_was_undone_does_not_come_back(memory: Memory, open_memory: Open) -> None:
    a, b = open_memory(actor="A"), open_memory(actor="B")
    fact = a.facts.put("a")
    b.facts.delete(fact)
    with pytest.raises(UndoConflict):
        a.history.undo(last=1, actor="A")
    b.history.undo(last=1, actor="B")
    a.history.undo(last=1, actor="A")
    assert values(memory, deleted=True) == []


def test_r13_an_undo_leaves_its_trace(memory: Memory) -> None:
    memory.facts.put("x", session="S")
    memory.history.undo(last=1, session="S", reason="a mistake")
    assert [(entry.kind, entry.reason, entry.is_undone) for entry in memory.history.page(session="S")] == [
        ("undo", "a mistake", False), ("change", None, True),
    ]  # fmt: skip


def test_r15_said_again_without_a_session_it_stays_where_it_is(memory: Memory) -> None:
    held = memory.facts.put("x", session="S", ephemeral=True)
    memory.facts.put("x")
    assert memory.facts.get(held.id).ephemeral is True
    assert memory.facts.get(held.id).session == "S"


def test_i4_an_undo_that_found_nothing_says_so(memory: Memory) -> None:
    calls: list[Callable[[], Any]] = [
        lambda: memory.history.undo(1),
        lambda: memory.history.undo(last=1, session="S"),
        memory.history.redo,
    ]
    for call in calls:
        with pytest.raises(NotFound):
            call()


# -- B.3: constraints --


def test_c2_patches_of_two_memories_all_count(target: str, open_memory: Open) -> None:
    memories = [open_memory(), open_memory()]
    fact = memories[0].facts.put({"start": 1})

    def work(number: int) -> None:
        for n in range(25):
            memories[number].facts.patch(fact, {f"{number}-{n}": n})

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(memories[0].facts.get(fact).value) == 51


def test_c5_a_patch_does_not_take_a_held_value(memory: Memory) -> None:
    memory.register("t", unique=("name",))
    memory.facts.put({"name": "A"}, type="t")
    other = memory.facts.put({"name": "B"}, type="t")
    with pytest.raises(UniqueViolation):
        memory.facts.patch(other, {"name": "A"})
    assert memory.facts.get(other).value == {"name": "B"}


def test_c11_the_callers_value_stays_as_it_was(memory: Memory) -> None:
    given = {"a": {"b": [1]}}
    memory.facts.patch(memory.facts.put(given), {"a": {"c": 2}})
    assert given == {"a": {"b": [1]}}


# -- B.4: filters --

ROWS: dict[str, Any] = {
    "null": None, "true": True, "false": False, "one": 1, "float": 1.0, "zero": 0, "half": 0.5, "text": "1", "list": [1, 2],
    "empty": [], "dict": {"a": 1, "b": 2}, "json": "[1,2]", "object": '{"a":1}', "big": 2**63 - 1, "near": 2**63 - 2, "blank": "",
    "deep": {"y": [{"k": 7}]}, "negative": -0.0,
}  # fmt: skip


@pytest.fixture
def rows(memory: Memory) -> Memory:
    with memory.transaction() as tx:
        tx.facts.put({"name": "missing"})
        for name, value in ROWS.items():
            tx.facts.put({"name": name, "x": value})
    return memory


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, {"missing", "null"}), (True, {"true"}), (False, {"false"}), (1, {"one", "float"}), (1.0, {"one", "float"}),
        (0, {"zero", "negative"}), (0.0, {"zero", "negative"}), (0.5, {"half"}), ("1", {"text"}), ([1, 2], {"list"}), ((1, 2), {"list"}),
        ([1.0, 2], {"list"}), ([2, 1], set()), ([], {"empty"}), ({"b": 2, "a": 1}, {"dict"}), ({"a": 1}, set()), ("[1,2]", {"json"}),
        ('{"a":1}', {"object"}), (10**30, set()), (2**63 - 1, {"big"}), (2**63 - 2, {"near"}), ("", {"blank"}), ("x" * 5_000, set()),
    ],
)  # fmt: skip
def test_filters_compare_by_one_rule(rows: Memory, value: Any, expected: set[str]) -> None:
    for extra in ({}, {"payload.name": "one"}):
        found = {fact.value["name"] for fact in rows.facts.page(where={"payload.x": value, **extra})}
        assert found == (expected & {"one"} if extra else expected)
    with rows.transaction() as tx:
        assert {fact.value["name"] for fact in tx.facts.page(where={"payload.x": value})} == expected


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("payload.x.a", 1, ["dict"]), ("payload.x.1", 2, ["list"]), ("payload.x.0", 1, ["list"]), ("payload.x.y.0.k", 7, ["deep"]),
        ("payload.x.y", [{"k": 7}], ["deep"]), ("payload.x.9", 1, []), ("payload.x.-1", 2, []), ("payload.x.a.b", 1, []),
        ("payload.name", "null", ["null"]), ("payload", {"name": "one", "x": 1}, ["one"]), ("mentions", 1, ["missing", *ROWS]),
        ("payload.x.length", 2, []), ("nothing", 1, []), ("sender", None, ["missing", *ROWS]),
    ],
)  # fmt: skip
def test_filter_paths(rows: Memory, path: str, value: Any, expected: list[str]) -> None:
    assert [fact.value["name"] for fact in rows.facts.page(where={path: value})] == expected


def test_a_filter_that_is_no_filter_is_refused(memory: Memory) -> None:
    for where in ({"payload.x": {1, 2}}, {"payload.x": float("nan")}, {"payload.x": object()}, {"payload.x": b"1"}):
        with pytest.raises(BadInput):
            memory.facts.page(where=where)


def test_a_value_with_very_many_members_is_found(memory: Memory) -> None:
    memory.facts.put({"k0": "other"})
    fact = memory.facts.put({f"k{number}": number for number in range(300)}, type="t")
    for where in ({"payload.k299": 299}, {"payload.k0": 0, "payload.k150": 150}):
        assert memory.facts.page(where=where).facts == memory.facts.page(where=where, type="t").facts == [fact]
        assert memory.facts.page(where=where, type="other").facts == []


def test_a_listing_is_in_the_order_of_creation_whatever_was_changed(memory: Memory) -> None:
    facts = [memory.facts.put({"n": n}, sender="ana", type="t") for n in range(5)]
    memory.facts.patch(facts[0], {"m": 1})
    memory.facts.delete(facts[2])
    memory.facts.restore(facts[2])
    for filters in ({}, {"sender": "ana"}, {"type": "t"}, {"where": {"type": "t"}}, {"where": {"payload.q": None}}):
        assert [fact.id for fact in memory.facts.page(**filters)] == [fact.id for fact in facts]


# -- B.5 to B.7 --


@pytest.mark.parametrize("key", ["user:1", "a:b:c", "plain", "dup", "x:dup"])
def test_d1_any_key_is_listed_once(memory: Memory, key: str) -> None:
    memory.facts.put("x", key=key)
    assert [fact.key for fact in memory.facts.page()] == [key]


def test_d2_a_fact_stands_where_it_is_now(memory: Memory) -> None:
    memory.facts.put("v", key="a", type="draft", session="S1")
    memory.facts.put("v", key="a", type="final", session="S2")
    assert (values(memory, type="draft"), values(memory, type="final")) == ([], ["v"])
    assert (values(memory, session="S1"), values(memory, session="S2")) == ([], ["v"])
    memory.sessions.discard("S1")
    assert memory.facts.get(key="a").type == "final"


@pytest.mark.parametrize("value", [-0.0, 1e308, 5e-324, 0.1, 2**53 + 1, -(2**63), "a" * 300_000, {"k" * 3_000: 1}])
def test_b6_numbers_and_long_texts_come_back_exactly(memory: Memory, value: Any) -> None:
    fact = memory.facts.put(value)
    assert repr(memory.facts.get(fact.id).value) == repr(value)
    assert repr(memory.history.page()[0].changes[0].after["payload"]) == repr(value)  # type: ignore[index]


def test_m4_reading_while_another_thread_writes(memory: Memory) -> None:
    done = threading.Event()
    errors: list[Exception] = []

    def read() -> None:
        view = memory.at(0)
        try:
            while not done.is_set():
                found = values(memory, session="s")
                assert found == [*range(len(found))]
                assert values(view) == []
                memory.history.page()
        except Exception as error:
            errors.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(150):
        memory.facts.put(number, session="s")
    done.set()
    reader.join()
    assert errors == []
