"""Bad input of every sort: a typed error, and nothing is left behind."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, cast
from uuid import UUID

import pytest

from amber.errors import BadInput, Conflict, TooLarge
from amber.model import batch as b
from amber.model.bounds import MAX_SPACE
from amber.store.contract import Clause, Cursor, LogQuery, Named, SearchFilter, Selection, Store
from amber.testing.conformance import Conformance
from amber.testing.samples import SPACE, Hand, snapshot


class Colour(Enum):
    """A type that JSON encoders like to write as its value."""

    RED = "red"


class Letters(str):
    """A text that is not only a text."""

    __slots__ = ()


def nested(levels: int, kind: type = list) -> Any:
    """Give a value nested in so many lists or objects."""
    value: Any = [] if kind is list else {}
    for _ in range(levels - 1):
        value = [value] if kind is list else {"k": value}
    return value


CYCLE: list[Any] = []
CYCLE.append(CYCLE)

NOT_JSON: dict[str, Any] = {
    "NaN": float("nan"),
    "infinity": float("inf"),
    "minus infinity": float("-inf"),
    "2**63": 2**63,
    "-2**63 - 1": -(2**63) - 1,
    "10**30": 10**30,
    "lone surrogate": "\ud800",
    "low surrogate": "a\udfffb",
    "surrogate key": {"\ud800": 1},
    "int key": {1: "a"},
    "None key": {None: "a"},
    "bytes": b"abc",
    "set": {1},
    "datetime": datetime(2026, 1, 1, tzinfo=UTC),
    "decimal": Decimal(1),
    "complex": 1j,
    "uuid": UUID(int=1),
    "enum": Colour.RED,
    "str subclass": Letters("a"),
    "object": object(),
    "function": nested,
    "cycle": CYCLE,
}

BAD_NAMES: dict[str, Any] = {
    "empty": "",
    "NUL": "a\0b",
    "surrogate": "\ud800",
    "None": None,
    "int": 5,
    "bytes": b"a",
    "513 bytes": "k" * 513,
    "514 bytes": "é" * 257,
}

F = "facts"
BAD_WRITES: dict[str, b.Write] = {
    "unknown collection": b.Put("nothing", "a", {}),
    "unknown collection of delete": b.Delete("nothing", "a"),
    "collection None": b.Put(cast(Any, None), "a", {}),
    "body is a list": b.Put(F, "a", cast(Any, [1])),
    "body is a text": b.Put(F, "a", cast(Any, "text")),
    "body is None": b.Append("notes", "a", cast(Any, None)),
    "text field with an int": b.Put(F, "a", {"name": 1}),
    "text field with a list": b.Put(F, "a", {"name": ["a"]}),
    "int field with a text": b.Put(F, "a", {"type": "t", "size": "1"}),
    "int field with a float": b.Put(F, "a", {"size": 1.0}),
    "int field with a bool": b.Put(F, "a", {"size": True}),
    "many field with ints": b.Put(F, "a", {"labels": [1]}),
    "text field with a NUL": b.Put(F, "a", {"name": "a\0b"}),
    "text field of 513 bytes": b.Put(F, "a", {"name": "n" * 513}),
    "many field with a surrogate": b.Put(F, "a", {"labels": ["\ud800"]}),
    "due is a text": b.Put("jobs", "a", {"due": "soon"}),
    "due is a float": b.Put("jobs", "a", {"due": 1.5}),
    "due is a bool": b.Put("jobs", "a", {"due": True}),
    "group is an int": b.Put(F, "a", {"type": 5, "payload": {"a": 1}}),
    "add of a float": b.Add(F, "there", "n", cast(Any, 1.5)),
    "add of a bool": b.Add(F, "there", "n", cast(Any, True)),
    "add of a text": b.Add(F, "there", "n", cast(Any, "1")),
    "add to no field": b.Add(F, "there", "", 1),
    "add to a field of None": b.Add(F, "there", cast(Any, None), 1),
    "add to what is no counter": b.Add(F, "there", "name", 1),
    "add past 2**63": b.Add(F, "there", "n", 2**63 - 1),
    "add below -2**63": b.Add(F, "there", "n", -(2**63) - 10),
    "add at most a text": b.Add(F, "there", "n", 1, at_most=cast(Any, "9")),
    "add with a bad beginning": b.Add(F, "a", "n", 1, initial={"x": float("nan")}),
    "add with a list as beginning": b.Add(F, "a", "n", 1, initial=cast(Any, [1])),
    "touch of another field": b.Touch(F, "there", {"name": "x"}),
    "touch with NaN": b.Touch(F, "there", {"seen": float("nan")}),
    "touch with a list": b.Touch(F, "there", cast(Any, ["seen"])),
    "reschedule without a queue": b.Reschedule(F, "there", 1),
    "reschedule to a text": b.Reschedule("jobs", "j", cast(Any, "now")),
    "reschedule to 2**63": b.Reschedule("jobs", "j", 2**63),
    "reschedule with odd attempts": b.Reschedule("jobs", "j", 1, attempts=cast(Any, "x")),
    "reschedule with attempts below 0": b.Reschedule("jobs", "j", 1, attempts=-1),
    "not a write": cast(Any, ("facts", "a", {})),
}
BAD_EXPECTATIONS: dict[str, b.Expectation] = {
    "unknown collection": b.Absent("nothing", "a"),
    "unknown collection of sources": b.NotPurged((("nothing", "a"),), 0),
    "unknown index": b.Unchanged(F, "nothing", (), 0, 0),
    "too few values": b.Unchanged(F, "size", (), 0, 0),
    "too many values": b.Unchanged(F, "name", ("a",), 0, 0),
    "value of another type": b.Unchanged(F, "size", (1,), 0, 0),
    "no queue": b.Leased(F, "there", 1),
    "int key": b.AtRevision(F, cast(Any, 5), 1),
    "surrogate key": b.Absent(F, "\ud800"),
    "surrogate source": b.NotPurged(((F, "\ud800"),), 0),
    "a group too large": b.Unchanged(F, "name", (), 0, 1_001),
    "too many sources": b.NotPurged(tuple((F, f"k{n}") for n in range(1_001)), 0),
    "low end of another type": b.Unchanged(F, "name", (), 0, 0, low=1),
    "revision is a text": b.AtRevision(F, "there", cast(Any, "1")),
    "epoch is a text": b.Leased("jobs", "j", cast(Any, "1")),
}
BAD_BATCHES: dict[str, dict[str, Any]] = {
    "time is a float": {"at": 1.5},
    "time is a text": {"at": "now"},
    "time is a bool": {"at": True},
    "time past 64 bits": {"at": 2**63},
    "actor is an int": {"actor": 5},
    "actor is empty": {"actor": ""},
    "reason with a NUL": {"reason": "a\0b"},
    "reason of 5,000 bytes": {"reason": "r" * 5_000},
    "session with a surrogate": {"session": "\ud800"},
    "undoes a text": {"undoes": ("1",)},
    "undoes past 64 bits": {"undoes": (2**70,)},
}


class BadInputConformance(Conformance):
    """Nothing of a refused batch is left: not the good writes before the bad one, not a position, not a space."""

    @pytest.fixture
    def filled(self, hand: Hand) -> Hand:
        """Give a hand whose store holds something that could be damaged."""
        hand.put("there", name="x", n=100, type="t", text="some words")
        hand.put("j", "jobs", due=5)
        return hand

    def refuse(self, hand: Hand, *writes: b.Write, error: type[Exception] = BadInput, **rest: Any) -> None:
        """Check that a batch is refused and leaves nothing."""
        before = snapshot(hand.store)
        with pytest.raises(error):
            hand.send(b.Put(F, "good", {"name": "good", "text": "good"}), *writes, **rest)
        assert snapshot(hand.store) == before
        assert hand.absent("good")

    @pytest.mark.parametrize("case", NOT_JSON)
    def test_what_is_not_json(self, filled: Hand, case: str) -> None:
        value = NOT_JSON[case]
        self.refuse(filled, b.Put(F, "a", {"x": value}))
        self.refuse(filled, b.Append("notes", "a", {"x": [1, {"y": value}], "long": "x" * 300}))

    @pytest.mark.parametrize("levels", [100, 101, 102, 150, 5_000])
    @pytest.mark.parametrize("kind", [list, dict])
    def test_nesting_goes_to_100_levels(self, filled: Hand, levels: int, kind: type) -> None:
        write = b.Put(F, "deep", {"payload": nested(levels - 1, kind)})
        if levels <= 100:
            filled.send(write)
            assert filled.body("deep") == write.body
            assert filled.store.verify() == []
        else:
            self.refuse(filled, write, error=TooLarge)

    def test_a_document_has_a_largest_size(self, filled: Hand) -> None:
        fitting = b.MAX_DOCUMENT - len('{"text":""}')
        filled.send(b.Put("kinds", "big", {"text": "x" * fitting}))
        assert len(filled.body("big", "kinds")["text"]) == fitting
        self.refuse(filled, b.Put("kinds", "a", {"text": "x" * (fitting + 1)}), error=TooLarge)
        self.refuse(filled, b.Put("kinds", "a", {"text": "é" * (fitting // 2 + 1)}), error=TooLarge)

    def test_a_document_may_not_grow_past_its_largest_size(self, filled: Hand) -> None:
        filled.send(b.Put(F, "big", {"x": "x" * (b.MAX_DOCUMENT - 100)}))
        self.refuse(filled, b.Touch(F, "big", {"seen": "x" * 200}), error=TooLarge)

    def test_a_batch_has_a_largest_size(self, filled: Hand) -> None:
        text = "é" * (b.MAX_DOCUMENT // 2 - 50)
        writes = [b.Put("kinds", f"k{number}", {"text": text}) for number in range(9)]
        self.refuse(filled, *writes, error=TooLarge)

    def test_a_batch_has_a_largest_number_of_writes(self, filled: Hand) -> None:
        bound = filled.store.capabilities.max_writes
        assert 1_000 <= bound <= b.MAX_WRITES
        writes = [b.Delete("kinds", f"k{number}") for number in range(bound)]
        filled.send(*writes)
        self.refuse(filled, *writes, error=TooLarge)

    @pytest.mark.parametrize("case", BAD_NAMES)
    def test_keys(self, filled: Hand, case: str) -> None:
        key = BAD_NAMES[case]
        writes = (b.Put(F, key, {}), b.Append("notes", key, {}), b.Delete(F, key), b.Add(F, key, "n", 1, initial={}))
        for write in (*writes, b.Touch(F, key, {"seen": 1}), b.Reschedule("jobs", key, 1)):
            self.refuse(filled, write)

    def test_a_key_of_512_bytes_is_a_key(self, hand: Hand) -> None:
        for key in ("k" * 512, "é" * 256, "👩" * 128):
            hand.put(key, name="x")
            assert hand.get(key).key == key

    @pytest.mark.parametrize("case", BAD_NAMES)
    def test_spaces_and_operations(self, filled: Hand, case: str) -> None:
        name = BAD_NAMES[case]
        self.refuse(filled, space=name)
        self.refuse(filled, space="s" * (MAX_SPACE + 1))
        self.refuse(filled, operation=name)
        assert filled.store.spaces() == [SPACE]

    @pytest.mark.parametrize("case", BAD_WRITES)
    def test_writes(self, filled: Hand, case: str) -> None:
        self.refuse(filled, BAD_WRITES[case])

    @pytest.mark.parametrize("case", BAD_EXPECTATIONS)
    def test_expectations(self, filled: Hand, case: str) -> None:
        self.refuse(filled, expect=[BAD_EXPECTATIONS[case]])

    @pytest.mark.parametrize("case", BAD_BATCHES)
    def test_batches(self, filled: Hand, case: str) -> None:
        self.refuse(filled, **BAD_BATCHES[case])

    def test_a_refused_first_batch_makes_no_space(self, hand: Hand) -> None:
        with pytest.raises(BadInput):
            hand.send(b.Put(F, "a", {}), b.Add(F, "a", "n", 2**63))
        with pytest.raises(Conflict):
            hand.send(b.Put(F, "a", {}), expect=[b.AtRevision(F, "a", 1)])
        assert hand.store.spaces() == []

    def test_bad_arguments_of_reads(self, filled: Hand, store: Store) -> None:
        bad: Any = "\ud800"
        number: Any = 5
        calls: dict[str, Any] = {
            "get, unknown collection": lambda: store.get(SPACE, "nothing", "a"),
            "get, int key": lambda: store.get(SPACE, F, number),
            "get, surrogate": lambda: store.get(SPACE, F, bad),
            "get, empty space": lambda: store.get("", F, "a"),
            "get_many, unknown collection": lambda: store.get_many(SPACE, "nothing", ["a"]),
            "get_many, int key": lambda: store.get_many(SPACE, F, [number]),
            "get_many, surrogate": lambda: store.get_many(SPACE, F, ["a", bad]),
            "position, surrogate": lambda: store.position(bad),
            "position, empty space": lambda: store.position(""),
            "position_at, a text": lambda: store.position_at(SPACE, cast(Any, "now")),
            "position_at, empty space": lambda: store.position_at("", 1),
            "log, limit 0": lambda: store.log(SPACE, LogQuery(limit=0)),
            "log, limit -1": lambda: store.log(SPACE, LogQuery(limit=-1)),
            "log, limit 10,001": lambda: store.log(SPACE, LogQuery(limit=10_001)),
            "log, other images": lambda: store.log(SPACE, LogQuery(images="after")),  # type: ignore[arg-type]
            "log, offset -1": lambda: store.log(SPACE, LogQuery(offset=-1)),
            "log, offset a text": lambda: store.log(SPACE, LogQuery(offset="1")),  # type: ignore[arg-type]
            "log, position a text": lambda: store.log(SPACE, LogQuery(positions=("1",))),  # type: ignore[arg-type]
            "log, key surrogate": lambda: store.log(SPACE, LogQuery(key=(F, bad))),
            "log, session surrogate": lambda: store.log(SPACE, LogQuery(session=bad)),
            "log, low past 64 bits": lambda: store.log(SPACE, LogQuery(low=2**63)),
            "claim, n 0": lambda: store.claim(SPACE, "work", 0, lease=1, now=1),
            "claim, n a text": lambda: store.claim(SPACE, "work", cast(Any, "1"), lease=1, now=1),
            "claim, lease 0": lambda: store.claim(SPACE, "work", 1, lease=0, now=1),
            "claim, lease a float": lambda: store.claim(SPACE, "work", 1, lease=cast(Any, 0.5), now=1),
            "claim, time past 64 bits": lambda: store.claim(SPACE, "work", 1, lease=2**62, now=2**62),
            "claim, unknown queue": lambda: store.claim(SPACE, "nothing", 1, lease=1, now=1),
            "claim, empty space": lambda: store.claim("", "work", 1, lease=1, now=1),
            "queued, unknown collection": lambda: store.queued(SPACE, "nothing", "a"),
            "queued, surrogate": lambda: store.queued(SPACE, "jobs", bad),
            "due_spaces, limit 0": lambda: store.due_spaces("work", 1, limit=0),
            "due_spaces, time past 64 bits": lambda: store.due_spaces("work", 2**63),
            "purge, unknown collection": lambda: store.purge(SPACE, Selection("nothing", ("a",)), now=5),
            "purge, nothing chosen": lambda: store.purge(SPACE, Selection(F), now=5),
            "purge, both": lambda: store.purge(SPACE, Selection(F, ("a",), "name", ()), now=5),
            "purge, unknown index": lambda: store.purge(SPACE, Selection(F, (), "nothing", ()), now=5),
            "purge, too few values": lambda: store.purge(SPACE, Selection(F, (), "size", ()), now=5),
            "purge, None value": lambda: store.purge(SPACE, Selection(F, (), "size", (cast(Any, None),)), now=5),
            "purge, surrogate key": lambda: store.purge(SPACE, Selection(F, (bad,)), now=5),
            "purge, limit 0": lambda: store.purge(SPACE, Selection(F, ("there",)), limit=0, now=5),
            "purge, limit -1": lambda: store.purge(SPACE, Selection(F, ("there",)), limit=-1, now=5),
            "purge, no time": lambda: store.purge(SPACE, Selection(F, ("there",)), now=cast(Any, None)),
            "purge, time past 64 bits": lambda: store.purge(SPACE, Selection(F, ("there",)), now=2**63),
            "purge, keys with values": lambda: store.purge(SPACE, Selection(F, ("there",), None, ("t",)), now=5),
            "purge, an empty name": lambda: store.purge(SPACE, Named("actor", ""), now=5),
            "purge, a name of something else": lambda: store.purge(SPACE, Named(cast(Any, "reason"), "x"), now=5),
            "purge, bad expectation": lambda: store.purge(
                SPACE, Selection(F, ("there",)), now=5, expectations=[cast(Any, "absent")]
            ),
            "reach, nothing chosen": lambda: store.reach(SPACE, Selection(F)),
            "reach, index without forget": lambda: store.reach(SPACE, Selection(F, by="name")),
            "reach, limit 0": lambda: store.reach(SPACE, Selection(F, ("there",)), limit=0),
            "reach, cursor of another kind": lambda: store.reach(
                SPACE, Selection(F, by="size", equal=("t",)), after=Cursor("x", "a")
            ),
            "reach, surrogate cursor": lambda: store.reach(SPACE, Selection(F, by="size", equal=("t",)), after=bad),
            "reach, no name": lambda: store.reach(SPACE, Named("session", cast(Any, None))),
            "scrub, no steps": lambda: store.scrub(steps=0),
            "candidates, limit 0": lambda: store.candidates(SPACE, [Clause(("a",), 1)], SearchFilter(), limit=0),
            "candidates, no words": lambda: store.candidates(SPACE, [Clause((), 1)], SearchFilter()),
            "candidates, half a weight": lambda: store.candidates(
                SPACE, [Clause(("a",), cast(Any, 0.5))], SearchFilter()
            ),
            "candidates, surrogate also": lambda: store.candidates(SPACE, [], SearchFilter(), also=[bad]),
            "candidates, surrogate": lambda: store.candidates(SPACE, [Clause((bad,), 1)], SearchFilter()),
            "candidates, surrogate filter": lambda: store.candidates(
                SPACE, [Clause(("a",), 1)], SearchFilter(sender=bad)
            ),
            "candidates, since past 64 bits": lambda: store.candidates(
                SPACE, [Clause(("a",), 1)], SearchFilter(since=2**63)
            ),
            "text_stats, surrogate": lambda: store.text_stats(SPACE, [bad]),
            "lookup, cursor with an int key": lambda: store.lookup(
                SPACE, F, ((("payload",), 1),), after=Cursor(0, number)
            ),
            "receipt, surrogate": lambda: store.receipt(SPACE, bad),
            "stats, empty space": lambda: store.stats(""),
            "verify, empty space": lambda: store.verify(""),
        }
        before = snapshot(store)
        accepted = []
        for name, call in calls.items():
            try:
                call()
            except BadInput:
                continue
            except Exception as error:
                accepted.append(f"{name}: {error!r}")
            else:
                accepted.append(name)
        assert accepted == []
        assert snapshot(store) == before
