"""The recorded sessions that ship with the product read as they should."""

from collections import Counter
from pathlib import Path

import pytest
from tests.unit.transcripts.build import read

from amber.pipeline.transcripts import TranscriptMessage, discover

EXAMPLES = Path(__file__).parents[3] / "examples"


def read_all() -> dict[str, list[TranscriptMessage]]:
    left: list[str] = []
    sessions = {}
    for path in discover([EXAMPLES], lambda path, reason: left.append(f"{path}: {reason}")):
        session, messages = read(path)
        assert not [reason for reason in session.skips if not reason.startswith(("not conversation", "copy"))]
        sessions[session.info().session_id] = messages
    assert not left
    return sessions


def test_there_are_three_claude_sessions_a_subagent_and_two_rollouts() -> None:
    formats = Counter(read(path)[0].info().format for path in discover([EXAMPLES]))
    assert formats == {"claude": 4, "codex": 2}


def test_they_show_every_kind_but_an_error() -> None:
    kinds = {message.kind for messages in read_all().values() for message in messages}
    assert kinds == {
        "prompt",
        "reply",
        "thinking",
        "tool_call",
        "tool_result",
        "injected",
        "command",
        "summary",
        "interrupt",
    }


@pytest.mark.parametrize(
    "words",
    [
        "Postgres advisory locks for the scheduler",
        "Never use mocks for the database in tests",
        "40 requests a minute, not 60",
        "From the release branch, never from main",
        "京都から大阪まで",
        "os deploys saem do branch release às quintas",
        'also cover Portuguese: "Pequim" and "Quioto"',
    ],
)
def test_what_ana_said_is_a_live_prompt_once(words: str) -> None:
    said = [m for messages in read_all().values() for m in messages if words in m.text and m.kind == "prompt"]
    assert len(said) == 1
    assert said[0].live


def test_what_she_took_back_is_not() -> None:
    taken_back = [m.text for messages in read_all().values() for m in messages if not m.live]
    assert taken_back == ["Then put the limiter in Redis so that both workers share it"]


def test_calls_have_results_and_times_are_in_order() -> None:
    for messages in read_all().values():
        calls = [m.tool.call_id for m in messages if m.kind == "tool_call" and m.tool]
        results = [m.tool.call_id for m in messages if m.kind == "tool_result" and m.tool]
        assert sorted(map(str, calls)) == sorted(map(str, results))
        times = [m.at for m in messages if m.at is not None]
        assert len(times) == len(messages)
        assert times == sorted(times)
        assert sum((m.tokens or {}).get("output", 0) for m in messages) > 0
