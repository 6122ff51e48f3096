"""Sessions that are chat messages: plain lists, mini-swe-agent, SWE-agent."""

from pathlib import Path
from typing import Any

import pytest
from tests.unit.transcripts.samples import (
    ANTHROPIC,
    MINI,
    OPENAI,
    SWE_2024,
    SWE_2025,
    document,
    lines,
    read_all,
    short,
)

from amber.pipeline.transcripts import Refusal, TranscriptMessage, open_session


def read_one(path: Path) -> list[TranscriptMessage]:
    ((_, messages),) = read_all(path)
    return messages


def test_openai(tmp_path: Path) -> None:
    messages = read_one(document(tmp_path / "chat.json", OPENAI))
    assert [(m.role, m.kind, m.text) for m in messages] == [
        ("system", "injected", "Be brief."),
        ("user", "prompt", "[image image/png 1 kB]\nWhat is it?"),
        ("assistant", "thinking", "Hm."),
        ("assistant", "tool_call", "look: /a"),
        ("tool", "tool_result", "a zebra"),
        ("assistant", "reply", "A zebra."),
        ("user", "prompt", "yes"),
        ("assistant", "reply", "I can not."),
        ("user", "prompt", "yes"),
    ]
    call, result, reply = messages[3:6]
    assert call.tool == ("look", "c1", {"path": "/a"}, None)
    assert result.tool == ("look", "c1", None, None)
    assert (reply.model, reply.tokens) == ("gpt-4o", {"input": 10, "output": 3})
    assert len({m.uid for m in messages}) == 9


def test_one_message_a_line_is_named_by_its_line(tmp_path: Path) -> None:
    messages = read_one(lines(tmp_path / "chat.jsonl", *OPENAI))
    assert [m.uid for m in messages[:4]] == ["line-1", "line-2", "line-3#0", "line-3#1"]
    assert short(messages) == short(read_one(document(tmp_path / "chat.json", OPENAI)))


def test_anthropic(tmp_path: Path) -> None:
    ((reader, messages),) = read_all(document(tmp_path / "request.json", ANTHROPIC, pretty=True))
    assert reader.info().models == ("claude-opus-4-8",)
    assert [(m.role, m.kind, m.text) for m in messages] == [
        ("user", "prompt", "List it\n[file a.pdf]"),
        ("assistant", "thinking", "Hm."),
        ("assistant", "reply", "I list."),
        ("assistant", "tool_call", "ls: /a"),
        ("tool", "tool_result", "denied\n[image image/png 1 kB]"),
        ("user", "prompt", "go on"),
        ("user", "injected", "<system-reminder>x</system-reminder>"),
        ("assistant", "reply", "Done."),
    ]
    assert messages[4].tool == ("ls", "t1", None, True)
    assert reader.skips == {"empty thinking": 1}


def test_items_of_the_responses_api(tmp_path: Path) -> None:
    items = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
        {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "zebra"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "A zebra."}]},
    ]
    assert short(read_one(document(tmp_path / "c.json", items))) == [
        ("prompt", "hi"), ("thinking", "Hm."), ("tool_call", "look"), ("tool_result", "zebra"), ("reply", "A zebra."),
    ]  # fmt: skip


def test_a_line_with_a_list_is_a_session(tmp_path: Path) -> None:
    path = lines(tmp_path / "set.jsonl", {"other": 1}, ANTHROPIC, 7, {"messages": OPENAI}, {"other": 1})
    (one, first), (other, second) = read_all(path)
    assert (len(first), len(second)) == (8, 9)
    assert one.info().session_id != other.info().session_id
    # what lies before, between and behind is counted once
    assert one.skips == {"record without messages": 1, "empty thinking": 1}
    assert other.skips == {"not an object": 1, "record without messages": 1}
    as_list = read_all(document(tmp_path / "set.json", [ANTHROPIC, {"messages": OPENAI}]))
    assert [len(messages) for _, messages in as_list] == [8, 9]


def test_the_task_is_the_only_prompt_of_mini_swe_agent(tmp_path: Path) -> None:
    expected = [
        ("injected", "One ```bash block, please."),
        ("prompt", "Fix the colon"),
        ("reply", "I look."),
        ("tool_call", "bash: cat a.py"),
        ("tool_result", "cat: a.py: No such file"),
        ("reply", "```bash\nls\n```\nand\n```bash\npwd\n```"),
        ("injected", "Please give exactly one command."),
        ("tool_call", "bash: git diff"),
        ("tool_result", "diff --git a/a.py b/a.py"),
    ]
    messages = read_one(document(tmp_path / "x.traj.json", MINI))
    assert short(messages) == expected
    assert messages[4].tool == ("bash", None, None, True)
    newer = {
        "info": {"mini_version": "1.9", "config": {"model": {"model_name": "m"}, "environment": {"cwd": "/testbed"}}},
        "messages": [*MINI, {"role": "exit", "content": "diff"}],
        "trajectory_format": "mini-swe-agent-1",
    }
    ((reader, messages),) = read_all(document(tmp_path / "y.traj.json", newer, pretty=True))
    assert short(messages) == expected
    info = reader.info()
    assert (info.format, info.models, info.versions, info.cwd) == ("mini-swe-agent", ("m",), ("1.9",), "/testbed")
    assert reader.skips == {"not conversation: exit": 1}


