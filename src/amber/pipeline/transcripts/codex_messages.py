"""The second pass over a rollout of Codex: from records to messages."""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from amber.pipeline.transcripts.codex_survey import (
    CALLS,
    OUTPUTS,
    CodexSurvey,
    is_typed,
    message_text,
    reasoning_text,
)
from amber.pipeline.transcripts.jsonl import Record, get_dict, get_dicts, get_text, parse_json
from amber.pipeline.transcripts.reader import show_type
from amber.pipeline.transcripts.record import Kind, Role, ToolUse, TranscriptMessage
from amber.pipeline.transcripts.text import clean, cut_result, show_call, show_image_url, to_micros, to_offset

_INJECTED: Final = (
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions for ",
    "<permissions instructions>",
    "<collaboration_mode>",
    "<skill>",
    "<subagent_notification>",
    "PLEASE IMPLEMENT THIS PLAN:",
)
_ABORTED: Final = "<turn_aborted>"

_BOOKKEEPING_EVENTS: Final = frozenset(
    {
        "token_count",
        "agent_message",
        "agent_reasoning",
        "agent_reasoning_raw_content",
        "agent_reasoning_section_break",
        "task_started",
        "task_complete",
        "turn_started",
        "turn_complete",
        "context_compacted",
        "exec_command_begin",
        "exec_command_end",
        "mcp_tool_call_begin",
        "mcp_tool_call_end",
        "web_search_begin",
        "web_search_end",
        "patch_apply_begin",
        "patch_apply_end",
        "turn_diff",
        "plan_update",
        "entered_review_mode",
        "exited_review_mode",
        "item_started",
        "item_completed",
        "thread_name_updated",
        "thread_rolled_back",
        "session_configured",
        "sub_agent_activity",
        "view_image_tool_call",
        "warning",
        "undo_started",
        "undo_completed",
        "background_event",
        "deprecation_notice",
    }
)
_BOOKKEEPING: Final = frozenset({"session_meta", "turn_context", "world_state", "inter_agent_communication_metadata"})

_EXIT_CODE: Final = re.compile(r"(?:Exit code:|Process exited with code) (-?\d+)")
_FAILED: Final = ("failed in sandbox", "error: ", "apply_patch verification failed", "execution error:")


