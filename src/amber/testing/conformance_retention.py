"""Retention: the oldest log entries are purged, all else stays as it is."""

from __future__ import annotations

import pytest

from amber.errors import BadInput
from amber.model import batch as b
from amber.store.contract import Horizon, LogQuery, Oldest, Purged, Selection, Store
from amber.testing.conformance import Conformance
from amber.testing.samples import COLLECTIONS, SPACE, Hand, MakeStore, snapshot

F = "facts"


def trimmed(store: Store, upto: int, limit: int = 10_000, space: str = SPACE) -> Purged:
    """Purge the oldest entries."""
    return store.purge(space, Oldest(upto), now=5, limit=limit)


def positions(store: Store, **query: object) -> list[int]:
    """Give the positions of the log that a query finds, oldest first."""
    return [entry.position for entry in store.log(SPACE, LogQuery(reverse=False, limit=1_000, **query))]  # type: ignore[arg-type]


class RetentionConformance(Conformance):
    """Positions begin after the horizon; documents, later entries and undo marks stay."""

    @pytest.fixture
    def written(self, hand: Hand) -> Hand:
        """Give a hand that wrote ten entries, at the times 100, 200 ..."""
        for number in range(1, 11):
            body = {"type": "t", "size": number, "name": f"n{number}", "text": f"word{number}", "labels": ["l"]}
            hand.send(
                b.Put(F, f"k{number % 4}", body),
                b.Add(F, "count", "n", 1, initial={}),
                actor="ana" if number % 2 else "ben",
                session="s",
                operation=f"op{number}",
                at=number * 100,
            )
        return hand

    def test_a_log_that_was_never_trimmed_begins_at_one(self, written: Hand) -> None:
        assert written.store.horizon(SPACE) == written.store.horizon("nowhere") == Horizon(0, 0, frozenset())
        assert trimmed(written.store, 0) == trimmed(written.store, 5, space="nowhere") == Purged(0, 0, True)
        assert positions(written.store) == [*range(1, 11)]

    def test_the_log_goes_and_the_documents_stay(self, written: Hand) -> None:
        store = written.store
        keys = ["k0", "k1", "k2", "k3", "count"]
        before = [store.get_many(SPACE, F, keys), store.stats(SPACE)._replace(bytes=None)]
        kept = store.log(SPACE, LogQuery(low=7))
        assert trimmed(store, 6) == Purged(0, 12, True)
        assert store.horizon(SPACE) == Horizon(6, 600, frozenset())
        assert store.log(SPACE, LogQuery(limit=100)) == kept
        assert [store.get_many(SPACE, F, keys), store.stats(SPACE)._replace(bytes=None)] == before
        assert store.position(SPACE) == 10
        assert store.verify() == []
        assert trimmed(store, 6) == trimmed(store, 3) == Purged(0, 0, True)

    def test_what_lies_below_is_not_there(self, written: Hand) -> None:
        store = written.store
        trimmed(store, 6)
        assert positions(store, low=1, high=8) == [7]
        assert positions(store, high=7) == []
        assert positions(store, actor="ana") == [7, 9]
        assert positions(store, session="s") == [7, 8, 9, 10]
        assert positions(store, key=(F, "k2")) == [10]
        assert positions(store, key=(F, "k0")) == [8]
        assert [store.position_at(SPACE, at) for at in (0, 599, 600, 650, 700, 10**9)] == [0, 0, 6, 6, 7, 10]
        assert store.time(SPACE) == 1_000

    def test_operations_that_are_gone_are_not_known(self, written: Hand) -> None:
        store = written.store
        trimmed(store, 6)
        assert store.receipt(SPACE, "op6") is None
        assert store.receipt(SPACE, "op7") == (7, "op7", 700, True)
        assert written.send(b.Put(F, "x", {}), operation="op6", at=1_100).position == 11
        assert written.send(b.Put(F, "x", {}), operation="op7", at=1_100).repeated

    def test_the_whole_log_may_go(self, written: Hand) -> None:
        store = written.store
        assert trimmed(store, 10**6).done
        assert (store.horizon(SPACE), store.position(SPACE), store.time(SPACE)) == (Horizon(10, 1_000), 10, 1_000)
        assert store.log(SPACE, LogQuery()) == []
        assert store.position_at(SPACE, 2_000) == 10
        assert store.verify() == []
        assert store.spaces() == [SPACE]
        receipt = written.send(b.Put(F, "k1", {"name": "n"}), at=50)
        assert receipt == (11, store.log(SPACE, LogQuery())[0].operation, 1_000, False)
        assert store.purge(SPACE, Selection(F, ("k2",)), now=20).position == 12
        assert store.verify() == []
        assert positions(store) == [11, 12]

    @pytest.mark.parametrize("limit", [1, 2, 3, 5, 100])
    def test_in_chunks_oldest_first(self, written: Hand, limit: int) -> None:
        store, calls = written.store, 0
        written.send(*(b.Put(F, f"many{n}", {}) for n in range(20)), at=1_200)
        while True:
            done = trimmed(store, 11, limit).done
            calls += 1
            assert positions(store) == [*range(store.horizon(SPACE).position + 1, 12)]
            assert store.verify() == []
            if done:
                break
            # an entry of 20 changes goes alone when it is over the limit
            assert calls < 12
        assert store.horizon(SPACE).position == 11
        assert calls == {1: 11, 2: 11, 3: 11, 5: 6, 100: 1}[limit]

    def test_undo_marks_of_what_is_left(self, hand: Hand) -> None:
        store = hand.store
        for number in range(1, 4):
            hand.put("a", n=number)
        hand.send(b.Put(F, "a", {"n": 2}), undoes=(3,))
        hand.send(b.Put(F, "a", {"n": 3}), undoes=(4,))
        hand.send(b.Put(F, "a", {"n": 1}), undoes=(3, 2))
        hand.send(b.Put(F, "a", {"n": 3}), undoes=(6,))
        hand.send(b.Put(F, "a", {"n": 1}), undoes=(7,))
        horizons = []
        for upto in range(1, 9):
            trimmed(store, upto)
            horizons.append(sorted(store.horizon(SPACE).undos))
            for entry in store.log(SPACE, LogQuery()):
                assert entry.undone_by == {2: (6,), 3: (4, 6), 4: (5,), 6: (7,), 7: (8,)}.get(entry.position, ())
                assert entry.undoes == {4: (3,), 5: (4,), 6: (3, 2), 7: (6,), 8: (7,)}.get(entry.position, ())
        # 5 takes back the undo 4, 7 the undo 6; 8 takes back 7, which is a redo
        assert horizons == [[], [], [], [4], [], [6], [], []]
        assert store.verify() == []

    def test_a_long_chain_cut_in_many_places(self, hand: Hand) -> None:
        hand.put("a", n=0)
        for number in range(1, 12):
            hand.send(b.Put(F, "a", {"n": number % 2}), undoes=(number,))
        for upto in (3, 4, 7, 8, 11):
            trimmed(hand.store, upto)
            # what takes the newest trimmed entry back is left; every second one is an undo
            assert sorted(hand.store.horizon(SPACE).undos) == ([upto] if upto % 2 == 0 else [])

    def test_marks_of_purges_stay(self, written: Hand) -> None:
        written.store.purge(SPACE, Selection(F, ("k1",)), now=2_000)
        trimmed(written.store, 11)
        with pytest.raises(Exception, match="forgotten"):
            written.send(b.Put(F, "x", {}), expect=[b.NotPurged(((F, "k1"),), 10)])
        assert written.send(b.Put(F, "x", {}), expect=[b.NotPurged(((F, "k1"),), 11)]).position == 12

    def test_expectations_hold_as_before(self, written: Hand) -> None:
        size = written.store.count(SPACE, F, "size", ("t",))
        revision = written.get("k3").revision
        trimmed(written.store, 10)
        written.send(
            b.Put(F, "x", {}),
            expect=[b.AtRevision(F, "k3", revision), b.Unchanged(F, "size", ("t",), 10, size), b.Absent(F, "never")],
        )
        with pytest.raises(Exception, match="changed since"):
            written.send(b.Put(F, "x", {}), expect=[b.Unchanged(F, "size", ("t",), revision - 1, size)])

    def test_a_purge_by_index_still_reaches_what_is_left(self, hand: Hand) -> None:
        hand.put("a", type="old", size=1)
        hand.put("b", type="old", size=1)
        hand.put("a", type="new", size=1)
        hand.put("b", type="new", size=1)
        hand.put("a", type="newer", size=1)
        trimmed(hand.store, 4)
        # all images of b are gone, and with them what a purge would have to look for
        assert hand.store.purge(SPACE, Selection(F, by="size", equal=("old",)), now=9)[:2] == (0, 1)
        assert hand.store.log(SPACE, LogQuery(high=6))[0].changes[0].purged
        assert hand.body("b") == {"type": "new", "size": 1}
        assert hand.store.purge(SPACE, Selection(F, by="size", equal=("old",)), now=9) == Purged(0, 0, True)

    def test_other_spaces_are_untouched(self, written: Hand) -> None:
        written.send(b.Put(F, "a", {"text": "word"}), space="other")
        before = snapshot(written.store, "other")
        trimmed(written.store, 10)
        assert snapshot(written.store, "other") == before

    def test_a_bad_bound_is_refused(self, make_store: MakeStore) -> None:
        store = make_store(COLLECTIONS)
        for upto, limit in ((-1, 5), (True, 5), ("1", 5), (1, 0), (1, 10**6), (2**63, 5)):
            with pytest.raises(BadInput):
                store.purge(SPACE, Oldest(upto), now=5, limit=limit)  # type: ignore[arg-type]
