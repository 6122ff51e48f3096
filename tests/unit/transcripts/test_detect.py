"""Which files are sessions, and what is said of the others."""

import os
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.unit.transcripts.build import SESSION, Claude, meta, write

from amber.pipeline.transcripts import Reader, Refusal, detect, discover, open_session

CLAUDE_FIRST: list[Any] = [
    {"type": "mode", "mode": "normal", "sessionId": SESSION},
    {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}},
    {"type": "summary", "summary": "x", "leafUuid": "u"},
    {"type": "queue-operation", "operation": "dequeue", "sessionId": SESSION},
    Claude().user("hello"),
    Claude().record("brand-new-type"),
]


@pytest.mark.parametrize("first", CLAUDE_FIRST)
def test_claude_whatever_comes_first(tmp_path: Path, first: Any) -> None:
    assert detect(write(tmp_path / "s.jsonl", "// Source: a gist", "", first)) == "claude"


def test_codex_by_its_payload_not_by_its_name(tmp_path: Path) -> None:
    assert detect(write(tmp_path / "anything.txt", meta())) == "codex"


OTHERS: list[tuple[str, Any, str | None]] = [
    ("history.jsonl", {"session_id": "s", "ts": 1, "text": "hi"}, "Codex prompt history"),
    (
        "history.jsonl",
        {"display": "hi", "pastedContents": {}, "timestamp": 1, "project": "/x"},
        "Claude Code prompt history",
    ),
    ("s.jsonl", {"type": "session", "id": "1", "timestamp": "x", "cwd": "/x"}, "pi session"),
    ("o.jsonl", {"instance_id": "i", "instruction": "x", "history": []}, "OpenHands evaluation"),
    ("r.jsonl", {"id": "i", "timestamp": "x", "instructions": None, "git": {}}, "old Codex rollout"),
    ("c.jsonl", {"uuid": "u", "name": "n", "chat_messages": []}, "Claude.ai export"),
    ("g.jsonl", {"conversations": [{"from": "human", "value": "hi"}]}, "ShareGPT list"),
    ("x.jsonl", {"some": "thing"}, None),
    ("messages.json", {"messages": {"hello": "Hallo"}}, None),
    ("set.json", {"messages": [{"speaker": "ana", "text": "hi"}], "questions": []}, None),
    ("x.jsonl", {"role": 7, "content": "x"}, None),
    ("x.jsonl", {"type": "entity", "id": 7}, None),
]


@pytest.mark.parametrize(("name", "record", "known_as"), OTHERS)
def test_look_alikes_are_named(tmp_path: Path, name: str, record: Any, known_as: str | None) -> None:
    found = detect(write(tmp_path / name, record))
    assert isinstance(found, Refusal)
    assert found.name == known_as


SESSIONS: list[tuple[Any, str]] = [
    ({"trajectory": [{"action": "ls"}], "history": [], "info": {}}, "swe-agent"),
    ({"environment": "swe_main", "trajectory": []}, "swe-agent"),
    ({"history": [{"role": "system", "content": "x"}]}, "swe-agent"),
    ([{"id": 0, "source": "user", "action": "message", "args": {}}], "openhands"),
    ([{"id": 0, "source": "environment", "observation": "null", "content": ""}], "openhands"),
    ([{"title": "t", "mapping": {}, "current_node": "n"}], "chatgpt"),
    ({"title": "t", "mapping": {}, "current_node": "n"}, "chatgpt"),
    ([{"role": "system", "content": "x"}], "messages"),
    ([7, {"role": "assistant", "tool_calls": []}], "messages"),
    ([{"messages": [{"role": "user", "content": "x"}]}], "messages"),
    ({"model": "m", "messages": [{"role": "user", "content": "x"}]}, "messages"),
    ([{"role": "user", "content": "x"}, {"role": "user", "content": "<returncode>0</returncode>"}], "mini-swe-agent"),
    ({"info": {"mini_version": "1.2"}, "messages": []}, "mini-swe-agent"),
    ({"messages": [], "info": {}, "trajectory_format": "mini-swe-agent-1"}, "mini-swe-agent"),
]


@pytest.mark.parametrize(("document", "known_as"), SESSIONS)
@pytest.mark.parametrize("form", ["pretty", "compact", "one item a line", "marked"])
def test_documents_are_told_apart_by_their_keys(tmp_path: Path, document: Any, known_as: str, form: str) -> None:
    path = tmp_path / "file"
    raw = orjson.dumps(document, option=orjson.OPT_INDENT_2 if form == "pretty" else 0)
    if form == "one item a line" and isinstance(document, list):
        # the last line could be a line of JSON lines
        raw = b"[\n" + b",\n".join(map(orjson.dumps, document)) + b"\n]"
    path.write_bytes(b"\xef\xbb\xbf" + raw if form == "marked" else raw)
    assert detect(path) == known_as


@pytest.mark.parametrize(
    ("record", "known_as"),
    [
        ({"type": "relation", "from": "a", "to": "b", "relationType": "r"}, "mcp-memory"),
        ({"type": "entity", "name": "a", "entityType": "t", "observations": []}, "mcp-memory"),
        ({"role": "user", "content": "hi"}, "messages"),
        ({"messages": [{"role": "user", "content": "hi"}]}, "messages"),
    ],
)
def test_lines_are_told_apart_by_their_keys(tmp_path: Path, record: Any, known_as: str) -> None:
    assert detect(write(tmp_path / "f", "// a comment", "", "rubbish", record, record)) == known_as


def test_an_index_is_named(tmp_path: Path) -> None:
    index = {"version": 1, "entries": [{"sessionId": "s"}], "originalPath": "/x"}
    found = detect(write(tmp_path / "sessions-index.json", index))
    assert isinstance(found, Refusal)
    assert found.name == "Claude sessions-index"