class CodexPass:
    """Turn records into messages, with what the survey found."""

    def __init__(self, survey: CodexSurvey, skip: Callable[[int, str], None]) -> None:
        self._skip = skip
        self._survey = survey
        self._tools: dict[str, str] = {}
        self._cwd: str | None = None
        self._branch: str | None = None
        self._model: str | None = None
        self._zone: str | None = None
        self._line = 0
        self._stamp: object = None
        self._has_prompt_events = bool(survey.prompts)
        self._takes_replies = not survey.items["message:assistant"]
        self._takes_thoughts = not survey.items["reasoning"]

    def run(self, records: Iterator[tuple[int, Record]]) -> Iterator[TranscriptMessage]:
        """Yield the messages of these records, in their order; skip the rest with a reason."""
        for line, record in records:
            self._line, self._stamp = line, record.get("timestamp")
            kind, payload = get_text(record, "type"), record.get("payload")
            if not isinstance(payload, dict):
                self._skip(line, f"unknown record type '{show_type(kind)}'")
                continue
            if kind == "response_item":
                found = self._read_item(payload)
            elif kind == "event_msg":
                found = self._read_event(payload)
            elif kind == "compacted":
                found = self._read_compacted(payload)
            else:
                self._note(kind, payload)
                continue
            if found is not None:
                yield found

    def _note(self, kind: str, payload: Record) -> None:
        if kind not in _BOOKKEEPING:
            self._skip(self._line, f"unknown record type '{show_type(kind)}'")
            return
        self._skip(self._line, f"not conversation: {kind}")
        self._cwd = get_text(payload, "cwd") or self._cwd
        self._model = get_text(payload, "model") or self._model
        self._zone = get_text(payload, "timezone") or self._zone
        self._branch = get_text(get_dict(payload, "git"), "branch") or self._branch

    def _read_event(self, payload: Record) -> TranscriptMessage | None:
        name = get_text(payload, "type")
        text = get_text(payload, "message") or get_text(payload, "text")
        if name == "user_message":
            return self._read_prompt(payload, text)
        if (name == "agent_message" and self._takes_replies) or (name == "agent_reasoning" and self._takes_thoughts):
            if text.strip() and self._line < self._survey.closed_line:
                return self._make("assistant", "reply" if name == "agent_message" else "thinking", clean(text))
            self._skip(self._line, "empty text" if not text.strip() else "its item may still come")
            return None
        if name == "turn_aborted":
            reason = get_text(payload, "reason")
            return self._make("user", "interrupt", f"[turn aborted: {reason}]" if reason else "[turn aborted]")
        if name in {"error", "stream_error"} and text:
            return self._make("system", "error", clean(text))
        if name in _BOOKKEEPING_EVENTS or name.startswith("collab_"):
            self._skip(self._line, f"not conversation: {show_type('event_msg', name)}")
        else:
            self._skip(self._line, f"unknown record type '{show_type('event_msg', name)}'")
        return None

    def _read_prompt(self, payload: Record, text: str) -> TranscriptMessage | None:
        if not is_typed(payload):
            self._skip(self._line, "copy of an injected text")
            return None
        lists = [found for key in ("images", "local_images") if isinstance(found := payload.get(key), list)]
        images = [show_image_url(image) for found in lists for image in found]
        shown = "\n".join([*images, clean(text)] if text else images)
        if not shown.strip():
            self._skip(self._line, "empty text")
            return None
        injected = self._survey.is_subagent or text.startswith(_INJECTED)
        return self._make("user", "injected" if injected else "prompt", shown)

    def _read_item(self, payload: Record) -> TranscriptMessage | None:
        kind = get_text(payload, "type")
        if kind == "message":
            return self._read_message(payload)
        if kind == "reasoning":
            text = reasoning_text(payload)
            if text:
                return self._make("assistant", "thinking", clean(text))
            self._skip(self._line, "empty thinking")
        elif kind in CALLS:
            return self._read_call(payload)
        elif kind in OUTPUTS:
            return self._read_output(payload)
        elif kind in {"ghost_snapshot", "agent_message", "compaction", "compaction_summary"}:
            self._skip(self._line, f"not conversation: {show_type('response_item', kind)}")
        else:
            self._skip(self._line, f"unknown record type '{show_type('response_item', kind)}'")
        return None

    def _read_message(self, payload: Record) -> TranscriptMessage | None:
        role, text, blocks = payload.get("role"), message_text(payload), get_dicts(payload, "content")
        images = [show_image_url(block.get("image_url")) for block in blocks if block.get("type") == "input_image"]
        shown = "\n".join([*images, clean(text)] if text else images)
        if not shown.strip():
            self._skip(self._line, "empty text")
            return None
        if role == "assistant":
            return self._make("assistant", "reply", shown)
        if role != "user":
            return self._make("system", "injected", shown)
        if any(hash(get_text(block, "text").strip()) in self._survey.prompts for block in blocks):
            self._skip(self._line, "copy of a prompt")
            return None
        if text.startswith(_ABORTED):
            if not self._survey.events["turn_aborted"]:
                return self._make("user", "interrupt", shown)
            self._skip(self._line, "copy of an interrupt")
            return None
        known = text.startswith(_INJECTED)
        if not known and self._line > self._survey.answered_line:
            self._skip(self._line, "its event may still come")
            return None
        injected = known or self._has_prompt_events or self._survey.is_subagent
        return self._make("user", "injected" if injected else "prompt", shown)

    def _read_call(self, payload: Record) -> TranscriptMessage:
        kind = get_text(payload, "type")
        name = get_text(payload, "name") or kind.removesuffix("_call")
        arguments: Any = payload.get("arguments")
        if kind == "function_call" and isinstance(arguments, str):
            try:
                arguments = parse_json(arguments)
            except ValueError:
                # The model broke off, or wrote no JSON: what it wrote is the argument.
                pass
        elif kind == "custom_tool_call":
            arguments = payload.get("input")
        elif kind in {"local_shell_call", "web_search_call"}:
            arguments = payload.get("action")
        elif kind == "image_generation_call":
            arguments = payload.get("revised_prompt")
        call = get_text(payload, "call_id")
        self._tools[call] = name
        return self._make(
            "assistant", "tool_call", show_call(name, arguments), ToolUse(name, call or None, arguments, None)
        )

    def _read_output(self, payload: Record) -> TranscriptMessage:
        output, failed = payload.get("output"), None
        if isinstance(output, str):
            output, failed = _unwrap(output)
        if isinstance(output, dict):
            success = output.get("success")
            failed = not success if isinstance(success, bool) else failed
            output = output.get("content", output.get("output"))
        if isinstance(output, list):
            output = "\n".join(_show_part(part) for part in output if isinstance(part, dict))
        text = clean(output) if isinstance(output, str) else ""
        call = get_text(payload, "call_id")
        failed = _is_failure(text) if failed is None else failed
        tool = ToolUse(self._tools.get(call) if call else None, call or None, None, failed)
        return self._make("tool", "tool_result", cut_result(text), tool)

    def _read_compacted(self, payload: Record) -> TranscriptMessage | None:
        # `replacement_history` repeats earlier prompts: never read.
        text = get_text(payload, "message")
        if text.strip():
            return self._make("system", "summary", clean(text))
        self._skip(self._line, "not conversation: compacted")
        return None

    def _make(self, role: Role, kind: Kind, text: str, tool: ToolUse | None = None) -> TranscriptMessage:
        line = self._line
        by_model = role == "assistant"
        return TranscriptMessage(
            f"line-{line}",
            role,
            kind,
            text,
            to_micros(self._stamp),
            self._zone or to_offset(self._stamp),
            self._model if by_model else None,
            tool,
            self._survey.tokens.get(line) if by_model else None,
            not any(first <= line <= last for first, last in self._survey.taken_back),
            self._cwd,
            self._branch,
            line,
        )


def _unwrap(output: str) -> tuple[Any, bool | None]:
    # 0.34 writes the output as JSON text inside the string: {"output": ..., "metadata": {"exit_code": 0}}.
    if not output.startswith('{"output":'):
        return output, None
    try:
        wrapped = parse_json(output)
    except ValueError:
        return output, None
    code = get_dict(wrapped, "metadata").get("exit_code")
    return wrapped.get("output"), code != 0 if type(code) is int else None


def _is_failure(text: str) -> bool | None:
    # The header stands in the first lines; the same words further down are the command's own.
    code = _EXIT_CODE.search(text, 0, 200)
    if code is not None:
        return code[1] != "0"
    return True if text.startswith(_FAILED) else None


def _show_part(part: Record) -> str:
    if part.get("type") == "input_image":
        return show_image_url(part.get("image_url"))
    return get_text(part, "text")
