"""Read a ChatGPT export, `conversations.json`: a list of conversations, each one session.

A conversation is a tree: a prompt that was edited, or an answer that was made again, is a sibling of the first one.
`current_node` is the tip of the branch that is shown; what is on no way from it to the root was taken back. Written
from the documentation and from schemas: no real file was there to try.
"""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from amber.pipeline.transcripts.chat import Said
from amber.pipeline.transcripts.document import WHOLE, Document, DocumentItems
from amber.pipeline.transcripts.identity import fingerprint
from amber.pipeline.transcripts.jsonl import Record, get_dict, get_dicts, get_text, parse_json
from amber.pipeline.transcripts.reader import PartReader, SeveralReader, Source, show_type
from amber.pipeline.transcripts.record import Kind, OnSkip, Role, SessionInfo, ToolUse, TranscriptMessage
from amber.pipeline.transcripts.text import clean, cut_result, from_epoch, show_call

_INJECTED: Final = frozenset({"user_editable_context", "model_editable_context"})
_ROLES: Final[dict[str, Role]] = {"user": "user", "assistant": "assistant", "tool": "tool", "system": "system"}


class ChatGPTReader(SeveralReader):
    """Give the conversations of one export. The file may also hold one conversation alone, as some tools save it."""

    def __init__(
        self, path: Path, on_skip: OnSkip | None = None, *, is_single: bool = False, whole: int = WHOLE
    ) -> None:
        super().__init__(path, on_skip)
        self._is_single, self._is_loaded = is_single, self.size <= whole
        self._document = Document(path, self.size, whole)

    def check(self) -> None:
        """See whether the file is whole, where it is small enough to be read whole.

        :raises BadInput: it is not.
        """
        if self._is_loaded:
            for _ in self._document.items(()):
                pass

    def _source(self) -> Source:
        return DocumentItems(self._document, ())

    def _parts(self) -> Iterator[PartReader]:
        if self._is_single:
            found = self._document.value(())
            self._before = self.bytes_total
            if isinstance(found, dict):
                yield ChatGPTConversation(self, found)
            return
        for number, record in self._records(counting=True):
            if isinstance(record.get("mapping"), dict):
                yield ChatGPTConversation(self, record)
            else:
                self._skip(number, "record without a conversation")


