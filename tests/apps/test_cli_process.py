"""The command as a process: pipes, terminals, signals, the demo."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from rich.cells import cell_len
from tests.apps.conftest import Amber

AMBER = (sys.executable, "-m", "amber")
ROOT = Path(__file__).parents[2]
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def run(*words: str, env: dict[str, str], **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*AMBER, *words], env=env, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload,no-any-return]


def on_terminal(*words: str, env: dict[str, str], width: int = 80, height: int = 24) -> str:
    """Run a command on a terminal of some size and give all that it wrote."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
    with subprocess.Popen(
        [*AMBER, *words], stdin=theirs, stdout=theirs, stderr=theirs, env={**env, "TERM": "xterm"}
    ) as process:
        os.close(theirs)
        wrote = b""
        while True:
            ready, _, _ = select.select([ours], [], [], 30)
            assert ready, "the command hangs"
            try:
                piece = os.read(ours, 65536)
            except OSError:
                break
            if not piece:
                break
            wrote += piece
    os.close(ours)
    assert process.returncode == 0, wrote
    return wrote.decode().replace("\r\n", "\n")


def test_environment_and_pipe(amber: Amber, environment: dict[str, str], examples: str) -> None:
    done = run("import", examples, env=environment)
    assert (done.returncode, done.stderr) == (0, "to take this back: amber undo --after 0\n")
    assert "119 new messages" in done.stdout
    found = run("recall", "mocks", env={**environment, "FORCE_COLOR": ""})
    assert "\x1b" not in found.stdout
    assert "[mocks]" in found.stdout
    assert all(line == line.rstrip() for line in found.stdout.splitlines())
    elsewhere = run("stats", "--json", env={**environment, "AMBER_SPACE": "other"})
    assert json.loads(elsewhere.stdout)["space"] == "other"
    missing = run("stats", env={**environment, "AMBER_DB": "nowhere.db"})
    assert (missing.returncode, missing.stdout) == (3, "")


def test_long_lines_are_whole_when_piped(amber: Amber, environment: dict[str, str]) -> None:
    amber("put", "word " * 200)
    assert "…" not in run("facts", env=environment).stdout
    assert "…" in on_terminal("facts", env=environment)


@pytest.mark.parametrize("words", [["log", "--limit", "10000"], ["facts", "--limit", "10000", "--json"], ["--help"]])
def test_a_reader_that_goes_away(amber: Amber, environment: dict[str, str], words: list[str]) -> None:
    from amber.memory import Memory

    with Memory.open(environment["AMBER_DB"]) as memory:
        for n in range(1_000):
            with memory.transaction() as transaction:
                transaction.facts.put(f"fact {n} " + "x" * 100)
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        ended = subprocess.run([*AMBER, *words], env=environment, stdout=closed, stderr=subprocess.PIPE, check=False)
    assert ended.returncode == 141
    assert ended.stderr == b""


def test_interrupt(amber: Amber, environment: dict[str, str]) -> None:
    # whoever started the tests may have told its children to ignore the signal
    heed = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    typed = f"{heed}; from amber.cli.app import cli; print('ready', flush=True); cli.main(['put', '-'])"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", typed], env=environment, **pipes) as process:  # type: ignore[call-overload]
        assert process.stdout.readline() == b"ready\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert said.decode().strip() == "interrupted"
    assert not Path(environment["AMBER_DB"]).exists()


def test_letters_that_the_output_does_not_know(amber: Amber, environment: dict[str, str]) -> None:
    amber("put", "京都")
    narrow = {**environment, "PYTHONUTF8": "0", "PYTHONIOENCODING": "latin-1"}
    assert run("facts", env=narrow).stdout.endswith("??\n")
    assert json.loads(run("facts", "--json", env=narrow).stdout)["facts"][0]["payload"] == "京都"


@pytest.mark.parametrize("width", [80, 120])
def test_on_a_terminal_no_line_is_too_long(imported: Amber, environment: dict[str, str], width: int) -> None:
    long = "京都は日本の都市で、かつての首都です。" * 9
    imported(
        "put", long, "--key", "note", "--sender", "ana", "--project", "team/atlas", "--type", "text", "--reason", long
    )
    imported("put", "something else", "--key", "note", "--sender", "ana", "--project", "team/atlas")
    id = imported.json("facts", "--all")["facts"][0]["id"]
    for words in (
        ["facts", "--all"],
        ["facts", id],
        ["log"],
        ["at", "8"],
        ["diff", "0"],
        ["recall", "京都"],
        ["stats"],
    ):
        shown = on_terminal(*words, env=environment, width=width)
        assert "\x1b[" in shown
        for line in ESCAPES.sub("", shown).splitlines():
            if not line.startswith("older: "):
                assert cell_len(line) <= width, (words, line)
        plain = on_terminal(*words, env={**environment, "NO_COLOR": "1"}, width=width)
        assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", plain), words


def test_matches_stand_out_on_a_terminal(amber: Amber, environment: dict[str, str]) -> None:
    amber("put", "see [the docs] about green tea [here]")
    shown = on_terminal("recall", "green tea docs", env=environment)
    first = shown.splitlines()[0]
    assert ESCAPES.sub("", first) == "see [the docs] about green tea [here]"
    assert re.findall(r"\x1b\[1;33m(\w+)\x1b", first) == ["docs", "green", "tea"]


def test_progress_on_a_terminal_only(amber: Amber, environment: dict[str, str], examples: str) -> None:
    shown = on_terminal("import", examples, env=environment)
    assert "\x1b[?25l" in shown
    assert "119 new messages" in shown
    again = on_terminal("import", examples, "--json", env=environment)
    assert [json.loads(line)["status"] for line in again.splitlines()] == ["unchanged"] * 6


def test_demo(amber: Amber, environment: dict[str, str], tmp_path: Path) -> None:
    bin = tmp_path / "bin"
    bin.mkdir()
    (bin / "amber").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m amber "$@"\n')
    (bin / "amber").chmod(0o755)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    env = {**environment, "PATH": f"{bin}:{environment['PATH']}", "TMPDIR": str(scratch)}
    demo = ["sh", str(ROOT / "scripts" / "demo.sh")]
    ended = subprocess.run(demo, env=env, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    for said in (
        "6 sessions (4 claude, 2 codex), 119 new messages",
        "nothing new: 6 sessions already in the memory",
        "is 40 requests a minute, not 60",
        "in [tests]. We have a real Postgres",
        "Agreed, Postgres [advisory] [locks]",
        "às quintas",
        "\tCity search in Japanese and Chinese\n",
        "▌ Agreed, Postgres advisory locks",
        "2 mentions  city: Lisbon (ana)",
        "- city: Porto (ana)",
        "+ city: Porto (ana)",
        "sound: 127 documents",
    ):
        assert said in ended.stdout
    assert not list(scratch.iterdir())
    # also when something fails
    (bin / "amber").write_text("#!/bin/sh\nexit 6\n")
    assert subprocess.run(demo, env=env, capture_output=True, check=False).returncode == 6
    assert not list(scratch.iterdir())
