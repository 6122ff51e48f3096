"""Tell the formats of recorded sessions apart, and say plainly why a look-alike is none.

Published copies open with comments, and real files with bookkeeping, so the first line decides nothing: the first
records are asked until one is of a known shape.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from amber.pipeline.transcripts.aider import is_history
from amber.pipeline.transcripts.chat import has_messages
from amber.pipeline.transcripts.document import peek, read_head
from amber.pipeline.transcripts.jsonl import BOM, LineReader, Record, parse_json
from amber.pipeline.transcripts.mini_swe_agent import is_observation
from amber.pipeline.transcripts.openhands import is_event
from amber.pipeline.transcripts.record import Format

_MAX_RECORDS: Final = 50
# A first line can hold a pasted image (1.3 MB seen); nothing after this much is a sign of a format.
_MAX_BYTES: Final = 8 * 1024 * 1024

_CLAUDE_TYPES: Final = frozenset(
    {
        "user",
        "assistant",
        "system",
        "summary",
        "progress",
        "attachment",
        "file-history-snapshot",
        "file-history-delta",
        "queue-operation",
        "mode",
        "permission-mode",
        "ai-title",
        "custom-title",
        "last-prompt",
        "agent-name",
        "bridge-session",
        "atis-latch",
    }
)
_CLAUDE_IDS: Final = ("sessionId", "uuid", "leafUuid", "messageId")

# Pseudo-agents write copies of the session's own texts, or prompts that nobody typed.
_PSEUDO_AGENTS: Final = {
    "acompact": "it holds the compaction summary, which stands in the session itself",
    "aprompt_suggestion": "it guesses the next prompt, which nobody typed",
    "aside_question": "it holds a side question on top of a copy of the whole session",
}

_PACKED: Final = {b"PK\x03\x04": "zip archive", b"\x1f\x8b": "gzip archive"}

Shape: TypeAlias = Literal["lines", "list", "object"]


class Refusal(NamedTuple):
    """Why a file is not read as a session."""

    name: str | None
    """What the file is, when that is known."""
    reason: str
    """What to say about it, with what to do where something can be done."""


class Found(NamedTuple):
    """What a file is."""

    what: Format | Refusal
    shape: Shape


def detect(path: Path) -> Format | Refusal:
    """Say which tool wrote the session in a file, or why it is none that Amber reads.

    :raises OSError: the file cannot be read.
    """
    return examine(path).what


def examine(path: Path) -> Found:
    """Say what `detect` says, and whether the file is lines or one document.

    :raises OSError: the file cannot be read.
    """
    pseudo = _find_pseudo_agent(path.name.removeprefix("agent-") if path.name.startswith("agent-") else "")
    if pseudo is not None:
        return Found(pseudo, "lines")
    size = path.stat().st_size
    if size == 0:
        return Found(Refusal(None, "the file is empty"), "lines")
    head = read_head(path)
    for magic, name in _PACKED.items():
        if head.startswith(magic):
            return Found(Refusal(name, f"this is a {name}: unpack it and import what is in it"), "lines")
    shape: Shape = "list" if head.lstrip().startswith(b"[") else "lines"
    if head.lstrip().startswith(b"{") and not _is_record(path, min(size, _MAX_BYTES)):
        # the records of a document that is written over many lines could pass for lines
        shape = "object"
    whole = peek(path) if shape != "lines" else None
    if (known := _judge_document(whole)) is not None:
        return Found(known, shape)
    # a line of JSON never begins so
    if is_history(head.decode("utf-8", "replace")):
        return Found("aider", "lines")
    seen = 0
    for _, record in LineReader(path, min(size, _MAX_BYTES)).records():
        found = _judge(record)
        if found is not None:
            return Found(found, "lines")
        seen += 1
        if seen == _MAX_RECORDS:
            break
    if whole and (shape == "list" or b"\n" in head.strip()) and not seen:
        return Found(Refusal(None, "it is a JSON document of no known session format"), shape)
    if seen:
        return Found(Refusal(None, "its records are of no known session format"), "lines")
    return Found(Refusal(None, "no whole JSON record in it: not a session, or one that has only just begun"), "lines")


def _is_record(path: Path, size: int) -> bool:
    """Say whether the first line that is not empty is a whole object."""
    with path.open("rb") as file:
        while size > 0 and (raw := file.readline(size)):
            size -= len(raw)
            if line := raw.removeprefix(BOM).strip():
                if not line.endswith(b"}"):
                    return False
                try:
                    return isinstance(parse_json(line), dict)
                except ValueError:
                    return False
    return False


def _judge(record: Record) -> Format | Refusal | None:
    kind = record.get("type")
    if isinstance(kind, str):
        if isinstance(record.get("payload"), dict) and "timestamp" in record:
            return "codex"
        if kind == "session" and "cwd" in record:
            return Refusal(
                "pi session",
                "this is a session of the pi coding agent, which is not read yet: export it as a list of messages",
            )
        if (kind == "entity" and "name" in record) or (kind == "relation" and "from" in record):
            return "mcp-memory"
        if any(isinstance(record.get(key), str) for key in _CLAUDE_IDS) and (
            kind in _CLAUDE_TYPES or ("sessionId" in record and "uuid" in record)
        ):
            agent = record.get("agentId")
            return (_find_pseudo_agent(agent) if isinstance(agent, str) else None) or "claude"
    return _judge_object(record)


def _judge_object(record: Mapping[str, Any]) -> Format | Refusal | None:
    """Judge a record by its keys: a line, or a whole document as far as it was looked at."""
    if {"session_id", "ts", "text"} <= record.keys():
        return Refusal(
            "Codex prompt history",
            "this is Codex's prompt history, not a session: the sessions are in ~/.codex/sessions",
        )
    if {"display", "project"} <= record.keys():
        return Refusal(
            "Claude Code prompt history",
            "this is Claude Code's prompt history, not a session: the sessions are in ~/.claude/projects",
        )
    if "entries" in record and ("originalPath" in record or "version" in record):
        return Refusal(
            "Claude sessions-index",
            "this is Claude Code's index of sessions, not a session: import the folder that it is in",
        )
    if "history" in record and ("instance_id" in record or "instruction" in record):
        return Refusal(
            "OpenHands evaluation",
            "this is an evaluation output of OpenHands, which is not read yet: import its trajectories one by one",
        )
    if "trajectory" in record or {"history", "info"} <= record.keys() or has_messages(record.get("history")):
        return "swe-agent"
    if {"instructions", "id", "timestamp"} <= record.keys():
        return Refusal(
            "old Codex rollout",
            "this is a rollout of Codex before 0.32, which is not read yet: resume it in a newer Codex, which writes "
            "it anew",
        )
    if isinstance(record.get("mapping"), dict) and ("current_node" in record or "title" in record):
        return "chatgpt"
    if "chat_messages" in record:
        return Refusal(
            "Claude.ai export",
            "this is an export of Claude.ai, which is not read yet: turn each chat into a list of {role, content}",
        )
    if isinstance(record.get("conversations"), list):
        return Refusal(
            "ShareGPT list", "this is a list in the ShareGPT form, which is not read yet: turn it into {role, content}"
        )
    if isinstance(record.get("messages"), list):
        return "mini-swe-agent" if _is_mini(record) else "messages" if has_messages(record["messages"]) else None
    if isinstance(record.get("role"), str) and record.keys() & {"content", "tool_calls"}:
        return "messages"
    return None


def _judge_document(root: Any) -> Format | Refusal | None:
    """Judge a document by its beginning."""
    if isinstance(root, dict):
        return _judge_object(root)
    if not isinstance(root, list):
        return None
    for item in root[:_MAX_RECORDS]:
        if not isinstance(item, dict):
            continue
        if is_event(item):
            return "openhands"
        found = _judge_object(item)
        if found == "messages" and any(isinstance(each, dict) and is_observation(each) for each in root):
            return "mini-swe-agent"
        if found is not None:
            return found
    return None


def _is_mini(record: Mapping[str, Any]) -> bool:
    mark, info = record.get("trajectory_format"), record.get("info")
    return (
        (isinstance(mark, str) and mark.startswith("mini-swe-agent"))
        or (isinstance(info, dict) and "mini_version" in info)
        or any(isinstance(each, dict) and is_observation(each) for each in record["messages"])
    )


def _find_pseudo_agent(agent: str) -> Refusal | None:
    for prefix, reason in _PSEUDO_AGENTS.items():
        if agent.startswith(prefix):
            return Refusal("Claude pseudo-agent", f"this is a pseudo-agent of Claude Code: {reason}")
    return None
