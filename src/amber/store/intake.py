"""What a load takes in: each row is checked before it goes anywhere, since it may come from a file that was edited."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from amber.errors import AmberError, BadInput
from amber.model.batch import MAX_KEY
from amber.model.bounds import check_int, check_name, check_text
from amber.model.collection import Body, Collection
from amber.store.arguments import check_equal, find_collection
from amber.store.codec import encode
from amber.store.contract import LOST, PURGE, Horizon
from amber.store.derive import Analyze, Derived
from amber.store.rows import KINDS, Departure, Document, Entry, Head, Image, Loaded, Mark, Place, Refused, Row

_NAMES: Mapping[type, str] = {kind: name for name, kind in KINDS.items()}
_CHANGES = ("put", "append", "delete", "add")
#: More missing entries than this are no damaged lines but another file.
MAX_LOST = 1_000_000
#: Documents that one closing entry names, so that its undo fits a batch.
GONE_IN_ONE = 1_000


class Intake:
    """The state of one load: what was taken and what was refused."""

    def __init__(self, collections: Mapping[str, Collection]) -> None:
        self._collections = collections
        self._head: Head | None = None
        #: the oldest and the newest entry, as (position, time)
        self._first: tuple[int, int] | None = None
        self._last: tuple[int, int] | None = None
        self._position = 0
        self._rows: Counter[str] = Counter()
        self._refused: list[Refused] = []

    def refuse(self, number: int, reason: str) -> None:
        """Note a row that could not be taken."""
        self._refused.append(Refused(number, reason))

    def accepts(self, number: int, row: Row) -> bool:
        """Tell whether a row is of the right form; one that is not is noted."""
        try:
            self._check(row)
        except AmberError as error:
            self.refuse(number, error.message)
            return False
        return True

    def took(self, row: Row) -> None:
        """Note a row that was taken."""
        self._rows[_NAMES[type(row)]] += 1
        if isinstance(row, Head):
            self._head = row
        elif isinstance(row, Entry):
            place = (row.position, row.at)
            self._first = min(self._first or place, place)
            self._last = max(self._last or place, place)
            self._position = max(self._position, row.position)
        elif isinstance(row, Document):
            self._position = max(self._position, row.revision)
        elif isinstance(row, Mark):
            self._position = max(self._position, row.position)

    @property
    def position(self) -> int:
        """The newest position, by the head and all that was taken."""
        return max(self._head.position if self._head is not None else 0, self._position)

    @property
    def at(self) -> int:
        """The time of the newest entry."""
        known = [each for each in (self._head and self._head.at, self._last and self._last[1]) if each is not None]
        return max(known, default=0)

    @property
    def horizon(self) -> Horizon:
        """Where the log begins; without a head it is where the first entry says."""
        before, at = (self._first[0] - 1, self._first[1]) if self._first is not None else (self.position, self.at)
        head = self._head
        if head is not None and head.horizon <= before:
            return Horizon(head.horizon, head.horizon_at, frozenset(head.undos)) if head.horizon else Horizon()
        return Horizon(before, at) if before else Horizon()

    def result(self, lost: Iterable[int], gone: Iterable[tuple[str, str]]) -> Loaded:
        """Give what became of the load."""
        return Loaded(dict(self._rows), tuple(lost), tuple(gone), tuple(self._refused))

    def _check(self, row: Row) -> None:
        if isinstance(row, Document):
            check_document(row, self._collections)
        elif isinstance(row, Entry):
            _check_entry(row)
        elif isinstance(row, Head):
            _check_head(row)
        elif isinstance(row, Mark):
            _check_place(row.collection, row.key)
            check_int("position", row.position, 1)
        elif isinstance(row, Place):
            _check_queue(row, self._collections)
        elif isinstance(row, Departure):
            _check_departure(row, self._collections)
        else:
            raise BadInput(f"A load takes rows of an export, not {row!r}.", row=row)


def check_document(row: Document, collections: Mapping[str, Collection]) -> None:
    """Check all of a document but its body."""
    _check_place(row.collection, row.key)
    find_collection(collections, row.collection)
    check_int("created", row.created, 1)
    check_int("revision", row.revision, row.created)
    _check_body(row.body)


def derived_of(row: Document, collections: Mapping[str, Collection], analyze: Analyze) -> Derived:
    """Derive what a store keeps beside a document.

    :raises BadInput: when the body is none of its collection.
    """
    collection = collections[row.collection]
    encoded = encode(row.body)
    try:
        return Derived(collection, row.body, encoded, analyze)
    except AmberError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        # a declaration's own rules take the members of a body for granted
        raise BadInput(f"The body is none of {collection.name}: {type(error).__name__} {error}.") from error


def image_text(body: Body | None) -> str | None:
    """Write an image as the log keeps it."""
    return encode(body) if body is not None else None


def _check_head(row: Head) -> None:
    check_int("position", row.position, 0)
    check_int("at", row.at)
    check_int("horizon", row.horizon, 0, row.position)
    check_int("horizon_at", row.horizon_at)
    for position in _sequence("undos", row.undos):
        check_int("undos", position, 1)
    if not isinstance(row.documents, dict):
        raise BadInput(f"documents must be an object, not {row.documents!r}.", documents=row.documents)
    for name, count in row.documents.items():
        check_int(f"documents.{name}", count, 0)


def _check_entry(row: Entry) -> None:
    check_int("position", row.position, 1)
    check_name("operation", row.operation)
    check_int("at", row.at)
    for name in ("actor", "reason", "session"):
        check_text(name, getattr(row, name))
    for target in _sequence("undoes", row.undoes):
        check_int("undoes", target, 1, row.position - 1)
    changes = _sequence("changes", row.changes)
    if not changes and not row.operation.startswith((PURGE, LOST)):
        raise BadInput("The entry has no changes.")
    for change in changes:
        _check_place(change.collection, change.key)
        if change.kind not in _CHANGES or type(change.purged) is not bool:
            raise BadInput(f"An entry holds no change of kind {change.kind!r}.", kind=change.kind)
        for body in (change.before, change.after):
            if body is not None:
                _check_body(body)
        if change.deltas is not None:
            if type(change.deltas) is not dict:
                raise BadInput(f"deltas must be an object, not {change.deltas!r}.", deltas=change.deltas)
            for name, n in change.deltas.items():
                check_name("deltas", name)
                check_int(f"deltas.{name}", n)


def _check_queue(row: Place, collections: Mapping[str, Collection]) -> None:
    _check_place(row.collection, row.key)
    if find_collection(collections, row.collection).queue is None:
        raise BadInput(f"{row.collection} declares no queue.", collection=row.collection)
    if row.due_at is not None:
        check_int("due_at", row.due_at)
    check_int("epoch", row.epoch, 0)
    check_int("attempts", row.attempts, 0)


def _check_departure(row: Departure, collections: Mapping[str, Collection]) -> None:
    _check_place(row.collection, row.key)
    collection = find_collection(collections, row.collection)
    check_equal(collection, row.by, _sequence("equal", row.equal))


def _check_place(collection: Any, key: Any) -> None:
    check_name("collection", collection)
    check_name("key", key, MAX_KEY)


def _check_body(body: Any) -> None:
    # what it holds is checked where it is encoded
    if type(body) is not dict:
        raise BadInput(f"A body must be an object, not {body!r}.", body=body)


def _sequence(what: str, value: Any) -> Sequence[Any]:
    if not isinstance(value, (tuple, list)):
        raise BadInput(f"{what} must be a list, not {value!r}.", **{what: value})
    return value


def last_image(changes: Iterable[Image]) -> Body | None:
    """Give what the log knows of a document after its newest change; changes newest first."""
    added: Counter[str] = Counter()
    for change in changes:
        if change.purged:
            return None
        if change.kind == "add":
            added.update(change.deltas or {})
            continue
        if change.after is None:
            return None
        more = {name: (change.after.get(name) or 0) + n for name, n in added.items()}
        return {**change.after, **more}
    return None
