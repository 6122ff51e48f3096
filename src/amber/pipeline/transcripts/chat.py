"""Read one message of a chat API, in the manner of OpenAI or Anthropic: a role, and content as text or blocks.

Three formats consist of such messages: plain lists, SWE-agent's history, mini-swe-agent's messages.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from amber.pipeline.transcripts.jsonl import Record, get_dict, get_dicts, get_text, parse_json
from amber.pipeline.transcripts.reader import show_type
from amber.pipeline.transcripts.record import Kind, Role, ToolUse
from amber.pipeline.transcripts.text import (
    clean,
    cut_result,
    from_epoch,
    show_call,
    show_image,
    show_image_url,
    to_micros,
)

_ROLES: Final[dict[str, Role]] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
    "system": "system",
    "developer": "system",
}
_TEXTS: Final = frozenset({"text", "input_text", "output_text", "refusal"})
_THINKING: Final = ("reasoning_content", "reasoning", "thinking")
_INJECTED: Final = "<system-reminder>"
_TIMES: Final = ("timestamp", "created_at", "created", "time")


class Said(NamedTuple):
    """One thing that a message says, calls or returns."""

    role: Role
    kind: Kind
    text: str
    tool: ToolUse | None = None
    raw: tuple[Any, ...] = ()
    """As recorded, without what a tool may add or drop later: names the message."""


class ChatParser:
    """Take messages apart; results learn the names of their calls."""

    def __init__(self, skip: Callable[[str], None]) -> None:
        self._skip = skip
        self._tools: dict[str, str] = {}

    def parse(self, record: Record) -> list[Said]:
        """Give what a message says, in its order; report the rest."""
        item = get_text(record, "type")
        if item == "function_call":
            return [self._call(get_text(record, "call_id"), get_text(record, "name"), record.get("arguments"))]
        if item == "function_call_output":
            return [self._result(get_text(record, "call_id"), record.get("output"))]
        if item == "reasoning":
            return [*_thoughts("\n\n".join(get_text(part, "text") for part in get_dicts(record, "summary")))]
        role = _ROLES.get(get_text(record, "role"))
        if role is None:
            self._skip(f"unknown role '{show_type(record.get('role'))}'")
            return []
        if role == "tool":
            ids = record.get("tool_call_ids")
            call = get_text(record, "tool_call_id") or _first_text(ids)
            return [self._result(call, record.get("content"), name=get_text(record, "name") or None)]
        found = [*self._parse_content(role, record)]
        if role == "assistant":
            found = [*self._parse_thinking(record), *found, *self._parse_calls(record)]
        if not found:
            self._skip("empty text")
        return found

    def _parse_content(self, role: Role, record: Record) -> Iterator[Said]:
        content = record.get("content")
        if isinstance(content, str):
            if content.strip():
                yield _words(role, [content])
            return
        # a picture and the words about it are one prompt
        words: list[str] = []
        for block in _to_blocks(content):
            found = block if isinstance(block, str) else self._show_words(block)
            if found is not None and not found.startswith(_INJECTED):
                if found.strip():
                    words.append(found)
                continue
            if words:
                yield _words(role, words)
                words = []
            if found is not None:
                yield _words(role, [found])
            elif isinstance(block, dict):
                yield from self._parse_block(block)
        if words:
            yield _words(role, words)

    def _show_words(self, block: Record) -> str | None:
        kind = get_text(block, "type")
        if kind in _TEXTS or (not kind and "text" in block):
            return get_text(block, "text") or get_text(block, "refusal")
        return show_attachment(block)

    def _parse_block(self, block: Record) -> Iterator[Said]:
        kind = get_text(block, "type")
        if kind == "thinking":
            yield from _thoughts(get_text(block, "thinking"))
        elif kind in {"tool_use", "server_tool_use", "mcp_tool_use"}:
            yield self._call(get_text(block, "id"), get_text(block, "name"), block.get("input"))
        elif kind.endswith("tool_result"):
            error = block.get("is_error")
            yield self._result(get_text(block, "tool_use_id"), block.get("content"), error=bool(error))
        elif kind == "redacted_thinking":
            self._skip("empty thinking")
        else:
            self._skip(f"unknown block type '{show_type(kind)}'")

    def _parse_thinking(self, record: Record) -> Iterator[Said]:
        for key in _THINKING:
            if text := get_text(record, key):
                yield from _thoughts(text)
                return

    def _parse_calls(self, record: Record) -> Iterator[Said]:
        if text := get_text(record, "refusal").strip():
            yield _words("assistant", [text])
        calls = get_dicts(record, "tool_calls")
        if not calls and isinstance(record.get("function_call"), dict):
            calls = [{"function": record["function_call"]}]
        for call in calls:
            function = get_dict(call, "function") or get_dict(call, "custom") or call
            arguments = function.get("arguments", function.get("args", function.get("input")))
            yield self._call(get_text(call, "id"), get_text(function, "name"), arguments)

    def _call(self, call: str, name: str, arguments: Any) -> Said:
        raw = ("call", call, name, arguments)
        if isinstance(arguments, str):
            try:
                arguments = parse_json(arguments)
            except ValueError:
                # the model broke off, or wrote no JSON: what it wrote is the argument
                pass
        name = name or "?"
        self._tools[call] = name
        tool = ToolUse(name, call or None, arguments, None)
        return Said("assistant", "tool_call", show_call(name, arguments), tool, raw)

    def _result(self, call: str, content: Any, *, name: str | None = None, error: bool | None = None) -> Said:
        text = cut_result(clean(show_content(content)))
        tool = ToolUse(self._tools.get(call, name) if call else name, call or None, None, error)
        return Said("tool", "tool_result", text, tool, ("result", call, content))


def is_answer(record: Mapping[str, Any]) -> bool:
    """Say whether a message is the model's."""
    role = record.get("role")
    return (isinstance(role, str) and _ROLES.get(role) == "assistant") or record.get("type") == "function_call"


