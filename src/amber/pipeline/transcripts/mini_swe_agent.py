"""Read trajectories of mini-swe-agent: a plain list of messages, or `{messages, info, trajectory_format}` since 1.x.

The shell command stands in a fenced block of the answer; what it printed is recorded under the user's role, so the
only prompt is the task. Versions 2 use tool calls, which are read as in any list of messages.
"""

import re
from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar, Final

from amber.pipeline.transcripts.chat import Said, show_content
from amber.pipeline.transcripts.chat_reader import ChatReader
from amber.pipeline.transcripts.document import DocumentReader
from amber.pipeline.transcripts.jsonl import Record, get_dict, get_text
from amber.pipeline.transcripts.record import Format, ToolUse
from amber.pipeline.transcripts.text import clean, cut_result, show_call

_COMMAND: Final = re.compile(
    r"^```(?:mswea_bash_command|bash)[ \t]*\r?\n(.*?)^```[ \t]*\r?$\n?", re.DOTALL | re.MULTILINE
)
_RETURN_CODE: Final = re.compile(r"\s*<returncode>\s*(-?\d+)\s*</returncode>\s*")
_OUTPUT: Final = re.compile(r"\s*<output>\n?(.*?)\n?</output>\s*\Z", re.DOTALL)
OBSERVATION: Final = "<returncode>"


class MiniSweAgentReader(ChatReader, DocumentReader):
    """Give the messages of one trajectory."""

    format: ClassVar[Format] = "mini-swe-agent"

    @cached_property
    def _about(self) -> Mapping[str, object]:
        if not self._place:
            return {}
        info = self._document.value(("info",))
        info = info if isinstance(info, dict) else {}
        config = get_dict(info, "config")
        environment = get_dict(config, "environment")
        return {
            "model": get_text(get_dict(config, "model"), "model_name"),
            "version": get_text(info, "mini_version"),
            "cwd": get_text(environment, "cwd"),
        }

    def _start(self) -> None:
        self._has_called = False

    def _read(self, number: int, record: Record) -> list[Said]:
        role = record.get("role")
        if role == "exit":
            self._skip(number, "not conversation: exit")
            return []
        said = self._parser.parse(record)
        if role == "assistant":
            said = [part for each in said for part in self._split_command(each)]
            self._has_called = any(each.kind == "tool_call" for each in said)
            return said
        first = self._surveyed.first_answer
        if role != "user" or first is None or number < first:
            return said
        called, self._has_called = self._has_called, False
        return [self._read_observation(each, called) for each in said]

    def _split_command(self, said: Said) -> list[Said]:
        found = _COMMAND.findall(said.text) if said.kind == "reply" else []
        if len(found) != 1:
            # it runs nothing when there is not exactly one
            return [said]
        command, words = found[0].rstrip(), _COMMAND.sub("", said.text).strip()
        tool = ToolUse("bash", None, {"command": command}, None)
        call = Said("assistant", "tool_call", show_call("bash", tool.arguments), tool, ("call", *said.raw))
        return [said._replace(text=words), call] if words else [call]

    def _read_observation(self, said: Said, called: bool) -> Said:
        content = said.text
        code = _RETURN_CODE.match(content)
        if code is None and not called:
            # a complaint about the form of the answer, or about a limit
            return said._replace(kind="injected")
        if code is not None:
            output = _OUTPUT.match(content, code.end())
            content = output[1] if output is not None else content[code.end() :]
        failed = code[1] != "0" if code is not None else None
        text = cut_result(clean(content))
        return Said("tool", "tool_result", text, ToolUse("bash", None, None, failed), said.raw)


def is_observation(record: Mapping[str, object]) -> bool:
    """Say whether a message is what a command printed."""
    return record.get("role") == "user" and show_content(record.get("content"))[:40].lstrip().startswith(OBSERVATION)
