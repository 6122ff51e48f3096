"""Texts for people, and entries of the log in words."""

from __future__ import annotations

import json

import pytest

from amber.memory import Memory
from amber.model.wording import clean, count, escape, one_line, value_line

HARMLESS = "\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize("letter", ["\x1b", "\0", "\x07", "\x08", "\r", "\x0b", "\x7f", "\x85", "\x9b", "\u2028", "\u2029", "\u202e", "\u2066", "\ud800"])  # fmt: skip
def test_what_a_terminal_acts_on(letter: str) -> None:
    assert clean(f"a{letter}b") == f"a{HARMLESS}b"
    assert letter not in one_line(f"a{letter}b")
    written = escape(json.dumps({"k": f"a{letter}b\n"}, ensure_ascii=False, indent=2))
    assert letter not in written
    assert json.loads(written) == {"k": f"a{letter}b\n"}


def test_what_stays() -> None:
    text = "a\tb\nc 京都 🦓 \u200d é e\u0301 \u200f"
    assert clean(text) == escape(text) == text


def test_one_line_is_cut_with_a_mark() -> None:
    assert one_line("a\n  b\tc") == "a b c"
    assert one_line("abcdef", 4) == "abc…"
    assert value_line({"a": "京"}) == '{"a": "京"}'
    assert (count(1, "entry", "entries"), count(2, "entry", "entries")) == ("1 entry", "2 entries")


@pytest.fixture
def memory(tmp_path: object) -> Memory:
    ticks = iter(range(1_700_000_000_000_000, 1_700_001_000_000_000, 1_000_000))
    return Memory.open("memory:", clock=lambda: next(ticks))


def lines(memory: Memory, position: int) -> list[str]:
    entry = memory.history.get(position)
    assert str(entry) == entry.text
    return entry.text.split("\n")


def test_an_entry_says_who_changed_what_and_why(memory: Memory) -> None:
    with memory.transaction(actor="form", reason="moved") as tx:
        tx.facts.put("Lisbon", sender="ana", key="city")
    memory.facts.put("Lisbon", sender="ana", key="city", session="s1")
    memory.facts.put("Porto", sender="ana", key="city", valid_from="2100-01-01")
    head, line = lines(memory, 1)
    assert head.startswith("1  2023-11-14 22:13:2")
    assert head.endswith(" UTC  by form  (moved)")
    assert line == "  + city: Lisbon (ana)"
    # of a mention the log keeps no image of its fact
    head, line = lines(memory, 2)
    fact = memory.facts.find(sender="ana", key="city")
    assert fact is not None
    assert line == f"  = mention of fact {fact.id}"
    assert lines(memory, 3)[1:] == [
        "  ~ city: Lisbon (ana) → until 2100-01-01",
        "  + city: Porto (ana) from 2100-01-01",
    ]
    memory.history.undo(last=1)
    assert lines(memory, 4)[1:] == ["  undo of 3", "  - city: Porto (ana)", "  ~ city: Lisbon (ana) → no end"]
    assert "  undone" in lines(memory, 3)[0]


def test_an_entry_names_its_session(memory: Memory) -> None:
    memory.facts.put("x", session="s1", ephemeral=True)
    assert lines(memory, 1)[0].endswith("  in session s1")
    memory.import_sessions("examples")
    said = [lines(memory, n) for n in range(2, memory.history.position() + 1)]
    assert ["  + 28 messages of d6cad1a0-1aed-4f42-b642-44167daf8c5a Shared rate limiter for the fare API"] in [
        each[1:] for each in said
    ]
    assert all("session" in each[0] and "in session" not in each[0] for each in said)


def test_an_entry_is_harmless_and_short(memory: Memory) -> None:
    with memory.transaction(actor="\x1b[2J", reason="a\nb\u202e") as tx:
        for n in range(20):
            tx.facts.put(f"\x1b[31m{n}\n" + "x" * 1_000, key=f"k\x9b{n}", sender="\u202ea")
    head, *said = lines(memory, 1)
    assert len(said) == 4
    assert said[-1] == "  … and 17 more changes"
    assert clean("\n".join([head, *said])) == "\n".join([head, *said])
    assert all(len(line) < 120 for line in said)
    assert f"(a b{HARMLESS})" in head


def test_a_text_that_is_forgotten_is_not_told(memory: Memory) -> None:
    from amber.store.contract import Selection

    fact = memory.facts.put("zebra-41-quartz")
    memory._store.purge(memory.space, Selection("facts", (fact.id,)), now=1_700_000_999_000_000)
    assert lines(memory, 1)[1:] == ["  1 document forgotten since"]
    assert lines(memory, 2)[1:] == ["  something was forgotten"]
