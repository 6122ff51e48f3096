"""Recall: the best facts and messages for a question, by one ranking for all stores.

The exact index answers where the process has one that is current; else the store gives candidates by a plan that reads
the telling terms of the question.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter

from amber.errors import BadInput, Unsupported
from amber.model.bounds import check_int, check_name
from amber.model.collection import Collection, Record
from amber.model.fact import FACTS, Fact, is_current
from amber.model.message import MESSAGES, Message
from amber.model.times import Time, from_micros, to_micros
from amber.search.inverted import Found
from amber.search.plan import make_plan, weigh
from amber.search.query import Term, query_terms
from amber.search.ranking import Candidate, Statistics, score
from amber.search.snippet import WeightedToken
from amber.services.exact import ExactIndex
from amber.services.hit import Hit
from amber.services.moment import PastUnit
from amber.services.scope import check_project
from amber.services.unit import Unit
from amber.store import contract

__all__ = ["Hit", "recall"]

#: A question is looked at this far; what follows can not make it clearer.
MAX_QUESTION = 4_000
#: Candidates of a plan that are ranked, and documents that are asked of the index beyond those to show: facts may turn
#: out not to be current.
_CANDIDATES, _SPARE = 150, 5
_COLLECTIONS: dict[str, Collection] = {"fact": FACTS, "message": MESSAGES}


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
    search = _Search(unit, terms, filter, session, valid_at, limit)
    index = unit.context.exact
    if index is not None and (hits := search.in_memory(index)) is not None:
        return hits
    begun = perf_counter()
    stats = unit.store.text_stats(unit.space, [term.token for term in terms])
    hits = search.by_plan(stats)
    if index is not None:
        index.work(perf_counter() - begun, stats.documents)
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
    if not isinstance(kinds, (tuple, list, set, frozenset)) or not kinds or not set(kinds) <= set(_COLLECTIONS):
        raise BadInput(f"kinds is a list of {' and '.join(map(repr, _COLLECTIONS))}, not {kinds!r}.", kinds=kinds)
    zone = unit.context.zone
    chosen = {each.name for kind, each in _COLLECTIONS.items() if kind in kinds}
    # all that is searchable needs no filter, which costs a look at each document
    narrow = any(each.search is not None and name not in chosen for name, each in unit.store.collections.items())
    return contract.SearchFilter(
        tuple(sorted(chosen)) if narrow else (),
        sender,
        check_project(project),
        session,
        type,
        to_micros(since, zone) if since is not None else None,
        to_micros(until, zone) if until is not None else None,
    )


class _Search:
    """One question."""

    def __init__(
        self,
        unit: Unit,
        terms: Sequence[Term],
        filter: contract.SearchFilter,
        session: str | None,
        valid_at: Time | None,
        limit: int,
    ) -> None:
        self._unit, self._terms, self._filter, self._session, self._limit = unit, terms, filter, session, limit
        self._now = unit.now()
        self._moment = self._now if valid_at is None else to_micros(valid_at, unit.context.zone)
        self._weighed: Sequence[WeightedToken] = ()

    def in_memory(self, index: ExactIndex) -> list[Hit] | None:
        """Answer from memory; None when the index can not."""

        def find(wanted: int) -> list[Found] | None:
            answer = index.search(self._terms, self._filter, wanted)
            if answer is None:
                return None
            self._weighed = answer.weighed
            return answer.found

        return self._first(find, self._limit + _SPARE)

    def by_plan(self, stats: contract.TextStats) -> list[Hit]:
        """Answer by what the store reads."""
        unit, terms = self._unit, self._terms
        self._weighed = weighed = weigh(terms, stats.frequency, stats.documents)
        clauses = make_plan(weighed).clauses
        if not clauses:
            return []
        statistics = Statistics(stats.documents, stats.average_length, stats.frequency)
        tokens = [term.token for term in terms]

        def find(wanted: int) -> list[Found]:
            candidates = unit.store.candidates(unit.space, clauses, self._filter, also=tokens, limit=wanted)
            rows = [
                Candidate(
                    (each.key, each.collection), each.position, each.length, [each.counts.get(t, 0) for t in tokens]
                )
                for each in candidates
            ]
            counts = {row.key: row.counts for row in rows}
            return [
                Found(each.key[1], each.key[0], each.position, each.score, counts[each.key])
                for each in score(rows, terms, statistics)
            ]

        return self._first(find, max(_CANDIDATES, 3 * self._limit)) or []

    def _first(self, find: Callable[[int], list[Found] | None], wanted: int) -> list[Hit] | None:
        """Give the first hits among what is found."""
        while True:
            found = find(wanted)
            if found is None:
                return None
            hits = self._load(found)
            if len(hits) == self._limit or len(found) < wanted or wanted == contract.MAX_PAGE:
                return hits
            # facts that are not current or not of this session took the places
            wanted = min(wanted * 6, contract.MAX_PAGE)

    def _load(self, found: Sequence[Found]) -> list[Hit]:
        """Read the best of what was found, as many as are shown."""
        hits: list[Hit] = []
        start = 0
        while start < len(found) and len(hits) < self._limit:
            part = found[start : start + self._limit - len(hits)]
            start += len(part)
            records: dict[tuple[str, str], Record] = {}
            for collection in dict.fromkeys(each.collection for each in part):
                keys = [each.key for each in part if each.collection == collection]
                for key, record in self._unit.store.get_many(self._unit.space, collection, keys).items():
                    records[collection, key] = record
            made = (self._hit(each, records.get((each.collection, each.key))) for each in part)
            hits += [hit for hit in made if hit is not None]
        return hits

    def _hit(self, found: Found, record: Record | None) -> Hit | None:
        if record is None:
            return None
        body = record.body
        why = tuple(term.token for term, count in zip(self._terms, found.counts, strict=True) if count)
        if found.collection == FACTS.name:
            if (body["ephemeral"] and self._session is None) or not is_current(body, self._moment, self._now):
                return None
            fact = Fact(record)
            at = from_micros(body["created_at"])
            return Hit("fact", fact, fact.text, found.score, at, body["source"], why, self._weighed)
        message = Message(record)
        return Hit("message", message, body["text"], found.score, message.at, body["role"], why, self._weighed)
