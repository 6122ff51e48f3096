"""log, undo, redo, diff, stats, verify."""

from __future__ import annotations

import re
import sqlite3
from datetime import datetime
from typing import Any

import pytest
from tests.apps.conftest import Amber

from amber.cli.base import Command
from amber.memory import Memory
from amber.store.contract import Problem


def payloads(amber: Amber) -> list[Any]:
    return [each["payload"] for each in amber.json("facts")["facts"]]


@pytest.fixture
def moved(amber: Amber) -> Amber:
    """Give a memory in which Ana's city was put, mentioned and superseded."""
    amber("put", "--sender", "ana", "--key", "city", "Lisbon")
    amber("put", "--sender", "ana", "--key", "city", "Lisbon")
    amber("put", "--sender", "ana", "--key", "city", "--valid-from", "2100-01-01", "--reason", "a new job", "Porto")
    return amber


def test_log_says_what_changed(moved: Amber) -> None:
    head, *rows = moved("log").out.splitlines()
    assert head.split() == ["#", "time", "what"]
    assert re.match(r"3  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d  ~ city: Lisbon \(ana\) → until 2100-01-01$", rows[0])
    assert [row.strip() for row in rows[1:3]] == ["+ city: Porto (ana) from 2100-01-01", "a new job"]
    assert rows[3].endswith("= mention of city: Lisbon (ana)")
    assert rows[4].endswith("+ city: Lisbon (ana)")


def test_log_in_json(moved: Amber) -> None:
    entries = moved.json("log")["entries"]
    assert [each["position"] for each in entries] == [3, 2, 1]
    assert entries[0]["reason"] == "a new job"
    assert entries[0]["kind"] == "change"
    assert {each["collection"] for each in entries[0]["changes"]} == {"facts"}
    closed = next(each for each in entries[0]["changes"] if each["before"] is not None)
    assert closed["after"]["valid_until"] == "2100-01-01T00:00:00+00:00"
    assert entries[1]["changes"][0]["deltas"] == {"mentions": 1}
    at = datetime.fromisoformat(entries[0]["at"])
    assert at.utcoffset() == at.astimezone().utcoffset()


def test_log_pages_and_filters(amber: Amber) -> None:
    for n in range(4):
        amber("put", f"fact {n}", "--actor", f"actor{n % 2}", "--session", f"s{n // 2}")
    assert [each["position"] for each in amber.json("log", "--limit", "2")["entries"]] == [4, 3]
    assert amber("log", "--limit", "2").err == "older: amber log --before 3\n"
    assert [each["position"] for each in amber.json("log", "--before", "3")["entries"]] == [2, 1]
    assert [each["position"] for each in amber.json("log", "--actor", "actor0")["entries"]] == [3, 1]
    assert [each["position"] for each in amber.json("log", "--session", "s1")["entries"]] == [4, 3]
    id = amber.json("facts")["facts"][1]["id"]
    assert [each["position"] for each in amber.json("log", "--fact", id)["entries"]] == [2]
    assert amber("log").out.splitlines()[0].split() == ["#", "time", "actor", "what"]
    assert amber("log", "--actor", "nobody").err == "no entries\n"
    assert amber.json("log", "--actor", "nobody") == {"entries": []}


def test_undo_without_more_takes_the_last_change_back(moved: Amber) -> None:
    assert moved("undo").out.splitlines() == [
        "undone 3  (to take that back: amber redo)",
        "- city: Porto (ana)",
        "~ city: Lisbon (ana) → no end",
    ]
    rows = moved("log").out.splitlines()
    assert "undo of 3" in rows[1]
    assert any(re.match(r"3  .*  undone  ~ city: Lisbon", row) for row in rows)
    # the change before, not the undo
    assert moved.json("undo")["positions"] == [2]
    assert moved.json("undo")["positions"] == [1]
    assert payloads(moved) == []
    assert "nothing to undo" in moved("undo", code=3).err


def test_redo_takes_the_undo_back(moved: Amber) -> None:
    before = moved.json("facts", "--all")["facts"]
    moved("undo")
    shown = moved("redo").out.splitlines()
    assert shown[0] == "redone: took back 4  (to take that back: amber undo 5)"
    assert "+ city: Porto (ana) from 2100-01-01" in shown
    after = moved.json("facts", "--all")["facts"]
    assert [each["payload"] for each in after] == [each["payload"] for each in before]
    assert moved.json("undo")["positions"] == [3]
    assert moved.json("redo")["positions"] == [6]


