"""A space of the in-process store as rows, and back."""

from __future__ import annotations

from collections.abc import Generator, Mapping

from amber.backends.dict.space import Space, Stored, StoredChange, StoredEntry
from amber.errors import AmberError, Conflict, Corrupt
from amber.model.collection import Collection
from amber.model.where import canonical
from amber.store.codec import decode
from amber.store.constraints import rule_of
from amber.store.contract import LOST, QueueState
from amber.store.derive import Analyze
from amber.store.intake import GONE_IN_ONE, MAX_LOST, Intake, derived_of, image_text, last_image
from amber.store.moving import in_order, not_empty
from amber.store.rows import Departure, Document, Entry, Head, Image, Loaded, Mark, Place, Row


def rows(space: Space, collections: Mapping[str, Collection]) -> Generator[Row, None, None]:
    """Copy a space, so that later writes do not show, and give its rows."""
    horizon = space.horizon
    documents = {name: dict(space.documents[name]) for name in sorted(collections)}
    counted = {name: len(each) for name, each in documents.items() if each}
    undos = tuple(sorted(horizon.undos))
    head = Head(space.position, space.time, horizon.position, horizon.at, undos, counted)
    log = [entry._replace(changes=[*entry.changes]) for entry in space.log]
    marks, queue = dict(space.purged), dict(space.queue)
    departed = [Departure(*place, key) for place, keys in space.departed.items() for key in keys]
    departed.sort(key=lambda row: (row.collection, row.by, row.key, canonical(row.equal)))

    def each() -> Generator[Row, None, None]:
        yield head
        for collection in in_order(collections):
            for key, stored in sorted(documents[collection.name].items()):
                yield Document(collection.name, key, stored.created, stored.revision, decode(stored.encoded))
        for entry in log:
            changes = tuple(_image(change) for change in entry.changes)
            yield Entry(*entry[:6], entry.undoes, changes)
        for place, position in sorted(marks.items()):
            yield Mark(*place, position)
        for place, state in sorted(queue.items()):
            yield Place(*place, state.due_at, state.epoch, state.attempts)
        yield from departed

    return each()


def _image(change: StoredChange) -> Image:
    before, after = (decode(text) if text is not None else None for text in (change.before, change.after))
    return Image(change.collection, change.key, change.kind, before, after, change.deltas, change.purged)


def check_empty(space: Space, name: str) -> None:
    """Refuse to load into a space that somebody wrote to."""
    if space.position:
        raise not_empty(name, space.position)


class Loading:
    """A space that is being filled; nobody sees it yet."""

    def __init__(self, collections: Mapping[str, Collection], analyze: Analyze) -> None:
        self.space = Space()
        self._collections, self._analyze = collections, analyze
        self._intake = Intake(collections)
        self._entries: dict[int, StoredEntry] = {}
        self._places: dict[tuple[str, str], QueueState] = {}

    def take(self, number: int, row: Row) -> None:
        """Take a row, or note why it can not be."""
        if not self._intake.accepts(number, row):
            return
        try:
            self._take(row)
        except AmberError as error:
            self._intake.refuse(number, error.message)
            return
        self._intake.took(row)

    def _take(self, row: Row) -> None:
        space = self.space
        if isinstance(row, Document):
            self._document(row)
        elif isinstance(row, Entry):
            self._entry(row)
        elif isinstance(row, Mark):
            space.purged[row.collection, row.key] = row.position
        elif isinstance(row, Place):
            self._places[row.collection, row.key] = QueueState(row.due_at, row.epoch, row.attempts)
        elif isinstance(row, Departure):
            space.mark((row.collection, row.key), row.by, tuple(row.equal))

    def _document(self, row: Document) -> None:
        space, collection = self.space, self._collections[row.collection]
        if row.key in space.documents[row.collection]:
            raise Conflict(f"{row.collection}/{row.key} stands there already.")
        derived = derived_of(row, self._collections, self._analyze)
        space.documents[row.collection][row.key] = Stored(row.created, row.revision, derived.encoded, derived)
        space.enter(collection, row.key, derived)
        for pair in collection.unique_values(row.body, rule_of(collection, row.body, space.load)):
            space.unique[pair].add(row.key)
        for ruled in self._collections.values():
            if ruled.rules is not None and ruled.rules.collection == row.collection:
                space.relist(ruled, row.key, row.body)
        if derived.due is not None:
            space.queue[row.collection, row.key] = QueueState(derived.due, 0, 0)

    def _entry(self, row: Entry) -> None:
        space = self.space
        if row.position in self._entries:
            raise Conflict(f"Position {row.position} stands there already.")
        if row.operation in space.operations:
            raise Conflict(f"Operation {row.operation!r} stands there already.")
        changes = [
            StoredChange(
                each.collection,
                each.key,
                each.kind,  # type: ignore[arg-type]
                image_text(each.before),
                image_text(each.after),
                dict(each.deltas) if each.deltas is not None else None,
                each.purged,
            )
            for each in row.changes
        ]
        self._entries[row.position] = StoredEntry(*row[:6], tuple(row.undoes), changes)
        space.operations[row.operation] = row.position

    def finish(self) -> Loaded:
        """Put the log in order and fill its holes."""
        space, intake = self.space, self._intake
        space.horizon, position, at = intake.horizon, intake.position, intake.horizon.at
        for place, state in self._places.items():
            there = place[1] in space.documents[place[0]]
            space.queue[place] = state if there else state._replace(due_at=None)
        missing = position - space.horizon.position - len(self._entries)
        if missing > MAX_LOST:
            raise Corrupt(f"{missing} entries are missing, more than {MAX_LOST}; export it anew.")
        lost = []
        for number in range(space.horizon.position + 1, position + 1):
            entry = self._entries.get(number)
            if entry is None:
                lost.append(number)
                entry = self._lost(number, at, [])
            at = entry.at
            self._append(entry)
        gone = self._gone()
        for start in range(0, len(gone), GONE_IN_ONE):
            part = gone[start : start + GONE_IN_ONE]
            changes = [StoredChange(*place, "delete", self._known(place), None, None) for place in part]
            self._append(self._lost(space.position + 1, intake.at, changes))
        for positions in space.undone.values():
            positions.sort()
        return intake.result(lost, gone)

    def _lost(self, position: int, at: int, changes: list[StoredChange]) -> StoredEntry:
        return StoredEntry(position, f"{LOST}{position}", at, None, None, None, (), changes)

    def _append(self, entry: StoredEntry) -> None:
        space = self.space
        space.log.append(entry)
        space.operations[entry.operation] = entry.position
        for target in entry.undoes:
            if target > space.horizon.position:
                space.undone[target].append(entry.position)
        for number, change in enumerate(entry.changes):
            space.places[change.collection, change.key][entry.position] = number

    def _gone(self) -> list[tuple[str, str]]:
        """Name the documents that the log has and the rows had not."""
        last: dict[tuple[str, str], StoredChange] = {}
        for entry in self.space.log:
            last |= {(change.collection, change.key): change for change in entry.changes}
        return [
            (name, key)
            for (name, key), change in sorted(last.items())
            if name in self._collections
            and change.kind != "delete"
            and not change.purged
            and key not in self.space.documents[name]
        ]

    def _known(self, place: tuple[str, str]) -> str | None:
        positions = reversed(self.space.places[place])
        changes = (change for position in positions for change in self.space.entry(position).changes)
        return image_text(last_image(_image(change) for change in changes if (change.collection, change.key) == place))
