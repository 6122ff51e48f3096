"""The second pass over a file of Claude Code: from records to messages."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

from amber.pipeline.transcripts.claude_kinds import (
    decide_kind,
    is_from_person,
    queued_command,
    show_command,
    split_rejection,
)
from amber.pipeline.transcripts.claude_survey import ClaudeSurvey
from amber.pipeline.transcripts.jsonl import Record, get_dict, get_text
from amber.pipeline.transcripts.reader import show_type
from amber.pipeline.transcripts.record import Kind, Role, ToolUse, TranscriptMessage
from amber.pipeline.transcripts.text import clean, cut_result, show_call, show_image, to_micros, to_offset

# Types that carry no conversation. `progress` holds whole copies of subagents' messages: their own files have them.
_BOOKKEEPING: Final = frozenset(
    {
        "progress",
        "file-history-snapshot",
        "file-history-delta",
        "summary",
        "ai-title",
        "custom-title",
        "last-prompt",
        "mode",
        "permission-mode",
        "agent-name",
        "agent-color",
        "agent-setting",
        "tag",
        "bridge-session",
        "atis-latch",
    }
)
_SYSTEM_KINDS: Final[dict[str, Kind]] = {
    "local_command": "command",
    "away_summary": "summary",
    "informational": "injected",
    "scheduled_task_fire": "injected",
}

Said: TypeAlias = tuple[Role, Kind, str, ToolUse | None]


class ClaudePass:
    """Turn records into messages, with what the survey found."""

    def __init__(self, survey: ClaudeSurvey, skip: Callable[[int, str], None]) -> None:
        self._skip = skip
        self._survey = survey
        self._usage = dict(survey.usage)
        self._silent: list[str] = []
        self._tools: dict[str, str] = {}
        self._said: set[int] = set()
        self._queued: Counter[int] = Counter()

    def run(self, records: Iterator[tuple[int, Record]]) -> Iterator[TranscriptMessage]:
        """Yield the messages of these records, in their order; skip the rest with a reason."""
        for line, record in records:
            node = self._survey.nodes.get(get_text(record, "uuid"))
            if node is not None and node.line != line:
                self._skip(line, "copy of an earlier record")
                continue
            kind = get_text(record, "type")
            if kind == "assistant":
                yield from self._read_answer(line, record)
            elif kind == "user":
                yield from self._read_user(line, record)
            elif kind == "system":
                yield from self._read_system(line, record)
            elif kind == "attachment":
                yield from self._read_attachment(line, record)
            elif kind == "queue-operation":
                yield from self._read_queued(line, record)
            elif kind in _BOOKKEEPING:
                part = get_text(get_dict(record, "data"), "type") if kind == "progress" else ""
                self._skip(line, f"not conversation: {show_type(kind, part or None)}")
            else:
                self._skip(line, f"unknown record type '{show_type(kind)}'")

    def _read_answer(self, line: int, record: Record) -> Iterator[TranscriptMessage]:
        message = get_dict(record, "message")
        answer, model = get_text(message, "id"), get_text(message, "model")
        made_here = model == "<synthetic>" or bool(record.get("isApiErrorMessage"))
        blocks = _to_blocks(message.get("content"))
        for index, block in enumerate(blocks):
            said = self._read_answer_block(line, block, made_here)
            if said is None:
                self._silent.append(answer)
                continue
            role, kind, text, tool = said
            stamp = get_text(record, "timestamp")
            if answer and not self._is_new((answer, stamp, kind, text, tool.call_id if tool else None)):
                self._skip(line, "copy of an earlier record")
                continue
            yield self._make(
                line,
                record,
                role,
                kind,
                text,
                part=index if len(blocks) > 1 else None,
                model=None if made_here else model or None,
                tool=tool,
                tokens=self._take_tokens(answer),
            )

    def _take_tokens(self, answer: str) -> dict[str, int] | None:
        tokens = self._usage.pop(answer, {})
        # An answer may hold nothing to show; what it used then stands on the next one.
        for silent in self._silent:
            for name, count in self._usage.pop(silent, {}).items():
                tokens[name] = tokens.get(name, 0) + count
        self._silent.clear()
        return tokens or None

    def _read_answer_block(self, line: int, block: Record, made_here: bool) -> Said | None:
        kind = get_text(block, "type")
        if kind in {"text", "thinking"}:
            text = get_text(block, kind)
            if not text.strip():
                self._skip(line, f"empty {kind}")
                return None
            said: Kind = "error" if made_here else "reply" if kind == "text" else "thinking"
            return "assistant", said, clean(text), None
        if kind in {"tool_use", "server_tool_use", "mcp_tool_use"}:
            name, call = get_text(block, "name") or "?", get_text(block, "id")
            self._tools[call] = name
            tool = ToolUse(name, call or None, block.get("input"), None)
            return "assistant", "tool_call", show_call(name, block.get("input")), tool
        if kind.endswith("_tool_result"):
            return "tool", "tool_result", *self._read_result(block)
        self._skip(line, "empty thinking" if kind == "redacted_thinking" else f"unknown block type '{show_type(kind)}'")
        return None

    def _read_user(self, line: int, record: Record) -> Iterator[TranscriptMessage]:
        blocks = _to_blocks(get_dict(record, "message").get("content"))
        found: list[Said] = []
        for block in blocks:
            kind = get_text(block, "type")
            if kind == "tool_result":
                result, use = self._read_result(block)
                notice, said = split_rejection(result) if use.is_error else (result, "")
                found.append(("tool", "tool_result", notice, use))
                if said and not record.get("isSidechain"):
                    found.append(("user", "prompt", said, None))
            elif kind in {"text", "image"}:
                found.extend(self._read_words(line, record, block))
            else:
                self._skip(line, f"unknown block type '{show_type(kind)}'")
        if not blocks:
            self._skip(line, "empty text")
        fresh = self._drop_copies(line, record, found)
        for index, (role, said_kind, text, tool) in enumerate(fresh):
            yield self._make(line, record, role, said_kind, text, part=index if len(fresh) > 1 else None, tool=tool)

    def _drop_copies(self, line: int, record: Record, found: list[Said]) -> list[Said]:
        fresh: list[Said] = []
        stamp, queued = get_text(record, "timestamp"), record.get("promptSource") == "queued"
        for said in found:
            role, kind, text, tool = said
            if stamp and not self._is_new((stamp, kind, text, tool.call_id if tool else None)):
                self._skip(line, "copy of an earlier record")
            elif kind == "prompt" and not self._take_queued(text, queued):
                self._skip(line, "copy of a queued prompt")
            elif kind == "prompt" and tool is None and fresh and fresh[-1][1] == "prompt":
                # A picture and the words about it are one prompt.
                fresh[-1] = (role, kind, f"{fresh[-1][2]}\n{text}", None)
            else:
                fresh.append(said)
        return fresh

    def _read_words(self, line: int, record: Record, block: Record) -> Iterator[Said]:
        if block.get("type") == "image":
            yield "user", decide_kind(record, ""), _show_image(block), None
            return
        text = get_text(block, "text")
        kind = decide_kind(record, text)
        shown = show_command(clean(text)) if kind == "command" else clean(text)
        if not shown.strip():
            self._skip(line, f"empty {'command output' if kind == 'command' else 'text'}")
            return
        yield "system" if kind == "summary" else "user", kind, shown, None

    def _read_result(self, block: Record) -> tuple[str, ToolUse]:
        call = get_text(block, "tool_use_id")
        content = block.get("content")
        parts = [content] if isinstance(content, str) else [_show_part(part) for part in _to_blocks(content)]
        text = cut_result(clean("\n".join(part for part in parts if part)))
        return text, ToolUse(self._tools.get(call), call or None, None, bool(block.get("is_error")))

    def _read_system(self, line: int, record: Record) -> Iterator[TranscriptMessage]:
        subtype, text = get_text(record, "subtype"), clean(get_text(record, "content"))
        kind = _SYSTEM_KINDS.get(subtype)
        shown = show_command(text) if kind == "command" else text
        if kind is None:
            self._skip(line, f"not conversation: {show_type('system', subtype)}")
        elif not shown.strip():
            self._skip(line, f"empty {'command output' if kind == 'command' else 'text'}")
        else:
            yield self._make(line, record, "system", kind, shown)

    def _read_attachment(self, line: int, record: Record) -> Iterator[TranscriptMessage]:
        text = queued_command(record)
        if text is None or not text.strip() or not is_from_person(record):
            part = get_text(get_dict(record, "attachment"), "type")
            self._skip(line, f"not conversation: {show_type('attachment', part)}")
        elif self._take_queued(text, queued=True):
            yield self._make(line, record, "user", "prompt", clean(text))
        else:
            self._skip(line, "copy of a queued prompt")

    def _read_queued(self, line: int, record: Record) -> Iterator[TranscriptMessage]:
        content, fate = get_text(record, "content"), self._survey.fates.get(line)
        if not content.strip() or fate is None or fate == "machine":
            self._skip(line, "not conversation: queue-operation")
        elif fate == "waiting":
            self._skip(line, "queued prompt, not sent yet")
        elif fate == "sent":
            self._queued[hash(content)] += 1
            self._skip(line, "copy of a queued prompt")
        else:
            yield self._make(line, record, "user", "prompt", clean(content), live=fate == "taken in")

    def _take_queued(self, text: str, queued: bool) -> bool:
        # One text that was queued comes again once: as a record of its own, as an attachment, or as both.
        key = hash(text)
        if key not in self._survey.queued_hashes:
            return True
        if self._queued[key] > 0:
            self._queued[key] -= 1
            return True
        return not queued

    def _is_new(self, said: tuple[Any, ...]) -> bool:
        # A resumed session may write its last records again, split another way and under new ids.
        key = hash(said)
        if key in self._said:
            return False
        self._said.add(key)
        return True

    def _make(
        self,
        line: int,
        record: Record,
        role: Role,
        kind: Kind,
        text: str,
        *,
        part: int | None = None,
        model: str | None = None,
        tool: ToolUse | None = None,
        tokens: dict[str, int] | None = None,
        live: bool = True,
    ) -> TranscriptMessage:
        uuid, stamp = get_text(record, "uuid"), record.get("timestamp")
        uid = uuid or f"line-{line}"
        return TranscriptMessage(
            uid if part is None else f"{uid}#{part}",
            role,
            kind,
            text,
            to_micros(stamp),
            to_offset(stamp),
            model,
            tool,
            tokens,
            live and uuid not in self._survey.retracted,
            get_text(record, "cwd") or None,
            get_text(record, "gitBranch") or None,
            line,
        )


def _to_blocks(content: object) -> list[Record]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if isinstance(content, list):
        return [block for block in content if isinstance(block, dict)]
    return []


def _show_part(part: Record) -> str:
    kind = part.get("type")
    if kind == "image":
        return _show_image(part)
    if kind == "tool_reference":
        return f"[tool {get_text(part, 'tool_name')}]"
    return get_text(part, "text")


def _show_image(block: Record) -> str:
    source = get_dict(block, "source")
    return show_image(source.get("media_type"), source.get("data"))
