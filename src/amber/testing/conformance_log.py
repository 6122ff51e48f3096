"""The log: who changed what, when, and what takes what back."""

from __future__ import annotations

from typing import Any

import pytest

from amber.errors import TooLarge
from amber.model import batch as b
from amber.store.contract import Change, LogQuery, Selection
from amber.testing.conformance import Conformance
from amber.testing.samples import SPACE, Hand

F = "facts"


class LogConformance(Conformance):
    """One entry for each commit, found by position, key, session, actor and time."""

    @pytest.fixture
    def written(self, hand: Hand) -> Hand:
        """Give a hand that wrote six entries in turn: by ana and ben, in sessions s1 and s2."""
        writes: list[tuple[str, str | None, str | None, tuple[b.Write, ...]]] = [
            ("one", "ana", "s1", (b.Put(F, "a", {"n": 1}), b.Put(F, "b", {"n": 1}))),
            ("two", "ben", "s1", (b.Put(F, "a", {"n": 2}),)),
            ("three", "ana", "s2", (b.Append("notes", "a", {"text": "x"}),)),
            ("four", None, None, (b.Add(F, "a", "n", 5),)),
            ("five", "ana", None, (b.Delete(F, "a"), b.Put("notes", "a", {"text": "y"}))),
            ("six", "ben", "s1", (b.Put(F, "b", {"n": 2}),)),
        ]
        for place, (name, actor, session, each) in enumerate(writes, 1):
            hand.send(*each, operation=name, actor=actor, session=session, at=place * 100, reason=f"reason {place}")
        return hand

    def positions(self, hand: Hand, **query: Any) -> list[int]:
        """Give the positions that a query finds."""
        return [entry.position for entry in hand.store.log(SPACE, LogQuery(**query))]

    def test_images_where_the_log_keeps_both(self, written: Hand) -> None:
        changes = [entry.changes for entry in written.store.log(SPACE, LogQuery(reverse=False, key=(F, "a")))]
        assert changes == [
            (Change(F, "a", "put", None, {"n": 1}), Change(F, "b", "put", None, {"n": 1})),
            (Change(F, "a", "put", {"n": 1}, {"n": 2}),),
            (Change(F, "a", "add", None, None, {"n": 5}),),
            (Change(F, "a", "delete", {"n": 7}, None), Change("notes", "a", "put", {"text": "x"}, {"text": "y"})),
        ]

    def test_newest_first_unless_asked_otherwise(self, written: Hand) -> None:
        assert self.positions(written) == [6, 5, 4, 3, 2, 1]
        assert self.positions(written, reverse=False) == [1, 2, 3, 4, 5, 6]

    @pytest.mark.parametrize("reverse", [False, True])
    def test_by_key_session_and_actor(self, written: Hand, reverse: bool) -> None:
        def ordered(*positions: int) -> list[int]:
            return sorted(positions, reverse=reverse)

        assert self.positions(written, key=(F, "a"), reverse=reverse) == ordered(1, 2, 4, 5)
        assert self.positions(written, key=("notes", "a"), reverse=reverse) == ordered(3, 5)
        assert self.positions(written, key=(F, "b"), reverse=reverse) == ordered(1, 6)
        assert self.positions(written, key=(F, "never"), reverse=reverse) == []
        assert self.positions(written, session="s1", reverse=reverse) == ordered(1, 2, 6)
        assert self.positions(written, session="s", reverse=reverse) == []
        assert self.positions(written, actor="ana", reverse=reverse) == ordered(1, 3, 5)
        assert self.positions(written, actor="ANA", reverse=reverse) == []

    @pytest.mark.parametrize("choice", [{}, {"key": (F, "a")}, {"session": "s1"}, {"actor": "ana"}])
    def test_ranges_are_half_open(self, written: Hand, choice: dict[str, Any]) -> None:
        everything = self.positions(written, reverse=False, **choice)
        for low in (None, 0, 1, 2, 5, 6, 7, 99):
            for high in (None, 0, 1, 2, 5, 6, 7, 99):
                wanted = [p for p in everything if (low is None or p >= low) and (high is None or p < high)]
                assert self.positions(written, low=low, high=high, reverse=False, **choice) == wanted
                assert self.positions(written, low=low, high=high, **choice) == wanted[::-1]

    @pytest.mark.parametrize("reverse", [False, True])
    @pytest.mark.parametrize("choice", [{}, {"key": (F, "a")}, {"session": "s1"}, {"actor": "ana"}])
    @pytest.mark.parametrize("part", [{}, {"low": 2}, {"high": 6}, {"low": 2, "high": 5}])
    def test_offset_passes_over_entries_of_the_answer(
        self, written: Hand, choice: dict[str, Any], part: dict[str, Any], reverse: bool
    ) -> None:
        query = {**choice, **part, "reverse": reverse}
        everything = self.positions(written, **query)
        for offset in range(8):
            assert self.positions(written, **query, offset=offset) == everything[offset:]
            assert self.positions(written, **query, offset=offset, limit=2) == everything[offset : offset + 2]
            named = self.positions(written, **query, positions=(1, 2, 5), offset=offset)
            assert named == [each for each in everything if each in (1, 2, 5)][offset:]

    def test_positions_name_entries(self, written: Hand) -> None:
        assert self.positions(written, positions=(5, 2, 99, 2)) == [5, 2]
        assert self.positions(written, positions=(5, 2), reverse=False) == [2, 5]
        assert self.positions(written, positions=(5, 2, 1), session="s1") == [2, 1]
        assert self.positions(written, positions=()) == []
        assert written.store.log(SPACE, LogQuery(positions=(5,))) == written.store.log(SPACE, LogQuery(low=5, high=6))
        with pytest.raises(TooLarge):
            self.positions(written, positions=tuple(range(10_001)))

    def test_images_that_nobody_asked_for_are_left_out(self, written: Hand) -> None:
        whole = written.store.log(SPACE, LogQuery())
        assert written.store.log(SPACE, LogQuery(images="none")) == [entry._replace(changes=()) for entry in whole]
        without = [
            entry._replace(changes=tuple(change._replace(after=None) for change in entry.changes)) for entry in whole
        ]
        assert written.store.log(SPACE, LogQuery(images="before")) == without

    def test_limit(self, written: Hand) -> None:
        assert self.positions(written, limit=2) == [6, 5]
        assert self.positions(written, limit=2, reverse=False) == [1, 2]
        assert self.positions(written, limit=1, actor="ana", high=5) == [3]
        assert self.positions(written, limit=2, key=(F, "a")) == [5, 4]

    def test_an_entry_holds_all_its_changes_whatever_was_asked(self, written: Hand) -> None:
        (entry,) = written.store.log(SPACE, LogQuery(key=(F, "b"), high=2))
        assert [change.key for change in entry.changes] == ["a", "b"]

    def test_what_takes_what_back(self, written: Hand) -> None:
        written.send(b.Put(F, "b", {"n": 1}), undoes=(6,))
        written.send(b.Put(F, "b", {"n": 2}), undoes=(7,))
        written.send(b.Put(F, "b", {"n": 1}), b.Put(F, "c", {}), undoes=(6, 2))
        entries = {entry.position: entry for entry in written.store.log(SPACE, LogQuery())}
        assert [entries[position].undoes for position in (6, 7, 8, 9)] == [(), (6,), (7,), (6, 2)]
        assert [entries[position].undone_by for position in (1, 2, 6, 7, 8, 9)] == [(), (9,), (7, 9), (8,), (), ()]

    def test_a_touch_does_not_take_back(self, hand: Hand) -> None:
        hand.put("a", n=1)
        assert hand.send(b.Touch(F, "a", {"seen": 1}), undoes=(1,)).position is None
        assert hand.store.log(SPACE, LogQuery())[0].undone_by == ()

    def test_position_at(self, written: Hand) -> None:
        found = [written.store.position_at(SPACE, at) for at in (0, 99, 100, 101, 350, 599, 600, 10**15)]
        assert found == [0, 0, 1, 1, 3, 5, 6, 6]

    def test_position_at_a_time_that_several_share(self, hand: Hand) -> None:
        for at in (100, 50, 100, 200):
            hand.send(b.Put(F, "a", {"n": at}), at=at)
        assert [hand.store.position_at(SPACE, at) for at in (50, 99, 100, 199, 200)] == [0, 0, 3, 3, 4]
        assert hand.store.position_at("nowhere", 100) == 0

    def test_an_unknown_space_has_no_log(self, hand: Hand) -> None:
        assert hand.store.log("nowhere", LogQuery()) == []
        assert hand.store.log("nowhere", LogQuery(key=(F, "a"), reverse=False)) == []

    def test_many_entries(self, hand: Hand) -> None:
        for number in range(150):
            hand.put(f"k{number % 3}", n=number)
        assert len(hand.store.log(SPACE, LogQuery())) == 100
        assert self.positions(hand, limit=10_000, reverse=False) == list(range(1, 151))
        assert self.positions(hand, key=(F, "k1"), limit=3, high=100) == [98, 95, 92]

    def test_a_purged_change_stays_as_a_mark(self, written: Hand) -> None:
        written.store.purge(SPACE, Selection(F, ("a",)), now=5)
        first = written.store.log(SPACE, LogQuery(reverse=False, limit=1))[0]
        assert first.changes == (
            Change(F, "a", "put", None, None, None, True),
            Change(F, "b", "put", None, {"n": 1}),
        )
        assert self.positions(written, key=(F, "a")) == [5, 4, 2, 1]
