"""The life of a fact: which writes each step of it needs, and what a step does to the other facts of its group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from amber.errors import BadInput, Conflict, UniqueViolation
from amber.model.batch import Add, Append, Delete, Put, Touch, Write
from amber.model.collection import Body, Record
from amber.model.fact import FACTS, digest_of, is_empty, is_expired, is_live, subject_of, text_of


def refusal(message: str, kind: type[Conflict] = Conflict, **details: Any) -> Conflict:
    """Make a conflict with what was read, which reading again does not help."""
    conflict = kind(message, collection=FACTS.name, **details)
    conflict.retry = "no"  # type: ignore[misc]
    return conflict


class Decision(NamedTuple):
    """The writes of a step, and the id of the fact that the caller gets. ``repeats`` tells that it is one that was
    there, ``commutes`` that the writes are additions that need nothing to be as it was read."""

    writes: list[Write]
    fact: str
    repeats: bool = False
    commutes: bool = False


def decide_put(
    group: Sequence[Record],
    body: Body,
    ids: Sequence[str],
    now: int,
    *,
    dated: bool,
    ending: bool = False,
    enter: type[Put | Append] = Append,
) -> Decision:
    """Decide what putting a fact does to its group: repeat one of them, or enter and supersede what it overlaps.

    :param ids: enough new ids: one for the fact and one for each member of the group.
    :param dated: whether the caller gave a validity; an undated fact says what is so from now on.
    :param ending: whether the caller gave its end alone: the same fact, if it had no end, then gets this one.
    :param enter: Put when the first of the ids is that of a document that is to become the fact.
    """
    live = [each for each in group if is_live(each.body) and not is_empty(each.body)]
    writes: list[Write] = [
        Put(FACTS.name, each.key, {**each.body, "deleted_at": now, "updated_at": now})
        for each in live
        if is_expired(each.body, now)
    ]
    live = [each for each in live if not is_expired(each.body, now)]
    for each in live:
        if each.body["digest"] == body["digest"] and _covers(each.body, body, dated):
            repeat = _repeat(each, body, now, ending=ending)
            return Decision(writes + repeat, each.key, repeats=True, commutes=not writes and isinstance(repeat[0], Add))
    new, *spare = ids
    for each in live:
        writes += _supersede(each, body, new, spare, now)
    writes.append(enter(FACTS.name, new, body))
    return Decision(writes, new)


def _covers(old: Body, new: Body, dated: bool) -> bool:
    if old["type"] != new["type"] or old["valid_from"] > new["valid_from"]:
        return False
    if old["valid_until"] is None:
        return True
    if not dated:
        return bool(new["valid_from"] < old["valid_until"])
    return new["valid_until"] is not None and bool(new["valid_until"] <= old["valid_until"])


def _repeat(old: Record, new: Body, now: int, *, ending: bool) -> list[Write]:
    changed: Body = {}
    expiry, later = old.body["expires_at"], new["expires_at"]
    if expiry is not None and (later is None or later > expiry):
        # said again for longer: the fact lives longer
        changed["expires_at"] = later
    if new["trust"] > old.body["trust"]:
        # said again by one who is believed more
        changed |= {name: new[name] for name in ("trust", "source", "derived_from")}
    if ending and old.body["valid_until"] is None:
        changed["valid_until"] = new["valid_until"]
    if changed:
        mentioned = {"mentions": old.body["mentions"] + 1, "last_seen": now, "updated_at": now}
        return [Put(FACTS.name, old.key, {**old.body, **changed, **mentioned})]
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
    if is_live(record.body):
        raise refusal(f"Fact {record.key} is not deleted.", key=record.key)
    body = {**record.body, "deleted_at": None, "updated_at": now}
    _must_fit(record.key, body, group, now, "come back")
    return Put(FACTS.name, record.key, body)


def overlapped(key: str, body: Body, group: Sequence[Record], now: int) -> list[Record]:
    """Give the live facts of a group whose validity overlaps that of a live body."""
    start, end = body["valid_from"], body["valid_until"]
    if not is_live(body) or is_expired(body, now) or is_empty(body):
        return []
    found = []
    for other in group:
        if other.key == key or not is_live(other.body) or is_expired(other.body, now) or is_empty(other.body):
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
    if is_empty(body):
        return Decision([Put(FACTS.name, record.key, body)], record.key)
    if body["valid_until"] is None and body["valid_from"] == body["created_at"]:
        # it was said without a date: when something newer was said since, it is so from the promotion on
        newer = any(is_live(each.body) and each.body["valid_from"] > body["valid_from"] for each in group)
        body = {**body, "valid_from": now} if newer else body
    decision = decide_put(group, body, [record.key, *ids], now, dated=body["valid_until"] is not None, enter=Put)
    if decision.fact == record.key:
        return decision
    return Decision([*decision.writes, Delete(FACTS.name, record.key)], decision.fact)


def _must_live(record: Record) -> None:
    if not is_live(record.body):
        raise refusal(f"Fact {record.key} was deleted; restore it first.", key=record.key)


def check_interval(valid_from: int, valid_until: int | None) -> None:
    """Refuse a validity that ends before it begins."""
    if valid_until is not None and valid_until <= valid_from:
        raise BadInput("valid_until must be after valid_from.", valid_from=valid_from, valid_until=valid_until)
