"""import and recall."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from tests.apps.conftest import Amber

LOOK_ALIKES = {
    "pi.jsonl": ('{"type": "session", "id": "1", "cwd": "/x"}', "pi coding agent"),
    "history.jsonl": ('{"session_id": "1", "ts": 1, "text": "hi"}', "Codex's prompt history"),
    "index.jsonl": ('{"entries": [], "version": 1}', "Claude Code's index"),
}


def test_import_tells_what_came_in(amber: Amber, examples: str) -> None:
    head, *rows = amber("import", examples).out.splitlines()
    assert head.split() == ["day", "format", "messages", "title", "session"]
    assert any(
        row.startswith("2026-10-07  claude        28  Shared rate limiter for the fare API  ")
        and row.endswith("  d6cad1a0-1aed-4f42-b642-44167daf8c5a")
        for row in rows
    )
    assert "6 sessions (4 claude, 2 codex), 119 new messages" in rows
    assert rows[-1] == "140 lines without a message (bookkeeping of the tools); -v tells why"


def test_import_again_is_nothing_new(imported: Amber, examples: str) -> None:
    before = imported.json("stats")["position"]
    assert imported("import", examples).out == "nothing new: 6 sessions already in the memory\n"
    assert imported.json("stats")["position"] == before


def test_import_verbose_tells_why_lines_hold_no_message(amber: Amber, examples: str) -> None:
    shown = amber("import", "-v", examples).out
    assert "140 lines without a message:\n" in shown
    assert "  copy of a prompt\n" in shown


def test_import_in_json_is_a_line_for_each_file(amber: Amber, examples: str) -> None:
    rows = [json.loads(line) for line in amber("import", examples, "--json").out.splitlines()]
    assert [each["status"] for each in rows] == ["imported"] * 6
    assert sum(each["messages"] for each in rows) == 119
    assert all(each["bytes"] > 0 and each["path"].startswith("examples/") for each in rows)


def test_import_takes_sender_and_project(amber: Amber, examples: str) -> None:
    amber("import", examples, "--sender", "ana", "--project", "team/atlas")
    hits = amber.json("recall", "rate limit", "--sender", "ana", "--project", "team")["hits"]
    assert {(each["sender"], each["project"]) for each in hits} == {("ana", "team/atlas")}


def test_look_alikes_are_named_with_their_reason(amber: Amber, examples: str) -> None:
    for name, (text, _) in LOOK_ALIKES.items():
        Path(examples, name).write_text(text + "\n")
    shown = amber("import", examples).out
    assert "3 files not taken in:\n" in shown
    for name, (_, reason) in LOOK_ALIKES.items():
        line = next(line for line in shown.splitlines() if name in line)
        assert reason in line


def test_a_named_file_that_is_no_session_is_a_failure(amber: Amber, examples: str) -> None:
    Path("notes.txt").write_text("these are notes\n")
    answer = amber("import", examples, "notes.txt", code=1)
    assert "notes.txt: " in answer.out
    assert "6 sessions" in answer.out
    again = amber("import", "notes.txt", "--json", code=1).json
    assert (again["status"], again["path"]) == ("refused", "notes.txt")


def test_a_folder_without_sessions_is_a_failure(amber: Amber) -> None:
    Path("empty").mkdir()
    answer = amber("import", "empty", code=1)
    assert (answer.out, answer.err) == ("", "no session files found\n")


def test_a_file_that_can_not_be_read(amber: Amber, examples: str) -> None:
    Path("folder").mkdir()
    Path("folder/rollout-2026-10-05T14-02-11-gone.jsonl").symlink_to("nowhere.jsonl")
    answer = amber("import", "folder", "--json", code=1)
    assert answer.json["status"] == "failed"
    assert "cannot be read" in answer.json["reason"]


def test_many_sessions_are_summed_up(amber: Amber, examples: str) -> None:
    source = next(Path(examples).rglob("0368ce35*.jsonl"))
    text = source.read_text("utf-8")
    Path("many").mkdir()
    for n in range(25):
        name = f"0368ce35-cc93-459f-8852-7777eeee{n:04}"
        body = text.replace("0368ce35-cc93-459f-8852-77b792e9a0a9", name)
        rows = [json.loads(line) for line in body.splitlines()]
        for row in rows:
            for field in ("uuid", "parentUuid"):
                if row.get(field):
                    row[field] = f"{n:04}{row[field][4:]}"
        Path("many", f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    shown = amber("import", "many").out
    assert shown.count("City search in Japanese") == 20
    assert "… and 5 sessions more; -v lists them all" in shown
    assert "25 sessions (25 claude), 500 new messages" in shown
    shutil.rmtree("many")


def test_recall_finds_and_marks(imported: Amber) -> None:
    shown = imported("recall", "rate", "limit", "of", "the", "fare", "API", "--type", "prompt", "--limit", "1").out
    first, second = shown.splitlines()
    assert first.startswith("I have to correct myself: the [rate] [limit] of the [fare] [API] is 40 requests a minute")
    # Lisbon has summer time on that day
    assert re.fullmatch(r"  d6cad1a0:0  \d+\.\d  prompt by me  2026-10-07 14:31  home/ana/atlas", second)


def test_recall_leads_to_what_it_found(imported: Amber) -> None:
    hit = imported.json("recall", "41 requests went out", "--limit", "1")["hits"][0]
    assert hit["place"] == "d6cad1a0:17"
    around = imported("show", hit["place"], "-C", "1").out
    assert "17  14:33:38  Bash failed\n" in around
    assert "E   AssertionError: 41 requests went out in the first minute\n" in around
    assert "\n16  " in around
    assert "\n15  " not in around
    fact = imported.json("put", "the okapi is shy", "--session", "s1")["fact"]["id"]
    shown = imported("recall", "okapi").out.splitlines()[1]
    assert shown.startswith(f"  {fact}  ")
    assert shown.endswith("  s1")
    assert "place" not in imported.json("recall", "okapi")["hits"][0]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("may tests use mocks for the database", "Never use mocks for the database in tests"),
        ("why advisory locks for the scheduler", "Agreed, Postgres advisory locks"),
        ("em que dia saem os deploys", "os deploys saem do branch release às quintas"),
        ("京都の運賃", "京都から大阪までの運賃が出ません"),
    ],
)
def test_recall_answers(imported: Amber, question: str, answer: str) -> None:
    told = imported.json("recall", question, "--limit", "1")
    assert told["question"] == question
    assert answer in told["hits"][0]["text"]


def test_recall_in_json(imported: Amber) -> None:
    imported("put", "Ana likes green tea", "--sender", "ana", "--type", "likes")
    hit = imported.json("recall", "green tea", "--kind", "fact")["hits"][0]
    assert (hit["kind"], hit["source"], hit["sender"]) == ("fact", "user", "ana")
    assert hit["snippet"] == "Ana likes [green] [tea]"
    message = imported.json("recall", "ponta delgada")["hits"][0]
    assert message["at"] == "2026-10-05T14:02:31.278000+01:00"
    assert message["session"] == "8d55e484-1358-4769-ab99-ce57b90a5235"


def test_recall_narrows(imported: Amber) -> None:
    imported("put", "the fare API is slow", "--project", "other")
    everything = imported.json("recall", "fare API", "--limit", "50")["hits"]
    assert {each["kind"] for each in everything} == {"fact", "message"}
    assert {each["kind"] for each in imported.json("recall", "fare API", "--kind", "message")["hits"]} == {"message"}
    assert {each["project"] for each in imported.json("recall", "fare API", "--project", "other")["hits"]} == {"other"}
    late = imported.json("recall", "fare API", "--since", "2026-10-07", "--kind", "message")["hits"]
    early = imported.json("recall", "fare API", "--until", "2026-10-07", "--kind", "message")["hits"]
    assert min(each["at"] for each in late) >= "2026-10-07"
    assert max(each["at"] for each in early) < "2026-10-07"
    session = "d6cad1a0-1aed-4f42-b642-44167daf8c5a"
    assert {each["session"] for each in imported.json("recall", "fare", "--session", session)["hits"]} == {session}
    assert len(imported.json("recall", "fare", "--limit", "2")["hits"]) == 2


def test_recall_valid_at(amber: Amber) -> None:
    amber("put", "Lisbon", "--key", "city", "--valid-from", "2020-01-01")
    amber("put", "Porto", "--key", "city")
    assert amber.json("recall", "city")["hits"][0]["text"] == "city: Porto"
    assert amber.json("recall", "city", "--valid-at", "2021-01-01")["hits"][0]["text"] == "city: Lisbon"


def test_nothing_found_is_no_failure(imported: Amber) -> None:
    answer = imported("recall", "zyzzyva")
    assert (answer.out, answer.err) == ("", "nothing found; try other words\n")
    assert "without the options" in imported("recall", "fare", "--project", "nowhere").err
    assert imported.json("recall", "zyzzyva") == {"question": "zyzzyva", "hits": []}
    assert imported("recall", "!?").err == "nothing found; try other words\n"
