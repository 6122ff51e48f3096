"""Facts: what they hold, when two are the same, and what stores derive from them (their life is in ``succession``).

A fact that has a key takes part in the succession of that key: within (sender, project, key) the validity intervals of
live facts never overlap, so there is one value for each moment. A fact without a key stands for itself.
"""

from __future__ import annotations

from datetime import datetime
from hashlib import blake2b
from typing import Any
from unicodedata import normalize

from amber.model.collection import (
    Body,
    Collection,
    Facets,
    Field,
    FieldIndex,
    ForgottenBy,
    ForgottenWith,
    Index,
    Record,
    Rules,
    Search,
)
from amber.model.times import from_micros, to_micros
from amber.model.where import canonical_list

SOURCES = ("user", "assistant", "tool", "document", "derived")
#: How far a memory is believed when nobody says otherwise, by where it came from. A derived memory is never trusted
#: more than its least trusted source.
TRUST = {"user": 1.0, "assistant": 0.7, "tool": 0.5, "document": 0.4, "derived": 0.7}

#: An encoded payload may have this many bytes.
MAX_PAYLOAD = 1024 * 1024
#: A payload may be nested this deep.
MAX_NESTING = 32


def fold(text: str) -> str:
    """Fold what does not make two texts different facts: case, blanks and Unicode form (NFC)."""
    if text.isascii():
        return " ".join(text.lower().split())
    return " ".join(normalize("NFC", normalize("NFC", text).casefold()).split())


def _digest(*parts: Any) -> str:
    return _hashed(canonical_list(parts))


