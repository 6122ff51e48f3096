"""Batches: the one value that changes anything a user can see. All of it happens, or nothing.

A batch lives in one space. Its expectations are judged against the state before its first write, unique values and
immutability against the state after its last.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from amber.model.collection import Body, Order

#: A batch with more writes, or with more encoded bytes, is refused: it would hold the writer too long. A store may
#: declare a lower bound in its capabilities, down to 1,000 writes.
MAX_WRITES = 10_000
#: A group or a list of sources that a batch expects something of may have this many members.
MAX_GROUP = 1_000
MAX_BYTES = 64 * 1024 * 1024
#: A single document may be this large when encoded.
MAX_DOCUMENT = 8 * 1024 * 1024
#: A document may be nested this deep.
MAX_DEPTH = 100
#: A document key may have this many UTF-8 bytes.
MAX_KEY = 512


class Put(NamedTuple):
    """Insert a document or replace it."""

    collection: str
    key: str
    body: Body


class Append(NamedTuple):
    """Insert a document that nobody has inserted before; a key that exists is a Conflict."""

    collection: str
    key: str
    body: Body


class Delete(NamedTuple):
    """Remove a document; nothing happens when it is absent."""

    collection: str
    key: str


class Add(NamedTuple):
    """Add ``n`` to a declared counter (a missing one counts as 0), whatever others add at the same time.

    Logged as a delta, undone by subtraction. ``at_most`` refuses the batch with LimitReached when the sum would be
    larger. An absent document is made from ``initial`` first; without it, it is NotFound.
    """

    collection: str
    key: str
    field: str
    n: int
    at_most: int | None = None
    initial: Body | None = None


class Touch(NamedTuple):
    """Set touchable fields without a log entry and without a new revision; nothing when the document is absent."""

    collection: str
    key: str
    values: Mapping[str, Any]


class Reschedule(NamedTuple):
    """Move the due time of a queued document without a log entry (renew, release); ``attempts`` None keeps it."""

    collection: str
    key: str
    due_at: int
    attempts: int | None = None


Write = Put | Append | Delete | Add | Touch | Reschedule
WRITES = frozenset((Put, Append, Delete, Add, Touch, Reschedule))


class AtRevision(NamedTuple):
    """The document exists and is at this revision, else Conflict."""

    collection: str
    key: str
    revision: int


class Absent(NamedTuple):
    """There is no document with this key, else Conflict."""

    collection: str
    key: str


class Unchanged(NamedTuple):
    """The group that index ``by`` finds under these values is as it was read, else Conflict.

    No member has a revision above ``since`` (a position) and there are still ``size`` members. Together these two are
    exact: whatever enters or changes gets a higher revision, whatever leaves lowers the size. With ``low`` the group
    is only its members with an order value of at least ``low``.
    """

    collection: str
    by: str
    equal: tuple[Order, ...]
    since: int
    size: int
    low: Order | None = None


class Leased(NamedTuple):
    """The queued document was claimed with this epoch and by nobody since, else LeaseLost."""

    collection: str
    key: str
    epoch: int


class NotPurged(NamedTuple):
    """None of the sources (collection, key) was purged after position ``since``, else SourcePurged."""

    sources: tuple[tuple[str, str], ...]
    since: int


Expectation = AtRevision | Absent | Unchanged | Leased | NotPurged
EXPECTATIONS = frozenset((AtRevision, Absent, Unchanged, Leased, NotPurged))


class Batch(NamedTuple):
    """What one commit does.

    :param operation: names the attempt: a store answers a repeated one with the first receipt and does nothing.
    :param at: microseconds since the epoch, UTC, by the caller's clock. The log never goes back in time: an earlier
        time than the newest entry's is raised to it.
    :param undoes: the positions that this batch takes back (or, for a redo, the undo that it takes back).
    """

    space: str
    operation: str
    at: int
    writes: tuple[Write, ...]
    expectations: tuple[Expectation, ...] = ()
    actor: str | None = None
    reason: str | None = None
    session: str | None = None
    undoes: tuple[int, ...] = ()
