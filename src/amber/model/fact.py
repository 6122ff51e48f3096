"""Facts: what they hold, when two are the same, and which write each step of their life needs.

A fact that has a key takes part in the succession of that key: within (sender, project, key) the validity intervals of
live facts never overlap, so there is one value for each moment. A fact without a key stands for itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Any, NamedTuple
from unicodedata import normalize

from amber.errors import BadInput, Conflict, UniqueViolation
from amber.model.batch import Add, Delete, Put, Touch, Write
from amber.model.collection import Body, Collection, Facets, Field, FieldIndex, Index, Record, Rules, Search
from amber.model.times import from_micros, to_micros
from amber.model.where import canonical

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
    return " ".join(normalize("NFC", normalize("NFC", text).casefold()).split())


def _digest(*parts: Any) -> str:
    return blake2b(canonical(list(parts)).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def digest_of(payload: Any) -> str:
    """Give the digest by which two payloads are the same: texts folded, everything else compared as JSON."""
    if isinstance(payload, str):
        return _digest("text", fold(payload))
    return _digest("json", _composed(payload))


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


def strings(value: Any) -> Iterable[str]:
    """Give the texts inside a JSON value, keys of objects included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, member in value.items():
            yield key
            yield from strings(member)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


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


def _is_live(body: Body) -> bool:
    return body["deleted_at"] is None


#: The end of a validity that has none.
FOREVER = 2**63 - 1


def _ends_at(body: Body) -> int | None:
    if not _is_live(body) or _is_empty(body):
        return None
    end: int | None = body["valid_until"]
    return end if end is not None else FOREVER


def _binds(body: Body) -> bool:
    return _is_live(body) and not body["ephemeral"] and body["valid_until"] is None


def _breaks(before: Body, after: Body | None, at: int) -> bool:
    if not _is_live(before) or before["ephemeral"] or is_expired(before, at):
        return False
    frozen = ("payload", "type", "key", "deleted_at", "valid_from", "valid_until")
    return after is None or any(before[name] != after[name] for name in frozen)


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
    ),
    search=Search(
        text=lambda body: text_of(body) if _is_live(body) else None,
        facets=lambda body: Facets(body["sender"], body["project"], body["session"], body["type"], body["created_at"]),
    ),
    field_index=FieldIndex(root="payload", group="type"),
    rules=Rules("types", key=lambda body: body["type"], binds=_binds, changes=_breaks, by="type"),
    touchable=frozenset({"last_seen"}),
    counters=frozenset({"mentions"}),
)

#: Registered types: the document of a type holds its constraints, which the store reads on every commit.
TYPES = Collection("types")


class Fact:
    """A fact as it was read.

    ``value`` is the JSON that was put; times are aware datetimes in UTC. ``revision`` is the position in the log of the
    last change, ``position`` of the first (both 0 for a fact that a transaction has not written yet).
    """

    __slots__ = ("body", "id", "position", "revision")

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
        return not _is_live(self.body)

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
        _is_live(body)
        and not is_expired(body, now)
        and body["valid_from"] <= valid_at
        and (body["valid_until"] is None or valid_at < body["valid_until"])
    )


def refusal(message: str, kind: type[Conflict] = Conflict, **details: Any) -> Conflict:
    """Make a conflict with what was read, which reading again does not help."""
    conflict = kind(message, collection=FACTS.name, **details)
    conflict.retry = "no"  # type: ignore[misc]
    return conflict


class Decision(NamedTuple):
    """The writes of a step, and the id of the fact that the caller gets. ``commutes`` tells that the writes are
    additions that need nothing to be as it was read."""

    writes: list[Write]
    fact: str
    commutes: bool = False


