"""Listing facts: choose an index, compare the rest, page by page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from amber.errors import BadInput
from amber.model.collection import Body
from amber.model.fact import FACTS, Fact, is_current
from amber.model.where import Where, is_indexed, matches
from amber.services.scope import in_scope
from amber.services.unit import Unit
from amber.store.contract import Cursor, Page


@dataclass(frozen=True, slots=True)
class FactPage:
    """Facts in the order of their creation. ``cursor`` continues the page; None at the end. ``complete`` is False when
    the page stopped early because ``scan_limit`` facts had been looked at."""

    facts: list[Fact]
    cursor: str | None
    complete: bool

    def __iter__(self) -> Iterator[Fact]:
        return iter(self.facts)

    def __len__(self) -> int:
        return len(self.facts)


#: A scope with no more facts than this is gone through, whatever else is asked: a common value is not looked up in the
#: whole space for the few of its facts that lie in the scope.
_NARROW = 2_000
#: Facts fetched by one look-up: each finds all keys anew.
_LOOKED_UP = 1_000


class Shown(NamedTuple):
    """Which facts a listing shows: those valid at a moment, seen at another, and what else was asked for."""

    valid_at: int
    now: int
    superseded: bool
    deleted: bool
    ephemeral: bool

    def holds(self, body: Body) -> bool:
        """Tell whether a fact is shown."""
        if (body["ephemeral"] and not self.ephemeral) or (body["deleted_at"] is not None and not self.deleted):
            return False
        return self.superseded or is_current({**body, "deleted_at": None}, self.valid_at, self.now)


def list_facts(
    unit: Unit, scope: Body, conditions: Where, shown: Shown, *, after: str | None, limit: int, scan_limit: int
) -> FactPage:
    """Answer ``Facts.page``."""
    fetch = _fetcher(unit, scope, conditions)
    facts: list[Fact] = []
    cursor, looked = _from_cursor(after), 0
    while True:
        page = fetch(cursor, min(max(limit, 100), 1000), scan_limit)
        for record in page.rows:
            looked += 1
            body = record.body
            if shown.holds(body) and in_scope(body, scope) and matches(body, conditions):
                facts.append(Fact(record))
            if len(facts) == limit:
                last = record is page.rows[-1] and page.cursor is None
                return FactPage(facts, None if last else _to_cursor(Cursor(body["created_at"], record.key)), True)
        if page.cursor is None:
            return FactPage(facts, None, True)
        cursor = page.cursor
        if looked >= scan_limit or not page.complete:
            return FactPage(facts, _to_cursor(cursor), False)


def _fetcher(unit: Unit, scope: Body, conditions: Where) -> Callable[[Cursor | None, int, int], Page]:
    """Choose the index that leaves the least to compare."""
    narrow = _narrow(unit, scope) if conditions else None
    if narrow is not None:
        return lambda cursor, limit, _: unit.scan(FACTS, *narrow, after=cursor, limit=limit)
    if any(is_indexed("payload", path, value) for path, value in conditions):
        return lambda cursor, limit, scan_limit: unit.lookup(
            FACTS,
            conditions,
            group=scope["type"],
            after=Cursor("", cursor.key) if cursor is not None else None,
            limit=max(limit, _LOOKED_UP),
            scan_limit=scan_limit,
        )
    for name in ("session", "key", "sender", "project", "type"):
        if scope[name] is not None:
            return lambda cursor, limit, _: unit.scan(FACTS, name, (scope[name],), after=cursor, limit=limit)
    return lambda cursor, limit, _: unit.scan(FACTS, "all", (), after=cursor, limit=limit)


def _to_cursor(cursor: Cursor) -> str:
    return f"{cursor.order}/{cursor.key}"


def _from_cursor(text: str | None) -> Cursor | None:
    if text is None:
        return None
    order, slash, key = text.partition("/") if isinstance(text, str) else ("", "", "")
    if not slash or not ((order.isascii() and order.isdigit()) or not order) or not key:
        raise BadInput(f"{text!r} is no cursor of a page of facts.", after=text)
    return Cursor(int(order) if order else "", key)


def _narrow(unit: Unit, scope: Body) -> tuple[str, tuple[str]] | None:
    """Give the index and value of a part of the scope that holds few facts."""
    for name in ("session", "key", "sender", "project"):
        value = scope[name]
        if value is not None and unit.count(FACTS, name, (value,)) <= _NARROW:
            return name, (value,)
    return None
