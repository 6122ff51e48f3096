"""Tell the formats of recorded sessions apart, and say plainly why a look-alike is none.

Published copies open with comments, and real files with bookkeeping, so the first line decides nothing: the first
records are asked until one is of a known shape.
"""

import re
from pathlib import Path
from typing import Final, NamedTuple

from amber.pipeline.transcripts.jsonl import LineReader, Record
from amber.pipeline.transcripts.record import Format

_MAX_RECORDS: Final = 50
_HEAD: Final = 64 * 1024
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

_AIDER: Final = re.compile(r"^# aider chat started at \d{4}-", re.MULTILINE)


class Refusal(NamedTuple):
    """Why a file is not read as a session."""

    name: str | None
    """What the file is, when that is known."""
    reason: str


def detect(path: Path) -> Format | Refusal:
    """Say which tool wrote the session in a file, or why it is none that Amber reads.

    :raises OSError: the file cannot be read.
    """
    pseudo = _find_pseudo_agent(path.name.removeprefix("agent-") if path.name.startswith("agent-") else "")
    if pseudo is not None:
        return pseudo
    size = path.stat().st_size
    if size == 0:
        return Refusal(None, "the file is empty")
    seen = 0
    lines = LineReader(path, min(size, _MAX_BYTES))
    for _, record in lines.records():
        found = _judge(record)
        if found is not None:
            return found
        seen += 1
        if seen == _MAX_RECORDS:
            break
    whole = _judge_document(path)
    if whole is not None:
        return whole
    if seen:
        return Refusal(None, "its records are of no known session format")
    return Refusal(None, "no whole JSON record in it: not a session, or one that has only just begun")


def _judge(record: Record) -> Format | Refusal | None:
    kind = record.get("type")
    if isinstance(kind, str):
        if isinstance(record.get("payload"), dict) and "timestamp" in record:
            return "codex"
        if kind == "session" and "cwd" in record:
            return Refusal("pi session", "this is a session of the pi coding agent, which is not read yet")
        if kind in {"entity", "relation"} and ("name" in record or "from" in record):
            return Refusal("MCP memory", "this is an MCP memory (a knowledge graph), not a session")
        if any(isinstance(record.get(key), str) for key in _CLAUDE_IDS) and (
            kind in _CLAUDE_TYPES or ("sessionId" in record and "uuid" in record)
        ):
            agent = record.get("agentId")
            return (_find_pseudo_agent(agent) if isinstance(agent, str) else None) or "claude"
    return _judge_untyped(record)


def _judge_untyped(record: Record) -> Refusal | None:
    if {"session_id", "ts", "text"} <= record.keys():
        return Refusal("Codex prompt history", "this is Codex's prompt history, not a session")
    if {"display", "project"} <= record.keys():
        return Refusal("Claude Code prompt history", "this is Claude Code's prompt history, not a session")
    if "entries" in record and ("originalPath" in record or "version" in record):
        return Refusal("Claude sessions-index", "this is Claude Code's index of sessions, not a session")
    if "trajectory" in record or {"history", "info"} <= record.keys():
        return Refusal("SWE-agent trajectory", "this is a SWE-agent trajectory, which is not read yet")
    if "history" in record and ("instance_id" in record or "instruction" in record):
        return Refusal("OpenHands", "this is an evaluation output of OpenHands, which is not read yet")
    if {"instructions", "id", "timestamp"} <= record.keys():
        return Refusal("old Codex rollout", "this is a rollout of Codex before 0.32, which is not read yet")
    if "messages" in record or ("role" in record and "content" in record):
        return Refusal(
            "plain messages", "this is a plain list of messages without ids and times, which is not read yet"
        )
    return None


def _judge_document(path: Path) -> Refusal | None:
    """Recognise files that are one JSON document, or text, by their beginning."""
    with path.open("rb") as file:
        head = file.read(_HEAD).decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    keys = set(re.findall(r'"(\w+)"\s*:', head))
    if head.startswith("["):
        if {"mapping", "title"} <= keys or "current_node" in keys:
            return Refusal("ChatGPT export", "this is a ChatGPT export, which is not read yet")
        if "source" in keys and keys & {"action", "observation"}:
            return Refusal("OpenHands", "this is an OpenHands trajectory, which is not read yet")
        if {"role", "content"} <= keys:
            return _judge_untyped({"role": "", "content": ""})
    elif head.startswith("{"):
        return _judge_untyped(dict.fromkeys(keys))
    elif _AIDER.search(head):
        return Refusal("aider history", "this is an aider chat history, which is not read yet")
    return None


def _find_pseudo_agent(agent: str) -> Refusal | None:
    for prefix, reason in _PSEUDO_AGENTS.items():
        if agent.startswith(prefix):
            return Refusal("Claude pseudo-agent", f"this is a pseudo-agent of Claude Code: {reason}")
    return None
