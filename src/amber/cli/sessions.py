"""``amber sessions``: list the recorded sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any, TypeVar

import click
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from amber.cli.base import Command, State, note, pass_state
from amber.cli.machine import emit
from amber.cli.moments import ago, to_local
from amber.cli.paging import page_out, pager_option, painted
from amber.cli.render import count, make_console, one_line
from amber.memory import Memory
from amber.model.collection import Body
from amber.model.message import Message, Session

F = TypeVar("F", bound=Callable[..., Any])

#: Sessions whose titles and names are read together.
_TOGETHER = 200
#: From these widths on there is room for what program and which project, and for a longer project.
_MEDIUM, _WIDE = 60, 100
_TITLE = 300


@click.command(
    "sessions",
    cls=Command,
    examples=(
        "amber sessions",
        "amber sessions --project home/ana/atlas --since 2026-10-01",
        "amber sessions --all --subagents --format codex",
        "amber sessions --all | cut -f 6 | sort | uniq -c",
        "amber sessions --json --all | jq -r 'select(.messages > 500) | .id'",
    ),
)
@click.option("--project", metavar="PATH", help="Of this body of work, like team/atlas; what is below it counts.")
@click.option("--sender", metavar="NAME", help="With the prompts of this person.")
@click.option("--format", "format_", metavar="NAME", help="Recorded by this program: claude, codex ...")
@click.option("--since", metavar="TIME", help="Begun at this time or later.")
@click.option("--until", metavar="TIME", help="Begun before this time.")
@click.option("--subagents", is_flag=True, help="Also those that another session's agent started.")
@click.option("--before", metavar="SESSION", help="Only what is listed after this session.")
@click.option(
    "--limit", type=click.IntRange(1), default=50, show_default=True, metavar="N", help="How many to show at most."
)
@click.option("--all", "every", is_flag=True, help="Show all, however many there are.")
@pager_option
@pass_state
def sessions_command(
    state: State,
    /,
    format_: str | None,
    subagents: bool,
    before: str | None,
    limit: int,
    every: bool,
    no_pager: bool,
    **filters: Any,
) -> None:
    """List recorded sessions, newest first.

    The short id is what 'amber show' takes. TIME is ISO 8601, in the local zone when it names none. In a pipe each
    session is one line of fields with tabs between them, nothing cut: id, begin, format, messages, project, title.
    With --json each is one line of JSON.
    """
    with state.open() as memory:
        start = memory.sessions.resolve(before) if before is not None else None
        found = _Found(memory.sessions.iter(**filters, format=format_, before=start), subagents)
        rows = _with_titles(memory, found if every else islice(found, limit))
        console = make_console()
        if state.json:
            for row in rows:
                emit(row.to_json(), stream=True)
        elif console.is_terminal:
            page_out(_laid_out(rows, console), console, pager=not no_pager)
        else:
            page_out((f"{row.to_fields()}\n" for row in rows), console, pager=False)
        if not state.json:
            _say(memory, found, limit if not every else None, narrowed=any(filters.values()) or bool(format_ or before))


class _Found:
    """Sessions on their way out: without subagents, unless they were asked for."""

    def __init__(self, sessions: Iterator[Session], subagents: bool) -> None:
        self._sessions, self._subagents = sessions, subagents
        self.last: Session | None = None
        self.shown = self.hidden = 0

    def __iter__(self) -> Iterator[Session]:
        for session in self._sessions:
            if session.is_subagent and not self._subagents:
                self.hidden += 1
                continue
            self.shown, self.last = self.shown + 1, session
            yield session

    def has_more(self) -> bool:
        """Tell whether a limit left some out; asked at the end."""
        return next(iter(self), None) is not None


class Row:
    """A session with its short name and what it opens with."""

    def __init__(self, session: Session, name: str, opening: Message | None) -> None:
        self.session, self.name, self.opening = session, name, opening

    @property
    def title(self) -> str:
        """The title that the program gave, else how the session opens."""
        return self.session.title or (self.opening.text if self.opening is not None else "")

    def to_fields(self) -> str:
        """Give the fields of a piped line."""
        session = self.session
        began = to_local(session.started_at).isoformat(timespec="seconds") if session.started_at is not None else ""
        fields = (session.id, began, session.format or "", str(session.messages), session.project or "", self.title)
        return "\t".join(one_line(field, 20_000) for field in fields)

    def to_json(self) -> Body:
        """Give the session as JSON."""
        session = self.session
        times = {"started_at": session.started_at, "ended_at": session.ended_at}
        body = {name: value for name, value in session.to_dict().items() if name != "read"}
        text = self.opening.text if self.opening is not None else None
        return {**body, **times, "short": self.name, "opening": text}


def _with_titles(memory: Memory, sessions: Iterator[Session] | _Found) -> Iterator[Row]:
    """Read the names and openings of many sessions at once."""
    rest = iter(sessions)
    while chunk := list(islice(rest, _TOGETHER)):
        names = memory.sessions.short_names(chunk)
        openings = memory.sessions.openings(chunk)
        yield from (Row(each, names[each.id], openings.get(each.id)) for each in chunk)


def rows_of(memory: Memory, sessions: Sequence[Session]) -> list[Row]:
    """Give sessions with their short names and openings."""
    return list(_with_titles(memory, iter(sessions)))


def _laid_out(rows: Iterator[Row], console: Console) -> Iterator[str]:
    """Lay rows out for a terminal, piece by piece; the first piece decides how wide the columns are."""
    layout: _Layout | None = None
    while chunk := list(islice(rows, _TOGETHER)):
        lines = []
        if layout is None:
            layout = _Layout(chunk, console.width)
            lines.append(layout.head())
        yield painted([*lines, *(layout.line(row) for row in chunk)], console)


class _Layout:
    """Columns for a terminal: what is the same for all is left out, the title gets what is left."""

    def __init__(self, rows: Sequence[Row], width: int) -> None:
        self._now = datetime.now(UTC)
        cells: dict[str, Callable[[Row], str]] = {
            "id": lambda row: row.name,
            "began": lambda row: ago(row.session.started_at, self._now),
            "format": lambda row: one_line(row.session.format or "", 12),
            "messages": lambda row: f"{row.session.messages:,}",
            "project": lambda row: _end_of(row.session.project or "", 32 if width >= _WIDE else 14),
        }
        dropped = set() if width >= _MEDIUM else {"format", "messages", "project"}
        dropped |= {name for name in ("format", "project") if len({cells[name](row) for row in rows}) < 2}
        self._cells = {name: cell for name, cell in cells.items() if name not in dropped}
        # the head of a column of numbers need not make it wider
        heads = {name: "msgs" if name == "messages" else name for name in self._cells}
        self._widths = {
            name: max(len(heads[name]), *(cell_len(cell(row)) for row in rows)) for name, cell in self._cells.items()
        }
        self._heads = [*heads.values(), "title"]
        self._room = max(8, width - sum(self._widths.values()) - 2 * len(self._widths))

    def head(self) -> Text:
        return self._join([Text(head, "dim") for head in self._heads])

    def line(self, row: Row) -> Text:
        title = Text(one_line(row.title, _TITLE))
        if not row.session.title:
            # no program gave it
            title.stylize("dim" if not row.title else "italic")
            title = title if row.title else Text("nothing was asked", "dim")
        styles = {"id": "bold yellow", "messages": "dim", "format": "dim", "project": "cyan"}
        cells = [Text(cell(row), styles.get(name, "")) for name, cell in self._cells.items()]
        return self._join([*cells, title])

    def _join(self, cells: Sequence[Text]) -> Text:
        *given, title = cells
        line = Text()
        for cell, (name, width) in zip(given, self._widths.items(), strict=True):
            if name == "messages":
                cell.align("right", width)
            elif name == "id":
                # what is typed back is never cut
                cell.pad_right(width - cell.cell_len)
            else:
                cell.truncate(width, overflow="ellipsis", pad=True)
            line.append_text(cell).append("  ")
        title.truncate(self._room, overflow="ellipsis")
        return line.append_text(title)


def _end_of(path: str, width: int) -> str:
    """Give the end of a path, by whole segments where one fits."""
    text = one_line(path, 1_000)
    if cell_len(text) <= width:
        return text
    segments = text.split("/")
    while len(segments) > 1 and cell_len("/".join(segments)) > width - 2:
        del segments[0]
    last = Text("/".join(segments))
    if cell_len(last.plain) <= width - 2:
        return f"…/{last.plain}"
    last.truncate(width, overflow="ellipsis")
    return last.plain


def _say(memory: Memory, found: _Found, limit: int | None, *, narrowed: bool) -> None:
    """Say what was not shown, and how to see it."""
    if not found.shown and not found.hidden:
        if narrowed:
            note("no sessions; try it without the options that narrow it")
        else:
            note("no sessions yet; take recorded ones in: amber import ~/.claude/projects ~/.codex/sessions")
        return
    last = found.last
    if limit is not None and found.shown == limit and last is not None and found.has_more():
        note(f"older: amber sessions --before {memory.sessions.short_names([last])[last.id]}")
    if found.hidden:
        note(f"{count(found.hidden, 'subagent')} not shown: amber sessions --subagents")


COMMANDS: tuple[click.Command, ...] = (sessions_command,)
