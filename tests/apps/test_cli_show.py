"""show: a recorded session as people read it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console
from tests.apps.conftest import Amber
from tests.apps.recorded import DRIVES, HOSTILE, call, lines, result, session_id, titled, write
from tests.apps.test_cli_process import ESCAPES, on_terminal

from amber.memory import Memory

LIMITER = "d6cad1a0-1aed-4f42-b642-44167daf8c5a"


def body(shown: str) -> str:
    """Give the conversation without the header."""
    return shown[shown.index("── ") :]


def numbers(shown: str) -> list[int]:
    return [int(n) for n in re.findall(r"^ *(\d+)  \d\d:\d\d:\d\d  ", shown, re.MULTILINE)]


def test_the_header_says_whose_session_it_is(imported: Amber) -> None:
    head = imported("show", "d6cad1a0").out.split("── ")[0].splitlines()
    assert head[:2] == ["Shared rate limiter for the fare API", ""]
    said = {line[:10].strip(): line[10:] for line in head[2:] if line}
    assert said["session"] == LIMITER
    assert said["project"] == "home/ana/atlas"
    assert said["program"] == "claude 2.1.214, model claude-opus-4-8"
    assert said["time"] == "2026-10-07 14:31 to 14:34 (4 min)"
    assert said["holds"] == "28 messages, 4 prompts by me"
    assert said["tokens"] == "60 in, 234,715 in from the cache, 11,471 written to it, 828 out"
    assert said["from"] == f"examples/claude/projects/-home-ana-atlas/{LIMITER}.jsonl"


def test_parents_and_children_name_each_other(imported: Amber) -> None:
    parent = imported("show", "9bd5f3dd").out
    assert "\nchildren  9bd5f3dd/b7e42d10  6 messages  Find every place in /home/ana/atlas" in parent
    child = imported("show", "9bd5f3dd/b7").out
    assert "\nparent    9bd5f3dd  24 messages  Fare refresh ran twice" in child
    # nobody prompts a subagent: its task stands in full where a prompt does
    assert re.search(r"^0  09:\d\d:\d\d  task\n▌ Find every place in /home/ana/atlas", child, re.MULTILINE)
    assert "prompt" not in child.split("── ")[0]
    told = [json.loads(line) for line in imported("show", "9bd5f3dd", "--json").out.splitlines()]
    assert told[0]["children"] == ["9bd5f3dd-113c-493e-8193-d0d445a3ba4a/b7e42d10"]


def test_a_conversation_reads_well(imported: Amber) -> None:
    shown = body(imported("show", "d6cad1a0").out)
    assert shown.startswith("── Wed 2026-10-07\n\n 0  14:31:21  me\n▌ I have to correct myself: the rate limit")
    assert "\n\n 1  14:31:24  claude-opus-4-8\nI will look for it in the code and in the docs at once.\n\n" in shown
    # what tools did: a line each, no blank line between
    assert (
        "\n 2  14:31:30  Grep: \\b60\\b in /home/ana/atlas/atlas\n 3  14:31:33  Read: /home/ana/atlas/README.md\n"
        in shown
    )
    assert "\n 4  14:31:34  → atlas/fares/client.py:18:PER_MINUTE = 60 " in shown
    assert "\n17  14:33:38  → failed: Exit code 2 " in shown
    assert "\n13  14:33:28  thinking  One UPDATE that refills " in shown
    assert "\n19  14:33:46  summary  This session is being continued " in shown
    # what was edited and sent again
    assert numbers(shown) == [n for n in range(28) if n != 11]
    assert "11  14:33:00  me  retracted: edited and sent again\n" in imported("show", "d6cad1a0", "--retracted").out


def test_nothing_is_folded_in_full(imported: Amber) -> None:
    shown = imported("show", "d6cad1a0", "--full").out
    assert (
        "\n17  14:33:38  Bash failed\nExit code 2\nE   AssertionError: 41 requests went out in the first minute\n"
        in shown
    )
    assert '\n16  14:33:37  Bash called\ncommand: make test ARGS="tests/test_bucket.py -q"\n' in shown
    # what a call writes is shown as lines, not as JSON
    assert re.search(r"^14  14:33:32  Write called\nfile_path: \S+bucket.sql\ncontent:\n(?!\")", shown, re.MULTILINE)
    assert "lines)" not in shown


def test_parts_of_a_session(imported: Amber) -> None:
    def shown(*words: str) -> list[int]:
        return numbers(imported("show", "d6cad1a0", *words).out)

    assert shown("--kinds", "prompt") == [0, 12, 20, 24]
    assert shown("--kinds", "prompt, thinking") == [0, 12, 13, 20, 24]
    assert shown("--no-tools") == [0, 1, 10, 12, 13, 18, 19, 20, 23, 24, 27]
    assert shown("--from", "25") == [25, 26, 27]
    assert shown("--last", "3") == [25, 26, 27]
    assert shown("--last", "2", "--kinds", "prompt") == [20, 24]
    assert shown("--last", "2", "--grep", "RATE_buckets") == [21, 23]
    assert shown("--from", "5", "--limit", "2") == [5, 6]
    answer = imported("show", "d6cad1a0", "--limit", "2")
    assert answer.err == "more: amber show d6cad1a0 --from 2\n"
    assert imported("show", "d6cad1a0", "--from", "26", "--limit", "2").err == ""
    assert imported("show", "d6cad1a0", "--kinds", "error").err.startswith("no messages; try it without")


def test_what_is_looked_for_is_seen_although_it_is_folded(amber: Amber) -> None:
    long = "\n".join(f"line {n}" for n in range(500)) + "\n" + "x" * 300 + " The NEEDLE (here) " + "y" * 300
    said = [("user", "go"), ("assistant", call(1, "Bash", command="find")), ("user", result(1, long))]
    write(Path("s.jsonl"), *lines(1, *said, ("assistant", "no")))
    amber("import", "s.jsonl")
    shown = body(amber("show", "0000", "--grep", "needle (HERE)").out)
    assert numbers(shown) == [2]
    assert "The NEEDLE (here)" in shown
    assert "(501 lines)" in shown
    # a text and no pattern
    assert numbers(amber("show", "0000", "--grep", "n..dle").out) == []


def test_a_message_stands_in_what_was_said_around_it(imported: Amber) -> None:
    answer = imported("show", "d6cad1a0:17", "-C", "2")
    assert numbers(answer.out) == [15, 16, 17, 18, 19]
    assert answer.err == "all of it: amber show d6cad1a0\n"
    assert answer.out.startswith("d6cad1a0  Shared rate limiter for the fare API\n\n── Wed")
    # only the message itself is unfolded
    assert "\nExit code 2\nE   AssertionError" in answer.out
    assert numbers(imported("show", f"{LIMITER}:0").out) == [0, 1, 2, 3, 4, 5]
    assert numbers(imported("show", "d6cad1a0:17", "-C", "0").out) == [17]
    # a retracted one, which is only shown where it is named
    assert numbers(imported("show", "d6cad1a0:11", "-C", "1").out) == [10, 11, 12]
    hit = imported.json("recall", "41 requests went out", "--limit", "1")["hits"][0]
    assert imported("show", hit["id"], "-C", "2").out == answer.out
    agent = imported("show", "9bd5f3dd/b7e4:1", "-C", "0").out
    assert agent.startswith("9bd5f3dd/b7e42d10  Find every place")


def test_a_place_in_a_session_whose_id_holds_a_time(amber: Amber) -> None:
    for n, name in enumerate(("run-2024-08-08T14:02:13", "run-2024-08-08T14:03:11")):
        said = [("assistant", f"answer {n}.{k} okapi{k}") for k in range(3)]
        write(Path(f"{n}.jsonl"), *lines(n, ("user", "hi"), *said, sessionId=name))
    amber("import", "0.jsonl", "1.jsonl")
    for hit in amber.json("recall", "okapi1")["hits"]:
        assert json.loads(amber("show", hit["place"], "-C", "0", "--json").out.splitlines()[1])["id"] == hit["id"]
        name = hit["place"].rpartition(":")[0]
        assert json.loads(amber("show", name, "--json").out.splitlines()[0])["id"] == hit["session"]
    assert json.loads(amber("show", "run-2024-08-08T14:02:13", "--json").out.splitlines()[0])["messages"] == 4


def test_json_is_a_line_for_the_session_and_each_message(imported: Amber) -> None:
    head, *messages = [json.loads(line) for line in imported("show", "d6cad1a0", "--json").out.splitlines()]
    assert (head["type"], head["id"], head["short"]) == ("session", LIMITER, "d6cad1a0")
    assert {each["type"] for each in messages} == {"message"}
    assert [each["seq"] for each in messages] == [n for n in range(28) if n != 11]
    assert messages[0]["at"] == "2026-10-07T14:31:21.016000+01:00"
    assert messages[2]["tool"]["arguments"]["pattern"] == "\\b60\\b"
    around = [json.loads(line) for line in imported("show", "d6cad1a0:3", "-C", "1", "--json").out.splitlines()]
    assert [each["seq"] for each in around[1:]] == [2, 3, 4]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["nope"], 3, "There is no recorded session 'nope'"),
        (["nope:3"], 3, "There is no recorded session 'nope'"),
        (["d6cad1a0:28"], 3, "has no message 28; they are numbered from 0 to 27"),
        (["d6cad1a0:999999999999999999"], 3, "has no message"),
        (["d6cad1a0:x"], 3, "There is no recorded session 'd6cad1a0:x'"),
        (["d6cad1a0/x"], 3, "There is no recorded session"),
        ([""], 2, "non-empty"),
        (["x" * 600], 2, "over the bound"),
        (["\ud800"], 2, "surrogate"),
        (["d6cad1a0", "--kinds", "prompts"], 2, "--kinds takes prompt, reply"),
        (["d6cad1a0", "--kinds", ","], 2, "not nothing"),
        (["d6cad1a0", "--kinds", "tool_call", "--no-tools"], 2, "which --no-tools leaves out"),
        (["d6cad1a0", "--from", "1", "--last", "2"], 2, "exclude each other"),
        (["d6cad1a0", "--from", "-1"], 2, "not in the range"),
        (["d6cad1a0", "--limit", "0"], 2, "not in the range"),
        (["d6cad1a0", "--grep", ""], 2, "--grep needs a text"),
        (["d6cad1a0:3", "--last", "2"], 2, "SESSION:N shows what is around"),
    ],
)
def test_what_can_not_be_shown(imported: Amber, words: list[str], code: int, said: str) -> None:
    answer = imported("show", *words, code=code)
    assert said in answer.err
    assert answer.err.count("\n") == 1
    assert answer.out == ""


def test_an_ambiguous_name_lists_what_begins_so(amber: Amber) -> None:
    for n in (1, 2):
        write(Path("many", f"{n}.jsonl"), *lines(n, ("user", "hi")))
    write(Path("many", "evil.jsonl"), *lines(3, ("user", "hi"), sessionId="0000\x1b[2J\u202eevil"))
    amber("import", "many")
    answer = amber("show", "0000", code=2)
    assert "is the beginning of 3 sessions" in answer.err
    assert session_id(1) in answer.err
    assert session_id(2) in answer.err
    assert not DRIVES.search(answer.err)
    told = json.loads(amber("show", "0000", "--json", code=2).err)["error"]
    assert {*told["details"]["candidates"]} == {session_id(1), session_id(2), "0000\x1b[2J\u202eevil"}
    # each is named so that it can be typed
    assert not DRIVES.search(amber("sessions").out)
    for row in map(json.loads, amber("sessions", "--json").out.splitlines()):
        assert json.loads(amber("show", row["short"], "--json").out.splitlines()[0])["id"] == row["id"]


@pytest.fixture
def hostile(amber: Amber) -> Amber:
    """Give a memory with a session that has the hostile text in each of its parts."""
    said: list[tuple[str, Any]] = [
        ("user", HOSTILE),
        ("assistant", [{"type": "thinking", "thinking": HOSTILE}]),
        ("assistant", f"{HOSTILE}\rnext\r\nlast\n\tindented"),
        ("assistant", call(1, HOSTILE[:60], command=HOSTILE, other={"k": HOSTILE})),
        ("user", result(1, HOSTILE, is_error=True)),
        ("user", f"<system-reminder>{HOSTILE}</system-reminder>"),
        ("user", "[Request interrupted by user]"),
        ("user", [{"type": "image", "source": {"media_type": HOSTILE[:20], "data": "aGk="}}, {"type": "text", "text": "see"}]),
    ]  # fmt: skip
    more = {"cwd": f"/h/{HOSTILE}".replace("\0", ""), "version": HOSTILE, "gitBranch": HOSTILE}
    write(Path("h.jsonl"), *lines(9, *said, **more), titled(9, HOSTILE))
    amber("import", "h.jsonl", "--sender", "ana\x1b[2J")
    return amber


@pytest.mark.parametrize("options", [[], ["--full"], ["--retracted"], ["--grep", "end"], ["--json"]])
def test_a_transcript_does_not_drive_the_terminal(
    hostile: Amber, environment: dict[str, str], options: list[str]
) -> None:
    for words in (["show", "00000009", *options], ["show", "00000009:3"], ["sessions"], ["recall", "turned"], ["log"]):
        assert not DRIVES.search(hostile(*words).out), words
        assert "\x1b" not in hostile(*words).out
        shown = on_terminal(*words, env=environment, width=60)
        assert not DRIVES.search(shown), (words, DRIVES.search(shown))
    shown = body(hostile("show", "00000009", "--full").out)
    assert "end\nnext\nlast\n\tindented\n" in shown


def test_less_is_given_nothing_that_acts(hostile: Amber, environment: dict[str, str], tmp_path: Path) -> None:
    # less passes colours on and shows other escapes; what reaches it is looked at here
    kept = tmp_path / "kept"
    (tmp_path / "less").write_text(f'#!/bin/sh\necho "$LESS" > {kept}.env\ncat > {kept}\n')
    (tmp_path / "less").chmod(0o755)
    env = {name: value for name, value in environment.items() if name not in ("PAGER", "LESS")}
    on_terminal("show", "00000009", env={**env, "PATH": f"{tmp_path}:{env['PATH']}"}, height=10)
    got = kept.read_text("utf-8")
    assert not DRIVES.search(got)
    assert "\x1b[" in got
    assert Path(f"{kept}.env").read_text() == "-R\n"


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_line_is_wider_than_the_terminal(amber: Amber, environment: dict[str, str], width: int) -> None:
    wide = "京都は日本の都市で、かつての首都です。" * 30
    said: list[tuple[str, Any]] = [
        ("user", wide + "\n" + "🦓" * 200 + "\n\ta\tb\t" + "c" * 300),
        ("assistant", "word " * 200 + "https://example.org/" + "x" * 500),
        ("assistant", call(1, "Bash", command="京" * 500)),
        ("user", result(1, "都\n" * 300)),
        ("user", result(1, "z" * 100_000)),
        ("assistant", [{"type": "thinking", "thinking": wide}]),
    ]
    write(Path("w.jsonl"), *lines(4, *said, cwd="/" + "deep/" * 90), titled(4, wide))
    amber("import", "w.jsonl", "--sender", "京" * 150)
    for options in ([], ["--full"], ["--grep", "京"]):
        shown = on_terminal("show", "00000004", "--no-pager", *options, env=environment, width=width)
        for line in ESCAPES.sub("", shown).splitlines():
            assert cell_len(line) <= width, line
        assert shown.count("🦓") == 200
    # in a pipe nothing is wrapped
    assert f"▌ {wide}\n" in amber("show", "00000004").out


def test_colours_tell_prompts_from_replies_and_can_be_off(imported: Amber, environment: dict[str, str]) -> None:
    shown = on_terminal("show", "d6cad1a0", "--no-pager", env=environment)
    assert re.search(r"\x1b\[1;36mme\x1b\[0m", shown)
    assert re.search(r"\x1b\[32mclaude-opus-4-8\x1b\[0m", shown)
    assert re.search(r"\x1b\[31mExit code 2", shown)
    plain = on_terminal("show", "d6cad1a0", "--no-pager", env={**environment, "NO_COLOR": "1"})
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", plain)
    assert "▌ I have to correct" in ESCAPES.sub("", plain)


def test_images_are_named(amber: Amber, environment: dict[str, str]) -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk=" * 5_000}}
    write(Path("i.jsonl"), *lines(5, ("user", [picture, {"type": "text", "text": "what is it?"}])))
    amber("import", "i.jsonl")
    assert "▌ [image image/png 15 kB]\n▌ what is it?\n" in amber("show", "00000005").out
    shown = on_terminal("show", "00000005", "--no-pager", env=environment)
    assert "\x1b[35m[image image/png 15 kB]" in shown


PAGED = "#!/bin/sh\necho PAGED\ncat\n"


def test_what_is_longer_than_the_screen_is_paged(imported: Amber, environment: dict[str, str], tmp_path: Path) -> None:
    pager = tmp_path / "pager"
    pager.write_text(PAGED)
    pager.chmod(0o755)
    env = {**environment, "PAGER": str(pager)}
    assert "PAGED" in on_terminal("show", "d6cad1a0", env=env)
    assert "PAGED" not in on_terminal("show", "d6cad1a0", env=env, height=200)
    assert "PAGED" not in on_terminal("show", "d6cad1a0", "--no-pager", env=env)
    assert "PAGED" not in on_terminal("show", "d6cad1a0", "--json", env=env)
    assert "PAGED" not in imported("show", "d6cad1a0").out
    # all of it, and in order
    paged = ESCAPES.sub("", on_terminal("show", "d6cad1a0", env=env))
    assert numbers(paged) == [n for n in range(28) if n != 11]


def test_a_pager_that_is_left_early_is_no_failure(amber: Amber, environment: dict[str, str]) -> None:
    write(Path("s.jsonl"), *lines(1, *[("user" if n % 2 else "assistant", f"said {n} " * 50) for n in range(3_000)]))
    amber("import", "s.jsonl")
    shown = on_terminal("show", "0000", env={**environment, "PAGER": "head -n 12"})
    assert shown.count("\n") < 20
    assert "Traceback" not in shown


def test_the_first_page_reads_no_more_than_it_shows(amber: Amber, monkeypatch: pytest.MonkeyPatch) -> None:
    write(Path("s.jsonl"), *lines(1, *[("user" if n % 2 else "assistant", f"said {n}") for n in range(5_000)]))
    amber("import", "s.jsonl")
    read: list[int] = []
    real = Memory.open

    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    def counting(*given: Any, **more: Any) -> Memory:
        memory = real(*given, **more)
        scan = memory._store.scan

        def scanned(*asked: Any, **options: Any) -> Any:
            page = scan(*asked, **options)
            read.append(len(page.rows))
            return page

        monkeypatch.setattr(memory._store, "scan", scanned)
        return memory

    def first_page(pieces: Iterator[str], **_: Any) -> None:
        told = "".join(next(pieces) for _ in range(12))
        assert "said 0" in told

    monkeypatch.setattr(Memory, "open", counting)
    monkeypatch.setattr(
        "amber.cli.showing.make_console", lambda: Console(file=Terminal(), force_terminal=True, width=80, height=24)
    )
    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("click.echo_via_pager", first_page)
    from amber.cli.app import cli

    with pytest.raises(SystemExit) as ended:
        cli.main(["show", "0000"])
    assert ended.value.code == 0
    assert 0 < sum(read) < 200


def test_a_tool_that_gave_nothing(amber: Amber) -> None:
    said = [("user", "go"), ("assistant", call(1, "Bash", command="true")), ("user", result(1, ""))]
    write(Path("s.jsonl"), *lines(1, *said))
    amber("import", "s.jsonl")
    shown = amber("show", "0000").out
    assert re.search(r"^2  \d\d:\d\d:\d\d  → \(empty\)$", shown, re.MULTILINE)
    # one message is a moment and no period
    write(Path("t.jsonl"), *lines(2, ("user", "go")))
    amber("import", "t.jsonl")
    assert "\ntime      2026-10-07 09:00\n" in amber("show", "00000002").out


def test_a_session_without_times_and_names(amber: Amber) -> None:
    records = lines(6, ("user", "when?"), ("assistant", "who knows"))
    for each in records:
        del each["timestamp"]
        del each["version"]
        each["message"].pop("model", None)
    write(Path("t.jsonl"), *records)
    amber("import", "t.jsonl")
    shown = amber("show", "00000006").out
    assert "\n0  me\n▌ when?\n\n1  claude\nwho knows\n" in shown
    assert "time " not in shown
    assert amber("sessions").out.split("\t")[1] == ""


def test_a_session_of_a_program_that_nobody_knew(amber: Amber) -> None:
    """What commands show stands on the documents alone, not on the program that they came from."""
    from amber.model.batch import Append, Put
    from amber.model.message import MESSAGES, SESSIONS, new_session

    with Memory.open("memory.db") as memory:
        identity: dict[str, Any] = {
            "format": "tomorrow",
            "path": None,
            "parent": "gone",
            "agent": None,
            "cwd": None,
            "project": None,
            "title": None,
            "models": [],
            "versions": [],
            "zone": None,
            "sender": "ana",
        }
        blank = {"at": None, "zone": None, "model": None, "tool": None, "tokens": None, "live": True, "project": None}
        message = {**blank, "session": "run 1:00/a", "sender": None, "cwd": None, "branch": None, "line": 1, "uid": "u"}
        writes = [
            Append(MESSAGES.name, f"m{n}", {**message, "seq": n, "role": "user", "kind": kind, "text": f"a {kind}"})
            for n, kind in enumerate(["prompt", "omen", "tool_call", "tool_result"])
        ]
        memory._unit.commit([Put(SESSIONS.name, "run 1:00/a", {**new_session(identity), "messages": 4}), *writes])
    shown = amber("show", "run 1").out
    assert "\nparent    gone (not imported)\n" in shown
    assert "\n0  ana\n▌ a prompt\n\n1  omen  a omen\n2  a tool_call\n3  → a tool_result\n" in shown
    assert numbers(amber("show", "run 1:00/a:2").out) == []
    assert "\n2  " in amber("show", "run 1:00/a:2", "-C", "0").out
    assert amber("sessions", "--subagents").out == "run 1:00/a\t\ttomorrow\t4\t\t\n"
