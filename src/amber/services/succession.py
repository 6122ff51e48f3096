"""Which facts a new one meets: those it repeats or supersedes."""

from __future__ import annotations

from amber.model.batch import AtRevision, Expectation
from amber.model.collection import Body, Record
from amber.model.fact import FACTS, TYPES, is_expired
from amber.model.where import Where, is_indexed, walk
from amber.services.unit import Unit
from amber.store.contract import Cursor, Page


def placed(unit: Unit, body: Body, now: int) -> tuple[list[Record], Expectation, list[Expectation]]:
    """Give the live facts that a new body repeats or supersedes: those of its group from its beginning on, and the
    ones that hold a unique value of it and may be replaced. With what must still be so of both at the commit."""
    group, unchanged = unit.group(FACTS, "subject", (body["subject"],), body["valid_from"] + 1)
    members = {record.key: record for record in group}
    beside = {record.key: record for record in _holders(unit, body, now) if record.key not in members}
    expected: list[Expectation] = [AtRevision(FACTS.name, each.key, each.revision) for each in beside.values()]
    return [*members.values(), *beside.values()], unchanged, expected


def _holders(unit: Unit, body: Body, now: int) -> list[Record]:
    if body["type"] is None or body["ephemeral"]:
        return []
    rule = unit.get(TYPES, body["type"])
    found: list[Record] = []
    for paths in rule.body["unique"] if rule is not None else ():
        where: Where = tuple((tuple(path), walk(body, tuple(path))) for path in paths)
        if any(value is None for _, value in where):
            continue
        cursor: Cursor | None = None
        while True:
            page = _typed(unit, body["type"], where, cursor)
            found += [record for record in page.rows if _holds(record.body, body, now)]
            if page.cursor is None:
                break
            cursor = page.cursor
    return found


def _typed(unit: Unit, type: str, where: Where, after: Cursor | None) -> Page:
    """Give one page of the facts of a type that match."""
    if any(is_indexed("payload", path, value) for path, value in where):
        return unit.lookup(FACTS, where, group=type, after=after, limit=100)
    return unit.scan(FACTS, "type", (type,), where=where, after=after, limit=100)


def _holds(old: Body, new: Body, now: int) -> bool:
    if old["deleted_at"] is not None or old["ephemeral"] or old["valid_until"] is not None:
        return False
    # one whose time to live is over makes room, wherever it stands
    return is_expired(old, now) or all(old[name] == new[name] for name in ("sender", "project", "key"))
