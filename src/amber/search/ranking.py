"""Rank the candidates of a search, in the same way for every store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from amber.search.plan import idf
from amber.search.query import Term

K1 = 1.8
"""How slowly repetitions stop counting; Robertson & Zaragoza 2009, section 3.5.1, find 1.2 to 2 good."""

SMOOTHING = 60.0
"""Tokens added to every length. Whether a message has 10 words or 30 says little, 100 or 300 much: with a mean length
of m this is BM25 with b = m / (m + 60), so that b follows the space (0.33 for chat lines, 0.85 for long answers)."""


class Statistics(NamedTuple):
    """What a store knows of one space: documents, their mean length in tokens, documents per token."""

    documents: int
    average_length: float
    frequency: Mapping[str, int]


#: What names a document: a text, or several.
Key = str | tuple[str, ...]


class Candidate(NamedTuple):
    """A document to rank: its length in tokens and how often it has each of the question's terms, in their order."""

    key: Key
    position: int
    length: int
    counts: Sequence[int]


class Ranked(NamedTuple):
    """A document and its score; higher is better."""

    key: Key
    score: float
    position: int


def score(candidates: Iterable[Candidate], terms: Sequence[Term], statistics: Statistics) -> list[Ranked]:
    """Return the candidates that have any of the terms, best first; ties by newest position, then by key.

    BM25 of Robertson & Zaragoza 2009, "The Probabilistic Relevance Framework: BM25 and Beyond": the sum over the terms
    of weight * idf * tf * (k1 + 1) / (tf + k1 * (length + s) / (mean + s)), s being `SMOOTHING`.

    :raises ValueError: if a candidate has not as many counts as there are terms.
    """
    weights = [term.weight * idf(statistics.frequency.get(term.token, 0), statistics.documents) for term in terms]
    per_token = K1 / (statistics.average_length + SMOOTHING)
    ranked = []
    for key, position, length, counts in candidates:
        saturation = per_token * (length + SMOOTHING)
        total = 0.0
        for count, weight in zip(counts, weights, strict=True):
            if count:
                total += weight * count * (K1 + 1.0) / (count + saturation)
        if total > 0.0:
            ranked.append(Ranked(key, total, position))
    ranked.sort(key=lambda found: (-found.score, -found.position, found.key))
    return ranked
