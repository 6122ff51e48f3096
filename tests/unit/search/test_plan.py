"""Which terms are read from the index."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from amber.search.plan import PlannedTerm, idf, make_plan
from amber.search.query import Term

TERMS = (Term("common", 1.0), Term("rare", 1.0), Term("middling", 0.5), Term("absent", 1.0))
FREQUENCY = {"common": 900, "rare": 3, "middling": 50}


def test_idf_is_the_formula_of_the_docstring() -> None:
    assert idf(3, 1000) == math.log(1 + 997.5 / 3.5)
    assert idf(1000, 1000) > 0
    assert idf(1200, 1000) > 0
    assert idf(0, 0) > 0


def test_rarest_first_within_the_budget() -> None:
    assert make_plan(TERMS, FREQUENCY, 1000, budget=53).terms == (
        PlannedTerm("rare", idf(3, 1000), 3),
        PlannedTerm("middling", 0.5 * idf(50, 1000), 50),
    )
    assert [term.token for term in make_plan(TERMS, FREQUENCY, 1000, budget=52).terms] == ["rare"]
    assert [term.token for term in make_plan(TERMS, FREQUENCY, 1000).terms] == ["rare", "middling", "common"]


def test_the_rarest_present_term_is_read_whatever_it_costs() -> None:
    plan = make_plan([Term("common", 1.0), Term("absent", 1.0)], FREQUENCY, 1000, budget=10)
    assert [term.token for term in plan.terms] == ["common"]
    assert plan.budget == 10


def test_nothing_present_is_an_empty_plan() -> None:
    assert make_plan([Term("absent", 1.0)], FREQUENCY, 1000).terms == ()
    assert make_plan([], FREQUENCY, 1000).terms == ()


@given(st.dictionaries(st.text(min_size=1), st.integers(0, 100)), st.integers(0, 300))
def test_the_order_of_the_question_does_not_matter(frequency: dict[str, int], budget: int) -> None:
    terms = [Term(token, 1.0) for token in frequency]
    plan = make_plan(terms, frequency, 100, budget)
    assert make_plan(list(reversed(terms)), frequency, 100, budget) == plan
    costs = [term.frequency for term in plan.terms]
    assert costs == sorted(costs)
    assert sum(costs) <= budget or len(costs) == 1
