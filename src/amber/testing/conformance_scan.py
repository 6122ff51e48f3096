"""Scans, counts and totals: one order on every store."""

from __future__ import annotations

from typing import Any, cast

import pytest

from amber.errors import BadInput
from amber.model import batch as b
from amber.store.contract import Cursor, Page, Store
from amber.testing.conformance import Conformance
from amber.testing.samples import SPACE, Hand

F = "facts"
#: In the order of their UTF-8 bytes; by UTF-16 units the last two would stand before U+FFFD.
TEXTS = (
    "",
    "\x01",
    "\x01a",
    " ",
    "A",
    "B",
    "a",
    "a\x01",
    "a b",
    "aa",
    "b",
    "~",
    "\x7f",
    "ß",
    "é",
    "日",
    "\ufffd",
    "😀",
    "\U0010ffff",
)
INTS = (-(2**63), -(2**63) + 1, -(2**53) - 1, -1, 0, 1, 255, 2**53, 2**53 + 1, 2**63 - 2, 2**63 - 1)


def paged(store: Store, index: str, equal: tuple[Any, ...] = (), **options: Any) -> list[str]:
    """Give the keys of all pages."""
    found: list[str] = []
    after: Cursor | None = None
    while True:
        page = store.scan(SPACE, F, index, equal, after=after, **options)
        found += [record.key for record in page.rows]
        after = page.cursor
        if after is None:
            return found


