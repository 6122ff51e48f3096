"""Write a database file of the day, and say what can be read in it.

Run before the schema changes, from the root of the checkout, with the code that shall be remembered::

    PYTHONPATH=src:. .venv/bin/python -m tests.migrations.day v2

It writes ``v2.db.gz`` and ``v2.json`` (what was seen in it) beside this file. Never write a day anew: the code of later
days must read what the code of that day wrote.
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from amber.errors import AmberError
from amber.memory import Memory
from amber.store.contract import Selection

HERE = Path(__file__).parent
SPACES = ("acme", "other")
START = 1_700_000_000_000_000
SESSION = "33333333-2222-4333-8444-555555555555"
QUESTIONS = ("Lisbon", "dark mode", "雾凇", "C++", "advisory locks", "zebra quartz", "deleted tea", "grüne Straße")
#: Positions of ``acme`` at which the facts are looked at.
MOMENTS = (1, 4, 9, 14, 20)


class Clock:
    """Give microseconds since the epoch, a minute more with each call."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> int:
        self.now += 60_000_000
        return self.now


def fill(path: Path, clock: Clock) -> None:
    """Write facts in all states, types, a session, undo marks, purge marks, two spaces; labels and a trimmed log where
    the code of the day has them."""
    with Memory.open(path, space="other", actor="ben", clock=clock) as other:
        other.facts.put("Madrid", sender="ana", key="city")
        if hasattr(other.history, "trim"):
            for number in range(5):
                other.facts.put({"n": number}, key="counted")
            other.facts.put("Madrid", sender="ana", key="city")
            other.history.undo(last=1)
            # the redo's undo is trimmed, the redo is not
            other.history.redo()
            other.history.trim(keep=1)
    with Memory.open(path, space="acme", actor="ana", clock=clock) as memory:
        _facts(memory)
        _sessions(memory, path.parent)
        memory.history.undo(last=1, session=SESSION)
        memory.history.redo(session=SESSION)
        if hasattr(memory.history, "label"):
            memory.history.label("first facts", 9)
            memory.history.label("the end", reason="a day is over")


def _facts(memory: Memory) -> None:
    facts, history = memory.facts, memory.history
    facts.put("Lisbon", sender="ana", key="city", source="user")
    facts.put("Porto", sender="ana", key="city")
    facts.put("Oslo", sender="ana", key="city", valid_from="2019-01-01", valid_until="2021-01-01")
    for text in ("Prefers dark mode", "prefers  DARK mode", "Prefers dark mode"):
        facts.put(text, sender="ana", project="team/atlas")
    memory.register("preference", unique=("email",))
    memory.register("oath", immutable=True)
    kept = facts.put({"email": "a@b.io", "role": "user", "n": 1.0, "deep": {"x": [1, None]}}, type="preference")
    facts.patch(kept, {"role": "admin", "n": None})
    facts.put("我用雾凇拼音输入法", sender="li", source="assistant")
    facts.put("we rewrote it in C++ last year", project="team/atlas/core", source="document")
    facts.put({"{x}": "{{y}}", "a\0b": "\u2028 \u202e 🦓", "ﬁ": "grüne Straße"}, key="awkward")
    facts.put("always so", type="oath")
    facts.put("a guest code", ttl="30d", sender="ana")
    facts.delete(facts.put("a deleted tea", sender="ana"))
    facts.restore(facts.delete(facts.put("restored coffee", sender="ana")))
    facts.put("Berlin", sender="ana", key="city", session="s1", ephemeral=True)
    facts.put("held for now", session="s2", ephemeral=True)
    facts.put("kept for good", session="s3", ephemeral=True)
    memory.sessions.promote("s3")
    with memory.transaction(actor="form", reason="form 12", session="desk") as tx:
        tx.facts.put("Rome", sender="eva", key="city")
        tx.facts.put("Likes tea", sender="eva")
    history.undo(last=1, reason="wrong person")
    history.redo()
    history.undo(last=2)
    facts.put("Turin", sender="eva", key="city")
    gone = facts.put("zebra quartz of nobody", sender="gone")
    facts.put("zebra quartz of nobody else", sender="gone")
    facts.patch(facts.put({"zebra": "quartz"}, sender="moved"), {"zebra": "other"})
    store = memory._store
    store.purge("acme", Selection("facts", by="sender", equal=("gone",)), now=clock_of(memory))
    assert facts.find(gone.id) is None


