"""forget, scrub."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from tests.apps.conftest import Amber

from amber.cli import forgetting

WORD = "zebra-41-quartz"


@pytest.fixture
def known(amber: Amber) -> Amber:
    """Give a memory of Ana and Ben."""
    amber("put", WORD, "--sender", "ana", "--key", "word")
    amber("put", f"other {WORD}", "--sender", "ana", "--key", "word", "--actor", "ana")
    amber("put", "Lisbon", "--sender", "ben", "--key", "city")
    return amber


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody can be asked."""
    monkeypatch.setattr(forgetting, "_can_ask", lambda: True)


def holds(word: str) -> bool:
    return any(word.encode() in file.read_bytes() for file in Path().glob("memory.db*"))


def payloads(amber: Amber) -> list[object]:
    return [each["payload"] for each in amber.json("facts", "--all", "--deleted")["facts"]]


def test_it_forgets_and_says_how_much(known: Amber) -> None:
    answer = known("forget", "--sender", "ana", "--yes")
    assert answer.out.splitlines() == [
        "forgot 2 facts (space default)",
        "  3 changes in the log emptied",
        "  1 log entry without the name",
        "raw files: clean",
    ]
    assert answer.err == ""
    assert payloads(known) == ["Lisbon"]
    assert not holds(WORD)
    assert "2 documents forgotten since" in known("log").out
    assert "sound" in known("verify").out
    assert known("forget", "--sender", "ana", "--yes").out.splitlines() == [
        "There is nothing of this sender in space default.",
        "raw files: clean",
    ]


def test_a_dry_run_shows_and_keeps(known: Amber) -> None:
    assert known("forget", "--sender", "ana", "--dry-run").out.splitlines() == [
        "would forget 2 facts (space default)",
        "  3 changes in the log emptied",
        "  1 log entry without the name",
    ]
    assert payloads(known) == [WORD, f"other {WORD}", "Lisbon"]


def test_in_json(known: Amber) -> None:
    planned = known.json("forget", "--sender", "ana", "--dry-run")
    done = known.json("forget", "--sender", "ana", "--yes")
    assert (planned["dry_run"], done["dry_run"]) == (True, False)
    for name in ("scope", "documents", "images", "entries", "others"):
        assert planned[name] == done[name]
    assert done["documents"] == {"facts": 2}
    assert done["positions"] == [4, 5]
    assert (done["remaining"], done["actor"], done["space"]) == ([], None, "default")
    assert known.json("scrub")["done"] is True


def test_it_asks_on_a_terminal(known: Amber, terminal: None) -> None:
    answer = known("forget", "--sender", "ana", stdin="n\n")
    assert "would forget 2 facts" in answer.err
    assert "Forget this for good?" in answer.err
    assert "nothing was forgotten" in answer.err
    assert len(payloads(known)) == 3
    known("forget", "--sender", "ana", stdin="", code=130)
    assert len(payloads(known)) == 3
    assert "forgot 2 facts" in known("forget", "--sender", "ana", stdin="y\n").out
    assert payloads(known) == ["Lisbon"]
    # nothing is there: nothing is asked
    assert "Forget this" not in known("forget", "--sender", "ana", stdin="").err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "Name one of"),
        (["--sender", "a", "--session", "b", "--yes"], "Name one of"),
        (["--sender", "ana"], "say --yes"),
        (["--sender", "", "--yes"], "non-empty"),
        (["--project", "a//b", "--yes"], "empty segment"),
    ],
)
def test_what_it_refuses(known: Amber, words: list[str], told: str) -> None:
    assert told in known("forget", *words, code=2).err
    assert len(payloads(known)) == 3


def test_projects_and_sessions(imported: Amber) -> None:
    imported("put", "x", "--project", "team/atlas")
    imported("put", "y", "--project", "team/atlas-two")
    assert "forgot 1 fact (" in imported("forget", "--project", "team/atlas", "--yes").out
    assert payloads(imported) == ["y"]
    session = "9bd5f3dd-113c-493e-8193-d0d445a3ba4a"
    assert "2 sessions" in imported("forget", "--session", session, "--yes").out


def test_a_reader_makes_exit_code_1(known: Amber) -> None:
    other = sqlite3.connect("memory.db")
    try:
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM amber_facts").fetchall()
        answer = known("forget", "--sender", "ana", "--yes", code=1)
        assert "raw files: still in the write-ahead log" in answer.out
        assert json.loads(known("scrub", "--json", code=1).out)["done"] is False
    finally:
        other.close()
    assert known("scrub").out == "raw files: clean\n"
    assert not holds(WORD)


def test_it_makes_no_memory(amber: Amber) -> None:
    for words in (["forget", "--sender", "ana", "--yes"], ["scrub"]):
        assert "There is no memory at" in amber(*words, code=3).err
    assert not list(amber.folder.glob("memory.db*"))
