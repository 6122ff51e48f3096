"""What each record of Claude Code becomes."""

from pathlib import Path
from typing import Any

import pytest
from tests.unit.transcripts.build import SESSION, Claude, call, kinds, read, text, write

from amber.pipeline.transcripts import MAX_RESULT

PLAN = "Implement the following plan:\n\n# Plan: one lock per job"


def test_a_session_reads_as_it_went(tmp_path: Path) -> None:
    c = Claude()
    path = write(
        tmp_path / f"{SESSION}.jsonl",
        c.user("Why did the job run twice?"),
        c.answer({"type": "thinking", "thinking": "Two workers.", "signature": "s"}),
        c.answer(call("Bash", "t1", command="psql atlas")),
        c.result("t1", "2 rows"),
        c.answer(text("Two workers took it."), answer="msg_2"),
    )
    session, messages = read(path)
    assert [(m.uid, m.role, m.kind, m.text, m.line) for m in messages] == [
        ("u1", "user", "prompt", "Why did the job run twice?", 1),
        ("u2", "assistant", "thinking", "Two workers.", 2),
        ("u3", "assistant", "tool_call", "Bash: psql atlas", 3),
        ("u4", "tool", "tool_result", "2 rows", 4),
        ("u5", "assistant", "reply", "Two workers took it.", 5),
    ]
    assert not session.skips
    assert {(m.zone, m.cwd, m.branch, m.live) for m in messages} == {("+00:00", "/home/ana/atlas", "main", True)}
    assert messages[0].at == 1_791_187_201_250_000
    assert [m.model for m in messages] == [None, "claude-opus-4-8", "claude-opus-4-8", None, "claude-opus-4-8"]
    made, returned = messages[2].tool, messages[3].tool
    assert made is not None
    assert returned is not None
    assert (made.name, made.call_id, made.arguments, made.is_error) == ("Bash", "t1", {"command": "psql atlas"}, None)
    assert (returned.name, returned.call_id, returned.arguments, returned.is_error) == ("Bash", "t1", None, False)


@pytest.mark.parametrize(
    ("content", "fields", "kind", "shown"),
    [
        ("yes", {}, "prompt", "yes"),
        (".", {"origin": {"kind": "human"}, "promptSource": "typed"}, "prompt", "."),
        ("Please continue from where you left off.", {}, "prompt", "Please continue from where you left off."),
        ("A <system-reminder> in the middle", {}, "prompt", "A <system-reminder> in the middle"),
        ("Stop hook feedback:\n[stop.sh]: commit first", {"isMeta": True}, "injected", None),
        ("Base directory for this skill: /x", {"isMeta": True}, "injected", None),
        ("<system-reminder>be brief</system-reminder>", {}, "injected", None),
        ("<task-notification>\n<task-id>a1</task-id>", {}, "injected", None),
        ("A report", {"origin": {"kind": "task-notification"}}, "injected", None),
        ("Wake up", {"promptSource": "system"}, "injected", None),
        (PLAN, {}, "injected", PLAN),
        ("Do the plan", {"planContent": "# Plan"}, "injected", None),
        ("Find the lock", {"isSidechain": True, "agentId": "a1"}, "injected", None),
        ("[Request interrupted by user for tool use]", {}, "interrupt", None),
        ("[Request interrupted by user]", {"interruptedMessageId": "m"}, "interrupt", None),
        (
            "This session is being continued from a previous conversation that ...",
            {"isCompactSummary": True},
            "summary",
            None,
        ),
        (
            "<command-name>/model</command-name>\n  <command-message>model</command-message>\n  <command-args>opus</command-args>",
            {},
            "command",
            "/model opus",
        ),
        ("<command-message>ship</command-message>\n<command-name>/ship</command-name>", {}, "command", "/ship"),
        (
            "<local-command-stdout>Set model to \x1b[1mopus\x1b[22m</local-command-stdout>",
            {},
            "command",
            "Set model to opus",
        ),
        ("<local-command-caveat>Caveat: ...</local-command-caveat>", {"isMeta": True}, "injected", None),
        ("<bash-input>ls</bash-input>", {}, "command", "! ls"),
        ("<bash-stdout>a.txt</bash-stdout><bash-stderr></bash-stderr>", {}, "command", "a.txt"),
        ("Unknown skill: mode", {}, "command", "Unknown skill: mode"),
    ],
)
@pytest.mark.parametrize("as_blocks", [False, True])
def test_who_wrote_a_user_record(
    tmp_path: Path, content: str, fields: dict[str, Any], kind: str, shown: str | None, as_blocks: bool
) -> None:
    record = Claude().user([text(content)] if as_blocks else content, **fields)
    _, messages = read(write(tmp_path / "s.jsonl", record))
    assert kinds(messages) == [(kind, content if shown is None else shown)]


