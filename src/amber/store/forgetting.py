"""The part of the contract that is about forgetting: what a purge is asked for, and what it answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from amber.model.collection import Order

if TYPE_CHECKING:
    from amber.store.contract import Cursor


class Selection(NamedTuple):
    """What to purge of a collection: these keys, or all that the index ``by`` finds under these values; with both,
    those of the keys that it finds there."""

    collection: str
    keys: tuple[str, ...] = ()
    by: str | None = None
    equal: tuple[Order, ...] = ()


class Named(NamedTuple):
    """What to purge of the log itself: the name that entries carry as their actor or session."""

    part: Literal["actor", "session"]
    name: str


class Oldest(NamedTuple):
    """What to purge of the log: its entries up to and with a position."""

    upto: int


class Purged(NamedTuple):
    """How much one purge call removed, and its place in the log: an entry without changes, from which long-lived
    readers learn that something is gone (None when nothing was, and for the oldest part of the log, where the horizon
    tells). Call again with the same selection until ``done``.
    ``entries`` counts those that lost a name."""

    documents: int
    changes: int
    done: bool
    position: int | None = None
    entries: int = 0


class Reached(NamedTuple):
    """A document that a purge would reach. ``exists`` tells whether it is there at all, ``stays`` that it stands
    elsewhere now and would only lose images; ``images`` counts those in the log, ``first`` is the position of the
    first one (None when there are none)."""

    key: str
    exists: bool
    stays: bool
    images: int
    first: int | None


class Reach(NamedTuple):
    """A page of what a purge would reach: what stands in the index in its order, then what only stood there, by key.

    ``cursor`` continues it (a Cursor in the first part, a key in the second); None at the end. ``entries`` counts the
    log entries that carry a name that was asked for."""

    rows: list[Reached]
    cursor: Cursor | str | None
    entries: int = 0


class Scrubbed(NamedTuple):
    """How far a scrub came. ``remaining`` names what this engine can not erase at once."""

    steps: int
    done: bool
    remaining: tuple[str, ...] = ()
