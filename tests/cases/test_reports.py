"""Faults that users of other memory systems reported, each with the right result. The numbers are those of the list."""

from __future__ import annotations

import threading
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from tests.services import workers
from tests.services.stage import Open, SteppingClock, values

from amber.errors import BadInput
from amber.memory import Memory


def test_case_1_a_scoped_delete_is_complete_and_narrow(memory: Memory) -> None:
    for number in range(250):
        for sender in ("ana", "ben"):
            memory.facts.put(f"zebra {number} of {sender}", sender=sender)
    with memory.transaction(reason="delete all of ana") as tx:
        deleted = [tx.facts.delete(fact) for fact in list(tx.facts.iter(sender="ana"))]
    assert len(deleted) == 250
    assert (memory.facts.count(sender="ana"), memory.facts.count(sender="ben"), memory.facts.count()) == (0, 250, 250)
    hits = memory.recall("zebra", limit=1_000)
    assert (len(hits), {hit.sender for hit in hits}) == (250, {"ben"})
    assert memory.recall("zebra", sender="ana") == []
    assert memory.facts.count(sender="ana", deleted=True) == 250


def test_case_2_opened_again_it_is_all_there(open_at: Open, sqlite_path: Path) -> None:
    for expected in (0, 1_000, 1_000):
        with open_at(sqlite_path) as memory:
            assert memory.facts.count() == expected
            if not expected:
                with memory.transaction() as tx:
                    for number in range(1_000):
                        tx.facts.put(f"zebra {number}")
            assert len(memory.recall("zebra", limit=1_000)) == 1_000


def test_case_4_deleted_and_said_again(memory: Memory) -> None:
    first = memory.facts.put("likes tea", sender="ana")
    memory.facts.delete(first)
    again = memory.facts.put("Likes tea", sender="ana")
    assert [fact.id for fact in memory.facts.page(sender="ana")] == [again.id]
    assert [hit.id for hit in memory.recall("tea")] == [again.id]
    assert memory.facts.get(first.id).is_deleted


def test_case_5_one_source_two_scopes(memory: Memory) -> None:
    copies = {name: memory.facts.put("the same document", project=name, source="document") for name in ("A", "B")}
    memory.facts.delete(copies["A"])
    assert (values(memory, project="A"), values(memory, project="B")) == ([], ["the same document"])
    assert [hit.project for hit in memory.recall("document")] == ["B"]


@pytest.mark.parametrize("where", ["project", "space"])
def test_case_6_the_border_of_a_namespace(memory: Memory, open_memory: Open, where: str) -> None:
    names = ["t/acme", "t/acme-corp", "t/acme/x", "t/acme_corp", "t/acm%", "t/_cme", "T/ACME", "t/acme x"]
    for name in names:
        (memory if where == "project" else open_memory(name)).facts.put(
            f"zebra of {name}", key=name, project=name if where == "project" else None
        )
    for name in names:
        inside = [each for each in names if each == name or (where == "project" and each.startswith(name + "/"))]
        view = memory if where == "project" else open_memory(name)
        scope: dict[str, Any] = {"project": name} if where == "project" else {}
        assert sorted(str(fact.key) for fact in view.facts.page(**scope)) == sorted(inside)
        assert sorted(str(hit.item.key) for hit in view.recall("zebra", **scope)) == sorted(inside)


@pytest.mark.parametrize(
    ("one", "other"),
    [("john-doe", "john_doe"), ("100%", "1000"), ("a.b", "a b"), ("Ana", "ana"), ("é", "e\u0301"), ("x", "x ")],
)
def test_case_6_names_are_compared_to_the_letter(memory: Memory, one: str, other: str) -> None:
    for name in (one, other):
        memory.facts.put(name, sender=name, session=name, type="t", key="k")
    for name in (one, other):
        assert values(memory, sender=name) == values(memory, session=name) == [name]
        assert memory.facts.get(sender=name, key="k").value == name
        assert [hit.sender for hit in memory.recall("k", sender=name)] == [name]


