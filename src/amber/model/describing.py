"""Changes in words: one readable line for each fact, what else an entry holds in numbers.

A line keeps apart what its words are (a key, an aside), so that who shows it may set them off; as a text it is plain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from amber.model.collection import Body
from amber.model.fact import FACTS
from amber.model.label import LABELS
from amber.model.message import MESSAGES, SESSIONS
from amber.model.times import from_micros
from amber.model.wording import count, one_line, value_line

if TYPE_CHECKING:
    from amber.model.history import Change, Entry

#: Lines about one entry.
LINES = 4
#: The longest value, and the longest title, in a line about a change.
VALUE = 60

Sign = Literal["+", "-", "~", "=", ""]
Role = Literal["", "key", "aside", "mark"]
Part = tuple[str, Role]

_NOUNS = {MESSAGES.name: "message", SESSIONS.name: "session", "types": "type"}


class Line(NamedTuple):
    """What happened: ``+`` came in, ``-`` was removed, ``~`` was changed, ``=`` was mentioned again."""

    sign: Sign
    parts: tuple[Part, ...]

    def __str__(self) -> str:
        return f"{self.sign} ".lstrip() + "".join(text for text, _ in self.parts)


def brief_utc(micros: int) -> str:
    """Write a time in UTC; the first moment of a day as the day alone."""
    at = from_micros(micros)
    # strftime does not fill years before 1000
    text = at.isoformat(" ", "minutes").removesuffix("+00:00")
    return text.removesuffix(" 00:00") if text.endswith(" 00:00") else f"{text} UTC"


class Words(NamedTuple):
    """How an entry's parts are said: times (microseconds), the fact behind a mention (of which the log keeps no
    image), sessions by their id."""

    time: Callable[[int], str] = brief_utc
    fact: Callable[[str], Body | None] = lambda _: None
    session: Callable[[str], str] = lambda id: id


def noun(collection: str) -> str:
    """Name one document of a collection."""
    return _NOUNS.get(collection, collection.removesuffix("s"))


def fact_parts(body: Body, limit: int = VALUE) -> tuple[Part, ...]:
    """Give a fact as ``key: value (sender)``."""
    parts: list[Part] = []
    if body["key"] is not None:
        parts.append((f"{one_line(body['key'])}: ", "key"))
    parts.append((value_line(body["payload"], limit), ""))
    if body["sender"] is not None:
        parts.append((f" ({one_line(body['sender'])})", "aside"))
    return tuple(parts)


def dated_parts(body: Body, words: Words, limit: int = VALUE) -> tuple[Part, ...]:
    """Give a fact with the limits of its validity, where it has some."""
    said = ""
    if body["valid_from"] != body["created_at"]:
        said = f" from {words.time(body['valid_from'])}"
    said += f" until {words.time(body['valid_until'])}" if body["valid_until"] is not None else ""
    said += f", expires {words.time(body['expires_at'])}" if body["expires_at"] is not None else ""
    return (*fact_parts(body, limit), (said, "")) if said else fact_parts(body, limit)


def fact_change(before: Body | None, after: Body | None, words: Words) -> Line:
    """Say in a line how a fact changed."""
    there, here = _is_there(before), _is_there(after)
    if after is not None and here and not there:
        return Line("+", dated_parts(after, words))
    if before is not None and there and not here:
        return Line("-", fact_parts(before))
    if before is None or after is None:
        return Line("-", (("a fact that is gone", ""),))
    changes = "; ".join(_differences(before, after, words)) or "updated"
    return Line("~", (*fact_parts(before), (f" → {changes}", "")))


def _is_there(body: Body | None) -> bool:
    return body is not None and body["deleted_at"] is None


def _differences(before: Body, after: Body, words: Words) -> list[str]:
    said = []
    if before["payload"] != after["payload"]:
        said.append(value_line(after["payload"], VALUE))
    if before["valid_from"] != after["valid_from"]:
        said.append(f"from {words.time(after['valid_from'])}")
    if before["valid_until"] != after["valid_until"]:
        until = after["valid_until"]
        said.append(f"until {words.time(until)}" if until is not None else "no end")
    if before["expires_at"] != after["expires_at"]:
        expiry = after["expires_at"]
        said.append(f"expires {words.time(expiry)}" if expiry is not None else "expires no more")
    if before["ephemeral"] and not after["ephemeral"]:
        said.append("long-term")
    if before["mentions"] != after["mentions"]:
        said.append(f"mentioned {count(after['mentions'], 'time')}")
    return said


def change_lines(changes: Sequence[Change], words: Words, most: int = LINES) -> list[Line]:
    """Say what an entry changed: each fact in a line, other documents by number."""
    said = [_fact(each, words) for each in changes if each.collection == FACTS.name and not each.forgotten]
    labels = [_label(each) for each in changes if each.collection == LABELS.name and not each.forgotten]
    told = (FACTS.name, LABELS.name)
    others = [each for each in changes if each.collection not in told and not each.forgotten]
    said = [*_others(others, words), *labels, *said]
    forgotten = sum(each.forgotten for each in changes)
    if forgotten:
        said.append(_aside(f"{count(forgotten, 'document')} forgotten since"))
    if len(said) > most:
        said = [*said[: most - 1], _aside(f"… and {count(len(said) - most + 1, 'more change')}")]
    return said


def _aside(text: str) -> Line:
    return Line("", ((text, "aside"),))


def _fact(change: Change, words: Words) -> Line:
    if change.kind != "add":
        return fact_change(change.before, change.after, words)
    said = "mention of " if sum((change.deltas or {}).values()) > 0 else "mention taken back: "
    body = words.fact(change.id)
    return Line("=", ((said, ""), *(fact_parts(body) if body is not None else ((f"fact {change.id}", ""),))))


def _label(change: Change) -> Line:
    position = (change.after or change.before or {}).get("position")
    return Line(_sign(change), _parts(f"label {one_line(change.id)} at position {position}"))


def _others(changes: Sequence[Change], words: Words) -> list[Line]:
    counted = Counter((_sign(each), each.collection) for each in changes if each.collection != SESSIONS.name)
    # the counts of a session change with its messages, which says nothing more than which session they are of
    sessions = [each for each in changes if each.collection == SESSIONS.name]
    of = (" of ", *_named(sessions[0], words)) if len(sessions) == 1 else ()
    said = [Line(sign, _parts(count(n, noun(collection)), *of)) for (sign, collection), n in counted.items()]
    return said + [Line(_sign(each), _parts("session ", *_named(each, words))) for each in sessions if not counted]


def _parts(*texts: str) -> tuple[Part, ...]:
    return tuple((text, "") for text in texts)


def _named(change: Change, words: Words) -> tuple[str, ...]:
    title = (change.after or change.before or {}).get("title")
    name = one_line(words.session(change.id), 2 * VALUE)
    return (name, f" {one_line(title, VALUE)}") if title else (name,)


def _sign(change: Change) -> Sign:
    if change.kind == "append" or (change.kind == "put" and change.before is None):
        return "+"
    return "-" if change.kind == "delete" else "~"


def entry_lines(entry: Entry, words: Words, most: int = LINES) -> list[Line]:
    """Say of an entry what kind it is, what it changed, and why."""
    said = change_lines(entry.changes, words, most)
    if entry.kind in ("undo", "redo"):
        taken = ", ".join(str(each) for each in entry.undoes[:6]) + (" …" if len(entry.undoes) > 6 else "")
        said.insert(0, Line("", ((f"{entry.kind} of {taken}", "mark"),)))
    elif entry.kind == "purge":
        said.insert(0, Line("", (("something was forgotten", "mark"),)))
    elif entry.kind == "lost":
        what = "what was lost in a load" if entry.changes else "lost: this entry could not be loaded"
        said.insert(0, Line("", ((what, "mark"),)))
    return said


def entry_text(entry: Any) -> str:
    """Give an entry of the log as plain text, times in UTC."""
    lines = [str(each) for each in entry_lines(entry, Words())]
    lead = [f"{entry.position}", entry.at.isoformat(" ", "seconds").replace("+00:00", " UTC")]
    lead += [f"by {one_line(entry.actor)}"] if entry.actor is not None else []
    lead += ["undone"] if entry.is_undone else []
    lead += [f"({one_line(entry.reason)})"] if entry.reason is not None else []
    if entry.session is not None and all(each.collection != SESSIONS.name for each in entry.changes):
        lead.append(f"in session {one_line(entry.session)}")
    return "\n".join(["  ".join(lead), *(f"  {line}" for line in lines)])