def has_messages(value: Any) -> bool:
    """Say whether a value is a list with messages in it."""
    return isinstance(value, list) and any(
        isinstance(each, dict) and isinstance(each.get("role"), str) for each in value
    )


def show_content(content: Any) -> str:
    """Write content of any shape as text."""
    if isinstance(content, str):
        return content
    parts: list[str] = []
    for block in _to_blocks(content):
        if isinstance(block, str):
            parts.append(block)
        else:
            parts.append(get_text(block, "text") or show_attachment(block) or "")
    return "\n".join(part for part in parts if part)


def show_attachment(block: Record) -> str | None:
    """Name a picture, a sound or a file; None when the block is none of them."""
    kind = get_text(block, "type")
    if kind == "image":
        source = get_dict(block, "source")
        return show_image_url(source["url"]) if "url" in source else show_image(**_pick(source))
    if kind in {"image_url", "input_image"}:
        return show_image_url(block.get("image_url"))
    if kind in {"input_audio", "audio"}:
        return "[audio]"
    if kind in {"document", "file", "input_file"}:
        about = get_dict(block, "file") or block
        name = get_text(about, "filename") or get_text(about, "title")
        return f"[file {name[:200]}]" if name else "[file]"
    return None


def find_time(record: Mapping[str, Any]) -> int | None:
    """Find when a message was said, where the list says so."""
    for key in _TIMES:
        at = to_micros(record.get(key)) or from_epoch(record.get(key))
        if at is not None:
            return at
    return None


def find_tokens(usage: Mapping[str, Any]) -> dict[str, int] | None:
    """Give the counts of an answer, in the manner of OpenAI or Anthropic, under the names that all formats share."""
    details = get_dict(usage, "prompt_tokens_details") or get_dict(usage, "input_tokens_details")
    written = get_dict(usage, "completion_tokens_details") or get_dict(usage, "output_tokens_details")
    found = {
        "input": _count(usage, "prompt_tokens", "input_tokens"),
        "output": _count(usage, "completion_tokens", "output_tokens"),
        "cache_read": _count(details, "cached_tokens") or _count(usage, "cache_read_input_tokens"),
        "cache_write": _count(usage, "cache_creation_input_tokens"),
        "reasoning": _count(written, "reasoning_tokens"),
    }
    if found["input"] and ("prompt_tokens" in usage or details):
        # these count what came from a cache as input, too
        found["input"] = max(0, found["input"] - (found["cache_read"] or 0))
    return {name: count for name, count in found.items() if count} or None


def _count(usage: Mapping[str, Any], *keys: str) -> int:
    for key in keys:
        value = usage.get(key)
        if type(value) is int and 0 <= value < 2**53:
            return value
    return 0


def _words(role: Role, words: list[str]) -> Said:
    text = "\n".join(words)
    kind: Kind = "reply" if role == "assistant" else "prompt" if role == "user" else "injected"
    if kind == "prompt" and text.startswith(_INJECTED):
        kind = "injected"
    return Said(role, kind, clean(text), None, (role, text))


def _thoughts(text: str) -> Iterator[Said]:
    if text.strip():
        yield Said("assistant", "thinking", clean(text), None, ("thinking", text))


def _pick(source: Record) -> dict[str, Any]:
    return {"media_type": source.get("media_type"), "data": source.get("data")}


def _to_blocks(content: Any) -> list[Any]:
    if isinstance(content, dict):
        return [content]
    return [block for block in content if isinstance(block, dict | str)] if isinstance(content, list) else []


def _first_text(value: Any) -> str:
    return value[0] if isinstance(value, list) and value and isinstance(value[0], str) else ""
