"""Export and load: a space as rows, and an equal space from them; whatever is missing in the rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import orjson
import pytest

from amber.errors import AmberError, BadInput, Conflict, SourcePurged, Unsupported
from amber.model import batch as b
from amber.store.contract import LOST, Clause, LogQuery, Oldest, SearchFilter, Selection, Store
from amber.store.rows import Departure, Document, Entry, Head, Image, Loaded, Mark, Place, Row, from_object, to_object
from amber.testing.conformance import Conformance
from amber.testing.samples import COLLECTIONS, SPACE, Hand, MakeStore, snapshot

F = "facts"
PUT = Image("facts", "a", "put", None, {}, None, False)
# without their types, since these are wrong
_document: Any = Document
_entry: Any = Entry
_mark: Any = Mark
_place: Any = Place
_departure: Any = Departure
_head: Any = Head
_image: Any = Image
#: Rows that no export gives, and an edited file may.
BAD_ROWS: list[Any] = [
    _document("nothing", "a", 1, 1, {}),
    _document(F, "", 1, 1, {}),
    _document(F, "a", 0, 1, {}),
    _document(F, "a", 2, 1, {}),
    _document(F, "a", 1, 1, []),
    _document(F, "a", 1, 1, {"name": 5}),
    _document(F, "a", 1, 1, {"x": 2**70}),
    _document(F, 7, 1, 1, {}),
    _document(F, "a", True, 1, {}),
    _document(F, "a", 1, "1", {}),
    _document(F, "a\0", 1, 1, {}),
    _document(F, "a", 1, 1, {"x": float("nan")}),
    _entry(0, "o", 1, None, None, None, (), (PUT,)),
    _entry(1, "o", 1, None, None, None, (), ()),
    _entry(1, "", 1, None, None, None, (), (PUT,)),
    _entry(1, "o", 1, 7, None, None, (), (PUT,)),
    _entry(1, "o", 1, None, None, None, (1,), (PUT,)),
    _entry(1, "o", 1, None, None, None, (), (_image(F, "a", "move", None, {}, None, False),)),
    _entry(1, "o", 1, None, None, None, (), (_image(F, "a", "add", None, None, {"n": "1"}, False),)),
    _entry(1, "o", 1, None, None, None, (), (_image(F, "a", "put", 7, {}, None, False),)),
    _entry(1, "o", 1, None, None, None, (), (_image(F, "a", "put", None, {}, None, 1),)),
    _entry(1, "o", 1, None, None, None, 7, ()),
    _mark(F, "a", 0),
    _place(F, "a", 1, 0, 0),
    _place("jobs", "a", "1", 0, 0),
    _place("jobs", "a", 1, -1, 0),
    _departure(F, "never", ("x",), "a"),
    _departure(F, "size", (), "a"),
    _departure(F, "size", 5, "a"),
    _head(-1, 0),
    _head(1, 0, 2),
    _head(1, 0, 1, 1, (0,)),
    _head("1", 0),
    ("not", "a row"),
]


def rows_of(store: Store, space: str = SPACE) -> list[Row]:
    """Give all rows of a space."""
    return list(store.export(space))


def loaded(store: Store, rows: Iterable[Row], space: str = SPACE) -> Loaded:
    """Load rows into a space, numbered from 1."""
    return store.load(space, enumerate(rows, 1))


def sound(store: Store) -> Store:
    """Give a store that has no problems."""
    assert store.verify() == []
    return store


class MoveConformance(Conformance):
    """Equal rows make equal spaces."""

    @pytest.fixture
    def used(self, hand: Hand) -> Hand:
        """Give a hand that used everything of a store."""
        hand.send(b.Put("kinds", "t0", {"unique": [[["payload", "x"]]], "immutable": False}))
        for number in range(12):
            body = {"type": f"t{number % 3}", "size": number, "name": f"n{number}", "labels": [f"l{number % 4}", "all"]}
            payload, note = {"x": number, "y": [1.0, None]}, {"thread": "t", "at": number, "text": f"note{number}"}
            hand.put(f"k{number % 9}", **body, text=f"word{number} common", payload=payload, n=1)
            hand.send(b.Append("notes", f"n{number}", note), session="s")
            hand.put(f"j{number % 5}", "jobs", due=number if number % 2 else None)
        hand.send(b.Put("notes", "n3", {"thread": "t", "at": 3, "text": "changed note"}), actor="ana", reason="why")
        hand.send(b.Touch(F, "k1", {"seen": 1}), b.Add(F, "k2", "n", 7), b.Delete(F, "k3"))
        hand.send(b.Put(F, "k4", {"type": "t1", "size": 4, "name": "undone"}), undoes=(5,))
        hand.send(b.Put(F, "odd", {"note": "a\0b", "payload": "\u2028 \u202e 🦓 {x} <|endoftext|>", "ﬁ": -0.0}))
        hand.store.claim(SPACE, "work", 2, lease=10, now=100)
        hand.send(b.Delete("jobs", "j1"))
        hand.store.purge(SPACE, Selection(F, by="label", equal=("l2",)), now=5)
        hand.store.purge(SPACE, Selection("notes", ("n1",)), now=5)
        return hand

    @pytest.fixture
    def other(self, make_store: MakeStore) -> Store:
        """Give another store, empty."""
        return make_store(COLLECTIONS)

    @pytest.mark.parametrize("upto", [0, 5, 17, 10**6])
    def test_an_equal_space(self, used: Hand, other: Store, upto: int) -> None:
        used.store.purge(SPACE, Oldest(upto), now=5, limit=10_000)
        rows = rows_of(used.store)
        result = loaded(other, rows)
        assert (result.lost, result.gone, result.refused) == ((), (), ())
        assert rows_of(other) == rows
        assert snapshot(other) == snapshot(used.store)
        assert other.horizon(SPACE) == used.store.horizon(SPACE)
        assert sum(result.rows.values()) == len(rows)
        kinds = {type(row) for row in rows}
        assert kinds >= {Head, Document, Mark, Place} | ({Entry, Departure} if upto < 10**6 else set())

    def test_it_goes_on_alike(self, used: Hand, other: Store) -> None:
        loaded(other, rows_of(used.store))
        answers = []
        for store in (used.store, other):
            hand = Hand(store)
            told: list[Any] = []

            def attempt(call: Any, told: list[Any] = told) -> None:
                try:
                    told.append(call())
                except AmberError as error:
                    told.append((type(error), error.details))

            attempt(lambda h=hand: h.send(b.Put(F, "x", {"type": "t0", "payload": {"x": 6}}), operation="1", at=10**16))
            attempt(lambda h=hand: h.send(b.Put(F, "y", {"handle": "h", "state": "active"}), operation="2", at=10**16))
            attempt(
                lambda h=hand: h.send(b.Put(F, "z", {}), expect=[b.NotPurged((("notes", "n1"),), 1)], operation="3")
            )
            attempt(lambda h=hand: h.store.claim(SPACE, "work", 5, lease=10, now=1_000))
            attempt(lambda h=hand: h.store.purge(SPACE, Selection(F, by="size", equal=("t1",)), now=7))
            attempt(lambda h=hand: h.store.due_spaces("work", 10**9))
            told.append(snapshot(store))
            answers.append(told)
        assert answers[0] == answers[1]
        assert any(isinstance(told, tuple) and told[0] is SourcePurged for told in answers[0])

    def test_rows_are_json(self, used: Hand, other: Store) -> None:
        rows = rows_of(used.store)
        read = [from_object(orjson.loads(orjson.dumps(to_object(row)))) for row in rows]
        loaded(other, read)
        assert rows_of(other) == rows

    @pytest.mark.parametrize(
        "bad",
        [
            {},
            [],
            None,
            "x",
            {"row": "x"},
            {"row": 7},
            {"row": "mark"},
            {"row": "head", "position": 1, "at": 1, "x": 1},
            {"row": "entry", "changes": 1},
        ],
    )
    def test_an_object_that_is_no_row(self, bad: Any) -> None:
        with pytest.raises(BadInput):
            from_object(bad)

    def test_an_export_is_of_one_moment(self, used: Hand) -> None:
        before = rows_of(used.store)
        rows = used.store.export(SPACE)
        first = [next(rows), next(rows)]
        used.send(b.Put(F, "late", {"name": "late"}), b.Delete("notes", "n5"), b.Add(F, "k2", "n", 1))
        used.store.purge(SPACE, Selection(F, ("k5",)), now=5)
        used.store.purge(SPACE, Oldest(9), now=5)
        assert used.get("late").body == {"name": "late"}
        assert first + list(rows) == before
        assert rows_of(used.store) != before

    def test_an_export_may_be_left(self, used: Hand) -> None:
        rows = used.store.export(SPACE)
        next(rows)
        rows.close()
        used.store.export(SPACE)
        assert used.put("a", name="n")

    def test_what_was_purged_is_in_no_row(self, hand: Hand) -> None:
        secret = "zebra-41-quartz"
        hand.put("a", type=secret, size=1, text=secret, labels=[secret])
        hand.put("a", type="u", size=1, text="word")
        hand.put("b", type=secret, size=1)
        hand.delete("b")
        hand.store.purge(SPACE, Selection(F, by="size", equal=(secret,)), now=5)
        hand.store.purge(SPACE, Selection(F, ("a",)), now=5)
        assert secret not in repr(rows_of(hand.store))
        assert sum(isinstance(row, Mark) for row in rows_of(hand.store)) == 2

    def test_an_empty_space(self, hand: Hand, other: Store) -> None:
        assert rows_of(hand.store) == [Head(0, 0)]
        assert loaded(other, rows_of(hand.store)).rows == {"head": 1}
        assert loaded(other, []) == Loaded({}, (), (), ())
        assert other.spaces() == []
        assert Hand(other).put("a", name="n") == 1

    def test_a_space_that_is_in_use_is_refused(self, used: Hand, other: Store) -> None:
        before = snapshot(used.store)
        with pytest.raises(Conflict, match="needs an empty one") as conflict:
            loaded(used.store, rows_of(used.store))
        assert (conflict.value.retry, snapshot(used.store)) == ("no", before)
        # next to it there is room
        assert loaded(used.store, rows_of(used.store), "beside").refused == ()
        assert rows_of(used.store, "beside") == rows_of(used.store)
        assert used.store.spaces() == ["beside", SPACE]
        found = used.store.candidates("beside", [Clause(("common",), 1)], SearchFilter())
        assert found == used.store.candidates(SPACE, [Clause(("common",), 1)], SearchFilter())
        sound(used.store)

    def test_a_space_that_was_only_asked_about_is_empty(self, hand: Hand, other: Store) -> None:
        hand.put("a", name="n")
        assert other.get(SPACE, F, "a") is None
        Hand(other).send(b.Delete(F, "never"))
        loaded(other, rows_of(hand.store))
        assert Hand(other).body("a") == {"name": "n"}

    def test_one_that_is_written_to_meanwhile(self, hand: Hand, other: Store) -> None:
        hand.put("a", name="loaded")

        def rows() -> Iterable[Row]:
            for row in rows_of(hand.store):
                yield row
                if isinstance(row, Document):
                    # nobody sees a part of it
                    assert other.get(SPACE, F, "a") is None
                    assert (other.spaces(), other.position(SPACE), other.verify()) == ([], 0, [])
            Hand(other).put("a", name="own")

        with pytest.raises(Conflict, match="needs an empty one"):
            loaded(other, rows())
        assert Hand(other).body("a") == {"name": "own"}
        assert sound(other).stats(SPACE).documents[F] == 1

    def test_an_error_of_the_source_leaves_nothing(self, used: Hand, other: Store) -> None:
        rows = rows_of(used.store)

        def broken() -> Iterable[Row]:
            yield from rows[: len(rows) // 2]
            raise KeyError("torn")

        with pytest.raises(KeyError):
            loaded(other, broken())
        assert (other.spaces(), other.due_spaces("work", 10**9), sound(other).position(SPACE)) == ([], [], 0)
        loaded(other, rows)
        assert rows_of(sound(other)) == rows

    def test_the_order_of_rows_does_not_matter(self, used: Hand, other: Store) -> None:
        rows = rows_of(used.store)
        loaded(other, reversed(rows))
        assert rows_of(sound(other)) == rows
        assert snapshot(other) == snapshot(used.store)

    def test_old_violations_of_a_rule_come_along(self, hand: Hand, other: Store) -> None:
        hand.send(*(b.Put(F, key, {"type": "t", "payload": {"mail": "x"}}) for key in "ab"))
        hand.send(b.Put("kinds", "t", {"unique": [[["payload", "mail"]]]}))
        loaded(other, rows_of(hand.store))
        assert other.verify() == hand.store.verify() != []

    @pytest.mark.parametrize("missing", [0, 1, 4, 8, 9])
    def test_a_missing_entry_is_marked(self, hand: Hand, other: Store, missing: int) -> None:
        for number in range(10):
            hand.send(b.Put(F, f"k{number}", {"name": "n"}), b.Add(F, "c", "n", 1, initial={}), at=100 * number)
        rows = [row for row in rows_of(hand.store) if not (isinstance(row, Entry) and row.position == missing + 1)]
        assert loaded(other, rows).lost == (missing + 1,)
        entries = sound(other).log(SPACE, LogQuery(reverse=False))
        assert [entry.position for entry in entries] == [*range(1, 11)]
        lost = entries[missing]
        assert (lost.operation, lost.changes, lost.actor) == (f"{LOST}{missing + 1}", (), None)
        assert other.receipt(SPACE, lost.operation) is None
        assert [entry.at for entry in entries] == sorted(entry.at for entry in entries)
        assert other.get_many(SPACE, F, ["c", f"k{missing}"]) == hand.store.get_many(SPACE, F, ["c", f"k{missing}"])
        # and what was filled is exported like all else
        again = loaded(other, rows_of(other), "again")
        assert (again.lost, rows_of(other, "again")) == ((), rows_of(other))
        assert Hand(other).put("new", name="n") == 11

    def test_a_log_that_is_missing_as_a_whole(self, used: Hand, other: Store) -> None:
        rows = [row for row in rows_of(used.store) if not isinstance(row, Entry)]
        position = used.store.position(SPACE)
        assert loaded(other, rows).lost == tuple(range(1, position + 1))
        assert sound(other).position(SPACE) == position
        assert other.stats(SPACE).documents == used.store.stats(SPACE).documents

    def test_a_missing_document_is_said_to_be_gone(self, hand: Hand, other: Store) -> None:
        hand.put("a", name="one", n=1)
        hand.put("a", name="two", n=1)
        hand.send(b.Add(F, "a", "n", 41))
        hand.send(b.Append("notes", "n", {"text": "unseen"}))
        hand.put("kept", name="kept")
        rows = [row for row in rows_of(hand.store) if not isinstance(row, Document) or row.key == "kept"]
        result = loaded(other, rows)
        assert result.gone == ((F, "a"), ("notes", "n"))
        entry = sound(other).log(SPACE, LogQuery(limit=1))[0]
        assert (entry.position, entry.operation) == (6, f"{LOST}6")
        known = {"name": "two", "n": 42}
        told = [(change.key, change.kind, change.before) for change in entry.changes]
        assert told == [("a", "delete", known), ("n", "delete", None)]
        assert Hand(other).put("a", name="anew") == 7
        sound(other)

    def test_the_last_of_several_changes_in_an_entry_tells_what_is_gone(self, other: Store) -> None:
        # no commit writes such an entry; an edited file may hold one
        delete = Image(F, "a", "delete", {}, None, None, False)
        twice = PUT._replace(key="b")
        result = loaded(other, [Head(1, 5), Entry(1, "o", 5, None, None, None, (), (PUT, delete, twice, twice))])
        assert result.gone == ((F, "b"),)
        sound(other)

    def test_without_a_head(self, used: Hand, other: Store) -> None:
        used.store.purge(SPACE, Oldest(4), now=5)
        rows = rows_of(used.store)
        loaded(other, rows[1:])
        assert other.horizon(SPACE)[0] == 4
        assert sound(other).position(SPACE) == used.store.position(SPACE)
        assert rows_of(other)[1:] == rows[1:]

    def test_a_head_alone_can_not_make_a_huge_log(self, other: Store) -> None:
        with pytest.raises(AmberError, match="are missing"):
            loaded(other, [Head(10**15, 1)])
        assert other.spaces() == []

    def test_rows_twice_are_refused_by_number(self, used: Hand, other: Store) -> None:
        rows = rows_of(used.store)
        result = loaded(other, [*rows, *rows])
        kinds = [Document, Entry]
        twice = [number for number, row in enumerate(rows, len(rows) + 1) if type(row) in kinds]
        assert [refused.number for refused in result.refused] == twice
        assert all("already" in refused.reason for refused in result.refused)
        assert rows_of(sound(other)) == rows

    @pytest.mark.parametrize(
        "row",
        BAD_ROWS,
    )
    def test_a_bad_row_is_refused_and_the_rest_goes_in(self, hand: Hand, other: Store, row: Any) -> None:
        hand.put("kept", name="kept")
        rows: Sequence[Row] = rows_of(hand.store)
        result = loaded(other, [row, *rows])
        assert [refused.number for refused in result.refused] == [1]
        assert result.refused[0].reason
        assert rows_of(sound(other)) == rows

    def test_a_place_of_a_document_that_is_not_there_waits_for_nobody(self, hand: Hand, other: Store) -> None:
        hand.put("j", "jobs", due=1)
        rows = [row for row in rows_of(hand.store) if not isinstance(row, Document)]
        loaded(other, rows)
        assert sound(other).claim(SPACE, "work", 5, lease=1, now=9) == []
        assert other.queued(SPACE, "jobs", "j") == (None, 0, 0)

    def test_a_queued_document_without_its_place_waits_anew(self, hand: Hand, other: Store) -> None:
        hand.put("j", "jobs", due=1)
        hand.store.claim(SPACE, "work", 1, lease=5, now=9)
        loaded(other, [row for row in rows_of(hand.store) if not isinstance(row, Place)])
        assert sound(other).queued(SPACE, "jobs", "j") == (1, 0, 0)

    def test_bad_names_are_refused(self, hand: Hand) -> None:
        for space in ("", "x" * 201, "\0"):
            with pytest.raises(BadInput):
                list(hand.store.export(space))
            with pytest.raises(BadInput):
                loaded(hand.store, [], space)

    def test_a_store_that_can_not_back_up_says_so(self, hand: Hand, tmp_path: Any) -> None:
        path = tmp_path / "copy.db"
        if hand.store.capabilities.backs_up:
            hand.store.backup(path)
            assert path.stat().st_size > 0
        else:
            with pytest.raises(Unsupported, match="export"):
                hand.store.backup(path)
            assert not path.exists()
