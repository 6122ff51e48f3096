"""What a trim leaves of the file: room that is used again, and no words after a scrub."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from tests.backends.conftest import Open

from amber.backends.sqlite import SQLiteStore
from amber.model import batch as b
from amber.store.contract import LogQuery, Oldest
from amber.testing.samples import SPACE, Hand

F = "facts"


def trim(store: SQLiteStore, upto: int) -> None:
    while not store.purge(SPACE, Oldest(upto), now=5).done:
        continue


def rewrite(hand: Hand, count: int, word: str) -> None:
    """Write one document again and again: nothing grows but the log."""
    for number in range(count):
        hand.put("a", text=f"{word} {number} " * 40)


def test_room_is_used_again(path: Path, open_store: Open) -> None:
    store = open_store(durability="off")
    hand = Hand(store)
    rewrite(hand, 600, "zebra")
    trim(store, 600)
    size = store.stats(SPACE).bytes
    assert size is not None
    for _ in range(3):
        rewrite(hand, 500, "horse")
        trim(store, store.position(SPACE))
    grown = store.stats(SPACE).bytes
    assert grown is not None
    assert grown < size * 1.1
    while not store.scrub().done:
        continue
    assert path.stat().st_size < size / 2
    assert store.verify() == []


def test_the_words_are_gone_from_the_file(path: Path, open_store: Open) -> None:
    store = open_store()
    hand = Hand(store)
    hand.send(
        b.Put(F, "a", {"text": "zebra-41-quartz", "type": "quokka-7", "size": 1}), actor="wombat-9", reason="numbat-3"
    )
    hand.put("a", text="plain word", type="u", size=1)
    trim(store, 2)
    while not store.scrub().done:
        continue
    raw = path.read_bytes() + path.with_name(path.name + "-wal").read_bytes()
    for word in (b"zebra-41", b"quokka-7", b"wombat-9", b"numbat-3"):
        assert word not in raw
    assert store.verify() == []


def test_verify_knows_the_horizon(path: Path, open_store: Open) -> None:
    store = open_store()
    hand = Hand(store)
    for number in range(6):
        hand.put(f"k{number}", text="word")
    trim(store, 3)
    store.close()
    for change, problem in (
        ("DELETE FROM amber_log WHERE position = 4", "from 5 to 6 of 6 after the horizon 3"),
        ("UPDATE amber_horizon SET position = 2", "2 entries from 5 to 6 of 6 after the horizon 2"),
        ("UPDATE amber_horizon SET position = 4", None),
    ):
        connection = sqlite3.connect(path)
        connection.execute(change)
        connection.commit()
        connection.close()
        with open_store() as store:
            found = [each.detail for each in store.verify() if each.kind == "log" and each.key is None]
            assert any(problem in each for each in found) if problem else not found


def test_a_document_that_the_log_contradicts_is_still_found(path: Path, open_store: Open) -> None:
    store = open_store()
    hand = Hand(store)
    for number in range(4):
        hand.put("a", n=number)
    trim(store, 2)
    store.close()
    connection = sqlite3.connect(path)
    connection.execute("UPDATE amber_facts SET revision = 2")
    connection.commit()
    connection.close()
    with open_store() as store:
        assert [problem.key for problem in store.verify()] == ["a"]


def test_in_a_callers_transaction(connection: sqlite3.Connection, open_store: Open) -> None:
    store = open_store(connection)
    hand = Hand(store)
    for number in range(5):
        hand.put("a", n=number)
    connection.execute("BEGIN")
    trim(store, 3)
    assert store.horizon(SPACE).position == 3
    connection.rollback()
    assert store.horizon(SPACE).position == 0
    assert len(store.log(SPACE, LogQuery())) == 5


def test_an_export_and_a_load_in_a_callers_transaction(connection: sqlite3.Connection, open_store: Open) -> None:
    store = open_store(connection)
    hand = Hand(store)
    hand.put("a", text="word")
    connection.execute("BEGIN")
    hand.put("a", text="other")
    rows = store.export(SPACE)
    first = next(rows)
    hand.put("b", text="later")
    held = [first, *rows]
    assert store.load("copy", enumerate(held)).refused == ()
    assert list(store.export("copy")) == held
    assert store.verify() == []
    connection.rollback()
    assert store.spaces() == [SPACE]
    assert hand.body("a") == {"text": "word"}


def test_a_load_that_was_killed_is_cleared_by_the_next(path: Path, open_store: Open) -> None:
    from amber.testing.crash import killed_at

    hand = Hand(open_store())
    for number in range(1_200):
        hand.put(f"k{number}", text=f"word{number}", type="t", size=1, labels=["l"])
    rows = list(hand.store.export(SPACE))
    sizes = _sizes(path)
    for point, passing in (
        ("load:begun", 1),
        ("load:after-commit", 2),
        ("load:after-commit", 4),
        ("load:before-commit", 3),
        ("load-end:begun", 1),
        ("load-end:before-commit", 1),
    ):
        assert killed_at(point, "tests.backends.test_sqlite_retention:copy_space", str(path), passing=passing)
        store = open_store()
        assert (store.spaces(), store.verify(), store.due_spaces("work", 10)) == ([SPACE], [], [])
        assert Hand(store).put("beside", name="n")
        store.close()
    store = open_store()
    store.load("killed", enumerate(rows))
    assert list(store.export("killed")) == rows
    assert store.verify() == []
    # nothing of the killed ones is left: each table has the one copy more
    doubled = _sizes(path)
    assert all(doubled[name] <= 2 * count + 14 for name, count in sizes.items()), (sizes, doubled)


def test_a_load_that_was_answered_is_there(path: Path, open_store: Open) -> None:
    from amber.testing.crash import killed_at

    Hand(open_store()).put("a", text="word")
    assert killed_at("load-end:after-commit", "tests.backends.test_sqlite_retention:copy_space", str(path))
    assert open_store().spaces() == ["killed", SPACE]


def copy_space(path: str) -> None:
    """Load a space from another one of the same file."""
    from tests.crash import work

    with work.opened(path) as store:
        store.load("killed", enumerate(store.export(SPACE)))


def _sizes(path: Path) -> dict[str, int]:
    connection = sqlite3.connect(path)
    try:
        sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'amber_search%' AND name NOT LIKE 'amber_voc%'"
        names = [name for (name,) in connection.execute(sql)]
        return {name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in names}
    finally:
        connection.close()


def test_a_second_load_into_the_same_space_ends_the_first(open_store: Open) -> None:
    from amber.errors import Conflict

    store, other = open_store(), open_store()
    hand = Hand(store)
    for number in range(1_000):
        hand.put(f"k{number}", text="word")
    rows = list(store.export(SPACE))

    def slow() -> object:
        for number, row in enumerate(rows):
            if number == 700:
                other.load("copy", enumerate(rows))
            yield number, row

    with pytest.raises(Conflict, match=r"Another load into this space|needs an empty one") as conflict:
        store.load("copy", slow())  # type: ignore[arg-type]
    assert conflict.value.retry == "no"
    assert list(store.export("copy")) == rows
    assert store.verify() == []
