"""Several writers that do everything at once, and what must be so whenever they are killed.

Run by the tests in a short form, and by ``scripts/crash.py`` for as many rounds as one likes.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import orjson

from amber.backends.sqlite import SQLiteStore
from amber.errors import AmberError, Conflict, NotFound, SchemaMismatch, TimedOut, UndoConflict
from amber.memory import COLLECTIONS, Memory
from amber.model import batch as b
from amber.model.fact import FACTS
from amber.search.analyzer import analyze
from amber.services.unit import Context, IdMaker, system_clock
from amber.store.contract import LogEntry, LogQuery, Selection
from amber.testing.crash import start
from amber.testing.samples import JOBS

SPACE = "main"
SHARED = "what everybody says"
#: What a writer may meet in the others.
EXPECTED = (Conflict, UndoConflict, NotFound, TimedOut)


def opened(path: str | Path, *, analyzer: str = "1") -> Memory:
    """Open the memory of a storm, with a queue beside the usual collections."""
    store = SQLiteStore(path, (*COLLECTIONS, JOBS), analyze=analyze, analyzer=analyzer, timeout=20.0)
    ids = IdMaker(system_clock)
    return Memory(store, Context(store, SPACE, system_clock, ids))


class Writer:
    """One process of a storm: does one thing after another, and says each that was answered."""

    def __init__(self, path: str, name: str, seed: str) -> None:
        self.path, self.name, self.chance = path, name, random.Random(seed)
        self.memory = opened(path)
        self.number = 0
        self.own: list[str] = []

    def run(self) -> None:
        self.say("ready")
        actions: list[tuple[int, Callable[[str], Sequence[Any]]]] = [
            (10, self.put), (6, self.supersede), (3, self.undo), (2, self.forget), (2, self.scrub), (3, self.claim),
            (2, self.take_in), (1, self.migrate),
        ]  # fmt: skip
        weights = [weight for weight, _ in actions]
        while True:
            ((_, action),) = self.chance.choices(actions, weights)
            if action == self.forget and not self.own:
                action = self.put
            self.number += 1
            operation = f"{action.__name__}-{self.name}-{self.number}"
            try:
                self.say(action.__name__, operation, *action(operation))
            except SchemaMismatch:
                self.memory.close()
                self.memory = opened(self.path)
            except EXPECTED:
                continue

    def say(self, *words: Any) -> None:
        # one write call: a line that was cut short has no end
        sys.stdout.write(" ".join(map(str, words)) + "\n")
        sys.stdout.flush()

    def put(self, operation: str) -> Sequence[Any]:
        with self.memory.transaction(session=self.name, operation=operation) as tx:
            made = [tx.facts.put(f"zebra {operation} {n} " + "x " * self.chance.randrange(200)) for n in range(3)]
            tx.facts.put(SHARED)
        assert tx.receipt is not None
        self.own += [each.id for each in made]
        return [tx.receipt.position, *(each.id for each in made)]

    def supersede(self, operation: str) -> Sequence[Any]:
        fact = self.memory.facts.put(operation, key=f"k{self.chance.randrange(3)}", operation=operation)
        return [fact.position, fact.id]

    def undo(self, operation: str) -> Sequence[Any]:
        undone = self.memory.history.undo(last=1, session=self.name, operation=operation)
        return [undone.position, *undone.positions]

    def forget(self, operation: str) -> Sequence[Any]:
        keys = tuple(self.chance.sample(self.own, min(4, len(self.own))))
        done = self.memory._store.purge(SPACE, Selection(FACTS.name, keys), now=system_clock())
        return [done.position or 0, *keys]

    def scrub(self, operation: str) -> Sequence[Any]:
        self.memory._store.scrub(steps=3)
        return [0]

    def claim(self, operation: str) -> Sequence[Any]:
        store, key = self.memory._store, f"job-{operation}"
        receipt = store.commit(b.Batch(SPACE, operation, system_clock(), (b.Put("jobs", key, {"due": 1}),)))
        leases = store.claim(SPACE, "work", 2, lease=10**15, now=system_clock())
        return [receipt.position, *(f"{lease.key}@{lease.epoch}" for lease in leases)]

    def take_in(self, operation: str) -> Sequence[Any]:
        file = Path(self.path).with_name(f"{operation}.jsonl")
        file.write_bytes(recording(operation, 250))
        (done,) = self.memory.import_sessions(file)
        file.unlink()
        return [0, operation, done.messages]

    def migrate(self, operation: str) -> Sequence[Any]:
        """Open with another analyzer, as a newer version would, and with the old one again."""
        self.memory.close()
        opened(self.path, analyzer="2").close()
        self.memory = opened(self.path)
        return [0]


def recording(session: str, count: int) -> bytes:
    """Make a recorded session."""
    lines = []
    for n in range(count):
        message = {"role": "user", "content": f"message {n} of {session}"}
        lines.append(
            orjson.dumps(
                {
                    "parentUuid": f"{session}-{n - 1}" if n else None, "isSidechain": False, "type": "user", "uuid": f"{session}-{n}",
                    "timestamp": f"2026-10-05T08:{n // 60:02d}:{n % 60:02d}.250Z", "sessionId": session, "cwd": "/home/ana/atlas",
                    "version": "2.1.214", "message": message,
                }
            )
        )  # fmt: skip
    return b"\n".join(lines) + b"\n"


def write(path: str, name: str, seed: str) -> None:
    """Be one writer until killed; run in a process of its own."""
    Writer(path, name, seed).run()


class Storm:
    """Rounds of writers on one file, each ended by kill -9, with a look at the file after it."""

    def __init__(self, path: Path, seed: int) -> None:
        self.path, self.seed = path, seed
        self.round = 0
        self.answered: dict[str, list[str]] = {}

    def blow(self) -> int:
        """Run one round and check; give how many operations were answered in it.

        :raises AssertionError: saying what does not agree.
        """
        self.round += 1
        chance = random.Random(f"{self.seed}/{self.round}")
        writers = chance.choice([1, 1, 3, 4])
        names = [f"r{self.round}w{number}" for number in range(writers)]
        children = [start("tests.crash.storm:write", str(self.path), name, f"{self.seed}/{name}") for name in names]
        # some are killed while they open the file, most in the middle of their work
        if chance.random() < 0.8:
            first = [child.stdout.readline() for child in children if child.stdout is not None]
            assert first == ["ready\n"] * writers, first
        time.sleep(chance.uniform(0, 0.6))
        said: list[str] = []
        for child in chance.sample(children, writers):
            child.kill()
            time.sleep(chance.choice([0, 0, 0.05]))
        for child in children:
            assert child.stdout is not None
            said += child.stdout.read().splitlines(keepends=True)
            child.stdout.close()
            child.wait()
        lines = [line.split() for line in said if line.endswith("\n") and line != "ready\n"]
        strange = [line for line in lines if line[0] not in ACTIONS]
        assert not strange, "".join(said)
        self.answered |= {line[1]: [line[0], *line[2:]] for line in lines}
        self.check()
        return len(lines)

    def check(self) -> None:
        """Check that all that was answered is there, nothing in part, and everything agrees."""
        with opened(self.path) as memory:
            store = memory._store
            assert memory.verify() == []
            entries = {entry.position: entry for entry in _entries(memory)}
            assert [*entries] == [*range(1, store.position(SPACE) + 1)]
            for operation, (action, position, *rest) in self.answered.items():
                if action in ("put", "supersede", "undo", "claim"):
                    receipt = store.receipt(SPACE, operation)
                    assert receipt is not None, f"{operation} was answered and is gone"
                    assert receipt.position == int(position), operation
                _CHECKS[action](memory, entries, operation, int(position), rest)
            for entry in entries.values():
                if entry.operation.startswith("put-"):
                    kinds = [change.kind for change in entry.changes]
                    assert len(kinds) == 4, f"{entry.operation} is there in part: {kinds}"
            self._check_mentions(memory, entries)
            store.scrub()
            assert memory.verify() == []

    def _check_mentions(self, memory: Memory, entries: dict[int, LogEntry]) -> None:
        for fact in memory.facts.page(where={"payload": SHARED}):
            changes = [change for entry in entries.values() for change in entry.changes if change.key == fact.id]
            added = sum((change.deltas or {}).get("mentions", 0) for change in changes)
            made = [change.after for change in changes if change.kind == "put" and change.before is None]
            if len(made) == 1 and all(change.kind == "add" for change in changes[1:]):
                assert fact.mentions == 1 + added


def _entries(memory: Memory) -> list[LogEntry]:
    found: list[LogEntry] = []
    while True:
        low = found[-1].position + 1 if found else 1
        chunk = memory._store.log(SPACE, LogQuery(low=low, reverse=False, limit=1_000))
        found += chunk
        if len(chunk) < 1_000:
            return found


Check = Callable[[Memory, "dict[int, LogEntry]", str, int, "list[str]"], None]


def _check_put(memory: Memory, entries: dict[int, LogEntry], operation: str, position: int, rest: list[str]) -> None:
    entry = entries[position]
    if not entry.undone_by:
        for change in entry.changes:
            if change.key in rest and not change.purged:
                fact = memory.facts.find(change.key)
                assert fact is not None, f"{operation} was answered and {change.key} is gone"
                hits = memory.recall(f"zebra {operation}", limit=20)
                assert fact.id in {hit.id for hit in hits}, f"{fact.id} is not found by its words"


def _check_supersede(
    memory: Memory, entries: dict[int, LogEntry], operation: str, position: int, rest: list[str]
) -> None:
    assert memory.at(position).facts.get(rest[0]).value == operation


def _check_undo(memory: Memory, entries: dict[int, LogEntry], operation: str, position: int, rest: list[str]) -> None:
    for undone in rest:
        assert position in entries[int(undone)].undone_by, f"{operation} was answered and {undone} stands"


def _check_forget(memory: Memory, entries: dict[int, LogEntry], operation: str, position: int, rest: list[str]) -> None:
    for key in rest:
        assert memory.facts.find(key) is None, f"{key} was forgotten and is there"
    for entry in entries.values():
        for change in entry.changes:
            assert change.key not in rest or change.purged or entry.position > position, f"{key} is in the log"


def _check_claim(memory: Memory, entries: dict[int, LogEntry], operation: str, position: int, rest: list[str]) -> None:
    for each in rest:
        key, _, epoch = each.partition("@")
        queued = memory._store.queued(SPACE, "jobs", key)
        assert queued is not None, f"{key} was claimed and is gone"
        assert queued.epoch == int(epoch), f"{key} was claimed with epoch {epoch} and has {queued.epoch}"


def _check_take_in(
    memory: Memory, entries: dict[int, LogEntry], operation: str, position: int, rest: list[str]
) -> None:
    session, count = rest
    kept = memory.sessions.get(session)
    texts = [message.text for message in memory.sessions.iter_messages(session)]
    assert (kept.messages, len(texts)) == (int(count), int(count)), f"{session} was taken in and is not whole"


def _check_nothing(*_: object) -> None:
    """Whatever a scrub or a migration did is seen by verify."""


_CHECKS: dict[str, Check] = {
    "put": _check_put, "supersede": _check_supersede, "undo": _check_undo, "forget": _check_forget,
    "claim": _check_claim, "take_in": _check_take_in, "scrub": _check_nothing, "migrate": _check_nothing,
}  # fmt: skip
ACTIONS = frozenset(_CHECKS)

__all__ = ["AmberError", "Storm", "write"]
