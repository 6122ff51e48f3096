"""Several writes to one key in one batch: what is kept, and what the log says of it."""

from __future__ import annotations

from typing import Any

import pytest

from amber.errors import Conflict, NotFound
from amber.model import batch as b
from amber.store.contract import Change, LogQuery
from amber.testing.conformance import Conformance
from amber.testing.samples import SPACE, Hand

PUT, PUT_2 = b.Put("facts", "a", {"n": 1}), b.Put("facts", "a", {"n": 2})
DELETE = b.Delete("facts", "a")
APPEND = b.Append("facts", "a", {"n": 9})
ADD, ADD_5 = b.Add("facts", "a", "n", 3), b.Add("facts", "a", "n", 5)
MAKE = b.Add("facts", "a", "n", 3, initial={"n": 10, "made": True})
TOUCH = b.Touch("facts", "a", {"seen": 4})

#: writes -> the body afterwards, and the change in the log: kind, before, after, deltas. None: nothing is logged.
ON_ABSENT: dict[str, tuple[tuple[b.Write, ...], Any, Any]] = {
    "put": ((PUT,), {"n": 1}, ("put", None, {"n": 1}, None)),
    "put, put": ((PUT, PUT_2), {"n": 2}, ("put", None, {"n": 2}, None)),
    "put, add": ((PUT, ADD), {"n": 4}, ("put", None, {"n": 4}, None)),
    "put, touch": ((PUT, TOUCH), {"n": 1, "seen": 4}, ("put", None, {"n": 1, "seen": 4}, None)),
    "put, delete": ((PUT, DELETE), None, None),
    "put, delete, put": ((PUT, DELETE, PUT_2), {"n": 2}, ("put", None, {"n": 2}, None)),
    "append, put": ((APPEND, PUT_2), {"n": 2}, ("put", None, {"n": 2}, None)),
    "append, delete, append": ((APPEND, DELETE, APPEND), {"n": 9}, ("put", None, {"n": 9}, None)),
    "delete": ((DELETE,), None, None),
    "delete, put": ((DELETE, PUT), {"n": 1}, ("put", None, {"n": 1}, None)),
    "delete, append": ((DELETE, APPEND), {"n": 9}, ("put", None, {"n": 9}, None)),
    "touch": ((TOUCH,), None, None),
    "touch, put": ((TOUCH, PUT), {"n": 1}, ("put", None, {"n": 1}, None)),
    "make": ((MAKE,), {"n": 13, "made": True}, ("put", None, {"n": 13, "made": True}, None)),
    "make, add": ((MAKE, ADD), {"n": 16, "made": True}, ("put", None, {"n": 16, "made": True}, None)),
    "make, make": ((MAKE, MAKE), {"n": 16, "made": True}, ("put", None, {"n": 16, "made": True}, None)),
    "make, delete": ((MAKE, DELETE), None, None),
}
OLD = {"n": 100, "old": True}
ON_PRESENT: dict[str, tuple[tuple[b.Write, ...], Any, Any]] = {
    "put": ((PUT,), {"n": 1}, ("put", OLD, {"n": 1}, None)),
    "put, put": ((PUT, PUT_2), {"n": 2}, ("put", OLD, {"n": 2}, None)),
    "put, add": ((PUT, ADD), {"n": 4}, ("put", OLD, {"n": 4}, None)),
    "put, delete": ((PUT, DELETE), None, ("delete", OLD, None, None)),
    "delete": ((DELETE,), None, ("delete", OLD, None, None)),
    "delete, delete": ((DELETE, DELETE), None, ("delete", OLD, None, None)),
    "delete, put": ((DELETE, PUT), {"n": 1}, ("put", OLD, {"n": 1}, None)),
    "delete, append": ((DELETE, APPEND), {"n": 9}, ("put", OLD, {"n": 9}, None)),
    "delete, make": ((DELETE, MAKE), {"n": 13, "made": True}, ("put", OLD, {"n": 13, "made": True}, None)),
    "delete, touch": ((DELETE, TOUCH), None, ("delete", OLD, None, None)),
    "add": ((ADD,), {**OLD, "n": 103}, ("add", None, None, {"n": 3})),
    "make": ((MAKE,), {**OLD, "n": 103}, ("add", None, None, {"n": 3})),
    "add, add": ((ADD, ADD_5), {**OLD, "n": 108}, ("add", None, None, {"n": 8})),
    "add, put": ((ADD, PUT), {"n": 1}, ("put", OLD, {"n": 1}, None)),
    "add, delete": ((ADD, DELETE), None, ("delete", OLD, None, None)),
    "add, touch": ((ADD, TOUCH), {**OLD, "n": 103, "seen": 4}, ("add", None, None, {"n": 3})),
    "touch": ((TOUCH,), {**OLD, "seen": 4}, None),
    "touch, add": ((TOUCH, ADD), {**OLD, "n": 103, "seen": 4}, ("add", None, None, {"n": 3})),
    "touch, put": ((TOUCH, PUT), {"n": 1}, ("put", OLD, {"n": 1}, None)),
    "touch, delete": ((TOUCH, DELETE), None, ("delete", OLD, None, None)),
}
REFUSED: dict[str, tuple[bool, tuple[b.Write, ...], type[Exception]]] = {
    "append on a present one": (True, (APPEND,), Conflict),
    "put, append": (False, (PUT, APPEND), Conflict),
    "append, append": (False, (APPEND, APPEND), Conflict),
    "add to an absent one": (False, (ADD,), NotFound),
    "delete, add": (True, (DELETE, ADD), NotFound),
    "put, delete, add": (False, (PUT, DELETE, ADD), NotFound),
}


