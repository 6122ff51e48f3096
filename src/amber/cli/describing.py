"""Changes on a terminal: the words of ``model.describing``, with styles, times of this computer and short names."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from amber.cli.moments import brief, day_and_time
from amber.cli.render import bound, clean, count, lines, one_line, table
from amber.errors import AmberError
from amber.memory import Memory
from amber.model import describing
from amber.model.collection import Body
from amber.model.describing import Line, Part, Words
from amber.model.describing import noun as noun
from amber.model.history import Change, Diff, Entry
from amber.model.message import SESSIONS
from amber.model.times import from_micros

_STYLES = {"+": "green", "-": "red", "~": "yellow", "=": "cyan"}
_ROLES = {"": "", "key": "bold", "aside": "dim", "mark": "bold magenta"}


def local_words(memory: Memory, sessions: Sequence[str] = ()) -> Words:
    """Say times in the zone of this computer, and the named sessions by their short names."""

    def fact(id: str) -> Body | None:
        found = memory.facts.find(id)
        return found.body if found is not None else None

    names = memory.sessions.short_names(sessions)
    return Words(lambda micros: brief(from_micros(micros)), fact, lambda id: names.get(id, id))


def _text(parts: Sequence[Part]) -> Text:
    return Text.assemble(*((text, _ROLES[role]) for text, role in parts))


def _line(line: Line) -> Text:
    if not line.sign:
        return _text(line.parts)
    return Text.assemble((f"{line.sign} ", _STYLES[line.sign]), _text(line.parts), no_wrap=True, overflow="ellipsis")


def fact_text(body: Body, limit: int | None = None) -> Text:
    """Give a fact as ``key: value (sender)``."""
    return _text(describing.fact_parts(body, limit if limit is not None else bound()))


def dated_text(body: Body) -> Text:
    """Give a fact with the limits of its validity, where it has some."""
    return _text(describing.dated_parts(body, Words(lambda micros: brief(from_micros(micros))), bound()))


def change_lines(memory: Memory, changes: Sequence[Change], most: int = describing.LINES) -> list[Text]:
    """Say what an entry changed: each fact in a line, other documents by number."""
    return [_line(each) for each in describing.change_lines(changes, local_words(memory, _sessions(changes)), most)]


def _sessions(changes: Sequence[Change]) -> list[str]:
    return [each.id for each in changes if each.collection == SESSIONS.name]


def _entry_text(entry: Entry, words: Words) -> Text:
    """Give an entry of the log: what kind it is, what it changed, and why."""
    said = [_line(each) for each in describing.entry_lines(entry, words)]
    if entry.is_undone:
        for line in said:
            line.stylize("dim")
        mark = Text("undone  ", style="bold red")
        said = [Text.assemble(mark, said[0]), *said[1:]] if said else [mark]
    why = [one_line(entry.reason)] if entry.reason is not None else []
    if entry.session is not None and not _sessions(entry.changes):
        why.append(f"session {one_line(words.session(entry.session))}")
    if why:
        said.append(Text(f"  {', '.join(why)}", style="italic dim"))
    return lines(*said)


def entry_table(memory: Memory, entries: Sequence[Entry]) -> Table:
    """Lay entries of the log out; who made them only where somebody is named."""
    who = any(each.actor for each in entries)
    named = {each.session for each in entries if each.session is not None}
    words = local_words(memory, [*named.union(*(_sessions(each.changes) for each in entries))])
    rows: list[list[str | Text]] = []
    for each in entries:
        actor = [one_line(each.actor or "", 16)] if who else []
        rows.append([str(each.position), day_and_time(each.at, seconds=True), *actor, _entry_text(each, words)])
    return table(("#", "time", *(["actor"] if who else []), "what"), rows, right=(0,))


def diff_lines(diff: Diff) -> list[Text]:
    """Say what differs between two moments."""
    words, said = Words(lambda micros: brief(from_micros(micros))), []
    for each in diff.facts:
        before = each.before.body if each.before is not None else None
        said.append(_line(describing.fact_change(before, each.after.body if each.after is not None else None, words)))
    others = ", ".join(count(n, noun(name)) for name, n in diff.others.items())
    return [*said, _line(Line("~", ((f"beside the facts: {others}", ""),)))] if others else said


def position_text(memory: Memory, position: int) -> str:
    """Name a position with its time."""
    if position == 0:
        return "position 0 (the beginning)"
    try:
        return f"position {position} ({day_and_time(memory.history.get(position).at, seconds=True)})"
    except AmberError:
        return clean(f"position {position}")
