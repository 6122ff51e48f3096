"""Choose what of a question is read from the index of a store."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import NamedTuple

from amber.search.query import Term
from amber.store.contract import Clause

DEFAULT_BUDGET = 500
"""Postings read per question for single terms."""
MAX_PAIRS = 4
"""Pairs of common terms looked for, and common terms looked for beside single ones."""
_SCALE = 1_000
"""Weights become whole numbers for the store at this scale."""


class WeighedTerm(NamedTuple):
    """A term that some document has: its weight is that of the question times its idf, its frequency how many have
    it."""

    token: str
    weight: float
    frequency: int


class Plan(NamedTuple):
    """What is read from the index. ``complete`` tells that it is every document with any of the terms."""

    clauses: tuple[Clause, ...]
    complete: bool


def idf(frequency: int, documents: int) -> float:
    """Return ln(1 + (N - n + 0.5) / (n + 0.5)), which is never negative.

    Robertson & Zaragoza 2009, "The Probabilistic Relevance Framework: BM25 and Beyond", section 3.1, with the 1 added
    inside the logarithm as Lucene does. Counts that lag behind (n > N) count as n = N.
    """
    return math.log(1.0 + (max(documents - frequency, 0) + 0.5) / (frequency + 0.5))


def weigh(terms: Iterable[Term], frequency: Mapping[str, int], documents: int) -> list[WeighedTerm]:
    """Return the terms that some document has, in the order of the question."""
    return [
        WeighedTerm(token, weight * idf(count, documents), count)
        for token, weight in terms
        if (count := frequency.get(token, 0)) > 0
    ]


def make_plan(terms: Iterable[WeighedTerm], budget: int = DEFAULT_BUDGET, pairs: int = MAX_PAIRS) -> Plan:
    """Return what to read: single terms, rarest first, as long as their postings stay within ``budget``; of the common
    terms that are left, documents that have two of them, and those that have one beside a single term, so that of the
    many documents with that term those come first that have more.

    The rarest term is always read, even when it alone costs more. Equally rare terms come by weight, then by token, so
    that equal questions have equal plans.

    :param pairs: how many pairs of common terms at most, and how many common terms are looked for beside single ones;
        the weightiest are taken.
    """
    order = sorted(terms, key=lambda term: (term.frequency, -term.weight, term.token))
    read = 0
    spent = 0
    for term in order:
        spent += term.frequency
        if read and spent > budget:
            break
        read += 1
    single, common = order[:read], order[read:]
    clauses = [Clause((term.token,), _whole(term.weight)) for term in single]
    both = sorted(combinations(common, 2), key=lambda pair: -pair[0].weight - pair[1].weight)
    clauses += [Clause((one.token, two.token), _whole(one.weight + two.weight)) for one, two in both[:pairs]]
    beside = sorted(common, key=lambda term: -term.weight)
    among = tuple(term.token for term in single)
    clauses += [Clause((term.token,), _whole(term.weight), among) for term in beside[:pairs]]
    return Plan(tuple(clauses), not common)


def _whole(weight: float) -> int:
    return max(1, round(weight * _SCALE))
