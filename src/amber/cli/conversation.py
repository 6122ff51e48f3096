"""A conversation as people read it: what was said in full, what programs did in a line each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Literal, NamedTuple

from rich.console import Console
from rich.text import Text

from amber.cli.moments import to_local
from amber.cli.paging import painted, wrap
from amber.cli.render import clean, count, one_line
from amber.model.message import Message
from amber.model.wording import value_line

#: A folded text shows this much at most.
_FOLDED = 400
_IMAGE = re.compile(r"\[image [^\]\n]{0,300}\]")
#: Whose text is shown in full; all else is folded into a line.
_SAID = ("prompt", "reply", "error")
_LABELS = {"tool_result": "→", "tool_call": "", "interrupt": "interrupted"}
_STYLES = {
    "prompt": "bold cyan",
    "reply": "green",
    "error": "bold red",
    "thinking": "dim italic",
    "tool_call": "",
    "tool_result": "dim",
    "injected": "dim",
    "command": "cyan",
    "summary": "yellow",
    "interrupt": "yellow",
}


class Style(NamedTuple):
    """How a conversation is shown: nothing folded when ``full``, what matches ``pattern`` set off, the message
    ``marked`` (its number) shown in full, ``task`` (its id) as what a subagent was asked."""

    full: bool = False
    pattern: re.Pattern[str] | None = None
    marked: int | None = None
    task: str | None = None


class Conversation:
    """Messages on their way out, one piece of text for each."""

    def __init__(self, console: Console, sender: str, agent: str, last: int, style: Style) -> None:
        self._console, self._style = console, style
        self._sender, self._agent = sender, agent
        self._digits = len(str(max(last, 0)))
        # seconds need room that the text needs more
        self._clock = "%H:%M:%S" if console.width >= 60 else "%H:%M"
        self._day: str | None = None
        # what stands above
        self._before: Literal["day", "whole", "folded"] | None = None

    def pieces(self, messages: Iterable[Message]) -> Iterator[str]:
        """Give the text of each message."""
        for message in messages:
            yield painted(self._lines(message), self._console)

    def _lines(self, message: Message) -> Iterator[Text]:
        at = to_local(message.at) if message.at is not None else None
        yield from self._new_day(at)
        is_said = message.kind in _SAID or message.id == self._style.task
        is_whole = is_said or self._style.full or message.seq == self._style.marked
        if self._before is not None and (is_whole or self._before != "folded"):
            yield Text()
        self._before = "whole" if is_whole else "folded"
        yield from self._whole(message, at) if is_whole else self._folded(message, at)

    def _new_day(self, at: datetime | None) -> Iterator[Text]:
        day = f"{at:%a %Y-%m-%d}" if at is not None else None
        if day is None or day == self._day:
            return
        self._day = day
        if self._before is not None:
            yield Text()
        line = f"── {day} "
        if self._console.is_terminal:
            line += "─" * max(0, min(self._console.width, 120) - len(line))
        yield Text(line, "dim")
        self._before = "day"

    def _lead(self, message: Message, at: datetime | None) -> Text:
        """Give the number and the time of a message."""
        is_marked = message.seq == self._style.marked
        lead = Text.assemble((f"{message.seq:>{self._digits}}", "bold reverse" if is_marked else "dim"))
        if at is not None:
            lead.append(f"  {at.strftime(self._clock)}", "dim")
        return lead.append("  ")

    def _whole(self, message: Message, at: datetime | None) -> Iterator[Text]:
        kind, is_task = message.kind, message.id == self._style.task
        who = Text(self._who(message), "bold cyan" if is_task else _STYLES.get(kind, ""))
        if not message.live:
            who.append("  retracted: edited and sent again", "yellow")
        head = self._lead(message, at).append_text(who)
        if self._console.is_terminal:
            head.truncate(self._console.width, overflow="ellipsis")
        yield head
        bar = Text("▌ ", "cyan") if kind == "prompt" or is_task else Text()
        text = self._text(message)
        base = "" if message.live and kind in ("prompt", "reply") else "dim"
        if kind == "error":
            base = "red"
        yield from wrap(self._set_off(Text(_plain(text).strip("\n"), base)), self._console, bar)

    def _who(self, message: Message) -> str:
        kind = message.kind
        if message.id == self._style.task:
            return "task"
        if kind == "prompt":
            return one_line(message.sender or self._sender, 60)
        if kind == "reply":
            return one_line(message.model or self._agent, 60)
        if kind in ("tool_call", "tool_result") and message.tool is not None:
            name = one_line(message.tool["name"] or "tool", 60)
            answered = "failed" if message.tool["is_error"] else "answered"
            return f"{name} called" if kind == "tool_call" else f"{name} {answered}"
        return str(kind).replace("_", " ")

    def _text(self, message: Message) -> str:
        """Give what a message says in full, of a call all its arguments."""
        arguments = message.tool["arguments"] if message.kind == "tool_call" and message.tool is not None else None
        if isinstance(arguments, dict) and arguments:
            return "\n".join(_argument(str(name), value) for name, value in arguments.items())
        return str(message.text)

    def _folded(self, message: Message, at: datetime | None) -> Iterator[Text]:
        kind, text = message.kind, _plain(message.text)
        style = _STYLES.get(kind, "")
        label = _LABELS.get(kind, str(kind).replace("_", " "))
        lead = self._lead(message, at)
        if kind == "tool_result" and message.tool is not None and message.tool["is_error"]:
            label, style = "→ failed:", "red"
        if not message.live:
            label = f"{label} (retracted)".strip()
        if label:
            lead.append(f"{label}  " if kind != "tool_result" else f"{label} ", style)
        lines = text.strip().count("\n") + 1
        shown = (self._matching(text) if text.strip() else "(empty)") if kind != "interrupt" else ""
        rest = f"  ({count(lines, 'line')})" if lines > 1 else ""
        body = Text(one_line(shown, _FOLDED), style)
        if kind == "tool_call":
            # the name of the tool stands before the colon
            body.stylize("magenta", 0, max(0, body.plain.find(":")))
        if self._console.is_terminal:
            body.truncate(max(8, self._console.width - lead.cell_len - len(rest)), overflow="ellipsis")
        yield Text.assemble(lead, self._set_off(body), (rest, "dim"))

    def _matching(self, text: str) -> str:
        """Give the part of a folded text that is worth its line: where a word that was looked for stands."""
        found = self._style.pattern.search(text) if self._style.pattern is not None else None
        if found is None:
            return text
        start = text.rfind("\n", 0, found.start()) + 1
        if found.start() - start > 40:
            return f"…{text[found.start() - 30 :]}"
        return f"…{text[start:]}" if start else text

    def _set_off(self, text: Text) -> Text:
        text.highlight_regex(_IMAGE, "magenta")
        if self._style.pattern is not None:
            text.highlight_regex(self._style.pattern, "bold reverse yellow")
        return text


def _argument(name: str, value: Any) -> str:
    if not isinstance(value, str):
        return f"{name}: {value_line(value, 2_000)}"
    return f"{name}: {value}" if "\n" not in value else f"{name}:\n{value}"


def _plain(text: str) -> str:
    """Give a text with the line ends of every system as line feeds, and nothing that a terminal acts on."""
    return clean(text.replace("\r\n", "\n").replace("\r", "\n"))
