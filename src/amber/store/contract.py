"""The contract between features and backends. What the conformance suite does not test, a store does not promise.

A store keeps *spaces*; nothing crosses their border. Three verbs change it: ``commit`` (services, always through a
batch), ``claim`` (pollers) and ``purge`` (forgetting, finished by ``scrub``). Reads see every commit that was answered
before they began, and never half of one. Positions of a space run 1, 2, 3 ... without a gap; a purge of the oldest ones
moves their beginning (see ``Horizon``). All times are integer microseconds since the epoch, UTC, and come from the
caller: a store reads no clock.

Any exception leaves nothing behind. Stores may be used from several threads; after a fork the child must open its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from amber.model.batch import Batch, Expectation
from amber.model.collection import Body, Collection, Facets, Order, Record
from amber.model.where import Where
from amber.store.forgetting import Named as Named
from amber.store.forgetting import Oldest as Oldest
from amber.store.forgetting import Purged as Purged
from amber.store.forgetting import Reach as Reach
from amber.store.forgetting import Reached as Reached
from amber.store.forgetting import Scrubbed as Scrubbed
from amber.store.forgetting import Selection as Selection
from amber.store.rows import Loaded, Numbered, Row

ChangeKind = Literal["put", "append", "delete", "add"]

#: A scan or look-up with conditions that no index answers looks at this many documents and then says so.
SCAN_LIMIT = 10_000
#: The log entries of purges have operations that begin so; a batch can not.
PURGE = "purge/"
#: Entries that stand for what a load could not read have operations that begin so; a batch can not.
LOST = "lost/"
#: The largest page a read gives.
MAX_PAGE = 10_000


class Receipt(NamedTuple):
    """The answer to a commit. ``position`` is None when nothing was logged (touches, a reschedule, a delete of what is
    absent); such an operation is not remembered. ``repeated`` tells that
    the operation had been committed before and this is its first receipt."""

    position: int | None
    operation: str
    at: int
    repeated: bool = False


class Cursor(NamedTuple):
    """Where a page ended: the order value and key of its last row."""

    order: Order
    key: str


class Page(NamedTuple):
    """Rows of a scan or look-up, in order.

    ``cursor`` continues after the last row looked at; None when the range is exhausted. ``complete`` is False when the
    page stopped because ``scan_limit`` documents had been looked at, so that a short page does not pass for the end.
    """

    rows: list[Record]
    cursor: Cursor | None
    complete: bool = True


class Change(NamedTuple):
    """One document's part in a log entry. ``after`` of an append is None where the collection keeps only ``before``.
    A purged change has no images and says so."""

    collection: str
    key: str
    kind: ChangeKind
    before: Body | None
    after: Body | None
    deltas: Mapping[str, int] | None = None
    purged: bool = False


class LogEntry(NamedTuple):
    """One commit. ``undoes`` names what it takes back, ``undone_by`` the entries that take this one back, oldest first
    (each of which may itself have been taken back)."""

    position: int
    operation: str
    at: int
    actor: str | None
    reason: str | None
    session: str | None
    undoes: tuple[int, ...]
    undone_by: tuple[int, ...]
    changes: tuple[Change, ...]


class LogQuery(NamedTuple):
    """Which entries: at most one of ``key``, ``session`` and ``actor``; positions in [low, high), and only those named
    by ``positions`` when it is not None; newest first unless ``reverse`` is False; without the first ``offset``.

    ``images`` says how much of their changes is given: ``both`` images, only the one ``before`` (all others are None),
    or ``none``, no changes at all."""

    low: int | None = None
    high: int | None = None
    key: tuple[str, str] | None = None
    session: str | None = None
    actor: str | None = None
    reverse: bool = True
    limit: int = 100
    offset: int = 0
    positions: tuple[int, ...] | None = None
    images: Literal["both", "before", "none"] = "both"


class Lease(NamedTuple):
    """A claimed row: yours until ``due_at``, as long as nobody has claimed it with a higher ``epoch``."""

    collection: str
    key: str
    epoch: int
    attempts: int
    due_at: int
    body: Body


class QueueState(NamedTuple):
    """The place of a document in its queue; ``due_at`` None: it is not in it now.

    A put that changes the due field moves the row and raises the epoch, so that a lease taken before is lost; other
    puts leave the row alone. ``attempts`` starts anew when a document comes back to its queue. Epochs of a document
    never come twice.
    """

    due_at: int | None
    epoch: int
    attempts: int


class Horizon(NamedTuple):
    """Where the log begins: ``position`` is the newest one whose entry was purged as one of the oldest (0: none was),
    ``at`` was its time. The state at the horizon is the oldest that can still be worked out.

    ``undos`` names, of the entries that are gone, those that were undos and are taken back by one that is left: so it
    can still be told that the latter is a redo."""

    position: int = 0
    at: int = 0
    undos: frozenset[int] = frozenset()


class SearchFilter(NamedTuple):
    """What a search is narrowed by, before anything is ranked. ``project`` matches itself and what lies below it by
    whole segments; ``since`` and ``until`` bound ``at`` as a half-open range of microseconds."""

    collections: tuple[str, ...] = ()
    sender: str | None = None
    project: str | None = None
    session: str | None = None
    type: str | None = None
    since: int | None = None
    until: int | None = None


class TextStats(NamedTuple):
    """What ranking needs to know of a space: searchable documents, their mean length in tokens, and in how many of
    them each of the asked terms occurs."""

    documents: int
    average_length: float
    frequency: Mapping[str, int]


class Clause(NamedTuple):
    """What a document must hold to get this weight: all of the words, and at least one of ``among`` where some are
    given. The weight is a whole number, so that sums are the same everywhere."""

    words: tuple[str, ...]
    weight: int
    among: tuple[str, ...] = ()


class Candidate(NamedTuple):
    """A document that a search may show: where it entered the log, its length in tokens, and how often each asked
    word occurs in it."""

    collection: str
    key: str
    position: int
    length: int
    counts: Mapping[str, int]
    facets: Facets


class Text(NamedTuple):
    """The searchable text of a document as a store keeps it: where the document entered the log, its length in tokens,
    how often each occurs (up to 255)."""

    collection: str
    key: str
    position: int
    length: int
    terms: Mapping[str, int]
    facets: Facets


class TextPage(NamedTuple):
    """Searchable texts by collection and key, as they are at ``position``; ``cursor`` continues after the last one,
    None at the end. ``settled`` is False inside a transaction of the caller's: what was read there may never have
    been, and must not be kept."""

    texts: list[Text]
    cursor: tuple[str, str] | None
    position: int
    settled: bool = True


class TextChanges(NamedTuple):
    """What was written or purged from one place of the log on up to another, as it is now: the texts, and the documents
    that have none. ``upto`` is where to go on; at (``position`` + 1, 0) there is no more, and all that was given since
    the first page is what stands at ``position``. ``settled`` as on a page."""

    texts: list[Text]
    gone: list[tuple[str, str]]
    upto: tuple[int, int]
    position: int
    settled: bool = True


class Problem(NamedTuple):
    """Something that ``verify`` found. ``kind`` is a stable word, ``detail`` a sentence."""

    kind: str
    collection: str | None
    key: str | None
    detail: str


class Copying(NamedTuple):
    """How far a backup is, in parts of one size."""

    done: int
    total: int


class Stats(NamedTuple):
    """Size of a space: documents by collection, log entries, searchable documents and their tokens, bytes on disk (of
    the whole store; None where it has no file)."""

    space: str
    position: int
    documents: Mapping[str, int]
    searchable: int
    tokens: int
    bytes: int | None


class Capabilities(NamedTuple):
    """What a store declares about itself; what is not declared raises Unsupported."""

    name: str
    durable: bool
    many_processes: bool
    enlists: bool
    scrubs: bool
    max_writes: int
    backs_up: bool = False


class Store(Protocol):
    """What a backend implements, once, for every feature."""

    capabilities: Capabilities
    collections: Mapping[str, Collection]
    #: The copy of all data that was made before this opening changed the schema; None when there was no need.
    migration_copy: Path | None

    def commit(self, batch: Batch) -> Receipt:
        """Apply a batch: documents, what is derived from them and the log entry, all or nothing.

        Checked in this order: form and bounds (BadInput), a repeated operation (its first receipt is the answer),
        expectations, writes in order, immutability, unique values at the end of the batch.

        :raises BadInput: for an unknown collection, a bad key, or a body that is not JSON; TooLarge past a bound.
        :raises Conflict: when an expectation does not hold; UniqueViolation and Immutable for constraints.
        :raises NotFound: for an Add to an absent document without ``initial``; LimitReached past ``at_most``.
        :raises LeaseLost, SourcePurged: when the expectation of that name does not hold.
        :raises Unavailable: when the store can not write now; nothing was written.
        """

    def claim(self, space: str, queue: str, n: int, *, lease: int, now: int) -> list[Lease]:
        """Hand out up to ``n`` rows with ``due_at <= now``, earliest first: each gets epoch + 1, attempts + 1 and
        ``due_at = now + lease``. No two claims get one row. Not logged; knows no feature."""

    def purge(
        self,
        space: str,
        selection: Selection | Named | Oldest,
        *,
        now: int,
        limit: int = 500,
        expectations: Sequence[Expectation] = (),
    ) -> Purged:
        """Forget up to ``limit`` documents of the selection in one transaction: the documents, their images in the
        log, postings, field entries, unique values and queue places. Each leaves only the mark that NotPurged
        compares with, and the number of its newest epoch. A log entry loses its reason with the first image, which the
        reason may speak of, and its actor and session with the last.

        By an index (one declared with ``forget``) also those documents are reached that once stood under these values:
        one that was deleted loses its images, one that stands elsewhere now loses its images and stays.

        A name is taken out of up to ``limit`` log entries, and their reasons with it.

        ``Oldest`` forgets the beginning of the log instead: up to ``limit`` entries and about as many changes in one
        transaction, oldest first. Documents stay as they are; positions begin after the horizon; undo marks on what is
        left stay right; operations that are gone are not known any more, so that a repeated one would be applied
        again. It takes no position of its own.

        :param expectations: what must be so, judged as those of a batch are.
        :raises Conflict, LeaseLost, SourcePurged: when an expectation does not hold; nothing was purged."""

    def reach(
        self, space: str, selection: Selection | Named, *, after: Cursor | str | None = None, limit: int = 500
    ) -> Reach:
        """Tell what a purge would reach, and change nothing. By keys alone, all that remains of them is one page."""

    def scrub(self, *, steps: int = 1_000) -> Scrubbed:
        """Remove what purges and changes left in the raw files, in small steps that let writers in between."""

    def receipt(self, space: str, operation: str) -> Receipt | None:
        """Give the receipt of an operation that was committed and logged, marked as repeated; None otherwise."""

    def get(self, space: str, collection: str, key: str) -> Record | None:
        """Give a document, or None. The body is the caller's own copy."""

    def get_many(self, space: str, collection: str, keys: Sequence[str]) -> dict[str, Record]:
        """Give the documents that exist among these keys."""

    def scan(
        self,
        space: str,
        collection: str,
        index: str,
        equal: Sequence[Order] = (),
        *,
        low: Order | None = None,
        high: Order | None = None,
        reverse: bool = False,
        after: Cursor | None = None,
        limit: int = 100,
        where: Where = (),
        scan_limit: int = SCAN_LIMIT,
    ) -> Page:
        """Give documents of one index, in its order, ties by key: those under all its equal values, with an order
        value in [low, high), after the cursor. Reversed is the exact mirror, keys falling too. ``where`` keeps only
        bodies that match, looking at no more than ``scan_limit`` of them.

        :raises BadInput: for an unknown index, a wrong number or type of values, a bad limit or cursor.
        """

    def lookup(
        self,
        space: str,
        collection: str,
        where: Where,
        *,
        group: str | None = None,
        after: Cursor | None = None,
        limit: int = 100,
        scan_limit: int = SCAN_LIMIT,
    ) -> Page:
        """Give documents that match every condition, by key, using the field index (a cursor's order is "").

        At least one condition must be one that it can answer (see ``model.where.is_indexed``); the rest is compared
        on the bodies."""

    def count(
        self,
        space: str,
        collection: str,
        index: str,
        equal: Sequence[Order] = (),
        *,
        low: Order | None = None,
        high: Order | None = None,
    ) -> int:
        """Count the documents of an index under these values and in this range."""

    def total(
        self,
        space: str,
        collection: str,
        index: str,
        equal: Sequence[Order] = (),
        *,
        field: str,
        low: Order | None = None,
        high: Order | None = None,
    ) -> int:
        """Sum a declared int field over the same rows, exactly, however large; None counts as 0."""

    def position(self, space: str) -> int:
        """Give the newest position; 0 in a space that nobody wrote to."""

    def wait(self, space: str, after: int, *, timeout: float) -> int:
        """Give the newest position as soon as it is past ``after``, or what it is when ``timeout`` seconds are over.
        Changes of other processes are seen within a twentieth of a second. Holds no lock while it waits; Closed when
        the store is closed meanwhile."""

    def time(self, space: str) -> int:
        """Give the time of the newest log entry; 0 in a space that nobody wrote to. Readers whose clock is behind take
        it for now, so that nobody misses what was answered already."""

    def position_at(self, space: str, at: int) -> int:
        """Give the newest position whose time is not after ``at``; 0 when there is none, or when ``at`` lies before the
        time of the horizon."""

    def horizon(self, space: str) -> Horizon:
        """Say where the log begins. Who follows the log and has not read up to the horizon starts anew."""

    def log(self, space: str, query: LogQuery) -> list[LogEntry]:
        """Give log entries with their changes; empty when nothing matches. What lies at or below the horizon is not
        there."""

    def text_stats(self, space: str, terms: Sequence[str]) -> TextStats:
        """Give the figures that ranking needs."""

    def candidates(
        self,
        space: str,
        clauses: Sequence[Clause],
        filter: SearchFilter,
        *,
        also: Sequence[str] = (),
        limit: int = 300,
    ) -> list[Candidate]:
        """Give the documents that fulfil at least one clause and pass the filter: the ``limit`` ones with the largest
        sums of weights, ties by newest position, then key, then collection. Words of ``also`` are counted in them as
        those of the clauses are, and find nothing themselves."""

    def texts(self, space: str, *, after: tuple[str, str] | None = None, limit: int = 500) -> TextPage:
        """Give searchable texts: what a reader that keeps an index of its own begins with."""

    def text_changes(self, space: str, since: tuple[int, int], *, limit: int = 500) -> TextChanges | None:
        """Give the texts that changed from a place of the log on: the n-th change of the entry at a position, both
        counted in. Up to ``limit`` changes, and all that the purges among them took.

        None when the log does not lead from there to now: the position lies beyond the next one, or its entry is not
        there any more. Begin with pages then."""

    def queued(self, space: str, collection: str, key: str) -> QueueState | None:
        """Give a document's place in its queue; None when it was never in it."""

    def due_spaces(self, queue: str, now: int, *, limit: int = 100) -> list[str]:
        """Name spaces that have due rows, earliest first: a hint for pollers, too many rather than too few."""

    def spaces(self) -> list[str]:
        """Name the spaces that hold something, by name."""

    def verify(self, space: str | None = None) -> list[Problem]:
        """Compare everything derived with the documents it was derived from, and the log with itself; list old
        violations of rules that were registered later. Reads only."""

    def stats(self, space: str) -> Stats:
        """Give the size of a space."""

    def export(self, space: str) -> Generator[Row, None, None]:
        """Give all that a space holds as rows, of one moment, whatever others write meanwhile: the head, documents
        (rules before what they bind) by collection and key, log entries by position, purge marks, queue places,
        departures. What can be derived is left out. Equal spaces give equal rows, on every store. Memory stays bounded
        by the largest entry where the store is on disk. Close the iterator when it is not read to its end."""

    def load(self, space: str, rows: Iterable[Numbered]) -> Loaded:
        """Fill a space that nobody wrote to with the rows of an export, each given with a number of the caller's.

        Taken in chunks, each atomic; the space appears as a whole at the end and not before. A load that was broken
        off leaves nothing that anybody sees, and the next one into this space begins anew and clears it away. What can
        not be taken is left out and told with its number. The order of rows does not matter.

        A position without an entry is filled with one without changes whose operation begins with ``LOST``. A document
        that the log has and the rows have not gets such an entry at the end, which says that it is gone: undoing that
        brings back what the log knows of it.

        :raises Conflict: when the space was written to, or another load into it began meanwhile; not to be retried.
        """

    def backup(
        self,
        path: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        on_progress: Callable[[Copying], None] | None = None,
    ) -> None:
        """Copy the whole store, all its spaces, to a file, as it is when this is called; others go on writing.

        The file appears whole and on the disk, or not at all.

        :raises Unsupported: when the store has no files of its own (see ``Capabilities.backs_up``).
        :raises Conflict: when there is such a file, unless it may be overwritten. :raises Unavailable: see ``commit``.
        """

    def close(self) -> None:
        """Free what the store opened, and nothing that it was given. May be called again."""