class ScanConformance(Conformance):
    """Order by the order value, ties by key; ranges half-open; a cursor passes every row once."""

    def test_texts_are_ordered_by_their_bytes(self, hand: Hand) -> None:
        hand.send(*(b.Put(F, f"k{TEXTS.index(text)}", {"name": text}) for text in reversed(TEXTS)))
        names = [record.body["name"] for record in hand.store.scan(SPACE, F, "name").rows]
        assert names == list(TEXTS)
        back = [record.body["name"] for record in hand.store.scan(SPACE, F, "name", reverse=True).rows]
        assert back == list(reversed(TEXTS))

    def test_ints_are_ordered_by_value(self, hand: Hand) -> None:
        hand.send(*(b.Put(F, f"k{n}", {"type": "t", "size": n}) for n in reversed(INTS)))
        assert [record.body["size"] for record in hand.store.scan(SPACE, F, "size", ("t",)).rows] == list(INTS)

    def test_ties_go_by_the_bytes_of_the_key(self, hand: Hand) -> None:
        keys = [text for text in TEXTS if text]
        hand.send(*(b.Put(F, key, {"name": "same"}) for key in reversed(keys)))
        assert hand.keys("name") == keys
        assert hand.keys("name", reverse=True) == keys[::-1]

    def test_a_range_holds_its_low_end_and_not_its_high_end(self, hand: Hand) -> None:
        hand.send(*(b.Put(F, f"k{n}", {"type": "t", "size": n, "name": f"n{n}"}) for n in range(5)))
        assert hand.keys("size", ("t",), low=1, high=3) == ["k1", "k2"]
        assert hand.keys("size", ("t",), low=3) == ["k3", "k4"]
        assert hand.keys("size", ("t",), high=1) == ["k0"]
        assert hand.keys("size", ("t",), low=2, high=2) == []
        assert hand.keys("size", ("t",), low=3, high=1) == []
        assert hand.keys("size", ("t",), low=1, high=3, reverse=True) == ["k2", "k1"]
        assert hand.keys("name", low="n1", high="n3") == ["k1", "k2"]

    @pytest.mark.parametrize("low", range(len(INTS)))
    def test_every_range_of_extreme_ints(self, hand: Hand, low: int) -> None:
        hand.send(*(b.Put(F, f"k{n}", {"type": "t", "size": n}) for n in INTS))
        for high in range(low, len(INTS)):
            wanted = [f"k{n}" for n in INTS[low:high]]
            assert hand.keys("size", ("t",), low=INTS[low], high=INTS[high]) == wanted
            assert hand.store.count(SPACE, F, "size", ("t",), low=INTS[low], high=INTS[high]) == len(wanted)

    @pytest.mark.parametrize("low", range(len(TEXTS)))
    def test_every_range_of_texts(self, hand: Hand, low: int) -> None:
        hand.send(*(b.Put(F, f"k{place:02}", {"name": text}) for place, text in enumerate(TEXTS)))
        for high in range(low, len(TEXTS)):
            wanted = [f"k{place:02}" for place in range(low, high)]
            assert hand.keys("name", low=TEXTS[low], high=TEXTS[high]) == wanted

    @pytest.mark.parametrize("limit", [1, 2, 3, 7, 100])
    @pytest.mark.parametrize("reverse", [False, True])
    def test_pages_hold_every_row_once(self, hand: Hand, limit: int, reverse: bool) -> None:
        hand.send(*(b.Put(F, f"k{n}", {"type": "t", "size": n // 3}) for n in range(9)))
        wanted = [f"k{n}" for n in range(9)]
        found = paged(hand.store, "size", ("t",), limit=limit, reverse=reverse)
        assert found == (wanted[::-1] if reverse else wanted)

    def test_the_last_page_has_no_cursor(self, hand: Hand) -> None:
        hand.send(b.Put(F, "a", {"name": "n"}), b.Put(F, "b", {"name": "n"}))
        assert hand.store.scan(SPACE, F, "name", limit=2).cursor is None
        assert hand.store.scan(SPACE, F, "name", limit=1).cursor == Cursor("n", "a")
        assert hand.store.scan(SPACE, F, "name", limit=1, after=Cursor("n", "a")) == Page([hand.get("b")], None, True)
        assert hand.store.scan(SPACE, F, "name", after=Cursor("n", "b")) == Page([], None, True)

    def test_a_cursor_needs_no_row(self, hand: Hand) -> None:
        hand.send(*(b.Put(F, key, {"name": "n"}) for key in "ac"))
        assert hand.keys("name", after=Cursor("n", "b")) == ["c"]
        assert hand.keys("name", after=Cursor("n", "b"), reverse=True) == ["a"]
        assert hand.keys("name", after=Cursor("m", "z")) == ["a", "c"]

    @pytest.mark.parametrize("reverse", [False, True])
    def test_rows_written_between_pages_disturb_nothing(self, hand: Hand, reverse: bool) -> None:
        hand.send(*(b.Put(F, f"k{n:03}", {"type": "t", "size": n}) for n in range(100, 200, 10)))
        found: list[str] = []
        after: Cursor | None = None
        while True:
            page = hand.store.scan(SPACE, F, "size", ("t",), after=after, limit=3, reverse=reverse)
            found += [record.key for record in page.rows]
            after = page.cursor
            if after is None:
                break
            last = cast(int, after.order)
            behind, ahead = (last + 1, last - 1) if reverse else (last - 1, last + 1)
            hand.put(f"k{behind:03}", type="t", size=behind)
            hand.put(f"k{ahead:03}", type="t", size=ahead)
            hand.delete(after.key)
        assert len(found) == len(set(found))
        assert set(found) >= {f"k{n:03}" for n in range(100, 200, 10)}
        assert found == sorted(found, reverse=reverse)
        inserted_behind = [key for key in found if key.endswith("1" if reverse else "9")]
        assert inserted_behind == []

    def test_a_moved_document_stands_at_its_new_place_alone(self, hand: Hand) -> None:
        hand.put("a", type="t", size=1)
        hand.put("a", type="u", size=5)
        assert hand.keys("size", ("t",)) == []
        assert hand.keys("size", ("u",)) == ["a"]
        hand.delete("a")
        assert hand.keys("size", ("u",)) == []

    def test_none_is_not_in_the_index(self, hand: Hand) -> None:
        hand.put("a", type="t", size=None, name="n")
        hand.put("b", type=None, size=1, name="n")
        hand.put("c", size=1)
        hand.put("d", type="", size=0, name="")
        assert hand.keys("size", ("t",)) == []
        assert hand.keys("size", ("",)) == ["d"]
        assert hand.keys("name") == ["d", "a", "b"]
        assert hand.store.count(SPACE, F, "name") == 3

    def test_a_multi_valued_index_finds_a_document_under_each_value(self, hand: Hand) -> None:
        hand.put("a", type="t", name="n2", size=2, labels=["x", "y", "x"])
        hand.put("b", type="u", name="n1", size=1, labels=["x"])
        hand.put("c", type="t", name="n0", size=0, labels=[])
        hand.put("d", type="t", name="n0", size=None, labels=["x"])
        hand.put("e", type="t", name="n0", size=3, labels=None)
        assert hand.keys("label", ("x",)) == ["b", "a"]
        assert hand.keys("label", ("y",)) == ["a"]
        assert hand.keys("typed_label", ("t", "x")) == ["d", "a"]
        assert hand.store.count(SPACE, F, "label", ("x",)) == 2
        assert hand.store.total(SPACE, F, "label", ("x",), field="size") == 3
        hand.put("a", type="t", name="n2", size=0, labels=["y", "z"])
        assert hand.keys("label", ("x",)) == ["b"]
        assert hand.keys("label", ("z",), high=1) == ["a"]
        hand.delete("b")
        assert hand.keys("label", ("x",)) == []
        assert hand.store.verify() == []

    def test_none_among_several_values_is_left_out(self, hand: Hand) -> None:
        hand.put("a", size=1, labels=["x", None])
        assert hand.keys("label", ("x",)) == ["a"]
        assert hand.store.verify() == []

    def test_where_keeps_what_matches(self, hand: Hand) -> None:
        hand.send(*(b.Put(F, f"k{n}", {"type": "t", "size": n, "odd": bool(n % 2)}) for n in range(6)))
        where = ((("odd",), True),)
        assert hand.keys("size", ("t",), where=where) == ["k1", "k3", "k5"]
        assert hand.keys("size", ("t",), where=((("odd",), 1),)) == []
        assert hand.keys("size", ("t",), where=(*where, (("size",), 3.0))) == ["k3"]
        assert hand.keys("size", ("t",), where=((("missing",), None),), limit=2) == ["k0", "k1"]
        assert paged(hand.store, "size", ("t",), where=where, limit=1) == ["k1", "k3", "k5"]

    def test_where_says_when_it_stopped(self, hand: Hand) -> None:
        hand.send(*(b.Put(F, f"k{n:03}", {"type": "t", "size": n, "last": n == 299}) for n in range(300)))
        where = ((("last",), True),)
        page = hand.store.scan(SPACE, F, "size", ("t",), where=where, scan_limit=250)
        assert page == Page([], Cursor(249, "k249"), False)
        page = hand.store.scan(SPACE, F, "size", ("t",), where=where, scan_limit=250, after=page.cursor)
        assert [record.key for record in page.rows] == ["k299"]
        assert (page.cursor, page.complete) == (None, True)

    @pytest.mark.parametrize("scan_limit", [1, 2, 99, 100, 101, 102])
    def test_where_passes_every_row_once(self, hand: Hand, scan_limit: int) -> None:
        hand.send(*(b.Put(F, f"k{n:03}", {"type": "t", "size": n, "third": n % 3 == 0}) for n in range(210)))
        found = paged(hand.store, "size", ("t",), where=((("third",), True),), scan_limit=scan_limit, limit=10)
        assert found == [f"k{n:03}" for n in range(0, 210, 3)]

    def test_a_full_page_at_the_scan_limit_is_complete(self, hand: Hand) -> None:
        hand.send(*(b.Put(F, f"k{n}", {"name": "n", "x": 1}) for n in range(4)))
        where = ((("x",), 1),)
        page = hand.store.scan(SPACE, F, "name", where=where, limit=2, scan_limit=2)
        assert (len(page.rows), page.cursor, page.complete) == (2, Cursor("n", "k1"), True)
        page = hand.store.scan(SPACE, F, "name", where=where, limit=9, scan_limit=4)
        assert (len(page.rows), page.cursor, page.complete) == (4, None, True)

    def test_an_unknown_space_is_empty(self, hand: Hand) -> None:
        assert hand.store.scan("nowhere", F, "name") == Page([], None, True)
        assert hand.store.count("nowhere", F, "name") == 0
        assert hand.store.total("nowhere", F, "name", field="size") == 0
        assert hand.store.spaces() == []

    def test_totals_are_exact_past_64_bits(self, hand: Hand) -> None:
        sizes = [2**63 - 1] * 5 + [-(2**63), 2**53 + 1, -1, 7, None]
        hand.send(*(b.Put(F, f"k{n}", {"type": "t", "size": size, "name": "n"}) for n, size in enumerate(sizes)))
        assert hand.store.total(SPACE, F, "name", field="size") == 5 * (2**63 - 1) - 2**63 + 2**53 + 7
        assert hand.store.count(SPACE, F, "name") == 10
        assert hand.store.total(SPACE, F, "size", ("t",), field="size", low=2**63 - 1) == 5 * (2**63 - 1)
        assert hand.store.total(SPACE, F, "size", ("t",), field="size", high=0) == -(2**63) - 1
        hand.send(*(b.Put(F, f"k{n}", {"type": "t", "size": -(2**63), "name": "n"}) for n in range(10)))
        assert hand.store.total(SPACE, F, "size", ("t",), field="size") == -10 * 2**63

    def test_bad_arguments(self, hand: Hand) -> None:
        hand.put("a", type="t", size=1, name="n")
        odd: Any = object()
        bad: list[dict[str, Any]] = [
            {"index": "nothing"},
            {"index": "size"},
            {"index": "size", "equal": ("t", "u")},
            {"index": "size", "equal": (None,)},
            {"index": "size", "equal": (1,)},
            {"index": "size", "equal": (odd,)},
            {"index": "size", "equal": ("t",), "low": "a"},
            {"index": "size", "equal": ("t",), "high": 1.5},
            {"index": "size", "equal": ("t",), "low": True},
            {"index": "size", "equal": ("t",), "high": 2**63},
            {"index": "name", "low": 1},
            {"index": "name", "low": "\ud800"},
            {"index": "name", "low": "\0"},
            {"index": "name", "high": "x" * 513},
            {"index": "size", "equal": ("\ud800",)},
        ]
        orders: list[Any] = [1, None, odd]
        only_scan: list[dict[str, Any]] = [
            *({"index": "name", "limit": limit} for limit in (0, -1, 10_001, None, 1.5, True, "5")),
            *({"index": "name", "where": ((("a",), 1),), "scan_limit": limit} for limit in (0, -1, None, 1.5)),
            *({"index": "name", "after": Cursor(order, "a")} for order in orders),
            {"index": "name", "after": Cursor("n", odd)},
            {"index": "name", "where": ((("a",), float("nan")),)},
            {"index": "name", "where": ((("a",), odd),)},
            {"index": "name", "where": (((), 1),)},
            {"index": "name", "where": ((("a", ""), 1),)},
        ]
        accepted = []
        for number, options in enumerate([*bad, *only_scan]):
            for name in ("scan", "count", "total")[: 3 if number < len(bad) else 1]:
                more = {"field": "size"} if name == "total" else {}
                try:
                    getattr(hand.store, name)(SPACE, F, **options, **more)
                except BadInput:
                    continue
                except Exception as error:
                    accepted.append((name, options, repr(error)))
                else:
                    accepted.append((name, options, "accepted"))
        assert accepted == []
        for field in ("nothing", "name", "labels"):
            with pytest.raises(BadInput):
                hand.store.total(SPACE, F, "name", field=field)
        with pytest.raises(BadInput):
            hand.store.scan(SPACE, "nothing", "name")
