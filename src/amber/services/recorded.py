"""Reading recorded sessions: lists of them, and the messages of one, both ways."""

from __future__ import annotations

from collections.abc import Collection as Container
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from amber.errors import BadInput
from amber.model.bounds import check_int
from amber.model.collection import Record
from amber.model.fact import ancestors
from amber.model.message import KINDS, MESSAGES, ROLES, SESSIONS, Message, Session
from amber.services.unit import Unit
from amber.store.contract import MAX_PAGE, Cursor

#: The largest number that a message can have.
_END = 2**63 - 1
#: Rows read at once while some are left out. The first read is small, so that the first page is there at once.
_FIRST, _CHUNK = 100, 1_000


class Listed(NamedTuple):
    """Which sessions: begun in [since, until) (microseconds), of a project and below it, of a sender, of a format."""

    project: str | None = None
    sender: str | None = None
    format: str | None = None
    since: int | None = None
    until: int | None = None

    def holds(self, session: Session) -> bool:
        """Tell whether a session is one of them."""
        body, at = session.body, session.body["started_at"]
        if (self.since is not None or self.until is not None) and at is None:
            return False
        return (
            (self.project is None or self.project in ancestors(body["project"]))
            and (self.sender is None or body["sender"] == self.sender)
            and (self.format is None or body["format"] == self.format)
        )


def iter_sessions(unit: Unit, listed: Listed, before: Session | None, limit: int) -> Iterator[Session]:
    """Give sessions, newest first, reading about ``limit`` at once."""
    index: tuple[str, tuple[str, ...]] = ("all", ())
    for name, value in (("project", listed.project), ("sender", listed.sender)):
        if value is not None:
            index = name, (value,)
            break
    after = Cursor(before.body["started_at"] or 0, before.id) if before is not None else None
    while True:
        page = unit.scan(
            SESSIONS, *index, low=listed.since, high=listed.until, reverse=True, after=after, limit=min(limit, _CHUNK)
        )
        yield from (session for session in map(Session, page.rows) if listed.holds(session))
        if page.cursor is None:
            return
        after = page.cursor


def children_of(unit: Unit, session: str) -> list[Session]:
    """Give the sessions that name this one as their parent, oldest first."""
    found: list[Session] = []
    cursor: Cursor | None = None
    while True:
        page = unit.scan(SESSIONS, "parent", (session,), after=cursor, limit=_CHUNK)
        found += map(Session, page.rows)
        if page.cursor is None:
            return found
        cursor = page.cursor


def openings_of(unit: Unit, sessions: Sequence[Session]) -> dict[str, Message]:
    """Give the messages that sessions open with, by session."""
    keys = {each.id: each.body["opening"] for each in sessions if each.body.get("opening") is not None}
    found = unit.get_many(MESSAGES, [*keys.values()])
    openings = {id: Message(found[key]) for id, key in keys.items() if key in found}
    for session in sessions:
        # one that was recorded before openings were kept, and not grown since
        if "opening" not in session.body:
            asked = Asked(kinds=frozenset({"injected" if session.is_subagent else "prompt"}))
            openings.update((session.id, message) for message in iter_messages(unit, session.id, asked, 1))
    return openings


class Asked(NamedTuple):
    """Which messages of a session: numbered above ``after`` and below ``before``, of these kinds and roles (empty:
    all), retracted ones or not; from the end when ``reverse``."""

    after: int = -1
    before: int | None = None
    kinds: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    retracted: bool = False
    reverse: bool = False

    def holds(self, record: Record) -> bool:
        """Tell whether a message is one of them."""
        body = record.body
        return bool(
            (body["live"] or self.retracted)
            and (not self.kinds or body["kind"] in self.kinds)
            and (not self.roles or body["role"] in self.roles)
        )


def to_asked(
    after: int,
    before: int | None,
    kinds: Container[str] | None,
    roles: Container[str] | None,
    retracted: bool,
    reverse: bool,
) -> Asked:
    """Check what is asked for.

    :raises BadInput: for a number that is none, and for a kind or role that no message has.
    """
    check_int("after", after, -1)
    if before is not None:
        check_int("before", before, 0)
    return Asked(after, before, _names("kinds", kinds, KINDS), _names("roles", roles, ROLES), retracted, reverse)


def _names(what: str, given: Any, known: tuple[str, ...]) -> frozenset[str]:
    if given is None:
        return frozenset()
    if isinstance(given, str) or not isinstance(given, Container) or not given or not set(given) <= set(known):
        raise BadInput(f"{what} is a list of {', '.join(known)}, not {given!r}.", **{what: given})
    return frozenset(given)


def iter_messages(unit: Unit, session: str, asked: Asked, limit: int | None = None) -> Iterator[Message]:
    """Give messages in their order, page by page; at most ``limit``."""
    low = min(asked.after + 1, _END)
    high = asked.before
    cursor: Cursor | None = None
    size = _FIRST if limit is None else min(limit, MAX_PAGE)
    given = 0
    while limit is None or given < limit:
        page = unit.scan(
            MESSAGES, "session", (session,), low=low, high=high, reverse=asked.reverse, after=cursor, limit=size
        )
        for record in page.rows:
            if asked.holds(record):
                yield Message(record)
                given += 1
                if given == limit:
                    return
        if page.cursor is None:
            return
        cursor, size = page.cursor, max(size, _CHUNK)
