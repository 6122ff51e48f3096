"""``amber show``: read a recorded session."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice

import click
from rich.console import Console
from rich.text import Text

from amber.cli.base import Command, State, note, pass_state
from amber.cli.conversation import Conversation, Style
from amber.cli.machine import emit
from amber.cli.moments import day_and_time, to_local
from amber.cli.paging import page_out, pager_option, painted, wrap
from amber.cli.render import count, make_console, one_line
from amber.cli.sessions import rows_of
from amber.errors import BadInput, NotFound
from amber.memory import Memory
from amber.model.message import KINDS, Message, Session

_PLACE = re.compile(r"(.+):(\d{1,18})")
_TOOLS = ("tool_call", "tool_result")
#: Children that the header names.
_CHILDREN = 10


@click.command(
    "show",
    cls=Command,
    examples=(
        "amber show d6cad1a0",
        "amber show d6cad1a0:12",
        "amber show d6cad1a0 --kinds prompt,reply",
        "amber show d6cad1a0 --grep 'rate limit' --full",
        "amber show d6cad1a0 --json | jq -r 'select(.kind == \"prompt\") | .text'",
    ),
)
@click.argument("place", metavar="SESSION[:N]")
@click.option("-C", "--context", type=click.IntRange(0, 10_000), default=5, show_default=True, metavar="N",
              help="With a message: how many to show before and after it.")  # fmt: skip
@click.option("--from", "start", type=click.IntRange(0), default=0, metavar="N", help="Begin with message N.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="How many messages to show at most (default: all).")
@click.option("--last", type=click.IntRange(1, 10_000), metavar="N", help="Only the last N messages.")
@click.option("--kinds", metavar="KIND,...", help=f"Only these kinds of messages: {', '.join(KINDS)}.")
@click.option("--tools/--no-tools", default=True, help="With tool calls and results, or without (default: with).")
@click.option("--grep", metavar="TEXT", help="Only messages that hold this text, in upper or lower case.")
@click.option("--full", is_flag=True, help="Fold nothing: tools, thinking and injected texts in full.")
@click.option("--retracted", is_flag=True, help="Also what was edited and sent again.")
@pager_option
@pass_state
def show_command(
    state: State,
    /,
    place: str,
    context: int,
    start: int,
    limit: int | None,
    last: int | None,
    kinds: str | None,
    tools: bool,
    grep: str | None,
    full: bool,
    retracted: bool,
    no_pager: bool,
) -> None:
    """Read a recorded session.

    SESSION is its id, or so much of its beginning that no other begins so; 'amber sessions' lists them. With :N, or
    with the id of a message instead, it is that message with those around it. What a tool did, what was thought and
    what a program put in is folded into a line each. With --json the session is one line of JSON, and each message
    one more.
    """
    wanted = _kinds(kinds, tools)
    with state.open() as memory:
        session, marked = _find(memory, place)
        if marked is not None:
            if start or limit is not None or last is not None or grep is not None or kinds is not None or not tools:
                raise click.UsageError(
                    "SESSION:N shows what is around a message; leave --from, --limit, --last, --grep, --kinds and "
                    "--no-tools out."
                )
            messages = iter(memory.sessions.around(marked, before=context, after=context, retracted=retracted))
        elif last is not None:
            if start:
                raise click.UsageError("--from and --last exclude each other.")
            back = memory.sessions.iter_messages(session.id, kinds=wanted, retracted=retracted, reverse=True)
            messages = iter([*islice(_matching(back, grep), last)][::-1])
        else:
            onward = memory.sessions.iter_messages(session.id, after=start - 1, kinds=wanted, retracted=retracted)
            messages = _matching(onward, grep)
        shown = _Counted(messages, limit)
        console = make_console()
        style = Style(
            full=full,
            pattern=re.compile(re.escape(grep), re.IGNORECASE) if grep is not None else None,
            marked=marked.seq if marked is not None else None,
            task=session.body.get("opening") if session.is_subagent else None,
        )
        if state.json:
            _emit(memory, session, shown)
            return
        agent = session.models[0] if len(session.models) == 1 else session.format or "assistant"
        conversation = Conversation(console, session.sender or "user", agent, session.messages - 1, style)
        head = _header(memory, session, console) if marked is None else _title(memory, session, console)
        page_out(chain([head], conversation.pieces(shown)), console, pager=not no_pager)
        name = memory.sessions.short_names([session])[session.id]
    _say(shown, name, marked, narrowed=grep is not None or wanted is not None or last is not None)


def _kinds(given: str | None, tools: bool) -> list[str] | None:
    chosen = [each.strip() for each in given.split(",") if each.strip()] if given is not None else [*KINDS]
    unknown = [each for each in chosen if each not in KINDS]
    if unknown or not chosen:
        raise click.UsageError(f"--kinds takes {', '.join(KINDS)}, not {', '.join(unknown) or 'nothing'}.")
    if not tools:
        chosen = [each for each in chosen if each not in _TOOLS]
    if not chosen:
        raise click.UsageError("--kinds names only tools, which --no-tools leaves out.")
    return chosen if given is not None or not tools else None


def _find(memory: Memory, place: str) -> tuple[Session, Message | None]:
    """Find a session, or a message in it by its number or by its own id."""
    sessions = memory.sessions
    try:
        return sessions.resolve(place), None
    except NotFound:
        found = _PLACE.fullmatch(place)
        try:
            message = sessions.message(place)
        except NotFound:
            if found is None:
                raise NotFound(
                    f"There is no recorded session {place!r}, and none whose id begins so. 'amber sessions' lists "
                    "what is there.",
                    session=place,
                ) from None
        else:
            return sessions.get(message.session), message
    session, seq = sessions.resolve(found[1]), int(found[2])
    there = sessions.messages(session.id, after=seq - 1, before=seq + 1, retracted=True)
    if not there:
        raise NotFound(
            f"Session {session.id!r} has no message {seq}; they are numbered from 0 to {session.messages - 1}.",
            session=session.id,
            seq=seq,
        )
    return session, there[0]


def _matching(messages: Iterable[Message], grep: str | None) -> Iterator[Message]:
    if grep is None:
        return iter(messages)
    if not grep:
        raise BadInput("--grep needs a text to look for.")
    wanted = re.compile(re.escape(grep), re.IGNORECASE)
    return (message for message in messages if wanted.search(message.text))


class _Counted:
    """Messages on their way out, at most so many."""

    def __init__(self, messages: Iterator[Message], limit: int | None) -> None:
        self._messages, self._limit = messages, limit
        self.shown = 0
        self.next: Message | None = None

    def __iter__(self) -> Iterator[Message]:
        for message in self._messages:
            if self.shown == self._limit:
                self.next = message
                return
            self.shown += 1
            yield message


def _emit(memory: Memory, session: Session, messages: Iterable[Message]) -> None:
    (row,) = rows_of(memory, [session])
    children = [each.id for each in memory.sessions.children(session)]
    emit({"type": "session", **row.to_json(), "children": children}, stream=True)
    for message in messages:
        emit({"type": "message", **message.to_dict(), "at": message.at}, stream=True)


def _title(memory: Memory, session: Session, console: Console) -> str:
    (row,) = rows_of(memory, [session])
    line = Text.assemble((row.name, "bold yellow"), "  ", (one_line(row.title, 400), "bold"))
    if console.is_terminal:
        line.truncate(console.width, overflow="ellipsis")
    return painted([line, Text()], console)


def _header(memory: Memory, session: Session, console: Console) -> str:
    """Say what is known of a session before its first message."""
    (row,) = rows_of(memory, [session])
    lines = [*wrap(Text(one_line(row.title, 120) or "nothing was asked", "bold"), console, Text()), Text()]
    prompts = f", {count(session.prompts, 'prompt')} by {session.sender}" if session.prompts else ""
    fields = [
        ("session", session.id),
        ("project", session.project or ""),
        ("program", _program(session)),
        ("time", _period(session)),
        ("holds", count(session.messages, "message") + prompts),
        ("tokens", _tokens(session)),
        ("from", session.path or ""),
    ]
    for name, value in fields:
        if value:
            lines += wrap(Text(one_line(value, 2_000)), console, Text(f"{name:<10}", "dim"), Text(" " * 10))
    lines += _relatives(memory, session, console)
    return painted([*lines, Text()], console)


def _program(session: Session) -> str:
    versions, models = ", ".join(session.versions), ", ".join(session.models)
    name = " ".join(each for each in (session.format, versions) if each)
    return f"{name}, model {models}" if models else name


def _period(session: Session) -> str:
    start, end = session.started_at, session.ended_at
    if start is None or end is None:
        return ""
    if start == end:
        return day_and_time(start)
    same = to_local(start).date() == to_local(end).date()
    until = f"{to_local(end):%H:%M}" if same else day_and_time(end)
    minutes = round((end - start).total_seconds() / 60)
    length = f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"
    return f"{day_and_time(start)} to {until} ({length})"


def _tokens(session: Session) -> str:
    words = {"input": "in", "cache_read": "in from the cache", "cache_write": "written to it", "output": "out"}
    return ", ".join(f"{session.tokens[name]:,} {word}" for name, word in words.items() if session.tokens.get(name))


def _relatives(memory: Memory, session: Session, console: Console) -> list[Text]:
    """Name the session that this one comes from, and those that come from it."""
    lines: list[Text] = []
    children = memory.sessions.children(session)
    parent = memory.sessions.find(session.parent) if session.parent else None
    for label, found in (("parent", [parent] if parent is not None else []), ("children", children[:_CHILDREN])):
        for n, row in enumerate(rows_of(memory, found)):
            line = Text.assemble(
                (f"{label if not n else '':<10}", "dim"),
                (row.name, "yellow"),
                (f"  {count(row.session.messages, 'message')}  ", "dim"),
                one_line(row.title, 200),
            )
            if console.is_terminal:
                line.truncate(console.width, overflow="ellipsis")
            lines.append(line)
    if session.parent and parent is None:
        lines.append(Text.assemble((f"{'parent':<10}", "dim"), f"{one_line(session.parent, 200)} (not imported)"))
    if len(children) > _CHILDREN:
        lines.append(Text(f"{'':<10}… and {len(children) - _CHILDREN:,} more", "dim"))
    return lines


def _say(shown: _Counted, name: str, marked: Message | None, *, narrowed: bool) -> None:
    if marked is not None:
        note(f"all of it: amber show {name}")
    elif shown.next is not None:
        note(f"more: amber show {name} --from {shown.next.seq}")
    elif not shown.shown:
        note("no messages; try it without the options that narrow it" if narrowed else "no messages")


COMMANDS: tuple[click.Command, ...] = (show_command,)
