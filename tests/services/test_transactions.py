"""Many changes, one batch, one undo: all of it or nothing, seen inside before it is seen outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.services.stage import SteppingClock, everything, values

from amber.errors import BadInput, Closed, Conflict, UniqueViolation, Unsupported
from amber.memory import Memory, Transaction


def test_all_of_it_at_once(memory: Memory) -> None:
    fact = memory.facts.put({"n": 1}, key="n")
    with memory.transaction(actor="onboarding", reason="form 12", session="run") as tx:
        tx.facts.put("one", sender="ana")
        tx.facts.patch(fact, {"n": 2})
        tx.facts.delete(tx.facts.put("two", sender="ana"))
        assert values(memory) == [{"n": 1}]
        assert values(tx) == [{"n": 2}, "one"]
    assert values(memory) == [{"n": 2}, "one"]
    (entry, _) = memory.history.page()
    assert (entry.actor, entry.reason, entry.session, len(entry.changes)) == ("onboarding", "form 12", "run", 3)
    assert tx.receipt is not None
    assert tx.receipt.position == entry.position == 2
    memory.history.undo(last=1)
    assert everything(memory) == {fact.id: {**fact.body, "last_seen": None}}


def test_an_exception_drops_it(memory: Memory) -> None:
    memory.facts.put("before", key="k")
    was = everything(memory)

    def fail() -> None:
        with memory.transaction() as tx:
            tx.facts.put("after", key="k")
            tx.facts.put("more")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert (everything(memory), memory.history.position()) == (was, 1)


def test_nothing_is_lost_outside_the_block(memory: Memory) -> None:
    tx = memory.transaction()
    uses: list[Callable[[], Any]] = [
        lambda: tx.facts.put("x"),
        lambda: tx.facts.page(),
        lambda: tx.facts.find(key="k"),
        lambda: tx.sessions.discard("s"),
    ]
    for use in uses:
        with pytest.raises(Closed):
            use()
    with tx:
        tx.facts.put("in")
    for use in [*uses, lambda: tx.__enter__()]:
        with pytest.raises(Closed):
            use()
    with pytest.raises(KeyError), memory.transaction() as tx:
        raise KeyError
    with pytest.raises(Closed):
        tx.facts.put("x")
    assert values(memory) == ["in"]


def test_an_empty_block_writes_nothing(memory: Memory) -> None:
    memory.facts.put("x")
    with memory.transaction(reason="only reading") as tx:
        assert values(tx) == ["x"]
    assert (tx.receipt, memory.history.position()) == (None, 1)


def test_reads_see_what_was_written(memory: Memory) -> None:
    old = memory.facts.put("tea", key="drink", project="a/b")
    with memory.transaction() as tx:
        new = tx.facts.put("coffee", key="drink", project="a/b")
        assert (new.position, new.revision) == (0, 0)
        assert tx.facts.get(key="drink", project="a/b").value == "coffee"
        assert tx.facts.get(old.id).superseded_by == new.id
        assert values(tx, project="a") == ["coffee"]
        assert values(tx, where={"payload": "coffee"}) == ["coffee"]
        assert values(tx, where={"payload": "tea"}) == []
        assert tx.facts.put("Coffee ", key="drink", project="a/b").mentions == 2
        tx.facts.delete(new)
        assert tx.facts.find(key="drink", project="a/b") is None
        tx.facts.restore(new)
    assert memory.facts.get(key="drink", project="a/b").mentions == 2
    memory.history.undo(last=1)
    assert memory.facts.get(key="drink", project="a/b").body == old.body


def test_pages_inside_a_block(memory: Memory) -> None:
    for number in range(30):
        memory.facts.put(number, sender="ana")
    with memory.transaction() as tx:
        for fact in list(tx.facts.iter(limit=4))[::2]:
            tx.facts.delete(fact)
        for number in range(30, 40):
            tx.facts.put(number, sender="ana")
        expected = [*range(1, 30, 2), *range(30, 40)]
        assert values(tx, limit=3) == values(tx, sender="ana", limit=7) == expected
    assert values(memory) == expected


@pytest.mark.parametrize("read", ["key", "id", "page", "where", "absent"])
def test_what_was_read_must_still_be_so(memory: Memory, read: str) -> None:
    fact = memory.facts.put({"n": 1}, key="n")
    reads: dict[str, Callable[[Transaction], Any]] = {
        "key": lambda tx: tx.facts.get(key="n"),
        "id": lambda tx: tx.facts.get(fact.id),
        "page": lambda tx: list(tx.facts.page()),
        "where": lambda tx: list(tx.facts.page(where={"payload.n": 1})),
        "absent": lambda tx: tx.facts.find(key="other"),
    }

    def attempt() -> None:
        with memory.transaction() as tx:
            reads[read](tx)
            memory.facts.patch(fact, {"n": memory.facts.get(fact.id).value["n"] + 10})
            memory.facts.put("there now", key="other")
            tx.facts.put("decided on what was read", key="elsewhere")

    with pytest.raises(Conflict) as conflict:
        attempt()
    assert conflict.value.retry == "reread"
    assert memory.facts.find(key="elsewhere") is None


def test_no_update_is_lost(memory: Memory) -> None:
    memory.facts.put(1, key="n")
    conflicts = 0
    for _ in range(2):
        try:
            with memory.transaction() as tx:
                n = tx.facts.get(key="n").value
                if not conflicts:
                    memory.facts.put(5, key="n")
                tx.facts.put(n + 1, key="n")
        except Conflict:
            conflicts += 1
    assert (conflicts, memory.facts.get(key="n").value) == (1, 6)


def test_others_may_write_what_was_not_read(memory: Memory) -> None:
    memory.facts.put(1, key="n")
    with memory.transaction() as tx:
        tx.facts.put(tx.facts.get(key="n").value + 1, key="n")
        memory.facts.put("beside", key="m")
    assert memory.facts.get(key="n").value == 2


def test_the_session_of_all_that_is_in_it(memory: Memory) -> None:
    with memory.transaction() as tx:
        tx.facts.put(1, session="s")
        tx.facts.put(2, session="s")
    with memory.transaction() as tx:
        tx.facts.put(3, session="s")
        tx.facts.put(4)
    with memory.transaction(session="t") as tx:
        tx.facts.put(5, session="s")
    assert [entry.session for entry in memory.history.page()] == ["t", None, "s"]


def test_an_operation_commits_once(memory: Memory) -> None:
    receipts = []
    for _ in range(2):
        with memory.transaction(operation="op") as tx:
            tx.facts.put("x", key="k")
            tx.facts.put("y", key="l")
        assert tx.receipt is not None
        receipts.append(tx.receipt)
    assert [receipt.repeated for receipt in receipts] == [False, True]
    assert receipts[0].position == receipts[1].position == memory.history.position() == 1
    assert memory.facts.get(key="k").mentions == 1
    fact = memory.facts.put("z")
    with memory.transaction() as tx:
        with pytest.raises(Unsupported):
            tx.facts.put("x", operation="in")
        with pytest.raises(Unsupported):
            tx.facts.delete(fact, operation="in")
    assert values(memory) == ["x", "y", "z"]


def test_promote_and_discard_in_a_block(memory: Memory) -> None:
    memory.facts.put("tea", key="drink")
    memory.facts.put("coffee", key="drink", session="s", ephemeral=True)
    memory.facts.put("gone", session="t", ephemeral=True)
    position = memory.history.position()
    with memory.transaction() as tx:
        tx.facts.put("milk", key="drink", session="s", ephemeral=True)
        assert len(tx.sessions.promote("s")) == 2
        assert tx.sessions.discard("t") == 1
        assert tx.facts.get(key="drink").value == "milk"
    assert memory.facts.get(key="drink").value == "milk"
    assert memory.history.position() == position + 1
    assert (values(memory, session="s"), values(memory, session="t")) == (["milk"], [])


def test_a_constraint_is_judged_at_the_end(memory: Memory) -> None:
    memory.register("u", unique=("v",))
    one = memory.facts.put({"v": 1}, type="u", sender="a")
    two = memory.facts.put({"v": 2}, type="u", sender="b")
    with memory.transaction() as tx:
        tx.facts.patch(one, {"v": 2})
        tx.facts.patch(two, {"v": 1})
    assert [memory.facts.get(each.id).value["v"] for each in (one, two)] == [2, 1]

    def clash() -> None:
        with memory.transaction() as tx:
            tx.facts.put("beside")
            tx.facts.patch(one, {"v": 1})

    with pytest.raises(UniqueViolation):
        clash()
    assert memory.facts.count() == 2


@pytest.mark.parametrize(
    "wrong", [{"actor": ""}, {"reason": ""}, {"session": ""}, {"operation": ""}, {"reason": "x" * 5_000}, {"actor": 7}]
)
def test_a_bad_name_writes_nothing(memory: Memory, wrong: dict[str, Any]) -> None:
    with pytest.raises(BadInput), memory.transaction(**wrong) as tx:
        tx.facts.put("x")
    assert memory.history.position() == 0


def test_two_thousand_facts_are_one_entry(memory: Memory, clock: SteppingClock) -> None:
    with memory.transaction() as tx:
        for number in range(2_000):
            tx.facts.put(number)
    assert (memory.facts.count(), memory.history.position()) == (2_000, 1)
    memory.history.undo(last=1)
    assert memory.facts.count() == 0