def decide_put(group: Sequence[Record], body: Body, ids: Sequence[str], now: int, *, dated: bool) -> Decision:
    """Decide what putting a fact does to its group: repeat one of them, or enter and supersede what it overlaps.

    :param ids: enough new ids: one for the fact and one for each member of the group.
    :param dated: whether the caller gave a validity; an undated fact says what is so from now on.
    """
    live = [each for each in group if _is_live(each.body) and not _is_empty(each.body)]
    writes: list[Write] = [
        Put(FACTS.name, each.key, {**each.body, "deleted_at": now, "updated_at": now})
        for each in live
        if is_expired(each.body, now)
    ]
    live = [each for each in live if not is_expired(each.body, now)]
    for each in live:
        if each.body["digest"] == body["digest"] and _covers(each.body, body, dated):
            repeat = _repeat(each, body, now)
            return Decision(writes + repeat, each.key, commutes=not writes and isinstance(repeat[0], Add))
    new, *spare = ids
    for each in live:
        if each.body["digest"] == body["digest"] and _began_later(each.body, body, dated):
            for other in live:
                if other is not each:
                    writes += _supersede(other, {**body, "valid_until": each.body["valid_from"]}, each.key, spare, now)
            earlier = {**each.body, "valid_from": body["valid_from"], "last_seen": now, "updated_at": now}
            earlier |= {"mentions": each.body["mentions"] + 1, "expires_at": _later(each.body, body)}
            writes.append(Put(FACTS.name, each.key, earlier))
            return Decision(writes, each.key)
    for each in live:
        writes += _supersede(each, body, new, spare, now)
    writes.append(Put(FACTS.name, new, body))
    return Decision(writes, new)


def _is_empty(body: Body) -> bool:
    return body["valid_until"] is not None and body["valid_until"] <= body["valid_from"]


def _covers(old: Body, new: Body, dated: bool) -> bool:
    if old["type"] != new["type"] or old["valid_from"] > new["valid_from"]:
        return False
    if old["valid_until"] is None:
        return True
    if not dated:
        return bool(new["valid_from"] < old["valid_until"])
    return new["valid_until"] is not None and bool(new["valid_until"] <= old["valid_until"])


def _began_later(old: Body, new: Body, dated: bool) -> bool:
    """Tell whether the same was put before by a clock that was ahead of the one that is read now."""
    return (
        not dated
        and old["type"] == new["type"]
        and old["valid_until"] is None
        and new["valid_from"] < old["valid_from"] == old["created_at"]
    )


def _later(old: Body, new: Body) -> int | None:
    ends = (old["expires_at"], new["expires_at"])
    return None if None in ends else max(ends)


def _repeat(old: Record, new: Body, now: int) -> list[Write]:
    expiry, later = old.body["expires_at"], new["expires_at"]
    if expiry is not None and (later is None or later > expiry):
        # said again for longer: the fact lives longer
        body = {**old.body, "expires_at": later, "mentions": old.body["mentions"] + 1, "last_seen": now}
        return [Put(FACTS.name, old.key, {**body, "updated_at": now})]
    return [Add(FACTS.name, old.key, "mentions", 1), Touch(FACTS.name, old.key, {"last_seen": now})]


def _supersede(old: Record, new: Body, new_id: str, spare: list[str], now: int) -> list[Write]:
    """Close only the part of the old fact's validity that the new one overlaps."""
    start, end = new["valid_from"], new["valid_until"]
    old_start, old_end = old.body["valid_from"], old.body["valid_until"]
    if (end is not None and end <= old_start) or (old_end is not None and old_end <= start):
        return []
    begins_before, ends_after = old_start < start, end is not None and (old_end is None or old_end > end)
    changed = {**old.body, "updated_at": now}
    if begins_before:
        writes: list[Write] = [Put(FACTS.name, old.key, {**changed, "valid_until": start, "superseded_by": new_id})]
        if ends_after:
            tail = {**changed, "valid_from": end, "valid_until": old_end, "mentions": 1, "created_at": now}
            writes.append(Put(FACTS.name, spare.pop(), tail))
        return writes
    if ends_after:
        return [Put(FACTS.name, old.key, {**changed, "valid_from": end})]
    return [Put(FACTS.name, old.key, {**changed, "valid_until": old_start, "superseded_by": new_id})]


def patched(record: Record, payload: Any, now: int) -> Body:
    """Give the body of a fact with another payload.

    :raises Conflict: when the fact was deleted.
    """
    _must_live(record)
    body = {**record.body, "payload": payload, "digest": digest_of(payload), "updated_at": now}
    return {**body, "subject": subject_of(body)}


