"""Real sessions, where the shared data folder stands beside the repository: nothing doubled, nothing lost."""

from collections import Counter
from pathlib import Path

import orjson
import pytest
from tests.unit.transcripts.build import read

from amber.pipeline.transcripts import discover

DATA = Path(__file__).parents[4] / "shared" / "data" / "transcripts"

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the shared data folder is not there")

# Typed prompts, counted by hand; the second number is how many of them were taken back.
PROMPTS = {
    "90c34bf3": (5, 0),
    "bbb250e2": (4, 0),
    "785f4d80": (9, 0),
    "21b398d3": (0, 0),
    "a6801e08": (3, 0),
    "84b31fdb": (15, 0),
    "d63c20e6": (4, 0),
    "0ea6eaaa": (43, 0),
    "b6fd64c6": (15, 0),
    "ac7269ef": (3, 0),
    "04805991": (16, 0),
    "da32760b": (6, 0),
    "75325d04": (28, 6),
    "0ccf1a04": (5, 2),
    "images-i": (2, 0),
    "97b66f6c": (52, 0),
    "019bda8e": (1, 0),
    "019bb37f": (0, 0),
    "fa1ac8bf": (0, 0),
}


def find(name: str) -> Path:
    return next(path for path in DATA.rglob("*.jsonl") if name in path.name and path.parent.name != "subagents")


@pytest.mark.parametrize("name", sorted(PROMPTS))
def test_typed_prompts(name: str) -> None:
    _, messages = read(find(name))
    prompts = [message for message in messages if message.kind == "prompt"]
    assert (len(prompts), sum(not message.live for message in prompts)) == PROMPTS[name]


def test_every_call_and_result_comes_once() -> None:
    for path in discover([DATA / "claude", DATA / "codex"]):
        session, messages = read(path)
        raw: Counter[str] = Counter()
        for line in path.read_bytes().split(b"\n"):
            if line.startswith(b"{"):
                record = orjson.loads(line)
                content = record.get("message", {}).get("content") or []
                raw.update(block["type"] for block in content if isinstance(block, dict))
                raw[record.get("payload", {}).get("type")] += 1
        kinds = Counter(message.kind for message in messages)
        calls = raw["tool_use"] + raw["function_call"] + raw["custom_tool_call"]
        results = raw["tool_result"] + raw["function_call_output"] + raw["custom_tool_call_output"]
        assert (kinds["tool_call"], kinds["tool_result"]) == (calls, results), path
        assert len({message.uid for message in messages}) == len(messages)
        assert not [reason for reason in session.skips if reason.startswith("unknown")]


def test_codex_tokens_are_the_last_total() -> None:
    _, messages = read(find("97b66f6c"))
    used: Counter[str] = Counter()
    for message in messages:
        used.update(message.tokens or {})
    assert used == {"input": 52_925_753 - 51_519_872, "cache_read": 51_519_872, "output": 151_884, "reasoning": 51_200}


def test_what_is_left_out() -> None:
    left: dict[str, str] = {}
    list(discover([DATA], lambda path, reason: left.__setitem__(path.name, reason)))
    assert "prompt history" in left["history.jsonl"]
    assert "pseudo-agent" in left["agent-acompact-1b98b4.jsonl"]
    assert "pseudo-agent" in left["agent-aprompt_suggestion-9ff5f0.jsonl"]
    assert "sessions-index.json" not in left
