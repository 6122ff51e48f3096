"""Checks of what reads and purges are asked for, the same on every store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from amber.errors import BadInput, TooLarge
from amber.model.bounds import check_int, check_key, check_name
from amber.model.collection import Collection, Index, Order
from amber.model.where import Where, is_indexed, parse_path, path_text, scalar
from amber.store.contract import (
    MAX_PAGE,
    SCAN_LIMIT,
    Clause,
    Cursor,
    LogQuery,
    Named,
    Oldest,
    SearchFilter,
    Selection,
)
from amber.store.derive import check_order

#: A look-up asks the field index for this many of its conditions; any more are compared on the bodies.
MAX_ENTRIES = 20


def find_collection(collections: Mapping[str, Collection], name: str) -> Collection:
    """Give a declared collection.

    :raises BadInput: when the store was opened without it.
    """
    try:
        return collections[name]
    except KeyError:
        known = ", ".join(sorted(collections))
        raise BadInput(f"There is no collection {name!r}; declared are: {known}.", collection=name) from None


def find_index(collection: Collection, name: str) -> Index:
    """Give a declared index.

    :raises BadInput: when the collection has none of this name.
    """
    try:
        return collection.by_name[name]
    except KeyError:
        known = ", ".join(sorted(collection.by_name))
        raise BadInput(f"{collection.name} has no index {name!r}; declared are: {known}.", index=name) from None


def check_equal(collection: Collection, index_name: str, equal: Sequence[Order]) -> Index:
    """Check that a value of the right type is given for each equal field of an index."""
    index = find_index(collection, index_name)
    if len(equal) != len(index.equal):
        raise BadInput(
            f"Index {collection.name}.{index.name} needs values for {index.equal}, got {tuple(equal)!r}.",
            equal=tuple(equal),
        )
    for name, value in zip(index.equal, equal, strict=True):
        if value is None:
            raise BadInput(f"{collection.name}.{name} can not be looked up as None.", field=name)
        check_order(collection, name, collection.columns[name].kind, value)
    return index


def check_scan(
    collection: Collection,
    index_name: str,
    equal: Sequence[Order],
    low: Order | None,
    high: Order | None,
    after: Cursor | None,
    limit: int,
    where: Where = (),
    scan_limit: int = SCAN_LIMIT,
) -> Index:
    """Check the arguments of a scan, the same on every store."""
    index = check_equal(collection, index_name, equal)
    kind = collection.columns[index.order].kind
    for value in (low, high):
        check_order(collection, index.order, kind, value)
    if after is not None:
        if after.order is None:
            raise BadInput("A cursor has an order value; give one that a page gave.", after=after)
        check_order(collection, index.order, kind, after.order)
        check_key(after.key)
    check_limit(limit)
    check_where(where, scan_limit)
    return index


def check_lookup(
    collection: Collection, where: Where, group: str | None, after: Cursor | None, limit: int, scan_limit: int
) -> list[tuple[str, str]]:
    """Check the arguments of a look-up and give the (path, value) entries that the field index is asked for."""
    check_limit(limit)
    check_where(where, scan_limit)
    if group is not None:
        check_key(group)
    if after is not None:
        check_key(after.key)
    index = collection.field_index
    if index is None:
        raise BadInput(f"{collection.name} declares no field index.", collection=collection.name)
    usable = [(path_text(path), scalar(value)) for path, value in where if is_indexed(index.root, path, value)]
    if not usable:
        raise BadInput(f"No condition of {where!r} can be answered by the field index.", where=where)
    # the rest is compared on the bodies: engines bound the terms of one statement
    return list(dict.fromkeys(usable))[:MAX_ENTRIES]


def check_where(where: Where, scan_limit: int) -> None:
    """Check conditions that were not made by ``parse_where``, and the bound on what they may look at."""
    for path, value in where:
        parse_path(path)
        scalar(value)
    if type(scan_limit) is not int or scan_limit < 1:
        raise BadInput(f"scan_limit must be an int of at least 1, not {scan_limit!r}.", scan_limit=scan_limit)


def check_claim(collections: Mapping[str, Collection], queue: str, n: int, lease: int, now: int) -> tuple[str, ...]:
    """Check the arguments of a claim and name the collections that wait in the queue."""
    check_int("n", n, 1)
    check_int("lease", lease, 1)
    check_int("now", now)
    check_int("now + lease", now + lease)
    names = tuple(each.name for each in collections.values() if each.queue_name == queue)
    if not names:
        raise BadInput(f"No declared collection has the queue {queue!r}.", queue=queue)
    return names


def check_log(query: LogQuery) -> None:
    """Check a question to the log."""
    check_limit(query.limit)
    check_int("offset", query.offset, 0)
    if query.images not in ("both", "before", "none"):
        raise BadInput(f"images must be both, before or none, not {query.images!r}.", images=query.images)
    for value in (query.low, query.high, *(query.positions or ())):
        if value is not None:
            check_int("position", value)
    if query.positions is not None and len(query.positions) > MAX_PAGE:
        raise TooLarge(f"The log is asked for {MAX_PAGE} positions at most, not {len(query.positions)}.")
    for text in (*(query.key or ()), query.session, query.actor):
        if text is not None:
            check_key(text)


def check_candidates(clauses: Sequence[Clause], filter: SearchFilter, also: Sequence[str], limit: int) -> list[str]:
    """Check what a search is asked for and give all its words, each once."""
    check_limit(limit)
    for clause in clauses:
        check_int("weight", clause.weight)
        if not clause.words:
            raise BadInput("A clause needs a word.", clause=clause)
    words = [*also, *(word for clause in clauses for word in (*clause.words, *clause.among))]
    for text in (*words, *filter.collections, filter.sender, filter.project, filter.session, filter.type):
        if text is not None:
            check_key(text)
    for value in (filter.since, filter.until):
        if value is not None:
            check_int("time", value)
    return sorted(set(words))


def check_texts(after: tuple[str, str] | None, limit: int) -> None:
    """Check the arguments of a page of texts."""
    check_limit(limit)
    if after is not None and (not isinstance(after, tuple) or len(after) != 2):
        raise BadInput(f"A page of texts goes on after a collection and a key, not {after!r}.", after=after)
    for part in after or ():
        check_key(part)


def check_text_changes(since: tuple[int, int], limit: int) -> None:
    """Check where changes are to be read from."""
    check_limit(limit)
    if not isinstance(since, tuple) or len(since) != 2:
        raise BadInput(f"A place in the log is a position and the number of a change, not {since!r}.", since=since)
    check_int("position", since[0], 1)
    check_int("change", since[1], 0)


def check_limit(limit: int) -> None:
    """Check the size of a page."""
    if type(limit) is not int or not 1 <= limit <= MAX_PAGE:
        raise BadInput(f"limit must be an int from 1 to {MAX_PAGE}, not {limit!r}.", limit=limit)


def check_selection(collections: Mapping[str, Collection], selection: Selection) -> Collection:
    """Check what a purge was asked for: an unset selection must never select everything."""
    collection = find_collection(collections, selection.collection)
    if selection.by is None and (not selection.keys or selection.equal):
        raise BadInput("A purge needs keys, or an index with its values.", selection=selection)
    for key in selection.keys:
        check_key(key)
    if selection.by is not None and not check_equal(collection, selection.by, selection.equal).forget:
        raise BadInput(f"Index {collection.name}.{selection.by} is not declared with forget.", index=selection.by)
    return collection


def check_named(named: Named) -> None:
    """Check which name is to be taken out of the log."""
    if named.part not in ("actor", "session"):
        raise BadInput(f"A log entry names its actor and its session, not {named.part!r}.", part=named.part)
    check_name(named.part, named.name)


def check_place(collection: Collection, selection: Selection, after: Cursor | str | None) -> None:
    """Check where a page of what a purge would reach goes on."""
    if isinstance(after, Cursor) and selection.by is not None:
        check_order(collection, "cursor", collection.columns[collection.by_name[selection.by].order].kind, after.order)
        check_key(after.key)
    elif after is not None:
        check_key(after)


def check_oldest(oldest: Oldest) -> None:
    """Check how much of the log a purge was asked for."""
    check_int("upto", oldest.upto, 0)
