"""Checks of what reads and purges are asked for, the same on every store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from amber.errors import BadInput
from amber.model.collection import Collection, Index, Order
from amber.store.contract import MAX_PAGE, Cursor, Selection
from amber.store.derive import check_order


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
) -> Index:
    """Check the arguments of a scan, the same on every store."""
    index = check_equal(collection, index_name, equal)
    kind = collection.columns[index.order].kind
    for value in (low, high, after.order if after is not None else None):
        check_order(collection, index.order, kind, value)
    check_limit(limit)
    return index


def check_limit(limit: int) -> None:
    """Check the size of a page."""
    if type(limit) is not int or not 1 <= limit <= MAX_PAGE:
        raise BadInput(f"limit must be an int from 1 to {MAX_PAGE}, not {limit!r}.", limit=limit)


def check_selection(collections: Mapping[str, Collection], selection: Selection) -> Collection:
    """Check what a purge was asked for: an unset selection must never select everything."""
    collection = find_collection(collections, selection.collection)
    if (selection.by is None) == (not selection.keys):
        raise BadInput("A purge needs either keys or an index with its values.", selection=selection)
    if selection.by is not None and not check_equal(collection, selection.by, selection.equal).forget:
        raise BadInput(f"Index {collection.name}.{selection.by} is not declared with forget.", index=selection.by)
    return collection
