"""The exact index finds what scoring every document finds, to the last bit, whatever was put and removed before."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amber.backends.dict.text import passes
from amber.model.collection import Facets
from amber.search import inverted, postings
from amber.search.inverted import InvertedIndex
from amber.search.query import Term
from amber.search.ranking import Candidate, Statistics, score
from amber.store.contract import SearchFilter, Text

ALL = SearchFilter()
WORDS = [f"w{n}" for n in range(8)]


@pytest.fixture(autouse=True, params=["as it is", "small"])
def sizes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run everything with blocks of eight documents too, so that few documents fill many blocks."""
    if request.param == "small":
        for module in (postings, inverted):
            monkeypatch.setattr(module, "BITS", 3)
            monkeypatch.setattr(module, "BLOCK", 8)
        monkeypatch.setattr(postings, "_PLACE", 7)
        monkeypatch.setattr(postings, "SPARSE", 2)
        monkeypatch.setattr(postings, "_TOGETHER", 3)


def text(key: str, words: str, position: int = 1, collection: str = "facts", **facets: Any) -> Text:
    tokens = words.split()
    return Text(collection, key, position, len(tokens), Counter(tokens), Facets(**facets))


def index_of(*texts: Text) -> InvertedIndex:
    index = InvertedIndex()
    for each in texts:
        index.put(each)
    return index


def scored(texts: list[Text], terms: list[Term], filter: SearchFilter, limit: int) -> list[tuple[Any, ...]]:
    """Score every document."""
    average = sum(each.length for each in texts) / len(texts) if texts else 0.0
    frequency = {term.token: sum(term.token in each.terms for each in texts) for term in terms}
    candidates = [
        Candidate(
            (each.key, each.collection),
            each.position,
            each.length,
            [each.terms.get(term.token, 0) for term in terms],
        )
        for each in texts
        if passes(filter, each.collection, each.facets)
    ]
    ranked = score(candidates, terms, Statistics(len(texts), average, frequency))
    return [(*reversed(found.key), found.position, found.score) for found in ranked[:limit]]


def found(
    index: InvertedIndex, terms: list[Term], filter: SearchFilter = ALL, limit: int = 10
) -> list[tuple[Any, ...]]:
    answer = index.search(terms, filter, limit)
    assert answer is not None
    return [each[:4] for each in answer]


LENGTHS = st.sampled_from([0, 1, 2, 3, 5, 8, 30, 31, 200])
TEXTS = st.builds(
    lambda collection, key, position, words, filler, sender, project, session, type, at: Text(
        collection,
        key,
        position,
        sum(words.values()) + filler,
        {**words, **({"filler": min(filler, 255)} if filler else {})},
        Facets(sender, project, session, type, at),
    ),
    st.sampled_from(["facts", "messages"]),
    st.sampled_from([f"k{n}" for n in range(25)]),
    st.integers(1, 9),
    st.dictionaries(st.sampled_from(WORDS), st.sampled_from([1, 1, 1, 2, 2, 3, 5, 255]), max_size=6),
    LENGTHS,
    st.sampled_from([None, "ana", "ben"]),
    st.sampled_from([None, "a", "a/b", "a/b/c", "ab", "a/", "", "/a"]),
    st.sampled_from([None, "s"]),
    st.sampled_from([None, "t", "u"]),
    st.integers(-3, 6),
)
ACTIONS = st.lists(
    TEXTS | st.tuples(st.sampled_from(["facts", "messages"]), st.sampled_from(["k0", "k3", "k7"])), max_size=60
)
TERMS = st.lists(
    st.builds(Term, st.sampled_from([*WORDS, "filler", "none"]), st.sampled_from([0.25, 0.5, 1.0])),
    min_size=1,
    max_size=7,
    unique_by=lambda term: term.token,
)
FACETS: dict[str, Any] = {
    "collections": st.sampled_from([("facts",), ("messages", "facts"), ("nothing",)]),
    "sender": st.sampled_from(["ana", "none"]),
    "project": st.sampled_from(["a", "a/b", "", "a/"]),
    "session": st.just("s"),
    "type": st.just("t"),
    "since": st.integers(-2, 3),
    "until": st.integers(0, 6),
}
FILTERS = st.one_of(
    *(st.builds(SearchFilter, **{name: values}) for name, values in FACETS.items()),
    st.fixed_dictionaries({}, optional=FACETS).map(lambda facets: SearchFilter(**facets)),
)


@settings(max_examples=150, deadline=None)
@given(ACTIONS, st.lists(st.tuples(TERMS, FILTERS, st.integers(1, 12)), min_size=1, max_size=4))
def test_it_finds_what_scoring_everything_finds(actions: list[Any], questions: list[Any]) -> None:
    index, texts = InvertedIndex(), dict[tuple[str, str], Text]()
    for action in actions:
        if isinstance(action, Text):
            index.put(action)
            texts[action.collection, action.key] = action
        else:
            index.remove(*action)
            texts.pop(action, None)
    assert len(index) == len(texts)
    for terms, filter, limit in questions:
        assert found(index, terms, filter, limit) == scored([*texts.values()], terms, filter, limit)
        assert found(index, terms, ALL, limit) == scored([*texts.values()], terms, ALL, limit)


