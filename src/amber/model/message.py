"""Recorded sessions and their messages."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from amber.model.collection import (
    Body,
    Collection,
    Facets,
    Field,
    ForgottenBy,
    ForgottenWith,
    Index,
    Record,
    Search,
)
from amber.model.fact import ancestors
from amber.model.times import from_micros

#: What a message can be (see ``Message``), and in whose role it was recorded.
KINDS = (
    "prompt",
    "reply",
    "thinking",
    "tool_call",
    "tool_result",
    "injected",
    "command",
    "summary",
    "error",
    "interrupt",
)
ROLES = ("user", "assistant", "tool", "system")

MESSAGES = Collection(
    "messages",
    fields=(Field("session"), Field("sender"), Field("seq", "int"), Field("at", "int")),
    indexes=(Index("session", ("session",), "seq", forget=True), Index("sender", ("sender",), "at", forget=True)),
    search=Search(
        text=lambda body: body["text"] if body["live"] and body["text"] else None,
        facets=lambda body: Facets(body["sender"], body["project"], body["session"], body["kind"], body["at"] or 0),
    ),
    log="before",
    members=frozenset("session seq role kind text sender project at zone model tool tokens live".split()),
    forgotten_by=(ForgottenBy("sender", "sender"), ForgottenBy("session", "session")),
    # what was answered to a person quotes that person: a session goes with all that was said in it
    forgotten_with=(ForgottenWith("sessions", "session"),),
)

SESSIONS = Collection(
    "sessions",
    fields=(
        Field("started_at", "int", derive=lambda body: body["started_at"] or 0),
        Field("projects", many=True, derive=lambda body: ancestors(body["project"])),
        Field("messages", "int"),
        Field("sender"),
        Field("parent"),
        # of a subagent: the session whose agent started it; a fork is a session in its own right
        Field("starter", derive=lambda body: body["parent"] if body["agent"] is not None else None),
        Field("always", "int", derive=lambda _: 0),
    ),
    # how far the file was read: a file that holds nothing new changes nothing that is worth an entry
    touchable=frozenset({"read"}),
    members=frozenset("format path parent agent project title sender started_at messages".split()),
    indexes=(
        Index("all", (), "started_at"),
        Index("project", ("projects",), "started_at", forget=True),
        Index("sender", ("sender",), "started_at", forget=True),
        Index("parent", ("parent",), "started_at"),
        # an order that is the same for all leaves that of the keys
        Index("name", (), "always"),
        Index("starter", ("starter",), "started_at", forget=True),
    ),
    forgotten_by=(
        ForgottenBy("sender", "sender"),
        ForgottenBy("session", None),
        ForgottenBy("project", "project"),
    ),
    forgotten_with=(ForgottenWith("sessions", "starter"),),
)


class Message:
    """A message of a recorded session.

    ``kind`` is ``prompt`` (typed by a person), ``reply``, ``thinking``, ``tool_call``, ``tool_result``, ``injected``
    (put in by a program), ``command``, ``summary``, ``error`` or ``interrupt``. ``live`` is False for text that was
    retracted: edited and sent again.
    """

    __slots__ = ("body", "id", "revision")

    def __init__(self, record: Record) -> None:
        self.id, self.revision, self.body = record.key, record.revision, record.body

    @property
    def at(self) -> datetime | None:
        """When it was said, in UTC; ``zone`` is the zone as it was recorded."""
        return from_micros(self.body["at"]) if self.body["at"] is not None else None

    def __getattr__(self, name: str) -> Any:
        try:
            # a copy that is being made has no body yet
            return object.__getattribute__(self, "body")[name]
        except (KeyError, AttributeError):
            raise AttributeError(f"a message has no {name!r}") from None

    def to_dict(self) -> Body:
        """Give all of the message as JSON."""
        return {"id": self.id, **self.body, "at": self.at.isoformat() if self.at is not None else None}

    def __repr__(self) -> str:
        text = self.body["text"]
        shown = text if len(text) <= 40 else text[:39] + "…"
        return f"Message({self.body['session']}#{self.body['seq']} {self.body['kind']}: {shown!r})"


class Session:
    """A recorded session: where it came from, when it ran, and how much is in it.

    ``format`` names the program that recorded it, ``parent`` the session that started this one or that it was forked
    from, ``opening`` the message that it opened with (see ``Sessions.openings``).
    """

    __slots__ = ("body", "id", "revision")

    def __init__(self, record: Record) -> None:
        self.id, self.revision, self.body = record.key, record.revision, record.body

    @property
    def started_at(self) -> datetime | None:
        """The time of the first message."""
        return from_micros(self.body["started_at"]) if self.body["started_at"] is not None else None

    @property
    def ended_at(self) -> datetime | None:
        """The time of the last message."""
        return from_micros(self.body["ended_at"]) if self.body["ended_at"] is not None else None

    @property
    def is_subagent(self) -> bool:
        """Whether another session's agent gave it its task, and no person a prompt."""
        return self.body["agent"] is not None or (self.body["parent"] is not None and not self.body["prompts"])

    def __getattr__(self, name: str) -> Any:
        try:
            # a copy that is being made has no body yet
            return object.__getattribute__(self, "body")[name]
        except (KeyError, AttributeError):
            raise AttributeError(f"a session has no {name!r}") from None

    def to_dict(self) -> Body:
        """Give all of the session as JSON."""
        times = {name: getattr(self, name) for name in ("started_at", "ended_at")}
        return {"id": self.id, **self.body, **{name: at.isoformat() if at else None for name, at in times.items()}}

    def __repr__(self) -> str:
        return f"Session({self.id!r}, {self.body['messages']} messages, project={self.body['project']!r})"


def new_session(identity: Body) -> Body:
    """Give the body of a session with nothing in it yet."""
    counts = {"messages": 0, "prompts": 0, "tokens": {}}
    return {**identity, "started_at": None, "ended_at": None, **counts, "opening": None, "read": None}


def count_messages(session: Body, added: Iterable[Body]) -> Body:
    """Give a session's body with some messages counted in."""
    bodies = [*added]
    tokens = dict(session["tokens"])
    for body in bodies:
        for name, n in (body["tokens"] or {}).items():
            tokens[name] = tokens.get(name, 0) + n
    times = [at for body in bodies if (at := body["at"]) is not None]
    times += [at for at in (session["started_at"], session["ended_at"]) if at is not None]
    return {
        **session,
        "tokens": tokens,
        "messages": session["messages"] + len(bodies),
        "prompts": session["prompts"] + sum(body["kind"] == "prompt" and body["live"] for body in bodies),
        "started_at": min(times, default=None),
        "ended_at": max(times, default=None),
    }


def find_opening(session: Body, messages: Iterable[tuple[str, str, bool]]) -> str | None:
    """Give the key of the message that a session opens with, having seen some more of its messages in their order (key,
    kind, whether it stands): the first prompt, or the task of a subagent, which no person prompts."""
    opening: str | None = session.get("opening")
    kinds = ("prompt", "injected") if session["agent"] is not None else ("prompt",)
    for key, kind, live in messages:
        if key == opening and not live:
            opening = None
        if opening is None and live and kind in kinds:
            opening = key
    return opening
