"""Undo and redo: from log entries and what is there now to the batch that takes them back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from amber.errors import UndoConflict
from amber.model.batch import MAX_GROUP, Absent, Add, AtRevision, Delete, Expectation, NotPurged, Put, Write
from amber.model.collection import Body, Collection, Record

Place = tuple[str, str]

_FORGOTTEN = "was forgotten"


class Image(NamedTuple):
    """One document's change, as the log keeps it (see ``store.contract.Change``); an append with its after-image."""

    position: int
    collection: str
    key: str
    kind: str
    before: Body | None
    after: Body | None
    deltas: Mapping[str, int] | None
    purged: bool


class Reversal(NamedTuple):
    """What takes the entries back, and what must still be so."""

    writes: list[Write]
    expectations: list[Expectation]


class _State:
    """A document while changes are taken back one by one, newest first."""

    __slots__ = ("added", "body", "current", "whole")

    def __init__(self, current: Record | None) -> None:
        self.current = current
        self.body = current.body if current is not None else None
        self.added: dict[str, int] = {}
        #: whether more than additions is taken back
        self.whole = False


def decide_undo(
    images: Sequence[Image],
    current: Mapping[Place, Record],
    collections: Mapping[str, Collection],
    *,
    name: Callable[[Place, Body | None], str],
    since: int,
    force: bool = False,
) -> Reversal:
    """Decide the writes that take back some changes.

    :param images: the changes, newest first.
    :param current: the documents of these changes that exist now.
    :param name: says which document is meant, for people, from its place and its body now.
    :param since: a position not after the one at which the changes were read: what is forgotten later stays so.
    :param force: write the old state over whatever is there, and leave out what was forgotten.
    :raises UndoConflict: when a document is not as its change left it, naming all that are not; or was forgotten.
    """
    states: dict[Place, _State] = {}
    conflicts: dict[Place, str] = {}
    for image in images:
        place = (image.collection, image.key)
        state = states.get(place)
        if state is None:
            state = states[place] = _State(current.get(place))
        reason = _take_back(state, image, collections[image.collection], force)
        if reason is not None:
            conflicts.setdefault(place, reason)
    if images and all(image.purged for image in images):
        # also by force: there is nothing else to take back
        conflicts.update({(image.collection, image.key): _FORGOTTEN for image in images})
    if conflicts:
        hint = "Undo the later change first, or force it."
        if all(reason == _FORGOTTEN for reason in conflicts.values()):
            hint = "What was forgotten does not come back; force takes back the rest, if there is any."
        told = "; ".join(_told(place, reason, current.get(place), name) for place, reason in conflicts.items())
        changed = {place: current[place].revision if place in current else None for place in conflicts}
        raise UndoConflict(
            f"Can not undo: {told}. {hint}",
            documents=tuple(conflicts),
            changed_at=tuple(changed.values()),
        )
    writes: list[Write] = []
    expectations: list[Expectation] = []
    for place, state in states.items():
        _write(place, state, writes, expectations)
    places = tuple(dict.fromkeys((write.collection, write.key) for write in writes))
    expectations += [NotPurged(places[n : n + MAX_GROUP], since) for n in range(0, len(places), MAX_GROUP)]
    return Reversal(writes, expectations)


def _told(place: Place, reason: str, now: Record | None, name: Callable[[Place, Body | None], str]) -> str:
    where = f" at position {now.revision}" if now is not None else ""
    return f"{name(place, now.body if now is not None else None)} {reason}{where}"


def _take_back(state: _State, image: Image, collection: Collection, force: bool) -> str | None:
    if image.purged:
        return None if force else _FORGOTTEN
    if image.kind == "add":
        if state.body is None:
            return None if force else "is gone"
        state.body = dict(state.body)
        for field, n in (image.deltas or {}).items():
            state.body[field] = (state.body.get(field) or 0) - n
            state.added[field] = state.added.get(field, 0) - n
        return None
    reason = None if force else _differs(state, image, collection)
    state.body, state.whole = image.before, True
    return reason


def _differs(state: _State, image: Image, collection: Collection) -> str | None:
    if image.after is None:
        return None if state.body is None else "was made anew since"
    if state.body is None:
        return "was removed since"
    return None if _same(state.body, image.after, collection) else "was changed since"


def _same(one: Body, other: Body, collection: Collection) -> bool:
    return comparable(one, collection) == comparable(other, collection)


def comparable(body: Body, collection: Collection) -> dict[str, Any]:
    """Give what undo and diff compare: all but the touchable fields."""
    return {name: value for name, value in body.items() if name not in collection.touchable}


def _write(place: Place, state: _State, writes: list[Write], expectations: list[Expectation]) -> None:
    collection, key = place
    if not state.whole:
        if state.current is not None:
            # additions need nothing to be as it was, but two must not take back the same one
            expectations.append(AtRevision(collection, key, state.current.revision))
        writes += [Add(collection, key, field, n) for field, n in state.added.items() if state.body is not None]
        return
    if state.current is None:
        expectations.append(Absent(collection, key))
    else:
        expectations.append(AtRevision(collection, key, state.current.revision))
    writes.append(Delete(collection, key) if state.body is None else Put(collection, key, state.body))
