"""History: read the log, take entries back, look at a moment, compare two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from amber.errors import BadInput, NotFound, UndoConflict
from amber.model.bounds import check_int, check_name
from amber.model.fact import FACTS, Fact
from amber.model.history import Change, Diff, Difference, Entry, Trimmed, Undone
from amber.model.label import LABELS, Label
from amber.model.times import Duration, from_micros
from amber.model.undo import comparable
from amber.services.labels import Labels
from amber.services.marks import Kind, Marks, is_forgotten
from amber.services.past import changed_between, entries_after
from amber.services.resolve import Moment, Resolved, resolve, trimmed
from amber.services.retention import trim
from amber.services.taking_back import take_back
from amber.services.unit import Unit
from amber.store.arguments import check_limit
from amber.store.contract import MAX_PAGE, LogEntry, LogQuery, Receipt

#: Entries that one undo takes back at most: their documents must fit one batch.
MAX_UNDO = 10_000
#: Entries that are read at a time, when one looks for something that may lie far back.
_CHUNK = 500


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
        everything ``after`` a position, time or label; of a label, all but the entry that set it.

        Entries of which nothing is left, since all of it was forgotten, are passed over.

        :param force: write the old state over later changes, and leave out what was forgotten.
        :raises UndoConflict: naming the documents that were changed since, or forgotten; nothing was undone.
        :raises NotFound: when there is nothing to undo. :raises Conflict: when the entry is undone already.
        """
        if sum(given is not None for given in (position, last, after)) != 1:
            raise BadInput("undo needs one of: a position, last=n, after=position, time or label.")
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
                entries = self._all_after(resolve(self._unit, after if after is not None else 0))
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
        if not entry.changes:
            raise UndoConflict(f"Position {position} was lost when it was loaded; nothing is known of it.")
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
        """Tell whether an actor made a change, or what an undo took back; of what was trimmed nobody knows."""
        if actor is None or entry.actor == actor:
            return True
        made = [self._log(LogQuery(low=position, high=position + 1, limit=1)) for position in entry.undoes]
        return bool(made) and all(found and found[0].actor == actor for found in made)

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

    def _all_after(self, start: Resolved) -> list[LogEntry]:
        found = []
        position = start.position
        for entry in entries_after(self._unit.store, self._unit.space, position):
            places = {(change.collection, change.key) for change in entry.changes}
            if places and places != {(LABELS.name, start.label)} and not is_forgotten(entry):
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
        return take_back(
            self._unit, entries, since=since, force=force, session=session, reason=reason, operation=operation
        )

    def _answer(self, receipt: Receipt) -> Undone:
        entry = self._raw(receipt.position or 0)
        if not entry.undoes:
            raise BadInput(f"Operation {receipt.operation!r} was used for something else.", operation=receipt.operation)
        documents = tuple((change.collection, change.key) for change in entry.changes)
        return Undone(entry.position, entry.undoes, documents)

    def resolve(self, moment: Moment) -> int:
        """Give the position of a moment: a position itself, the newest one not after a time, or that of a label.

        :raises BadInput: for a position that the log does not have yet, or what is no moment.
        :raises NotFound: for a label that is not there, naming near ones; and for a moment before the oldest one that
            can be seen, naming that.
        """
        return resolve(self._unit, moment).position

    def oldest(self) -> int:
        """Give the oldest position that can be looked at: 0 unless the log was trimmed."""
        return self._unit.store.horizon(self._unit.space).position

    def label(
        self,
        name: str,
        position: Moment | None = None,
        *,
        move: bool = False,
        reason: str | None = None,
        operation: str | None = None,
    ) -> Label:
        """Name a position of the log, so that the name can be used wherever a moment is asked for.

        Setting a label is an entry of the log itself. Without a position the label stands at that entry: what is seen
        at it is what is there now, what comes after it is all that is written later, and an undo of all after it
        leaves the label alone.

        :param name: nothing that reads as a number or time. :param position: a position, time or other label.
        :param move: let a label that stands elsewhere move.
        :raises BadInput: for a bad name or position. :raises Conflict: when the label stands elsewhere.
        """
        there = self.resolve(position) if position is not None else None
        return Labels(self._unit).put(name, there, move=move, reason=reason, operation=operation)

    def labels(self) -> list[Label]:
        """Give all labels, by position."""
        return list(Labels(self._unit).iter())

    def unlabel(self, name: str, *, reason: str | None = None, operation: str | None = None) -> None:
        """Remove a label. What it stood at stays.

        :raises NotFound: when there is no such label, naming near ones.
        """
        Labels(self._unit).delete(name, reason=reason, operation=operation)

    def trim(self, *, older_than: Duration | None = None, keep: int | None = None, dry_run: bool = False) -> Trimmed:
        """Let the beginning of the log go: entries older than a duration, or all but the newest; with both, what
        neither wants to keep. It can not be undone.

        Facts and all other documents stay as they are. What is left of the log can be undone and redone as before.
        What was known before the new beginning can not be seen any more, entries before it not be undone, and an
        operation that was committed there is not recognised when it is sent again. Done in steps, each atomic, between
        which others write; one that was broken off is finished by the next. A memory on disk uses the room again, and
        a scrub erases what stood there.

        :param older_than: like ``90d``. :param keep: a number of entries. :param dry_run: only say what would go.
        :raises BadInput: when neither is given.
        """
        return trim(self._unit, older_than, keep, dry_run)

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
            horizon = self._unit.store.horizon(self._unit.space)
            if 0 < position <= horizon.position:
                raise trimmed(horizon, f"The entry at position {position}")
            raise NotFound(f"The log has no position {position}.", position=position)
        return found[0]

    def _marks(self, entries: Iterable[LogEntry]) -> Marks:
        store, space = self._unit.store, self._unit.space
        marks = Marks(
            lambda positions: self._log(LogQuery(positions=positions, limit=len(positions))),
            lambda: store.horizon(space),
        )
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
