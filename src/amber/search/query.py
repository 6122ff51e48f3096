"""Turn a question into weighted terms."""

from __future__ import annotations

from typing import NamedTuple

from amber.search.characters import fold_case, normalise
from amber.search.stopwords import STOP_WORDS
from amber.search.words import Kind, segments

_WEIGHTS = {
    Kind.WORD: 1.0,
    Kind.WHOLE: 1.0,
    Kind.PART: 0.5,
    Kind.FOLDED: 0.5,
    Kind.PAIR: 1.0,
    Kind.SINGLE: 0.25,
}


class Term(NamedTuple):
    """A token that a question asks for and how much it counts, 1 being an ordinary word."""

    token: str
    weight: float


def query_terms(text: str) -> list[Term]:
    """Return the distinct terms of a question in order of first use.

    Takes any string and never raises; nothing in it is syntax. Stop words are left out unless the question has nothing
    else. A token met in several roles has the weight of the highest.
    """
    telling: dict[str, float] = {}
    idle: dict[str, float] = {}
    for chunk in text.split():
        normalised = normalise(chunk)
        for token, start, end, kind in segments(normalised):
            stops = kind is Kind.WORD and fold_case(normalised[start:end]) in STOP_WORDS
            weights = idle if stops else telling
            weights[token] = max(weights.get(token, 0.0), _WEIGHTS[kind])
    return [Term(token, weight) for token, weight in (telling or idle).items()]
