"""Read trajectories of SWE-agent: `.traj`, one JSON object with `history`.

`history` is what is read. `trajectory` repeats every step of it, with the whole prompt in each since 2025, and is only
asked for the folder. There is no session id and no time. In 2024 there was no tool role: observations are user
messages, and the command is a fenced block of the answer. The task is the only prompt; a demonstration is of another
task and is left out.
"""

from collections.abc import Mapping
from contextlib import closing
from functools import cached_property
from typing import Any, ClassVar

from amber.pipeline.transcripts.chat import Said
from amber.pipeline.transcripts.chat_reader import ChatReader
from amber.pipeline.transcripts.document import DocumentReader
from amber.pipeline.transcripts.jsonl import Record, get_dict, get_text, parse_json
from amber.pipeline.transcripts.record import Format, ToolUse
from amber.pipeline.transcripts.text import clean, cut_result, show_call


class SweAgentReader(ChatReader, DocumentReader):
    """Give the messages of one trajectory."""

    format: ClassVar[Format] = "swe-agent"

    @cached_property
    def _about(self) -> Mapping[str, object]:
        document = self._document
        config = _to_dict(document.value(("replay_config",)))
        with closing(document.items(("trajectory",))) as steps:
            first = next(steps, None)
        state = _to_dict(first.get("state")) if isinstance(first, dict) else {}
        model = get_dict(get_dict(config, "agent"), "model")
        return {
            "cwd": get_text(state, "working_dir"),
            "model": get_text(model, "name") or get_text(model, "model_name"),
        }

    @cached_property
    def _used(self) -> dict[str, int] | None:
        # known for the whole session only, so it stands on the last answer
        stats = _to_dict(self._document.value(("info", "model_stats")))
        names = {"input": "tokens_sent", "output": "tokens_received"}
        used = {name: stats[key] for name, key in names.items() if type(stats.get(key)) is int and stats[key] > 0}
        return used or None

    def _start(self) -> None:
        self._has_task = False

    def _read(self, number: int, record: Record) -> list[Said]:
        role = record.get("role")
        if record.get("is_demo") or record.get("message_type") == "demonstration":
            self._skip(number, "demonstration of another task")
            return []
        said = self._parser.parse(record)
        if role == "assistant":
            return self._split_action(record, said)
        if role != "user":
            return said
        first = self._surveyed.first_answer
        if first is not None and number > first:
            return [self._to_result(each) for each in said]
        if self._has_task:
            return [each._replace(kind="injected") for each in said]
        self._has_task = bool(said)
        return said

    def _split_action(self, record: Record, said: list[Said]) -> list[Said]:
        action, thought = get_text(record, "action").strip(), get_text(record, "thought").strip()
        if not action or any(each.tool is not None for each in said):
            return said
        tool = ToolUse("bash", None, {"command": action}, None)
        call = Said("assistant", "tool_call", show_call("bash", tool.arguments), tool, ("call", action))
        # the answer is the thought and the action: each once
        found = [
            each._replace(text=clean(thought)) if action in each.raw[-1] and thought in each.raw[-1] else each
            for each in said
            if each.kind == "reply"
        ]
        others = [each for each in said if each.kind != "reply"]
        return [*others, *(each for each in found if each.text), call]

    def _to_result(self, said: Said) -> Said:
        if said.tool is not None:
            return said
        return Said("tool", "tool_result", cut_result(said.text), ToolUse("bash", None, None, None), said.raw)

    def _find_tokens(self, number: int, record: Record) -> dict[str, int] | None:
        return self._used if number == self._surveyed.last_answer else None


def _to_dict(value: Any) -> Record:
    # an object, or the JSON text of one
    if isinstance(value, str):
        try:
            value = parse_json(value)
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}
