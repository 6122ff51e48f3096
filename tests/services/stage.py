"""What the tests of the library stand on: a clock that moves by itself, faces, and ways to make several memories."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.faces import async_face, async_open
from tests.servers import shared

from amber.memory import Memory, View, open_store
from amber.model.ids import make_id
from amber.model.times import from_micros
from amber.services.exact import ExactIndex
from amber.services.unit import Context, IdMaker

#: 14 November 2023, 22:13:20 UTC.
START = 1_700_000_000_000_000
SECOND = 1_000_000
DAY = 86_400 * SECOND

Open = Callable[..., Memory]
#: The stores that the tests of the library run on.
STORES = ("dict", "sqlite")


class SteppingClock:
    """Give microseconds since the epoch, a millisecond more with each call."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> int:
        self.now += 1_000
        return self.now

    def advance(self, *, days: float = 0, seconds: float = 0) -> None:
        """Let time pass, or go back."""
        self.now += round(days * DAY + seconds * SECOND)


class StandingClock(SteppingClock):
    """Give the same time until it is told to move."""

    def __call__(self) -> int:
        return self.now


class NumberedIds(IdMaker):
    """Make the same ids in every run: all of one time, numbered."""

    def __init__(self) -> None:
        super().__init__(lambda: START)
        self._numbers = itertools.count(1)

    def __call__(self) -> str:
        return make_id(START, next(self._numbers))


def iso(micros: int) -> str:
    return from_micros(micros).isoformat()


def sync_face(memory: Memory) -> Memory:
    """Give a memory as the tests use it; ``async_face`` wraps it, and runs the same bodies."""
    return memory


#: By name; the tests run once for each.
FACES: dict[str, Callable[[Memory], Memory]] = {"sync": sync_face, "async": async_face}
#: How each face opens a memory.
OPEN: dict[str, Open] = {"sync": Memory.open, "async": async_open}


def finish(memory: Any) -> None:
    """Close a memory of any face, and what its face made for it."""
    getattr(memory, "end", memory.close)()


def target_of(kind: str, folder: Path) -> str:
    """Give what a store of a kind is opened with."""
    if kind in ("dict", "sqlite"):
        return "memory:" if kind == "dict" else str(folder / "amber.db")
    return shared.place(kind)


def opener(target: str, clock: Callable[[], int], face: Callable[[Memory], Memory]) -> Open:
    """Give a maker of memories over one store: of other spaces and actors, and with other clocks."""
    store = open_store(target)

    def make(space: str = "acme", actor: str | None = "tester", **given: Any) -> Memory:
        ticks = given.pop("clock", clock)
        ids = given.pop("new_id", None) or IdMaker(ticks)
        context = Context(store, space, ticks, ids, actor=actor, exact=ExactIndex(store, space), **given)
        return face(Memory(store, context))

    return make


def values(view: View, **filters: Any) -> list[Any]:
    """List the values of facts in the order of their creation."""
    return [fact.value for fact in view.facts.iter(**filters)]


def everything(view: Any, sessions: tuple[str, ...] = ()) -> dict[str, dict[str, Any]]:
    """Give all facts of a memory, a transaction or a view, whatever their state, without what touches change; with
    the ephemeral ones of the sessions named."""
    found: dict[str, dict[str, Any]] = {}
    for session in (None, *sessions):
        for fact in view.facts.iter(session=session, superseded=True, deleted=True):
            found[fact.id] = {**fact.body, "last_seen": None}
    return found
