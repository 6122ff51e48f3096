"""Sessions of every format: taken in once, found again, grown by what is new."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.transcripts.samples import AIDER, ANTHROPIC, CHATGPT, EVERY, MCP, OPENAI, document, lines

from amber.memory import Memory
from amber.pipeline.importer import Imported

#: Real sessions, where the shared data folder stands beside the repository.
RECORDED = Path(__file__).parents[3] / "shared" / "data" / "transcripts"

#: Sessions and messages. By hand: 211 blocks of `####` that end in two spaces (120 prompts, 90 commands, 1 of the linter)
#: and 149 runs of aider; 138 relations and 46 observations; the events, messages and calls of the documents.
COUNTS = {
    "aider": (87, 494),
    "claude": (25, 1904),
    "codex": (4, 823),
    "mcp-memory": (1, 184),
    "mini-swe-agent": (1, 32),
    "openhands": (2, 19),
    "swe-agent": (2, 78),
}
REFUSED = {
    "agent-acompact-1b98b4.jsonl": "pseudo-agent",
    "agent-aprompt_suggestion-9ff5f0.jsonl": "pseudo-agent",
    "history.jsonl": "prompt history",
    "sessions-index.json": "index of sessions",
}


def take(memory: Memory, *paths: Path) -> list[Imported]:
    return list(memory.import_sessions(paths))


def texts(memory: Memory) -> list[str]:
    found = [
        message for session in memory.sessions.page(limit=100) for message in memory.sessions.iter_messages(session.id)
    ]
    return [message.text for message in found]


@pytest.mark.parametrize("name", sorted(EVERY))
def test_a_second_time_brings_nothing_new(memory: Memory, tmp_path: Path, name: str) -> None:
    path = EVERY[name](tmp_path / "sample.json")
    first = take(memory, path)
    assert {each.status for each in first} == {"imported"}
    before, position = texts(memory), memory.history.position()
    assert before
    path.touch()
    (tmp_path / "other").mkdir()
    copied = tmp_path / "other" / path.name
    copied.write_bytes(path.read_bytes())
    again = take(memory, path)
    if name != "mcp-memory":
        # a graph is known by its path alone
        again += take(memory, copied)
    assert {each.status for each in again} == {"unchanged"}
    assert texts(memory) == before
    # where it was read last is no news
    assert memory.history.position() == position


def test_only_what_is_new_is_added(memory: Memory, tmp_path: Path) -> None:
    path = document(tmp_path / "chat.json", OPENAI[:5])
    assert [each.messages for each in take(memory, path)] == [6]
    document(path, OPENAI)
    assert [(each.status, each.messages) for each in take(memory, path)] == [("imported", 3)]
    (session,) = memory.sessions.page()
    assert [message.seq for message in memory.sessions.iter_messages(session.id)] == [*range(9)]

    grown = lines(tmp_path / "lines.jsonl", *OPENAI[:5])
    take(memory, grown)
    lines(grown, *OPENAI)
    assert [each.messages for each in take(memory, grown)] == [3]


def test_runs_of_aider_grow_one_by_one(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / ".aider.chat.history.md"
    first, mark, last = AIDER.rpartition("# aider chat started")
    path.write_text(first)
    assert [(each.status, each.messages) for each in take(memory, path)] == [("imported", 8)]
    path.write_text(first + mark + last)
    assert [(each.status, each.messages) for each in take(memory, path)] == [("unchanged", 0), ("imported", 4)]
    path.write_text(first + mark + last + "> Tokens: 7 sent, 3 received.  \n\n#### bye  \n")
    done = take(memory, path)
    assert [(each.messages, each.changed) for each in done] == [(0, 0), (1, 1)]
    session = memory.sessions.get(str(done[1].session))
    assert session.tokens == {"input": 7, "output": 3}
    assert session.project.endswith(tmp_path.name)


def test_a_branch_that_was_left_is_marked(memory: Memory, tmp_path: Path) -> None:
    path = document(tmp_path / "conversations.json", CHATGPT)
    assert [each.messages for each in take(memory, path)] == [8, 1]
    assert memory.recall("giraffe") == []
    assert memory.recall("stripes")[0].source == "assistant"
    document(path, [{**CHATGPT[0], "current_node": "n3"}, CHATGPT[1]])
    assert [each.changed for each in take(memory, path)] == [8, 0]
    assert {hit.text for hit in memory.recall("giraffe")} == {"the wrong giraffe", "About giraffes."}
    assert memory.recall("stripes") == []


def test_notes_of_a_graph_are_found(memory: Memory, tmp_path: Path) -> None:
    path = lines(tmp_path / "memory.jsonl", *MCP)
    take(memory, path)
    hit = memory.recall("where does Ana live? Porto")[0]
    assert (hit.text, hit.source) == ("Ana (person): lives in Porto", "assistant")
    lines(
        path,
        {"type": "entity", "name": "Ana", "entityType": "person", "observations": ["lives in Porto", "likes tea"]},
        *MCP,
    )
    assert [each.messages for each in take(memory, path)] == [1]


def test_sessions_of_one_file_do_not_cost_each_other(memory: Memory, tmp_path: Path) -> None:
    bad = {**CHATGPT[0], "conversation_id": "x" * 600}
    path = document(tmp_path / "conversations.json", [bad, CHATGPT[1]])
    assert [each.status for each in take(memory, path)] == ["failed", "imported"]
    plain = document(tmp_path / "set.json", [{"messages": OPENAI}, {"messages": []}, ANTHROPIC])
    assert [each.messages for each in take(memory, plain)] == [9, 8]


def test_a_file_without_a_message_is_refused(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / ".aider.chat.history.md"
    path.write_text("# aider chat started at 2026-10-05 09:00:00\n\n> Aider v1  \n")
    (done,) = take(memory, path)
    assert (done.status, done.reason) == ("refused", "there is no message in it")


@pytest.mark.skipif(not RECORDED.is_dir(), reason="the shared data folder is not there")
def test_all_recorded_files_come_in_or_are_refused_by_name(memory: Memory) -> None:
    files = [path for path in RECORDED.rglob("*") if path.is_file() and path.name != "FORMATS.md"]
    done = take(memory, *files)
    counts: dict[str, tuple[int, int]] = {}
    for each in done:
        if each.status == "refused":
            assert REFUSED[Path(each.path).name] in (each.reason or "")
        else:
            assert each.status == "imported", each
            assert each.format
            sessions, messages = counts.get(each.format, (0, 0))
            counts[each.format] = sessions + 1, messages + each.messages
    assert counts == COUNTS
    assert sum(each.status == "refused" for each in done) == len(REFUSED)
    assert not [reason for each in done for reason in each.skipped if reason.startswith("unknown")]
    position = memory.history.position()
    assert {each.status for each in take(memory, *files)} <= {"unchanged", "refused"}
    walked = take(memory, RECORDED)
    assert {each.status for each in walked} <= {"unchanged", "refused"}
    assert len(walked) == len(done) - 1, "an index is passed over in silence"
    assert memory.history.position() == position
