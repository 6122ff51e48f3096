"""Forgetting: what a purge reaches and removes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from amber.backends.dict.space import Space, StoredEntry
from amber.backends.dict.write import judge
from amber.model.batch import Expectation
from amber.model.bounds import check_int
from amber.model.collection import Collection
from amber.store.arguments import check_limit, check_named, check_place, check_selection
from amber.store.constraints import rule_of
from amber.store.contract import PURGE, Cursor, Named, Purged, Reach, Reached, Selection
from amber.store.step import Step


def purge(
    space: Space,
    collections: Mapping[str, Collection],
    selection: Selection | Named,
    now: int,
    limit: int,
    expectations: Sequence[Expectation],
) -> Purged:
    """Forget up to ``limit`` documents of a selection, or a name in that many log entries."""
    collection = None if isinstance(selection, Named) else check_selection(collections, selection)
    check_limit(limit)
    check_int("now", now)
    if isinstance(selection, Named):
        check_named(selection)
    for expectation in expectations:
        judge(space, collections, expectation)
    if isinstance(selection, Named) or collection is None:
        return _purge_name(space, selection, now, limit) if isinstance(selection, Named) else Purged(0, 0, True)
    keys = list(islice(_selected(space, collection, selection), limit + 1))
    if not keys:
        return Purged(0, 0, True)
    position = space.position + 1
    documents = changes = 0
    touched: set[int] = set()
    for key, stays in keys[:limit]:
        place = (collection.name, key)
        record = space.load(*place)
        if record is not None and not stays:
            documents += 1
            step = Step(collection, key, record)
            step.old_unique = collection.unique_values(record.body, rule_of(collection, record.body, space.load))
            step.body = None
            space.apply(step, position)
        if not stays:
            space.purged[place] = position
        space.unmark(place, selection.by if stays else None, tuple(selection.equal))
        changes += _erase(space, place, touched)
    for ruled in collections.values():
        if ruled.rules is not None and ruled.rules.collection == collection.name:
            for key, stays in keys[:limit]:
                if not stays:
                    space.relist(ruled, key, None)
    _clear(space, touched)
    _log(space, now)
    return Purged(documents, changes, len(keys) <= limit, position)


def _purge_name(space: Space, named: Named, now: int, limit: int) -> Purged:
    found = [entry for entry in space.log if getattr(entry, named.part) == named.name][: limit + 1]
    if not found:
        return Purged(0, 0, True)
    for entry in found[:limit]:
        cleared = entry._replace(reason=None, **{named.part: None})  # type: ignore[arg-type]
        space.log[space.place_of(entry.position)] = cleared
    _log(space, now)
    return Purged(0, 0, len(found) <= limit, space.position, len(found[:limit]))


def _log(space: Space, now: int) -> None:
    position = space.position + 1
    at = max(now, space.time) if space.position else now
    space.log.append(StoredEntry(position, f"{PURGE}{position}", at, None, None, None, (), []))


def reach(
    space: Space,
    collections: Mapping[str, Collection],
    selection: Selection | Named,
    after: Cursor | str | None,
    limit: int,
) -> Reach:
    """Give one page of what a purge would reach."""
    check_limit(limit)
    if isinstance(selection, Named):
        check_named(selection)
        return Reach([], None, sum(getattr(entry, selection.part) == selection.name for entry in space.log))
    collection = check_selection(collections, selection)
    check_place(collection, selection, after)
    if selection.by is None or selection.keys:
        return Reach([_reached(space, collection, *each) for each in _selected(space, collection, selection)], None)
    rows: list[Reached] = []
    place = (collection.name, selection.by, tuple(selection.equal))
    if not isinstance(after, str):
        entries = space.indexes.get(place, [])
        start = bisect_right(entries, (after.order, after.key)) if after is not None else 0
        found = entries[start : start + limit]
        rows += [_reached(space, collection, key, False) for _, key in found]
        if start + limit < len(entries):
            return Reach(rows, Cursor(*found[-1]))
        after = ""
    gone = [key for key in sorted(space.departed.get(place, ())) if key > after]
    gone = [key for key in gone if not _stands(space, collection, selection, key)]
    room = limit - len(rows)
    rows += [_reached(space, collection, key, key in space.documents[collection.name]) for key in gone[:room]]
    # what stood there ended with the page: the next one begins with what only stood there once
    last = rows[-1].key if room and gone else ""
    return Reach(rows, last if len(gone) > room else None)


def _reached(space: Space, collection: Collection, key: str, stays: bool) -> Reached:
    place = (collection.name, key)
    images = list(_images(space, place))
    return Reached(key, key in space.documents[collection.name], stays, len(images), images[0][0] if images else None)


def _selected(space: Space, collection: Collection, selection: Selection) -> Iterable[tuple[str, bool]]:
    """Give the keys to forget, each with whether its document stays because it stands elsewhere now."""
    name, documents = collection.name, space.documents[collection.name]
    if selection.by is None:
        for key in dict.fromkeys(selection.keys):
            if key in documents or next(iter(_images(space, (name, key))), None) is not None:
                yield key, False
        return
    place = (name, selection.by, tuple(selection.equal))
    departed = space.departed.get(place, {})
    if selection.keys:
        for key in dict.fromkeys(selection.keys):
            if _stands(space, collection, selection, key):
                yield key, False
            elif key in departed:
                yield key, key in documents
        return
    yield from [(key, False) for _, key in space.indexes.get(place, [])]
    for key in sorted(departed):
        if not _stands(space, collection, selection, key):
            yield key, key in documents


def _stands(space: Space, collection: Collection, selection: Selection, key: str) -> bool:
    """Tell whether a document is in an index under these values now."""
    record = space.load(collection.name, key)
    if record is None or selection.by is None:
        return False
    rows = collection.index_rows(collection.by_name[selection.by], record.body)
    return any(equal == tuple(selection.equal) for equal, _ in rows)


def _images(space: Space, place: tuple[str, str]) -> Iterable[tuple[int, int]]:
    """Give the position and number of each change of a document that was not purged."""
    for position, number in space.places.get(place, {}).items():
        if not space.entry(position).changes[number].purged:
            yield position, number


def _erase(space: Space, place: tuple[str, str], touched: set[int]) -> int:
    """Empty the log images of a document, and note in which entries."""
    images = list(_images(space, place))
    for position, number in images:
        changes = space.entry(position).changes
        changes[number] = changes[number]._replace(before=None, after=None, deltas=None, purged=True)
        touched.add(position)
    return len(images)


def _clear(space: Space, touched: set[int]) -> None:
    """Take the reason from entries that lost an image, and actor and session from those that have none left."""
    for position in touched:
        entry = space.entry(position)._replace(reason=None)
        if all(change.purged for change in entry.changes):
            entry = entry._replace(actor=None, session=None)
        space.log[space.place_of(position)] = entry