class NetEffectConformance(Conformance):
    """The log holds one change for each document of a batch: from what was there before to what is there after."""

    @pytest.mark.parametrize("case", ON_ABSENT)
    def test_on_an_absent_document(self, hand: Hand, case: str) -> None:
        writes, body, change = ON_ABSENT[case]
        self._check(hand, writes, body, change)

    @pytest.mark.parametrize("case", ON_PRESENT)
    def test_on_a_present_document(self, hand: Hand, case: str) -> None:
        hand.put("a", **OLD)
        writes, body, change = ON_PRESENT[case]
        self._check(hand, writes, body, change)

    def _check(self, hand: Hand, writes: tuple[b.Write, ...], body: Any, change: Any) -> None:
        before = hand.store.position(SPACE)
        receipt = hand.send(*writes)
        record = hand.store.get(SPACE, "facts", "a")
        assert (record.body if record is not None else None) == body
        if change is None:
            assert receipt.position is None
            assert hand.store.position(SPACE) == before
        else:
            assert receipt.position == before + 1
            entry = hand.store.log(SPACE, LogQuery(limit=1))[0]
            assert entry.changes == (Change("facts", "a", *change),)
        if record is not None:
            assert record.created == 1
            assert record.revision == (receipt.position or before)
        assert hand.store.verify() == []

    @pytest.mark.parametrize("case", REFUSED)
    def test_refused(self, hand: Hand, case: str) -> None:
        present, writes, error = REFUSED[case]
        if present:
            hand.put("a", **OLD)
        before = hand.store.get(SPACE, "facts", "a")
        with pytest.raises(error):
            hand.send(b.Put("facts", "other", {}), *writes)
        assert hand.store.get(SPACE, "facts", "a") == before
        assert hand.absent("other")

    def test_an_append_keeps_no_image_where_the_log_keeps_only_the_one_before(self, hand: Hand) -> None:
        hand.send(b.Append("notes", "n", {"n": 1}), b.Touch("facts", "x", {"seen": 1}))
        hand.send(b.Put("notes", "m", {"n": 1}))
        hand.send(b.Put("notes", "n", {"n": 2}))
        hand.send(b.Delete("notes", "n"))
        changes = [entry.changes[0] for entry in hand.store.log(SPACE, LogQuery(reverse=False))]
        assert changes == [
            Change("notes", "n", "append", None, None),
            Change("notes", "m", "append", None, None),
            Change("notes", "n", "put", {"n": 1}, {"n": 2}),
            Change("notes", "n", "delete", {"n": 2}, None),
        ]

    def test_changes_keep_the_order_of_the_first_writes(self, hand: Hand) -> None:
        hand.send(*(b.Put("facts", key, {}) for key in ("c", "a", "b", "c")))
        assert [change.key for change in hand.store.log(SPACE, LogQuery())[0].changes] == ["c", "a", "b"]
