"""Write small session files of our own making."""

from pathlib import Path
from typing import Any

import orjson

from amber.pipeline.transcripts import Reader, TranscriptMessage, open_session

SESSION = "11111111-2222-4333-8444-555555555555"
Record = dict[str, Any]


def write(path: Path, *lines: Record | bytes | str) -> Path:
    """Write records and raw lines, each with its line end."""
    raw = [
        line if isinstance(line, bytes) else line.encode() if isinstance(line, str) else orjson.dumps(line)
        for line in lines
    ]
    path.write_bytes(b"".join(line + b"\n" for line in raw))
    return path


def read(path: Path) -> tuple[Reader, list[TranscriptMessage]]:
    """Open a file that must be a session and read it whole."""
    session = open_session(path)
    assert isinstance(session, Reader), session
    return session, list(session)


def kinds(messages: list[TranscriptMessage]) -> list[tuple[str, str]]:
    return [(message.kind, message.text) for message in messages]


class Claude:
    """Make records of Claude Code, each the child of the one before."""

    def __init__(self, **envelope: Any) -> None:
        self.tip: str | None = None
        self.count = 0
        self.envelope = envelope

    def record(self, kind: str, **fields: Any) -> Record:
        self.count += 1
        uuid = f"u{self.count}"
        made = {
            "parentUuid": self.tip,
            "isSidechain": False,
            "type": kind,
            "uuid": uuid,
            "timestamp": f"2026-10-05T08:{self.count // 60:02d}:{self.count % 60:02d}.250Z",
            "sessionId": SESSION,
            "cwd": "/home/ana/atlas",
            "gitBranch": "main",
            "version": "2.1.214",
        }
        made |= self.envelope | fields
        self.tip = str(made["uuid"])
        return made

    def user(self, content: Any, **fields: Any) -> Record:
        return self.record("user", message={"role": "user", "content": content}, **fields)

    def result(self, call: str, content: Any, **fields: Any) -> Record:
        block = {"type": "tool_result", "tool_use_id": call, "content": content}
        return self.user([block], **{"toolUseResult": {}, **fields})

    def answer(self, *blocks: Record, answer: str = "msg_1", usage: Record | None = None, **fields: Any) -> Record:
        message = {
            "id": answer,
            "model": "claude-opus-4-8",
            "role": "assistant",
            "content": list(blocks),
            "usage": usage or {"input_tokens": 3, "output_tokens": 5},
        }
        return self.record("assistant", message=message, **fields)


def text(words: str) -> Record:
    return {"type": "text", "text": words}


def call(name: str, call_id: str, **arguments: Any) -> Record:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def codex(kind: str, payload: Record, at: str = "2026-10-05T08:00:00.250Z") -> Record:
    return {"timestamp": at, "type": kind, "payload": payload}


def meta(**fields: Any) -> Record:
    payload = {"id": SESSION, "cwd": "/home/ana/atlas", "cli_version": "0.104.0", "source": "cli"}
    return codex("session_meta", payload | {"git": {"branch": "release"}} | fields)


def event(name: str, **fields: Any) -> Record:
    return codex("event_msg", {"type": name, **fields})


def item(kind: str, **fields: Any) -> Record:
    return codex("response_item", {"type": kind, **fields})


def said(role: str, words: str) -> Record:
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": kind, "text": words}])


def tokens(total: int, last: int, cached: int = 0) -> Record:
    """Make a token count: input tokens of the session and of the last answer."""
    info = {
        "total_token_usage": {"input_tokens": total, "output_tokens": 1},
        "last_token_usage": {"input_tokens": last, "cached_input_tokens": cached, "output_tokens": 1},
    }
    return event("token_count", info=info, rate_limits=None)
