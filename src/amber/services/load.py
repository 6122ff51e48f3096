"""Load: an equal memory from an export, and a report of what could not be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import orjson

from amber.errors import AmberError, BadInput, SchemaMismatch
from amber.services.export import STEP, new_digest, to_line, total_of
from amber.services.lines import FORMAT, FileOrStream, Line, Moved, reading
from amber.services.unit import Unit
from amber.store.rows import KINDS, Head, Numbered, Row, from_object, to_object


class BadLine(NamedTuple):
    """A line that could not be taken in, by its number from 1, and why."""

    line: int
    reason: str


class Loaded(NamedTuple):
    """What a load took in: the space that was exported, documents by collection, the position that the memory is at,
    log entries, and all rows.

    ``bad`` lists the lines that could not be taken in; ``lost`` the positions of the log whose entry is missing and is
    marked as lost; ``gone`` the documents that the log has and the file had not, as (collection, id): a last entry says
    so, and undoing it brings back what the log knows of them. ``intact`` tells whether the file is exactly what was
    exported; None when it does not say.
    """

    space: str | None
    position: int
    documents: Mapping[str, int]
    entries: int
    rows: int
    bad: tuple[BadLine, ...]
    lost: tuple[int, ...]
    gone: tuple[tuple[str, str], ...]
    intact: bool | None

    @property
    def is_whole(self) -> bool:
        """Whether everything that was exported is there."""
        return not self.bad and not self.lost and not self.gone


def load(unit: Unit, source: FileOrStream, *, on_progress: Callable[[Moved], None] | None) -> Loaded:
    """Answer ``Memory.load``."""
    reader = _Reader(source, on_progress)
    loaded = unit.store.load(unit.space, reader.rows())
    bad = [*reader.bad, *(BadLine(number, reason) for number, reason in loaded.refused)]
    stats, horizon = unit.store.stats(unit.space), unit.store.horizon(unit.space)
    return Loaded(
        reader.space,
        stats.position,
        {name: count for name, count in stats.documents.items() if count},
        stats.position - horizon.position,
        sum(loaded.rows.values()),
        tuple(sorted(bad)),
        loaded.lost,
        loaded.gone,
        reader.intact(),
    )


class _Reader:
    def __init__(self, source: FileOrStream, on_progress: Callable[[Moved], None] | None) -> None:
        self._source, self._on_progress = source, on_progress
        self._digest, self._digested = new_digest(), False
        self._expected: str | None = None
        self._head: Head | None = None
        self._done = self._number = 0
        self._ended = False
        self._counts: Counter[str] = Counter()
        self.space: str | None = None
        self.bad: list[BadLine] = []

    def rows(self) -> Iterator[Numbered]:
        """Give the rows with their line numbers.

        :raises BadInput: when the source is no export. :raises SchemaMismatch: when it is one of a newer Amber.
        """
        for line in reading(self._source):
            self._number = line.number
            if line.problem is not None:
                self.bad.append(BadLine(line.number, line.problem))
                break
            row = self._row(line)
            if row is not None:
                self._done += 1
                yield line.number, row
            if self._on_progress is not None and self._number % STEP == 0:
                self._report()
        if not self._done:
            raise BadInput("There is no line of an export of Amber in it; nothing was loaded.")
        if not self._ended:
            self.bad.append(BadLine(self._number + 1, "the file breaks off: its last line is missing"))
        if self._on_progress is not None:
            self._on_progress(Moved(self._done, self._done))

    def intact(self) -> bool | None:
        """Tell whether all lines are those that were exported."""
        return self._expected == self._digest.hexdigest() if self._expected is not None else None

    def _report(self) -> None:
        if self._on_progress is not None:
            self._on_progress(Moved(self._done, total_of(self._head) if self._head is not None else None))

    def _row(self, line: Line) -> Row | None:
        if not line.data.strip():
            return None
        try:
            given = orjson.loads(line.data)
        except orjson.JSONDecodeError as error:
            cut = "" if line.whole else "the file breaks off in it: "
            self.bad.append(BadLine(line.number, f"{cut}it is not JSON: {error}"))
            return None
        try:
            if isinstance(given, dict) and "amber" in given:
                return self._frame(given)
            row = from_object(given)
        except SchemaMismatch:
            raise
        except AmberError as error:
            if not self._done and not (isinstance(given, dict) and given.get("row") in KINDS):
                raise BadInput(f"This is no export of Amber; line {line.number}: {error.message}") from error
            self.bad.append(BadLine(line.number, error.message))
            return None
        self._digest.update(line.data + b"\n")
        return row

    def _frame(self, given: dict[str, Any]) -> Row | None:
        """Take the first or the last line; the last one repeats the head in case the first was lost."""
        if given.get("amber") == "export":
            self._check_format(given)
            space = given.get("space")
            self.space = space if isinstance(space, str) else None
        elif given.get("amber") == "end":
            self._ended = True
            expected = given.get("digest")
            self._expected = expected if isinstance(expected, str) else None
        else:
            raise BadInput(f"The line is no row of an export: {str(given)[:60]}")
        head = given.get("head")
        if self._head is not None or not isinstance(head, dict):
            return None
        row = from_object({"row": "head", **head})
        if isinstance(row, Head):
            self._head = row
            # in the order in which it was exported
            self._digest.update(to_line(to_object(row)))
        return row

    @staticmethod
    def _check_format(given: dict[str, Any]) -> None:
        found = given.get("format")
        if not isinstance(found, int) or isinstance(found, bool) or found < 1:
            raise BadInput(f"An export has a format number, not {found!r}.", format=found)
        if found > FORMAT:
            raise SchemaMismatch(
                f"This export has format {found}, newer than the {FORMAT} known here: upgrade the amber package.",
                found=found,
                known=FORMAT,
            )