def test_case_7_many_writers_of_a_file_that_is_not_there_yet(open_at: Open, sqlite_path: Path) -> None:
    workers.together(workers.many, str(sqlite_path), 8, 25)
    with open_at(sqlite_path, space="acme") as memory:
        assert (memory.facts.count(), memory.history.position()) == (600, 200)
        assert memory.verify() == []


def threads(count: int, work: Any) -> list[Any]:
    """Do the same in several threads at once."""
    barrier, outcomes = threading.Barrier(count), []

    def run(number: int) -> None:
        barrier.wait()
        try:
            outcomes.append(work(number))
        except Exception as error:
            outcomes.append(error)

    started = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    return outcomes


def test_case_8_parallel_puts_at_one_time_keep_their_order(open_memory: Open) -> None:
    memory = open_memory(clock=lambda: 1_700_000_000_000_000)

    def work(number: int) -> None:
        for n in range(5):
            memory.facts.put(f"{number}/{n}", sender="ana")

    assert threads(10, work) == [None] * 10
    found = values(memory, sender="ana")
    assert len(found) == 50
    for number in range(10):
        assert [value for value in found if value.startswith(f"{number}/")] == [f"{number}/{n}" for n in range(5)]
    assert values(memory, sender="ana") == found
    assert [entry.position for entry in memory.history.page(limit=100)] == [*range(50, 0, -1)]


def test_case_11_the_same_fact_again(memory: Memory, clock: SteppingClock) -> None:
    first = memory.facts.put("Prefers café mode", sender="ana")
    clock.advance(days=1)
    for text in (
        "Prefers café mode",
        "Prefers café mode",
        " prefers  CAFÉ mode\n",
        unicodedata.normalize("NFD", "Prefers café mode"),
    ):
        again = memory.facts.put(text, sender="ana")
    assert [fact.id for fact in memory.facts.page()] == [first.id]
    assert (again.mentions, again.last_seen > first.last_seen, again.value) == (5, True, "Prefers café mode")


def test_case_11_from_twenty_threads(memory: Memory) -> None:
    outcomes = threads(20, lambda _: memory.facts.put("Prefers dark mode").id)
    assert len(set(outcomes)) == 1
    (fact,) = memory.facts.page()
    assert fact.mentions == 20
    assert memory.facts.count(superseded=True, deleted=True) == 1


def test_case_12_supersession(memory: Memory) -> None:
    alice = memory.facts.put("Alice", key="manager")
    bob = memory.facts.put("Bob", key="manager")
    memory.facts.put("Oslo", sender="ana", key="lives in", valid_from="2019-01-01", valid_until="2021-01-01")
    memory.facts.put("Oslo", sender="ana", key="lives in", valid_from="2023-01-01")
    assert values(memory, key="manager") == ["Bob"]
    assert memory.at(alice.position).facts.get(key="manager").value == "Alice"
    assert memory.facts.get(key="manager", valid_at=alice.valid_from).value == "Alice"
    spans = [
        (fact.valid_from.year, fact.valid_until and fact.valid_until.year)
        for fact in memory.facts.page(key="lives in", superseded=True)
    ]
    assert spans == [(2019, 2021), (2023, None)]
    memory.history.undo(bob.position)
    assert values(memory, key="manager") == ["Alice"]


UNSPACED = ["我用雾凇拼音输入法", "他的花名是小北", "用 docker 部署服务", "東京で働いています", "서울에서 일해요"]


@pytest.mark.parametrize(("question", "row"), [("雾凇", 0), ("花名", 1), ("docker 部署", 2), ("東京", 3), ("서울", 4)])
def test_case_15_scripts_without_spaces(memory: Memory, question: str, row: int) -> None:
    for text in (*UNSPACED, "docker is slow", "京都の東", "花很香，名字很长"):
        memory.facts.put(text)
    assert memory.recall(question)[0].text == UNSPACED[row]