def clock_of(memory: Memory) -> int:
    """Give the time of a memory."""
    return memory._context.clock()


def _sessions(memory: Memory, folder: Path) -> None:
    lines = []
    previous = None
    said = [("user", "why did we choose advisory locks?"), ("assistant", "Because they die with their connection.")] * 3
    for number, (role, text) in enumerate(said):
        name = f"u{number}"
        message: dict[str, Any] = {"role": role, "content": text}
        if role == "assistant":
            message |= {"id": f"m{number}", "model": "claude-x", "content": [{"type": "text", "text": f"{text} {number}"}],
                        "usage": {"input_tokens": 10, "output_tokens": number}}  # fmt: skip
        else:
            message["content"] = f"{text} {number}"
        lines.append(
            {"parentUuid": previous, "isSidechain": False, "type": role, "uuid": name, "sessionId": SESSION,
             "timestamp": f"2026-10-05T08:00:{number:02}.250Z", "cwd": "/home/ana/atlas", "version": "2.1.214",
             "message": message}
        )  # fmt: skip
        previous = name
    path = folder / f"{SESSION}.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    results = memory.import_sessions(path, sender="ana", project="team/atlas")
    assert [each.status for each in results] == ["imported"]
    path.unlink()


def observe(memory: Memory) -> dict[str, Any]:
    """Give what can be read of a space and must stay so, as JSON."""
    seen: dict[str, Any] = {
        "facts": [fact.to_dict() for session in (None, "s1", "s2", "s3") for fact in all_facts(memory, session)],
        "sessions": [session.to_dict() for session in memory.sessions.page()],
        "messages": [m.to_dict() for s in memory.sessions.page() for m in memory.sessions.iter_messages(s.id)],
        "history": [_entry(each) for each in memory.history.page(limit=1_000)],
        "at": {str(moment): _at(memory, moment) for moment in MOMENTS},
        "diff": _diff(memory),
        "hits": {question: sorted(hit.id for hit in memory.recall(question)) for question in QUESTIONS},
        "documents": {name: n for name, n in memory.stats().documents.items() if n},
        "position": memory.history.position(),
    }
    if hasattr(memory.history, "labels"):
        seen["labels"] = [[each.name, each.position] for each in memory.history.labels()]
    return json.loads(json.dumps(seen, default=str))  # type: ignore[no-any-return]


def all_facts(view: Any, session: str | None = None) -> list[Any]:
    """Give all facts, whatever their state."""
    return list(view.facts.iter(session=session, superseded=True, deleted=True))


def _entry(entry: Any) -> dict[str, Any]:
    changes = [{**each._asdict(), "deltas": dict(each.deltas) if each.deltas else None} for each in entry.changes]
    return {**entry._asdict(), "at": entry.at.isoformat(), "changes": changes}


def _at(memory: Memory, moment: int) -> Any:
    try:
        return [fact.to_dict() for fact in all_facts(memory.at(moment))]
    except AmberError as error:
        return error.code


def _diff(memory: Memory) -> Any:
    try:
        diff = memory.history.diff(4, memory.history.position())
    except AmberError as error:
        return error.code
    facts = [[each.kind, (each.after or each.before).id] for each in diff.facts]  # type: ignore[union-attr]
    return {"facts": facts, "others": dict(diff.others)}


def write(name: str) -> None:
    """Write the file of the day and what is in it."""
    with tempfile.TemporaryDirectory() as folder:
        path, clock = Path(folder) / "day.db", Clock()
        fill(path, clock)
        seen: dict[str, Any] = {}
        for space in SPACES:
            with Memory.open(path, space=space, clock=clock) as memory:
                assert memory.verify() == []
                seen[space] = observe(memory)
        raw = path.read_bytes()
    (HERE / f"{name}.db.gz").write_bytes(gzip.compress(raw, mtime=0))
    text = json.dumps({"now": clock.now, "spaces": seen}, indent=1, ensure_ascii=True)
    (HERE / f"{name}.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    write(sys.argv[1])