def _hashed(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def digest_of(payload: Any) -> str:
    """Give the digest by which two payloads are the same: texts folded, everything else compared as JSON."""
    if isinstance(payload, str):
        return _digest("text", fold(payload))
    text = canonical_list(("json", payload))
    # texts of ASCII alone are composed
    return _hashed(text) if text.isascii() else _digest("json", _composed(payload))


def _composed(value: Any) -> Any:
    if isinstance(value, str):
        return normalize("NFC", value)
    if isinstance(value, dict):
        return {normalize("NFC", key): _composed(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_composed(item) for item in value]
    return value


def subject_of(body: Body) -> str:
    """Give the group within which a fact is repeated or superseded: its scope and key, or its scope and content.

    Ephemeral facts have groups of their own session, so that they never change long-term ones.
    """
    session = body["session"] if body["ephemeral"] else None
    scope = [body["sender"], body["project"], session]
    if body["key"] is not None:
        return _digest("key", *scope, body["key"])
    return _digest("content", *scope, body["type"], body["digest"])


def strings(value: Any) -> list[str]:
    """Give the texts inside a JSON value, keys of objects included."""
    found: list[str] = []
    _collect(value, found)
    return found


def _collect(value: Any, found: list[str]) -> None:
    if type(value) is str:
        found.append(value)
    elif isinstance(value, dict):
        for key, member in value.items():
            found.append(key)
            _collect(member, found)
    elif isinstance(value, list):
        for item in value:
            _collect(item, found)
    elif value is not None and not isinstance(value, bool):
        found.append(str(value))


def text_of(body: Body) -> str:
    """Give a fact as one readable text."""
    content = body["payload"] if isinstance(body["payload"], str) else " ".join(strings(body["payload"]))
    return f"{body['key']}: {content}" if body["key"] is not None else content


def ancestors(project: str | None) -> tuple[str, ...]:
    """Give a project and all that it lies in: ``a/b/c`` gives ``a``, ``a/b`` and ``a/b/c``."""
    if project is None:
        return ()
    segments = project.split("/")
    return tuple("/".join(segments[: n + 1]) for n in range(len(segments)))


def is_live(body: Body) -> bool:
    """Tell whether a fact is not softly deleted."""
    return body["deleted_at"] is None


def is_empty(body: Body) -> bool:
    """Tell whether a fact was superseded for all of its time."""
    return body["valid_until"] is not None and body["valid_until"] <= body["valid_from"]


#: The end of a validity that has none.
FOREVER = 2**63 - 1


def _ends_at(body: Body) -> int | None:
    if not is_live(body) or is_empty(body):
        return None
    end: int | None = body["valid_until"]
    return end if end is not None else FOREVER


def _binds(body: Body) -> bool:
    return is_live(body) and not body["ephemeral"] and body["valid_until"] is None


def _breaks(before: Body, after: Body | None, at: int) -> bool:
    if not is_live(before) or before["ephemeral"] or is_expired(before, at):
        return False
    frozen = ("payload", "type", "key", "deleted_at", "valid_from", "valid_until")
    return after is None or any(before[name] != after[name] for name in frozen)


def _stray(body: Body) -> str | None:
    """Give the session of a fact that belongs to nothing else: when the session goes, nobody else's fact is lost."""
    session: str | None = body["session"] if body["sender"] is None and body["project"] is None else None
    return session


_MEMBERS = frozenset(
    """payload key type sender project session ephemeral source trust derived_from valid_from valid_until expires_at
    digest subject mentions superseded_by created_at updated_at last_seen deleted_at""".split()
)
FACTS = Collection(
    "facts",
    fields=(
        Field("sender"),
        Field("session"),
        Field("type"),
        Field("subject"),
        Field("projects", many=True, derive=lambda body: ancestors(body["project"])),
        Field("fact_key", derive=lambda body: body["key"]),
        Field("valid_from", "int"),
        Field("ends_at", "int", derive=lambda body: _ends_at(body)),
        Field("created_at", "int"),
        Field("expires_at", "int"),
        Field("origins", many=True, derive=lambda body: body["derived_from"]),
        Field("stray", derive=lambda body: _stray(body)),
    ),
    indexes=(
        Index("all", (), "created_at"),
        Index("sender", ("sender",), "created_at", forget=True),
        Index("project", ("projects",), "created_at", forget=True),
        Index("session", ("session",), "created_at", forget=True),
        Index("type", ("type",), "created_at"),
        # live facts only, by the end of their validity: what an undated fact may touch is a short range at its end
        Index("subject", ("subject",), "ends_at"),
        Index("key", ("fact_key",), "created_at"),
        Index("expiry", (), "expires_at"),
        Index("origin", ("origins",), "created_at", forget=True),
        Index("stray", ("stray",), "created_at", forget=True),
    ),
    search=Search(
        text=lambda body: text_of(body) if is_live(body) else None,
        facets=lambda body: Facets(body["sender"], body["project"], body["session"], body["type"], body["created_at"]),
    ),
    field_index=FieldIndex(root="payload", group="type"),
    rules=Rules("types", key=lambda body: body["type"], binds=_binds, changes=_breaks, by="type"),
    touchable=frozenset({"last_seen"}),
    counters=frozenset({"mentions"}),
    members=_MEMBERS,
    forgotten_by=(
        ForgottenBy("sender", "sender"),
        ForgottenBy("session", "session"),
        ForgottenBy("project", "project"),
    ),
    forgotten_with=(
        ForgottenWith("facts", "origin"),
        ForgottenWith("sessions", "session", ("session",)),
        ForgottenWith("sessions", "stray", ("sender", "project")),
    ),
)

#: Registered types: the document of a type holds its constraints, which the store reads on every commit.
TYPES = Collection("types")


class Fact:
    """A fact as it was read.

    ``value`` is the JSON that was put; times are aware datetimes in UTC. ``revision`` is the position in the log of the
    last change, ``position`` of the first (both 0 for a fact that a transaction has not written yet).

    Beside these it has: ``sender``, ``project``, ``session``, ``type``, ``ephemeral``, ``source``, ``trust``,
    ``derived_from`` (ids), ``mentions``, ``superseded_by`` (an id); and the times ``valid_from``, ``valid_until``,
    ``expires_at``, ``created_at``, ``updated_at``, ``last_seen``, ``deleted_at`` (None where there is none).
    """

    __slots__ = ("body", "id", "position", "revision")

    sender: str | None
    project: str | None
    session: str | None
    type: str | None
    ephemeral: bool
    source: str
    trust: float
    derived_from: list[str]
    mentions: int
    superseded_by: str | None
    valid_from: datetime
    valid_until: datetime | None
    expires_at: datetime | None
    created_at: datetime
    updated_at: datetime
    last_seen: datetime
    deleted_at: datetime | None

    def __init__(self, record: Record) -> None:
        self.id = record.key
        self.position = record.created
        self.revision = record.revision
        self.body = record.body

    @property
    def value(self) -> Any:
        """The payload."""
        return self.body["payload"]

    @property
    def key(self) -> str | None:
        """The name of what the fact gives a value for, if it has one."""
        key: str | None = self.body["key"]
        return key

    @property
    def text(self) -> str:
        """The fact as one readable text."""
        return text_of(self.body)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.body} - {"payload", "digest", "subject"})

    def __getattr__(self, name: str) -> Any:
        try:
            # a copy that is being made has no body yet
            value = object.__getattribute__(self, "body")[name]
        except (KeyError, AttributeError):
            raise AttributeError(f"a fact has no {name!r}") from None
        if value is not None and name in _TIMES:
            return from_micros(value)
        return value

    @property
    def is_deleted(self) -> bool:
        """Whether the fact was softly deleted."""
        return not is_live(self.body)

    def is_current(self, at: datetime) -> bool:
        """Tell whether the fact is live and valid at a moment."""
        return is_current(self.body, to_micros(at), to_micros(at))

    def to_dict(self) -> Body:
        """Give all of the fact as JSON: times are ISO 8601 texts."""
        shown = {
            name: from_micros(value).isoformat() if name in _TIMES and value is not None else value
            for name, value in self.body.items()
            if name not in ("digest", "subject")
        }
        return {"id": self.id, "revision": self.revision, "position": self.position, **shown}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fact) and (self.id, self.revision, self.body) == (other.id, other.revision, other.body)

    def __hash__(self) -> int:
        return hash((self.id, self.revision))

    def __repr__(self) -> str:
        scope = "".join(f", {name}={self.body[name]!r}" for name in ("key", "sender", "project") if self.body[name])
        return f"Fact({self.value!r}{scope}, id={self.id!r}, revision={self.revision})"


_TIMES = frozenset({"valid_from", "valid_until", "created_at", "updated_at", "last_seen", "deleted_at", "expires_at"})


def is_expired(body: Body, now: int) -> bool:
    """Tell whether a fact's time to live is over."""
    return body["expires_at"] is not None and body["expires_at"] <= now


def is_current(body: Body, valid_at: int, now: int) -> bool:
    """Tell whether a fact is live and valid at ``valid_at``, seen at ``now`` (which ends a time to live)."""
    return (
        is_live(body)
        and not is_expired(body, now)
        and body["valid_from"] <= valid_at
        and (body["valid_until"] is None or valid_at < body["valid_until"])
    )