class ChatGPTConversation(PartReader):
    """Give the messages of one conversation, those of branches that were left marked as taken back."""

    def __init__(self, whole: ChatGPTReader, record: Record) -> None:
        super().__init__(whole)
        self._record, self._nodes = record, get_dict(record, "mapping")

    @cached_property
    def _alive(self) -> set[str]:
        """The nodes from the tip to the root."""
        tip = self._record.get("current_node")
        if not isinstance(tip, str) or tip not in self._nodes:
            # the end of the newest branch
            tip = next((key for key in reversed(self._order) if not self._children(key)), None)
        alive: set[str] = set()
        while isinstance(tip, str) and tip in self._nodes and tip not in alive:
            alive.add(tip)
            tip = get_dict(self._nodes, tip).get("parent")
        return alive

    @cached_property
    def _order(self) -> list[str]:
        """All nodes, parents first, siblings in their order; those with a parent that is not there are roots."""
        parents = {key: get_dict(self._nodes, key).get("parent") for key in self._nodes}
        roots = [key for key, parent in parents.items() if not isinstance(parent, str) or parent not in parents]
        seen: dict[str, None] = {}
        # the nodes themselves come last: a ring has no root
        left = [*reversed(self._nodes), *reversed(roots)]
        while left:
            key = left.pop()
            if key not in seen:
                seen[key] = None
                left.extend(reversed(self._children(key)))
        return list(seen)

    def _children(self, key: str) -> list[str]:
        listed = get_dict(self._nodes, key).get("children")
        found = listed if isinstance(listed, list) else []
        return [child for child in found if isinstance(child, str) and child in self._nodes]

    def info(self) -> SessionInfo:
        """Say which conversation this is."""
        record = self._record
        messages = [message for key in self._order if (message := get_dict(get_dict(self._nodes, key), "message"))]
        times = [at for message in messages if (at := from_epoch(message.get("create_time"))) is not None]
        started = from_epoch(record.get("create_time"))
        models = {model: None for message in messages if (model := _model(message))}
        default = get_text(record, "default_model_slug")
        name = get_text(record, "conversation_id") or get_text(record, "id")
        return SessionInfo(
            format="chatgpt",
            session_id=name
            or f"chatgpt-{fingerprint(record.get('title'), record.get('create_time'), self._order[:2])}",
            parent_id=None,
            agent_id=None,
            cwd=None,
            title=get_text(record, "title") or None,
            models=tuple(models) or tuple(filter(None, [default])),
            versions=(),
            started_at=min(times, default=started),
            ended_at=max(times, default=started),
            zone=None,
            path=str(self.path),
        )

    def _messages(self) -> Iterator[TranscriptMessage]:
        default = get_text(self._record, "default_model_slug") or None
        for number, key in enumerate(self._order, 1):
            message = get_dict(self._nodes, key).get("message")
            if not isinstance(message, dict):
                self._skip(number, "node without a message")
                continue
            said = self._read(number, message)
            if said is None:
                continue
            by_model = said.role == "assistant"
            yield TranscriptMessage(
                key or "unnamed",
                said.role,
                said.kind,
                said.text,
                from_epoch(message.get("create_time")),
                None,
                (_model(message) or default) if by_model else None,
                said.tool,
                None,
                key in self._alive,
                None,
                None,
                number,
            )

    def _read(self, number: int, message: Record) -> Said | None:
        author, content = get_dict(message, "author"), get_dict(message, "content")
        role, kind = _ROLES.get(get_text(author, "role")), get_text(content, "content_type")
        if role is None:
            self._skip(number, f"unknown role '{show_type(author.get('role'))}'")
            return None
        if kind == "reasoning_recap":
            self._skip(number, f"not conversation: {kind}")
            return None
        text = clean(_show(content))
        if not text.strip():
            self._skip(number, "empty text")
            return None
        if role == "tool":
            name = get_text(author, "name") or None
            return Said("tool", "tool_result", cut_result(text), ToolUse(name, None, None, kind == "system_error"))
        recipient = get_text(message, "recipient")
        if role == "assistant" and recipient not in {"", "all"}:
            return _call(recipient, text)
        hidden = get_dict(message, "metadata").get("is_visually_hidden_from_conversation")
        decided: Kind = "reply" if role == "assistant" else "prompt" if role == "user" else "injected"
        if kind == "thoughts":
            decided = "thinking"
        elif kind == "system_error":
            decided = "error"
        elif hidden or kind in _INJECTED:
            decided = "injected"
        return Said(role, decided, text)


def _call(name: str, text: str) -> Said:
    arguments: Any = text
    try:
        arguments = parse_json(text)
    except ValueError:
        # code, or words
        pass
    return Said("assistant", "tool_call", show_call(name, arguments), ToolUse(name, None, arguments, None))


def _show(content: Record) -> str:
    parts = content.get("parts")
    if isinstance(parts, list):
        return "\n".join(shown for part in parts if (shown := _show_part(part)))
    thoughts = get_dicts(content, "thoughts")
    if thoughts:
        return "\n\n".join(get_text(each, "content") or get_text(each, "summary") for each in thoughts)
    for key in ("text", "result", "user_profile", "user_instructions", "model_set_context", "content"):
        if text := get_text(content, key):
            return text
    return ""


def _show_part(part: Any) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return ""
    kind = get_text(part, "content_type")
    if text := get_text(part, "text"):
        return text
    if kind.startswith("image"):
        return "[image]"
    return f"[{show_type(kind.partition('_')[0])}]" if kind else ""


def _model(message: Record) -> str:
    return get_text(get_dict(message, "metadata"), "model_slug")
