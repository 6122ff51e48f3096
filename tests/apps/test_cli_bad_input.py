"""What can be mistyped: one line, the right exit code, nothing written."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from tests.apps.conftest import Amber


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["frob"], "No such command 'frob'"),
        (["facts", "--frob"], "No such option '--frob'"),
        (["put"], "Missing argument"),
        (["recall"], "Missing argument"),
        (["import"], "Missing argument"),
        (["put", ""], "VALUE is empty"),
        (["put", "x", "--as-json"], "VALUE is not JSON"),
        (["put", '{"a": NaN}', "--as-json"], "NaN is not a JSON number"),
        (["put", "null", "--as-json"], "None is no fact"),
        (["put", "[" * 100_000, "--as-json"], "VALUE is not JSON"),
        (["put", "x", "--trust", "7"], "trust must be a number from 0 to 1"),
        (["put", "x", "--trust", "much"], "is not a valid float"),
        (["put", "x", "--source", "rumour"], "rumour"),
        (["put", "x", "--ttl", "soon"], "'soon' is not a duration"),
        (["put", "x", "--ephemeral"], "needs the session"),
        (["put", "x", "--key", ""], "key must be a non-empty text"),
        (["put", "x", "--project", "a//b"], "empty segment"),
        (["put", "x", "--valid-from", "2026-02-30"], "is not a time"),
        (["put", "x", "--valid-until", "2020-01-01"], "must be after"),
        (["patch", "nope", "{"], "The patch is not JSON"),
        (["recall", "x", "--since", "garbage"], "'garbage' is not a time"),
        (["recall", "x", "--limit", "0"], "limit must be"),
        (["recall", "x", "--kind", "rumour"], "rumour"),
        (["facts", "--where", "payload.role"], "--where needs PATH=JSON"),
        (["facts", "--where", "payload.=1"], "empty segment"),
        (["facts", "--where", "payload.a=[1"], "is not JSON"),
        (["facts", "--after", "zz"], "no cursor"),
        (["facts", "--limit", "0"], "is not in the range"),
        (["facts", "some", "--sender", "ana"], "leave the filters out"),
        (["at", "99"], "Position 99 is not in the log"),
        (["at", "2026-02-30"], "'2026-02-30' is not a time"),
        (["label", "12:00"], "reads as a number or a time"),
        (["label", "x", "99"], "Position 99 is not in the log"),
        (["trim"], "Say what shall go"),
        (["trim", "--older-than", "soon"], "'soon' is not a duration"),
        (["trim", "--keep", "-1"], "is not in the range"),
        (["export", "."], "is a folder"),
        (["export", "no/such/folder/x"], "There is no folder"),
        (["backup", "."], "is a folder"),
        (["diff", "1", "0"], "swap them"),
        (["diff", "0", "99"], "Position 99 is not in the log"),
        (["undo", "first"], "is not a valid integer"),
        (["undo", "1", "--last", "1"], "exclude each other"),
        (["undo", "1", "--session", "s"], "leave POSITION and --after out"),
        (["undo", "--last", "0"], "last must be"),
        (["undo", "--after", "12:61"], "is not a time"),
        (["log", "--fact", "x", "--actor", "y"], "leave --session, --actor"),
        (["log", "--limit", "many"], "is not a valid integer"),
        (["import", "missing"], "There is no file or folder 'missing'"),
        (["stats", "--space", ""], "space must be a non-empty text"),
        (["stats", "--space", "x" * 300], "over the bound"),
        (["stats", "--db", ""], "named by a path or URL"),
        (["stats", "--db", "mysql://host/db"], "has no store for mysql:// URLs"),
        (["stats", "--db", "sqlite:///memory.db?durability=never"], "durability must be"),
    ],
)
def test_bad_input_is_one_line_and_code_2(amber: Amber, words: list[str], said: str) -> None:
    amber("put", "x")
    answer = amber(*words, code=2)
    assert answer.out == ""
    assert answer.err.startswith("error: ")
    assert answer.err.count("\n") == 1
    assert said in answer.err
    told = json.loads(amber("--json", *words, code=2).err)["error"]
    assert said in told["message"]
    assert told["code"] in ("usage", "bad_input", "too_large", "unsupported")
    assert amber.json("stats")["position"] == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["facts", "nope"], "There is no fact 'nope'"),
        (["delete", "nope"], "There is no fact 'nope'"),
        (["restore", "nope"], "There is no fact 'nope'"),
        (["patch", "nope", "{}"], "There is no fact 'nope'"),
        (["log", "--fact", "nope"], "There is no fact 'nope'"),
        (["undo", "99"], "no position 99"),
        (["undo", "0"], "no position 0"),
        (["undo", "--session", "nope"], "nothing to undo of session 'nope'"),
        (["undo", "--after", "1"], "Nothing was written after position 1"),
        (["redo"], "nothing to redo"),
    ],
)
def test_what_is_not_there_has_code_3(amber: Amber, words: list[str], said: str) -> None:
    amber("put", "x")
    answer = amber(*words, code=3)
    assert said in answer.err
    assert answer.out == ""


def test_a_folder_is_no_memory(amber: Amber) -> None:
    assert "is a folder" in amber("stats", "--db", ".", code=2).err
    assert "is a folder" in amber("put", "x", "--db", ".", code=2).err


def test_a_text_file_is_no_memory_and_stays_as_it_is(amber: Amber) -> None:
    Path("notes.txt").write_text("some notes that are no database\n" * 100)
    before = Path("notes.txt").read_bytes()
    assert "not a SQLite database" in amber("stats", "--db", "notes.txt", code=6).err
    assert "not a SQLite database" in amber("put", "x", "--db", "notes.txt", code=6).err
    assert Path("notes.txt").read_bytes() == before


def test_missing_folders_are_made_for_a_write_only(amber: Amber) -> None:
    assert "There is no memory at" in amber("stats", "--db", "a/b/c.db", code=3).err
    assert not Path("a").exists()
    amber("put", "x", "--db", "a/b/c.db")
    assert amber.json("stats", "--db", "a/b/c.db")["position"] == 1


def test_a_place_that_can_not_be_made(amber: Amber) -> None:
    Path("file").write_text("")
    assert "error: " in amber("put", "x", "--db", "file/m.db", code=5).err


def test_a_locked_memory(amber: Amber) -> None:
    amber("put", "x")
    other = sqlite3.connect("memory.db", isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        answer = amber("put", "y", "--db", f"sqlite:///{amber.folder}/memory.db?timeout=0.05", code=5)
        assert "holds the write lock" in answer.err
        assert len(amber.json("facts")["facts"]) == 1
    finally:
        other.close()
    amber("put", "y")


def test_standard_input_that_is_no_text(amber: Amber) -> None:
    assert "not UTF-8" in amber("put", "-", stdin=b"\xff\xfe", code=2).err
    assert "VALUE is empty" in amber("put", "-", stdin="\n", code=2).err
