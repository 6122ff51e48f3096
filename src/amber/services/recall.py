"""Recall: the best facts and messages for a question. Candidates come from the store, the ranking is one for all."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from amber.errors import BadInput, Unsupported
from amber.model.bounds import check_int, check_name
from amber.model.collection import Collection, Record
from amber.model.fact import FACTS, Fact, is_current
from amber.model.message import MESSAGES, Message
from amber.model.times import Time, from_micros, to_micros
from amber.search.plan import make_plan
from amber.search.query import Term, query_terms
from amber.search.ranking import Candidate as Ranking
from amber.search.ranking import Statistics, score
from amber.search.snippet import Snippet, WeightedToken, snippet
from amber.services.moment import PastUnit
from amber.services.scope import check_project
from amber.services.unit import Unit
from amber.store import contract

#: A question is looked at this far; what follows can not make it clearer.
MAX_QUESTION = 4_000
#: Weights of the ranking become whole numbers for the store at this scale.
_SCALE = 1_000
_COLLECTIONS: dict[str, Collection] = {"fact": FACTS, "message": MESSAGES}


class Hit:
    """Something found: ``kind`` is ``fact`` or ``message``, ``item`` the fact or message itself, ``source`` where it
    came from (a fact's source, a message's role). ``why`` names the tokens that were found."""

    __slots__ = ("_passage", "_planned", "at", "item", "kind", "score", "source", "text", "why")

    def __init__(
        self,
        kind: str,
        item: Fact | Message,
        text: str,
        score: float,
        at: datetime | None,
        source: str,
        why: tuple[str, ...],
        planned: Sequence[WeightedToken],
    ) -> None:
        self.kind, self.item, self.text, self.score = kind, item, text, score
        self.at, self.source, self.why, self._planned = at, source, why, planned
        self._passage: Snippet | None = None

    @property
    def id(self) -> str:
        """The id of the fact or message."""
        return self.item.id

    @property
    def sender(self) -> str | None:
        """Whom it is from."""
        return _text(self.item.body["sender"])

    @property
    def project(self) -> str | None:
        """The project that it belongs to."""
        return _text(self.item.body["project"])

    @property
    def session(self) -> str | None:
        """The session that it comes from."""
        return _text(self.item.body["session"])

    @property
    def snippet(self) -> str:
        """The part of the text that matches best, each match in square brackets; worked out when it is asked for."""
        return self._matched().text

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """Where the matches lie in the snippet when it is read without the brackets."""
        return self._matched().spans

    def _matched(self) -> Snippet:
        if self._passage is None:
            self._passage = snippet(self.text, self._planned)
        return self._passage

    def to_dict(self) -> dict[str, Any]:
        """Give the hit as JSON."""
        names = ("kind", "id", "text", "snippet", "score", "sender", "project", "session", "source")
        shown = {name: getattr(self, name) for name in names}
        return {**shown, "at": self.at.isoformat() if self.at is not None else None, "why": list(self.why)}

    def __repr__(self) -> str:
        return f"Hit({self.kind} {self.id!r}, score={self.score:.2f}, {self.snippet!r})"


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def recall(
    unit: Unit,
    question: str,
    *,
    sender: str | None,
    project: str | None,
    session: str | None,
    type: str | None,
    kinds: Sequence[str],
    since: Time | None,
    until: Time | None,
    valid_at: Time | None,
    limit: int,
) -> list[Hit]:
    """Answer ``Memory.recall``."""
    if isinstance(unit, PastUnit):
        raise Unsupported("There is no search in the past yet; read facts at that moment, or search now.")
    filter = _filter(unit, sender, project, session, type, kinds, since, until)
    check_int("limit", limit, 1, 1_000)
    if not isinstance(question, str):
        raise BadInput(f"A question is a text, not {question!r}.", question=question)
    terms = query_terms(question[:MAX_QUESTION])
    if not terms:
        return []
    now = unit.now()
    moment = now if valid_at is None else to_micros(valid_at, unit.context.zone)
    stats = unit.store.text_stats(unit.space, [term.token for term in terms])
    plan = make_plan(terms, stats.frequency, stats.documents)
    clauses = [contract.Clause((term.token,), max(1, round(term.weight * _SCALE))) for term in plan.terms]
    if not clauses:
        return []
    wanted = max(300, 3 * limit)
    while True:
        also = [term.token for term in terms]
        candidates = unit.store.candidates(unit.space, clauses, filter, also=also, limit=wanted)
        hits: list[Hit] = []
        for ranked in _rank(unit, candidates, terms, stats):
            hit = _hit(ranked, terms, plan.terms, session, moment, now)
            if hit is not None:
                hits.append(hit)
            if len(hits) == limit:
                return hits
        if len(candidates) < wanted or wanted == contract.MAX_PAGE:
            return hits
        # facts that are not current or not of this session took the places
        wanted = min(wanted * 6, contract.MAX_PAGE)


def _filter(
    unit: Unit,
    sender: str | None,
    project: str | None,
    session: str | None,
    type: str | None,
    kinds: Sequence[str],
    since: Time | None,
    until: Time | None,
) -> contract.SearchFilter:
    for what, value in (("sender", sender), ("session", session), ("type", type)):
        if value is not None:
            check_name(what, value)
    if not isinstance(kinds, (tuple, list, set, frozenset)) or not kinds or not set(kinds) <= set(_COLLECTIONS):
        raise BadInput(f"kinds is a list of {' and '.join(map(repr, _COLLECTIONS))}, not {kinds!r}.", kinds=kinds)
    zone = unit.context.zone
    return contract.SearchFilter(
        tuple(each.name for kind, each in _COLLECTIONS.items() if kind in kinds),
        sender,
        check_project(project),
        session,
        type,
        to_micros(since, zone) if since is not None else None,
        to_micros(until, zone) if until is not None else None,
    )


class _Found(NamedTuple):
    collection: str
    record: Record
    score: float
    counts: dict[str, int]


def _rank(
    unit: Unit, candidates: Sequence[contract.Candidate], terms: Sequence[Term], stats: contract.TextStats
) -> list[_Found]:
    by_key = {f"{each.collection}/{each.key}": each for each in candidates}
    rows = [
        Ranking(name, each.position, each.length, [each.counts.get(term.token, 0) for term in terms])
        for name, each in by_key.items()
    ]
    ranked = score(rows, terms, Statistics(stats.documents, stats.average_length, stats.frequency))
    records: dict[str, Record] = {}
    for collection in _COLLECTIONS.values():
        keys = [each.key for each in by_key.values() if each.collection == collection.name]
        for key, record in unit.store.get_many(unit.space, collection.name, keys).items():
            records[f"{collection.name}/{key}"] = record
    return [
        _Found(by_key[each.key].collection, records[each.key], each.score, dict(by_key[each.key].counts))
        for each in ranked
        if each.key in records
    ]


def _hit(
    found: _Found, terms: Sequence[Term], planned: Sequence[WeightedToken], session: str | None, moment: int, now: int
) -> Hit | None:
    body = found.record.body
    why = tuple(term.token for term in terms if term.token in found.counts)
    if found.collection == FACTS.name:
        if (body["ephemeral"] and session is None) or not is_current(body, moment, now):
            return None
        fact = Fact(found.record)
        at = from_micros(body["created_at"])
        return Hit("fact", fact, fact.text, found.score, at, body["source"], why, planned)
    message = Message(found.record)
    return Hit("message", message, body["text"], found.score, message.at, body["role"], why, planned)
