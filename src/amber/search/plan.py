"""Choose which terms of a question are read from the index."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from amber.search.query import Term

DEFAULT_BUDGET = 4000
"""Postings read per question."""


class PlannedTerm(NamedTuple):
    """A term to read: its weight is that of the question times its idf, its frequency the postings it costs."""

    token: str
    weight: float
    frequency: int


class Plan(NamedTuple):
    """The terms to read from the index, rarest first, within `budget` postings."""

    terms: tuple[PlannedTerm, ...]
    budget: int


def idf(frequency: int, documents: int) -> float:
    """Return ln(1 + (N - n + 0.5) / (n + 0.5)), which is never negative.

    Robertson & Zaragoza 2009, "The Probabilistic Relevance Framework: BM25 and Beyond", section 3.1, with the 1 added
    inside the logarithm as Lucene does. Counts that lag behind (n > N) count as n = N.
    """
    return math.log(1.0 + (max(documents - frequency, 0) + 0.5) / (frequency + 0.5))


def make_plan(
    terms: Iterable[Term], frequency: Mapping[str, int], documents: int, budget: int = DEFAULT_BUDGET
) -> Plan:
    """Return the terms to read, rarest first, as long as their postings stay within `budget`.

    Terms without postings are left out; the rarest of the others is always in, even when it alone costs more.
    Equally rare terms come by weight, then by token, so that equal questions have equal plans.
    """
    present = [
        PlannedTerm(token, weight * idf(count, documents), count)
        for token, weight in terms
        if (count := frequency.get(token, 0)) > 0
    ]
    present.sort(key=lambda term: (term.frequency, -term.weight, term.token))
    chosen: list[PlannedTerm] = []
    spent = 0
    for term in present:
        spent += term.frequency
        if chosen and spent > budget:
            break
        chosen.append(term)
    return Plan(tuple(chosen), budget)