def test_it_tells_how_often_each_term_occurs() -> None:
    index = index_of(text("a", "x y y z z z"), text("b", "x"))
    terms = [Term(token, 1.0) for token in ("none", "z", "x", "y")]
    answer = index.search(terms, ALL, 10)
    assert answer is not None
    assert [(each.key, tuple(each.counts)) for each in answer] == [("a", (0, 3, 1, 2)), ("b", (0, 0, 1, 0))]
    assert [(term.token, term.frequency) for term in index.weigh(terms)] == [("z", 1), ("x", 2), ("y", 1)]


def test_ties_go_to_the_newest_then_by_key_and_collection() -> None:
    index = index_of(
        text("b", "x", 5, "messages"), text("b", "x", 5), text("c", "x", 9), text("a", "x", 5), text("d", "y", 10)
    )
    assert [each[:2] for each in found(index, [Term("x", 1.0)])] == [
        ("facts", "c"), ("facts", "a"), ("facts", "b"), ("messages", "b"),
    ]  # fmt: skip
    assert [each[1] for each in found(index, [Term("x", 1.0)], limit=2)] == ["c", "a"]


def test_a_project_is_found_with_what_lies_below_it() -> None:
    names = ("a", "a/b", "a/b/c", "ab", "a.b", "a0", "a%b", "A", "a/", "é", "é/x", "", "/x", None)
    index = index_of(*(text(f"{n:02}", "x", 1, project=name) for n, name in enumerate(names)))

    def below(project: str) -> list[str | None]:
        return [names[int(each[1])] for each in found(index, [Term("x", 1.0)], SearchFilter(project=project), 20)]

    assert below("a") == ["a", "a/b", "a/b/c", "a/"]
    assert below("a/b") == ["a/b", "a/b/c"]
    assert below("a%") == below("b") == []
    assert below("é") == ["é", "é/x"]
    assert below("") == ["", "/x"]


def test_what_was_removed_leaves_no_word() -> None:
    index = index_of(*(text(f"k{n}", f"x secret{n} " * (n + 1), sender=f"whose{n}") for n in range(12)))
    for n in range(11):
        index.remove("facts", f"k{n}")
    index.remove("facts", "never there")
    assert (len(index), index.knows("secret3"), index.knows("secret11"), index.knows("x")) == (1, False, True, True)
    index.remove("facts", "k11")
    assert (len(index), index.knows("x"), index.size) == (0, False, InvertedIndex().size)
    assert found(index, [Term("x", 1.0)]) == []
    assert not any("secret" in word or "whose" in word for word in texts_in(index))


def texts_in(value: Any, seen: set[int] | None = None) -> list[str]:
    """Give every text that an object of ours leads to."""
    seen = set() if seen is None else seen
    if id(value) in seen:
        return []
    seen.add(id(value))
    if isinstance(value, str):
        return [value]
    parts: list[Any] = []
    if isinstance(value, dict):
        parts = [*value.keys(), *value.values()]
    elif isinstance(value, (list, tuple, set)):
        parts = [*value]
    elif type(value).__module__.startswith("amber."):
        names = [*getattr(value, "__dict__", ()), *getattr(type(value), "__slots__", ())]
        parts = [getattr(value, name) for name in names]
    return [word for part in parts for word in texts_in(part, seen)]


def test_places_are_used_again() -> None:
    index = InvertedIndex()
    for n in range(200):
        index.put(text(f"k{n % 3}", f"x w{n}", n + 1))
    assert len(index) == 3
    assert len(index._blocks) == 1
    assert [each[1] for each in found(index, [Term("x", 1.0)])] == ["k1", "k0", "k2"]


def test_a_question_of_very_many_words_is_declined() -> None:
    index = index_of(text("a", " ".join(f"w{n}" for n in range(100))))
    assert index.search([Term(f"w{n}", 1.0) for n in range(100)], ALL, 10) is None
    assert index.search([Term(f"none{n}", 1.0) for n in range(100)], ALL, 10) == []


def test_a_search_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    index = index_of(*(text(f"k{n}", "x " + f"w{n % 7} " * (n % 5)) for n in range(200)))
    assert index.search([Term("x", 1.0), Term("w1", 1.0)], ALL, 10) is not None
    monkeypatch.setattr(inverted, "_MOST_STEPS", 2)
    assert index.search([Term("x", 1.0), Term("w1", 1.0)], ALL, 10) is None


def test_common_terms_of_many_documents() -> None:
    texts = [
        text(f"k{n:05}", " ".join(w for m, w in enumerate(WORDS, 1) if n % m == 0) + " z" * (n % 40), n)
        for n in range(3_000)
    ]
    index = index_of(*texts)
    for tokens in (["w0"], ["w1", "w2"], ["w0", "w6", "w7"], ["z", "w5", "w3", "w1"], WORDS):
        terms = [Term(token, 1.0) for token in tokens]
        for limit in (1, 10, 100):
            assert found(index, terms, ALL, limit) == scored(texts, terms, ALL, limit)
