"""Recorded sessions: lists of them, their short names, what they open with, and their messages both ways."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.services.stage import Open
from tests.services.test_import import SESSION, claude, claude_session, take, write

from amber.errors import BadInput, NotFound
from amber.memory import Memory
from amber.model.batch import Put
from amber.model.message import KINDS, ROLES, SESSIONS, new_session
from amber.pipeline.transcripts.record import Kind, Role

Line = dict[str, Any]


def record(memory: Memory, *ids: str, **more: Any) -> None:
    """Put sessions that hold no messages; the first named is the oldest."""
    identity = dict.fromkeys(("path", "parent", "agent", "cwd", "project", "title", "zone"))
    identity |= {"format": "claude", "models": [], "versions": [], "sender": "ana"}
    writes = [
        Put(SESSIONS.name, id, {**new_session({**identity, **more}), "started_at": 1_000_000 + n, "ended_at": None})
        for n, id in enumerate(ids)
    ]
    for n in range(0, len(writes), 500):
        memory._unit.commit(writes[n : n + 500])


def test_kinds_and_roles_are_those_of_the_readers() -> None:
    assert set(KINDS) == set(get_args(Kind))
    assert set(ROLES) == set(get_args(Role))


def test_a_session_is_found_by_a_beginning_that_is_its_own(memory: Memory) -> None:
    first, second, third = "11111111-aaaa", "11111111-aabb", "22222222-aaaa"
    record(memory, first, second, third)
    assert memory.sessions.resolve("2").id == third
    assert memory.sessions.resolve("11111111-aab").id == second
    assert memory.sessions.resolve(first).id == first
    for wrong in ("3", "22222222-aaaa-", "11111112"):
        with pytest.raises(NotFound) as missing:
            memory.sessions.resolve(wrong)
        assert missing.value.session == wrong
    with pytest.raises(BadInput) as several:
        memory.sessions.resolve("1111")
    assert several.value.candidates == [first, second]
    assert f"{first!r}, {second!r}" in several.value.message
    for bad in ("", "a\0", "\ud800", 7, None, "x" * 600):
        with pytest.raises(BadInput):
            memory.sessions.resolve(bad)  # type: ignore[arg-type]


def test_a_beginning_that_is_an_id_names_that_one(memory: Memory) -> None:
    record(memory, "run", "run-2", "runner")
    assert memory.sessions.resolve("run").id == "run"
    with pytest.raises(BadInput):
        memory.sessions.resolve("ru")


def test_a_subagent_does_not_make_its_session_ambiguous(memory: Memory) -> None:
    parent = "11111111-aaaa"
    record(memory, parent)
    record(memory, f"{parent}/a5bdbc1", f"{parent}/a5c0000", parent=parent, agent="a")
    assert memory.sessions.resolve("1111").id == parent
    assert memory.sessions.resolve("1111/a5b").id == f"{parent}/a5bdbc1"
    with pytest.raises(BadInput):
        memory.sessions.resolve("1111/a5")
    # without its session, it is the only one
    record(memory, "22222222-bbbb/agent")
    assert memory.sessions.resolve("2222").id == "22222222-bbbb/agent"


IDS = (
    "0ccf1a04-1b4c-43b6-8aa5-79e41db43a68", "0ccf1a04-1b4c-43b6-8aa5-79e41db43a68/a5bdbc1",
    "0ccf1a04-1b4c-43b6-8aa5-79e41db43a68/a5bdbc1f00", "0ccf1a04-1b4c-43b6-8aa5-79e41db43a68/sub/agent",
    "0ccf1a04-2b4c-43b6-8aa5-79e41db43a68", "0ccf1a04", "019bda8e-99f4-73e2-bb81-93cea792bcc9",
    "019bda8e-99f4-73e2-bb81-93cea792bcca", "s1", "s1/x", "s10", "s1-b/x", "django__django-12345", "django__django-12346",
    "notes/2026-10-05 10:00:00", "notes/2026-10-05 10:00:01", "京都の会話です、長い名前", "京都の会話です、長い名前二",
    "a:b", "a b c d e f g h i", "…", "a/", "a//b", "/lead", "%41_x",
)  # fmt: skip


@pytest.mark.parametrize("many", [False, True])
def test_short_names_lead_back(memory: Memory, many: bool) -> None:
    record(memory, *IDS)
    if many:
        # more than are gone through as a whole
        record(memory, *(f"{n:08x}-0000-4000" for n in range(3_000)))
    names = memory.sessions.short_names(IDS)
    assert {memory.sessions.resolve(name).id: id for id, name in names.items()} == {id: id for id in IDS}
    assert names["0ccf1a04-1b4c-43b6-8aa5-79e41db43a68"] == "0ccf1a04-1"
    assert names["django__django-12345"] == "django__django-12345"
    assert names["s1"] == "s1"
    assert all(len(name) <= len(id) for id, name in names.items())


@settings(max_examples=100, deadline=None)
@given(st.sets(st.text("ab/", min_size=1, max_size=24), min_size=1, max_size=30))
def test_short_names_of_any_ids_lead_back(ids: set[str]) -> None:
    # a short minimum, so that ids meet in every part of them
    with Memory.open("memory:") as memory, patch("amber.services.session_names.SHORTEST", 2):
        record(memory, *ids)
        names = memory.sessions.short_names(ids)
        assert {id: memory.sessions.resolve(name).id for id, name in names.items()} == {id: id for id in ids}


def test_short_names_are_short(memory: Memory) -> None:
    first, second = "d6cad1a0-1aed-4f42-b642-44167daf8c5a", "9bd5f3dd-113c-493e-8193-d0d445a3ba4a"
    record(memory, first, second, f"{second}/b7e42d10")
    sessions = memory.sessions.page()
    assert memory.sessions.short_names(sessions) == {
        first: "d6cad1a0",
        second: "9bd5f3dd",
        f"{second}/b7e42d10": "9bd5f3dd/b7e42d10",
    }
    # one that was not recorded stands for itself, also when its beginning is another's
    assert memory.sessions.short_names([f"{first}-more", "s1"]) == {f"{first}-more": f"{first}-more", "s1": "s1"}
    assert memory.sessions.short_names([]) == {}


def test_sessions_are_listed_by_what_they_are(memory: Memory) -> None:
    record(memory, "a", "b", project="team/atlas")
    record(memory, "c", sender="ben", project="team")
    record(memory, "d", format="codex", project="team/atlas/x", sender="ben")
    record(memory, "e")
    memory._unit.commit([Put(SESSIONS.name, "e", {**memory.sessions.get("e").body, "started_at": None})])

    def listed(**filters: Any) -> str:
        paged = [each.id for each in memory.sessions.page(**filters)]
        assert [each.id for each in memory.sessions.iter(**filters)] == paged
        one: list[str] = []
        last = None
        while chunk := memory.sessions.page(**filters, before=last, limit=1):
            one, last = [*one, chunk[0].id], chunk[0]
        assert one == paged
        return "".join(paged)

    assert listed() == "bdcae"
    assert listed(project="team/atlas") == "bda"
    assert listed(sender="ben") == "dc"
    assert listed(sender="ben", project="team/atlas") == "d"
    assert listed(format="claude", project="team") == "bca"
    # one that tells no time began at no time
    assert listed(since="1970-01-01") == "bdca"
    assert listed(until="1970-01-02") == "bdca"
    assert listed(since="1970-01-01T00:00:01.000001Z") == "b"
    assert listed(until="1970-01-01T00:00:01.000001Z") == "dca"
    assert listed(sender="nobody") == ""
    wrongs: tuple[Line, ...] = ({"sender": ""}, {"format": 7}, {"project": "a//b"}, {"since": "soon"}, {"until": 3})
    for wrong in wrongs:
        with pytest.raises(BadInput):
            memory.sessions.page(**wrong)
        with pytest.raises(BadInput):
            list(memory.sessions.iter(**wrong))


def test_children_oldest_first(memory: Memory) -> None:
    record(memory, "p", "other")
    record(memory, "p/b", "p/a", parent="p", agent="x")
    record(memory, "fork", parent="p", prompts=2)
    children = memory.sessions.children(memory.sessions.get("p"))
    assert [each.id for each in children] == ["fork", "p/b", "p/a"]
    assert [each.is_subagent for each in children] == [True, True, True]
    assert memory.sessions.children("p/a") == memory.sessions.children("nobody") == []
    with pytest.raises(BadInput):
        memory.sessions.children("")


def test_a_fork_with_prompts_is_no_subagent(memory: Memory, tmp_path: Path) -> None:
    take(memory, write(tmp_path / "s.jsonl", *claude_session(2)))
    body = {**memory.sessions.get(SESSION).body, "parent": "before"}
    memory._unit.commit([Put(SESSIONS.name, "fork", body)])
    assert not memory.sessions.get("fork").is_subagent
    assert not memory.sessions.get(SESSION).is_subagent


def opening(memory: Memory) -> str | None:
    found = memory.sessions.openings(memory.sessions.page())
    return found[SESSION].text if SESSION in found else None


def test_a_session_opens_with_the_first_prompt_that_stands(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    reminder = claude(0, isMeta=True, content="<local-command-caveat>Caveat</local-command-caveat>")
    take(memory, write(path, reminder))
    assert opening(memory) is None
    lines = [reminder, claude(1, content="the wrong giraffe"), claude(2, "assistant")]
    take(memory, write(path, *lines))
    assert opening(memory) == "the wrong giraffe"
    # edited and sent again, in a file that grew
    edited = claude(3, content="the right okapi", parentUuid="u0")
    take(memory, write(path, *lines, edited, claude(4, "assistant")))
    assert opening(memory) == "the right okapi"
    memory.history.undo(last=1)
    assert opening(memory) == "the wrong giraffe"
    memory.history.redo()
    take(memory, path)
    assert opening(memory) == "the right okapi"


def test_the_opening_comes_to_a_session_that_has_none_yet(memory: Memory, tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", *claude_session(450))
    take(memory, path)
    before = memory.sessions.get(SESSION)
    assert opening(memory) == "message 0"
    # as it was recorded before openings were kept
    body = {name: value for name, value in before.body.items() if name != "opening"} | {"read": None}
    memory._unit.commit([Put(SESSIONS.name, SESSION, body)])
    assert opening(memory) == "message 0"
    take(memory, path)
    assert memory.sessions.get(SESSION).opening == before.opening
    assert opening(memory) == "message 0"
    assert memory.sessions.get(SESSION).messages == 450


def test_a_subagent_opens_with_its_task(memory: Memory, tmp_path: Path) -> None:
    folder = tmp_path / SESSION / "subagents"
    folder.mkdir(parents=True)
    more: Line = {"isSidechain": True, "agentId": "a5bdbc1"}
    write(folder / "agent-a5bdbc1.jsonl", claude(0, content="find the zebra", **more), claude(1, "assistant", **more))
    take(memory, tmp_path)
    (session,) = memory.sessions.page()
    assert session.is_subagent
    assert memory.sessions.openings([session])[session.id].text == "find the zebra"


@pytest.fixture
def mixed(memory: Memory, tmp_path: Path) -> Memory:
    """Give a memory with a session of 300 times prompt, call, result, reply."""
    call = [{"type": "tool_use", "id": "c", "name": "Bash", "input": {"command": "ls"}}]
    result = [{"type": "tool_result", "tool_use_id": "c", "content": "a.txt"}]
    lines: list[Line] = []
    for n in range(0, 1_200, 4):
        lines += [claude(n), claude(n + 1, "assistant", call), claude(n + 2, content=result, toolUseResult={})]
        lines.append(claude(n + 3, "assistant"))
    take(memory, write(tmp_path / "s.jsonl", *lines))
    return memory


def test_messages_both_ways_by_number_kind_and_role(mixed: Memory) -> None:
    def seqs(limit: int = 10_000, **asked: Any) -> list[int]:
        found = [each.seq for each in mixed.sessions.messages(SESSION, limit=limit, **asked)]
        walked = [each.seq for each in mixed.sessions.iter_messages(SESSION, **asked)]
        assert walked[: len(found)] == found
        assert len(found) == min(limit, len(walked))
        return found

    every = [*range(1_200)]
    assert seqs() == every
    assert seqs(reverse=True) == every[::-1]
    assert seqs(after=10, before=13) == [11, 12]
    assert seqs(after=10, before=13, reverse=True) == [12, 11]
    assert seqs(before=3) == [0, 1, 2]
    assert seqs(before=0) == seqs(after=5, before=6) == seqs(after=9, before=3) == []
    assert seqs(kinds=["prompt"]) == every[::4]
    assert seqs(kinds={"prompt", "reply"}, reverse=True, limit=3) == [1_199, 1_196, 1_195]
    assert seqs(roles=("tool",), after=2, limit=2) == [6, 10]
    assert seqs(kinds=["tool_call"], roles=["tool"]) == []
    assert seqs(limit=1, kinds=["reply"]) == [3]


@pytest.mark.parametrize(
    "wrong",
    [{"kinds": "prompt"}, {"kinds": []}, {"kinds": ["prompts"]}, {"kinds": 3}, {"kinds": [3]}, {"roles": ["person"]},
     {"roles": ()}, {"before": -1}, {"before": "1"}, {"after": -2}],
)  # fmt: skip
def test_what_no_message_is_can_not_be_asked_for(mixed: Memory, wrong: Line) -> None:
    with pytest.raises(BadInput) as refused:
        mixed.sessions.messages(SESSION, **wrong)
    assert next(iter(wrong)) in refused.value.message
    with pytest.raises(BadInput):
        list(mixed.sessions.iter_messages(SESSION, **wrong))


def test_a_hit_leads_to_what_it_stands_in(mixed: Memory) -> None:
    (hit,) = mixed.recall("1000", type="prompt", limit=1)
    assert [each.seq for each in mixed.sessions.around(mixed.sessions.message(hit.id), before=2, after=1)] == [
        998,
        999,
        1000,
        1001,
    ]
    assert [each.seq for each in mixed.sessions.around(hit.id)] == [*range(995, 1006)]
    assert mixed.sessions.message(hit.id).text == "message 1000"
    ends = mixed.sessions.messages(SESSION, limit=1)[0], mixed.sessions.messages(SESSION, reverse=True, limit=1)[0]
    assert [each.seq for each in mixed.sessions.around(ends[0], before=3, after=0)] == [0]
    assert [each.seq for each in mixed.sessions.around(ends[1], before=1, after=3)] == [1198, 1199]
    assert [each.seq for each in mixed.sessions.around(ends[1], before=0, after=0)] == [1199]
    with pytest.raises(NotFound):
        mixed.sessions.around("nothing")
    with pytest.raises(NotFound):
        mixed.sessions.message("nothing")
    wrongs: tuple[Line, ...] = ({"before": -1}, {"after": "1"}, {"before": None})
    for wrong in wrongs:
        with pytest.raises(BadInput):
            mixed.sessions.around(hit.id, **wrong)


def test_around_leaves_retracted_text_out(memory: Memory, tmp_path: Path) -> None:
    lines = [claude(0), claude(1, "assistant"), claude(2, content="wrong"), claude(3, "assistant")]
    take(
        memory, write(tmp_path / "s.jsonl", *lines, claude(4, content="right", parentUuid="u1"), claude(5, "assistant"))
    )
    (right,) = memory.recall("right")
    assert [each.seq for each in memory.sessions.around(right.id, before=2)] == [0, 1, 4, 5]
    assert [each.seq for each in memory.sessions.around(right.id, before=2, retracted=True)] == [2, 3, 4, 5]
    # what is asked for by its id is shown in any case
    assert [
        each.seq for each in memory.sessions.around(memory.sessions.messages(SESSION, retracted=True)[2], after=1)
    ] == [
        0,
        1,
        2,
        4,
    ]


def test_no_space_sees_the_sessions_of_another(open_memory: Open, tmp_path: Path) -> None:
    one, other = open_memory("one"), open_memory("other")
    take(one, write(tmp_path / "s.jsonl", *claude_session(4)))
    message = one.sessions.messages(SESSION)[0]
    assert other.sessions.find(SESSION) is None
    assert other.sessions.short_names([SESSION]) == {SESSION: SESSION}
    assert other.sessions.openings(one.sessions.page()) == {}
    for call in (other.sessions.resolve, other.sessions.message, other.sessions.around):
        with pytest.raises(NotFound):
            call(SESSION if call == other.sessions.resolve else message.id)


def test_sessions_of_a_moment(memory: Memory, tmp_path: Path) -> None:
    take(memory, write(tmp_path / "s.jsonl", *claude_session(450)))
    view = memory.at(1)
    assert view.sessions.resolve("1111").messages == 200
    assert [each.seq for each in view.sessions.messages(SESSION, reverse=True, limit=2)] == [199, 198]
    assert view.sessions.openings(view.sessions.page())[SESSION].seq == 0
    assert memory.at(0).sessions.short_names([SESSION]) == {SESSION: SESSION}
