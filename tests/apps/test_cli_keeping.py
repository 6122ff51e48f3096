"""Labels, trim, export, load and backup, typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.apps.conftest import Amber


@pytest.fixture
def used(amber: Amber) -> Amber:
    """Give a memory with six entries."""
    for word in ("one", "two", "three"):
        amber("put", "--key", "k", word)
    amber("put", "plain")
    amber("undo")
    amber("redo")
    return amber


def test_labels(used: Amber) -> None:
    assert used("labels").err == "no labels\n"
    assert used("label", "before import", "--reason", "to be sure").out == "label before import stands at position 7\n"
    assert used.json("label", "first", "1")["position"] == 1
    used("put", "later")
    assert [line.split()[0] for line in used("labels").out.splitlines()[1:]] == ["1", "7"]
    assert [each["name"] for each in used.json("labels")["labels"]] == ["first", "before import"]
    assert "one" in used("at", "first").out
    assert "later" not in used("at", "before import").out
    assert (
        used("diff", "before import").out.splitlines()[1:] == ["+ later", "+ label first at position 1"]
        or "later" in used("diff", "before import").out
    )
    assert "label before import at position 7" in used("log").out
    assert "undone 9, 8" in used("undo", "--after", "before import").out
    assert [each["name"] for each in used.json("labels")["labels"]] == ["before import"]
    assert used("unlabel", "before import").out == "removed label before import\n"
    assert used.json("labels") == {"labels": [], "oldest": 0}


def test_a_label_that_is_not_there(used: Amber) -> None:
    used("label", "release-1")
    for words in (["at", "relase-1"], ["diff", "relase-1"], ["undo", "--after", "relase-1"], ["unlabel", "relase-1"]):
        assert "'release-1'" in used(*words, code=3).err
    assert "no label 'yesterday', and it is no time" in used("at", "yesterday", code=3).err
    assert "stands at position" in used("label", "release-1", "1", code=4).err
    used("label", "release-1", "1", "--move")


def test_trim(used: Amber) -> None:
    used("label", "early", "1")
    told = used("trim", "--keep", "3", "--dry-run").out
    assert told.startswith("4 entries would go\noldest moment to be seen: position 4 (")
    assert used.json("stats")["position"] == 7
    done = used.json("trim", "--keep", "3")
    assert (done["entries"], done["position"], done["labels"], done["dry_run"]) == (4, 4, ["early"], False)
    assert used("trim", "--keep", "3").out.startswith("nothing to trim\n")
    assert "1 label before it, which can not be looked at: early" in used("trim", "--keep", "3").out
    assert used("trim", "--older-than", "1d").out.startswith("nothing to trim")
    log = used("log")
    assert "the log begins after position 4" in log.err
    assert "redo of 5" in log.out
    assert "oldest moment that can be seen is position 4" in used("at", "2", code=3).err
    assert "oldest moment" in used("undo", "3", code=3).err
    assert "trimmed: can not be looked at" in used("labels").out
    assert used("verify").out.startswith("sound")


def test_export_and_load(used: Amber) -> None:
    told = used("export", "e.jsonl.gz").out
    assert told.startswith("exported 4 facts, 6 log entries\nto e.jsonl.gz (")
    assert "exists already" in used("export", "e.jsonl.gz", code=4).err
    exported = used.json("export", "e.jsonl.gz", "--overwrite")
    loaded = used("load", "e.jsonl.gz", "--db", "new.db", "--space", "s")
    assert loaded.out == "loaded 4 facts, 6 log entries of space default\n"
    again = used.json("export", "f.jsonl", "--db", "new.db", "--space", "s")
    assert again["digest"] == exported["digest"]
    assert used("log", "--db", "new.db", "--space", "s").out == used("log").out
    assert "needs an empty one" in used("load", "f.jsonl", "--db", "new.db", "--space", "s", code=4).err
    assert used.json("load", "f.jsonl", "--db", "json.db")["intact"] is True


def test_by_standard_input_and_output(used: Amber) -> None:
    out = used("export", "-").out
    lines = [json.loads(line) for line in out.splitlines()]
    assert (lines[0]["amber"], lines[-1]["amber"]) == ("export", "end")
    assert used("load", "-", "--db", "new.db", stdin=out).out.startswith("loaded 4 facts")
    assert used("facts", "--db", "new.db").out == used("facts").out


def test_a_load_that_is_not_whole(used: Amber) -> None:
    used("export", "e.jsonl")
    lines = Path("e.jsonl").read_bytes().splitlines(keepends=True)
    entry = next(n for n, line in enumerate(lines) if b'"row":"entry","position":4' in line)
    Path("torn.jsonl").write_bytes(b"".join([*lines[:entry], b"?\n", *lines[entry + 1 : -1], lines[-1][:9]]))
    told = used("load", "torn.jsonl", "--db", "new.db", code=1)
    assert f"  line {entry + 1}: it is not JSON" in told.out
    assert f"  line {len(lines)}: the file breaks off in it" in told.out
    assert "1 log entry missing and marked as lost: 4" in told.out
    assert "lost: this entry could not be loaded" in used("log", "--db", "new.db").out
    assert used("verify", "--db", "new.db").out.startswith("sound")
    answer = used.json("load", "torn.jsonl", "--db", "json.db", code=1)
    assert [each["line"] for each in answer["bad"]] == [entry + 1, len(lines), len(lines) + 1]
    Path("cut.jsonl").write_bytes(b"".join(line for line in lines if b'"row":"document"' not in line))
    gone = used("load", "cut.jsonl", "--db", "gone.db", code=1).out
    assert "4 documents missing that the log knows; to bring back what it knows: amber undo 7" in gone
    used("undo", "7", "--db", "gone.db")
    assert used("facts", "--db", "gone.db").out == used("facts").out
    Path("changed.jsonl").write_bytes(b"".join(lines).replace(b"plain", b"plane"))
    assert "was changed since it was exported" in used("load", "changed.jsonl", "--db", "changed.db").err


def test_what_can_not_be_loaded(used: Amber) -> None:
    assert "There is no file" in used("load", "none.jsonl", "--db", "new.db", code=3).err
    assert not Path("new.db").exists()
    Path("x.jsonl").write_text('{"type": "user"}\n')
    assert "no export of Amber" in used("load", "x.jsonl", "--db", "new.db", code=2).err
    newer = {"amber": "export", "format": 99, "head": {"position": 0, "at": 0}}
    assert "upgrade the amber package" in used("load", "-", "--db", "new.db", stdin=json.dumps(newer), code=6).err
    used("put", "--db", "new.db", "still empty")


def test_backup(used: Amber) -> None:
    assert used("backup", "copy.db").out.startswith("copied to copy.db (")
    assert used("facts", "--db", "copy.db").out == used("facts").out
    assert used("log", "--db", "copy.db").out == used("log").out
    assert "exists already" in used("backup", "copy.db", code=4).err
    used("put", "later")
    answer = used.json("backup", "copy.db", "--overwrite")
    assert (Path(answer["file"]).name, answer["bytes"]) == ("copy.db", Path("copy.db").stat().st_size)
    assert "later" in used("facts", "--db", "copy.db").out
    assert "is the memory itself" in used("backup", "memory.db", "--overwrite", code=4).err
    assert "export it" in used("--db", "memory:", "backup", "x.db", code=2).err
