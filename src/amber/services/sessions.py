"""Sessions: recorded ones and their messages; and what becomes of a session's ephemeral facts."""

from __future__ import annotations

from collections.abc import Iterator

from amber.errors import BadInput, NotFound
from amber.model.batch import MAX_GROUP, AtRevision, Delete, Expectation, Write
from amber.model.bounds import check_name
from amber.model.collection import Record
from amber.model.fact import FACTS, Fact, decide_promote, subject_of
from amber.model.message import MESSAGES, SESSIONS, Message, Session
from amber.services.facts import check_project
from amber.services.unit import Unit
from amber.store.contract import Cursor, LogQuery


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
        found: list[Message] = []
        cursor: Cursor | None = None
        while len(found) < limit:
            page = self._unit.scan(MESSAGES, "session", (session,), low=after + 1, after=cursor, limit=limit)
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
        or repeats the same fact."""
        first = self._unit.first_receipt(operation)
        if first is not None:
            return self._facts(self._changed(first.position or 0, deleted=False))

        def attempt() -> list[str]:
            now, writes, kept = self._unit.now(), list[Write](), list[str]()
            records, expected = self._ephemeral(session)
            for record in records:
                body = {**record.body, "ephemeral": False}
                low = body["valid_from"] + 1
                group, unchanged = self._unit.group(FACTS, "subject", (subject_of(body),), low)
                ids = [self._unit.new_id() for _ in group]
                decision = decide_promote(record, group, ids, now)
                writes += decision.writes
                expected.append(unchanged)
                kept.append(decision.fact)
            if writes:
                self._unit.commit(writes, expected, session=session, operation=operation)
            return kept

        return self._facts(self._unit.retrying(attempt))

    def discard(self, session: str, *, operation: str | None = None) -> int:
        """Drop a session's ephemeral facts, so that the long-term state shows again; give how many there were. What
        was promoted or put without ``ephemeral`` stays. An undo brings them back."""
        first = self._unit.first_receipt(operation)
        if first is not None:
            return len(self._changed(first.position or 0, deleted=True))

        def attempt() -> int:
            records, expected = self._ephemeral(session)
            if records:
                writes = [Delete(FACTS.name, record.key) for record in records]
                self._unit.commit(writes, expected, session=session, operation=operation)
            return len(records)

        return self._unit.retrying(attempt)

    def _ephemeral(self, session: str) -> tuple[list[Record], list[Expectation]]:
        if not isinstance(session, str):
            raise BadInput(f"A session is named by a text, not {session!r}.", session=session)
        check_name("session", session)
        found: list[Record] = []
        cursor: Cursor | None = None
        while True:
            page = self._unit.scan(FACTS, "session", (session,), after=cursor, limit=1000)
            found += [record for record in page.rows if record.body["ephemeral"] and record.body["deleted_at"] is None]
            if page.cursor is None:
                break
            cursor = page.cursor
        if len(found) > MAX_GROUP:
            raise BadInput(f"Session {session!r} holds more than {MAX_GROUP} ephemeral facts.", session=session)
        return found, [AtRevision(FACTS.name, record.key, record.revision) for record in found]

    def _changed(self, position: int, *, deleted: bool) -> list[str]:
        entry = self._unit.store.log(self._unit.space, LogQuery(low=position, high=position + 1))[0]
        return [change.key for change in entry.changes if (change.kind == "delete") == deleted]

    def _facts(self, ids: list[str]) -> list[Fact]:
        found = self._unit.get_many(FACTS, ids)
        return [Fact(found[id]) for id in dict.fromkeys(ids) if id in found]
