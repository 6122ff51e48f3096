"""Search: the same hits on both stores, narrowed by scope and time, never an error from a question."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.services.stage import FACES, START, Open, SteppingClock, finish, iso, opener

from amber.errors import BadInput
from amber.memory import Memory


def texts(memory: Memory, question: str, **more: Any) -> list[str]:
    return [hit.text for hit in memory.recall(question, **more)]


def test_a_hit_says_what_was_found_and_why(memory: Memory) -> None:
    fact = memory.facts.put("Ana keeps three zebras in the garden", sender="ana", project="zoo", source="document")
    (hit,) = memory.recall("who keeps ZEBRA?")
    assert (hit.kind, hit.id, hit.item, hit.sender, hit.project, hit.source) == (
        "fact",
        fact.id,
        fact,
        "ana",
        "zoo",
        "document",
    )
    assert "[zebras]" in hit.snippet
    assert hit.score > 0
    assert hit.why
    shown = hit.to_dict()
    assert (shown["id"], shown["text"]) == (fact.id, fact.text)


def test_scopes_narrow_before_anything_is_ranked(memory: Memory) -> None:
    for number in range(400):
        memory.facts.put(f"zebra number {number}", sender="ben", project="other", type="noise")
    memory.facts.put(
        "one zebra among several more animals of all kinds", sender="ana", project="t/acme/x", type="note", session="s"
    )
    expected = ["one zebra among several more animals of all kinds"]
    for scope in ({"sender": "ana"}, {"project": "t/acme"}, {"project": "t"}, {"session": "s"}, {"type": "note"}):
        assert texts(memory, "zebra", **scope) == expected
    for scope in (
        {"sender": "an"},
        {"project": "t/acm"},
        {"session": "t"},
        {"type": "not"},
        {"sender": "ana", "project": "other"},
    ):
        assert texts(memory, "zebra", **scope) == []
    assert len(texts(memory, "zebra", limit=1_000)) == 401
    assert len(texts(memory, "zebra")) == 10


def test_what_is_not_current_takes_no_places(memory: Memory) -> None:
    memory.facts.put("the zebra that is current")
    for number in range(350):
        memory.facts.put(f"zebra {number}", session=f"s{number % 7}", ephemeral=True)
        memory.facts.put(f"zebra {number}", key="latest")
    memory.facts.put("nothing", key="latest")
    assert texts(memory, "zebra") == ["the zebra that is current"]


def test_times_narrow(memory: Memory, clock: SteppingClock) -> None:
    for number in range(5):
        memory.facts.put(f"zebra on day {number}")
        clock.advance(days=1)

    def day(number: int) -> str:
        return iso(START + number * 86_400_000_000)

    assert sorted(texts(memory, "zebra", since=day(1), until=day(3))) == ["zebra on day 1", "zebra on day 2"]
    assert texts(memory, "zebra", since=day(3), until=day(2)) == []
    assert len(texts(memory, "zebra", since=day(0))) == 5


def test_validity_narrows(memory: Memory) -> None:
    memory.facts.put("zebra in Oslo", key="z", valid_from="2019-01-01", valid_until="2021-01-01")
    memory.facts.put("zebra in Bergen", key="z", valid_from="2022-01-01")
    assert texts(memory, "zebra") == ["z: zebra in Bergen"]
    assert texts(memory, "zebra", valid_at="2020-01-01") == ["z: zebra in Oslo"]
    assert texts(memory, "zebra", valid_at="2021-06-01") == []


def test_a_change_is_searched_at_once(memory: Memory) -> None:
    fact = memory.facts.put({"note": "about giraffes", "deep": [{"animal": "okapi"}]})
    assert [hit.id for hit in memory.recall("okapi")] == [fact.id]
    memory.facts.patch(fact, {"note": "about zebras", "deep": None})
    assert (texts(memory, "giraffe"), texts(memory, "okapi")) == ([], [])
    assert [hit.id for hit in memory.recall("zebra")] == [fact.id]
    memory.history.undo(last=1)
    assert [hit.id for hit in memory.recall("giraffe")] == [fact.id]
    memory.facts.delete(fact)
    assert texts(memory, "giraffe") == []


@pytest.mark.parametrize(
    "wrong",
    [{"kinds": ()}, {"kinds": "fact"}, {"kinds": None}, {"kinds": ("fact", "task")}, {"limit": 1_001}, {"sender": ""}, {"project": "/"},
     {"since": "then"}, {"until": 5}, {"valid_at": "x"}, {"type": 7}, {"session": "\0"}],
)  # fmt: skip
def test_a_bad_argument_is_refused(memory: Memory, wrong: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        memory.recall("x", **wrong)


def test_kinds(memory: Memory) -> None:
    memory.facts.put("zebra")
    assert texts(memory, "zebra", kinds=("fact", "fact")) == texts(memory, "zebra", kinds={"fact"}) == ["zebra"]
    assert texts(memory, "zebra", kinds=("message",)) == []


@pytest.mark.parametrize("question", ["", " ", "\0", "\ud800", '"', "*", "NEAR(", "AND", "OR NOT", "a:b", "(" * 1_000, "x" * 100_000, "🦓", "\u202e", "-", "^", "{x}", "%s"])  # fmt: skip
def test_no_question_is_an_error(memory: Memory, question: str) -> None:
    memory.facts.put("something with and, or, not and near in it")
    memory.recall(question)
    with pytest.raises(BadInput):
        memory.recall(None)  # type: ignore[arg-type]


words = st.lists(
    st.sampled_from(
        "tea coffee zebra 東京 don't C++ src/main.py a the 🦓 Café cafe\u0301 NEAR( \" 雾凇 running ran".split()
    ),
    max_size=6,
)


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(words, max_size=12),
    questions=st.lists(words | st.text(max_size=20).map(lambda t: [t]), min_size=1, max_size=4),
)
def test_both_stores_find_the_same(
    rows: list[list[str]], questions: list[list[str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    found = []
    path = str(Path(tmp_path_factory.mktemp("r")) / "amber.db")
    for target, face in (("memory:", "sync"), (path, "sync"), (f"{path}2", "async")):
        memory = opener(target, SteppingClock(), FACES[face])()
        for row in rows:
            memory.facts.put(" ".join(row) or "-", sender=row[0] if row else None)
        found.append([
            [(hit.text, round(hit.score, 9), hit.snippet, hit.why) for hit in memory.recall(" ".join(question), sender=sender)]
            for question in questions
            for sender in (None, "tea")
        ])  # fmt: skip
        finish(memory)
    assert found[0] == found[1] == found[2]


def test_spaces_do_not_mix(open_memory: Open) -> None:
    one, other = open_memory("one"), open_memory("one/two")
    one.facts.put("zebra here")
    other.facts.put("zebra there")
    assert (texts(one, "zebra"), texts(other, "zebra")) == (["zebra here"], ["zebra there"])
