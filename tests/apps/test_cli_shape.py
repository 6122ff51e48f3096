"""The command line as a whole: help, shared options, errors and exit codes, the reference."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import click
import pytest
from tests.apps.conftest import Amber

from amber import errors
from amber.cli import exits
from amber.cli.app import cli
from amber.cli.base import Command
from amber.cli.reference import reference
from amber.memory import Memory

COMMANDS = sorted(cli.commands)
DOCS = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"


def tree(cls: type[errors.AmberError] = errors.AmberError) -> list[type[errors.AmberError]]:
    return [
        cls,
        *(each for below in cls.__subclasses__() if below.__module__ == "amber.errors" for each in tree(below)),
    ]


def test_reference_is_what_the_help_says() -> None:
    assert DOCS.read_text("utf-8") == reference(), "run: python -m amber.cli.reference > docs/reference/cli.md"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_examples(amber: Amber, name: str) -> None:
    shown = amber(name, "--help").out
    command = cli.commands[name]
    assert isinstance(command, Command)
    assert command.examples
    for example in command.examples:
        assert example in shown
    for option in command.params:
        if isinstance(option, click.Option):
            assert option.help, (name, option.name)
    assert all(len(line) <= 100 for line in shown.splitlines())
    assert "..." not in command.get_short_help_str(limit=62), "the first sentence is too long for the list of commands"


def test_help_names_codes_and_default_place(amber: Amber) -> None:
    shown = amber("--help").out
    assert str(amber.folder / "data" / "amber" / "amber.db") in "".join(shown.split("\n  "))
    assert "4 conflict" in shown
    assert amber().out == shown
    assert amber("-h").out == shown
    assert amber("put", "-h").out == amber("put", "--help").out


def test_every_error_has_an_exit_code() -> None:
    assert set(exits.EXIT_CODES) == set(tree())
    documented = {int(code) for code, _ in exits.MEANINGS}
    assert set(exits.EXIT_CODES.values()) <= documented
    assert {exits.OK, exits.PROBLEMS, exits.INTERRUPTED, exits.PIPE_CLOSED} <= documented

    class Elsewhere(errors.UniqueViolation):
        pass

    assert exits.exit_code(Elsewhere("x")) == exits.CONFLICT


@pytest.mark.parametrize("cls", tree())
def test_every_error_is_one_line(amber: Amber, monkeypatch: pytest.MonkeyPatch, cls: type[errors.AmberError]) -> None:
    def fail(_: Memory) -> None:
        raise cls("It did not\nwork.", key="k", at=Path("p"))

    amber("put", "x")
    monkeypatch.setattr(Memory, "stats", fail)
    answer = amber("stats", code=exits.EXIT_CODES[cls])
    assert (answer.out, answer.err) == ("", "error: It did not work.\n")
    told = amber("stats", "--json", code=exits.EXIT_CODES[cls])
    assert told.out == ""
    expected = {"code": cls.code, "message": "It did not work.", "retry": cls.retry, "details": {"key": "k", "at": "p"}}
    assert json.loads(told.err) == {"error": expected}


def test_a_fault_is_one_line_too(amber: Amber, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Memory) -> None:
        raise ZeroDivisionError("so it goes")

    amber("put", "x")
    monkeypatch.setattr(Memory, "stats", fail)
    assert amber("stats", code=70).err.startswith("error: ZeroDivisionError: so it goes. This is a fault in Amber;")
    assert json.loads(amber("stats", "--json", code=70).err)["error"]["code"] == "fault"


@pytest.mark.parametrize("missing", ["click", "rich"])
def test_without_its_extra_it_says_what_to_install(missing: str) -> None:
    typed = f"import sys; sys.modules[{missing!r}] = None; from amber.cli import main; main()"
    ended = subprocess.run([sys.executable, "-c", typed], capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stderr == (
        f"error: The command line needs {missing}, which is not installed: pip install 'amber[cli]'\n"
    )


def test_shared_options_before_and_after(amber: Amber) -> None:
    amber("--db", "a.db", "put", "first")
    amber("put", "second", "--db", "b.db", "--space", "s")
    assert [each["payload"] for each in amber("--json", "--db", "a.db", "facts").json["facts"]] == ["first"]
    assert [each["payload"] for each in amber.json("--space", "s", "facts", "--db", "b.db")["facts"]] == ["second"]
    # what stands after the command counts more
    assert amber.json("--db", "a.db", "--space", "x", "stats", "--db", "b.db", "--space", "s")["position"] == 1
    assert not Path("memory.db").exists()


def test_environment_names_memory_space_and_actor(amber: Amber, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMBER_SPACE", "mine")
    monkeypatch.setenv("AMBER_ACTOR", "cron")
    amber("put", "x")
    assert Path("memory.db").exists()
    assert amber.json("stats", "--space", "mine")["position"] == 1
    assert amber.json("stats", "--space", "default")["position"] == 0
    assert amber.json("log")["entries"][0]["actor"] == "cron"
    amber("--actor", "ana", "put", "y")
    amber("put", "z", "--actor", "ben")
    assert [each["actor"] for each in amber.json("log")["entries"]] == ["ben", "ana", "cron"]


def test_default_place(amber: Amber, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AMBER_DB")
    place = amber.folder / "data" / "amber" / "amber.db"
    assert str(place) in amber("stats", code=3).err
    amber("put", "x")
    assert amber.json("stats")["db"] == str(place)


def test_a_command_that_reads_makes_no_memory(amber: Amber) -> None:
    for words in (["stats"], ["facts"], ["recall", "x"], ["log"], ["undo"], ["verify"], ["at", "1"], ["delete", "x"]):
        assert "There is no memory at" in amber(*words, code=3).err
    assert not list(amber.folder.glob("memory.db*"))


def test_a_memory_of_one_command_says_so(amber: Amber) -> None:
    assert "nothing of it is kept" in amber("--db", "memory:", "put", "x").err
    assert amber("--db", "memory:", "facts").err == "no facts\n"


def test_version(amber: Amber) -> None:
    assert amber("--version").out.startswith("amber 0.")