def test_empty_command_output_is_no_message(tmp_path: Path) -> None:
    c = Claude()
    session, messages = read(
        write(
            tmp_path / "s.jsonl",
            c.user("<local-command-stdout></local-command-stdout>"),
            c.record("system", subtype="local_command", content="<local-command-stdout>Bye</local-command-stdout>"),
        )
    )
    assert kinds(messages) == [("command", "Bye")]
    assert session.skips == {"empty command output": 1}


def test_a_picture_and_its_words_are_one_prompt(tmp_path: Path) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD" * 10_000}}
    note = text("<ide_opened_file>The user opened README.md</ide_opened_file>")
    _, messages = read(write(tmp_path / "s.jsonl", Claude().user([note, image, text("what is this?")])))
    assert [(m.uid, m.kind) for m in messages] == [("u1#0", "injected"), ("u1#1", "prompt")]
    assert messages[1].text == "[image image/png 30 kB]\nwhat is this?"


def test_words_given_with_a_result_are_a_prompt(tmp_path: Path) -> None:
    c = Claude()
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "edited"}
    loaded = {"type": "tool_result", "tool_use_id": "t2", "content": [{"type": "tool_reference", "tool_name": "Bash"}]}
    _, messages = read(
        write(
            tmp_path / "s.jsonl",
            c.user([result, text("but use sub-bullets")], toolUseResult={}),
            c.user([loaded, text("Tool loaded.")], toolUseResult={}),
        )
    )
    assert kinds(messages) == [
        ("tool_result", "edited"),
        ("prompt", "but use sub-bullets"),
        ("tool_result", "[tool Bash]"),
        ("injected", "Tool loaded."),
    ]


def test_what_a_person_says_when_refusing_is_a_prompt(tmp_path: Path) -> None:
    c = Claude()
    notice = "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:"
    block = {"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": f"{notice}\nnever use mocks"}
    _, messages = read(write(tmp_path / "s.jsonl", c.user([block], toolUseResult="Error: rejected")))
    assert kinds(messages) == [("tool_result", notice), ("prompt", "never use mocks")]
    assert messages[0].tool is not None
    assert messages[0].tool.is_error is True


def test_results_come_as_text_or_blocks_and_huge_ones_are_cut(tmp_path: Path) -> None:
    c = Claude()
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "QUJD"}}
    _, messages = read(
        write(
            tmp_path / "s.jsonl",
            c.result("t1", [text("one"), image, text("two")]),
            c.result("t2", None, toolUseResult="plain"),
            c.result("t3", "x" * (MAX_RESULT + 7)),
            c.result("t4", "y" * MAX_RESULT),
        )
    )
    assert [m.text for m in messages[:2]] == ["one\n[image image/jpeg 1 kB]\ntwo", ""]
    assert messages[2].text == "x" * MAX_RESULT + "\n[7 characters left out]"
    assert messages[3].text == "y" * MAX_RESULT


def test_text_is_kept_but_for_terminal_escapes(tmp_path: Path) -> None:
    odd = "a\u2028b\u2029c\x85d\x0ce\x00f\r\ng 京都 ção"
    c = Claude()
    _, messages = read(
        write(
            tmp_path / "s.jsonl",
            c.result("t1", f"\x1b[31m{odd}\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x1b\\"),
            c.user(odd),
        )
    )
    assert [m.text for m in messages] == [f"{odd} link", odd]


def test_an_api_error_is_no_reply_of_a_model(tmp_path: Path) -> None:
    c = Claude()
    failed = c.answer(text("API Error: 401"), isApiErrorMessage=True)
    failed["message"]["model"] = "<synthetic>"
    session, messages = read(write(tmp_path / "s.jsonl", c.user("hi"), failed))
    assert [(m.kind, m.model, m.tokens) for m in messages] == [("prompt", None, None), ("error", None, None)]
    assert session.info().models == ()


def test_tokens_are_counted_once_per_answer(tmp_path: Path) -> None:
    c = Claude()
    early = {"input_tokens": 3, "output_tokens": 1, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 4}
    late = early | {"output_tokens": 250}
    silent = {"type": "thinking", "thinking": "", "signature": "s"}
    session, messages = read(
        write(
            tmp_path / "s.jsonl",
            c.user("go"),
            c.answer(silent, usage=early),
            c.answer(text("Looking."), usage=early),
            c.answer(call("Bash", "t1", command="ls"), usage=late),
            c.answer(text("   "), answer="msg_2", usage={"input_tokens": 1, "output_tokens": 2}),
            c.answer(text("Done."), answer="msg_3", usage={"input_tokens": 10, "output_tokens": 20}),
        )
    )
    assert [m.tokens for m in messages] == [
        None,
        {"input": 3, "output": 250, "cache_read": 90, "cache_write": 4},
        None,
        {"input": 11, "output": 22},
    ]
    assert session.skips == {"empty thinking": 1, "empty text": 1}


