"""After a purge and a scrub the words are in none of the raw files."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.backends.conftest import Open

from amber.backends.sqlite import SQLiteStore
from amber.model import batch as b
from amber.store.contract import Selection
from amber.testing.samples import COLLECTIONS, SPACE, Hand, snapshot

F = "facts"
SECRET = "zebra41quartz"


def holds(path: Path, word: str = SECRET) -> list[str]:
    """Name the files that hold a word, in small or capital letters."""
    files = (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm"))
    return [each.name for each in files if each.exists() and word.encode() in each.read_bytes().lower()]


def scrub(store: SQLiteStore, steps: int = 1_000) -> None:
    """Scrub to the end."""
    for _ in range(10_000):
        scrubbed = store.scrub(steps=steps)
        if scrubbed.done:
            return
        assert scrubbed.remaining == ()
    raise AssertionError("no end")


def in_a_fact(hand: Hand) -> None:
    hand.put("s", type="t", size=1, name=SECRET, labels=[SECRET], text=f"a {SECRET} b", payload={"x": SECRET})


def in_an_older_version(hand: Hand) -> None:
    in_a_fact(hand)
    hand.put("s", type="t", size=1, name="n", text="other words")


def in_many_versions(hand: Hand) -> None:
    for number in range(30):
        hand.put("s", type="t", size=number, name=f"{SECRET}{number}", text=f"{SECRET} {number} " * (number * 20))


def in_a_deleted_fact(hand: Hand) -> None:
    in_a_fact(hand)
    hand.delete("s")


def in_a_long_text(hand: Hand) -> None:
    hand.put("s", type="t", size=1, text=f"{SECRET} " + " ".join(f"{SECRET}{n}" for n in range(20_000)))


def in_a_long_text_that_shrank(hand: Hand) -> None:
    in_a_long_text(hand)
    hand.put("s", type="t", size=1, text="short")
    hand.put("kept4", text="x" * 30_000)


def in_a_batch_with_others(hand: Hand) -> None:
    in_a_long_text(hand)
    # of many sizes: what a page freed by the same batch held may stay behind the end of a text that is put there
    others = [b.Put(F, f"other{n}", {"note": "y" * n, "name": "n"}) for n in range(3_600, 4_300, 10)]
    hand.send(b.Put(F, "s", {"type": "t", "size": 1, "text": "short"}), *others)


def in_a_unique_value_and_a_job(hand: Hand) -> None:
    hand.put("s", type="t", size=1, handle=SECRET, state="active", first=SECRET, last=SECRET)
    hand.send(b.Add(F, "s", "n", 1), actor=SECRET, reason=f"because {SECRET}", session=SECRET)


def in_text_alone(hand: Hand) -> None:
    for number in range(40):
        hand.put("s", type="t", size=1, text=f"{SECRET} {SECRET}{number}")
        hand.put(f"kept{number % 10}", text=f"other{number} words", name="n")


WAYS: tuple[Callable[[Hand], None], ...] = (
    in_a_fact,
    in_an_older_version,
    in_many_versions,
    in_a_deleted_fact,
    in_a_long_text,
    in_a_long_text_that_shrank,
    in_a_batch_with_others,
    in_a_unique_value_and_a_job,
    in_text_alone,
)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("steps", [1, 1_000])
def test_no_byte_is_left(path: Path, open_store: Open, way: Callable[[Hand], None], steps: int) -> None:
    store = open_store()
    hand = Hand(store)
    for number in range(10):
        hand.put(f"kept{number}", text=f"some words {number} " * 50, name="n", payload={"x": number})
    way(hand)
    kept = [store.get(SPACE, F, f"kept{number}") for number in range(10)]
    assert holds(path) != []
    store.purge(SPACE, Selection(F, by="size", equal=("t",)), now=1)
    store.purge(SPACE, Selection(F, ("s",)), now=1)
    scrub(store, steps)
    assert holds(path) == []
    assert [store.get(SPACE, F, f"kept{number}") for number in range(10)] == kept
    assert store.verify() == []
    before = snapshot(store)
    store.close()
    assert holds(path) == []
    assert snapshot(open_store()) == before


def test_no_byte_is_left_among_many(path: Path, open_store: Open) -> None:
    store = open_store()
    hand = Hand(store)
    chance = random.Random(7)
    secret: list[str] = []
    for number in range(400):
        writes: list[b.Write] = []
        for _ in range(3):
            key = f"{chance.randrange(10**9):09}"
            word = SECRET if chance.random() < 0.3 else "plain"
            if word == SECRET:
                secret.append(key)
            text = " ".join(f"{word}{chance.randrange(500)}" for _ in range(chance.choice((2, 20, 300, 900))))
            name, payload = f"{word}{number}", {"x": f"{word} {number}", "y": [word] * 20}
            writes.append(
                b.Put(F, key, {"name": name, "size": number % 5, "type": "t", "text": text, "payload": payload})
            )
        hand.send(*writes)
        if secret and number % 7 == 0:
            key = chance.choice(secret)
            hand.put(key, name=SECRET, text=f"{SECRET} again " * chance.choice((1, 200)))
    for start in range(0, len(secret), 50):
        while not store.purge(SPACE, Selection(F, tuple(secret[start : start + 50])), now=1, limit=20).done:
            pass
    scrub(store, 20)
    assert holds(path) == []
    assert store.stats(SPACE).documents[F] == 1_200 - len(secret)
    assert store.verify() == []


def test_a_scrub_gives_the_space_back(path: Path, open_store: Open) -> None:
    store = open_store()
    hand = Hand(store)
    hand.put("kept", name="n")
    scrub(store)
    small = path.stat().st_size
    for number in range(20):
        hand.put(f"k{number}", text=f"{SECRET} {number} " * 10_000)
    store.purge(SPACE, Selection(F, tuple(f"k{number}" for number in range(20))), now=1)
    scrub(store)
    assert path.stat().st_size < small + 200_000
    assert path.with_name("memory.db-wal").stat().st_size == 0


def test_it_says_what_a_reader_keeps(path: Path, open_store: Open) -> None:
    store = open_store(timeout=0.2)
    hand = Hand(store)
    in_a_fact(hand)
    other = sqlite3.connect(path)
    try:
        other.execute("BEGIN")
        other.execute("SELECT * FROM amber_facts").fetchall()
        store.purge(SPACE, Selection(F, ("s",)), now=1)
        scrubbed = store.scrub()
        assert scrubbed.done is False
        assert "reader" in scrubbed.remaining[0]
    finally:
        other.close()
    scrub(store)
    assert holds(path) == []


@pytest.mark.parametrize("secure", ["ON", "OFF"])
def test_a_borrowed_connection_says_what_is_left(tmp_path: Path, open_store: Open, secure: str) -> None:
    path = tmp_path / "own.db"
    own = sqlite3.connect(path)
    try:
        own.execute(f"PRAGMA secure_delete = {secure}")
        store = open_store(own, collections=COLLECTIONS)
        hand = Hand(store)
        hand.put("kept", text="word " * 3_000)
        in_a_long_text(hand)
        store.purge(SPACE, Selection(F, ("s",)), now=1)
        scrubbed = store.scrub()
        assert scrubbed.done is False
        assert ["secure_delete" in each for each in scrubbed.remaining] == (
            [False] if secure == "ON" else [False, True]
        )
        assert all("VACUUM" in each for each in scrubbed.remaining)
        own.execute("VACUUM")
        assert holds(path) == []
    finally:
        own.close()
