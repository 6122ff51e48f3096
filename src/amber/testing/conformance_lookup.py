"""Look-ups by payload fields: one typed rule of equality on every store.

The table follows a survey of four backends of one library, which gave different answers to two filters of three.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from amber.errors import BadInput
from amber.model import batch as b
from amber.model.where import MAX_FIELDS, parse_path, parse_where
from amber.store.contract import Cursor, Page, Store
from amber.testing.conformance import Conformance
from amber.testing.samples import SPACE, Hand

F = "facts"
LONG = "x" * 500

#: The document "k{place}" has the payload {"x": value}.
VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    1.0,
    -0.0,
    1.5,
    "1",
    "true",
    "null",
    "",
    [1, 2],
    [2, 1],
    [],
    {},
    {"b": 2, "a": 1},
    {"a": 1},
    "[1,2]",
    "[1, 2]",
    '{"a":1}',
    10**17,
    10**17 + 1,
    2**63 - 1,
    "é",
    "e\u0301",
    "A",
    "a",
    " a",
    LONG,
    LONG + "y",
    [LONG],
    "x') OR 1=1 --",
    "'; DROP TABLE amber_field; --",
    "%",
    "a\0b",
    [[1], {"c": [True, None]}],
    [True],
    [1],
    [None],
    1e300,
)
#: what is asked -> the values that match
EQUAL: tuple[tuple[Any, tuple[Any, ...]], ...] = (
    (True, (True,)),
    (False, (False,)),
    (1, (1, 1.0)),
    (0, (0, -0.0)),
    (1.0, (1, 1.0)),
    (-0.0, (0, -0.0)),
    (1.5, (1.5,)),
    ("1", ("1",)),
    ("true", ("true",)),
    ("null", ("null",)),
    ("", ("",)),
    ([1, 2], ([1, 2],)),
    ((1, 2), ([1, 2],)),
    ([1.0, 2], ([1, 2],)),
    ([], ([],)),
    ((), ([],)),
    ({}, ({},)),
    ({"a": 1, "b": 2}, ({"b": 2, "a": 1},)),
    ({"a": 1.0}, ({"a": 1},)),
    ("[1,2]", ("[1,2]",)),
    ("[1, 2]", ("[1, 2]",)),
    ('{"a":1}', ('{"a":1}',)),
    (10**17, (10**17,)),
    (1e17, (10**17,)),
    (10**17 + 1, (10**17 + 1,)),
    (float(10**17 + 1), (10**17,)),
    (2**63 - 1, (2**63 - 1,)),
    (float(2**63), ()),
    (10**30, ()),
    (1e300, (1e300,)),
    (10**300, ()),
    ("é", ("é",)),
    ("e\u0301", ("e\u0301",)),
    ("A", ("A",)),
    ("a ", ()),
    (LONG, (LONG,)),
    (LONG + "z", ()),
    ([LONG], ([LONG],)),
    ("x') OR 1=1 --", ("x') OR 1=1 --",)),
    ("'; DROP TABLE amber_field; --", ("'; DROP TABLE amber_field; --",)),
    ("%", ("%",)),
    ("_", ()),
    ("a\0b", ("a\0b",)),
    ([[1.0], {"c": [True, None]}], ([[1], {"c": [True, None]}],)),
    ([[1], {"c": [1, None]}], ()),
    ([True], ([True],)),
    ([1], ([1],)),
    ([None], ([None],)),
)

ODD_KEYS = (
    "a-b",
    "a b",
    'a"b',
    "a'b",
    "a.b",
    "a\\b",
    "a\\.b",
    "ключ",
    "日本",
    "$ne",
    "a[0]",
    "x') OR 1=1 --",
    "*",
    "%",
    "#",
    "é",
    "e\u0301",
    "a\0b",
    " ",
    "😀",
)


class LookupConformance(Conformance):
    """Equality on any payload path."""

    @pytest.fixture
    def filled(self, hand: Hand) -> Hand:
        """Give a hand whose store holds a fact for each value."""
        hand.send(*(b.Put(F, f"k{n:02}", {"type": "t", "payload": {"x": value}}) for n, value in enumerate(VALUES)))
        return hand

    def found(self, store: Store, where: dict[Any, Any], **options: Any) -> list[str]:
        """Give the keys that a look-up finds."""
        return [record.key for record in store.lookup(SPACE, F, parse_where(where), **options).rows]

    @pytest.mark.parametrize("case", range(len(EQUAL)))
    def test_equality(self, filled: Hand, case: int) -> None:
        asked, wanted = EQUAL[case]
        pairs = [(type(value) is bool, repr(value)) for value in wanted]
        keys = [f"k{n:02}" for n, value in enumerate(VALUES) if (type(value) is bool, repr(value)) in pairs]
        assert self.found(filled.store, {"payload.x": asked}) == keys
        record = filled.store.scan(SPACE, F, "group", ("t",), where=parse_where({"payload.x": asked}))
        assert [each.key for each in record.rows] == keys

    def test_none_is_a_null_or_a_missing_path(self, filled: Hand) -> None:
        filled.put("missing", type="t", payload={})
        filled.put("no payload", type="t")
        filled.put("text", type="t", payload="a text")
        keys = filled.keys("group", ("t",), where=parse_where({"payload.x": None}))
        assert keys == ["k00", "missing", "no payload", "text"]
        assert self.found(filled.store, {"payload.x.y": None, "payload.x": "a"}) == [f"k{VALUES.index('a'):02}"]

    def test_none_alone_is_no_look_up(self, filled: Hand) -> None:
        with pytest.raises(BadInput):
            self.found(filled.store, {"payload.x": None})

    @pytest.mark.parametrize("asked", [Decimal(1), b"1", {1}, float("nan"), float("inf"), object(), {1: 2}])
    def test_what_is_not_json_is_refused(self, asked: Any) -> None:
        with pytest.raises(BadInput):
            parse_where({"payload.x": asked})

    @pytest.mark.parametrize("key", ODD_KEYS)
    def test_odd_keys(self, hand: Hand, key: str) -> None:
        hand.send(*(b.Put(F, f"k{n:02}", {"payload": {each: {each: 1}}}) for n, each in enumerate(ODD_KEYS)))
        wanted = [f"k{ODD_KEYS.index(key):02}"]
        assert self.found(hand.store, {("payload", key, key): 1}) == wanted
        escaped = key.replace("\\", "\\\\").replace(".", "\\.")
        assert self.found(hand.store, {f"payload.{escaped}.{escaped}": 1}) == wanted
        assert self.found(hand.store, {("payload", key): {key: 1}}) == wanted

    def test_a_dot_in_a_key_is_not_a_step(self, hand: Hand) -> None:
        hand.put("dot", payload={"a.b": 1})
        hand.put("step", payload={"a": {"b": 1}})
        assert self.found(hand.store, {"payload.a.b": 1}) == ["step"]
        assert self.found(hand.store, {"payload.a\\.b": 1}) == ["dot"]

    @pytest.mark.parametrize(
        "path", ["", ".", "payload..x", "payload.x.", ".x", "payload\\", (), ("a", ""), ("a", 1), 5, None]
    )
    def test_malformed_paths_are_refused(self, path: Any) -> None:
        with pytest.raises(BadInput):
            parse_path(path)

    def test_list_elements_are_reached_by_index_beside_an_indexed_condition(self, hand: Hand) -> None:
        hand.put("a", payload={"l": [{"k": 1}, {"k": 2}], "x": 1})
        hand.put("b", payload={"l": [{"k": 2}], "x": 1})
        assert self.found(hand.store, {"payload.l.0.k": 2, "payload.x": 1}) == ["b"]
        assert self.found(hand.store, {"payload.l.1.k": 2, "payload.x": 1}) == ["a"]
        assert self.found(hand.store, {"payload.l.01.k": 2, "payload.x": 1}) == ["a"]
        assert self.found(hand.store, {"payload.l.-1.k": 2, "payload.x": 1}) == []
        with pytest.raises(BadInput):
            self.found(hand.store, {"payload.l.0.k": 2})

    def test_conditions_hold_together(self, hand: Hand) -> None:
        hand.put("a", type="t", name="one", payload={"x": 1, "y": {"z": "q"}})
        hand.put("b", type="t", name="two", payload={"x": 1, "y": {"z": "r"}})
        hand.put("c", type="t", name="one", payload={"x": 2, "y": {"z": "q"}})
        assert self.found(hand.store, {"payload.x": 1}) == ["a", "b"]
        assert self.found(hand.store, {"payload.x": 1, "payload.y.z": "q"}) == ["a"]
        assert self.found(hand.store, {"payload.x": 1, "payload.y": {"z": "r"}}) == ["b"]
        assert self.found(hand.store, {"payload": {"y": {"z": "q"}, "x": 2}}) == ["c"]
        assert self.found(hand.store, {"payload.x": 1, "name": "two"}) == ["b"]
        assert self.found(hand.store, {"payload.x": 1, "payload.none": None, "type": "t"}) == ["a", "b"]
        assert self.found(hand.store, {"payload.x": 3}) == []

    def test_the_same_path_twice(self, hand: Hand) -> None:
        hand.put("a", payload={"x": 1})
        where = ((("payload", "x"), 1), (("payload", "x"), 2))
        assert hand.store.lookup(SPACE, F, where).rows == []

    def test_many_conditions(self, hand: Hand) -> None:
        hand.put("a", payload={f"f{n}": n for n in range(40)})
        where = tuple((("payload", f"f{n % 40}"), n % 40) for n in range(1_200))
        assert [record.key for record in hand.store.lookup(SPACE, F, where).rows] == ["a"]

    def test_conditions_outside_the_root_alone_are_refused(self, hand: Hand) -> None:
        for where in ({"name": "x"}, {"type": "t"}, {}):
            with pytest.raises(BadInput):
                self.found(hand.store, where)
        with pytest.raises(BadInput):
            hand.store.lookup(SPACE, "notes", parse_where({"payload.x": 1}))

    def test_within_a_group(self, hand: Hand) -> None:
        hand.put("a", type="t", payload={"x": 1})
        hand.put("b", type="u", payload={"x": 1})
        hand.put("c", payload={"x": 1})
        assert self.found(hand.store, {"payload.x": 1}, group="t") == ["a"]
        assert self.found(hand.store, {"payload.x": 1}, group="u") == ["b"]
        assert self.found(hand.store, {"payload.x": 1}, group="v") == []
        hand.put("a", type="u", payload={"x": 1})
        assert self.found(hand.store, {"payload.x": 1}, group="t") == []
        assert self.found(hand.store, {"payload.x": 1}, group="u") == ["a", "b"]

    def test_entries_follow_every_change(self, hand: Hand) -> None:
        hand.put("a", payload={"x": 1, "n": 1})
        hand.put("a", payload={"x": 2, "n": 1})
        assert self.found(hand.store, {"payload.x": 1}) == []
        assert self.found(hand.store, {"payload.x": 2}) == ["a"]
        hand.delete("a")
        assert self.found(hand.store, {"payload.x": 2}) == []
        hand.put("a", payload=[1])
        assert self.found(hand.store, {"payload": [1]}) == ["a"]
        hand.put("a", payload="text")
        assert self.found(hand.store, {"payload": "text"}) == ["a"]
        hand.put("a", payload=None)
        assert self.found(hand.store, {"payload": "text"}) == []
        assert hand.store.verify() == []

    @pytest.mark.parametrize("leaves", [MAX_FIELDS - 2, MAX_FIELDS - 1, MAX_FIELDS, MAX_FIELDS + 1, 500])
    def test_large_documents_are_found(self, hand: Hand, leaves: int) -> None:
        hand.put("large", type="t", payload={f"f{n}": n for n in range(leaves)})
        hand.put("small", type="t", payload={"f7": 7})
        hand.put("other", type="u", payload={f"g{n}": n for n in range(leaves)})
        assert self.found(hand.store, {"payload.f7": 7}) == ["large", "small"]
        assert self.found(hand.store, {"payload.f7": 7}, group="t") == ["large", "small"]
        assert self.found(hand.store, {"payload.f7": 7}, group="u") == []
        assert self.found(hand.store, {"payload.f7": True}) == []
        assert self.found(hand.store, {f"payload.f{leaves - 1}": leaves - 1}) == ["large"]
        hand.put("large", type="t", payload={"f7": 8})
        assert self.found(hand.store, {"payload.f7": 7}) == ["small"]
        hand.put("small", type="t", payload={f"f{n}": n for n in range(leaves)})
        hand.delete("other")
        assert self.found(hand.store, {"payload.f7": 7}) == ["small"]
        assert hand.store.verify() == []

    @pytest.mark.parametrize("limit", [1, 2, 5, 100])
    def test_pages_go_by_key(self, hand: Hand, limit: int) -> None:
        hand.send(*(b.Put(F, f"k{n}", {"payload": {"x": n % 2}}) for n in range(9)))
        hand.put("k6-large", payload={"x": 0, **{f"f{n}": n for n in range(200)}})
        found: list[str] = []
        after: Cursor | None = None
        while True:
            page = hand.store.lookup(SPACE, F, parse_where({"payload.x": 0}), after=after, limit=limit)
            found += [record.key for record in page.rows]
            after = page.cursor
            if after is None:
                break
        assert found == ["k0", "k2", "k4", "k6", "k6-large", "k8"]

    def test_it_says_when_it_stopped(self, hand: Hand) -> None:
        hand.send(*(b.Put(F, f"k{n}", {"name": f"n{n}", "payload": {"x": 1}}) for n in range(5)))
        where = parse_where({"payload.x": 1, "name": "n4"})
        page = hand.store.lookup(SPACE, F, where, scan_limit=3)
        assert (page.rows, page.complete) == ([], False)
        assert page.cursor is not None
        last = hand.store.lookup(SPACE, F, where, scan_limit=3, after=page.cursor)
        assert [record.key for record in last.rows] == ["k4"]
        assert last.complete is True

    def test_bad_arguments(self, hand: Hand) -> None:
        where = parse_where({"payload.x": 1})
        bad: list[dict[str, Any]] = [
            {"limit": 0},
            {"limit": 10_001},
            {"limit": None},
            {"scan_limit": 0},
            {"scan_limit": -1},
            {"group": 5},
        ]
        for options in bad:
            with pytest.raises(BadInput):
                hand.store.lookup(SPACE, F, where, **options)
        with pytest.raises(BadInput):
            hand.store.lookup(SPACE, "nothing", where)

    def test_an_unknown_space_is_empty(self, hand: Hand) -> None:
        assert hand.store.lookup("nowhere", F, parse_where({"payload.x": 1})) == Page([], None, True)