AWKWARD = [
    "I don't like mornings", "run ask-codex before the review", "see BENCH-100821 for the numbers",
    "the bug is in src/main.py line 3", "we rewrote it in C++ last year", "write to a@b.io please",
    "ask me about codex later", "the bench has 100821 planks", "main street, and a source of py", "near the harbour",
]  # fmt: skip


@pytest.mark.parametrize(("question", "row"), [("don't", 0), ("ask-codex", 1), ("BENCH-100821", 2), ("src/main.py", 3), ("C++", 4), ("a@b.io", 5), ("NEAR(", 9), ("main:", 8)])  # fmt: skip
def test_case_16_awkward_questions_find_their_row_first(memory: Memory, question: str, row: int) -> None:
    for text in AWKWARD:
        memory.facts.put(text)
    assert memory.recall(question)[0].text == AWKWARD[row]


@pytest.mark.parametrize("question", ["AND", "NEAR(", '"', "*", "main:", "", "'", "a OR", "NOT", "col:x*", "\\"])
def test_case_16_no_question_is_an_error(memory: Memory, question: str) -> None:
    for text in AWKWARD:
        memory.facts.put(text)
    hits = memory.recall(question)
    assert hits == [] if not question or not question.strip("\"*'\\") else isinstance(hits, list)


@pytest.mark.parametrize(
    "text", ["\0", "a\0b", "<|endoftext|>", "\u2028", "\u202e", "{x} {{y}}", "🦓", "\ufeff", "%s %(x)s", "\r\n\t"]
)
def test_case_17_awkward_text_comes_back(memory: Memory, text: str) -> None:
    for value in (f"zebra {text}", {"zebra": text, f"k{text}": [text]}):
        fact = memory.facts.put(value)
        assert memory.facts.get(fact.id).value == value
        assert memory.recall("zebra")
        assert memory.history.page(limit=1)[0].changes[0].after["payload"] == value  # type: ignore[index]
    assert memory.at(1).facts.page().facts[0].value == f"zebra {text}"
    assert memory.facts.page(where={"payload": f"zebra {text}"}).facts[0].value == f"zebra {text}"


def test_case_17_a_lone_surrogate_is_replaced(memory: Memory) -> None:
    assert memory.facts.put("a\ud800b").value == memory.facts.page().facts[0].value == "a\ufffdb"
    assert memory.facts.put({"k\udfff": ["\ud83e"]}).value == {"k\ufffd": ["\ufffd"]}


KEYS = [
    "x') OR 1=1 --",
    "$ne",
    "ключ",
    "with space",
    "a-b",
    "'\"`",
    "%",
    "payload",
    "x\n",
    "\u2028",
    "0",
    "*",
    "a,b",
    "[0]",
]


@pytest.mark.parametrize("key", KEYS)
def test_a_filter_key_is_a_key(memory: Memory, key: str) -> None:
    fact = memory.facts.put({key: {"in": 1}, "beside": 1})
    memory.facts.put({"beside": 1})
    for path in (("payload", key, "in"), f"payload.{key}.in"):
        assert memory.facts.page(where={path: 1}).facts == [fact]
        assert memory.facts.page(where={path: 2}).facts == []


def test_a_dot_in_a_key_is_escaped_or_a_segment(memory: Memory) -> None:
    dotted, deep = memory.facts.put({"a.b": 1}), memory.facts.put({"a": {"b": 1}})
    assert memory.facts.page(where={"payload.a.b": 1}).facts == [deep]
    assert memory.facts.page(where={"payload.a\\.b": 1}).facts == [dotted]
    assert memory.facts.page(where={("payload", "a.b"): 1}).facts == [dotted]


@pytest.mark.parametrize(
    "path",
    ["", ".", "payload..x", "payload.x.", ".payload", "payload.x\\", (), ("payload", ""), 7, None, ("payload", 1)],
)
def test_a_malformed_filter_path_is_refused(memory: Memory, path: Any) -> None:
    memory.facts.put({"x": 1})
    with pytest.raises(BadInput):
        memory.facts.page(where={path: 1})
