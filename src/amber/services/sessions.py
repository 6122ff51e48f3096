"""Sessions: recorded ones and their messages; and what becomes of a session's ephemeral facts."""

from __future__ import annotations

from collections.abc import Collection as Container
from collections.abc import Iterable, Iterator
from itertools import islice

from amber.errors import NotFound
from amber.model.batch import AtRevision, Delete
from amber.model.bounds import check_int, check_name
from amber.model.collection import Record
from amber.model.fact import FACTS, Fact, is_expired
from amber.model.message import MESSAGES, SESSIONS, Message, Session
from amber.model.succession import decide_promote, promoted
from amber.model.times import Time, to_micros
from amber.services.buffer import BufferedUnit
from amber.services.recorded import Asked, Listed, children_of, iter_messages, iter_sessions, openings_of, to_asked
from amber.services.scope import check_project, optional_name
from amber.services.session_names import resolve, short_names
from amber.services.succession import placed
from amber.services.unit import Unit
from amber.store.arguments import check_limit
from amber.store.contract import MAX_PAGE, Change, Cursor, LogQuery, Receipt


class Sessions:
    """The sessions of one space."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit

    def get(self, session: str) -> Session:
        """Give a recorded session by its id.

        :raises NotFound: when no session of this id was imported.
        """
        found = self.find(session)
        if found is None:
            raise NotFound(f"There is no recorded session {session!r}.", session=session)
        return found

    def find(self, session: str) -> Session | None:
        """Give a recorded session by its id, or None."""
        check_name("session", session)
        record = self._unit.get(SESSIONS, session)
        return Session(record) if record is not None else None

    def resolve(self, name: str) -> Session:
        """Give a recorded session by its id, or by a beginning of it that no other id has: ``9bd5f3dd``, and
        ``9bd5f3dd/a5bd`` for a subagent. A subagent does not make the session that started it ambiguous.

        :raises NotFound: when no id begins so. :raises BadInput: when several do; ``candidates`` are their ids.
        """
        return resolve(self._unit, name)

    def short_names(self, sessions: Iterable[Session | str]) -> dict[str, str]:
        """Give for each id the shortest name that ``resolve`` takes, of eight letters or more; a session that was not
        recorded here stands for itself."""
        return short_names(self._unit, (each.id if isinstance(each, Session) else each for each in sessions))

    def page(
        self,
        *,
        project: str | None = None,
        sender: str | None = None,
        format: str | None = None,
        since: Time | None = None,
        until: Time | None = None,
        before: Session | None = None,
        limit: int = 100,
    ) -> list[Session]:
        """List recorded sessions, newest first by their first message; those that tell no time come last.

        :param project: this project and all below it. :param sender: whose prompts they are.
        :param format: the program that recorded them: ``claude``, ``codex`` ... :param since: begun at this time or
            later. :param until: begun before it. :param before: only what is listed after this session.
        """
        check_limit(limit)
        return list(
            islice(iter_sessions(self._unit, self._listed(project, sender, format, since, until), before, limit), limit)
        )

    def iter(
        self,
        *,
        project: str | None = None,
        sender: str | None = None,
        format: str | None = None,
        since: Time | None = None,
        until: Time | None = None,
        before: Session | None = None,
    ) -> Iterator[Session]:
        """Go through all recorded sessions as ``page`` lists them."""
        yield from iter_sessions(self._unit, self._listed(project, sender, format, since, until), before, 200)

    def _listed(
        self, project: str | None, sender: str | None, format: str | None, since: Time | None, until: Time | None
    ) -> Listed:
        zone = self._unit.context.zone
        return Listed(
            check_project(project),
            optional_name("sender", sender),
            optional_name("format", format),
            to_micros(since, zone) if since is not None else None,
            to_micros(until, zone) if until is not None else None,
        )

    def children(self, session: Session | str) -> list[Session]:
        """Give the sessions that this one started (its subagents) or that were forked from it, oldest first."""
        return children_of(self._unit, _id(session))

    def openings(self, sessions: Iterable[Session]) -> dict[str, Message]:
        """Give the messages that sessions open with, by session: the first prompt that was not retracted, of a subagent
        its task. One read for all; a session in which nothing was asked has none."""
        return openings_of(self._unit, list(sessions))

    def message(self, id: str) -> Message:
        """Give a message by its id.

        :raises NotFound: when there is none.
        """
        check_name("id", id)
        record = self._unit.get(MESSAGES, id)
        if record is None:
            raise NotFound(f"There is no message {id!r}.", id=id)
        return Message(record)

    def around(
        self, message: Message | str, *, before: int = 5, after: int = 5, retracted: bool = False
    ) -> list[Message]:
        """Give a message with those said before and after it in its session, in their sequence: what a hit of a
        recall stands in.

        :param before: how many before it. :param after: how many after it. :param retracted: also text among them
            that was edited and sent again.
        :raises NotFound: when there is no message of this id.
        """
        check_int("before", before, 0, MAX_PAGE)
        check_int("after", after, 0, MAX_PAGE)
        found = self.message(message.id if isinstance(message, Message) else message)
        session, seq = found.body["session"], found.body["seq"]
        earlier = Asked(before=seq, retracted=retracted, reverse=True)
        later = Asked(after=seq, retracted=retracted)
        return [
            *reversed(list(iter_messages(self._unit, session, earlier, before))),
            found,
            *iter_messages(self._unit, session, later, after),
        ]

    def messages(
        self,
        session: str,
        *,
        after: int = -1,
        before: int | None = None,
        kinds: Container[str] | None = None,
        roles: Container[str] | None = None,
        reverse: bool = False,
        limit: int = 1_000,
        retracted: bool = False,
    ) -> list[Message]:
        """Give messages of a recorded session in their sequence: those with a number above ``after`` and below
        ``before``.

        :param kinds: only these: ``prompt``, ``reply``, ``tool_call`` ... (see ``Message``). :param roles: only these:
            ``user``, ``assistant``, ``tool``, ``system``. :param reverse: from the end.
        :param retracted: also give text that was edited and sent again.
        """
        check_name("session", session)
        check_limit(limit)
        asked = to_asked(after, before, kinds, roles, retracted, reverse)
        return list(iter_messages(self._unit, session, asked, limit))

    def iter_messages(
        self,
        session: str,
        *,
        after: int = -1,
        before: int | None = None,
        kinds: Container[str] | None = None,
        roles: Container[str] | None = None,
        reverse: bool = False,
        retracted: bool = False,
    ) -> Iterator[Message]:
        """Go through the messages of a recorded session as ``messages`` gives them, read page by page."""
        check_name("session", session)
        yield from iter_messages(self._unit, session, to_asked(after, before, kinds, roles, retracted, reverse))

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


def _id(session: Session | str) -> str:
    if isinstance(session, Session):
        return session.id
    check_name("session", session)
    return session