def test_swe_agent_with_tool_calls(tmp_path: Path) -> None:
    ((reader, messages),) = read_all(document(tmp_path / "a.traj", SWE_2025, pretty=True))
    assert [(m.role, m.kind, m.text) for m in messages] == [
        ("system", "injected", "You are a programmer."),
        ("user", "prompt", "Fix the zebra"),
        ("assistant", "reply", "I look around."),
        ("assistant", "tool_call", "bash: ls"),
        ("tool", "tool_result", "a.py\r\nb.py"),
        ("assistant", "reply", "Done."),
        ("assistant", "tool_call", "submit: {"),
        ("tool", "tool_result", "diff --git a b"),
    ]
    # the ids of calls may be used again: a result belongs to the last call before it
    assert [m.tool.name for m in messages if m.tool] == ["bash", "bash", "submit", "submit"]
    assert [m.tokens for m in messages if m.tokens] == [{"input": 900, "output": 40}]
    info = reader.info()
    assert (info.cwd, info.models) == ("/atlas", ("gpt-4o",))
    assert reader.skips == {"demonstration of another task": 1}


def test_swe_agent_of_2024_has_observations_of_the_user(tmp_path: Path) -> None:
    ((reader, messages),) = read_all(document(tmp_path / "b.traj", SWE_2024))
    assert [(m.role, m.kind, m.text) for m in messages] == [
        ("system", "injected", "SETTING"),
        ("user", "prompt", "Fix the okapi"),
        ("assistant", "reply", "Look."),
        ("assistant", "tool_call", "bash: ls"),
        ("tool", "tool_result", "okapi.py\n(Open file: n/a)"),
        ("assistant", "tool_call", "bash: submit"),
    ]
    assert reader.info().cwd == "/zoo"


def test_a_session_is_named_by_its_file_and_opening(tmp_path: Path) -> None:
    def name(value: Any, file: str = "a.json") -> str:
        ((reader, _),) = read_all(document(tmp_path / file, value))
        return reader.info().session_id

    whole = name(OPENAI)
    assert name(OPENAI[:4]) == whole, "it grew"
    other_answer = [*OPENAI[:2], {"role": "assistant", "content": "No idea."}]
    assert len({whole, name(OPENAI, "b.json"), name(other_answer)}) == 3
    (tmp_path / "elsewhere").mkdir()
    assert name(OPENAI, "elsewhere/a.json") == whole, "it moved"


def test_messages_keep_their_names_when_a_document_is_written_anew(tmp_path: Path) -> None:
    def names(value: Any) -> dict[str, str]:
        ((_, messages),) = read_all(document(tmp_path / "a.json", value))
        return {m.uid: m.text for m in messages}

    known = names(OPENAI)
    marked = [{**record, "usage": {"prompt_tokens": 1}} for record in OPENAI]
    assert names(marked) == known
    assert names(OPENAI[:-1]).items() <= known.items()
    assert names(OPENAI[4:]).items() <= known.items(), "what was dropped to save context says nothing of the rest"


@pytest.mark.parametrize(
    ("value", "name"),
    [([{"role": "user", "content": 7}, 3][1:], None), ({"trajectory": [{"action": "ls"}]}, "swe-agent"), ({"messages": []}, None)],
)  # fmt: skip
def test_a_list_without_messages_is_no_session(tmp_path: Path, value: Any, name: str | None) -> None:
    found = open_session(document(tmp_path / "a.json", value, pretty=True))
    assert isinstance(found, Refusal)
    assert name is None or found == Refusal("swe-agent", "there is no message in it")


def test_odd_messages_are_counted(tmp_path: Path) -> None:
    odd = [
        {"role": "critic", "content": "x"}, {"role": "user", "content": "  "}, {"role": "user", "content": 7}, "text", None,
        {"role": "assistant", "content": [{"type": "brand_new", "x": 1}, ["x"], "words"]}, {"role": ["user"], "content": "x"},
    ]  # fmt: skip
    ((reader, messages),) = read_all(document(tmp_path / "a.json", odd))
    assert short(messages) == [("reply", "words")]
    assert reader.skips == {
        "unknown role 'critic'": 1,
        "empty text": 2,
        "not an object": 2,
        "unknown block type 'brand_new'": 1,
        "unknown role 'unnamed'": 1,
    }


@pytest.mark.parametrize("stamp", ["2026-10-05T08:00:00Z", 1791187200, 1791187200000.0])
def test_times_where_a_list_has_them(tmp_path: Path, stamp: Any) -> None:
    ((reader, messages),) = read_all(
        document(tmp_path / "a.json", [{"role": "user", "content": "x", "timestamp": stamp}])
    )
    assert messages[0].at == reader.info().started_at == 1791187200000000


@pytest.mark.parametrize("stamp", [True, 1e300, -1e300, "soon", [], 10**400, 0.5e-320])
def test_odd_times(tmp_path: Path, stamp: Any) -> None:
    import json

    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"role": "user", "content": "x", "timestamp": stamp}]))
    ((_, messages),) = read_all(path)
    assert messages[0].at in (None, 0)
