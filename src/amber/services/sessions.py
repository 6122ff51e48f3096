"""Sessions: recorded ones and their messages; and what becomes of a session's ephemeral facts."""

from __future__ import annotations

from collections.abc import Iterator

from amber.errors import NotFound
from amber.model.batch import AtRevision, Delete
from amber.model.bounds import check_int, check_name
from amber.model.collection import Record
from amber.model.fact import FACTS, Fact, is_expired
from amber.model.message import MESSAGES, SESSIONS, Message, Session
from amber.model.succession import decide_promote, promoted
from amber.services.buffer import BufferedUnit
from amber.services.scope import check_project
from amber.services.succession import placed
from amber.services.unit import Unit
from amber.store.arguments import check_limit
from amber.store.contract import Change, Cursor, LogQuery, Receipt


class Sessions:
    """The sessions of one space."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit

    def get(self, session: str) -> Session:
        """Give a recorded session.

        :raises NotFound: when no session of this name was imported.
        """
        check_name("session", session)
        record = self._unit.get(SESSIONS, session)
        if record is None:
            raise NotFound(f"There is no recorded session {session!r}.", session=session)
        return Session(record)

    def page(self, *, project: str | None = None, before: Session | None = None, limit: int = 100) -> list[Session]:
        """List recorded sessions, newest first; those of a project and below it when one is named."""
        path = check_project(project)
        index, equal = ("all", ()) if path is None else ("project", (path,))
        after = Cursor(before.body["started_at"] or 0, before.id) if before is not None else None
        page = self._unit.scan(SESSIONS, index, equal, reverse=True, after=after, limit=limit)
        return [Session(record) for record in page.rows]

    def messages(self, session: str, *, after: int = -1, limit: int = 1_000, retracted: bool = False) -> list[Message]:
        """Give messages of a recorded session in their sequence: those with a number above ``after``.

        :param retracted: also give text that was edited and sent again.
        """
        check_name("session", session)
        check_limit(limit)
        check_int("after", after, -1)
        found: list[Message] = []
        cursor: Cursor | None = None
        while len(found) < limit:
            low = min(after + 1, 2**63 - 1)
            page = self._unit.scan(MESSAGES, "session", (session,), low=low, after=cursor, limit=limit)
            found += [Message(record) for record in page.rows if record.body["live"] or retracted]
            if page.cursor is None:
                break
            cursor = page.cursor
        return found[:limit]

    def iter_messages(self, session: str, *, retracted: bool = False) -> Iterator[Message]:
        """Go through all messages of a recorded session."""
        after = -1
        while True:
            chunk = self.messages(session, after=after, limit=500, retracted=retracted)
            yield from chunk
            if len(chunk) < 500:
                return
            after = chunk[-1].body["seq"]

    def promote(self, session: str, *, operation: str | None = None) -> list[Fact]:
        """Make a session's ephemeral facts long-term, all or none: each keeps its id, supersedes the value of its key,
        or repeats the same fact. Those whose time to live is over stay behind."""
        first = self._unit.first_receipt(operation)
        if first is not None:
            return self._facts(self._promoted(first))

        def attempt() -> list[str]:
            now, kept = self._unit.now(), dict[str, str]()
            records = [record for record in self._ephemeral(session) if not is_expired(record.body, now)]
            unit = self._unit
            # each step sees those before it
            buffer = unit if isinstance(unit, BufferedUnit) else BufferedUnit(unit.context)
            # the newest value first: an older one of the same key then only enters where it was valid
            for record in sorted(records, key=lambda each: each.body["valid_from"], reverse=True):
                members, unchanged, beside = placed(buffer, promoted(record.body, now), now)
                ids = [self._unit.new_id() for _ in members]
                decision = decide_promote(record, members, ids, now)
                expected = [AtRevision(FACTS.name, record.key, record.revision), unchanged, *beside]
                buffer.commit(decision.writes, expected, session=session)
                kept[record.key] = decision.fact
            if buffer is not unit:
                receipt = buffer.send(session=session, operation=operation, reason=None)
                if receipt is not None and receipt.repeated:
                    return self._promoted(receipt)
            return [kept[record.key] for record in records]

        return self._facts(self._unit.retrying(attempt))

    def discard(self, session: str, *, operation: str | None = None) -> int:
        """Drop a session's ephemeral facts, so that the long-term state shows again; give how many there were. What
        was promoted or put without ``ephemeral`` stays. An undo brings them back."""
        first = self._unit.first_receipt(operation)
        if first is not None:
            return self._discarded(first)

        def attempt() -> int:
            records = self._ephemeral(session)
            if records:
                writes = [Delete(FACTS.name, record.key) for record in records]
                expected = [AtRevision(FACTS.name, record.key, record.revision) for record in records]
                receipt = self._unit.commit(writes, expected, session=session, operation=operation)
                if receipt.repeated:
                    return self._discarded(receipt)
            return len(records)

        return self._unit.retrying(attempt)

    def _ephemeral(self, session: str) -> list[Record]:
        check_name("session", session)
        found: list[Record] = []
        cursor: Cursor | None = None
        while True:
            page = self._unit.scan(FACTS, "session", (session,), after=cursor, limit=1000)
            found += [record for record in page.rows if record.body["ephemeral"] and record.body["deleted_at"] is None]
            if page.cursor is None:
                return found
            cursor = page.cursor

    def _changes(self, receipt: Receipt) -> tuple[Change, ...]:
        position = receipt.position or 0
        return self._unit.store.log(self._unit.space, LogQuery(low=position, high=position + 1))[0].changes

    def _discarded(self, first: Receipt) -> int:
        return sum(change.kind == "delete" for change in self._changes(first))

    def _promoted(self, first: Receipt) -> list[str]:
        """Name the facts that a promotion answered with, in the order of their creation."""
        found: list[tuple[int, str]] = []
        for change in self._changes(first):
            before, after = change.before or {}, change.after or {}
            entered = before.get("ephemeral") and after and not after["ephemeral"]
            repeated = before and after and after["mentions"] > before["mentions"]
            if change.kind == "add" or entered or repeated:
                found.append((after.get("created_at", 0), change.key))
        return [key for _, key in sorted(found)]

    def _facts(self, ids: list[str]) -> list[Fact]:
        found = self._unit.get_many(FACTS, ids)
        return [Fact(found[id]) for id in dict.fromkeys(ids) if id in found]
