"""Facts: put, get, find, page, patch, delete, restore."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from amber.errors import BadInput, Conflict, NotFound
from amber.model import fact as rules
from amber.model import succession as life
from amber.model.batch import AtRevision, Expectation, NotPurged, Put, Unchanged
from amber.model.bounds import check_int
from amber.model.collection import Body, Record
from amber.model.fact import FACTS, Fact
from amber.model.times import LATEST, Duration, Time, to_duration, to_micros
from amber.model.where import parse_where
from amber.services.listing import FactPage, Shown, list_facts
from amber.services.past import state_of
from amber.services.payload import to_payload
from amber.services.scope import check_id, check_project, optional_name, scope_text
from amber.services.succession import placed
from amber.services.types import Types
from amber.services.unit import Unit
from amber.store.arguments import check_limit
from amber.store.contract import SCAN_LIMIT, LogQuery, Receipt

Change = tuple[Put, tuple[Expectation, ...]]


class Facts:
    """The facts of one space."""

    def __init__(self, unit: Unit, types: Types) -> None:
        self._unit, self._types = unit, types

    def put(
        self,
        value: Any,
        *,
        sender: str | None = None,
        project: str | None = None,
        session: str | None = None,
        key: str | None = None,
        type: str | None = None,
        source: str = "user",
        trust: float | None = None,
        derived_from: Sequence[Fact | str] = (),
        valid_from: Time | None = None,
        valid_until: Time | None = None,
        ttl: Duration | None = None,
        ephemeral: bool = False,
        operation: str | None = None,
    ) -> Fact:
        """Remember something.

        The same fact again (same scope, key and content; of texts, case, blanks and Unicode form do not count) is no
        second copy: its ``mentions`` rise and ``last_seen`` moves. Another value under the same key supersedes the
        old one for the time in which both would be valid, a planned one in the future included; the old one stays,
        dated, and not current.

        Said again for longer, a fact lives longer (``ttl``); said again with an end alone, one that had none gets it;
        said again by a source that is trusted more, it takes over trust and source.

        :param value: a text, number, boolean, list or object, or an instance of a registered model. Lone surrogates
            in texts become U+FFFD.
        :param sender: whom it is about or from. :param project: a path ``a/b/c``. :param session: the run it comes
            from. :param key: the name of what it gives a value for, within sender and project.
        :param type: a type name; of a registered model instance it is known.
        :param source: ``user``, ``assistant``, ``tool``, ``document`` or ``derived``.
        :param trust: from 0 to 1; by default what the source deserves. Never above the least trusted of
            ``derived_from``, the facts it was derived from.
        :param valid_from: when it began to be so (default now). :param valid_until: when it ends (default open).
        :param ttl: forget it that long after now: a timedelta, or text like ``30d``.
        :param ephemeral: hold it for this session only, until ``sessions.promote`` or ``sessions.discard``. It shadows
            the long-term value of its key for reads that name the session, and never changes it.
        :param operation: names the attempt: the same one again answers with the first result.
        :raises BadInput, TooLarge: for a value or name that can not be stored; nothing was written.
        :raises UniqueViolation: when another sender or project holds a value that the type declares unique.
        :raises Immutable: when it would change a fact of an immutable type.
        """
        if operation is not None and (first := self._unit.first_receipt(operation)) is not None:
            return self._answer(first)
        # a fact without a key is new most of the time: that is expected unread, and only when it is not so is it read
        unread = self._unit.judges and key is None and (type is None or ephemeral)
        name = type
        if not isinstance(value, str):
            name = type if type is not None else self._types.name_of(value)
            unread = unread and (name is None or ephemeral)
        now = self._unit.ticks() if unread else self._unit.now()
        body = {
            "payload": to_payload(value if name is None else self._types.checked(name, value)),
            "key": key if key is None else optional_name("key", key),
            "type": name if name is None else optional_name("type", name),
            "sender": sender if sender is None else optional_name("sender", sender),
            "project": project if project is None else check_project(project),
            "session": session if session is None else optional_name("session", session),
            "ephemeral": bool(ephemeral),
            **self._origin(source, trust, derived_from),
            **self._validity(now, valid_from, valid_until, ttl),
        }
        if ephemeral and session is None:
            raise BadInput("An ephemeral fact needs the session that it belongs to.")
        body["digest"] = rules.digest_of(body["payload"])
        body["subject"] = rules.subject_of(body)
        dated = valid_from is not None or valid_until is not None
        ending = valid_from is None and valid_until is not None
        if unread:
            none = Unchanged(FACTS.name, "subject", (body["subject"],), 0, 0, body["valid_from"] + 1)
            try:
                return self._enter(
                    life.decide_put((), body, [self._unit.new_id()], now, dated=dated), body, [none], operation
                )
            except Conflict as conflict:
                if conflict.retry != "reread":
                    raise
        return self._unit.retrying(lambda: self._put(body, now, dated, ending, operation))

    def _put(self, body: Body, now: int, dated: bool, ending: bool, operation: str | None) -> Fact:
        members, unchanged, beside = placed(self._unit, body, now)
        if not dated:
            # what was read began before this moment, also when another thread put it after the first look at the clock
            now = max(now, self._unit.ticks(), *(record.body["updated_at"] for record in members))
            body = {**body, **dict.fromkeys(("valid_from", "created_at", "updated_at", "last_seen"), now)}
        ids = [self._unit.new_id() for _ in range(len(members) + 1)]
        decision = life.decide_put(members, body, ids, now, dated=dated, ending=ending)
        expected = [] if decision.commutes else [unchanged, *beside]
        return self._enter(decision, body, expected, operation)

    def _enter(
        self, decision: life.Decision, body: Body, expected: Sequence[Expectation], operation: str | None
    ) -> Fact:
        # ids of facts are never given twice, so a source that was ever forgotten is gone for good
        sources = tuple((FACTS.name, origin) for origin in body["derived_from"])
        expectations = [NotPurged(sources, 0), *expected] if sources else expected
        # the id of a new fact names the attempt as well as any other
        name = operation if operation is not None or decision.repeats or not self._unit.judges else decision.fact
        try:
            receipt = self._unit.commit(decision.writes, expectations, session=body["session"], operation=name)
        except NotFound as error:
            # an undo removed the fact that was to be repeated, after it was read
            raise Conflict(error.message, collection=FACTS.name, key=decision.fact) from error
        if receipt.repeated:
            return self._answer(receipt)
        if decision.repeats:
            record = self._unit.get(FACTS, decision.fact)
            return Fact(record) if record is not None else self._answer(receipt)
        return Fact(Record(decision.fact, receipt.position or 0, receipt.position or 0, body))

    def _origin(self, source: str, trust: float | None, derived_from: Sequence[Fact | str]) -> Body:
        if source not in rules.SOURCES:
            raise BadInput(f"source must be one of {', '.join(rules.SOURCES)}, not {source!r}.", source=source)
        believed = rules.TRUST[source] if trust is None else trust
        if isinstance(believed, bool) or not isinstance(believed, (int, float)) or not 0 <= believed <= 1:
            raise BadInput(f"trust must be a number from 0 to 1, not {trust!r}.", trust=trust)
        if isinstance(derived_from, (str, Fact)):
            raise BadInput("derived_from takes a list of facts or their ids.", derived_from=derived_from)
        origins = [each.id if isinstance(each, Fact) else check_id(each) for each in derived_from]
        for origin in origins:
            believed = min(believed, self.get(origin).body["trust"])
        return {"source": source, "trust": float(believed), "derived_from": origins}

    def _validity(self, now: int, valid_from: Time | None, valid_until: Time | None, ttl: Duration | None) -> Body:
        zone = self._unit.context.zone
        start = now if valid_from is None else to_micros(valid_from, zone)
        end = None if valid_until is None else to_micros(valid_until, zone)
        life.check_interval(start, end)
        expiry = now + to_duration(ttl) if ttl is not None else None
        if expiry is not None and expiry > LATEST:
            raise BadInput(f"ttl {ttl!r} ends after the year 9999; leave it out.", ttl=ttl)
        return {
            "valid_from": start,
            "valid_until": end,
            "expires_at": expiry,
            "created_at": now,
            "updated_at": now,
            "last_seen": now,
            "mentions": 1,
            "deleted_at": None,
            "superseded_by": None,
        }

    def _answer(self, receipt: Receipt) -> Fact:
        """Give the fact that an earlier attempt of an operation wrote, as it was then."""
        position = receipt.position or 0
        entry = self._unit.store.log(self._unit.space, LogQuery(low=position, high=position + 1))[0]
        keys = [change.key for change in entry.changes if change.collection == FACTS.name]
        if not keys:
            raise BadInput(f"Operation {receipt.operation!r} was used for something else.", operation=receipt.operation)
        record = state_of(self._unit.store, self._unit.space, FACTS.name, keys[-1], position)
        if record is None:
            raise NotFound(f"Fact {keys[-1]!r}, which operation {receipt.operation!r} wrote, was forgotten.")
        return Fact(record)

    def find(
        self,
        id: Fact | str | None = None,
        *,
        sender: str | None = None,
        project: str | None = None,
        session: str | None = None,
        key: str | None = None,
        valid_at: Time | None = None,
    ) -> Fact | None:
        """Give a fact by its id, or the value of a key in a scope that is valid at a time (default now); None when
        there is none. By id, deleted and superseded facts are given too.

        :param session: a session whose ephemeral value of the key comes before the long-term one.
        """
        if id is not None:
            if any(given is not None for given in (sender, project, session, key, valid_at)):
                raise BadInput("Name the fact by its id, or by key and scope, not by both.", id=id)
            record = self._unit.get(FACTS, id.id if isinstance(id, Fact) else check_id(id))
            return Fact(record) if record is not None else None
        if key is None:
            raise BadInput("Name the fact by its id, or by key and scope.")
        scope = {
            "sender": optional_name("sender", sender),
            "project": check_project(project),
            "key": optional_name("key", key),
        }
        scopes = [{**scope, "session": None, "ephemeral": False}]
        if session is not None:
            scopes.insert(0, {**scope, "session": optional_name("session", session), "ephemeral": True})
        now = self._unit.now()
        moment = now if valid_at is None else to_micros(valid_at, self._unit.context.zone)
        for each in scopes:
            for record in self._unit.members(FACTS, "subject", (rules.subject_of(each),), moment + 1):
                if rules.is_current(record.body, moment, now):
                    return Fact(record)
        return None

    def get(self, id: Fact | str | None = None, **scope: Any) -> Fact:
        """Give a fact as ``find`` does.

        :raises NotFound: when there is none.
        """
        fact = self.find(id, **scope)
        if fact is None:
            named = repr(id.id if isinstance(id, Fact) else id) if id is not None else scope_text(scope)
            raise NotFound(f"There is no fact {named}.", id=id, **scope)
        return fact

    def page(
        self,
        *,
        sender: str | None = None,
        project: str | None = None,
        session: str | None = None,
        key: str | None = None,
        type: str | None = None,
        where: Mapping[Any, Any] | None = None,
        valid_at: Time | None = None,
        superseded: bool = False,
        deleted: bool = False,
        after: str | None = None,
        limit: int = 100,
        scan_limit: int = SCAN_LIMIT,
    ) -> FactPage:
        """List facts in the order of their creation: by default those that are current.

        :param project: this project and all below it. :param session: facts of this session, ephemeral ones included;
            without it ephemeral facts are not listed.
        :param where: equality on any path of the fact: ``{"payload.role": "admin"}``. A dot inside a key is written
            ``\\\\.``, or give a tuple of segments. None matches null and missing.
        :param valid_at: list what was valid at another time. :param superseded: also list what is not valid then.
        :param deleted: also list softly deleted facts.
        :param after: the ``cursor`` of the page before. :param limit: at most this many.
        :param scan_limit: look at no more facts than this; a page that stopped for it says so.
        :raises BadInput: for a malformed path, cursor or limit.
        """
        check_limit(limit)
        check_int("scan_limit", scan_limit, 1)
        conditions = parse_where(where)
        now = self._unit.now()
        moment = now if valid_at is None else to_micros(valid_at, self._unit.context.zone)
        scope = {
            "sender": optional_name("sender", sender),
            "project": check_project(project),
            "session": optional_name("session", session),
            "key": optional_name("key", key),
            "type": optional_name("type", type),
        }

        return list_facts(
            self._unit,
            scope,
            conditions,
            Shown(moment, now, superseded=superseded, deleted=deleted, ephemeral=session is not None),
            after=after,
            limit=limit,
            scan_limit=scan_limit,
        )

    def iter(self, **filters: Any) -> Iterator[Fact]:
        """Go through all facts that ``page`` would list, page by page."""
        cursor: str | None = filters.pop("after", None)
        while True:
            page = self.page(**filters, after=cursor)
            yield from page.facts
            if page.cursor is None:
                return
            cursor = page.cursor

    def count(self, **filters: Any) -> int:
        """Count the facts that ``page`` would list."""
        return sum(1 for _ in self.iter(**{"limit": 1000, **filters}))

    def patch(self, fact: Fact | str, patch: Any, *, operation: str | None = None) -> Fact:
        """Change parts of a fact's value in place: members of objects are merged, None removes a member (RFC 7396).

        The patch is applied to the fact as it is now, whatever ``fact`` was read as; two patches at once both count.

        :raises NotFound, BadInput, Conflict: when there is no such fact, its value is not an object, it was deleted, or
            another fact of the same scope says the same already.
        """

        def decide(record: Record, now: int) -> Change:
            if not isinstance(record.body["payload"], dict) or not isinstance(patch, dict):
                raise BadInput(f"Only an object can be patched, with an object; fact {record.key} is put anew instead.")
            merged = self._types.patched(record.body["type"], record.body["payload"], patch)
            body = life.patched(record, to_payload(merged), now)
            if body["subject"] == record.body["subject"]:
                return life.decide_patch(record, body, (), now), ()
            group, unchanged = self._unit.group(FACTS, "subject", (body["subject"],), body["valid_from"] + 1)
            return life.decide_patch(record, body, group, now), (unchanged,)

        return self._change(fact, decide, operation)

    def delete(self, fact: Fact | str, *, operation: str | None = None) -> Fact:
        """Delete a fact softly: it is neither listed nor found by a search, until it is restored or forgotten.

        :raises NotFound, Conflict: when there is no such fact, or it was deleted before.
        """
        return self._change(fact, lambda record, now: (life.decide_delete(record, now), ()), operation)

    def restore(self, fact: Fact | str, *, operation: str | None = None) -> Fact:
        """Bring a softly deleted fact back.

        :raises NotFound, Conflict: when there is no such fact, it is not deleted, or another one holds its place now.
        """

        def decide(record: Record, now: int) -> Change:
            start = record.body["valid_from"] + 1
            group, unchanged = self._unit.group(FACTS, "subject", (record.body["subject"],), start)
            return life.decide_restore(record, group, now), (unchanged,)

        return self._change(fact, decide, operation)

    def _change(self, fact: Fact | str, decide: Callable[[Record, int], Change], operation: str | None) -> Fact:
        first = self._unit.first_receipt(operation)
        if first is not None:
            return self._answer(first)

        def attempt() -> Fact:
            record = self._record(fact)
            write, more = decide(record, self._unit.now())
            expected = [AtRevision(FACTS.name, record.key, record.revision), *more]
            receipt = self._unit.commit([write], expected, session=record.body["session"], operation=operation)
            if receipt.repeated:
                return self._answer(receipt)
            return Fact(Record(record.key, record.created, receipt.position or record.revision, write.body))

        return self._unit.retrying(attempt)

    def _record(self, fact: Fact | str) -> Record:
        key = fact.id if isinstance(fact, Fact) else check_id(fact)
        record = self._unit.get(FACTS, key)
        if record is None:
            raise NotFound(f"There is no fact {key!r}.", id=key)
        return record
