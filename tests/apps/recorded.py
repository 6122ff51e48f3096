"""Recorded sessions made for tests of the command line, with what is awkward in them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

#: What drives a terminal: colours, the title, the clipboard, the cursor, C1 codes, turned writing, line separators.
HOSTILE = (
    "red \x1b[31m title \x1b]0;owned\x07 clip \x1b]52;c;aGk=\x07 up \x1b[A\x1b[2J c1 \x9b31m\x9d0;x\x9c back \x08\x7f nul \0"
    " turned \u202e\u2066 sep \u2028\u2029\x85\x0b\x0c end"
)
#: What a terminal must never be sent on behalf of a text; colours of our own (SGR) and line feeds may be.
DRIVES = re.compile(r"\x1b(?!\[[0-9;]*m)|[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def session_id(n: int) -> str:
    return f"{n:08x}-2222-4333-8444-555555555555"


def lines(n: int, *said: tuple[str, Any], **more: Any) -> list[dict[str, Any]]:
    """Make the records of a session of Claude Code: each (role, content) a minute after the one before."""
    made = []
    for number, (role, content) in enumerate(said):
        message: dict[str, Any] = {"role": role, "content": content}
        if role == "assistant":
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            message |= {"content": blocks, "id": f"m{n}-{number}", "model": "claude-opus-4-8"}
        made.append(
            {
                "parentUuid": f"{n}-{number - 1}" if number else None,
                "isSidechain": False,
                "type": role,
                "uuid": f"{n}-{number}",
                "timestamp": f"2026-10-{5 + n % 20:02d}T{8 + number // 60 % 12:02d}:{number % 60:02d}:00.000Z",
                "sessionId": session_id(n),
                "cwd": "/home/ana/atlas",
                "version": "2.1.214",
                "message": message,
                **more,
            }
        )
    return made


def titled(n: int, title: str) -> dict[str, Any]:
    return {"type": "ai-title", "aiTitle": title, "sessionId": session_id(n)}


def write(path: Path, *records: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(each) + "\n" for each in records), "utf-8")
    return path


def call(number: int, name: str, **arguments: Any) -> list[dict[str, Any]]:
    return [{"type": "tool_use", "id": f"c{number}", "name": name, "input": arguments}]


def result(number: int, content: str, *, is_error: bool = False) -> list[dict[str, Any]]:
    return [{"type": "tool_result", "tool_use_id": f"c{number}", "content": content, "is_error": is_error}]
