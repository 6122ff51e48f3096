"""Changes in words: one readable line for each fact, what else an entry holds in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from amber.cli.moments import brief, day_and_time
from amber.cli.render import clean, count, lines, one_line, table, value_line
from amber.errors import AmberError
from amber.memory import Memory
from amber.model.collection import Body
from amber.model.fact import FACTS
from amber.model.history import Change, Diff, Entry
from amber.model.label import LABELS
from amber.model.message import MESSAGES, SESSIONS
from amber.model.times import from_micros

#: Lines about one entry.
_LINES = 4
_VALUE = 60

_STYLES = {"+": "green", "-": "red", "~": "yellow", "=": "cyan"}
_NOUNS = {MESSAGES.name: "message", SESSIONS.name: "session", "types": "type"}


def noun(collection: str) -> str:
    """Name one document of a collection."""
    return _NOUNS.get(collection, collection.removesuffix("s"))


def signed(sign: str, text: str | Text) -> Text:
    """Give a line with what happened as its first character."""
    return Text.assemble((f"{sign} ", _STYLES[sign]), text, no_wrap=True, overflow="ellipsis")


def fact_text(body: Body, limit: int | None = None) -> Text:
    """Give a fact as ``key: value (sender)``."""
    text = Text()
    if body["key"] is not None:
        text.append(f"{one_line(body['key'])}: ", style="bold")
    text.append(value_line(body["payload"], limit))
    if body["sender"] is not None:
        text.append(f" ({one_line(body['sender'])})", style="dim")
    return text


def dated_text(body: Body, limit: int | None = None) -> Text:
    """Give a fact with the limits of its validity, where it has some."""
    text = fact_text(body, limit)
    if body["valid_from"] != body["created_at"]:
        text.append(f" from {brief(from_micros(body['valid_from']))}")
    text.append(_end(body))
    return text


def _end(body: Body) -> str:
    text = f" until {brief(from_micros(body['valid_until']))}" if body["valid_until"] is not None else ""
    return text + (f", expires {brief(from_micros(body['expires_at']))}" if body["expires_at"] is not None else "")


def fact_change(before: Body | None, after: Body | None) -> Text:
    """Say in a line how a fact changed."""
    there, here = _is_there(before), _is_there(after)
    if after is not None and here and not there:
        return signed("+", dated_text(after, _VALUE))
    if before is not None and there and not here:
        return signed("-", fact_text(before, _VALUE))
    if before is None or after is None:
        return signed("-", "a fact that is gone")
    changes = "; ".join(_differences(before, after)) or "updated"
    return signed("~", Text.assemble(fact_text(before, _VALUE), f" → {changes}"))


def _is_there(body: Body | None) -> bool:
    return body is not None and body["deleted_at"] is None


def _differences(before: Body, after: Body) -> list[str]:
    said = []
    if before["payload"] != after["payload"]:
        said.append(value_line(after["payload"], _VALUE))
    if before["valid_from"] != after["valid_from"]:
        said.append(f"from {brief(from_micros(after['valid_from']))}")
    if before["valid_until"] != after["valid_until"]:
        until = after["valid_until"]
        said.append(f"until {brief(from_micros(until))}" if until is not None else "no end")
    if before["expires_at"] != after["expires_at"]:
        expiry = after["expires_at"]
        said.append(f"expires {brief(from_micros(expiry))}" if expiry is not None else "expires no more")
    if before["ephemeral"] and not after["ephemeral"]:
        said.append("long-term")
    if before["mentions"] != after["mentions"]:
        said.append(f"mentioned {count(after['mentions'], 'time')}")
    return said


def change_lines(memory: Memory, changes: Sequence[Change], most: int = _LINES) -> list[Text]:
    """Say what an entry changed: each fact in a line, other documents by number."""
    said = [_fact(memory, each) for each in changes if each.collection == FACTS.name and not each.forgotten]
    labels = [_label(each) for each in changes if each.collection == LABELS.name and not each.forgotten]
    others = [each for each in changes if each.collection not in (FACTS.name, LABELS.name) and not each.forgotten]
    said = [*_others(others), *labels, *said]
    forgotten = sum(each.forgotten for each in changes)
    if forgotten:
        said.append(Text(f"{count(forgotten, 'document')} forgotten since", style="dim"))
    if len(said) > most:
        more = Text(f"… and {count(len(said) - most + 1, 'more change')}", style="dim")
        said = [*said[: most - 1], more]
    return said


def _fact(memory: Memory, change: Change) -> Text:
    if change.kind != "add":
        return fact_change(change.before, change.after)
    times = sum((change.deltas or {}).values())
    words = "mention of " if times > 0 else "mention taken back: "
    fact = memory.facts.find(change.id)
    return signed(
        "=", Text.assemble(words, fact_text(fact.body, _VALUE) if fact is not None else "a fact that is gone")
    )


def _label(change: Change) -> Text:
    place = change.after or change.before or {}
    return signed(_sign(change), f"label {one_line(change.id)} at position {place.get('position')}")


def _others(changes: Sequence[Change]) -> list[Text]:
    counted = Counter((_sign(each), each.collection) for each in changes if each.collection != SESSIONS.name)
    # the counts of a session change with its messages, which says nothing more than which session they are of
    whose = [_title(each) for each in changes if each.collection == SESSIONS.name]
    of = f" of {whose[0]}" if len(whose) == 1 else ""
    said = [signed(sign, count(n, noun(collection)) + of) for (sign, collection), n in counted.items()]
    sessions = [each for each in changes if each.collection == SESSIONS.name and not counted]
    return said + [signed(_sign(each), f"session {_title(each)}") for each in sessions]


def _sign(change: Change) -> str:
    if change.kind == "append" or (change.kind == "put" and change.before is None):
        return "+"
    return "-" if change.kind == "delete" else "~"


def _title(change: Change) -> str:
    body = change.after or change.before or {}
    return one_line(body.get("title") or change.id, _VALUE)


def entry_lines(memory: Memory, entry: Entry, most: int = _LINES) -> Text:
    """Give an entry of the log: what kind it is, what it changed, and why."""
    said = change_lines(memory, entry.changes, most)
    if entry.kind in ("undo", "redo"):
        taken = ", ".join(str(each) for each in entry.undoes[:6]) + (" …" if len(entry.undoes) > 6 else "")
        said.insert(0, Text(f"{entry.kind} of {taken}", style="bold magenta"))
    elif entry.kind == "purge":
        said.insert(0, Text("something was forgotten", style="bold magenta"))
    elif entry.kind == "lost":
        what = "what was lost in a load" if entry.changes else "lost: this entry could not be loaded"
        said.insert(0, Text(what, style="bold magenta"))
    if entry.is_undone:
        for line in said:
            line.stylize("dim")
        mark = Text("undone  ", style="bold red")
        said = [Text.assemble(mark, said[0]), *said[1:]] if said else [mark]
    if entry.reason is not None:
        said.append(Text(f"  {one_line(entry.reason)}", style="italic dim"))
    return lines(*said)


def entry_table(memory: Memory, entries: Sequence[Entry]) -> Table:
    """Lay entries of the log out; who made them only where somebody is named."""
    who = any(each.actor for each in entries)
    rows: list[list[str | Text]] = []
    for each in entries:
        actor = [one_line(each.actor or "", 16)] if who else []
        rows.append([str(each.position), day_and_time(each.at, seconds=True), *actor, entry_lines(memory, each)])
    return table(("#", "time", *(["actor"] if who else []), "what"), rows, right=(0,))


def diff_lines(diff: Diff) -> list[Text]:
    """Say what differs between two moments."""
    said = []
    for each in diff.facts:
        before = each.before.body if each.before is not None else None
        said.append(fact_change(before, each.after.body if each.after is not None else None))
    others = ", ".join(count(n, noun(name)) for name, n in diff.others.items())
    return [*said, signed("~", f"beside the facts: {others}")] if others else said


def position_text(memory: Memory, position: int) -> str:
    """Name a position with its time."""
    if position == 0:
        return "position 0 (the beginning)"
    try:
        return f"position {position} ({day_and_time(memory.history.get(position).at, seconds=True)})"
    except AmberError:
        return clean(f"position {position}")
