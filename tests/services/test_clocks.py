"""Clocks that stand still, go back, or are far off: the log never goes back, and what was acknowledged is read."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.services import workers
from tests.services.stage import DAY, SECOND, START, Open

from amber.memory import Memory
from amber.model.times import LATEST

YEAR = 365 * DAY
#: What a clock shows at each step.
CLOCKS: dict[str, list[int]] = {
    "stands still": [START] * 4,
    "goes back by a second, again and again": [START, START - SECOND, START - 2 * SECOND, START - 3 * SECOND],
    "goes back by years and forward again": [START, START - 10 * YEAR, START - 20 * YEAR, START + 1],
    "is before 1970": [-5 * YEAR, -6 * YEAR, -YEAR, START],
    "is before 1970 after it was right": [START, -YEAR, -2 * YEAR, -1],
    "is zero": [0, 0, 0, START],
    "was far in the future once": [START, START + 80 * YEAR, START + 1, START + 2],
    "was beyond what ids hold": [START, START + 1_500 * YEAR, START + 1, START + 2],
    "shows the last year of the calendar": [START, LATEST, START + 1, START + 2],
    "is beyond the calendar": [START, LATEST + YEAR, LATEST + 2 * YEAR, START],
}


def go_through(make: Callable[[int], Memory], shown: list[int]) -> list[str]:
    """Write and read at each time, then look at the whole; give the ids in the order of writing."""
    ids: list[str] = []
    positions: list[int] = []
    for n, time in enumerate(shown):
        memory = make(time)
        fact = memory.facts.put(n, sender="ana", key="k")
        assert memory.facts.get(sender="ana", key="k").value == n
        assert [each.value for each in memory.facts.page(sender="ana", key="k")] == [n]
        said = memory.facts.put(f"zebra {n}")
        patched = memory.facts.patch(memory.facts.put({"n": n}), {"more": n})
        assert memory.facts.get(patched).value == {"n": n, "more": n}
        assert {hit.item.id for hit in memory.recall(f"zebra {n}", limit=1)} == {said.id}
        with memory.transaction() as tx:
            buffered = tx.facts.put(f"in a transaction {n}", key="tx")
            assert tx.facts.get(key="tx").value == buffered.value
        assert memory.facts.get(key="tx").value == buffered.value
        ids += [fact.id, said.id, patched.id, buffered.id]
        positions.append(fact.position)
    entries = memory.history.page(limit=1_000)[::-1]
    assert [entry.position for entry in entries] == [*range(1, len(entries) + 1)]
    assert all(one.at <= other.at for one, other in itertools.pairwise(entries))
    for n, position in enumerate(positions):
        assert memory.at(position).facts.get(sender="ana", key="k").value == n
        assert memory.at(memory.history.get(position).at).facts.find(sender="ana", key="k") is not None
    every = memory.facts.page(sender="ana", key="k", superseded=True)
    assert sorted(fact.value for fact in every) == [*range(len(shown))]
    spans = [(fact.body["valid_from"], fact.body["valid_until"]) for fact in every]
    assert all(begin <= end for begin, end in spans if end is not None)
    memory.history.undo(positions[-1])
    assert memory.facts.get(sender="ana", key="k").value == len(shown) - 2
    memory.history.redo()
    assert memory.facts.get(sender="ana", key="k").value == len(shown) - 1
    kinds = [each.kind for each in memory.history.diff(positions[0], positions[1]).facts]
    assert "added" in kinds
    assert memory.verify() == []
    if ids == sorted(ids):
        assert [fact.value for fact in every] == [*range(len(shown))]
    return ids


@pytest.mark.parametrize("which", CLOCKS)
def test_a_clock_within_one_process(open_memory: Open, which: str) -> None:
    shown = CLOCKS[which]
    now = [0]
    memory = open_memory(clock=lambda: now[0])

    def make(time: int) -> Memory:
        now[0] = time
        return memory

    ids = go_through(make, shown)
    assert ids == sorted(ids)


@pytest.mark.parametrize("moves", [True, False])
@pytest.mark.parametrize("which", CLOCKS)
def test_a_clock_between_processes(sqlite_path: Path, which: str, moves: bool) -> None:
    opened: list[Memory] = []

    def make(time: int) -> Memory:
        for memory in opened:
            memory.close()
        going = itertools.count(time) if moves else itertools.repeat(time)
        opened[:] = [Memory.open(sqlite_path, clock=lambda: next(going))]
        return opened[0]

    ids = go_through(make, CLOCKS[which])
    opened[0].close()
    # a clock that stands still tells nothing of the ids that another process made, nor does one that shows a year of
    # which ids do not know
    if moves and not which.startswith(("was beyond", "shows the last year", "is beyond")):
        assert ids == sorted(ids)


def test_processes_whose_clocks_differ_by_days(sqlite_path: Path) -> None:
    workers.together(workers.with_another_clock, str(sqlite_path), 4, 20)
    with Memory.open(sqlite_path, space="acme") as memory:
        entries = memory.history.page(limit=1_000)[::-1]
        assert len(entries) == 80
        assert all(one.at <= other.at for one, other in itertools.pairwise(entries))
        assert memory.facts.count(key="k") == 1
        last = next(entry for entry in reversed(entries) if any(c.kind == "put" for c in entry.changes))
        assert last.position == 80
        assert memory.verify() == []
