"""What `query_terms` makes of a question."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from amber.search.analyzer import analyze
from amber.search.query import Term, query_terms
from amber.search.stopwords import STOP_WORDS


def test_stop_words_are_left_out() -> None:
    assert query_terms("What is the museum that she visited?") == [Term("museum", 1.0), Term("visit", 1.0)]


def test_stop_words_stay_when_there_is_nothing_else() -> None:
    assert [term.token for term in query_terms("What is it?")] == ["what", "is", "it"]
    assert query_terms("don't") == [Term("don't", 1.0)]


def test_a_stop_word_inside_a_name_stays() -> None:
    assert [term.token for term in query_terms("is-it")] == ["is-it", "is", "it"]


def test_parts_count_less_than_the_whole() -> None:
    assert query_terms("ask-codex") == [Term("ask-codex", 1.0), Term("ask", 0.5), Term("codex", 0.5)]


def test_single_characters_count_less_than_pairs() -> None:
    weights = dict(query_terms("部署"))
    assert weights == {"部": 0.25, "部署": 1.0, "署": 0.25}


def test_a_repeated_term_comes_once_with_its_highest_weight() -> None:
    assert query_terms("ask-codex codex Codex") == [Term("ask-codex", 1.0), Term("ask", 0.5), Term("codex", 1.0)]


@pytest.mark.parametrize("text", ["", " \n", '"', "*", "(", "...", "\x00", "\ud800", "\u200b"])
def test_a_question_without_words_has_no_terms(text: str) -> None:
    assert query_terms(text) == []


@pytest.mark.parametrize(
    ("text", "tokens"), [("AND", ["and"]), ("NEAR(", ["near"]), ("main:", ["main"]), ('OR "x"*', ["x"])]
)
def test_nothing_is_syntax(text: str, tokens: list[str]) -> None:
    assert [term.token for term in query_terms(text)] == tokens


@settings(deadline=None)
@given(st.text())
@example("the " * 100_000)
@example("x" * 1_000_000)
@example("\ud800a\x00b")
def test_terms_are_distinct_tokens_of_the_question(text: str) -> None:
    terms = query_terms(text)
    tokens = [term.token for term in terms]
    assert len(set(tokens)) == len(tokens)
    assert set(tokens) <= set(analyze(text))
    assert bool(tokens) == bool(analyze(text))
    assert all(0 < term.weight <= 1 for term in terms)


@pytest.mark.parametrize(
    "word", ["may", "will", "us", "it's", "la", "est", "mit", "am", "i", "my", "not", "no", "die", "son"]
)
def test_words_that_mean_something_elsewhere_are_no_stop_words(word: str) -> None:
    assert word not in STOP_WORDS
