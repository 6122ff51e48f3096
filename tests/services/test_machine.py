"""Any sequence of steps: both stores say the same, every earlier moment can be seen again, and gone back to."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.services.stage import (
    FACES,
    START,
    STORES,
    NumberedIds,
    StandingClock,
    everything,
    finish,
    iso,
    opener,
    target_of,
)

from amber.errors import AmberError
from amber.memory import Memory

SESSIONS = ("s", "t")
keys = st.none() | st.sampled_from(["k", "l"])
payloads = st.sampled_from(["tea", "Tea ", "coffee", 1, True]) | st.fixed_dictionaries(
    {"n": st.integers(0, 2)}, optional={"m": st.none() | st.integers(0, 1)}
)
hours = st.none() | st.integers(-3, 3)
sessions = st.none() | st.sampled_from(SESSIONS)
picks = st.integers(0, 9)


def hour(number: int) -> str:
    return iso(START + number * 3_600_000_000)


class Memories(RuleBasedStateMachine):
    """A step is done on both stores, with the same clock and the same ids; what it answers must be the same."""

    faces: tuple[tuple[str, str], ...] = tuple((kind, "sync") for kind in STORES)

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.clock = StandingClock()
        self.memories: list[Memory] = []
        for kind, face in self.faces:
            made = opener(target_of(kind, Path(self.folder.name)), self.clock, FACES[face])(new_id=NumberedIds())
            made.register("u", unique=("n",))
            self.memories.append(made)
        self.snapshots = {0: {}, 1: self.look()}

    def look(self) -> Any:
        return everything(self.memories[0], SESSIONS)

    def both(self, step: Callable[[Memory], Any]) -> Any:
        """Do a step on both stores: the same answer, or the same refusal that leaves everything as it is."""
        answers = []
        for memory in self.memories:
            position = memory.history.position()
            try:
                answers.append(step(memory))
            except AmberError as error:
                answers.append((type(error), error.message))
                assert memory.history.position() == position
        assert all(answer == answers[0] for answer in answers)
        self.clock.now += 1_000
        self.snapshots[self.memories[0].history.position()] = self.look()
        return answers[0]

    def pick(self, number: int) -> str:
        ids = sorted(self.look())
        return ids[number % len(ids)] if ids else "nobody"

    @rule(value=payloads, key=keys, start=hours, end=hours, typed=st.booleans(), sender=st.none() | st.just("ana"))
    def put(
        self, value: Any, key: str | None, start: int | None, end: int | None, typed: bool, sender: str | None
    ) -> None:
        given = {"valid_from": start, "valid_until": end}
        more: dict[str, Any] = {name: hour(number) for name, number in given.items() if number is not None}
        self.both(lambda memory: memory.facts.put(value, key=key, sender=sender, type="u" if typed else None, **more))

    @rule(value=payloads, key=keys, session=st.sampled_from(SESSIONS), ephemeral=st.booleans(), brief=st.booleans())
    def put_in_session(self, value: Any, key: str | None, session: str, ephemeral: bool, brief: bool) -> None:
        ttl = "2s" if brief else None
        self.both(lambda memory: memory.facts.put(value, key=key, session=session, ephemeral=ephemeral, ttl=ttl))

    @rule(number=picks, patch=st.dictionaries(st.sampled_from("nm"), st.none() | st.integers(0, 2)))
    def patch(self, number: int, patch: dict[str, Any]) -> None:
        id = self.pick(number)
        self.both(lambda memory: memory.facts.patch(id, patch))

    @rule(number=picks)
    def delete(self, number: int) -> None:
        id = self.pick(number)
        self.both(lambda memory: memory.facts.delete(id))

    @rule(number=picks)
    def restore(self, number: int) -> None:
        id = self.pick(number)
        self.both(lambda memory: memory.facts.restore(id))

    @rule(session=st.sampled_from(SESSIONS))
    def promote(self, session: str) -> None:
        self.both(lambda memory: memory.sessions.promote(session))

    @rule(session=st.sampled_from(SESSIONS))
    def discard(self, session: str) -> None:
        self.both(lambda memory: memory.sessions.discard(session))

    @rule(seconds=st.sampled_from([1, 3, 7_200, -5]))
    def wait(self, seconds: int) -> None:
        self.clock.advance(seconds=seconds)

    @rule(back=st.integers(0, 4), force=st.booleans())
    def undo_one(self, back: int, force: bool) -> None:
        position = self.memories[0].history.position() - back
        self.both(lambda memory: memory.history.undo(position, force=force))

    @rule(last=st.integers(1, 3), session=sessions)
    def undo_last(self, last: int, session: str | None) -> None:
        self.both(lambda memory: memory.history.undo(last=last, session=session))

    @rule(session=sessions)
    def redo(self, session: str | None) -> None:
        self.both(lambda memory: memory.history.redo(session=session))

    @rule(number=picks, value=payloads, key=keys, fails=st.booleans(), promote=st.booleans())
    def transaction(self, number: int, value: Any, key: str | None, fails: bool, promote: bool) -> None:
        id = self.pick(number)

        def step(memory: Memory) -> Any:
            try:
                with memory.transaction(reason="block") as tx:
                    new = tx.facts.put(value, key=key)
                    tx.facts.delete(new)
                    tx.facts.put({"n": value} if isinstance(value, int) else "in a block", session="s", ephemeral=True)
                    if promote:
                        tx.sessions.promote("s")
                    if tx.facts.find(id) is not None and not tx.facts.get(id).is_deleted:
                        tx.facts.delete(id)
                    seen = everything(tx, SESSIONS)
                    if fails:
                        raise KeyError
            except KeyError:
                return None
            assert everything(memory, SESSIONS) == seen
            return tx.receipt

        self.both(step)

    @precondition(lambda self: len(self.snapshots) > 2)
    @rule(number=picks)
    def go_back(self, number: int) -> None:
        positions = sorted(self.snapshots)[1:]
        position = positions[-1 - number % len(positions)]
        self.both(lambda memory: memory.history.undo(after=position))
        assert self.look() == self.snapshots[position]

    @rule(number=picks)
    def look_back(self, number: int) -> None:
        positions = sorted(self.snapshots)
        position = positions[number % len(positions)]
        for memory in self.memories:
            assert everything(memory.at(position), SESSIONS) == self.snapshots[position]

    @invariant()
    def both_say_the_same(self) -> None:
        for question in (
            lambda memory: everything(memory, SESSIONS),
            lambda memory: memory.history.page(limit=5),
            lambda memory: [fact.id for fact in memory.facts.page()],
            lambda memory: [fact.id for fact in memory.facts.page(session="s")],
            lambda memory: [fact.id for fact in memory.facts.page(where={"payload.n": 1})],
            lambda memory: [(hit.id, hit.score, hit.snippet) for hit in memory.recall("tea coffee 1")],
            lambda memory: [memory.facts.find(key=key, session=s) for key in "kl" for s in (None, "s")],
        ):
            answers = [question(memory) for memory in self.memories]
            assert all(answer == answers[0] for answer in answers)

    @invariant()
    def a_key_has_one_value(self) -> None:
        spans: dict[str, list[tuple[int, int]]] = {}
        for body in self.look().values():
            over = body["expires_at"] is not None and body["expires_at"] <= self.clock.now
            if body["deleted_at"] is None and not over and body["valid_until"] != body["valid_from"]:
                spans.setdefault(body["subject"], []).append((body["valid_from"], body["valid_until"] or 2**62))
        for each in map(sorted, spans.values()):
            assert all(one[1] <= other[0] for one, other in itertools.pairwise(each)), each

    def teardown(self) -> None:
        for memory in getattr(self, "memories", ()):
            assert memory.verify() == []
            for position, snapshot in self.snapshots.items():
                assert everything(memory.at(position), SESSIONS) == snapshot
            finish(memory)
        if hasattr(self, "folder"):
            self.folder.cleanup()


TestMemories = Memories.TestCase
TestMemories.settings = settings(
    max_examples=120, stateful_step_count=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


class Awaited(Memories):
    """The same on the async face, beside the sync one."""

    faces = (("dict", "sync"), *((kind, "async") for kind in STORES))


TestAwaited = Awaited.TestCase
TestAwaited.settings = settings(TestMemories.settings, max_examples=20)
