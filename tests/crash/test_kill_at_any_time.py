"""A writer killed at any moment: whatever was answered is there, the rest is not there in part."""

from __future__ import annotations

import random
import time
from pathlib import Path

from tests.crash import work
from tests.crash.storm import Storm

from amber.store.contract import LogQuery
from amber.testing.crash import start
from amber.testing.samples import SPACE

ROUNDS = 10


def test_all_answered_commits_are_there(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    work.create(str(path))
    chance = random.Random(20)
    answered: dict[str, int] = {}
    for number in range(ROUNDS):
        child = start("tests.crash.work:write_on", str(path), f"round{number}")
        assert child.stdout is not None
        first = child.stdout.readline()
        time.sleep(chance.uniform(0, 0.05))
        child.kill()
        lines = [first, *child.stdout]
        child.wait()
        child.stdout.close()
        # the last line may have been cut short
        for key, position in (line.split() for line in lines if line.endswith("\n")):
            answered[key] = int(position)
        with work.opened(path) as store:
            found = store.get_many(SPACE, "facts", list(answered))
            assert {key: record.revision for key, record in found.items()} == answered
            position = store.position(SPACE)
            count = store.get(SPACE, "facts", "count")
            assert count is not None
            assert count.body["n"] == position == store.stats(SPACE).documents["facts"] - 1
            assert len(answered) <= position <= len(answered) + number + 1
            assert store.verify() == []
            assert len(store.log(SPACE, LogQuery(limit=10_000))) == position
    assert len(answered) >= ROUNDS


def test_writers_that_do_everything_at_once(tmp_path: Path) -> None:
    """The short form of ``scripts/crash.py``."""
    storm = Storm(tmp_path / "memory.db", 2)
    assert sum(storm.blow() for _ in range(3)) > 0
