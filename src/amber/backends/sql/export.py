"""A space as rows; the store reads them on one snapshot."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from amber.backends.sql.tables import table
from amber.model.collection import Collection, Order
from amber.store.codec import decode
from amber.store.moving import in_order
from amber.store.rows import Departure, Document, Entry, Head, Image, Mark, Place, Row

Run = Callable[[str, tuple[Any, ...]], Iterable[Any]]


def rows(run: Run, collections: Mapping[str, Collection], space: str) -> Iterator[Row]:
    """Give the rows of a space.

    :param run: runs a statement and gives its rows one by one; several are read side by side.
    """
    found = list(run("SELECT n, position, last_at FROM amber_space WHERE name = ?", (space,)))
    if not found:
        yield Head(0, 0)
        return
    n, position, at = found[0]
    horizon = list(run("SELECT position, at, undos FROM amber_horizon WHERE space = ?", (n,)))
    begin, begun_at, undos = horizon[0] if horizon else (0, 0, "[]")
    counted = {
        name: next(iter(run(f"SELECT count(*) FROM {table(each)} WHERE space = ?", (n,))))[0]
        for name, each in sorted(collections.items())
    }
    documents = {name: count for name, count in counted.items() if count}
    yield Head(position, at, begin, begun_at, tuple(decode(undos)), documents)
    for collection in in_order(collections):
        sql = f"SELECT key, created, revision, body FROM {table(collection)} WHERE space = ? ORDER BY key"
        for key, created, revision, body in run(sql, (n,)):
            yield Document(collection.name, key, created, revision, decode(body))
    yield from _entries(run, n)
    for row in run("SELECT collection, key, position FROM amber_purged WHERE space = ? ORDER BY collection, key", (n,)):
        yield Mark(*row)
    sql = "SELECT collection, key, due_at, epoch, attempts FROM amber_queue WHERE space = ? ORDER BY collection, key"
    for row in run(sql, (n,)):
        yield Place(*row)
    sql = "SELECT collection, by, equal, key FROM amber_departed WHERE space = ? ORDER BY collection, by, key, equal"
    for name, by, equal, key in run(sql, (n,)):
        yield Departure(name, by, values_of(equal), key)


def _entries(run: Run, space: int) -> Iterator[Entry]:
    sql = """SELECT position, collection, key, kind, before, after, deltas, purged FROM amber_change
             WHERE space = ? ORDER BY position, n"""
    changes = iter(run(sql, (space,)))
    change = next(changes, None)
    sql = """SELECT position, operation, at, actor, reason, session, undoes FROM amber_log
             WHERE space = ? ORDER BY position"""
    for position, operation, at, actor, reason, session, undoes in run(sql, (space,)):
        images: list[Image] = []
        while change is not None and change[0] <= position:
            images.append(image_of(change[1:]))
            change = next(changes, None)
        targets = tuple(decode(undoes)) if undoes is not None else ()
        yield Entry(position, operation, at, actor, reason, session, targets, tuple(images))


def image_of(row: Any) -> Image:
    """Read a change from its columns: collection, key, kind, before, after, deltas, purged."""
    collection, key, kind, *encoded, purged = row
    before, after, deltas = (decode(text) if text is not None else None for text in encoded)
    return Image(collection, key, kind, before, after, deltas, bool(purged))


def values_of(equal: str) -> tuple[Order, ...]:
    """Read the values of an index from their canonical text: ``[s"text",d5]``."""
    found: list[Order] = []
    place = 1
    while place < len(equal) - 1:
        value, place = json.JSONDecoder(strict=False).raw_decode(equal, place + 1)
        found.append(value)
        place += 1
    return tuple(found)
