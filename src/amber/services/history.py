"""History: read the log, take entries back, look at a moment, compare two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from amber.errors import BadInput, Conflict, NotFound, SourcePurged, UndoConflict
from amber.model.batch import Put
from amber.model.bounds import check_int, check_name
from amber.model.collection import Body, Record
from amber.model.fact import FACTS, Fact, text_of
from amber.model.history import Change, Diff, Difference, Entry, Undone
from amber.model.succession import decide_return, overlapped
from amber.model.times import from_micros, to_micros
from amber.model.undo import Image, Reversal, comparable, decide_undo
from amber.services.marks import Kind, Marks, is_forgotten
from amber.services.past import changed_between, entries_after
from amber.services.unit import Unit
from amber.store.arguments import check_limit
from amber.store.contract import MAX_PAGE, LogEntry, LogQuery, Receipt
from amber.store.contract import Change as StoredChange

Moment = int | str | datetime

#: Entries that one undo takes back at most: their documents must fit one batch.
MAX_UNDO = 10_000
#: Entries that are read at a time, when one looks for something that may lie far back.
_CHUNK = 500
#: What says where a fact stands among those of its key.
_PLACE = ("subject", "valid_from", "valid_until", "deleted_at", "expires_at")


class History:
    """The log of one space."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit

    def position(self) -> int:
        """Give the newest position; 0 when nothing was ever written."""
        return self._unit.store.position(self._unit.space)

    def page(
        self,
        *,
        limit: int = 20,
        before: int | None = None,
        session: str | None = None,
        actor: str | None = None,
        offset: int = 0,
    ) -> list[Entry]:
        """Give entries, newest first: those before position ``before``, of a session or actor when one is named.

        To go through a log that others write to, pass the last position of a page as ``before``.

        :param offset: pass over so many entries first; with both a session and an actor they are read all the same.
        """
        check_limit(limit)
        check_int("offset", offset, 0)
        if before is not None:
            check_int("before", before)
        # the store finds by one name; when both are given, what is passed over is compared here too
        passed = offset if session is not None and actor is not None else 0
        found: list[LogEntry] = []
        for chunk in self._newest(session, actor, before, offset=offset - passed, chunk=limit + passed):
            found += chunk
            if len(found) >= limit + passed:
                break
        return self._entries(found[passed : passed + limit])

    def get(self, position: int) -> Entry:
        """Give one entry.

        :raises NotFound: when the log has no such position.
        """
        return self._entries([self._raw(position)])[0]

    def of(self, fact: Fact | str, *, limit: int = 100) -> list[Entry]:
        """Give the entries that changed a fact, newest first; also of one that is gone."""
        key = fact.id if isinstance(fact, Fact) else fact
        if not isinstance(key, str) or not key:
            raise BadInput(f"Name a fact by its id, not {key!r}.", id=key)
        return self._entries(self._log(LogQuery(key=(FACTS.name, key), limit=limit)))

    def undo(
        self,
        position: int | None = None,
        *,
        last: int | None = None,
        session: str | None = None,
        actor: str | None = None,
        after: Moment | None = None,
        force: bool = False,
        reason: str | None = None,
        operation: str | None = None,
    ) -> Undone:
        """Take entries back, as one new batch, when nobody changed their documents since.

        Name one entry by ``position``; or the ``last`` n changes (of a session, of an actor) that are not undone; or
        everything ``after`` a position or time.

        Entries of which nothing is left, since all of it was forgotten, are passed over.

        :param force: write the old state over later changes, and leave out what was forgotten.
        :raises UndoConflict: naming the documents that were changed since, or forgotten; nothing was undone.
        :raises NotFound: when there is nothing to undo. :raises Conflict: when the entry is undone already.
        """
        if sum(given is not None for given in (position, last, after)) != 1:
            raise BadInput("undo needs one of: a position, last=n, after=position or time.")
        first = self._unit.first_receipt(operation)
        if first is not None:
            return self._answer(first)

        def attempt() -> Undone:
            since = self.position()
            if position is not None:
                entries = [self._undoable(position)]
            elif last is not None:
                entries = self._last(last, session, actor, "change")
            else:
                entries = self._all_after(self.resolve(after if after is not None else 0))
            return self._take_back(entries, since, force, session, reason, operation)

        return self._unit.retrying(attempt)

    def redo(
        self,
        *,
        session: str | None = None,
        actor: str | None = None,
        force: bool = False,
        reason: str | None = None,
        operation: str | None = None,
    ) -> Undone:
        """Take the newest undo back (in a session; by an actor, or of an actor's changes), when nobody changed its
        documents since.

        :raises NotFound: when there is nothing to redo. :raises UndoConflict: as ``undo``.
        """
        first = self._unit.first_receipt(operation)
        if first is not None:
            return self._answer(first)

        def attempt() -> Undone:
            since = self.position()
            return self._take_back(self._last(1, session, actor, "undo"), since, force, session, reason, operation)

        return self._unit.retrying(attempt)

    def _undoable(self, position: int) -> LogEntry:
        entry = self._raw(position)
        marks = self._marks([entry])
        if marks.is_undone(entry):
            raise UndoConflict(f"Position {position} is undone already.", position=position)
        if marks.kind(entry) == "purge":
            raise UndoConflict(f"Position {position} forgot something, which is final.", position=position)
        return entry

    def _last(self, n: int, session: str | None, actor: str | None, kind: Kind) -> list[LogEntry]:
        if not isinstance(n, int) or isinstance(n, bool) or not 1 <= n <= MAX_UNDO:
            raise BadInput(f"last must be an int from 1 to {MAX_UNDO}, not {n!r}.", last=n)
        if actor is not None:
            check_name("actor", actor)
        found: list[LogEntry] = []
        marks = self._marks([])
        # most often the newest ones are what is asked for
        for chunk in self._newest(session, actor if kind == "change" else None, chunk=n):
            marks.learn(chunk)
            for entry in chunk:
                if is_forgotten(entry):
                    continue
                if marks.kind(entry) == kind and not marks.is_undone(entry) and self._is_by(entry, actor):
                    found.append(entry)
                if len(found) == n:
                    return found
        if not found:
            whose = "".join(f" of {name} {v!r}" for name, v in (("session", session), ("actor", actor)) if v)
            raise NotFound(f"There is nothing to {'undo' if kind == 'change' else 'redo'}{whose}.")
        return found

    def _is_by(self, entry: LogEntry, actor: str | None) -> bool:
        """Tell whether an actor made a change, or what an undo took back."""
        if actor is None or entry.actor == actor:
            return True
        return bool(entry.undoes) and all(self._raw(position).actor == actor for position in entry.undoes)

    def _newest(
        self, session: str | None, actor: str | None, before: int | None = None, *, offset: int = 0, chunk: int
    ) -> Iterator[list[LogEntry]]:
        """Give entries, newest first, in chunks that grow from the size that is wanted."""
        for what, name in (("session", session), ("actor", actor)):
            if name is not None:
                check_name(what, name)
        high = before
        # the store finds by one name; when both are given, the other one is compared here
        asked = None if session is not None else actor
        while True:
            size = min(chunk, MAX_PAGE)
            found = self._log(LogQuery(high=high, session=session, actor=asked, limit=size, offset=offset))
            yield [entry for entry in found if actor is None or entry.actor == actor]
            if len(found) < size:
                return
            high, offset, chunk = found[-1].position, 0, max(chunk, min(2 * chunk, _CHUNK))

    def _all_after(self, position: int) -> list[LogEntry]:
        found = []
        for entry in entries_after(self._unit.store, self._unit.space, position):
            if entry.changes and not is_forgotten(entry):
                found.append(entry)
            if len(found) > MAX_UNDO:
                raise BadInput(
                    f"More than {MAX_UNDO} entries came after {position}; undo the newest first, with last={MAX_UNDO}."
                )
        if not found:
            raise NotFound(f"Nothing was written after position {position}.", after=position)
        return found[::-1]

    def _take_back(
        self,
        entries: list[LogEntry],
        since: int,
        force: bool,
        session: str | None,
        reason: str | None,
        operation: str | None,
    ) -> Undone:
        current = self._current({(change.collection, change.key) for entry in entries for change in entry.changes})
        images = [
            Image(entry.position, *self._with_after(entry.position, change, current)[:8])
            for entry in entries
            for change in reversed(entry.changes)
        ]
        for entry in entries:
            # of additions nothing else tells that somebody took them back before their documents were read
            adds = any(change.kind == "add" for change in entry.changes)
            if adds and self._raw(entry.position).undone_by != entry.undone_by:
                raise Conflict(f"Position {entry.position} was undone or redone meanwhile.")
        reversal = decide_undo(images, current, self._unit.store.collections, name=_name, since=since, force=force)
        self._settle(reversal, current, force)
        positions = tuple(entry.position for entry in entries)
        common = entries[0].session if len({entry.session for entry in entries}) == 1 else None
        try:
            receipt = self._unit.commit(
                reversal.writes,
                reversal.expectations,
                session=session if session is not None else common,
                operation=operation,
                reason=reason,
                undoes=positions,
            )
        except SourcePurged as error:
            raise Conflict(error.message, **error.details) from error
        documents = tuple(dict.fromkeys((write.collection, write.key) for write in reversal.writes))
        return Undone(receipt.position or 0, positions, documents)

    def _settle(self, reversal: Reversal, current: Mapping[tuple[str, str], Record], force: bool) -> None:
        """See that what comes back takes no place that another fact holds now; with force it supersedes that one."""
        now = self._unit.now()
        bodies = {write.key: write.body for write in reversal.writes if isinstance(write, Put)}
        touched = {write.key for write in reversal.writes if write.collection == FACTS.name}
        held: dict[tuple[str, str], str] = {}
        for write in [*reversal.writes]:
            if not isinstance(write, Put) or write.collection != FACTS.name:
                continue
            old = current.get((FACTS.name, write.key))
            if old is not None and all(old.body[name] == write.body[name] for name in _PLACE):
                continue
            group, unchanged = self._unit.group(
                FACTS, "subject", (write.body["subject"],), write.body["valid_from"] + 1
            )
            others = [each for each in group if each.key not in touched]
            reversal.expectations.append(unchanged)
            holders = overlapped(write.key, write.body, others, now)
            held |= {(FACTS.name, each.key): write.key for each in holders}
            if force:
                ids = [self._unit.new_id() for _ in holders]
                reversal.writes.extend(decide_return(write.key, bodies[write.key], holders, ids, now))
                touched |= {each.key for each in holders}
        if held and not force:
            named = "; ".join(f"{name}/{key} holds the place of {other}" for (name, key), other in held.items())
            raise UndoConflict(f"Can not undo: {named}. Delete or undo that first, or force it.", documents=tuple(held))

    def _with_after(
        self, position: int, change: StoredChange, current: Mapping[tuple[str, str], Record]
    ) -> StoredChange:
        """Give a change with its after-image, which the log keeps of an append only as what the next change found."""
        place = (change.collection, change.key)
        if change.kind != "append" or change.purged:
            return change
        if place in current and current[place].revision == position:
            return change._replace(after=current[place].body)
        for entry in self._log(LogQuery(low=position + 1, key=place, reverse=False, limit=1)):
            for later in entry.changes:
                if (later.collection, later.key) == place:
                    return change._replace(after=later.before)
        return change

    def _current(self, places: set[tuple[str, str]]) -> dict[tuple[str, str], Record]:
        store, space = self._unit.store, self._unit.space
        found: dict[tuple[str, str], Record] = {}
        for collection in sorted({name for name, _ in places}):
            keys = sorted(key for name, key in places if name == collection)
            for key, record in store.get_many(space, collection, keys).items():
                found[collection, key] = record
        return found

    def _answer(self, receipt: Receipt) -> Undone:
        entry = self._raw(receipt.position or 0)
        if not entry.undoes:
            raise BadInput(f"Operation {receipt.operation!r} was used for something else.", operation=receipt.operation)
        documents = tuple((change.collection, change.key) for change in entry.changes)
        return Undone(entry.position, entry.undoes, documents)

    def resolve(self, moment: Moment) -> int:
        """Give the position of a moment: a position itself, or the newest one not after a time.

        :raises BadInput: for a position that the log does not have, or what is no time.
        """
        newest = self.position()
        if isinstance(moment, int) and not isinstance(moment, bool):
            if not 0 <= moment <= newest:
                raise BadInput(f"Position {moment} is not in the log, which ends at {newest}.", position=moment)
            return moment
        if isinstance(moment, bool):
            raise BadInput(f"A moment is a position or a time, not {moment!r}.", moment=moment)
        return self._unit.store.position_at(self._unit.space, to_micros(moment, self._unit.context.zone))

    def diff(self, start: Moment, end: Moment) -> Diff:
        """Give what differs between two moments: the facts one by one, other documents by number."""
        first, last = self.resolve(start), self.resolve(end)
        if first > last:
            raise BadInput(f"The first moment (position {first}) is after the second ({last}); swap them.")
        changed = changed_between(self._unit.store, self._unit.space, FACTS.name, first, last)
        facts = []
        for old, new in changed.states.values():
            if old is None and new is None:
                continue
            if old is not None and new is not None:
                if comparable(old.body, FACTS) == comparable(new.body, FACTS):
                    continue
                facts.append(Difference("changed", Fact(old), Fact(new)))
            elif new is not None:
                facts.append(Difference("added", None, Fact(new)))
            elif old is not None:
                facts.append(Difference("removed", Fact(old), None))
        return Diff(first, last, tuple(facts), Counter(changed.others))

    def _log(self, query: LogQuery) -> list[LogEntry]:
        return self._unit.store.log(self._unit.space, query)

    def _raw(self, position: int) -> LogEntry:
        if not isinstance(position, int) or isinstance(position, bool):
            raise BadInput(f"A position is an int, not {position!r}.", position=position)
        there = 0 < position <= self.position()
        found = self._log(LogQuery(low=position, high=position + 1, limit=1)) if there else []
        if not found:
            raise NotFound(f"The log has no position {position}.", position=position)
        return found[0]

    def _marks(self, entries: Iterable[LogEntry]) -> Marks:
        marks = Marks(lambda positions: self._log(LogQuery(positions=positions, limit=len(positions))))
        marks.learn(entries)
        return marks

    def _entries(self, found: Sequence[LogEntry]) -> list[Entry]:
        marks = self._marks(found)
        return [self._entry(each, marks) for each in found]

    def _entry(self, entry: LogEntry, marks: Marks) -> Entry:
        changes = tuple(
            Change(each.collection, each.key, each.kind, each.before, each.after, each.deltas, each.purged)
            for each in entry.changes
        )
        return Entry(
            entry.position,
            from_micros(entry.at),
            entry.actor,
            entry.reason,
            entry.session,
            entry.operation,
            marks.kind(entry),
            entry.undoes,
            marks.is_undone(entry),
            changes,
        )


def _name(place: tuple[str, str], body: Body | None) -> str:
    """Name a document for people: a fact by its text and id."""
    collection, key = place
    if collection != FACTS.name:
        return f"{collection} {key}"
    if body is None:
        return f"fact {key}"
    text = text_of(body)
    return f"fact {key} ({text if len(text) <= 60 else text[:59] + '…'!s})"
