"""Labels on positions of the log."""

from __future__ import annotations

from collections.abc import Iterator

from amber.errors import BadInput, Conflict, NotFound
from amber.model.batch import Absent, AtRevision, Delete, Expectation, Put
from amber.model.collection import Record
from amber.model.label import LABELS, Label, check_label, near, to_label
from amber.services.unit import Unit
from amber.store.contract import Cursor, LogQuery, Receipt


class Labels:
    """The labels of one space."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit

    def find(self, name: str) -> Label | None:
        """Give a label, or None."""
        record = self._unit.get(LABELS, name)
        return to_label(record) if record is not None else None

    def iter(self, below: int | None = None) -> Iterator[Label]:
        """Give labels by position; only those below a position when one is named."""
        cursor: Cursor | None = None
        while True:
            page = self._unit.scan(LABELS, "position", high=below, after=cursor, limit=1_000)
            yield from map(to_label, page.rows)
            if page.cursor is None:
                return
            cursor = page.cursor

    def missing(self, name: str) -> NotFound:
        """Say that there is no such label, and which ones there are."""
        known = near(name, (each.name for each in self.iter()))
        return NotFound(f"There is no label {name!r}, and it is no time: {known}.", label=name)

    def put(self, name: str, position: int | None, *, move: bool, reason: str | None, operation: str | None) -> Label:
        """Set a label (see ``History.label``)."""
        check_label(name)
        first = self._unit.first_receipt(operation)
        if first is not None:
            return self._answer(first)

        def attempt() -> Label:
            old = self._unit.get(LABELS, name)
            if old is not None and position is not None and old.body["position"] == position:
                return to_label(old)
            if old is not None and not move:
                raise _taken(to_label(old))
            expected: Expectation = (
                AtRevision(LABELS.name, name, old.revision) if old is not None else Absent(LABELS.name, name)
            )
            body = {"position": position, "at": self._time(position)}
            if position is None:
                # the entry that this makes: what comes after it is what comes after the label
                body["position"] = self._unit.store.position(self._unit.space) + 1
            receipt = self._unit.commit([Put(LABELS.name, name, body)], [expected], reason=reason, operation=operation)
            if receipt.repeated:
                return self._answer(receipt)
            return to_label(Record(name, 0, receipt.position or 0, body))

        return self._unit.retrying(attempt)

    def delete(self, name: str, *, reason: str | None, operation: str | None) -> None:
        """Remove a label (see ``History.unlabel``)."""
        check_label(name)
        first = self._unit.first_receipt(operation)
        if first is not None:
            self._answer(first)
            return

        def attempt() -> None:
            old = self._unit.get(LABELS, name)
            if old is None:
                raise self.missing(name)
            expected = [AtRevision(LABELS.name, name, old.revision)]
            self._unit.commit([Delete(LABELS.name, name)], expected, reason=reason, operation=operation)

        self._unit.retrying(attempt)

    def _time(self, position: int | None) -> int | None:
        store, space = self._unit.store, self._unit.space
        if position is None:
            return self._unit.now()
        if position == 0:
            return None
        found = store.log(space, LogQuery(low=position, high=position + 1, limit=1))
        # the entry at the horizon is gone, its time is known
        return found[0].at if found else store.horizon(space).at

    def _answer(self, receipt: Receipt) -> Label:
        """Give the label that an earlier attempt of an operation set or removed."""
        position = receipt.position or 0
        entries = self._unit.store.log(self._unit.space, LogQuery(low=position, high=position + 1))
        for change in (change for entry in entries for change in entry.changes):
            if change.collection == LABELS.name:
                body = change.after or change.before or {}
                return to_label(Record(change.key, 0, position, body))
        raise BadInput(f"Operation {receipt.operation!r} was used for something else.", operation=receipt.operation)


def _taken(label: Label) -> Conflict:
    conflict = Conflict(
        f"Label {label.name!r} stands at position {label.position} already; move it, or take another name.",
        label=label.name,
        position=label.position,
    )
    conflict.retry = "no"  # type: ignore[misc]
    return conflict
