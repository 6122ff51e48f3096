"""What users see of the log: entries, differences, and what an undo did."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal, NamedTuple

from amber.model.collection import Body
from amber.model.describing import entry_text
from amber.model.fact import Fact


class Change(NamedTuple):
    """One document's part in an entry. ``before`` and ``after`` are its bodies (None: it was not there, or the log
    keeps no image, as of an appended message); ``deltas`` what was added to counters."""

    collection: str
    id: str
    kind: str
    before: Body | None
    after: Body | None
    deltas: Mapping[str, int] | None
    forgotten: bool


class Entry(NamedTuple):
    """One commit: who changed what, when and why. ``undoes`` names the entries it took back; ``is_undone`` tells that
    it is taken back itself. One of kind ``lost`` stands for what a load could not read. ``str(entry)`` says it in
    words."""

    position: int
    at: datetime
    actor: str | None
    reason: str | None
    session: str | None
    operation: str
    kind: Literal["change", "undo", "redo", "purge", "lost"]
    undoes: tuple[int, ...]
    is_undone: bool
    changes: tuple[Change, ...]

    @property
    def text(self) -> str:
        """The entry in words, for people: a line with its position, time (UTC), actor and reason, then one line for
        each changed fact and the number of other documents. Cut to a few lines, free of control characters."""
        return entry_text(self)

    def __str__(self) -> str:
        return self.text


class Trimmed(NamedTuple):
    """What a trim did, or with ``dry_run`` would do: how many entries went; the position up to which the log is gone
    now, which is the oldest moment that can be seen, and its time (None: nothing was ever trimmed); and the labels on
    moments before it, which stay and can not be looked at any more."""

    entries: int
    position: int
    oldest: datetime | None
    labels: tuple[str, ...]
    dry_run: bool


class Undone(NamedTuple):
    """What an undo or redo did: its own position, the entries it took back (newest first), the documents it changed
    as (collection, id)."""

    position: int
    positions: tuple[int, ...]
    documents: tuple[tuple[str, str], ...]


class Difference(NamedTuple):
    """A fact that two moments of the log do not have in common."""

    kind: Literal["added", "removed", "changed"]
    before: Fact | None
    after: Fact | None


class Diff(NamedTuple):
    """What changed from one position to another. ``others`` counts the changed documents that are not facts, by
    collection."""

    start: int
    end: int
    facts: tuple[Difference, ...]
    others: Mapping[str, int]