def test_undo_names_one_several_and_all_after(amber: Amber) -> None:
    for n in range(5):
        amber("put", f"fact {n}", "--actor", f"actor{n % 2}", "--session", f"s{n % 2}")
    assert amber.json("undo", "2")["documents"][0]["collection"] == "facts"
    assert payloads(amber) == ["fact 0", "fact 2", "fact 3", "fact 4"]
    assert "is undone already" in amber("undo", "2", code=4).err
    assert amber.json("undo", "--last", "1", "--actor", "actor1")["positions"] == [4]
    assert amber.json("undo", "--session", "s0")["positions"] == [5]
    assert amber.json("undo", "--after", "0", "--reason", "all wrong")["positions"] == [8, 7, 6, 5, 4, 3, 2, 1]
    assert payloads(amber) == []
    assert amber.json("log")["entries"][0]["reason"] == "all wrong"


def test_undo_does_not_overwrite_what_came_later(amber: Amber) -> None:
    id = amber.json("put", "--as-json", '{"a": 1}')["fact"]["id"]
    amber("patch", id, '{"a": 2}')
    amber("patch", id, '{"a": 3}')
    answer = amber("undo", "2", code=4)
    assert "was changed since" in answer.err
    assert payloads(amber) == [{"a": 3}]
    amber("undo", "2", "--force")
    assert payloads(amber) == [{"a": 1}]


def test_import_in_the_log(imported: Amber) -> None:
    shown = imported("log", "--limit", "100").out
    assert "+ 20 messages" in shown
    assert "+ 28 messages of d6cad1a0 Shared rate limiter for the fare API" in shown
    # a subagent, and a session without a title
    assert "+ 6 messages of 9bd5f3dd/b7e42d10\n" in shown
    assert "+ 20 messages of 8d55e484\n" in shown
    assert "import of codex session" in shown


def test_log_names_the_session_of_a_change(amber: Amber) -> None:
    amber("put", "x", "--session", "s1", "--reason", "because")
    amber("put", "y", "--session", "s2")
    rows = [row.strip() for row in amber("log").out.splitlines()[1:]]
    assert rows[1] == "session s2"
    assert rows[3] == "because, session s1"


def test_diff(moved: Amber) -> None:
    head, *rows = moved("diff", "1", "3").out.splitlines()
    assert re.fullmatch(r"from position 1 \(.*\) to position 3 \(.*\)", head)
    assert rows == [
        "~ city: Lisbon (ana) → until 2100-01-01; mentioned 2 times",
        "+ city: Porto (ana) from 2100-01-01",
    ]
    told = moved.json("diff", "0")
    assert (told["start"], told["end"]) == (0, 3)
    assert [each["kind"] for each in told["facts"]] == ["added", "added"]
    assert told["facts"][0]["before"] is None
    assert moved("diff", "2020-01-01", "0").err == "no difference\n"
    moved("undo", "--after", "0")
    assert sorted(moved("diff", "3").out.splitlines()[1:]) == ["- city: Lisbon (ana)", "- city: Porto (ana)"]


def test_diff_counts_what_is_no_fact(imported: Amber) -> None:
    assert imported("diff", "0").out.splitlines()[1:] == ["~ beside the facts: 119 messages, 6 sessions"]
    assert imported.json("diff", "0")["others"] == {"messages": 119, "sessions": 6}


def test_stats(imported: Amber) -> None:
    imported("put", "x")
    shown = imported("stats").out
    assert f"memory  {imported.folder / 'memory.db'}\n" in shown
    assert "holds   1 fact, 119 messages, 6 sessions\n" in shown
    told = imported.json("stats")
    assert told["documents"]["messages"] == 119
    assert told["db"] == str(imported.folder / "memory.db")
    assert told["bytes"] > 0
    assert "holds   nothing yet\n" in imported("stats", "--space", "empty").out


def test_verify(imported: Amber, monkeypatch: pytest.MonkeyPatch) -> None:
    assert imported("verify").out == "sound: 125 documents of space default and all that is derived from them\n"
    assert imported.json("verify") == {"space": "default", "problems": []}
    problem = Problem("index", "facts", "k", "k is missing from index all.")
    monkeypatch.setattr(Memory, "verify", lambda _: [problem])
    shown = imported("verify", code=1).out.splitlines()
    assert shown == ["1 problem in space default:", "  index     k is missing from index all."]
    assert imported.json("verify", code=1)["problems"] == [problem._asdict()]


def test_verify_finds_real_damage(amber: Amber) -> None:
    amber("put", "x")
    amber("put", "y")
    connection = sqlite3.connect("memory.db")
    connection.execute("DELETE FROM amber_log WHERE position = 2")
    connection.commit()
    connection.close()
    assert amber.json("verify", code=1)["problems"]


def test_every_command_is_there() -> None:
    from amber.cli.app import cli

    wanted = (
        "import recall sessions show put patch delete restore facts at log undo redo diff "
        "label labels unlabel export load backup trim forget scrub stats verify"
    ).split()
    assert list(cli.commands) == wanted
    assert all(isinstance(each, Command) for each in cli.commands.values())