@pytest.mark.parametrize(("magic", "name"), [(b"PK\x03\x04rest", "zip archive"), (b"\x1f\x8brest", "gzip archive")])
def test_archives_are_named_with_what_to_do(tmp_path: Path, magic: bytes, name: str) -> None:
    (tmp_path / "f").write_bytes(magic)
    assert detect(tmp_path / "f") == Refusal(name, f"this is a {name}: unpack it and import what is in it")


def test_texts_and_empty_files(tmp_path: Path) -> None:
    path = tmp_path / ".aider.chat.history.md"
    path.write_text("> torn head\n\n# aider chat started at 2026-10-05 09:00:00\n\n#### hi  \n")
    assert detect(path) == "aider"
    path.write_text("# aider chat started at noon\n")
    assert isinstance(detect(path), Refusal)
    path.write_text("")
    assert detect(path) == Refusal(None, "the file is empty")
    path.write_text('{"type":"user","sess')
    found = detect(path)
    assert isinstance(found, Refusal)
    assert "only just begun" in found.reason


def test_a_document_that_is_no_session_is_called_one(tmp_path: Path) -> None:
    path = tmp_path / "locomo.json"
    path.write_bytes(
        orjson.dumps([{"id": 1, "messages": [{"speaker": "ana", "text": "hi"}]}], option=orjson.OPT_INDENT_2)
    )
    assert detect(path) == Refusal(None, "it is a JSON document of no known session format")


def test_a_document_may_be_longer_than_what_is_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b'[{"role": "system", "content": "' + b"x" * 9_000_000 + b'"}]')
    assert detect(path) == "messages"
    path.write_bytes(b'{"messages": [{"role": "system", "content": "' + b"x" * 9_000_000 + b'"}]}')
    assert detect(path) == "messages"


@pytest.mark.parametrize("agent", ["acompact-1b98b4", "aprompt_suggestion-9ff5f0", "aside_question-77"])
def test_pseudo_agents_are_refused_by_name_and_by_record(tmp_path: Path, agent: str) -> None:
    record = Claude(isSidechain=True, agentId=agent).user("a prompt nobody typed")
    for name in (f"agent-{agent}.jsonl", "renamed.jsonl"):
        found = open_session(write(tmp_path / name, record))
        assert isinstance(found, Refusal)
        assert found.name == "Claude pseudo-agent"
    assert detect(write(tmp_path / "agent-a1.jsonl", Claude(isSidechain=True, agentId="a1").user("x"))) == "claude"


def test_discover_walks_folders_and_says_what_it_left_out(tmp_path: Path) -> None:
    project = tmp_path / "projects" / "-home-ana-atlas"
    side = project / SESSION / "subagents"
    results = project / SESSION / "tool-results"
    for folder in (side, results, tmp_path / ".git"):
        folder.mkdir(parents=True)
    session = write(project / f"{SESSION}.jsonl", Claude().user("hello"))
    agent = write(side / "agent-a1.jsonl", Claude(isSidechain=True, agentId="a1").user("look"))
    pseudo = write(side / "agent-acompact-1.jsonl", Claude(isSidechain=True).user("compact"))
    history = write(tmp_path / "history.jsonl", {"session_id": "s", "ts": 1, "text": "hi"})
    write(results / "t1.txt", "a long output")
    write(project / "sessions-index.json", {"version": 1, "entries": [], "originalPath": "/x"})
    write(tmp_path / "package.json", {"name": "x"})
    write(tmp_path / ".git" / "x.jsonl", Claude().user("hidden"))
    os.symlink(tmp_path / "projects", tmp_path / "again")
    os.symlink(tmp_path / "nowhere.jsonl", tmp_path / "broken.jsonl")
    left: dict[Path, str] = {}

    found = list(discover([tmp_path, session], left.__setitem__))

    assert found == [session, agent]
    assert left == {
        tmp_path / "broken.jsonl": "cannot be read: No such file or directory",
        history: "this is Codex's prompt history, not a session: the sessions are in ~/.codex/sessions",
        pseudo: "this is a pseudo-agent of Claude Code: it holds the compaction summary, which stands in the session itself",
    }


def test_discover_takes_files_as_given_and_reports_missing_ones(tmp_path: Path) -> None:
    history = write(tmp_path / "history.jsonl", {"session_id": "s", "ts": 1, "text": "hi"})
    left: list[str] = []
    found = list(discover([history, str(tmp_path / "gone.jsonl"), history], lambda _, reason: left.append(reason)))
    assert found == [history]
    assert left == ["cannot be read: No such file or directory"]
    assert isinstance(open_session(history), Refusal)


def test_a_reader_reports_bytes_and_reads_again(tmp_path: Path) -> None:
    c = Claude()
    path = write(tmp_path / "s.jsonl", c.user("one"), c.user("two"), "rubbish")
    skipped: list[tuple[int, str]] = []
    session = open_session(path, skipped.append)
    assert isinstance(session, Reader)
    assert (session.bytes_read, session.bytes_total) == (0, 2 * path.stat().st_size)
    messages = iter(session)
    assert next(messages).text == "one"
    assert path.stat().st_size < session.bytes_read < session.bytes_total
    write(path, c.user("one"), c.user("two"), "rubbish", c.user("three"))
    assert [m.text for m in messages] == ["two"]
    assert session.bytes_read == session.bytes_total
    assert session.skips == {"not JSON": 1}
    assert skipped == [(3, "not JSON")]
    assert [m.text for m in session] == ["one", "two"]
    assert session.skips == {"not JSON": 1}
