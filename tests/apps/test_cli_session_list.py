"""sessions: what is there, newest first."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from tests.apps.conftest import Amber
from tests.apps.recorded import DRIVES, HOSTILE, lines, session_id, titled, write
from tests.apps.test_cli_process import ESCAPES, on_terminal

from amber.backends.sqlite import SQLiteStore
from amber.cli.moments import ago

LIMITER = "d6cad1a0-1aed-4f42-b642-44167daf8c5a"


def test_a_pipe_gets_fields_with_tabs_between(imported: Amber) -> None:
    answer = imported("sessions")
    rows = [line.split("\t") for line in answer.out.splitlines()]
    assert [row[0][:8] for row in rows] == ["0368ce35", "33048521", "d6cad1a0", "8d55e484", "9bd5f3dd"]
    assert rows[2] == [
        *(LIMITER, "2026-10-07T14:31:21+01:00", "claude", "28", "home/ana/atlas"),
        "Shared rate limiter for the fare API",
    ]
    # no program gave this one a title: it is named by what it opens with
    assert rows[1][5].startswith("It's Thursday, so deploy.")
    assert answer.err == "1 subagent not shown: amber sessions --subagents\n"
    everything = imported("sessions", "--subagents")
    assert len(everything.out.splitlines()) == 6
    assert everything.err == ""


def test_json_is_a_line_for_each_session(imported: Amber) -> None:
    rows = [json.loads(line) for line in imported("sessions", "--json", "--subagents").out.splitlines()]
    limiter = next(row for row in rows if row["id"] == LIMITER)
    assert (limiter["short"], limiter["messages"], limiter["format"]) == ("d6cad1a0", 28, "claude")
    assert limiter["title"] == "Shared rate limiter for the fare API"
    assert limiter["opening"].startswith("I have to correct myself")
    assert limiter["started_at"] == "2026-10-07T14:31:21.016000+01:00"
    assert "read" not in limiter
    agent = next(row for row in rows if row["agent"] is not None)
    assert (agent["short"], agent["parent"]) == ("9bd5f3dd/b7e42d10", "9bd5f3dd-113c-493e-8193-d0d445a3ba4a")
    assert agent["opening"].startswith("Find every place")


def test_filters_and_pages(imported: Amber) -> None:
    def ids(*words: str) -> list[str]:
        return [line[:8] for line in imported("sessions", *words).out.splitlines()]

    every = ids()
    assert ids("--format", "codex") == ["33048521", "8d55e484"]
    assert ids("--since", "2026-10-07") == every[:3]
    assert ids("--until", "2026-10-07") == every[3:]
    assert ids("--sender", "me", "--project", "home/ana") == every
    assert ids("--project", "elsewhere") == ids("--sender", "ben") == []
    first = imported("sessions", "--limit", "2")
    assert first.err == "older: amber sessions --before 33048521\n"
    assert ids("--limit", "2", "--before", "33048521") == every[2:4]
    last = imported("sessions", "--before", "8d55")
    assert ([line[:8] for line in last.out.splitlines()], "older" in last.err) == (every[4:], False)
    # nothing is left out that a next page would have
    assert "older" not in imported("sessions", "--limit", "5").err
    assert ids("--limit", "1", "--all") == every


def test_nothing_there_says_how_to_begin(amber: Amber) -> None:
    amber("put", "x")
    answer = amber("sessions")
    assert answer.out == ""
    assert answer.err == ("no sessions yet; take recorded ones in: amber import ~/.claude/projects ~/.codex/sessions\n")
    assert "without the options" in amber("sessions", "--project", "nowhere").err
    assert (amber("sessions", "--json").out, amber("sessions", "--json").err) == ("", "")


def test_bad_input(imported: Amber) -> None:
    for words, code, said in (
        (["--before", "nope"], 3, "There is no recorded session 'nope'"),
        (["--since", "soon"], 2, "'soon' is not a time"),
        (["--limit", "0"], 2, "not in the range"),
        (["--project", "a//b"], 2, "empty segment"),
        (["--sender", ""], 2, "non-empty"),
    ):
        answer = imported("sessions", *words, code=code)
        assert said in answer.err
        assert answer.out == ""


@pytest.fixture
def awkward(amber: Amber) -> Amber:
    """Give a memory with sessions whose titles do not fit, or should not be shown as they are."""
    folder = Path("awkward")
    titles = [
        "京都は日本の都市で、かつての首都です。" * 20,
        "🦓👩‍👩‍👧 zebra " * 40,
        "x" * 5_000,
        HOSTILE,
        "one\ntwo\tthree",
        "ok",
    ]
    for n, title in enumerate(titles):
        write(folder / f"{n}.jsonl", *lines(n, ("user", "hi"), ("assistant", "yes")), titled(n, title))
    write(folder / "asked.jsonl", *lines(7, ("user", "京都\n" + HOSTILE), cwd=f"/{'deep/' * 40}京都の会話"))
    write(folder / "empty.jsonl", *lines(8, ("assistant", "nobody asked")))
    amber("import", "awkward")
    return amber


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_line_is_wider_than_the_terminal(awkward: Amber, environment: dict[str, str], width: int) -> None:
    shown = on_terminal("sessions", "--no-pager", env=environment, width=width)
    assert not DRIVES.search(shown)
    rows = ESCAPES.sub("", shown).splitlines()
    assert len(rows) == 9
    assert all(cell_len(row) <= width for row in rows)
    assert [row.split()[0] for row in rows] == ["id", *(session_id(n)[:8] for n in (8, 7, 5, 4, 3, 2, 1, 0))]
    assert rows[1].endswith("nothing was asked"[: width - 23])
    assert rows[3].rstrip().endswith("ok")
    assert rows[4].rstrip().endswith("one two three")
    assert rows[6].endswith("…")


def test_a_pipe_gets_all_of_it_and_nothing_that_acts(awkward: Amber) -> None:
    out = awkward("sessions").out
    assert "\x1b" not in out
    assert not DRIVES.search(out)
    rows = [line.split("\t") for line in out.split("\n")[:-1]]
    assert [len(row) for row in rows] == [6] * 8
    assert rows[5][5] == "x" * 5_000
    assert rows[3][5] == "one two three"
    assert "…" not in out
    # JSON holds what was recorded, escaped
    told = awkward("sessions", "--json").out
    assert not DRIVES.search(told)
    assert HOSTILE in {json.loads(line)["title"] for line in told.splitlines()}


def test_times_by_their_distance() -> None:
    now = datetime(2026, 10, 7, 12).astimezone()
    assert ago(now - timedelta(hours=3), now) == "today 09:00"
    assert ago(now - timedelta(hours=13), now) == "yesterday 23:00"
    assert ago(now - timedelta(days=3), now) == "Sun 12:00"
    assert ago(now - timedelta(days=7), now) == "2026-09-30"
    assert ago(now + timedelta(days=1), now) == "2026-10-08"
    assert ago(None, now) == ""


def test_thousands_of_sessions_need_few_reads(amber: Amber, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(1_500):
        write(Path("many", f"{n}.jsonl"), *lines(n * 7919, ("user", f"do {n}")))
    amber("import", "many")
    reads: Counter[str] = Counter()

    def counted(name: str) -> None:
        real = getattr(SQLiteStore, name)

        def call(self: SQLiteStore, *given: Any, **more: Any) -> Any:
            reads[name] += 1
            return real(self, *given, **more)

        monkeypatch.setattr(SQLiteStore, name, call)

    for name in ("get", "get_many", "scan", "count", "lookup", "log"):
        counted(name)
    rows = amber("sessions", "--all").out.splitlines()
    assert len(rows) == len({row.split("\t")[0] for row in rows}) == 1_500
    assert sum(reads.values()) < 100, reads
    reads.clear()
    assert len(amber("sessions", "--limit", "20").out.splitlines()) == 20
    # one look at those beside each name
    assert sum(reads.values()) < 20 + 12, reads


def test_a_list_longer_than_the_screen_is_paged(awkward: Amber, environment: dict[str, str], tmp_path: Path) -> None:
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\necho PAGED\ncat\n")
    pager.chmod(0o755)
    env = {**environment, "PAGER": str(pager)}
    assert "PAGED" not in on_terminal("sessions", env=env)
    shown = on_terminal("sessions", env=env, height=6)
    assert "PAGED" in shown
    assert len(re.findall(r"^[0-9a-f]{8} ", shown, re.MULTILINE)) == 8
    assert "PAGED" not in on_terminal("sessions", "--no-pager", env=env, height=6)
    assert "PAGED" not in on_terminal("sessions", "--json", env=env, height=6)
