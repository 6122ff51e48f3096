"""Which terms, and which pairs of them, are read from the index."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from amber.search.plan import WeighedTerm, idf, make_plan, weigh
from amber.search.query import Term
from amber.store.contract import Clause

TERMS = (Term("common", 1.0), Term("rare", 1.0), Term("middling", 0.5), Term("absent", 1.0))
FREQUENCY = {"common": 900, "rare": 3, "middling": 50}


def weighed(**frequency: int) -> list[WeighedTerm]:
    """Give terms of one weight each, so that a clause's weight tells whose it is."""
    return [WeighedTerm(token, 2.0**n, count) for n, (token, count) in enumerate(frequency.items())]


def test_idf_is_the_formula_of_the_docstring() -> None:
    assert idf(3, 1000) == math.log(1 + 997.5 / 3.5)
    assert idf(1000, 1000) > 0
    assert idf(1200, 1000) > 0
    assert idf(0, 0) > 0


def test_terms_weigh_by_the_question_and_their_idf() -> None:
    assert weigh(TERMS, FREQUENCY, 1000) == [
        WeighedTerm("common", idf(900, 1000), 900),
        WeighedTerm("rare", idf(3, 1000), 3),
        WeighedTerm("middling", 0.5 * idf(50, 1000), 50),
    ]


def test_all_terms_within_the_budget_are_a_complete_plan() -> None:
    plan = make_plan(weighed(common=900, rare=3, middling=50), budget=953)
    assert plan == (
        (Clause(("rare",), 2_000), Clause(("middling",), 4_000), Clause(("common",), 1_000)),
        True,
    )


def test_common_terms_are_read_where_they_meet() -> None:
    plan = make_plan(weighed(a=900, b=3, c=800, d=700), budget=10)
    assert not plan.complete
    assert plan.clauses[0] == Clause(("b",), 2_000)
    assert set(plan.clauses[1:4]) == {
        Clause(("c", "a"), 5_000),
        Clause(("d", "a"), 9_000),
        Clause(("d", "c"), 12_000),
    }
    # a single term is counted already: beside it, what the common one weighs is added
    beside = [Clause((token,), weight, ("b",)) for token, weight in (("d", 8_000), ("c", 4_000), ("a", 1_000))]
    assert [*plan.clauses[4:]] == beside


def test_pairs_are_bounded_and_the_weightiest_are_taken() -> None:
    plan = make_plan(weighed(a=3, **{f"c{n}": 900 for n in range(6)}), budget=10, pairs=2)
    assert [clause.words for clause in plan.clauses] == [("a",), ("c5", "c4"), ("c5", "c3"), ("c5",), ("c4",)]


def test_the_rarest_present_term_is_read_whatever_it_costs() -> None:
    plan = make_plan(weighed(common=900), budget=10)
    assert plan == ((Clause(("common",), 1_000),), True)


def test_nothing_present_is_an_empty_plan() -> None:
    assert weigh([Term("absent", 1.0)], FREQUENCY, 1000) == []
    assert make_plan([]) == ((), True)


@given(st.dictionaries(st.text(min_size=1), st.integers(1, 100)), st.integers(0, 300), st.integers(0, 4))
def test_the_order_of_the_question_does_not_matter(frequency: dict[str, int], budget: int, pairs: int) -> None:
    terms = weigh([Term(token, 1.0) for token in frequency], frequency, 100)
    plan = make_plan(terms, budget, pairs)
    assert make_plan(list(reversed(terms)), budget, pairs) == plan
    single = [clause.words[0] for clause in plan.clauses if len(clause.words) == 1 and not clause.among]
    costs = [frequency[token] for token in single]
    assert costs == sorted(costs)
    assert sum(costs) <= budget or len(costs) == 1
    assert plan.complete == (len(single) == len(terms))
    assert len(plan.clauses) - len(single) <= 2 * pairs
