"""Claims: who gets which row, for how long, and how a lease is lost."""

from __future__ import annotations

import pytest

from amber.errors import LeaseLost
from amber.model import batch as b
from amber.store.contract import Lease, QueueState, Selection
from amber.testing.conformance import Conformance, together
from amber.testing.samples import COLLECTIONS, ERRANDS, SPACE, Hand, MakeStore

J = "jobs"


class QueueConformance(Conformance):
    """The queue of two collections, by due time."""

    def claim(self, hand: Hand, n: int = 10, *, now: int = 1_000, lease: int = 100) -> list[str]:
        """Claim and give the keys."""
        return [each.key for each in hand.store.claim(SPACE, "work", n, lease=lease, now=now)]

    def test_earliest_first_then_key_then_collection(self, hand: Hand) -> None:
        hand.put("c", J, due=20)
        hand.put("b", J, due=30)
        hand.put("a", J, due=30)
        hand.put("d", "errands", due=10)
        hand.put("a", "errands", due=30)
        found = hand.store.claim(SPACE, "work", 10, lease=100, now=30)
        assert [(lease.collection, lease.key) for lease in found] == [
            ("errands", "d"),
            (J, "c"),
            ("errands", "a"),
            (J, "a"),
            (J, "b"),
        ]

    def test_a_lease_holds_everything(self, hand: Hand) -> None:
        hand.put("a", J, due=20, what={"deep": [1]})
        assert hand.store.claim(SPACE, "work", 1, lease=100, now=50) == [
            Lease(J, "a", 1, 1, 150, {"due": 20, "what": {"deep": [1]}})
        ]
        assert hand.store.queued(SPACE, J, "a") == QueueState(150, 1, 1)

    def test_only_what_is_due(self, hand: Hand) -> None:
        hand.put("a", J, due=49)
        hand.put("b", J, due=50)
        hand.put("c", J, due=51)
        hand.put("d", J, due=None)
        hand.put("e", J, other=1)
        hand.put("f", J, due=-5)
        assert self.claim(hand, now=50) == ["f", "a", "b"]
        assert hand.store.queued(SPACE, J, "c") == QueueState(51, 0, 0)
        assert hand.store.queued(SPACE, J, "d") is None
        assert hand.store.queued(SPACE, J, "never") is None

    def test_no_more_than_asked(self, hand: Hand) -> None:
        hand.send(*(b.Put(J, f"k{n}", {"due": n}) for n in range(5)))
        assert self.claim(hand, 2) == ["k0", "k1"]
        assert self.claim(hand, 2) == ["k2", "k3"]
        assert self.claim(hand, 2) == ["k4"]
        assert self.claim(hand, 2) == []

    def test_an_expired_lease_is_handed_out_again(self, hand: Hand) -> None:
        hand.put("a", J, due=0)
        assert self.claim(hand, now=1_000) == ["a"]
        assert self.claim(hand, now=1_099) == []
        (again,) = hand.store.claim(SPACE, "work", 1, lease=100, now=1_100)
        assert (again.epoch, again.attempts, again.due_at) == (2, 2, 1_200)

    def test_a_claim_is_neither_logged_nor_a_revision(self, hand: Hand) -> None:
        revision = hand.put("a", J, due=0)
        self.claim(hand)
        assert hand.store.position(SPACE) == 1
        assert hand.get("a", J) == ("a", revision, revision, {"due": 0})
        assert hand.store.verify() == []

    def test_a_renewed_lease_lasts_longer(self, hand: Hand) -> None:
        hand.put("a", J, due=0)
        self.claim(hand, now=1_000)
        hand.send(b.Reschedule(J, "a", 2_000), expect=[b.Leased(J, "a", 1)])
        assert self.claim(hand, now=1_500) == []
        assert hand.store.queued(SPACE, J, "a") == QueueState(2_000, 1, 1)

    def test_a_released_lease_is_due_at_once(self, hand: Hand) -> None:
        hand.put("a", J, due=0)
        self.claim(hand, now=1_000)
        hand.send(b.Reschedule(J, "a", 1_000, attempts=0), expect=[b.Leased(J, "a", 1)])
        (lease,) = hand.store.claim(SPACE, "work", 1, lease=100, now=1_000)
        assert (lease.epoch, lease.attempts) == (2, 1)

    def test_a_put_that_moves_the_due_time_takes_the_lease_away(self, hand: Hand) -> None:
        hand.put("a", J, due=0)
        self.claim(hand, now=1_000)
        hand.put("a", J, due=500)
        assert hand.store.queued(SPACE, J, "a") == QueueState(500, 2, 1)
        with pytest.raises(LeaseLost):
            hand.send(b.Put(J, "a", {"due": None}), expect=[b.Leased(J, "a", 1)])
        assert self.claim(hand, now=1_000) == ["a"]

    def test_other_writes_leave_the_lease(self, hand: Hand) -> None:
        hand.put("a", J, due=0)
        self.claim(hand, now=1_000)
        hand.put("a", J, due=0, more=1)
        hand.send(b.Touch(J, "a", {"seen": 1}))
        hand.send(b.Add(J, "a", "n", 1))
        assert hand.store.queued(SPACE, J, "a") == QueueState(1_100, 1, 1)
        hand.send(b.Put(J, "a", {"due": None}), expect=[b.Leased(J, "a", 1)])

    def test_a_finished_document_leaves_the_queue(self, hand: Hand) -> None:
        hand.put("a", J, due=0)
        self.claim(hand, now=1_000)
        hand.send(b.Put(J, "a", {"due": None, "state": "done"}), expect=[b.Leased(J, "a", 1)])
        assert hand.store.queued(SPACE, J, "a") == QueueState(None, 2, 1)
        assert self.claim(hand, now=10_000) == []

    def test_attempts_start_anew_when_it_comes_back(self, hand: Hand) -> None:
        hand.put("a", J, due=0)
        self.claim(hand, now=1_000)
        hand.put("a", J, due=None)
        hand.put("a", J, due=7)
        assert hand.store.queued(SPACE, J, "a") == QueueState(7, 3, 0)

    def test_epochs_never_come_twice(self, hand: Hand) -> None:
        seen: list[int] = []
        now = 1_000
        for _ in range(3):
            hand.put("a", J, due=0)
            for _ in range(2):
                now += 1_000
                seen += [lease.epoch for lease in hand.store.claim(SPACE, "work", 1, lease=100, now=now)]
            hand.delete("a", J)
        hand.put("a", J, due=0)
        hand.store.purge(SPACE, Selection(J, ("a",)), now=5)
        hand.put("a", J, due=0)
        seen += [lease.epoch for lease in hand.store.claim(SPACE, "work", 1, lease=100, now=now)]
        assert len(seen) == 7
        assert seen == sorted(set(seen))

    def test_a_lease_from_before_a_purge_is_lost(self, hand: Hand) -> None:
        hand.put("a", J, due=0)
        (old,) = hand.store.claim(SPACE, "work", 1, lease=100, now=1_000)
        hand.store.purge(SPACE, Selection(J, ("a",)), now=5)
        hand.put("a", J, due=0)
        hand.store.claim(SPACE, "work", 1, lease=100, now=1_000)
        with pytest.raises(LeaseLost):
            hand.send(b.Put(J, "a", {"due": None}), expect=[b.Leased(J, "a", old.epoch)])

    def test_deleted_and_purged_documents_are_not_handed_out(self, hand: Hand) -> None:
        hand.put("a", J, due=0)
        hand.put("b", J, due=0)
        hand.delete("a", J)
        hand.store.purge(SPACE, Selection(J, ("b",)), now=5)
        assert self.claim(hand) == []
        assert hand.store.due_spaces("work", 10_000) == []
        assert hand.store.verify() == []

    def test_many_threads_claim_each_row_once(self, hand: Hand) -> None:
        hand.send(*(b.Put(J, f"k{n:03}", {"due": n}) for n in range(60)))
        got: list[str] = []

        def work() -> None:
            while True:
                keys = self.claim(hand, 3)
                if not keys:
                    return
                got.extend(keys)

        together([work] * 4)
        assert sorted(got) == [f"k{n:03}" for n in range(60)]

    def test_spaces_with_due_rows_earliest_first(self, hand: Hand) -> None:
        for space, due in (("late", 300), ("early", 100), ("never", 900), ("middle", 200), ("same", 200)):
            hand.send(b.Put(J, "a", {"due": due}), b.Put(J, "b", {"due": 800}), space=space)
        assert hand.store.due_spaces("work", 500) == ["early", "middle", "same", "late"]
        assert hand.store.due_spaces("work", 500, limit=2) == ["early", "middle"]
        assert hand.store.due_spaces("work", 99) == []
        assert hand.store.due_spaces("nothing", 500) == []
        hand.store.claim("early", "work", 1, lease=10_000, now=500)
        assert hand.store.due_spaces("work", 500) == ["middle", "same", "late"]

    def test_a_claim_stays_in_its_space(self, hand: Hand) -> None:
        hand.send(b.Put(J, "a", {"due": 0}), space="other")
        assert self.claim(hand) == []
        assert hand.store.spaces() == ["other"]
        assert len(hand.store.claim("other", "work", 10, lease=1, now=0)) == 1

    def test_a_store_without_the_other_collection(self, make_store: MakeStore) -> None:
        store = make_store([each for each in COLLECTIONS if each is not ERRANDS])
        hand = Hand(store)
        hand.put("a", J, due=0)
        assert self.claim(hand) == ["a"]
        store.close()
