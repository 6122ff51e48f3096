"""A space as rows: what an export gives and a load takes, the same for every store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from amber.errors import BadInput
from amber.model.collection import Body, Order


class Head(NamedTuple):
    """The state of a space: its newest position and time, its horizon, and how many documents it has by collection
    (those that have any), by which a reader sees what is missing."""

    position: int
    at: int
    horizon: int = 0
    horizon_at: int = 0
    undos: tuple[int, ...] = ()
    documents: Mapping[str, int] = {}


class Document(NamedTuple):
    """A document, with where it entered the log and where it was changed last."""

    collection: str
    key: str
    created: int
    revision: int
    body: Body


class Image(NamedTuple):
    """One document's part in an entry (see ``contract.Change``)."""

    collection: str
    key: str
    kind: str
    before: Body | None
    after: Body | None
    deltas: Mapping[str, int] | None
    purged: bool


class Entry(NamedTuple):
    """An entry of the log. What takes it back is known from the entries that do."""

    position: int
    operation: str
    at: int
    actor: str | None
    reason: str | None
    session: str | None
    undoes: tuple[int, ...]
    changes: tuple[Image, ...]


class Mark(NamedTuple):
    """The mark that a purge left of a document."""

    collection: str
    key: str
    position: int


class Place(NamedTuple):
    """A document's place in its queue (see ``contract.QueueState``)."""

    collection: str
    key: str
    due_at: int | None
    epoch: int
    attempts: int


class Departure(NamedTuple):
    """That a document once stood in an index with ``forget`` under these values."""

    collection: str
    by: str
    equal: tuple[Order, ...]
    key: str


Row = Head | Document | Entry | Mark | Place | Departure
#: A row with the number by which its giver knows it: of a line, or counted.
Numbered = tuple[int, Row]
KINDS: Mapping[str, type[Row]] = {
    "head": Head,
    "document": Document,
    "entry": Entry,
    "mark": Mark,
    "place": Place,
    "departure": Departure,
}


_NAMES: Mapping[type[Row], str] = {kind: name for name, kind in KINDS.items()}


def to_object(row: Row) -> dict[str, Any]:
    """Give a row as a JSON object; ``row`` names its kind."""
    members = row._asdict()
    if isinstance(row, Entry):
        members["changes"] = [change._asdict() for change in row.changes]
    return {"row": _NAMES[type(row)], **members}


def from_object(given: Any) -> Row:
    """Read a row from a JSON object; what its members hold is for the load to check.

    :raises BadInput: when it is none of the kinds, or members are missing or too many.
    """
    name = given.get("row") if isinstance(given, dict) else None
    kind = KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise BadInput(f"The line is no row of an export: {str(given)[:60]}", row=given)
    members = {name: value for name, value in given.items() if name != "row"}
    if kind is Entry:
        changes = members.get("changes")
        if not isinstance(changes, list):
            raise BadInput("The entry has no list of changes.")
        members["changes"] = tuple(_made(Image, change) for change in changes)
    return _made(kind, members)  # type: ignore[no-any-return]


def _made(kind: Any, members: Any) -> Any:
    if not isinstance(members, dict) or set(members) != set(kind._fields):
        there = sorted(members) if isinstance(members, dict) else type(members).__name__
        raise BadInput(f"A row of this kind has {sorted(kind._fields)}, not {there}.", members=there)
    return kind(**members)


class Refused(NamedTuple):
    """A row that a load could not take, by its number, and why."""

    number: int
    reason: str


class Loaded(NamedTuple):
    """What a load took in: rows by kind; the positions filled because their entry was missing; the documents that the
    log has and the rows had not, as (collection, key); and the rows that were refused."""

    rows: Mapping[str, int]
    lost: tuple[int, ...]
    gone: tuple[tuple[str, str], ...]
    refused: tuple[Refused, ...]
