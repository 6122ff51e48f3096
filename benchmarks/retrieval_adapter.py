"""An adapter for ``eval_retrieval.py``: conversations kept as messages of an Amber memory, found by ``recall``."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from amber import Memory
from amber.model.batch import Append
from amber.model.message import MESSAGES
from amber.services.unit import Unit


class Amber:
    """One conversation in one memory; ``AMBER_BENCH_DB=memory:`` keeps it in process instead of a SQLite file."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        target = os.environ.get("AMBER_BENCH_DB") or str(Path(self._folder.name, "bench.db"))
        self._memory = Memory.open(target, durability=None if target == "memory:" else "off")
        self._ids: dict[str, Any] = {}

    def add(self, messages: list[dict[str, Any]]) -> None:
        unit = Unit(self._memory._context)
        for start in range(0, len(messages), 500):
            unit.commit([self._append(start + n, each) for n, each in enumerate(messages[start : start + 500])])

    def _append(self, seq: int, message: dict[str, Any]) -> Append:
        key = f"m{seq:06}"
        self._ids[key] = message["id"]
        body = {
            **dict.fromkeys(("sender", "project", "at", "zone", "model", "tool", "tokens", "cwd", "branch", "line")),
            "session": str(message["session"]),
            "seq": seq,
            "role": "user",
            "kind": "prompt",
            "text": f"{message['speaker']}: {message['text']} {message['date']}",
            "live": True,
            "uid": key,
        }
        return Append(MESSAGES.name, key, body)

    def search(self, text: str, k: int) -> list[Any]:
        return [self._ids[hit.id] for hit in self._memory.recall(text, limit=k)]

    def close(self) -> None:
        self._memory.close()
        self._folder.cleanup()
