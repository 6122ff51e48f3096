"""Texts typed while the agent was busy: once each, whichever way they are recorded."""

from pathlib import Path
from typing import Any

from tests.unit.transcripts.build import SESSION, Claude, Record, read, text, write


def queue(operation: str, **fields: Any) -> Record:
    return {"type": "queue-operation", "operation": operation, "sessionId": SESSION, **fields}


def prompts(path: Path) -> list[tuple[str, bool, str]]:
    return [(m.text, m.live, m.uid) for m in read(path)[1] if m.kind == "prompt"]


def command(c: Claude, words: str, **fields: Any) -> Record:
    return c.record("attachment", attachment={"type": "queued_command", "prompt": words, **fields})


def test_it_comes_again_as_a_user_record(tmp_path: Path) -> None:
    c = Claude()
    lines = [queue("enqueue", content="and then?"), queue("dequeue"), c.user("and then?"), c.answer(text("ok"))]
    session, _ = read(write(tmp_path / "s.jsonl", *lines))
    assert prompts(session.path) == [("and then?", True, "u1")]
    assert session.skips == {"copy of a queued prompt": 1, "not conversation: queue-operation": 1}


def test_it_comes_again_as_an_attachment_and_as_a_record(tmp_path: Path) -> None:
    c = Claude()
    lines = [
        queue("enqueue", content="stop"),
        queue("remove"),
        command(c, "stop", commandMode="prompt"),
        c.user("stop", promptSource="queued"),
        c.answer(text("stopped")),
        c.user("stop"),
    ]
    assert prompts(write(tmp_path / "s.jsonl", *lines)) == [("stop", True, "u1"), ("stop", True, "u4")]


def test_an_attachment_alone_is_a_prompt_unless_a_program_queued_it(tmp_path: Path) -> None:
    c = Claude()
    lines = [
        command(c, "also in Portuguese"),
        c.record("attachment", attachment={"type": "queued_command", "prompt": [text("two"), text("blocks")]}),
        command(c, "agent done", commandMode="task-notification"),
        command(c, "<task-notification>x</task-notification>"),
    ]
    assert prompts(write(tmp_path / "s.jsonl", *lines)) == [
        ("also in Portuguese", True, "u1"),
        ("two\nblocks", True, "u2"),
    ]


def test_it_was_taken_in_and_stands_nowhere_else(tmp_path: Path) -> None:
    c = Claude()
    lines = [c.user("go"), queue("enqueue", content="stop"), queue("remove"), c.answer(text("Stopping."))]
    assert prompts(write(tmp_path / "s.jsonl", *lines)) == [("go", True, "u1"), ("stop", True, "line-2")]


def test_until_the_agent_goes_on_its_copy_may_still_come(tmp_path: Path) -> None:
    c = Claude()
    session, messages = read(
        write(tmp_path / "s.jsonl", c.user("go"), queue("enqueue", content="stop"), queue("remove"))
    )
    assert len(messages) == 1
    assert session.skips["queued prompt, not sent yet"] == 1


def test_it_was_taken_back_to_the_input_line(tmp_path: Path) -> None:
    c = Claude()
    lines = [
        c.user("go"),
        queue("enqueue", content="is it done?"),
        queue("enqueue", content="??"),
        queue("popAll", content="is it done?"),
        queue("popAll", content="??"),
        c.user("??"),
    ]
    assert prompts(write(tmp_path / "s.jsonl", *lines)) == [
        ("go", True, "u1"),
        ("is it done?", False, "line-2"),
        ("??", True, "u2"),
    ]


def test_reports_of_background_tasks_are_no_prompts(tmp_path: Path) -> None:
    c = Claude()
    lines = [
        c.user("go"),
        queue("enqueue", content='{"task_id":"b1","status":"completed"}'),
        queue("enqueue", content="<task-notification>done</task-notification>"),
        queue("remove"),
        queue("remove"),
        c.answer(text("ok")),
    ]
    assert prompts(write(tmp_path / "s.jsonl", *lines)) == [("go", True, "u1")]
