"""Read trajectories of OpenHands: one JSON list of events.

An event is an action (`args`) or an observation (`content`, `cause` = id of its action). `message` is only what the
interface showed. Ids have gaps, and the ids of tool calls may all be one constant, so a result is paired by its cause.
Times bear no zone: they are local to the machine that ran, and the model's own time (UTC) tells how far off.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Final, NamedTuple

from amber.pipeline.transcripts.chat import Said, find_tokens
from amber.pipeline.transcripts.document import DocumentReader
from amber.pipeline.transcripts.identity import Uids, fingerprint, name_session
from amber.pipeline.transcripts.jsonl import Record, get_dict, get_text
from amber.pipeline.transcripts.reader import show_type
from amber.pipeline.transcripts.record import Role, SessionInfo, ToolUse, TranscriptMessage
from amber.pipeline.transcripts.text import (
    clean,
    cut_result,
    from_epoch,
    show_call,
    show_image_url,
    to_micros,
    to_offset,
)

_NOISE: Final = frozenset(
    {"null", "agent_state_changed", "change_agent_state", "recall", "think", "condensation_request", "loading"}
)
# Arguments that say how, or say again, what the others say.
_ASIDE: Final = frozenset(
    {
        "thought",
        "translated_ipython_code",
        "impl_source",
        "confirmation_state",
        "security_risk",
        "hidden",
        "blocking",
        "is_input",
        "include_extra",
        "kernel_init_code",
    }
)
_QUARTER: Final = 15 * 60 * 1_000_000


class _Survey(NamedTuple):
    mark: str
    models: dict[str, None]
    cwd: str | None
    started_at: int | None
    ended_at: int | None
    offset: int
    """Microseconds that local time is ahead of UTC; 0 where nothing tells."""


class OpenHandsReader(DocumentReader):
    """Give the messages of one trajectory."""

    @cached_property
    def _surveyed(self) -> _Survey:
        mark, cwd, offset = "", None, None
        models: dict[str, None] = {}
        times: list[int] = []
        for _, event in self._records(counting=False):
            # its time tells the first event from that of any other run
            mark = mark or fingerprint(*(event.get(key) for key in ("id", "timestamp", "source", "message", "args")))
            response = _response(event)
            if model := get_text(response, "model"):
                models[model] = None
            cwd = cwd or get_text(get_dict(get_dict(event, "extras"), "metadata"), "working_dir") or None
            at, created = to_micros(event.get("timestamp")), from_epoch(response.get("created"))
            if at is None:
                continue
            times = [min(at, *times), max(at, *times)] if times else [at]
            if offset is None and created is not None and to_offset(event.get("timestamp")) is None:
                offset = round((at - created) / _QUARTER) * _QUARTER
        offset = offset if offset is not None and abs(offset) <= 56 * _QUARTER else 0
        times = [at - offset for at in times]
        return _Survey(mark, models, cwd, times[0] if times else None, times[-1] if times else None, offset)

    def info(self) -> SessionInfo:
        """Say which session this is. It has no id: its name and first event stand for it.

        :raises BadInput: the document is damaged.
        :raises OSError: the file cannot be read.
        """
        survey = self._surveyed
        return SessionInfo(
            format="openhands",
            session_id=name_session(self.path, survey.mark),
            parent_id=None,
            agent_id=None,
            cwd=survey.cwd,
            title=None,
            models=tuple(survey.models),
            versions=(),
            started_at=survey.started_at,
            ended_at=survey.ended_at,
            zone=_zone(survey.offset),
            path=str(self.path),
        )

    def _messages(self) -> Iterator[TranscriptMessage]:
        survey, uids = self._surveyed, Uids()
        zone = _zone(survey.offset)
        self._names: dict[int, str] = {}
        counted: set[str] = set()
        for number, event in self._records(counting=True):
            said = self._read(number, event)
            at = to_micros(event.get("timestamp"))
            at = at - survey.offset if at is not None and to_offset(event.get("timestamp")) is None else at
            response = _response(event)
            tokens = None
            answer = get_text(response, "id")
            if said and "action" in event and answer not in counted:
                counted.add(answer)
                tokens = find_tokens(get_dict(response, "usage"))
            event_id = event.get("id")
            name = uids.count(f"event-{event_id}") if type(event_id) is int else ""
            for index, each in enumerate(said):
                part = f"#{index}" if len(said) > 1 else ""
                by_model = each.role == "assistant"
                yield TranscriptMessage(
                    f"{name}{part}" if name else uids.name(event.get("timestamp"), each.role, each.text),
                    each.role,
                    each.kind,
                    each.text,
                    at,
                    to_offset(event.get("timestamp")) or zone,
                    get_text(response, "model") or None if by_model else None,
                    each.tool,
                    tokens if by_model else None,
                    True,
                    survey.cwd,
                    None,
                    number,
                )
                tokens = None if by_model else tokens

    def _read(self, number: int, event: Record) -> list[Said]:
        if "observation" in event:
            return self._read_observation(number, event)
        if "action" not in event:
            self._skip(number, "unknown record type 'unnamed'")
            return []
        return self._read_action(number, event)

    def _read_action(self, number: int, event: Record) -> list[Said]:
        action, args, source = get_text(event, "action"), get_dict(event, "args"), event.get("source")
        thought = get_text(args, "thought")
        if action in {"message", "finish", "reject"}:
            words = get_text(args, "content") or get_text(args, "final_thought") or thought
            words = words or (get_text(event, "message") if action != "message" else "")
            urls = args.get("image_urls")
            shown = [show_image_url(url) for url in urls] if isinstance(urls, list) else []
            text = "\n".join([*shown, words] if words else shown)
            role: Role = "user" if source == "user" else "assistant"
            return self._keep(number, Said(role, "prompt" if role == "user" else "reply", clean(text)))
        if action == "system":
            return self._keep(number, Said("system", "injected", clean(get_text(args, "content"))))
        if action == "think":
            return self._keep(number, Said("assistant", "thinking", clean(thought)))
        if action == "condensation":
            return self._keep(number, Said("system", "summary", clean(get_text(args, "summary"))))
        if action in _NOISE or source == "environment":
            self._skip(number, f"not conversation: {show_type('action', action)}")
            return []
        return self._read_call(event, action, args, thought)

    def _read_call(self, event: Record, action: str, args: Record, thought: str) -> list[Said]:
        name = get_text(get_dict(event, "tool_call_metadata"), "function_name") or action or "?"
        event_id = event.get("id")
        call = str(event_id) if type(event_id) is int else None
        if type(event_id) is int:
            self._names[event_id] = name
        arguments = {key: value for key, value in args.items() if key not in _ASIDE and value not in (None, "")}
        text = show_call(name, arguments)
        if event.get("source") == "user":
            # the person used the shell beside the agent
            return [Said("user", "command", text)]
        found = [Said("assistant", "tool_call", text, ToolUse(name, call, arguments, None))]
        return [Said("assistant", "reply", clean(thought)), *found] if thought.strip() else found

    def _read_observation(self, number: int, event: Record) -> list[Said]:
        kind, text = get_text(event, "observation"), clean(get_text(event, "content"))
        if kind == "recall" and text.strip():
            return [Said("system", "injected", text)]
        if kind in _NOISE:
            self._skip(number, f"not conversation: {show_type('observation', kind)}")
            return []
        if kind == "message":
            return self._keep(number, Said("system", "injected", text))
        cause = event.get("cause")
        call = cause if type(cause) is int else None
        name = (self._names.get(call) if call is not None else None) or kind or None
        success = event.get("success")
        failed = not success if isinstance(success, bool) else _failed(get_dict(event, "extras"))
        if kind in {"error", "user_rejected"}:
            failed = True
        tool = ToolUse(name, str(call) if call is not None else None, None, failed)
        return [Said("tool", "tool_result", cut_result(text), tool)]

    def _keep(self, number: int, said: Said) -> list[Said]:
        if said.text.strip():
            return [said]
        self._skip(number, "empty text")
        return []


def _response(event: Record) -> Record:
    return get_dict(get_dict(event, "tool_call_metadata"), "model_response")


def _failed(extras: Record) -> bool | None:
    code = get_dict(extras, "metadata").get("exit_code", extras.get("exit_code"))
    return code != 0 if type(code) is int else None


def _zone(offset: int) -> str | None:
    if not offset:
        return None
    hours, minutes = divmod(abs(offset) // 60_000_000, 60)
    return f"{'-' if offset < 0 else '+'}{hours:02d}:{minutes:02d}"


def is_event(record: Any) -> bool:
    """Say whether an item of a list is an event."""
    return isinstance(record, dict) and "source" in record and ("action" in record or "observation" in record)