def test_records_without_conversation_are_counted_by_name(tmp_path: Path) -> None:
    c = Claude()
    nested = {"type": "agent_progress", "message": {"type": "user", "message": {"content": "copied"}}}
    session, messages = read(
        write(
            tmp_path / "s.jsonl",
            {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}},
            {"type": "mode", "mode": "normal", "sessionId": SESSION},
            c.record("progress", data=nested),
            c.record("attachment", attachment={"type": "task_reminder"}),
            c.record("system", subtype="api_error", error={"headers": {"cookie": "c"}}),
            c.record("system", subtype="away_summary", content="Goal: the lock."),
            c.record("hologram", message={"content": "?"}),
            c.record("what the user said", message={}),
            c.user([{"type": "smell"}]),
        )
    )
    assert kinds(messages) == [("summary", "Goal: the lock.")]
    assert messages[0].role == "system"
    assert session.skips == {
        "not conversation: file-history-snapshot": 1,
        "not conversation: mode": 1,
        "not conversation: progress/agent_progress": 1,
        "not conversation: attachment/task_reminder": 1,
        "not conversation: system/api_error": 1,
        "unknown record type 'hologram'": 1,
        "unknown record type 'unnamed'": 1,
        "unknown block type 'smell'": 1,
    }


def test_a_resumed_session_that_writes_its_end_again_is_not_doubled(tmp_path: Path) -> None:
    c = Claude()
    asked = c.user([text("<ide_opened_file>x</ide_opened_file>"), text("what is it?")])
    answered = c.answer(text("A robot."))
    c.tip = None
    same = {"timestamp": asked["timestamp"]}
    session, messages = read(
        write(
            tmp_path / "s.jsonl",
            asked,
            answered,
            c.user([text("<ide_opened_file>x</ide_opened_file>")], **same),
            c.user([text("what is it?")], **same),
            c.answer(text("A robot."), timestamp=answered["timestamp"]),
            answered,
            c.user("thanks"),
        )
    )
    assert [text for _, text in kinds(messages)][1:] == ["what is it?", "A robot.", "thanks"]
    assert all(message.live for message in messages)
    assert session.skips == {"copy of an earlier record": 4}


def test_info_of_a_session(tmp_path: Path) -> None:
    c = Claude()
    before = c.user([text("[Request interrupted by user]")], sessionId="old", cwd="/elsewhere", parentUuid="gone")
    c.tip = None
    path = write(
        tmp_path / f"{SESSION}.jsonl",
        {"type": "summary", "summary": "Another session", "leafUuid": "not-here"},
        before,
        c.user("hello"),
        c.answer(text("hi"), cwd="/home/ana/atlas/web"),
        c.answer(text("ho"), answer="msg_2", version="2.1.215"),
        {"type": "ai-title", "aiTitle": "First title", "sessionId": SESSION},
        {"type": "ai-title", "aiTitle": "Locks", "sessionId": SESSION},
    )
    info = read(path)[0].info()
    assert info == (
        "claude",
        SESSION,
        None,
        None,
        "/home/ana/atlas",
        "Locks",
        ("claude-opus-4-8",),
        ("2.1.214", "2.1.215"),
        1_791_187_201_250_000,
        1_791_187_204_250_000,
        "+00:00",
        str(path),
    )
    assert read(path.rename(tmp_path / "copy.jsonl"))[0].info().session_id == SESSION


def test_summary_is_a_title_only_of_its_own_session(tmp_path: Path) -> None:
    c = Claude()
    lines = [c.user("hello"), {"type": "summary", "summary": "Greeting", "leafUuid": "u1"}]
    assert read(write(tmp_path / "a.jsonl", *lines))[0].info().title == "Greeting"
    lines[1] = lines[1] | {"leafUuid": "elsewhere"}
    assert read(write(tmp_path / "b.jsonl", *lines))[0].info().title is None


def test_a_subagent_has_an_id_of_its_own(tmp_path: Path) -> None:
    c = Claude(isSidechain=True, agentId="b7e42d10")
    info = read(write(tmp_path / "agent-b7e42d10.jsonl", c.user("Find the lock"), c.answer(text("There"))))[0].info()
    assert (info.session_id, info.parent_id, info.agent_id) == (f"{SESSION}/b7e42d10", SESSION, "b7e42d10")
