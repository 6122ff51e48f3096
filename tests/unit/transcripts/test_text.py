"""Readable text, times, and the shapes of calls."""

from typing import Any

import pytest

from amber.pipeline.transcripts.text import clean, show_call, show_image, show_image_url, to_micros, to_offset


@pytest.mark.parametrize(
    ("name", "arguments", "shown"),
    [
        ("Bash", {"command": "ls -l", "description": "List"}, "Bash: ls -l"),
        ("Read", {"file_path": "/a.py", "limit": 3}, "Read: /a.py"),
        ("Grep", {"pattern": "lock", "path": "src"}, "Grep: lock in src"),
        ("WebFetch", {"url": "https://example.org", "prompt": "limits?"}, "WebFetch: https://example.org - limits?"),
        ("Agent", {"description": "Explore", "prompt": "Find it"}, "Agent: Find it"),
        ("shell", {"command": ["bash", "-lc", "ls | wc"]}, "shell: ls | wc"),
        ("shell", {"command": ["git", "status"]}, "shell: git status"),
        ("TodoWrite", {"todos": [{"content": "x"}]}, 'TodoWrite: {"todos":[{"content":"x"}]}'),
        ("shell", {"command": [1, 2]}, 'shell: {"command":[1,2]}'),
        ("apply_patch", "*** Begin", "apply_patch: *** Begin"),
        ("ExitPlanMode", {}, "ExitPlanMode"),
        ("x", None, "x"),
        ("x", "", "x"),
        ("x", [1], "x: [1]"),
    ],
)
def test_calls(name: str, arguments: Any, shown: str) -> None:
    assert show_call(name, arguments) == shown


def test_long_unknown_arguments_are_cut() -> None:
    assert len(show_call("x", {"a": "y" * 10_000})) < 2100


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        ("no escapes [0m", "no escapes [0m"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b[2K\x1b[1Gline", "line"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b(Bplain\x1b=", "plain"),
        ("ends in \x1b", "ends in \x1b"),
    ],
)
def test_terminal_escapes(raw: str, plain: str) -> None:
    assert clean(raw) == plain


def test_images() -> None:
    assert show_image("image/png", "QUJD") == "[image image/png 1 kB]"
    assert show_image(None, None) == "[image]"
    assert show_image("x" * 99, 7) == "[image]"
    assert show_image_url({"url": "data:image/gif;base64,QUJD"}) == "[image image/gif 1 kB]"
    assert show_image_url("https://example.org/a.png") == "[image https://example.org/a.png]"
    assert show_image_url(None) == "[image]"


@pytest.mark.parametrize(
    ("stamp", "micros", "offset"),
    [
        ("1970-01-01T00:00:00.001Z", 1000, "+00:00"),
        ("1969-12-31T23:59:59Z", -1_000_000, "+00:00"),
        ("1970-01-01T01:00:00+01:00", 0, "+01:00"),
        ("1970-01-01T00:00:00", 0, None),
        ("0001-01-01T00:00:00+14:00", -62_135_647_200_000_000, "+14:00"),
        ("yesterday", None, None),
        (1.5, None, None),
        (None, None, None),
        ("", None, None),
    ],
)
def test_times(stamp: object, micros: int | None, offset: str | None) -> None:
    assert to_micros(stamp) == micros
    assert to_offset(stamp) == offset
