"""Recall: the best facts and messages for a question. Candidates come from the store, the ranking is one for all."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from amber.errors import BadInput, Unsupported
from amber.model.bounds import check_name
from amber.model.collection import Collection, Record
from amber.model.fact import FACTS, Fact, is_current
from amber.model.message import MESSAGES, Message
from amber.model.times import Time, from_micros, to_micros
from amber.search.plan import make_plan
from amber.search.query import Term, query_terms
from amber.search.ranking import Candidate as Ranking
from amber.search.ranking import Statistics, score
from amber.search.snippet import Snippet, snippet
from amber.services.facts import check_project
from amber.services.moment import PastUnit
from amber.services.unit import Unit
from amber.store import contract

#: A question is looked at this far; what follows can not make it clearer.
MAX_QUESTION = 4_000
#: Weights of the ranking become whole numbers for the store at this scale.
_SCALE = 1_000
_COLLECTIONS: dict[str, Collection] = {"fact": FACTS, "message": MESSAGES}


class Hit(NamedTuple):
    """Something found: ``kind`` is ``fact`` or ``message``, ``item`` the fact or message itself. ``snippet`` is the
    part of the text that matches, each match in square brackets; ``spans`` tells where the matches lie in it when it
    is read without the brackets. ``why`` names the words that were found."""

    kind: str
    id: str
    text: str
    snippet: str
    spans: tuple[tuple[int, int], ...]
    score: float
    sender: str | None
    project: str | None
    session: str | None
    at: datetime | None
    source: str
    why: tuple[str, ...]
    item: Fact | Message

    def to_dict(self) -> dict[str, Any]:
        """Give the hit as JSON."""
        shown = self._asdict()
        del shown["item"]
        return {**shown, "at": self.at.isoformat() if self.at is not None else None, "why": list(self.why)}


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
    if not isinstance(limit, int) or not 1 <= limit <= 1_000:
        raise BadInput(f"limit must be an int from 1 to 1,000, not {limit!r}.", limit=limit)
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
    hits: list[Hit] = []
    wanted = max(300, 3 * limit)
    candidates = unit.store.candidates(unit.space, clauses, filter, also=[term.token for term in terms], limit=wanted)
    for ranked in _rank(unit, candidates, terms, stats):
        hit = _hit(ranked, terms, plan.terms, session, moment, now)
        if hit is not None:
            hits.append(hit)
        if len(hits) == limit:
            break
    return hits


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
    unknown = [kind for kind in kinds if kind not in _COLLECTIONS]
    if unknown or not kinds or isinstance(kinds, str):
        raise BadInput(f"kinds are {tuple(_COLLECTIONS)}, not {kinds!r}.", kinds=kinds)
    zone = unit.context.zone
    return contract.SearchFilter(
        tuple(_COLLECTIONS[kind].name for kind in kinds) if len(kinds) < len(_COLLECTIONS) else (),
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
    found: _Found, terms: Sequence[Term], planned: Sequence[Any], session: str | None, moment: int, now: int
) -> Hit | None:
    body = found.record.body
    why = tuple(term.token for term in terms if term.token in found.counts)
    if found.collection == FACTS.name:
        if (body["ephemeral"] and session is None) or not is_current(body, moment, now):
            return None
        fact = Fact(found.record)
        part, at, source = snippet(fact.text, planned), from_micros(body["created_at"]), body["source"]
        return _make("fact", fact, fact.text, part, found.score, at, source, why)
    message = Message(found.record)
    part = snippet(body["text"], planned)
    return _make("message", message, body["text"], part, found.score, message.at, body["role"], why)


def _make(
    kind: str,
    item: Fact | Message,
    text: str,
    part: Snippet,
    score: float,
    at: datetime | None,
    source: str,
    why: tuple[str, ...],
) -> Hit:
    body = item.body
    return Hit(
        kind,
        item.id,
        text,
        part.text,
        part.spans,
        score,
        body["sender"],
        body["project"],
        body["session"],
        at,
        source,
        why,
        item,
    )
