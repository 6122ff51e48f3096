"""Scores and their order."""

from __future__ import annotations

import pytest

from amber.search.plan import idf
from amber.search.query import Term
from amber.search.ranking import K1, SMOOTHING, Candidate, Statistics, score

STATISTICS = Statistics(documents=100, average_length=30.0, frequency={"rare": 2, "common": 60})
TERMS = (Term("rare", 1.0), Term("common", 1.0))


def keys(*candidates: Candidate) -> list[str]:
    return [str(found.key) for found in score(candidates, TERMS, STATISTICS)]


def test_a_score_is_the_formula_of_the_docstring() -> None:
    relative = (20 + SMOOTHING) / (30 + SMOOTHING)
    expected = idf(2, 100) * 3 * (K1 + 1) / (3 + K1 * relative)
    [found] = score([Candidate("a", 7, 20, (3, 0))], TERMS, STATISTICS)
    assert (found.key, found.position) == ("a", 7)
    assert found.score == pytest.approx(expected)


def test_a_weight_multiplies() -> None:
    candidate = Candidate("a", 1, 30, (1, 0))
    [whole] = score([candidate], TERMS, STATISTICS)
    [half] = score([candidate], (Term("rare", 0.5), Term("common", 1.0)), STATISTICS)
    assert half.score == pytest.approx(whole.score / 2)


def test_rare_words_count_more_than_common_ones() -> None:
    assert keys(Candidate("common", 2, 30, (0, 1)), Candidate("rare", 1, 30, (1, 0))) == ["rare", "common"]


def test_more_of_a_word_and_a_shorter_text_count_more() -> None:
    assert keys(Candidate("once", 2, 30, (1, 0)), Candidate("twice", 1, 30, (2, 0))) == ["twice", "once"]
    assert keys(Candidate("long", 2, 300, (1, 0)), Candidate("short", 1, 10, (1, 0))) == ["short", "long"]


def test_ties_go_to_the_newest_then_to_the_key() -> None:
    tied = [Candidate("b", 5, 30, (1, 0)), Candidate("c", 9, 30, (1, 0)), Candidate("a", 5, 30, (1, 0))]
    assert keys(*tied) == ["c", "a", "b"]
    assert keys(*reversed(tied)) == ["c", "a", "b"]


def test_a_document_without_any_term_is_left_out() -> None:
    assert keys(Candidate("none", 1, 30, (0, 0))) == []
    assert score([], TERMS, STATISTICS) == []


def test_an_empty_space_divides_by_nothing() -> None:
    assert len(score([Candidate("a", 1, 0, (1, 0))], TERMS, Statistics(0, 0.0, {}))) == 1


def test_counts_of_another_number_of_terms_are_refused() -> None:
    with pytest.raises(ValueError):
        score([Candidate("a", 1, 30, (1,))], TERMS, STATISTICS)
