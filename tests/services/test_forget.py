"""Forgetting by sender, session and project: complete, narrow, final, and counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.services.stage import Open, SteppingClock, everything, values

from amber.errors import BadInput, Closed, Conflict, NotFound, SourcePurged, UndoConflict
from amber.memory import Memory
from amber.model.batch import Put
from amber.model.forget import Forgotten
from amber.services.forgetting import CHUNK

EXAMPLES = Path(__file__).parents[2] / "examples"
WORD = "zebra-41-quartz"


def said(memory: Memory) -> str:
    """Give everything that can be read of a memory, as one text."""
    entries = memory.history.page(limit=10_000)
    sessions = memory.sessions.page(limit=10_000)
    messages = [each.to_dict() for session in sessions for each in memory.sessions.iter_messages(session.id)]
    parts = [
        [entry._asdict() for entry in entries],
        everything(memory),
        [session.to_dict() for session in sessions],
        messages,
        [hit.to_dict() for hit in memory.recall(WORD, limit=50)],
        [each.detail for each in memory.verify()],
    ]
    return orjson.dumps(parts, default=str, option=orjson.OPT_NON_STR_KEYS).decode()


def counted(receipt: Forgotten) -> tuple[Any, ...]:
    return receipt.documents, receipt.images, receipt.entries, receipt.others


@pytest.fixture
def lives(memory: Memory) -> Memory:
    """Give a memory in which Ana's word went through all that can happen to a fact, beside Ben's."""
    put = memory.facts.put
    memory.register("account", unique=("mail",))
    for n in range(3):
        put(f"{WORD} {n}", sender="ana")
        put(f"garden {n}", sender="ben")
    put({"mail": WORD, "role": "admin"}, sender="ana", type="account")
    put(WORD, sender="ana", key=WORD)
    put("superseded it", sender="ana", key=WORD)
    patched = put({"word": WORD, "n": 1}, sender="ana")
    memory.facts.patch(patched, {"word": None})
    memory.facts.delete(put(f"deleted {WORD}", sender="ana"))
    put(f"undone {WORD}", sender="ana")
    memory.history.undo(last=1, reason=f"not {WORD}")
    put(f"expired {WORD}", sender="ana", ttl="1s")
    put(f"held {WORD}", sender="ana", session="run", ephemeral=True)
    put(f"dropped {WORD}", sender="ana", session="other run", ephemeral=True)
    memory.sessions.discard("other run")
    put(f"{WORD} 1", sender="ana")
    with memory.transaction(actor="clerk", reason=f"both, and {WORD}") as tx:
        tx.facts.put(f"in a batch {WORD}", sender="ana")
        tx.facts.put("in a batch", sender="ben")
    return memory


class TestComplete:
    def test_nothing_of_a_sender_is_left_and_all_of_the_others(self, lives: Memory) -> None:
        kept = {id: body for id, body in everything(lives, ("run",)).items() if body["sender"] != "ana"}
        planned = lives.forget(sender="ana", dry_run=True)
        assert WORD in said(lives)
        receipt = lives.forget(sender="ana")
        assert WORD not in said(lives)
        assert everything(lives, ("run", "other run")) == kept
        assert lives.facts.count(sender="ben") == 4
        assert counted(planned) == counted(receipt)
        assert (planned.dry_run, receipt.dry_run) == (True, False)
        assert receipt.remaining == ()
        assert lives.stats().documents["facts"] == lives.stats().searchable == 4
        # the rule of a type names nobody
        assert lives.stats().documents["types"] == 1

    def test_a_dry_run_touches_nothing(self, lives: Memory) -> None:
        before = (said(lives), lives.history.position(), lives.stats())
        receipt = lives.forget(sender="ana", dry_run=True)
        assert (said(lives), lives.history.position(), lives.stats()) == before
        assert (receipt.positions, receipt.steps) == ((), 0)

    def test_a_second_time_there_is_nothing(self, lives: Memory) -> None:
        lives.forget(sender="ana")
        position = lives.history.position()
        again = lives.forget(sender="ana")
        assert again.is_empty
        assert (counted(again), again.positions) == (({}, {}, 0, {}), ())
        assert lives.history.position() == position
        assert lives.forget(sender="nobody", dry_run=True).is_empty

    @pytest.mark.parametrize("many", [250, 1_500])
    def test_scoped_delete_is_complete_and_narrow(self, memory: Memory, many: int) -> None:
        with memory.transaction() as tx:
            for n in range(many):
                tx.facts.put(f"ana likes number{n}", sender="ana")
                tx.facts.put(f"ben likes number{n}", sender="ben")
        tokens = memory.stats().tokens
        receipt = memory.forget(sender="ana")
        assert (receipt.total, receipt.documents) == (many, {"facts": many})
        assert receipt.images == {"facts": many}
        assert memory.facts.count(sender="ana") == 0
        assert memory.facts.page(sender="ana", superseded=True, deleted=True).facts == []
        assert memory.facts.count(sender="ben") == many
        assert memory.recall("number7", sender="ana") == []
        assert {hit.sender for hit in memory.recall("number7")} == {"ben"}
        changes = memory.history.get(1).changes
        assert sum(change.forgotten for change in changes) == many
        assert {c.after["sender"] for c in changes if c.after is not None} == {"ben"}
        assert memory.stats().documents["facts"] == memory.stats().searchable == many
        assert memory.stats().tokens == tokens / 2
        assert len(receipt.positions) == -(-many // CHUNK)

    def test_delete_then_add_again(self, memory: Memory) -> None:
        memory.facts.delete(memory.facts.put("likes tea", sender="ana"))
        memory.facts.put("likes tea", sender="ana")
        assert values(memory, sender="ana") == ["likes tea"]
        assert len(memory.recall("tea")) == 1
        assert memory.forget(sender="ana").documents == {"facts": 2}
        again = memory.facts.put("likes tea", sender="ana")
        assert (again.mentions, values(memory, sender="ana")) == (1, ["likes tea"])
        assert [hit.id for hit in memory.recall("tea")] == [again.id]
        assert memory.forget(sender="ana").documents == {"facts": 1}

    def test_the_same_words_in_two_scopes(self, memory: Memory) -> None:
        for project in ("a", "b"):
            memory.facts.put("shared document about lanterns", project=project)
        memory.forget(project="a")
        assert [hit.project for hit in memory.recall("lanterns")] == ["b"]
        assert memory.facts.count(project="a") == 0

    def test_a_project_is_itself_and_what_lies_below(self, memory: Memory) -> None:
        names = ["t/acme", "t/acme-corp", "t/acme/x", "t", "t/acm", "t/acme_", "t/acme%", "T/acme", "x/t/acme"]
        for name in names:
            memory.facts.put(f"about {name}", project=name)
        assert memory.forget(project="/t/acme/").documents == {"facts": 2}
        assert sorted(fact.project or "" for fact in memory.facts.iter()) == sorted(set(names) - {"t/acme", "t/acme/x"})

    @pytest.mark.parametrize("name", ["john-doe", "john_doe", "100%", "", "john", "John-Doe"])
    def test_names_are_whole(self, memory: Memory, name: str) -> None:
        names = ["john-doe", "john_doe", "100%", "johnxdoe", "100", "1000"]
        for each in names:
            memory.facts.put("x", sender=each)
        if name:
            assert memory.forget(sender=name).total == (name in names)
        assert {fact.sender for fact in memory.facts.iter()} == set(names) - {name}

    def test_spaces_are_apart(self, memory: Memory, open_memory: Open) -> None:
        other = open_memory(space="other")
        for each in (memory, other):
            each.facts.put(WORD, sender="ana")
        memory.forget(sender="ana")
        assert values(other, sender="ana") == [WORD]
        assert len(other.recall(WORD)) == 1


class TestSessions:
    @pytest.fixture
    def recorded(self, memory: Memory) -> Memory:
        memory.import_sessions(EXAMPLES / "claude", sender="ana")
        memory.import_sessions(EXAMPLES / "codex", sender="ben")
        return memory

    def test_a_sender_takes_all_that_was_said_in_their_sessions(self, recorded: Memory) -> None:
        theirs = [session.id for session in recorded.sessions.page() if session.sender == "ana"]
        others = [session.id for session in recorded.sessions.page() if session.sender == "ben"]
        kinds = {message.kind for id in theirs for message in recorded.sessions.iter_messages(id)}
        assert {"prompt", "reply", "tool_call", "tool_result"} <= kinds
        recorded.facts.put("from her session alone", session=theirs[0])
        recorded.facts.put("of the project", session=theirs[0], project="atlas")
        recorded.facts.put("about ben", session=theirs[0], sender="ben")
        ben = [message.to_dict() for id in others for message in recorded.sessions.iter_messages(id, retracted=True)]
        planned = recorded.forget(sender="ana", dry_run=True)
        receipt = recorded.forget(sender="ana")
        assert counted(planned) == counted(receipt)
        assert receipt.documents["sessions"] == len(theirs) == 4
        assert [session.id for session in recorded.sessions.page()] == others
        assert [recorded.sessions.messages(id) for id in theirs] == [[]] * 4
        after = [message.to_dict() for id in others for message in recorded.sessions.iter_messages(id, retracted=True)]
        assert after == ben
        assert sorted(values(recorded)) == ["about ben", "of the project"]
        assert recorded.stats().documents["messages"] == len(ben)
        changes = [c for entry in recorded.history.page(session=theirs[0], limit=100) for c in entry.changes]
        assert {c.collection for c in changes if not c.forgotten} == {"facts"}

    def test_a_session_takes_its_subagents_and_its_facts(self, recorded: Memory) -> None:
        child = next(session for session in recorded.sessions.page() if session.agent is not None)
        for name in (child.parent, child.id):
            for sender in (None, "ben"):
                recorded.facts.put(f"from {name}", session=name, sender=sender)
        recorded.facts.put("kept", session="another", sender="ben")
        planned = recorded.forget(session=child.parent, dry_run=True)
        receipt = recorded.forget(session=child.parent)
        assert counted(planned) == counted(receipt)
        assert (receipt.documents["sessions"], receipt.documents["facts"]) == (2, 4)
        left = {session.id for session in recorded.sessions.page()}
        assert len(left) == 4
        assert not left & {child.parent, child.id}
        assert values(recorded) == ["kept"]

    def test_a_subagent_alone_leaves_its_session(self, recorded: Memory) -> None:
        child = next(session for session in recorded.sessions.page() if session.agent is not None)
        assert recorded.forget(session=child.id).documents["sessions"] == 1
        assert recorded.sessions.get(child.parent).id == child.parent

    def test_a_project_takes_its_sessions(self, recorded: Memory) -> None:
        projects = {session.project for session in recorded.sessions.page()}
        named = min(projects)
        inside = recorded.sessions.page(project=named)
        messages = sum(len([*recorded.sessions.iter_messages(each.id, retracted=True)]) for each in inside)
        receipt = recorded.forget(project=named)
        assert receipt.documents == {"sessions": len(inside), "messages": messages}
        assert recorded.sessions.page(project=named) == []

    def test_an_import_that_was_undone(self, memory: Memory) -> None:
        memory.import_sessions(EXAMPLES / "codex", sender="ana")
        said_before = memory.stats().documents["messages"]
        memory.history.undo(after=0)
        assert memory.stats().documents["messages"] == 0
        planned = memory.forget(sender="ana", dry_run=True)
        receipt = memory.forget(sender="ana")
        assert counted(planned) == counted(receipt)
        assert receipt.documents == {}
        assert receipt.images["messages"] == 2 * said_before
        assert all(change.before is change.after is None for e in memory.history.page(limit=99) for change in e.changes)

    def test_imported_again_it_is_there_again(self, recorded: Memory) -> None:
        before = recorded.stats().documents
        recorded.forget(sender="ana")
        results = recorded.import_sessions(EXAMPLES / "claude", sender="ana")
        assert {each.status for each in results} == {"imported"}
        assert recorded.stats().documents == before


class TestDerived:
    def test_it_goes_with_its_sources(self, memory: Memory) -> None:
        root = memory.facts.put(f"{WORD}", sender="ana")
        other = memory.facts.put("ben's own", sender="ben")
        first = memory.facts.put(f"so {WORD}", sender="ben", derived_from=[root, other], source="derived")
        second = memory.facts.put(f"and so {WORD}", project="p", derived_from=[first], source="derived")
        third = memory.facts.put(f"thus {WORD}", derived_from=[second, first], source="derived")
        memory.facts.put(f"gone {WORD}", derived_from=[third], source="derived")
        memory.history.undo(last=1)
        memory.facts.put("derived from ben", derived_from=[other], source="derived")
        planned = memory.forget(sender="ana", dry_run=True)
        receipt = memory.forget(sender="ana")
        assert counted(planned) == counted(receipt)
        assert receipt.documents == {"facts": 4}
        assert receipt.images == {"facts": 6}
        assert values(memory) == ["ben's own", "derived from ben"]
        assert WORD not in said(memory)

    def test_a_long_chain(self, memory: Memory) -> None:
        last = memory.facts.put("0", sender="ana")
        with memory.transaction() as tx:
            for n in range(1, 900):
                last = tx.facts.put(str(n), derived_from=[last], source="derived")
        assert memory.forget(sender="ana").documents == {"facts": 900}
        assert memory.facts.count() == 0

    def test_what_derives_from_itself(self, memory: Memory) -> None:
        one = memory.facts.put("one", sender="ana")
        two = memory.facts.put("two", derived_from=[one], source="derived")
        with memory.transaction() as tx:
            # no method makes this; a forget must not hang on it
            tx._unit.commit([Put("facts", one.id, {**one.body, "derived_from": [two.id]})])
        planned = memory.forget(sender="ana", dry_run=True)
        assert counted(memory.forget(sender="ana")) == counted(planned)
        assert memory.facts.count() == 0

    def test_a_late_derivation_is_refused(self, memory: Memory) -> None:
        source = memory.facts.put(WORD, sender="ana")

        def late() -> None:
            with memory.transaction() as tx:
                tx.facts.put(f"so {WORD}", derived_from=[source], source="derived")
                memory.forget(sender="ana")

        with pytest.raises((Conflict, SourcePurged)):
            late()
        with pytest.raises(NotFound):
            memory.facts.put(f"so {WORD}", derived_from=[source], source="derived")
        assert memory.facts.count() == 0

    def test_one_that_comes_in_between_goes_too(self, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
        source = memory.facts.put(WORD, sender="ana")
        purge = memory._store.purge
        late: list[Any] = []

        def slower(*given: Any, **more: Any) -> Any:
            # after it was looked at what is derived from the source, and before it is purged
            if not late and more.get("expectations"):
                late.append(memory.facts.put(f"so {WORD}", derived_from=[source], source="derived"))
            return purge(*given, **more)

        with monkeypatch.context() as patch:
            patch.setattr(memory._store, "purge", slower)
            assert memory.forget(sender="ana").documents == {"facts": 2}
        assert len(late) == 1
        assert memory.facts.count() == 0
        assert WORD not in said(memory)


class TestLog:
    def test_the_name_goes_from_entries_that_stay(self, memory: Memory, open_memory: Open) -> None:
        ana = open_memory(actor="ana")
        ana.facts.put("by her", sender="ben")
        with memory.transaction(actor="ben", reason=f"{WORD} said it", session="s") as tx:
            tx.facts.put(WORD, sender="ana")
            tx.facts.put("about ben", sender="ben")
        with memory.transaction(actor="ana", reason=f"told by {WORD}") as tx:
            tx.facts.put("another", sender="ben")
        memory.facts.put("untouched", sender="ben")
        receipt = memory.forget(sender="ana")
        assert receipt.entries == 2
        assert memory.history.page(actor="ana") == []
        first, second, third, fourth = reversed(memory.history.page(limit=20)[-4:])
        assert (first.actor, first.changes[0].after["payload"]) == (None, "by her")  # type: ignore[index]
        assert (second.actor, second.reason, second.session) == ("ben", None, "s")
        assert (third.actor, third.reason) == (None, None)
        assert (fourth.actor, fourth.changes[0].forgotten) == ("tester", False)
        assert "ana" not in said(memory)

    def test_a_session_goes_by_name(self, memory: Memory) -> None:
        with memory.transaction(session="run", reason=WORD) as tx:
            tx.facts.put("long-term", sender="ben")
        memory.facts.put(WORD, sender="ben", session="run")
        receipt = memory.forget(session="run")
        assert (receipt.documents, receipt.entries) == ({"facts": 1}, 2)
        assert memory.history.page(session="run") == []
        assert values(memory) == ["long-term"]
        assert WORD not in said(memory)

    def test_moments_of_the_past(self, lives: Memory) -> None:
        position = lives.history.position()
        view = lives.at(position)
        assert any(fact.sender == "ana" for fact in view.facts.iter())
        lives.forget(sender="ana")
        for each in (view, lives.at(position), lives.at(3)):
            assert {fact.sender for fact in each.facts.iter(superseded=True, deleted=True)} == {"ben"}
        diff = lives.history.diff(0, lives.history.position())
        assert {difference.after.sender for difference in diff.facts if difference.after is not None} == {"ben"}

    def test_the_history_of_a_forgotten_fact(self, memory: Memory) -> None:
        fact = memory.facts.put(WORD, sender="ana")
        memory.facts.delete(fact)
        memory.forget(sender="ana")
        entries = memory.history.of(fact.id)
        assert [[c.forgotten for c in entry.changes] for entry in entries] == [[True], [True]]
        with pytest.raises(NotFound):
            memory.facts.get(fact.id)
        assert memory.history.page(limit=1)[0].kind == "purge"

    def test_undo_passes_over_what_is_forgotten(self, memory: Memory) -> None:
        memory.facts.put("first", sender="ben")
        position = memory.history.position()
        fact = memory.facts.put(WORD, sender="ana")
        memory.facts.delete(fact)
        memory.history.undo(last=1)
        receipt = memory.forget(sender="ana")
        with pytest.raises(UndoConflict, match=r"was forgotten\. What was forgotten does not come back"):
            memory.history.undo(position + 1)
        with pytest.raises(UndoConflict, match="was forgotten"):
            memory.history.undo(position + 1, force=True)
        with pytest.raises(UndoConflict, match="final"):
            memory.history.undo(receipt.positions[0])
        with pytest.raises(NotFound):
            memory.history.redo()
        with pytest.raises(NotFound):
            memory.history.undo(after=position)
        assert memory.history.undo(last=1).positions == (position,)
        assert memory.facts.count() == 0
        memory.history.redo()
        assert values(memory) == ["first"]

    def test_the_rest_of_a_batch_is_undone_by_force(self, memory: Memory) -> None:
        with memory.transaction() as tx:
            tx.facts.put(WORD, sender="ana")
            tx.facts.put("about ben", sender="ben")
        memory.forget(sender="ana")
        with pytest.raises(UndoConflict, match="was forgotten"):
            memory.history.undo(1)
        assert memory.history.undo(1, force=True).positions == (1,)
        assert memory.facts.count() == 0
        memory.history.redo()
        assert values(memory) == ["about ben"]

    def test_an_undo_that_is_late_brings_nothing_back(self, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
        fact = memory.facts.put(WORD, sender="ana")
        memory.facts.put("kept", sender="ben")
        memory.history.undo(1)
        commit = memory._store.commit
        late: list[Any] = []

        def slower(batch: Any) -> Any:
            # the undo has read the image; now it is forgotten
            if not late:
                late.append(memory.forget(sender="ana"))
            return commit(batch)

        with monkeypatch.context() as patch:
            patch.setattr(memory._store, "commit", slower)
            with pytest.raises(UndoConflict, match="was forgotten"):
                memory.history.undo(memory.history.position())
        assert late
        assert memory.facts.find(fact.id) is None
        assert WORD not in said(memory)

    def test_an_operation_says_that_its_fact_was_forgotten(self, memory: Memory) -> None:
        memory.facts.put(WORD, sender="ana", operation="op")
        memory.forget(sender="ana")
        with pytest.raises(NotFound, match="forgotten"):
            memory.facts.put(WORD, sender="ana", operation="op")


class TestReceipt:
    def test_it_counts_and_names_nobody(self, lives: Memory, clock: SteppingClock) -> None:
        before = clock.now
        receipt = lives.forget(sender="ana")
        shown = f"{receipt} {receipt!r} {receipt.to_dict()}"
        assert WORD not in shown
        assert "'ana'" not in shown
        assert str(receipt).startswith(
            f"forgot a sender of space 'acme': {receipt.total} facts, {sum(receipt.images.values())} images in the log"
        )
        assert "by tester; raw files clean" in str(receipt)
        told = receipt.to_dict()
        assert orjson.loads(orjson.dumps(told)) == told
        assert (told["space"], told["scope"], told["actor"]) == ("acme", "sender", "tester")
        assert receipt.at.timestamp() * 1e6 > before
        assert receipt.positions == tuple(
            entry.position for entry in reversed(lives.history.page()) if entry.kind == "purge"
        )
        assert all(
            entry.actor is entry.reason is entry.session is None
            for entry in lives.history.page(limit=len(receipt.positions))
        )

    def test_a_plan_reads_as_one(self, lives: Memory) -> None:
        assert str(lives.forget(sender="ana", dry_run=True)).startswith("would forget a sender of space 'acme': ")
        assert "nothing was there" in str(lives.forget(sender="eva", dry_run=True))

    @pytest.mark.parametrize(
        "scope",
        [
            {},
            {"sender": "a", "session": "b"},
            {"sender": "a", "project": "b"},
            {"sender": ""},
            {"session": ""},
            {"project": "a//b"},
            {"project": "/"},
            {"sender": 5},
            {"session": "a\0"},
        ],
    )
    def test_bad_scopes_are_refused(self, lives: Memory, scope: dict[str, Any]) -> None:
        before = said(lives)
        for dry_run in (True, False):
            with pytest.raises(BadInput):
                lives.forget(**scope, dry_run=dry_run)
        assert said(lives) == before

    def test_refused_after_close(self, lives: Memory) -> None:
        lives.close()
        for call in (
            lambda: lives.forget(sender="ana"),
            lambda: lives.forget(sender="ana", dry_run=True),
            lives.scrub,
        ):
            with pytest.raises(Closed):
                call()

    def test_an_empty_memory(self, memory: Memory) -> None:
        assert memory.forget(sender="ana").is_empty
        assert memory.forget(project="p", dry_run=True).is_empty
        assert memory.history.position() == 0
        assert memory.scrub().done
