"""Taking entries of the log back: read what is there, decide, commit one batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from amber.errors import Conflict, SourcePurged, UndoConflict
from amber.model.batch import Put
from amber.model.collection import Body, Record
from amber.model.fact import FACTS, text_of
from amber.model.history import Undone
from amber.model.succession import decide_return, overlapped
from amber.model.undo import Image, Reversal, decide_undo
from amber.services.unit import Unit
from amber.store.contract import Change, LogEntry, LogQuery

#: What says where a fact stands among those of its key.
_PLACE = ("subject", "valid_from", "valid_until", "deleted_at", "expires_at")


def take_back(
    unit: Unit,
    entries: list[LogEntry],
    *,
    since: int,
    force: bool,
    session: str | None,
    reason: str | None,
    operation: str | None,
) -> Undone:
    """Take entries back, newest first, in one batch (see ``History.undo``).

    :param since: the position of the log before the entries were read.
    """
    current = _current(unit, {(change.collection, change.key) for entry in entries for change in entry.changes})
    images = [
        Image(entry.position, *_with_after(unit, entry.position, change, current)[:8])
        for entry in entries
        for change in reversed(entry.changes)
    ]
    for entry in entries:
        # of additions nothing else tells that somebody took them back before their documents were read
        adds = any(change.kind == "add" for change in entry.changes)
        found = _log(unit, LogQuery(low=entry.position, high=entry.position + 1)) if adds else [entry]
        if not found or found[0].undone_by != entry.undone_by:
            raise Conflict(f"Position {entry.position} was undone or redone meanwhile.")
    reversal = decide_undo(images, current, unit.store.collections, name=_name, since=since, force=force)
    _settle(unit, reversal, current, force)
    positions = tuple(entry.position for entry in entries)
    try:
        receipt = unit.commit(
            reversal.writes,
            reversal.expectations,
            session=session if session is not None else _common(entry.session for entry in entries),
            operation=operation,
            reason=reason,
            undoes=positions,
        )
    except SourcePurged as error:
        raise Conflict(error.message, **error.details) from error
    documents = tuple(dict.fromkeys((write.collection, write.key) for write in reversal.writes))
    return Undone(receipt.position or 0, positions, documents)


def _settle(unit: Unit, reversal: Reversal, current: Mapping[tuple[str, str], Record], force: bool) -> None:
    """See that what comes back takes no place that another fact holds now; with force it supersedes that one."""
    now = unit.now()
    bodies = {write.key: write.body for write in reversal.writes if isinstance(write, Put)}
    touched = {write.key for write in reversal.writes if write.collection == FACTS.name}
    held: dict[tuple[str, str], str] = {}
    # what gave way to one that comes back, or is left of it, may stand where the next one comes back
    moved: dict[str, Record] = {}
    for write in [*reversal.writes]:
        if not isinstance(write, Put) or write.collection != FACTS.name:
            continue
        old = current.get((FACTS.name, write.key))
        if old is not None and all(old.body[name] == write.body[name] for name in _PLACE):
            continue
        group, unchanged = unit.group(FACTS, "subject", (write.body["subject"],), write.body["valid_from"] + 1)
        others = [each for each in group if each.key not in touched]
        others += [each for each in moved.values() if each.body["subject"] == write.body["subject"]]
        reversal.expectations.append(unchanged)
        holders = overlapped(write.key, write.body, others, now)
        held |= {(FACTS.name, each.key): write.key for each in holders}
        if force:
            ids = [unit.new_id() for _ in holders]
            given_way = decide_return(write.key, bodies[write.key], holders, ids, now)
            reversal.writes.extend(given_way)
            touched |= {each.key for each in holders}
            moved |= {each.key: Record(each.key, 0, 0, each.body) for each in given_way if isinstance(each, Put)}
    if held and not force:
        named = "; ".join(f"{name}/{key} holds the place of {other}" for (name, key), other in held.items())
        raise UndoConflict(f"Can not undo: {named}. Delete or undo that first, or force it.", documents=tuple(held))


def _with_after(unit: Unit, position: int, change: Change, current: Mapping[tuple[str, str], Record]) -> Change:
    """Give a change with its after-image, which the log keeps of an append only as what the next change found."""
    place = (change.collection, change.key)
    if change.kind != "append" or change.purged:
        return change
    if place in current and current[place].revision == position:
        return change._replace(after=current[place].body)
    for entry in _log(unit, LogQuery(low=position + 1, key=place, reverse=False, limit=1)):
        for later in entry.changes:
            if (later.collection, later.key) == place:
                return change._replace(after=later.before)
    return change


def _current(unit: Unit, places: set[tuple[str, str]]) -> dict[tuple[str, str], Record]:
    store, space = unit.store, unit.space
    found: dict[tuple[str, str], Record] = {}
    for collection in sorted({name for name, _ in places}):
        keys = sorted(key for name, key in places if name == collection)
        for key, record in store.get_many(space, collection, keys).items():
            found[collection, key] = record
    return found


def _common(sessions: Iterator[str | None]) -> str | None:
    names = set(sessions)
    return names.pop() if len(names) == 1 else None


def _name(place: tuple[str, str], body: Body | None) -> str:
    """Name a document for people: a fact by its text and id."""
    collection, key = place
    if collection != FACTS.name:
        return f"{collection} {key}"
    if body is None:
        return f"fact {key}"
    text = text_of(body)
    return f"fact {key} ({text if len(text) <= 60 else text[:59] + '…'!s})"


def _log(unit: Unit, query: LogQuery) -> list[LogEntry]:
    return unit.store.log(unit.space, query)
