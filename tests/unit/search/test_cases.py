"""Chinese, Japanese and Korean without spaces, and awkward questions: each finds its row first."""

from __future__ import annotations

from collections import Counter

import pytest

from amber.search.analyzer import analyze
from amber.search.plan import make_plan, weigh
from amber.search.query import query_terms
from amber.search.ranking import Candidate, Statistics, score


def search(rows: list[str], question: str, budget: int = 4000) -> list[str]:
    """Return the rows that the plan finds, best first."""
    documents = [analyze(row) for row in rows]
    frequency = Counter(token for tokens in documents for token in set(tokens))
    terms = query_terms(question)
    plan = make_plan(weigh(terms, frequency, len(rows)), budget)
    candidates = [
        Candidate(row, position, len(tokens), [tokens.count(term.token) for term in terms])
        for position, (row, tokens) in enumerate(zip(rows, documents, strict=True))
        if any(set(clause.words) <= set(tokens) for clause in plan.clauses)
    ]
    average = sum(map(len, documents)) / len(documents)
    return [str(found.key) for found in score(candidates, terms, Statistics(len(rows), average, frequency))]


UNSPACED = [
    "我用雾凇拼音输入法",
    "他的花名是小北",
    "用 docker 部署服务",
    "東京で働いています",
    "서울에서 일해요",
    "京都の東に住んでいます",
    "花很香，名字很长",
    "ฉันทำงานที่กรุงเทพ",
    "docker compose is slow",
]


@pytest.mark.parametrize(
    ("question", "row"),
    [("雾凇", 0), ("花名", 1), ("docker 部署", 2), ("東京", 3), ("서울", 4), ("京都", 5), ("กรุงเทพ", 7)],
)
def test_scripts_without_spaces(question: str, row: int) -> None:
    assert search(UNSPACED, question)[0] == UNSPACED[row]


CODE = [
    "I don't like mornings",
    "run ask-codex before the review",
    "see BENCH-100821 for the numbers",
    "the bug is in src/main.py line 3",
    "we rewrote it in C++ last year",
    "write to a@b.io please",
    "ask me about codex later",
    "the bench has 100821 planks",
    "main street, and a source of py",
    "we rewrote it in C# last year",
    "b wrote to a about io",
    "x and y are near the harbour",
]


@pytest.mark.parametrize(
    ("question", "row"),
    [
        ("don't", 0),
        ("ask-codex", 1),
        ("BENCH-100821", 2),
        ("src/main.py", 3),
        ("main.py", 3),
        ("C++", 4),
        ("c#", 9),
        ("a@b.io", 5),
        ("NEAR(", 11),
        ("main:", 8),
        ('"ask-codex"', 1),
        ("harbour*", 11),
    ],
)
def test_awkward_questions(question: str, row: int) -> None:
    assert search(CODE, question)[0] == CODE[row]


def test_an_operator_is_a_word() -> None:
    assert search(CODE, "AND") == [CODE[11], CODE[8]]


@pytest.mark.parametrize("question", ["", '"', "*", "()", "\x00", "\ud800"])
def test_a_question_without_words_finds_nothing(question: str) -> None:
    assert search(CODE, question) == []


def test_a_small_budget_reads_the_rare_term_and_ranks_by_all() -> None:
    rows = ["deploy on friday", "deploy with docker", "deploy the docs", "deploy and wait", "docker friday deploy"]
    assert search(rows, "deploy docker friday", budget=2)[0] == "docker friday deploy"
