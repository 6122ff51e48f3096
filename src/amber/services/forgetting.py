"""Forgetting: all that belongs to a sender, session or project, and all that was made from it.

Documents on which others depend go last: what was derived before its sources, messages before their session. So a call
that was killed is finished by the same call, and a purge says in its own transaction that nothing depends on what it
takes; a derived write that comes later is refused by the store, since its source was purged.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from amber.errors import BadInput, Conflict, Unsupported
from amber.model.batch import Expectation, Unchanged
from amber.model.bounds import check_name
from amber.model.collection import Collection, ForgottenWith, Scope
from amber.model.forget import Forgotten
from amber.model.times import from_micros
from amber.services.participants import Participants
from amber.services.scope import check_project
from amber.services.unit import Unit
from amber.store.contract import Cursor, Named, Reached, Scrubbed, Selection, Store

#: Documents of one purge: a transaction of some ten milliseconds, between which other writers come in.
CHUNK = 100
#: Log entries that lose a name in one purge.
_ENTRIES = 2_000
#: How often other writers may be faster than a forget: each time they wrote something that depends on what it takes.
_ATTEMPTS = 100
#: Pieces of work of one scrub call; how often one that a reader held up is made again, and after how many seconds.
_STEPS, _PATIENCE, _PAUSE = 200, 8, 0.05


class Forgetting:
    """What ``Memory.forget`` and ``Memory.scrub`` do."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        self.participants = Participants()

    def forget(self, sender: str | None, session: str | None, project: str | None, *, dry_run: bool) -> Forgotten:
        """Answer ``Memory.forget``."""
        scope, name = _chosen(sender, session, project)
        unit = self._unit
        links = Links(unit.store.collections, scope)
        part = {"sender": "actor", "session": "session"}.get(scope)
        named = Named(part, name) if part is not None else None  # type: ignore[arg-type]
        at = unit.now()
        if dry_run:
            entries = unit.store.reach(unit.space, named).entries if named is not None else 0
            survey = _Survey(unit, links, self.participants)
            survey.run(links.roots(name))
            return self._receipt(scope, at, survey.tally, entries, dry_run=True)
        removal = _Removal(unit, links, self.participants)
        entries = removal.take_name_out(named)
        removal.run(links.roots(name))
        # entries that were written meanwhile
        entries += removal.take_name_out(named)
        kept = [text for each in self.participants for text in each.settle(unit.space)]
        scrubbed = self.scrub()
        return self._receipt(
            scope,
            at,
            removal.tally,
            entries,
            positions=tuple(removal.positions),
            steps=scrubbed.steps,
            remaining=(*kept, *scrubbed.remaining),
        )

    def scrub(self) -> Scrubbed:
        """Answer ``Memory.scrub``."""
        store, steps, patience = self._unit.store, 0, _PATIENCE
        while True:
            try:
                part = store.scrub(steps=_STEPS)
            except Unsupported as error:
                return Scrubbed(steps, False, (error.message,))
            steps += part.steps
            if part.done:
                return part._replace(steps=steps)
            if part.remaining:
                patience -= 1
                # a connection of the caller's keeps its settings: what it can not erase now it can not erase later
                if not patience or store.capabilities.enlists:
                    return part._replace(steps=steps)
                time.sleep(_PAUSE)

    def _receipt(
        self,
        scope: Scope,
        at: int,
        tally: Tally,
        entries: int,
        *,
        dry_run: bool = False,
        positions: tuple[int, ...] = (),
        steps: int = 0,
        remaining: tuple[str, ...] = (),
    ) -> Forgotten:
        unit = self._unit
        return Forgotten(
            unit.space,
            scope,
            from_micros(at),
            unit.context.actor,
            dry_run,
            _counted(tally.documents),
            _counted(tally.images),
            entries,
            _counted(tally.others),
            positions,
            steps,
            remaining,
        )


def _chosen(sender: str | None, session: str | None, project: str | None) -> tuple[Scope, str]:
    given: list[tuple[Scope, str]] = []
    if sender is not None:
        check_name("sender", sender)
        given.append(("sender", sender))
    if session is not None:
        check_name("session", session)
        given.append(("session", session))
    path = check_project(project)
    if path is not None:
        given.append(("project", path))
    if len(given) != 1:
        raise BadInput("Say what to forget: a sender, a session or a project, one at a time.")
    return given[0]


def _counted(counter: Mapping[str, int]) -> dict[str, int]:
    return {name: n for name, n in sorted(counter.items()) if n}


class Tally:
    """What was removed, or would be."""

    def __init__(self) -> None:
        self.documents: Counter[str] = Counter()
        self.images: Counter[str] = Counter()
        self.others: Counter[str] = Counter()


class Links:
    """How the collections of a store are reached when a scope is forgotten, by their declarations."""

    def __init__(self, collections: Mapping[str, Collection], scope: Scope) -> None:
        self._collections, self._scope = collections, scope
        self._with: dict[str, list[tuple[str, ForgottenWith]]] = {}
        for collection in collections.values():
            for each in collection.forgotten_with:
                if scope in each.scopes:
                    self._with.setdefault(each.collection, []).append((collection.name, each))

    def roots(self, name: str) -> list[Selection]:
        """Give what belongs to the scope of this name itself."""
        return [
            Selection(collection.name, (name,))
            if by.by is None
            else Selection(collection.name, by=by.by, equal=(name,))
            for collection in self._collections.values()
            for by in collection.forgotten_by
            if by.scope == self._scope
        ]

    def dependents(self, collection: str, keys: Sequence[str]) -> list[Selection]:
        """Give what goes with these documents."""
        return [
            Selection(dependent, by=each.by, equal=(key,))
            for dependent, each in self._with.get(collection, ())
            for key in keys
        ]


