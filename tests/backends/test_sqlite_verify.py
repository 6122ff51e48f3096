"""verify finds damage that somebody did to the file."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.backends.conftest import Open, closing_connection

from amber.backends.sqlite import SQLiteStore
from amber.model import batch as b
from amber.store.contract import Clause, SearchFilter
from amber.testing.samples import SPACE, Hand

#: SQL that does damage -> the kind of problem, and the document, that verify must name.
DAMAGE: dict[str, tuple[str, str, str | None]] = {
    "a text is gone": ("UPDATE amber_doc SET tokens = NULL, counts = NULL WHERE key = 'a'", "postings", "a"),
    "a search row is gone": ("DELETE FROM amber_doc WHERE key = 'a'", "postings", "a"),
    "a search row too many": (
        "INSERT INTO amber_doc (space, collection, key, position, length, at) VALUES (1, 'facts', 'ghost', 1, 1, 0)",
        "fields",
        "ghost",
    ),
    "the postings of one text are gone": (
        (
            "INSERT INTO amber_search (amber_search, rowid, tokens, fields)"
            " SELECT 'delete', id, tokens, fields FROM amber_doc WHERE id = 1"
        ),
        "postings",
        None,
    ),
    "postings of other words": ("INSERT INTO amber_search (rowid, tokens) VALUES (77, '1.ghost')", "postings", None),
    "other counts": ("UPDATE amber_doc SET counts = x'0909' WHERE id = 1", "postings", "a"),
    "another length": ("UPDATE amber_doc SET length = 9 WHERE key = 'a'", "postings", "a"),
    "another facet": ("UPDATE amber_doc SET sender = 'eve' WHERE key = 'a'", "postings", "a"),
    "another time": ("UPDATE amber_doc SET at = at + 1 WHERE key = 'a'", "postings", "a"),
    "another place": ("UPDATE amber_doc SET position = position + 1 WHERE key = 'a'", "postings", "a"),
    "another number of texts": ("UPDATE amber_space SET documents = documents + 1", "postings", None),
    "another number of tokens": ("UPDATE amber_space SET tokens = tokens + 1", "postings", None),
    "a changed column": ("UPDATE amber_facts SET name = 'other' WHERE key = 'a'", "index", "a"),
    "an emptied column": ("UPDATE amber_facts SET size = NULL WHERE key = 'a'", "index", "a"),
    "a many row is gone": ("DELETE FROM amber_facts_by_label WHERE key = 'a'", "index", "a"),
    "a many row of another order": ("UPDATE amber_facts_by_label SET ord = 99 WHERE key = 'a'", "index", "a"),
    "a many row too many": (
        "INSERT INTO amber_facts_by_label SELECT space, 'ghost', ord, 'ghost' FROM amber_facts_by_label LIMIT 1",
        "index",
        None,
    ),
    "the field entries are gone": ("UPDATE amber_doc SET fields = NULL WHERE key = 'a'", "fields", "a"),
    "field entries of another value": ("UPDATE amber_doc SET fields = ' 1=0 ' WHERE key = 'a'", "fields", "a"),
    "postings of another field": ("INSERT INTO amber_search (rowid, fields) VALUES (1, '1=ab')", "postings", None),
    "a unique row is gone": ("DELETE FROM amber_unique WHERE key = 'a'", "unique", "a"),
    "a unique row too many": (
        "INSERT INTO amber_unique VALUES (1, 'facts/handle', 'sghost', 'ghost')",
        "unique",
        "ghost",
    ),
    "a rule's unique row is gone": ("DELETE FROM amber_unique WHERE rule = 'facts//t'", "unique", "a"),
    "another body": ("UPDATE amber_kinds SET body = '{\"unique\":[]}' WHERE key = 't'", "log", "t"),
    "a body that is no JSON": ("UPDATE amber_kinds SET body = 'broken' WHERE key = 'u'", "body", "u"),
    "another revision": ("UPDATE amber_facts SET revision = 99 WHERE key = 'a'", "log", "a"),
    "another body after an addition": (
        "UPDATE amber_facts SET body = replace(body, '\"note\":1', '\"note\":2') WHERE key = 'counted'",
        "log",
        "counted",
    ),
    "another image before an addition": (
        "UPDATE amber_change SET after = replace(after, '\"note\":1', '\"note\":2') WHERE key = 'counted' AND kind = 'put'",
        "log",
        "counted",
    ),
    "an image that is no JSON": ("UPDATE amber_change SET after = '{' WHERE key = 'a'", "log", "a"),
    "a document is gone": ("DELETE FROM amber_facts WHERE key = 'plain'", "log", "plain"),
    "a document that nobody wrote": (
        "INSERT INTO amber_kinds (space, key, created, revision, body) VALUES (1, 'ghost', 1, 1, '{}')",
        "log",
        "ghost",
    ),
    "a log entry is gone": ("DELETE FROM amber_log WHERE position = 2", "log", None),
    "the newest log entry is gone": (
        "DELETE FROM amber_log WHERE position = (SELECT max(position) FROM amber_log)",
        "log",
        None,
    ),
    "all log entries are gone": ("DELETE FROM amber_log", "log", None),
    "the changes of an entry are gone": ("DELETE FROM amber_change WHERE position = 1", "log", None),
    "a time that falls": ("UPDATE amber_log SET at = at - 1000000 WHERE position = 3", "log", None),
    "the position fell back": ("UPDATE amber_space SET position = position - 1", "log", None),
    "a queue row is gone": ("DELETE FROM amber_queue WHERE key = 'j'", "queue", "j"),
    "a queue row lost its time": ("UPDATE amber_queue SET due_at = NULL WHERE key = 'j'", "queue", "j"),
    "a queue row for what is not due": ("UPDATE amber_queue SET due_at = 5 WHERE key = 'done'", "queue", "done"),
    "a queue row without a document": (
        "INSERT INTO amber_queue VALUES (1, 'jobs', 'ghost', 'work', 5, 0, 0)",
        "queue",
        "ghost",
    ),
}


@pytest.fixture
def filled(path: Path, open_store: Open, monkeypatch: pytest.MonkeyPatch) -> SQLiteStore:
    """Give a store with something of everything, whose postings do not wait."""
    monkeypatch.setattr("amber.backends.sqlite.text.PENDING", 1)
    store = open_store()
    hand = Hand(store)
    hand.put("t", "kinds", unique=[[["payload", "x"]]])
    body = {"type": "t", "name": "n", "labels": ["l", "m"], "text": "some words", "sender": "ana", "at": 7}
    hand.put("a", **body, size=1, handle="h", state="active", payload={"x": 1, "y": [1]})
    hand.put("plain", note=1)
    hand.put("u", "kinds", unique=[])
    hand.put("counted", note=1)
    hand.send(b.Add("facts", "counted", "n", 5))
    hand.send(b.Touch("facts", "counted", {"seen": 9}))
    hand.put("j", "jobs", due=5)
    hand.put("done", "jobs", due=5)
    hand.put("done", "jobs", due=None)
    assert store.verify() == []
    return store


@pytest.mark.parametrize("case", DAMAGE)
def test_damage_is_found(path: Path, filled: SQLiteStore, case: str) -> None:
    sql, kind, key = DAMAGE[case]
    with closing_connection(path) as connection:
        changed = connection.execute(sql).rowcount
        connection.commit()
    assert changed != 0
    for problems in (filled.verify(), filled.verify(SPACE)):
        assert kind in {problem.kind for problem in problems}
        assert key in {problem.key for problem in problems if problem.kind == kind}
        assert all(problem.detail for problem in problems)


@pytest.mark.parametrize(
    ("sql", "key"),
    [
        ("UPDATE amber_doc SET tokens = '1.other', counts = x'01' WHERE key = 'k4'", "k4"),
        ("DELETE FROM amber_doc WHERE key = 'k4'", "k4"),
        ("UPDATE amber_meta SET value = value + 1 WHERE name = 'folded'", None),
        ("UPDATE amber_meta SET value = value - 1 WHERE name = 'folded'", None),
        ("DELETE FROM amber_meta WHERE name = 'folded'", None),
    ],
)
def test_damage_to_postings_that_wait(
    path: Path, open_store: Open, monkeypatch: pytest.MonkeyPatch, sql: str, key: str | None
) -> None:
    monkeypatch.setattr("amber.backends.sqlite.text.PENDING", 3)
    store = open_store()
    hand = Hand(store)
    for number in range(5):
        hand.put(f"k{number}", text=f"word{number}")
    assert store.verify() == []
    with closing_connection(path) as connection:
        connection.execute(sql)
        connection.commit()
    assert key in {problem.key for problem in store.verify() if problem.kind == "postings"}


def test_a_document_gets_the_row_of_one_that_went(open_store: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite gives a number anew once it was the last; whatever waited or not before, the new row is found."""
    monkeypatch.setattr("amber.backends.sqlite.text.PENDING", 4)
    for waiting in range(5):
        store = open_store()
        hand = Hand(store, space=f"s{waiting}")
        for number in range(4 + waiting):
            hand.put(f"k{number}", text="before")
        for number in reversed(range(4 + waiting)):
            hand.delete(f"k{number}")
            assert store.verify() == []
        for number in range(6):
            hand.put(f"n{number}", text="after")
            found = store.candidates(hand.space, [Clause(("after",), 1)], SearchFilter())
            assert {each.key for each in found} == {f"n{n}" for n in range(number + 1)}
            assert store.candidates(hand.space, [Clause(("before",), 1)], SearchFilter()) == []
        assert store.verify() == []
        for number in range(6):
            hand.delete(f"n{number}")


def test_damage_to_a_page_is_found(path: Path, filled: SQLiteStore, open_store: Open) -> None:
    filled.scrub()
    filled.close()
    with closing_connection(path) as connection:
        root = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'amber_log'").fetchone()[0]
        size = connection.execute("PRAGMA page_size").fetchone()[0]
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with path.open("r+b") as file:
        file.seek((root - 1) * size + 8)
        file.write(b"\xff" * 24)
    assert "file" in {problem.kind for problem in open_store().verify()}


def test_verify_changes_nothing(path: Path, filled: SQLiteStore) -> None:
    with closing_connection(path) as connection:
        before = connection.execute("PRAGMA data_version").fetchone()
        assert filled.verify() == []
        assert connection.execute("PRAGMA data_version").fetchone() == before
