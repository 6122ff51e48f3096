"""Fixtures for the command line: a memory in a new folder, and a way to type commands."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

from amber.cli.app import cli

EXAMPLES = Path(__file__).parents[2] / "examples"


class Answer(NamedTuple):
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Amber:
    """Types commands."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *words: str, code: int = 0, stdin: str | bytes | None = None) -> Answer:
        result = CliRunner().invoke(cli, list(words), input=stdin, prog_name="amber")
        answer = Answer(result.exit_code, result.stdout, result.stderr)
        assert answer.code == code, answer
        assert "Traceback" not in answer.err
        return answer

    def json(self, *words: str, code: int = 0) -> Any:
        return self(*words, "--json", code=code).json


@pytest.fixture
def amber(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Amber]:
    """Give a command line with a new memory, in Lisbon, in a folder of its own."""
    for name in ("AMBER_SPACE", "AMBER_ACTOR", "AMBER_TRACEBACK", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AMBER_DB", str(tmp_path / "memory.db"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TZ", "Europe/Lisbon")
    time.tzset()
    yield Amber(tmp_path)
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def examples(tmp_path: Path) -> str:
    """Give a copy of the recorded sessions."""
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    return "examples"


@pytest.fixture
def imported(amber: Amber, examples: str) -> Amber:
    """Give a command line whose memory holds the recorded sessions."""
    amber("import", examples)
    return amber


@pytest.fixture
def environment(amber: Amber) -> dict[str, str]:
    """Give the environment of a new process that has the same memory."""
    # a pager that waits for a key would wait for ever
    return {**os.environ, "PYTHONUTF8": "1", "PAGER": "cat"}
