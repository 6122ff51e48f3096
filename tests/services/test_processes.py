"""Several processes on one file: nothing is lost, nothing is there twice."""

from __future__ import annotations

import itertools
from pathlib import Path

import orjson
from tests.services import workers
from tests.services.test_import import SESSION, claude_session

from amber.memory import Memory


def opened(path: Path) -> Memory:
    return Memory.open(path, space="acme")


def test_a_unique_value_has_one_holder(sqlite_path: Path) -> None:
    answers = workers.together(workers.put_unique, str(sqlite_path), 2, False)
    assert sorted(answer == "unique" for answer in answers) == [False, True]
    with opened(sqlite_path) as memory:
        assert [fact.id for fact in memory.facts.page(type="u")] == [each for each in answers if each != "unique"]
        assert memory.verify() == []


def test_of_one_sender_the_later_value_supersedes(sqlite_path: Path) -> None:
    answers = workers.together(workers.put_unique, str(sqlite_path), 2, True)
    assert len(set(answers)) == 2
    with opened(sqlite_path) as memory:
        (current,) = memory.facts.page(type="u")
        assert current.id in answers
        assert memory.facts.count(type="u", superseded=True) == 2
        assert memory.verify() == []


def test_every_mention_counts(sqlite_path: Path) -> None:
    assert workers.together(workers.mention, str(sqlite_path), 8, 25) == [25] * 8
    with opened(sqlite_path) as memory:
        (fact,) = memory.facts.page()
        assert fact.mentions == 200
        assert memory.history.position() == 200
        assert memory.verify() == []


def test_every_member_of_a_patch_is_there(sqlite_path: Path) -> None:
    with opened(sqlite_path) as memory:
        fact = memory.facts.put({"start": True})
        workers.together(workers.patch_members, str(sqlite_path), 4, fact.id, 20)
        members = {str(n): True for n in range(20)}
        assert memory.facts.get(fact).value == {"start": True, **{f"p{number}": members for number in range(4)}}
        assert memory.verify() == []


def test_transactions_stay_whole_and_in_order(sqlite_path: Path) -> None:
    workers.together(workers.many, str(sqlite_path), 4, 30)
    with opened(sqlite_path) as memory:
        assert memory.facts.count() == 360
        entries = memory.history.page(limit=1_000)
        assert [entry.position for entry in entries] == [*range(120, 0, -1)]
        assert {len(entry.changes) for entry in entries} == {3}
        for number in range(4):
            own = [fact.value for fact in memory.facts.iter(sender=f"s{number}")]
            assert own == [f"{number} {n} {part}" for n in range(30) for part in range(3)]
        assert memory.verify() == []


def test_an_undo_races_a_put(sqlite_path: Path) -> None:
    answers = workers.together(workers.put_or_undo, str(sqlite_path), 4, 40)
    # a put always goes through; an undo may find nothing left, or something that changed since
    assert {outcome for number in (0, 2) for outcome in answers[number]} == {"ok"}
    assert {outcome for number in (1, 3) for outcome in answers[number]} <= {"ok", "not_found", "undo_conflict"}
    with opened(sqlite_path) as memory:
        kept = [entry for entry in memory.history.page(limit=1_000) if entry.kind == "change" and not entry.is_undone]
        assert sum(fact.mentions for fact in memory.facts.page()) == len(kept)
        assert memory.facts.count() <= 1
        assert memory.verify() == []


def test_a_key_has_one_value_at_each_moment(sqlite_path: Path) -> None:
    workers.together(workers.supersede, str(sqlite_path), 4, 25)
    with opened(sqlite_path) as memory:
        bodies = [fact.body for fact in memory.facts.iter(key="k", superseded=True)]
        assert len(bodies) == 100
        spans = sorted(
            (body["valid_from"], body["valid_until"] or 2**62)
            for body in bodies
            if body["valid_from"] != body["valid_until"]
        )
        assert all(one[1] == other[0] for one, other in itertools.pairwise(spans))
        assert memory.facts.count(key="k") == 1
        assert memory.verify() == []


def test_one_recording_taken_in_by_several(sqlite_path: Path, tmp_path: Path) -> None:
    recording = tmp_path / "session.jsonl"
    recording.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in claude_session(700)))
    answers = workers.together(workers.take_in, str(sqlite_path), 3, str(recording))
    with opened(sqlite_path) as memory:
        assert sum(messages for answer in answers for _, messages in answer) == 700
        found = list(memory.sessions.iter_messages(SESSION))
        assert [message.seq for message in found] == [*range(700)]
        assert [message.text for message in found] == [f"message {n}" for n in range(700)]
        assert memory.sessions.get(SESSION).messages == 700
        assert memory.verify() == []