def decide_patch(record: Record, body: Body, group: Sequence[Record], now: int) -> Put:
    """Decide a change of the payload in place.

    :param group: the facts of the group that the patched body belongs to.
    :raises UniqueViolation: when another live fact says the same already.
    """
    _must_fit(record.key, body, group, now, "become the same as another", UniqueViolation)
    return Put(FACTS.name, record.key, body)


def merge(value: Any, patch: Any) -> Any:
    """Merge a patch into a JSON value: objects member by member, null removes one, all else replaces (RFC 7396)."""
    if not isinstance(patch, dict):
        return patch
    result = dict(value) if isinstance(value, dict) else {}
    for key, member in patch.items():
        if member is None:
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key), member)
    return result


def decide_delete(record: Record, now: int) -> Put:
    """Decide a soft delete.

    :raises Conflict: when it was deleted before.
    """
    _must_live(record)
    return Put(FACTS.name, record.key, {**record.body, "deleted_at": now, "updated_at": now})


def decide_restore(record: Record, group: Sequence[Record], now: int) -> Put:
    """Decide to bring a softly deleted fact back.

    :raises Conflict: when it is not deleted, or a live fact now holds its place.
    """
    if _is_live(record.body):
        raise refusal(f"Fact {record.key} is not deleted.", key=record.key)
    body = {**record.body, "deleted_at": None, "updated_at": now}
    _must_fit(record.key, body, group, now, "come back")
    return Put(FACTS.name, record.key, body)


def overlapped(key: str, body: Body, group: Sequence[Record], now: int) -> list[Record]:
    """Give the live facts of a group whose validity overlaps that of a live body."""
    start, end = body["valid_from"], body["valid_until"]
    if not _is_live(body) or is_expired(body, now) or _is_empty(body):
        return []
    found = []
    for other in group:
        if other.key == key or not _is_live(other.body) or is_expired(other.body, now) or _is_empty(other.body):
            continue
        other_end = other.body["valid_until"]
        if (other_end is None or other_end > start) and (end is None or end > other.body["valid_from"]):
            found.append(other)
    return found


def decide_return(key: str, body: Body, group: Sequence[Record], ids: Sequence[str], now: int) -> list[Write]:
    """Decide what a fact that an undo brings back by force does to those that hold its place now."""
    spare = [*ids]
    writes: list[Write] = []
    for other in overlapped(key, body, group, now):
        writes += _supersede(other, body, key, spare, now)
    return writes


def _must_fit(
    key: str, body: Body, group: Sequence[Record], now: int, what: str, kind: type[Conflict] = Conflict
) -> None:
    """Refuse a body whose validity overlaps that of a live fact of its group."""
    for other in overlapped(key, body, group, now):
        raise refusal(
            f"Fact {key} can not {what}: {other.key} ({text_of(other.body)!r}) holds its place now.",
            kind,
            key=key,
            holder=other.key,
        )


def promoted(body: Body, now: int) -> Body:
    """Give the body of an ephemeral fact as a long-term one."""
    body = {**body, "ephemeral": False, "updated_at": now}
    return {**body, "subject": subject_of(body)}


def decide_promote(record: Record, group: Sequence[Record], ids: Sequence[str], now: int) -> Decision:
    """Decide to make an ephemeral fact long-term: it keeps its id and supersedes, or repeats, what is there."""
    body = promoted(record.body, now)
    if _is_empty(body):
        return Decision([Put(FACTS.name, record.key, body)], record.key)
    decision = decide_put(group, body, [record.key, *ids], now, dated=body["valid_until"] is not None)
    if decision.fact == record.key:
        return decision
    return Decision([*decision.writes, Delete(FACTS.name, record.key)], decision.fact)


def _must_live(record: Record) -> None:
    if not _is_live(record.body):
        raise refusal(f"Fact {record.key} was deleted; restore it first.", key=record.key)


def check_interval(valid_from: int, valid_until: int | None) -> None:
    """Refuse a validity that ends before it begins."""
    if valid_until is not None and valid_until <= valid_from:
        raise BadInput("valid_until must be after valid_from.", valid_from=valid_from, valid_until=valid_until)
