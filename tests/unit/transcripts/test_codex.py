"""What each record of a Codex rollout becomes."""

from pathlib import Path

import orjson
import pytest
from tests.unit.transcripts.build import (
    SESSION,
    codex,
    event,
    item,
    kinds,
    meta,
    read,
    said,
    tokens,
    write,
)

CONTEXT = {"cwd": "/home/ana/atlas/web", "model": "gpt-5.3-codex", "timezone": "Europe/Lisbon"}


def test_a_session_reads_as_it_went_and_nothing_is_doubled(tmp_path: Path) -> None:
    path = write(
        tmp_path / f"rollout-2026-10-05T09-00-00-{SESSION}.jsonl",
        meta(),
        said("developer", "<permissions instructions>read only</permissions instructions>"),
        said("user", "# AGENTS.md instructions for /home/ana/atlas\n\nBe brief."),
        said("user", "<environment_context>\n  <cwd>/x</cwd>\n</environment_context>"),
        said("user", "Deploy it"),
        event("user_message", message="Deploy it", images=[]),
        codex("turn_context", CONTEXT),
        event("agent_reasoning", text="**Branch**"),
        item("reasoning", summary=[{"type": "summary_text", "text": "**Branch**"}], encrypted_content="gAAA"),
        item("function_call", name="shell_command", arguments='{"command":"make deploy"}', call_id="c1"),
        item("function_call_output", call_id="c1", output="Exit code: 2\nWall time: 1 seconds\nOutput:\ndenied\r\n"),
        event("agent_message", message="It failed."),
        said("assistant", "It failed."),
        event("task_complete", last_agent_message="It failed."),
    )
    session, messages = read(path)
    assert [(m.uid, m.role, m.kind) for m in messages] == [
        ("line-2", "system", "injected"),
        ("line-3", "user", "injected"),
        ("line-4", "user", "injected"),
        ("line-6", "user", "prompt"),
        ("line-9", "assistant", "thinking"),
        ("line-10", "assistant", "tool_call"),
        ("line-11", "tool", "tool_result"),
        ("line-13", "assistant", "reply"),
    ]
    made, returned = messages[5], messages[6]
    assert made.text == "shell_command: make deploy"
    assert made.tool == ("shell_command", "c1", {"command": "make deploy"}, None)
    assert returned.tool == ("shell_command", "c1", None, True)
    assert returned.text.endswith("denied\r\n")
    assert (made.model, made.zone, made.cwd, made.branch) == (
        "gpt-5.3-codex",
        "Europe/Lisbon",
        "/home/ana/atlas/web",
        "release",
    )
    assert (messages[0].zone, messages[0].cwd) == ("+00:00", "/home/ana/atlas")
    info = session.info()
    assert (info.session_id, info.parent_id, info.cwd, info.zone) == (SESSION, None, "/home/ana/atlas", "Europe/Lisbon")
    assert (info.models, info.versions) == (("gpt-5.3-codex",), ("0.104.0",))
    assert session.skips["copy of a prompt"] == 1


def test_without_prompt_events_the_items_are_the_prompts(tmp_path: Path) -> None:
    _, messages = read(
        write(
            tmp_path / "s.jsonl",
            meta(),
            said("user", "<user_instructions>Be brief.</user_instructions>"),
            said("user", "<environment_context></environment_context>"),
            said("user", "Deploy it"),
            said("user", "<turn_aborted>\n  reason\n</turn_aborted>"),
            said("user", "PLEASE IMPLEMENT THIS PLAN:\n# Plan"),
            said("assistant", "Deploying."),
            said("user", "and the docs"),
        )
    )
    # The last one may be an item whose event is being written.
    assert [m.kind for m in messages] == ["injected", "injected", "prompt", "interrupt", "injected", "reply"]


