"""Messages to search: sentences of LoCoMo's conversations, mixed anew; and its questions.

28 words each, and a vocabulary of three thousand: pessimistic, since real memories have more rare words.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from amber import Memory
from amber.model.batch import Append
from amber.model.message import MESSAGES

SOURCE = Path(__file__).parents[2] / "shared" / "data" / "locomo" / "locomo_dev.json"
_SEED, _BATCH = 7, 500


@cache
def conversations() -> list[dict[str, Any]]:
    """Give the conversations of the data set."""
    found: list[dict[str, Any]] = json.loads(SOURCE.read_text())
    return found


def texts(count: int, seed: int = _SEED) -> Iterator[str]:
    """Give messages of about 28 words, always the same for a seed."""
    messages = [message["text"] for each in conversations() for message in each["messages"]]
    sentences = [part for text in messages for part in re.split(r"(?<=[.!?])\s+", text) if part]
    chance = random.Random(seed)
    for _ in range(count):
        wanted, words, parts = max(3, round(chance.gauss(28, 10))), 0, []
        while words < wanted:
            parts.append(chance.choice(sentences))
            words += len(parts[-1].split())
        yield " ".join(parts)


def questions() -> list[str]:
    """Give the questions of the data set."""
    return [question["text"] for each in conversations() for question in each["questions"]]


def load(memory: Memory, count: int, seed: int = _SEED) -> None:
    """Append messages, 500 in a commit."""
    batch: list[Append] = []
    for number, text in enumerate(texts(count, seed)):
        batch.append(Append(MESSAGES.name, f"m{number:07}", body(number, text)))
        if len(batch) == _BATCH or number == count - 1:
            memory._unit.commit(batch)
            batch = []


def body(number: int, text: str) -> dict[str, Any]:
    """Give the body of a message; a session has 200."""
    absent = dict.fromkeys(("zone", "model", "tool", "tokens", "cwd", "branch", "line"))
    return {
        **absent,
        "sender": f"s{number % 50}",
        "project": f"p{number % 7}/x",
        "session": f"c{number // 200}",
        "seq": number % 200,
        "at": 1_700_000_000_000_000 + number * 60_000_000,
        "role": "user",
        "kind": "prompt",
        "text": text,
        "live": True,
        "uid": f"u{number}",
    }
