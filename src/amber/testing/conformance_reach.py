"""What a purge would reach, what it may expect, and names in the log."""

from __future__ import annotations

import pytest

from amber.errors import Conflict, SourcePurged
from amber.model import batch as b
from amber.store.contract import Cursor, LogQuery, Named, Purged, Reach, Reached, Selection
from amber.testing.conformance import Conformance
from amber.testing.samples import SPACE, Hand, snapshot

F = "facts"
ALL = Selection(F, by="size", equal=("t",))


def walk(hand: Hand, selection: Selection, limit: int) -> list[Reached]:
    """Give all pages; each but the last is full."""
    rows: list[Reached] = []
    after: Cursor | str | None = None
    while True:
        page = hand.store.reach(SPACE, selection, after=after, limit=limit)
        assert len(page.rows) <= limit
        assert page.cursor is None or len(page.rows) == limit
        rows += page.rows
        after = page.cursor
        if after is None:
            return rows


class ReachConformance(Conformance):
    """A purge can be asked before what it would do, and told what must be so."""

    @pytest.fixture
    def mixed(self, hand: Hand) -> Hand:
        """Give a hand with documents that stand in an index, and some that only stood there once."""
        for number in range(5):
            hand.put(f"k{number}", type="t", size=9 - number, text=f"word {number}")
        hand.put("k1", type="t", size=8, text="again")
        hand.put("moved", type="t", size=1)
        hand.put("moved", type="u", size=1)
        hand.put("gone", type="t", size=1)
        hand.delete("gone")
        hand.put("back", type="t", size=20)
        hand.delete("back")
        hand.put("back", type="t", size=20)
        hand.put("other", type="u", size=1)
        return hand

    @pytest.mark.parametrize("limit", [1, 2, 3, 6, 7, 8, 100])
    def test_it_tells_what_a_purge_would_reach(self, mixed: Hand, limit: int) -> None:
        before = snapshot(mixed.store)
        rows = walk(mixed, ALL, limit)
        assert [row.key for row in rows] == ["k4", "k3", "k2", "k1", "k0", "back", "gone", "moved"]
        told = {row.key: row for row in rows}
        assert told["k4"] == Reached("k4", True, False, 1, 5)
        assert told["k1"] == Reached("k1", True, False, 2, 2)
        assert told["gone"] == Reached("gone", False, False, 2, 9)
        assert told["moved"] == Reached("moved", True, True, 2, 7)
        assert told["back"] == Reached("back", True, False, 3, 11)
        assert snapshot(mixed.store) == before
        documents = sum(row.exists and not row.stays for row in rows)
        assert mixed.store.purge(SPACE, ALL, now=5)[:3] == (documents, sum(row.images for row in rows), True)
        assert mixed.store.reach(SPACE, ALL) == Reach([], None)

    def test_by_keys_it_tells_what_remains_of_them(self, mixed: Hand) -> None:
        page = mixed.store.reach(SPACE, Selection(F, ("gone", "k0", "never", "moved")), limit=1)
        assert page == Reach(
            [
                Reached("gone", False, False, 2, 9),
                Reached("k0", True, False, 1, 1),
                Reached("moved", True, False, 2, 7),
            ],
            None,
        )
        mixed.store.purge(SPACE, ALL, now=5)
        # images of what stands elsewhere are gone, the document is not
        assert mixed.store.reach(SPACE, Selection(F, ("gone", "moved"))).rows == [
            Reached("moved", True, False, 0, None)
        ]

    def test_keys_within_an_index(self, mixed: Hand) -> None:
        some = ("moved", "other", "k0", "gone", "never", "k0")
        chosen = Selection(F, some, "size", ("t",))
        assert [(row.key, row.stays) for row in mixed.store.reach(SPACE, chosen).rows] == [
            ("moved", True),
            ("k0", False),
            ("gone", False),
        ]
        assert mixed.store.purge(SPACE, chosen, now=5)[:3] == (1, 5, True)
        assert mixed.body("moved") == {"type": "u", "size": 1}
        assert not mixed.absent("other")
        assert [row.key for row in walk(mixed, ALL, 100)] == ["k4", "k3", "k2", "k1", "back"]
        assert mixed.store.verify() == []

    def test_an_unknown_space_reaches_nothing(self, hand: Hand) -> None:
        assert hand.store.reach("nowhere", ALL) == Reach([], None)
        assert hand.store.reach("nowhere", Named("actor", "ana")) == Reach([], None)
        assert hand.store.spaces() == []

    @pytest.mark.parametrize(
        ("expectation", "error"),
        [
            (b.AtRevision(F, "k0", 99), Conflict),
            (b.Absent(F, "k0"), Conflict),
            (b.Unchanged(F, "label", ("l",), 0, 0), Conflict),
            (b.Unchanged(F, "size", ("u",), 0, 0), Conflict),
            (b.NotPurged(((F, "lost"),), 0), SourcePurged),
        ],
    )
    def test_it_is_refused_when_an_expectation_does_not_hold(
        self, mixed: Hand, expectation: b.Expectation, error: type[Exception]
    ) -> None:
        mixed.put("labelled", labels=["l"], size=1)
        mixed.put("lost")
        mixed.store.purge(SPACE, Selection(F, ("lost",)), now=5)
        before = snapshot(mixed.store)
        for selection in (ALL, Selection(F, ("k0",)), Named("actor", "nobody")):
            with pytest.raises(error):
                mixed.store.purge(SPACE, selection, now=5, expectations=[expectation])
        assert snapshot(mixed.store) == before
        with pytest.raises(error):
            mixed.store.purge(SPACE, ALL, now=5, expectations=[b.Absent(F, "never"), expectation])
        assert snapshot(mixed.store) == before

    def test_it_goes_through_when_expectations_hold(self, mixed: Hand) -> None:
        expected = (
            b.Unchanged(F, "label", ("l",), 0, 0),
            b.AtRevision(F, "k0", 1),
            b.Absent(F, "gone"),
            b.NotPurged(((F, "k0"),), 0),
        )
        purged = mixed.store.purge(SPACE, Selection(F, ("k0",)), now=5, expectations=expected)
        assert purged[:3] == (1, 1, True)

    @pytest.mark.parametrize("limit", [1, 2, 100])
    @pytest.mark.parametrize("part", ["actor", "session"])
    def test_a_name_goes_from_the_log(self, hand: Hand, part: str, limit: int) -> None:
        other = "session" if part == "actor" else "actor"
        for name in ("ana", "ben", "ana", "anab", "ANA"):
            hand.send(b.Put(F, name, {"n": 1}), **{part: name, other: "ana"}, reason=f"for {name}")  # type: ignore[arg-type]
        named = Named(part, "ana")  # type: ignore[arg-type]
        before = hand.store.log(SPACE, LogQuery(reverse=False))
        assert hand.store.reach(SPACE, named) == Reach([], None, 2)
        removed = 0
        while True:
            purged = hand.store.purge(SPACE, named, now=5, limit=limit)
            assert purged[:2] == (0, 0)
            removed += purged.entries
            if purged.done:
                break
        assert removed == 2
        after = hand.store.log(SPACE, LogQuery(reverse=False, high=6))
        cleared = [
            entry._replace(reason=None, **{part: None}) if getattr(entry, part) == "ana" else entry  # type: ignore[arg-type]
            for entry in before
        ]
        assert after == cleared
        assert hand.store.log(SPACE, LogQuery(**{part: "ana"})) == []  # type: ignore[arg-type]
        assert hand.store.purge(SPACE, named, now=5) == Purged(0, 0, True, None, 0)
        assert purged.position == hand.store.position(SPACE)
        assert hand.store.log(SPACE, LogQuery(limit=1))[0].changes == ()
        assert hand.store.verify() == []

    def test_a_reason_goes_with_the_first_image(self, hand: Hand) -> None:
        hand.send(b.Put(F, "a", {}), b.Put(F, "b", {}), actor="ben", reason="because a said so", session="s")
        hand.store.purge(SPACE, Selection(F, ("a",)), now=5)
        entry = hand.store.log(SPACE, LogQuery(reverse=False))[0]
        assert (entry.actor, entry.reason, entry.session) == ("ben", None, "s")
        hand.store.purge(SPACE, Selection(F, ("b",)), now=5)
        entry = hand.store.log(SPACE, LogQuery(reverse=False))[0]
        assert (entry.actor, entry.reason, entry.session) == (None, None, None)