def test_without_items_the_events_are_the_replies(tmp_path: Path) -> None:
    _, messages = read(
        write(
            tmp_path / "s.jsonl",
            meta(),
            event("user_message", message="hi"),
            event("agent_reasoning", text="a greeting"),
            event("agent_message", message="hello"),
            item("reasoning", summary=[], encrypted_content="gAAA"),
            event("user_message", message="bye"),
            event("agent_message", message="goodbye"),
        )
    )
    # The last one may be an event whose item is being written.
    assert kinds(messages) == [("prompt", "hi"), ("thinking", "a greeting"), ("reply", "hello"), ("prompt", "bye")]


def test_034_shows_what_it_injects_and_wraps_what_it_runs(tmp_path: Path) -> None:
    wrapped = orjson.dumps({"output": "two\nlines", "metadata": {"exit_code": 1}}).decode()
    _, messages = read(
        write(
            tmp_path / "s.jsonl",
            meta(cli_version="0.34.0"),
            event("user_message", message="<environment_context/>", kind="environment_context"),
            event("user_message", message="continue", kind="plain"),
            said("user", "continue"),
            item("function_call", name="shell", arguments='{"command":["bash","-lc","ls | wc"]}', call_id="c1"),
            item("function_call_output", call_id="c1", output=wrapped),
            item("function_call_output", call_id="c1", output='{"output":"torn'),
            item("function_call_output", call_id="c1", output="failed in sandbox LinuxSeccomp: denied"),
        )
    )
    assert kinds(messages) == [
        ("prompt", "continue"),
        ("tool_call", "shell: ls | wc"),
        ("tool_result", "two\nlines"),
        ("tool_result", '{"output":"torn'),
        ("tool_result", "failed in sandbox LinuxSeccomp: denied"),
    ]
    assert [m.tool.is_error for m in messages[2:] if m.tool] == [True, None, True]
    assert {m.model for m in messages} == {None}


def test_all_kinds_of_calls_and_outputs(tmp_path: Path) -> None:
    data_url = "data:image/png;base64," + "QUJD" * 2000
    _, messages = read(
        write(
            tmp_path / "s.jsonl",
            meta(),
            item("custom_tool_call", name="apply_patch", input="*** Begin Patch", call_id="c1"),
            item("custom_tool_call_output", call_id="c1", output='{"output":"Success","metadata":{"exit_code":0}}'),
            item("web_search_call", action={"type": "search", "query": "fare api limit"}),
            item("local_shell_call", call_id="c2", action={"type": "exec", "command": ["ls", "-l"]}),
            item("function_call", name="view_image", arguments="{broken", call_id="c3"),
            item(
                "function_call_output",
                call_id="c3",
                output=[{"type": "input_text", "text": "seen"}, {"type": "input_image", "image_url": data_url}],
            ),
            item("function_call_output", call_id="c9", output={"content": "no", "success": False}),
        )
    )
    assert kinds(messages) == [
        ("tool_call", "apply_patch: *** Begin Patch"),
        ("tool_result", "Success"),
        ("tool_call", "web_search: fare api limit"),
        ("tool_call", "local_shell: ls -l"),
        ("tool_call", "view_image: {broken"),
        ("tool_result", "seen\n[image image/png 6 kB]"),
        ("tool_result", "no"),
    ]
    assert [m.tool.is_error for m in messages if m.tool and m.kind == "tool_result"] == [False, None, True]


def test_prompts_with_pictures(tmp_path: Path) -> None:
    url = "data:image/png;base64,QUJD"
    content = [{"type": "input_text", "text": "what is it?"}, {"type": "input_image", "image_url": url}]
    session, messages = read(
        write(
            tmp_path / "s.jsonl",
            meta(),
            item("message", role="user", content=content),
            event("user_message", message="what is it?", images=[url], local_images=["/tmp/a.png"]),
        )
    )
    assert kinds(messages) == [("prompt", "[image image/png 1 kB]\n[image /tmp/a.png]\nwhat is it?")]
    assert session.skips["copy of a prompt"] == 1


