"""Reads: documents, scans, look-ups, counts, the log."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from amber.backends.sql import entries
from amber.backends.sql.engine import Engine, Rows
from amber.backends.sql.tables import index_table, table
from amber.errors import BadInput
from amber.model.collection import Collection, Index, Order, Record
from amber.model.where import OVERFLOW, Where, matches
from amber.store.arguments import check_log, check_lookup, check_scan
from amber.store.codec import decode, decode_body
from amber.store.contract import Change, Cursor, Horizon, LogEntry, LogQuery, Page

_UNKNOWN = Collection("unknown")


class Range:
    """The FROM and WHERE of a range of an index."""

    __slots__ = ("key", "order", "source", "values", "where")

    def __init__(
        self,
        collection: Collection,
        index: Index,
        space: int,
        equal: Sequence[Order],
        low: Order | None,
        high: Order | None,
    ) -> None:
        if collection.many_field(index) is not None:
            self.source = f"""{index_table(collection, index)} x CROSS JOIN {table(collection)} d
                              ON d.space = x.space AND d.key = x.key"""
            self.order, self.key = "x.ord", "x.key"
        else:
            self.source = f"{table(collection)} x INDEXED BY {index_table(collection, index)}"
            self.order, self.key = f'x."{index.order}"', "x.key"
        parts = ["x.space = ?", *(f'x."{column}" = ?' for column in index.equal), f"{self.order} IS NOT NULL"]
        self.values: list[Any] = [space, *equal]
        if low is not None:
            parts.append(f"{self.order} >= ?")
            self.values.append(low)
        if high is not None:
            parts.append(f"{self.order} < ?")
            self.values.append(high)
        self.where = " AND ".join(parts)


def scan(
    rows: Rows,
    space: int,
    collection: Collection,
    name: str,
    equal: Sequence[Order],
    low: Order | None,
    high: Order | None,
    reverse: bool,
    after: Cursor | None,
    limit: int,
    where: Where,
    scan_limit: int,
) -> Page:
    """Give one page of an index."""
    index = check_scan(collection, name, equal, low, high, after, limit, where, scan_limit)
    part = Range(collection, index, space, equal, low, high)
    body = "d" if collection.many_field(index) is not None else "x"
    direction, sign = ("DESC", "<") if reverse else ("ASC", ">")

    def fetch(cursor: Cursor | None, n: int) -> list[Any]:
        beyond = f" AND ({part.order}, {part.key}) {sign} (?, ?)" if cursor is not None else ""
        sql = f"""SELECT {part.order}, {part.key}, {body}.created, {body}.revision, {body}.body FROM {part.source}
                  WHERE {part.where}{beyond} ORDER BY {part.order} {direction}, {part.key} {direction} LIMIT ?"""
        return rows(sql, [*part.values, *(cursor or ()), n])

    return _page(collection, fetch, after, limit, where, scan_limit)


def _page(
    collection: Collection,
    fetch: Callable[[Cursor | None, int], list[Any]],
    after: Cursor | None,
    limit: int,
    where: Where,
    scan_limit: int,
) -> Page:
    if not where:
        found = fetch(after, limit + 1)
        more = len(found) > limit
        records = [Record(row[1], row[2], row[3], decode_body(collection, row[4])) for row in found[:limit]]
        return Page(records, Cursor(*found[limit - 1][:2]) if more else None)
    matched: list[Record] = []
    looked = 0
    while True:
        chunk = min(max(limit, 100), scan_limit - looked) + 1
        found = fetch(after, chunk)
        for place, row in enumerate(found[: chunk - 1] if len(found) == chunk else found):
            looked += 1
            after = Cursor(row[0], row[1])
            record = Record(row[1], row[2], row[3], decode_body(collection, row[4]))
            if matches(record.body, where):
                matched.append(record)
            if len(matched) == limit or looked == scan_limit:
                more = place + 1 < len(found)
                return Page(matched, after if more else None, len(matched) == limit or not more)
        if len(found) < chunk:
            return Page(matched, None)


def lookup(
    rows: Rows,
    engine: Engine,
    space: int,
    collection: Collection,
    where: Where,
    group: str | None,
    after: Cursor | None,
    limit: int,
    scan_limit: int,
) -> Page:
    """Give one page of documents by their field entries."""
    asked = [
        entries.entry_token(space, collection.name, path, value)
        for path, value in check_lookup(collection, where, group, after, limit, scan_limit)
    ]
    overflow = [entries.entry_token(space, collection.name, OVERFLOW, "")]
    if group is not None:
        asked.append(entries.group_token(space, collection.name, group))
        overflow.append(asked[-1])
        # compared with the bodies below, since two entries may have the same token and overflow stands for anything
        where = (*where, ((collection.field_index.group,), group)) if collection.field_index is not None else where
    holding, values = engine.holding(space, collection.name, asked, overflow)

    def fetch(cursor: Cursor | None, n: int) -> list[Any]:
        beyond = "AND x.key > ?" if cursor is not None else ""
        sql = f"""WITH found (id) AS ({holding}) SELECT '', d.key, d.created, d.revision, d.body FROM
                  (SELECT x.key AS key FROM found CROSS JOIN amber_doc x ON x.id = found.id
                   WHERE x.space = ? AND x.collection = ? {beyond} ORDER BY x.key LIMIT ?) k
                  CROSS JOIN {table(collection)} d ON d.space = ? AND d.key = k.key ORDER BY k.key"""
        after = [cursor.key] if cursor is not None else []
        return rows(sql, [*values, space, collection.name, *after, n, space])

    return _page(collection, fetch, after, limit, where, scan_limit)


def horizon(rows: Rows, space: int) -> Horizon:
    """Say where the log begins."""
    found = rows("SELECT position, at, undos FROM amber_horizon WHERE space = ?", (space,))
    if not found:
        return Horizon()
    position, at, undos = found[0]
    return Horizon(position, at, frozenset(decode(undos)))


def position_at(rows: Rows, space: int, newest: int, at: int) -> int:
    """Give the newest position not after a time: times never fall along the log."""
    begin = horizon(rows, space)
    if begin.position and at < begin.at:
        return 0
    low, high = begin.position, newest
    while low < high:
        middle = (low + high + 1) // 2
        found = rows("SELECT at FROM amber_log WHERE space = ? AND position = ?", (space, middle))
        if found and found[0][0] > at:
            high = middle - 1
        else:
            low = middle
    return low


def log(rows: Rows, space: int, query: LogQuery, collections: Mapping[str, Collection]) -> list[LogEntry]:
    """Give log entries with their changes."""
    check_log(query)
    part = _LogRange(space, query)
    direction, sign = ("DESC", "<=") if query.reverse else ("ASC", ">=")
    where, values = part.where, part.values
    if query.offset:
        # found in an index alone, or counted: entries that are passed over are not read
        edge, more = part.edge(query)
        where, values = f"{where} AND l.position {sign} ({edge})", [*values, *more]
    sql = f"""SELECT l.position, l.operation, l.at, l.actor, l.reason, l.session, l.undoes,
              (SELECT group_concat(by) FROM amber_undone u WHERE u.space = l.space AND u.target = l.position)
              FROM {part.source} WHERE {where} ORDER BY l.position {direction} LIMIT ?"""
    found = rows(sql, [*values, query.limit])
    changes = _changes(rows, space, [row[0] for row in found], query.images, collections)
    return [_entry(row, changes.get(row[0], ())) for row in found]


class _LogRange:
    """The FROM and WHERE of a part of the log."""

    __slots__ = ("source", "values", "where")

    def __init__(self, space: int, query: LogQuery) -> None:
        self.source, parts = "amber_log l", ["l.space = ?"]
        self.values: list[Any] = [space]
        if query.key is not None:
            self.source = """(SELECT DISTINCT space, position FROM amber_change
                              WHERE space = ? AND collection = ? AND key = ?) c
                             CROSS JOIN amber_log l ON l.space = c.space AND l.position = c.position"""
            self.values = [space, *query.key, space]
        if query.positions is not None:
            parts.append("l.position IN (SELECT value FROM json_each(?))")
            self.values.append(_json(query.positions))
        for column, operator, wanted in (
            ("session", "=", query.session),
            ("actor", "=", query.actor),
            ("position", ">=", query.low),
            ("position", "<", query.high),
        ):
            if wanted is not None:
                parts.append(f"l.{column} {operator} ?")
                self.values.append(wanted)
        self.where = " AND ".join(parts)

    def edge(self, query: LogQuery) -> tuple[str, list[Any]]:
        """Give the SQL of the first position after those that are passed over, and its values."""
        if all(given is None for given in (query.key, query.session, query.actor, query.positions)):
            # positions have no gaps
            edge, sign = ("max", "-") if query.reverse else ("min", "+")
            return (
                f"SELECT {edge}(l.position) {sign} ? FROM {self.source} WHERE {self.where}",
                [query.offset, *self.values],
            )
        direction = "DESC" if query.reverse else "ASC"
        return (
            f"SELECT l.position FROM {self.source} WHERE {self.where} ORDER BY l.position {direction} LIMIT 1 OFFSET ?",
            [*self.values, query.offset],
        )


def _json(values: Sequence[int]) -> str:
    return f"[{','.join(map(str, values))}]"


def _changes(
    rows: Rows, space: int, positions: Sequence[int], images: str, collections: Mapping[str, Collection]
) -> dict[int, list[Change]]:
    """Give the changes of entries, in their order."""
    if not positions or images == "none":
        return {}
    after = "c.after" if images == "both" else "NULL"
    sql = f"""SELECT c.position, c.n, c.collection, c.key, c.kind, c.before, {after}, c.deltas, c.purged
              FROM json_each(?) j CROSS JOIN amber_change c ON c.space = ? AND c.position = j.value"""
    found: dict[int, list[Change]] = {}
    # sorted here: SQLite would copy the images to sort them
    for row in sorted(rows(sql, (_json(positions), space)), key=itemgetter(0, 1)):
        found.setdefault(row[0], []).append(_change(row[2:], collections))
    return found


def _entry(row: Any, changes: Sequence[Change]) -> LogEntry:
    position, operation, at, actor, reason, session, undoes, undone = row
    targets = tuple(decode(undoes)) if undoes is not None else ()
    undoers = tuple(sorted(int(each) for each in undone.split(","))) if undone is not None else ()
    return LogEntry(position, operation, at, actor, reason, session, targets, undoers, tuple(changes))


def _change(row: Any, collections: Mapping[str, Collection]) -> Change:
    collection, key, kind, before, after, deltas, purged = row
    declared = collections.get(collection, _UNKNOWN)
    return Change(
        collection,
        key,
        kind,
        decode_body(declared, before) if before is not None else None,
        decode_body(declared, after) if after is not None else None,
        decode(deltas) if deltas is not None else None,
        bool(purged),
    )


def count(
    rows: Rows,
    space: int,
    collection: Collection,
    name: str,
    equal: Sequence[Order],
    low: Order | None,
    high: Order | None,
) -> int:
    """Count a range of an index."""
    part = Range(collection, check_scan(collection, name, equal, low, high, None, 1), space, equal, low, high)
    return int(rows(f"SELECT count(*) FROM {part.source} WHERE {part.where}", part.values)[0][0])


def total(
    rows: Rows,
    space: int,
    collection: Collection,
    name: str,
    equal: Sequence[Order],
    field: str,
    low: Order | None,
    high: Order | None,
) -> int:
    """Sum an int field over a range of an index."""
    declared = collection.columns.get(field)
    if declared is None or declared.kind != "int" or declared.many:
        raise BadInput(f"{collection.name}.{field} is not a declared single int field.", field=field)
    index = check_scan(collection, name, equal, low, high, None, 1)
    part = Range(collection, index, space, equal, low, high)
    column = f'{"d" if collection.many_field(index) is not None else "x"}."{field}"'
    # summed in halves of 32 bits: SQLite's own sum stops at 64 bits
    sql = f"""SELECT coalesce(sum({column} >> 32), 0), coalesce(sum({column} & 4294967295), 0)
              FROM {part.source} WHERE {part.where}"""
    upper, lower = rows(sql, part.values)[0]
    return (int(upper) << 32) + int(lower)
