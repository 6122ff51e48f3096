"""Recorded sessions: streamed in, safe to repeat, nothing said twice, and what was skipped is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.services.stage import Open

from amber.errors import BadInput, NotFound
from amber.memory import Memory
from amber.pipeline.importer import Imported, Progress

SESSION = "11111111-2222-4333-8444-555555555555"
#: Real sessions, where the shared data folder stands beside the repository.
RECORDED = Path(__file__).parents[3] / "shared" / "data" / "transcripts"
Line = dict[str, Any]


def claude(number: int, role: str = "user", content: Any = None, **more: Any) -> Line:
    """Make one record of Claude Code, the child of the one before."""
    message: Line = {"role": role, "content": f"message {number}" if content is None else content}
    if role == "assistant":
        content = message["content"]
        message["content"] = [{"type": "text", "text": content}] if isinstance(content, str) else content
        message |= {"id": f"m{number}", "model": "claude-opus-4-8", "usage": {"input_tokens": 3, "output_tokens": 5}}
    return {
        "parentUuid": f"u{number - 1}" if number else None,
        "isSidechain": False,
        "type": role,
        "uuid": f"u{number}",
        "timestamp": f"2026-10-05T{8 + number // 3600:02d}:{number // 60 % 60:02d}:{number % 60:02d}.250Z",
        "sessionId": SESSION,
        "cwd": "/home/ana/atlas",
        "version": "2.1.214",
        "message": message,
        **more,
    }


def claude_session(count: int) -> list[Line]:
    return [claude(number, "assistant" if number % 2 else "user") for number in range(count)]


def write(path: Path, *lines: Line | bytes) -> Path:
    path.write_bytes(b"".join((line if isinstance(line, bytes) else orjson.dumps(line)) + b"\n" for line in lines))
    return path


def take(memory: Memory, *paths: Path, **more: Any) -> list[Imported]:
    return list(memory.import_sessions(paths, **more))


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return write(tmp_path / "session.jsonl", *claude_session(450))


def test_messages_come_in_with_all_that_is_known(memory: Memory, tmp_path: Path) -> None:
    call = [{"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "ls"}}]
    result = [{"type": "tool_result", "tool_use_id": "c1", "content": "a.txt"}]
    lines = (
        claude(0, content="list the zebras"), claude(1, "assistant", call), claude(2, content=result, toolUseResult={}),
        claude(3, "assistant", "there is one zebra"),
    )  # fmt: skip
    path = write(tmp_path / "s.jsonl", *lines)
    (done,) = take(memory, path, sender="ana", project="zoo")
    assert (done.status, done.session, done.format, done.messages, done.skipped) == (
        "imported",
        SESSION,
        "claude",
        4,
        {},
    )
    prompt, called, answered, reply = memory.sessions.iter_messages(SESSION)
    assert [each.seq for each in (prompt, called, answered, reply)] == [0, 1, 2, 3]
    assert [each.kind for each in (prompt, called, answered, reply)] == ["prompt", "tool_call", "tool_result", "reply"]
    assert [each.sender for each in (prompt, called, answered, reply)] == ["ana", None, None, None]
    assert {each.project for each in (prompt, called, answered, reply)} == {"zoo"}
    assert (prompt.text, prompt.role, prompt.to_dict()["at"], prompt.zone) == (
        "list the zebras", "user", "2026-10-05T08:00:00.250000+00:00", "+00:00",
    )  # fmt: skip
    assert (called.tool["name"], called.tool["arguments"], answered.tool["call_id"]) == (
        "Bash",
        {"command": "ls"},
        "c1",
    )
    assert (reply.model, reply.tokens["output"]) == ("claude-opus-4-8", 5)
    session = memory.sessions.get(SESSION)
    assert (session.messages, session.prompts, session.project, session.sender) == (4, 1, "zoo", "ana")
    assert session.tokens["output"] == 10
    assert [each.id for each in memory.sessions.page(project="zoo")] == [SESSION]
    assert memory.sessions.page(project="zo") == []
    hits = memory.recall("zebra")
    assert {hit.item.kind for hit in hits} == {"prompt", "reply"}
    assert all("[zebra" in hit.snippet for hit in hits)
    assert [hit.text for hit in memory.recall("zebra", sender="ana")] == ["list the zebras"]
    assert [hit.text for hit in memory.recall("zebra", type="reply")] == ["there is one zebra"]
    assert memory.recall("zebra", session="other") == memory.recall("zebra", kinds=("fact",)) == []


def test_a_second_time_changes_nothing(memory: Memory, recording: Path) -> None:
    (first,) = take(memory, recording)
    position = memory.history.position()
    (second,) = take(memory, recording)
    recording.touch()
    (third,) = take(memory, recording)
    copied = recording.with_name("copy.jsonl")
    copied.write_bytes(recording.read_bytes())
    (fourth,) = take(memory, copied)
    assert [each.status for each in (first, second, third, fourth)] == ["imported"] + ["unchanged"] * 3
    assert (first.messages, second.messages, third.messages) == (450, 0, 0)
    # a file of another time or place is remembered as the one that was read last, and nothing else
    assert memory.history.position() <= position + 2
    assert len(list(memory.sessions.iter_messages(SESSION))) == 450


def test_only_what_is_new_is_added(memory: Memory, tmp_path: Path) -> None:
    lines = claude_session(30)
    path = write(tmp_path / "s.jsonl", *lines[:10])
    take(memory, path, sender="ana", project="first")
    write(path, *lines)
    (done,) = take(memory, path, sender="ben", project="second")
    assert (done.status, done.messages) == ("imported", 20)
    found = list(memory.sessions.iter_messages(SESSION))
    assert [message.seq for message in found] == [*range(30)]
    assert {message.project for message in found} == {"first"}
    assert {message.sender for message in found if message.kind == "prompt"} == {"ana"}


def test_an_edited_prompt_is_marked_and_not_shown(memory: Memory, tmp_path: Path) -> None:
    lines = [claude(0), claude(1, "assistant"), claude(2, content="the wrong giraffe"), claude(3, "assistant")]
    path = write(tmp_path / "s.jsonl", *lines)
    take(memory, path)
    assert len(memory.recall("giraffe")) == 1
    edited = claude(4, content="the right okapi", parentUuid="u1")
    write(path, *lines, edited, claude(5, "assistant"))
    (done,) = take(memory, path)
    assert (done.messages, done.changed) == (2, 2)
    shown = [message.text for message in memory.sessions.iter_messages(SESSION)]
    assert shown == ["message 0", "message 1", "the right okapi", "message 5"]
    hidden = [message for message in memory.sessions.iter_messages(SESSION, retracted=True) if not message.live]
    assert [message.text for message in hidden] == ["the wrong giraffe", "message 3"]
    assert memory.recall("giraffe") == []
    assert memory.sessions.get(SESSION).prompts == 2
    fresh = Memory.open("memory:")
    take(fresh, path)
    assert [message.text for message in fresh.sessions.iter_messages(SESSION)] == shown
    assert fresh.sessions.get(SESSION).tokens == memory.sessions.get(SESSION).tokens
    fresh.close()


def test_what_can_not_be_read_is_said(memory: Memory, tmp_path: Path) -> None:
    write(tmp_path / "good.jsonl", *claude_session(3), b"{not json", b"[]", claude(3), b'{"torn": ')
    (tmp_path / "empty.jsonl").write_bytes(b"")
    (tmp_path / "noise.jsonl").write_bytes(b"hello\nworld\n")
    done = {Path(each.path).name: each for each in memory.import_sessions(tmp_path)}
    assert (done["good.jsonl"].status, done["good.jsonl"].messages) == ("imported", 4)
    assert sum(done["good.jsonl"].skipped.values()) >= 2
    for name in ("empty.jsonl", "noise.jsonl"):
        assert (done[name].status, done[name].messages) == ("refused", 0)
        assert done[name].reason
    with pytest.raises(NotFound):
        memory.sessions.get("nobody")
    assert memory.sessions.messages("nobody") == []


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"k": value}
    return value


def test_a_fork_brings_only_what_is_new(memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    get_many = memory._store.get_many
    monkeypatch.setattr(
        memory._store,
        "get_many",
        lambda *given: asked.append(len(given[2])) or get_many(*given),  # type: ignore[func-returns-value]
    )
    first = write(tmp_path / "first.jsonl", *claude_session(450))
    fork = "99999999-2222-4333-8444-555555555555"
    grown = write(tmp_path / "fork.jsonl", *[{**line, "sessionId": fork} for line in claude_session(650)])
    assert [done.messages for done in take(memory, first)] == [450]
    # nothing of a new session is looked for
    assert asked == []
    assert [(done.status, done.messages) for done in take(memory, grown)] == [("imported", 200)]
    assert [message.seq for message in memory.sessions.iter_messages(fork)] == [*range(200)]
    assert memory.sessions.get(fork).messages == 200
    assert len(list(memory.sessions.iter_messages(SESSION))) == 450
    assert [done.status for done in take(memory, first, grown)] == ["unchanged", "unchanged"]
    # one that was cut short, in its last commit of 50, is completed
    memory.history.undo(last=1, session=fork)
    assert [done.messages for done in take(memory, grown)] == [50]
    assert memory.verify() == []


@pytest.mark.parametrize("odd", ["large", "deep"])
def test_one_message_that_can_not_be_stored_costs_no_other(memory: Memory, tmp_path: Path, odd: str) -> None:
    content: Any = "x" * (9 * 1024 * 1024)
    if odd == "deep":
        content = [{"type": "tool_use", "id": "c", "name": "T", "input": nested(150)}]
    lines = [*claude_session(6), claude(6, "user" if odd == "large" else "assistant", content), claude(7, "assistant")]
    path = write(tmp_path / "s.jsonl", *lines)
    other = write(tmp_path / "t.jsonl", claude(0, sessionId="99999999-2222-4333-8444-555555555555", uuid="v0"))
    first, second = take(memory, path, other)
    assert (first.status, first.messages) == ("imported", 7)
    assert [number for reason, number in first.skipped.items() if "over a bound" in reason] == [1]
    assert (second.status, second.messages) == ("imported", 1)
    assert [each.status for each in take(memory, path, other)] == ["unchanged", "unchanged"]
    assert [message.seq for message in memory.sessions.iter_messages(SESSION)] == [*range(7)]


@pytest.mark.parametrize(
    "odd",
    [{"cwd": "/" + "x" * 600}, {"cwd": "/a/" * 300}, {"cwd": "/a\0b"}, {"cwd": "\ud800"}, {"sessionId": "s" * 600}, {"sessionId": "a\0b"},
     {"uuid": "u" * 600}, {"uuid": ""}, {"cwd": ""}, {"cwd": 7}, {"timestamp": "0001-01-01T00:00:00Z"}, {"timestamp": "9999-12-31T23:59:59Z"}, {"sessionId": 7}],
)  # fmt: skip
def test_one_odd_file_costs_no_other(memory: Memory, tmp_path: Path, odd: Line) -> None:
    lines = [claude(number, **odd) for number in range(3)]
    raw = [json.dumps(line).encode() for line in lines]
    write(tmp_path / "odd.jsonl", *raw)
    write(tmp_path / "plain.jsonl", claude(0, sessionId="99999999-2222-4333-8444-555555555555", uuid="v0"))
    done = {Path(each.path).name: each for each in memory.import_sessions(tmp_path)}
    assert (done["plain.jsonl"].status, done["plain.jsonl"].messages) == ("imported", 1)
    odd_one = done["odd.jsonl"]
    assert odd_one.status == "imported" or odd_one.reason or odd_one.skipped, odd_one


def test_awkward_text_comes_back(memory: Memory, tmp_path: Path) -> None:
    text = "nul \0, <|endoftext|>, \u2028, \u202e, {x} {{y}}, 🦓 end"
    take(
        memory, write(tmp_path / "s.jsonl", claude(0, content=text), b'{"type":"user","message":{"content":"\\ud800"}}')
    )
    assert [message.text for message in memory.sessions.messages(SESSION)] == [text, "\ufffd"]
    assert memory.recall("endoftext")[0].text == text


def test_bad_arguments_are_refused_before_anything_is_read(memory: Memory, recording: Path) -> None:
    for given, more in (
        ([recording, recording / "nothing"], {}), ([recording], {"sender": ""}), ([recording], {"project": "a//b"}),
        ([recording], {"sender": None}), (["/nowhere"], {}), ([recording], {"project": ""}),
    ):  # fmt: skip
        with pytest.raises(BadInput):
            memory.import_sessions(given, **more)
    assert memory.history.position() == 0
    assert take(memory) == []


def test_progress_is_told(memory: Memory, recording: Path) -> None:
    told: list[Progress] = []
    (done,) = memory.import_sessions(str(recording), on_progress=told.append)
    assert len(told) >= 3
    assert [each.done for each in told] == sorted(each.done for each in told)
    assert {each.path for each in told} == {str(recording)}
    assert done.bytes == recording.stat().st_size


def test_an_import_can_be_taken_back_and_forth(memory: Memory, recording: Path) -> None:
    take(memory, recording)
    length = memory.history.position()
    for _ in range(2):
        memory.history.undo(last=length)
        assert [*memory.recall("message"), *memory.sessions.page(), *memory.sessions.messages(SESSION)] == []
        memory.history.redo()
        assert len(memory.recall("message")) == 10
        assert len(list(memory.sessions.iter_messages(SESSION))) == 450
    memory.history.undo(after=0)
    (again,) = take(memory, recording)
    assert (again.status, again.messages) == ("imported", 450)
    with pytest.raises(BadInput):
        memory.sessions.get("")


def test_messages_in_pieces(memory: Memory, recording: Path) -> None:
    take(memory, recording)
    assert [message.seq for message in memory.sessions.messages(SESSION, after=100, limit=3)] == [101, 102, 103]
    assert memory.sessions.messages(SESSION, after=449) == memory.sessions.messages(SESSION, after=2**63 - 1) == []
    for wrong in (-2, "1", None, 1.5, 2**64):
        with pytest.raises(BadInput):
            memory.sessions.messages(SESSION, after=wrong)  # type: ignore[arg-type]
    view = memory.at(1)
    assert len(list(view.sessions.iter_messages(SESSION))) == 200
    assert view.sessions.get(SESSION).messages == 200


def test_sessions_in_pages(memory: Memory, tmp_path: Path) -> None:
    for number in range(5):
        name = f"{number}0000000-2222-4333-8444-555555555555"
        write(tmp_path / f"{number}.jsonl", claude(number, sessionId=name, uuid=f"s{number}", parentUuid=None))
    assert len(list(memory.import_sessions(tmp_path))) == 5
    found = memory.sessions.page(limit=2)
    while more := memory.sessions.page(limit=2, before=found[-1]):
        found += more
    assert [session.id[0] for session in found] == ["4", "3", "2", "1", "0"]
    assert [session.id for session in memory.sessions.page(project="home/ana")] == [session.id for session in found]


def test_spaces_take_one_recording_each(open_memory: Open, recording: Path) -> None:
    one, other = open_memory("one"), open_memory("other")
    assert [take(each, recording)[0].messages for each in (one, other)] == [450, 450]
    one.history.undo(after=0)
    assert len(list(other.sessions.iter_messages(SESSION))) == 450


if RECORDED.is_dir():

    @pytest.mark.parametrize("folder", ["claude", "codex"])
    def test_recorded_sessions(memory: Memory, folder: str) -> None:
        done = take(memory, RECORDED / folder)
        assert "imported" in {each.status for each in done}
        assert "failed" not in {each.status for each in done}
        for session in memory.sessions.page():
            found = list(memory.sessions.iter_messages(session.id, retracted=True))
            assert [message.seq for message in found] == [*range(session.messages)]
            assert sum(message.kind == "prompt" and message.live for message in found) == session.prompts
        assert {each.status for each in take(memory, RECORDED / folder)} <= {"unchanged", "refused"}


def test_the_same_session_in_another_place_is_no_news(memory: Memory, recording: Path, tmp_path: Path) -> None:
    memory.import_sessions(recording)
    before = memory.history.position()
    other = tmp_path / "elsewhere"
    other.mkdir()
    copied = other / recording.name
    copied.write_bytes(recording.read_bytes())
    for path in (copied, recording, copied):
        assert [each.status for each in memory.import_sessions(path)] == ["unchanged"]
    assert memory.history.position() == before