def test_interrupts_errors_and_compaction(tmp_path: Path) -> None:
    _, messages = read(
        write(
            tmp_path / "s.jsonl",
            meta(),
            event("user_message", message="go"),
            said("user", "<turn_aborted>stopped</turn_aborted>"),
            event("turn_aborted", reason="interrupted"),
            event("error", message="stream disconnected"),
            codex("compacted", {"message": "So far: go.", "replacement_history": [{"content": "go"}]}),
            codex("compacted", {"message": "", "replacement_history": []}),
            event("context_compacted"),
        )
    )
    assert kinds(messages) == [
        ("prompt", "go"),
        ("interrupt", "[turn aborted: interrupted]"),
        ("error", "stream disconnected"),
        ("summary", "So far: go."),
    ]


def test_turns_that_were_rolled_back_do_not_live(tmp_path: Path) -> None:
    _, messages = read(
        write(
            tmp_path / "s.jsonl",
            meta(),
            event("user_message", message="one"),
            said("assistant", "1"),
            event("user_message", message="two"),
            said("assistant", "2"),
            event("thread_rolled_back", num_turns=1),
            event("user_message", message="three"),
        )
    )
    assert [(m.text, m.live) for m in messages] == [
        ("one", True),
        ("1", True),
        ("two", False),
        ("2", False),
        ("three", True),
    ]


@pytest.mark.parametrize("counted_first", [True, False])
def test_tokens_are_summed_when_the_total_changed(tmp_path: Path, counted_first: bool) -> None:
    turns = []
    for number, (total, last) in enumerate(((100, 100), (250, 150)), 1):
        counts = [tokens(total, last, cached=40), tokens(total, last, cached=40)]
        call = item("function_call", name="shell", arguments="{}", call_id=f"c{number}")
        answer = [said("assistant", f"step {number}"), call]
        turns += counts + answer if counted_first else answer + counts
        turns.append(item("function_call_output", call_id=f"c{number}", output=""))
    empty = event("token_count", info=None)
    _, messages = read(write(tmp_path / "s.jsonl", meta(), event("user_message", message="go"), empty, *turns))
    counted = {m.text: m.tokens for m in messages if m.tokens}
    assert counted == {
        "step 1": {"input": 60, "output": 1, "cache_read": 40},
        "step 2": {"input": 110, "output": 1, "cache_read": 40},
    }


def test_a_subagent_gets_its_prompts_from_a_program(tmp_path: Path) -> None:
    source = {"subagent": {"thread_spawn": {"parent_thread_id": "p1", "depth": 1}}}
    session, messages = read(write(tmp_path / "s.jsonl", meta(source=source), event("user_message", message="look")))
    assert kinds(messages) == [("injected", "look")]
    assert session.info().parent_id == "p1"


def test_a_fork_keeps_its_own_id(tmp_path: Path) -> None:
    own = "99999999-2222-4333-8444-555555555555"
    path = write(
        tmp_path / f"rollout-2026-10-05T09-00-00-{own}.jsonl",
        meta(),
        meta(id=own, forked_from_id=SESSION),
        event("thread_name_updated", thread_name="Deploys"),
    )
    info = read(path)[0].info()
    assert (info.session_id, info.title) == (own, "Deploys")


def test_unknown_records_are_counted(tmp_path: Path) -> None:
    session, messages = read(
        write(
            tmp_path / "s.jsonl",
            meta(),
            codex("hologram", {"type": "x"}),
            event("confetti"),
            item("odour"),
            item("ghost_snapshot", ghost_commit={}),
            {"timestamp": "x", "type": "response_item", "payload": "text"},
        )
    )
    assert messages == []
    assert session.skips == {
        "not conversation: session_meta": 1,
        "unknown record type 'hologram'": 1,
        "unknown record type 'event_msg/confetti'": 1,
        "unknown record type 'response_item/odour'": 1,
        "not conversation: response_item/ghost_snapshot": 1,
        "unknown record type 'response_item'": 1,
    }
