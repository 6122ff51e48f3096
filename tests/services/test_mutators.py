"""Every method that changes something, found by introspection, held to the same assertions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pytest
from tests.services.stage import Open, everything

from amber.errors import BadInput, Closed, Conflict, Unsupported
from amber.memory import Memory
from amber.store.contract import Receipt

SESSION = "11111111-2222-4333-8444-555555555555"
#: What only reads. Any other public method must be a mutator that this file knows.
READS = {
    "facts": {"get", "find", "page", "iter", "count"},
    "sessions": {
        *("get", "find", "resolve", "short_names", "page", "iter", "children", "openings"),
        *("message", "around", "messages", "iter_messages"),
    },
    "history": {"position", "page", "get", "of", "resolve", "diff", "labels", "oldest"},
    "": {"open", "transaction", "at", "verify", "stats", "close", "recall"},
}
#: What no undo takes back and no entry describes; test_forget*.py is about it.
FINAL = {"": {"forget", "scrub"}}


#: What writes no entry of the log: the log's own beginning, whole memories, copies. Tested in files of their own.
APART: dict[str, set[str]] = {"facts": set(), "sessions": set(), "history": {"trim"}, "": {"export", "load", "backup"}}


class Mutator(NamedTuple):
    """How to call a method with something that works, and with a bad name. ``session`` is what its entry names."""

    call: Callable[..., Any]
    bad: Callable[[Any], Any]
    session: str | None = "s"


def fact(view: Any, key: str) -> Any:
    return view.facts.page(key=key, deleted=True).facts[0].id


MUTATORS: dict[str, Mutator] = {
    "facts.put": Mutator(
        lambda view, **more: view.facts.put("new", key="new", session="s", **more),
        lambda view: view.facts.put("x", key=""),
    ),
    "facts.patch": Mutator(
        lambda view, **more: view.facts.patch(fact(view, "live"), {"n": 2}, **more),
        lambda view: view.facts.patch("", {"n": 2}),
    ),
    "facts.delete": Mutator(
        lambda view, **more: view.facts.delete(fact(view, "live"), **more), lambda view: view.facts.delete("a\0")
    ),
    "facts.restore": Mutator(
        lambda view, **more: view.facts.restore(fact(view, "deleted"), **more),
        lambda view: view.facts.restore("x" * 600),
    ),
    "sessions.promote": Mutator(
        lambda view, **more: view.sessions.promote("s", **more), lambda view: view.sessions.promote("")
    ),
    "sessions.discard": Mutator(
        lambda view, **more: view.sessions.discard("s", **more), lambda view: view.sessions.discard(None)
    ),
    "history.undo": Mutator(
        lambda view, **more: view.history.undo(last=1, **more), lambda view: view.history.undo(last=1, session="")
    ),
    "history.redo": Mutator(lambda view, **more: view.history.redo(**more), lambda view: view.history.redo(actor="")),
    "history.label": Mutator(
        lambda view, **more: view.history.label("new", **more), lambda view: view.history.label("7"), session=None
    ),
    "history.unlabel": Mutator(
        lambda view, **more: view.history.unlabel("old", **more), lambda view: view.history.unlabel(""), session=None
    ),
    "register": Mutator(
        lambda view: view.register("t", unique=("v",)), lambda view: view.register("", unique=("v",)), session=None
    ),
    "import_sessions": Mutator(
        lambda view: list(view.import_sessions(view.transcript)),
        lambda view: view.import_sessions(view.transcript, sender=""),
        session=SESSION,
    ),
}
#: The ones that a transaction and a view offer; the others are no attributes of them.
BUFFERED = [name for name in MUTATORS if name.startswith(("facts.", "sessions."))]
REPEATABLE = [name for name in MUTATORS if name not in ("register", "import_sessions")]


def found() -> dict[str, set[str]]:
    memory = Memory.open("memory:")
    parts: dict[str, Any] = {"facts": memory.facts, "sessions": memory.sessions, "history": memory.history, "": memory}
    memory.close()
    return {
        part: {name for name, _ in inspect.getmembers(type(owner), inspect.isroutine) if not name.startswith("_")}
        for part, owner in parts.items()
    }


def test_every_method_is_known() -> None:
    for part, names in found().items():
        mutators = {name.rpartition(".")[2] for name in MUTATORS if name.rpartition(".")[0] == part}
        assert names == mutators | READS[part] | APART[part] | FINAL.get(part, set()), (
            f"a new method of {part or 'Memory'}: is it a mutator?"
        )
        assert not mutators & READS[part]


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    line = {
        "parentUuid": None, "isSidechain": False, "type": "user", "uuid": "u1", "timestamp": "2026-10-05T08:00:00.250Z",
        "sessionId": SESSION, "cwd": "/home/ana/atlas", "version": "2.1.214", "message": {"role": "user", "content": "zebra"},
    }  # fmt: skip
    path = tmp_path / "session.jsonl"
    path.write_bytes(orjson.dumps(line) + b"\n")
    return path


@pytest.fixture
def ready(memory: Memory, transcript: Path) -> Memory:
    """Give a memory in which each mutator has something to do: also one change that is undone."""
    memory.history.label("old", 0)
    memory.facts.put({"n": 1}, key="live", session="s")
    memory.facts.delete(memory.facts.put("old", key="deleted", session="s"))
    memory.facts.put("held", key="held", session="s", ephemeral=True)
    memory.facts.put("undone", key="undone", session="s")
    memory.history.undo(last=1)
    memory.transcript = transcript  # type: ignore[attr-defined]
    return memory


def state(memory: Memory) -> Any:
    """Give all that a user can see, the log included."""
    return (
        everything(memory, ("s",)),
        [session.to_dict() for session in memory.sessions.page()],
        [message.to_dict() for message in memory.sessions.messages(SESSION)],
        memory.history.page(limit=1_000),
        memory.stats().documents,
    )


def document(result: Any) -> Any:
    """Give what is compared of a result."""
    return [each.id for each in result] if isinstance(result, list) else result


@pytest.mark.parametrize("name", MUTATORS)
def test_it_is_visible_and_logged_once(ready: Memory, name: str) -> None:
    before, position = state(ready), ready.history.position()
    MUTATORS[name].call(ready)
    after = state(ready)
    assert after[:3] != before[:3] or after[4] != before[4]
    entries = after[3][: len(after[3]) - len(before[3])]
    # an import says when it has read a file whole
    assert [entry.position for entry in entries] == [*range(position + len(entries), position, -1)]
    assert len(entries) == 1
    assert {(entry.actor, entry.session) for entry in entries} == {("tester", MUTATORS[name].session)}
    assert all(entry.changes for entry in entries)


@pytest.mark.parametrize("name", MUTATORS)
def test_its_actor_and_reason_are_logged(ready: Memory, open_memory: Open, name: str) -> None:
    if name in BUFFERED:
        with ready.transaction(actor="clerk", reason="form 12", session="desk") as tx:
            MUTATORS[name].call(tx)
        entry = ready.history.page(limit=1)[0]
        assert (entry.actor, entry.reason, entry.session) == ("clerk", "form 12", "desk")
    else:
        other = open_memory(actor="clerk")
        other.transcript = ready.transcript  # type: ignore[attr-defined]
        more = {"reason": "form 12"} if name.startswith("history.") else {}
        MUTATORS[name].call(other, **more)
        entry = ready.history.page(limit=1)[0]
        assert entry.actor == "clerk"
        assert entry.reason == more.get("reason", "import of claude session" if name == "import_sessions" else None)


@pytest.mark.parametrize("name", BUFFERED)
def test_it_is_absent_after_an_exception_in_a_transaction(ready: Memory, name: str) -> None:
    before = state(ready)

    def fail() -> None:
        with ready.transaction() as tx:
            MUTATORS[name].call(tx)
            assert everything(tx, ("s",)) != before[0]
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert state(ready) == before


@pytest.mark.parametrize("name", BUFFERED)
def test_it_does_the_same_in_a_transaction(ready: Memory, name: str) -> None:
    before = state(ready)
    MUTATORS[name].call(ready)
    alone = [
        {**body, "updated_at": 0, "created_at": 0, "valid_from": 0, "deleted_at": 0}
        for body in everything(ready, ("s",)).values()
    ]
    ready.history.undo(last=1)
    assert everything(ready, ("s",)) == before[0]
    with ready.transaction() as tx:
        MUTATORS[name].call(tx)
        inside = everything(tx, ("s",))
    assert everything(ready, ("s",)) == inside
    assert [
        {**body, "updated_at": 0, "created_at": 0, "valid_from": 0, "deleted_at": 0} for body in inside.values()
    ] == alone


@pytest.mark.parametrize("name", [name for name in MUTATORS if name not in BUFFERED])
def test_a_transaction_and_a_view_do_not_offer_it(ready: Memory, name: str) -> None:
    for view in (ready.transaction(), ready.at(1)):
        assert not hasattr(view, name.partition(".")[0])


@pytest.mark.parametrize("name", MUTATORS)
def test_nothing_is_written_when_the_store_refuses(ready: Memory, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = state(ready)
    refusal = BadInput("refused") if name != "import_sessions" else Conflict("refused")
    if isinstance(refusal, Conflict):
        refusal.retry = "no"  # type: ignore[misc]

    def refuse(batch: Any) -> Receipt:
        raise refusal

    with monkeypatch.context() as patch:
        patch.setattr(ready._store, "commit", refuse)
        with pytest.raises(type(refusal), match="refused"):
            MUTATORS[name].call(ready)
    assert state(ready) == before


@pytest.mark.parametrize("name", MUTATORS)
def test_the_same_again_changes_nothing(ready: Memory, name: str) -> None:
    more = {"operation": "op"} if name in REPEATABLE else {}
    first = MUTATORS[name].call(ready, **more)
    after = state(ready)
    second = MUTATORS[name].call(ready, **more)
    assert state(ready) == after
    if name == "import_sessions":
        assert [each.status for each in (*first, *second)] == ["imported", "unchanged"]
    else:
        assert document(second) == document(first)


@pytest.mark.parametrize("name", REPEATABLE)
def test_a_lost_answer_is_found_again_after_other_changes(ready: Memory, name: str) -> None:
    first = MUTATORS[name].call(ready, operation="op")
    ready.facts.put("later", session="s", ephemeral=True)
    ready.facts.put({"n": 9}, key="live")
    after = state(ready)
    assert document(MUTATORS[name].call(ready, operation="op")) == document(first)
    assert state(ready) == after


@pytest.mark.parametrize("name", MUTATORS)
def test_it_can_be_taken_back(ready: Memory, name: str) -> None:
    before, position = state(ready), ready.history.position()
    MUTATORS[name].call(ready)
    middle = state(ready)
    ready.history.undo(after=position)
    after = state(ready)
    assert (after[:3], after[4]) == (before[:3], before[4])
    ready.history.undo(ready.history.position())
    assert state(ready)[:2] == middle[:2]
    ready.history.undo(after=position)
    assert state(ready)[:3] == before[:3]


@pytest.mark.parametrize("name", MUTATORS)
def test_it_is_refused_on_a_bad_name(ready: Memory, name: str) -> None:
    before = state(ready)
    with pytest.raises(BadInput):
        MUTATORS[name].bad(ready)
    assert state(ready) == before


@pytest.mark.parametrize("name", BUFFERED)
def test_it_is_refused_in_a_view_of_the_past(ready: Memory, name: str) -> None:
    before = state(ready)
    with pytest.raises(Unsupported):
        MUTATORS[name].call(ready.at(ready.history.position()))
    assert state(ready) == before


@pytest.mark.parametrize("name", MUTATORS)
def test_it_is_refused_after_close(ready: Memory, name: str) -> None:
    if name in BUFFERED:
        with ready.transaction() as tx:
            ready.close()
            with pytest.raises(Closed):
                MUTATORS[name].call(tx)
    ready.close()
    ready.close()
    with pytest.raises(Closed):
        MUTATORS[name].call(ready)


def test_reads_are_refused_after_close(ready: Memory) -> None:
    view = ready.at(1)
    ready.close()
    for read in (
        lambda: ready.facts.get("x"), lambda: ready.facts.find(key="k"), ready.facts.page, ready.facts.count,
        lambda: ready.recall("x"), ready.verify, ready.stats, ready.history.position, ready.history.page,
        lambda: ready.history.of("x"), lambda: ready.history.diff(0, 0), lambda: ready.at(0), lambda: ready.sessions.get("x"),
        ready.sessions.page, lambda: ready.sessions.messages("x"), view.facts.page, lambda: view.facts.find(key="k"),
    ):  # fmt: skip
        with pytest.raises(Closed):
            read()
    assert "closed" in repr(ready)
