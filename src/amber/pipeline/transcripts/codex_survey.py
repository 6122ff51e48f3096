"""The first pass over a rollout of Codex: which of two copies to take, and where token counts belong.

A rollout holds the model's view (`response_item`) and the interface's view (`event_msg`) of the same things. Only the
event of a prompt is the person's; of everything else the item is taken, and the event only where a client wrote no
items. Only flags, counts and hashes are kept.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from amber.pipeline.transcripts.jsonl import Record, get_dict, get_dicts, get_text
from amber.pipeline.transcripts.text import to_micros, to_offset

CALLS: Final = frozenset(
    {
        "function_call",
        "custom_tool_call",
        "local_shell_call",
        "web_search_call",
        "tool_search_call",
        "image_generation_call",
    }
)
OUTPUTS: Final = frozenset({"function_call_output", "custom_tool_call_output", "tool_search_output"})
_TURN_ENDS: Final = frozenset({"user_message", "task_complete", "turn_complete", "turn_aborted"})


class CodexSurvey:
    """What the first pass found."""

    def __init__(self) -> None:
        self.events: Counter[str] = Counter()
        self.items: Counter[str] = Counter()
        self.prompts: set[int] = set()
        """Hashes of the texts of prompt events."""
        self.tokens: dict[int, dict[str, int]] = {}
        """Line of a message -> what the answer that it belongs to used."""
        self.taken_back: list[tuple[int, int]] = []
        """First and last line of turns that were rolled back."""
        self.metas: list[Record] = []
        self.cwd: str | None = None
        self.title: str | None = None
        self.models: dict[str, None] = {}
        self.versions: dict[str, None] = {}
        self.zone: str | None = None
        self.started_at: int | None = None
        self.ended_at: int | None = None
        self.answered_line = 0
        """Where the model was last heard: what the person said before has all its copies."""
        self.closed_line = 0
        """Where a turn last began or ended: what the model said before has all its copies."""
        self._turns: list[int] = []
        self._total: Any = None
        self._counted_first: bool | None = None
        self._pending: dict[str, int] = {}
        self._answer_line: int | None = None

    @property
    def is_subagent(self) -> bool:
        """Whether another agent gives the prompts."""
        return bool(self.metas) and isinstance(self.metas[0].get("source"), dict)

    def add(self, line: int, record: Record) -> None:
        """Take note of one record."""
        stamp = record.get("timestamp")
        at = to_micros(stamp)
        if at is not None:
            self.started_at = at if self.started_at is None else min(at, self.started_at)
            self.ended_at = at if self.ended_at is None else max(at, self.ended_at)
        kind, payload = get_text(record, "type"), record.get("payload")
        if not isinstance(payload, dict):
            return
        if kind == "event_msg":
            self._add_event(line, payload)
        elif kind == "response_item":
            self._add_item(line, payload)
        elif kind == "session_meta":
            self._add_meta(payload)
        elif kind == "turn_context":
            self._add_context(payload)
        self.zone = self.zone or to_offset(stamp)

    def _add_event(self, line: int, payload: Record) -> None:
        name = get_text(payload, "type")
        self.events[name] += 1
        if name in _TURN_ENDS:
            self.closed_line = line
        elif name == "agent_message":
            self.answered_line = line
        if name == "user_message":
            if is_typed(payload):
                self.prompts.add(hash(get_text(payload, "message").strip()))
                self._turns.append(line)
        elif name == "token_count":
            self._add_tokens(get_dict(payload, "info"))
        elif name == "thread_name_updated":
            self.title = get_text(payload, "thread_name") or get_text(payload, "name") or self.title
        elif name == "thread_rolled_back":
            count = payload.get("num_turns")
            if type(count) is int and 0 < count <= len(self._turns):
                self.taken_back.append((self._turns[-count], line))
                del self._turns[-count:]

    def _add_item(self, line: int, payload: Record) -> None:
        kind = get_text(payload, "type")
        if kind == "message":
            self.items[f"message:{get_text(payload, 'role')}"] += 1
        elif kind == "reasoning" and reasoning_text(payload):
            self.items["reasoning"] += 1
        if speaks(payload):
            self.answered_line = line
            self._answer_line = self._answer_line or line
            if self._pending:
                self.tokens[line], self._pending = self._pending, {}
                self._answer_line = None if self._counted_first else line

    def _add_tokens(self, info: Record) -> None:
        total, last = info.get("total_token_usage"), info.get("last_token_usage")
        # The record is repeated when only the limits changed.
        if not isinstance(last, dict) or total == self._total:
            return
        self._total = total
        if self._counted_first is None:
            # 0.34 writes the count before the items of its answer, later versions after them.
            self._counted_first = self._answer_line is None
        counts = to_tokens(last)
        line, self._answer_line = self._answer_line, None
        if self._counted_first or line is None:
            self._pending = _sum(self._pending, counts)
        else:
            self.tokens[line] = _sum(self.tokens.get(line, {}), counts)

    def _add_meta(self, payload: Record) -> None:
        self.metas.append(payload)
        if version := get_text(payload, "cli_version"):
            self.versions[version] = None
        self.cwd = self.cwd or get_text(payload, "cwd") or None

    def _add_context(self, payload: Record) -> None:
        if model := get_text(payload, "model"):
            self.models[model] = None
        self.zone = get_text(payload, "timezone") or self.zone
        self.cwd = self.cwd or get_text(payload, "cwd") or None


def is_typed(event: Mapping[str, Any]) -> bool:
    """Say whether a user_message event shows a prompt: 0.3x also showed what it injected, under another kind."""
    return event.get("kind") is None or event.get("kind") == "plain"


def speaks(item: Mapping[str, Any]) -> bool:
    """Say whether an item is part of an answer of the model that gives a message."""
    kind = get_text(item, "type")
    if kind == "message":
        return item.get("role") == "assistant" and bool(message_text(item))
    return kind in CALLS or (kind == "reasoning" and bool(reasoning_text(item)))


def message_text(item: Mapping[str, Any]) -> str:
    """Join the text blocks of a message."""
    content = item.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(text for block in get_dicts(item, "content") if (text := get_text(block, "text")).strip())


def reasoning_text(item: Mapping[str, Any]) -> str:
    """Join what is readable of a reasoning item: the summary, else open content. The rest is encrypted."""
    for key in ("summary", "content"):
        texts = [text for block in get_dicts(item, key) if (text := get_text(block, "text")).strip()]
        if texts:
            return "\n\n".join(texts)
    return ""


def to_tokens(usage: Mapping[str, Any]) -> dict[str, int]:
    """Give the counts under the names that all formats share; `input` without its cached part, as Claude counts."""
    counts = {
        name: count
        for name, key in (
            ("input", "input_tokens"),
            ("output", "output_tokens"),
            ("cache_read", "cached_input_tokens"),
            ("reasoning", "reasoning_output_tokens"),
        )
        if type(count := usage.get(key)) is int and count >= 0
    }
    if "input" in counts:
        counts["input"] = max(0, counts["input"] - counts.get("cache_read", 0))
    return counts


def _sum(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in one | other}
