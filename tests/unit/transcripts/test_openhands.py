"""OpenHands: events, paired by cause, with times that bear no zone."""

from pathlib import Path
from typing import Any

import pytest
from tests.unit.transcripts.samples import OPENHANDS, document, read_all, short


def test_events(tmp_path: Path) -> None:
    ((reader, messages),) = read_all(document(tmp_path / "game.json", OPENHANDS))
    assert [(m.role, m.kind, m.text) for m in messages] == [
        ("user", "prompt", "[image image/png 1 kB]\nWrite a game"),
        ("system", "injected", "You are OpenHands"),
        ("system", "injected", "Repository notes"),
        ("assistant", "reply", "First I look."),
        ("assistant", "tool_call", "execute_bash: ls"),
        ("assistant", "tool_call", "second: cat x"),
        ("tool", "tool_result", "no such file"),
        ("tool", "tool_result", "a.py"),
        ("assistant", "reply", "All done"),
    ]
    assert [m.uid for m in messages] == [
        "event-1", "event-5", "event-7", "event-9#0", "event-9#1", "event-10", "event-11", "event-12", "event-20",
    ]  # fmt: skip
    assert reader.skips == {
        "not conversation: observation/agent_state_changed": 1,
        "not conversation: observation/null": 1,
        "not conversation: action/recall": 1,
        "not conversation: action/change_agent_state": 1,
    }
    info = reader.info()
    assert (info.format, info.models, info.cwd) == ("openhands", ("claude-opus-4-8",), "/workspace")


def test_results_are_paired_by_cause_not_by_the_id_of_the_call(tmp_path: Path) -> None:
    ((_, messages),) = read_all(document(tmp_path / "game.json", OPENHANDS))
    tools = [m.tool for m in messages if m.tool]
    assert [(t.name, t.call_id, t.is_error) for t in tools] == [
        ("execute_bash", "9", None), ("second", "10", None), ("second", "10", True), ("execute_bash", "9", False),
    ]  # fmt: skip
    assert tools[0].arguments == {"command": "ls"}


def test_an_answer_is_counted_once(tmp_path: Path) -> None:
    ((_, messages),) = read_all(document(tmp_path / "game.json", OPENHANDS))
    assert [m.tokens for m in messages if m.tokens] == [{"input": 20, "output": 9, "cache_read": 100}]


def test_local_times_are_told_by_the_time_of_the_model(tmp_path: Path) -> None:
    ((reader, messages),) = read_all(document(tmp_path / "game.json", OPENHANDS))
    # 02:00:01 on a machine six hours behind
    assert (messages[0].at, messages[0].zone) == (1791187201000000, "-06:00")
    assert reader.info().started_at == 1791187200250000
    ((_, messages),) = read_all(document(tmp_path / "game.json", OPENHANDS[:2]))
    assert (messages[0].at, messages[0].zone) == (1791165601000000, None)


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({"id": 1, "source": "agent", "action": "think", "args": {"thought": "Hm."}}, [("thinking", "Hm.")]),
        ({"id": 1, "source": "agent", "action": "condensation", "args": {"summary": "All so far"}}, [("summary", "All so far")]),
        ({"id": 1, "source": "user", "action": "run", "args": {"command": "ls"}}, [("command", "run: ls")]),
        ({"id": 1, "source": "agent", "action": "message", "args": {"content": "Hello"}}, [("reply", "Hello")]),
        ({"id": 1, "source": "agent", "observation": "error", "content": "bad", "cause": 0}, [("tool_result", "bad")]),
        ({"id": 1, "source": "agent", "action": "brand_new", "args": {"x": 1}}, [("tool_call", 'brand_new: {"x":1}')]),
        ({"id": 1, "source": "agent", "action": 7, "args": [], "tool_call_metadata": []}, [("tool_call", "?")]),
        ({"id": "x", "source": "user", "action": "message", "args": None, "message": "shown"}, []),
        ({"id": True, "source": "agent", "observation": None, "content": ["x"], "cause": {}}, [("tool_result", "")]),
    ],
)  # fmt: skip
def test_kinds_of_events(tmp_path: Path, event: Any, expected: list[tuple[str, str]]) -> None:
    ((_, messages),) = read_all(document(tmp_path / "e.json", [event]))
    assert short(messages) == expected


def test_two_events_of_one_id_are_both_kept(tmp_path: Path) -> None:
    event = {"id": 1, "source": "user", "action": "message", "args": {"content": "one"}}
    ((_, messages),) = read_all(document(tmp_path / "e.json", [event, {**event, "args": {"content": "two"}}]))
    assert [(m.uid, m.text) for m in messages] == [("event-1", "one"), ("event-1-2", "two")]
