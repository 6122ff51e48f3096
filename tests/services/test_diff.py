"""What differs between two moments, beside what views of both of them show."""

from __future__ import annotations

import random

import pytest

from amber import Fact
from amber.errors import AmberError
from amber.memory import Memory
from amber.model.fact import FACTS
from amber.model.undo import comparable


def live_through(memory: Memory, seed: int) -> set[str]:
    """Do many things to few facts; give the ids of all that ever were."""
    chosen = random.Random(seed)
    ids: list[str] = []
    for step in range(40):
        deed = chosen.randrange(8)
        known = chosen.choice(ids) if ids else None
        try:
            if deed <= 2 or known is None:
                put = memory.facts.put(
                    {"n": chosen.randrange(4)}, key=chosen.choice(["a", "b", None]), sender=chosen.choice(["ana", None])
                )
                ids.append(put.id)
            elif deed == 3:
                memory.facts.patch(known, {"n": step})
            elif deed == 4:
                memory.facts.delete(known)
            elif deed == 5:
                memory.facts.restore(known)
            elif deed == 6:
                memory.history.undo(last=chosen.randrange(1, 3))
            else:
                memory.facts.put(chosen.randrange(3), session="s", ephemeral=True)
                memory.sessions.discard("s")
        except AmberError:
            continue
    every = {change.id for entry in memory.history.page(limit=1_000) for change in entry.changes}
    return {*ids, *every}


@pytest.mark.parametrize("seed", range(6))
def test_a_diff_tells_what_two_views_show(memory: Memory, seed: int) -> None:
    ids = live_through(memory, seed)
    newest = memory.history.position()

    def shown(position: int) -> dict[str, Fact]:
        view = memory.at(position)
        return {id: fact for id in ids if (fact := view.facts.find(id)) is not None}

    views = {position: shown(position) for position in range(0, newest + 1, 3)}
    for first, before in views.items():
        for last, after in views.items():
            if first > last:
                continue
            wanted: dict[str, tuple[str, Fact | None, Fact | None]] = {}
            for id in ids:
                old, new = before.get(id), after.get(id)
                if old is None and new is None:
                    continue
                if old is not None and new is not None:
                    if comparable(old.body, FACTS) == comparable(new.body, FACTS):
                        continue
                    wanted[id] = ("changed", old, new)
                else:
                    wanted[id] = ("added" if old is None else "removed", old, new)
            found = {(each.after or each.before).id: each for each in memory.history.diff(first, last).facts}  # type: ignore[union-attr]
            assert found.keys() == wanted.keys()
            for id, (kind, old, new) in wanted.items():
                each = found[id]
                assert each.kind == kind
                for mine, theirs in ((each.before, old), (each.after, new)):
                    assert (mine is None) == (theirs is None)
                    if mine is not None and theirs is not None:
                        assert (mine.position, mine.revision) == (theirs.position, theirs.revision)
                        assert comparable(mine.body, FACTS) == comparable(theirs.body, FACTS)