class _Walk:
    """Goes through what a scope reaches."""

    def __init__(self, unit: Unit, links: Links, participants: Participants) -> None:
        self._store: Store = unit.store
        self._unit, self._space, self._links, self._participants = unit, unit.space, links, participants
        self.tally = Tally()

    def _pages(self, selection: Selection) -> Iterator[list[Reached]]:
        after: Cursor | str | None = None
        while True:
            page = self._store.reach(self._space, selection, after=after, limit=CHUNK)
            if page.rows:
                yield page.rows
            if page.cursor is None:
                return
            after = page.cursor


class _Survey(_Walk):
    """Counts what a forget would remove, and removes nothing."""

    def run(self, roots: Sequence[Selection]) -> None:
        """Look at all that is reached from the roots."""
        pending, seen = [*roots], set(roots)
        removed: set[tuple[str, str]] = set()
        emptied: set[tuple[str, str]] = set()
        while pending:
            selection = pending.pop()
            name = selection.collection
            for rows in self._pages(selection):
                for row in rows:
                    if (name, row.key) not in emptied:
                        self.tally.images[name] += row.images
                    emptied.add((name, row.key))
                new = [row for row in rows if not row.stays and (name, row.key) not in removed]
                removed.update((name, row.key) for row in new)
                self.tally.documents[name] += sum(row.exists for row in new)
                keys = [row.key for row in new]
                for each in self._participants:
                    self.tally.others[each.name] += each.count(self._space, name, keys) if keys else 0
                for dependent in self._links.dependents(name, keys):
                    if dependent not in seen:
                        seen.add(dependent)
                        pending.append(dependent)


class _Removal(_Walk):
    """Removes what a scope reaches, chunk by chunk."""

    def __init__(self, unit: Unit, links: Links, participants: Participants) -> None:
        super().__init__(unit, links, participants)
        #: what was written later is not waited for
        self._until = self._store.position(self._space)
        self.positions: list[int] = []

    def take_name_out(self, named: Named | None) -> int:
        """Take a name out of the log entries that carry it; give how many those were."""
        entries = 0
        while named is not None:
            purged = self._store.purge(self._space, named, now=self._unit.now(), limit=_ENTRIES)
            entries += purged.entries
            self._note(purged.position)
            if purged.done:
                break
        return entries

    def run(self, roots: Sequence[Selection]) -> None:
        """Remove all that is reached from the roots: all that was there when this began."""
        for root in roots:
            self._empty(root)

    def _empty(self, root: Selection) -> None:
        # a stack: the last is emptied first; True for those that wait for what stands above them
        waiting = {root: False}
        beaten: Counter[Selection] = Counter()
        while waiting:
            selection = next(reversed(waiting))
            rows = self._next(selection, is_root=len(waiting) == 1)
            if not rows:
                del waiting[selection]
                continue
            keys = [row.key for row in rows if not row.stays]
            waiting[selection] = True
            # one that waits for this one depends on itself, by way of others
            dependents = [each for each in self._links.dependents(selection.collection, keys) if not waiting.get(each)]
            first = [each for each in dependents if self._store.reach(self._space, each, limit=1).rows]
            if first:
                for each in first:
                    # one that stands further down is needed now
                    waiting.pop(each, None)
                    waiting[each] = False
                continue
            done = self._purge(selection, rows, keys, dependents)
            if not done or all(self._is_late(row) for row in rows):
                beaten[selection] += 1
            if beaten[selection] > _ATTEMPTS:
                raise Conflict("Others write what depends on what is forgotten, and faster: stop them and call again.")

    def _next(self, selection: Selection, *, is_root: bool) -> list[Reached]:
        """Give the next documents; of a root only as long as some of them were there when this began."""
        for rows in self._pages(selection):
            if not is_root or not all(self._is_late(row) for row in rows):
                return rows
        return []

    def _is_late(self, row: Reached) -> bool:
        """Tell whether a document came after this began."""
        return row.first is not None and row.first > self._until

    def _purge(
        self, selection: Selection, rows: Sequence[Reached], keys: Sequence[str], dependents: Sequence[Selection]
    ) -> bool:
        """Purge some documents, unless something now depends on them that did not when it was looked at."""
        name = selection.collection
        for each in self._participants:
            self.tally.others[each.name] += each.forget(self._space, name, keys) if keys else 0
        expected: list[Expectation] = [
            Unchanged(each.collection, each.by or "", each.equal, since=0, size=0) for each in dependents
        ]
        try:
            purged = self._store.purge(
                self._space,
                selection._replace(keys=tuple(row.key for row in rows)),
                now=self._unit.now(),
                limit=len(rows),
                expectations=expected,
            )
        except Conflict:
            return False
        self.tally.documents[name] += purged.documents
        self.tally.images[name] += purged.changes
        self._note(purged.position)
        return True

    def _note(self, position: int | None) -> None:
        if position is not None:
            self.positions.append(position)
