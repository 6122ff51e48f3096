"""Which passage is shown and what is marked in it."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from amber.search.characters import continues
from amber.search.query import Term, query_terms
from amber.search.snippet import Snippet, snippet


def marked(text: str, question: str, width: int = 160) -> str:
    return snippet(text, query_terms(question), width).text


@pytest.mark.parametrize(
    ("text", "question", "expected"),
    [
        ("We deployed it.", "deploys", "We [deployed] it."),
        ("I bought shoes", "buy", "I [bought] shoes"),
        ("我用雾凇拼音输入法", "雾凇", "我用[雾凇]拼音输入法"),
        ("서울에서 일해요", "서울", "[서울]에서 일해요"),
        ("the bug (in src/main.py)", "main.py", "the bug (in src/[main.py])"),
        ("use C++, not C", "C++", "use [C++], not [C]"),
        ("a Café there", "cafe", "a [Café] there"),
        ("ﬁne ½ ﬁsh", "fish", "ﬁne ½ [ﬁsh]"),
        ("cafe\u0301 au", "café", "[cafe\u0301] au"),
        ("one\n\n two\tthree", "two", "one [two] three"),
        ("我用输入法用", "用", "我[用]输入法[用]"),
        ("nothing here", "absent", "nothing here"),
        ("", "word", ""),
    ],
)
def test_matches_are_marked(text: str, question: str, expected: str) -> None:
    assert marked(text, question) == expected


def test_spans_count_without_the_marks() -> None:
    found = snippet("We deployed it and deploy on", query_terms("deploys"), mark=("<b>", "</b>"))
    assert found == Snippet("We <b>deployed</b> it and <b>deploy</b> on", ((3, 11), (19, 25)))


def test_cut_at_word_borders_with_ellipses() -> None:
    text = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho"
    found = snippet(text, query_terms("iota"), width=30)
    assert found.text == "…eta theta [iota] kappa lambda…"
    assert found.spans == ((11, 15),)


def test_the_window_goes_where_most_distinct_weight_is() -> None:
    filler = " ".join(["filler"] * 30)
    text = f"common common common {filler} rare common {filler} common"
    terms = [Term("common", 0.5), Term("rare", 3.0)]
    assert "[rare] [common]" in snippet(text, terms, width=40).text
    assert snippet(text, [Term("common", 0.5)], width=40).text.startswith("[common] [common] [common]")


def test_only_the_beginning_of_a_huge_text_is_looked_at() -> None:
    text = "word " * 50_000 + "needle"
    assert marked(text, "needle") == marked(text, "absent")
    assert marked(text, "absent").endswith("…")
    short = "needle " + "word " * 100_000
    assert marked(short, "needle").startswith("[needle] word")


def test_a_match_longer_than_the_window_is_cut() -> None:
    found = snippet("x" * 50 + " and more", query_terms("x" * 50), width=20)
    assert found.text == "[" + "x" * 20 + "]…"


@pytest.mark.parametrize("width", [0, -1])
def test_a_width_below_one_is_refused(width: int) -> None:
    with pytest.raises(ValueError, match="width"):
        snippet("text", [], width)


def test_a_long_run_of_characters_takes_little_time() -> None:
    start = time.process_time()
    assert "[雾凇]" in marked("拼" * 150_000 + "雾凇" + "音" * 100_000, "雾凇")
    assert time.process_time() - start < 10


@given(st.text(max_size=300), st.text(max_size=20), st.integers(1, 60))
@example("e\u0301" * 100, "e\u0301", 7)
@example("👨\u200d👩\u200d👧 " * 30, "👩", 9)
@example("가나다라 " * 30, "나다", 5)
def test_a_snippet_is_a_window_of_the_folded_text(text: str, question: str, width: int) -> None:
    folded = " ".join(text.split())
    plain, spans = snippet(text, query_terms(question), width, ("", ""))
    lead = plain.startswith("…") and not folded.startswith(plain.rstrip("…"))
    body = plain[lead:]
    if body not in folded:
        body = body.removesuffix("…")
    assert body in folded
    assert len(body) <= width + 1
    assert all(0 <= left < right <= len(plain) for left, right in spans)
    assert all(right < left for (_, right), (left, _) in pairwise(spans))


@given(
    st.lists(st.sampled_from(["e\u0301", "ด\u0e35", "क\u093f", "👍🏽", "x", " "]), min_size=30, max_size=90),
    st.integers(8, 20),
)
def test_no_cut_falls_inside_a_character(clusters: list[str], width: int) -> None:
    folded = " ".join("".join(clusters).split())
    plain, _ = snippet(folded, query_terms("x"), width, ("", ""))
    body = plain.removesuffix("…").removeprefix("…")
    places = [place for place in range(len(folded)) if folded.startswith(body, place)]
    assert any(
        not (place > 0 and continues(folded[place])) and not continues((folded + " ")[place + len(body)])
        for place in places
    )
