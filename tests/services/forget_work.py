"""What the children of the crash tests of forgetting do; and the memory they do it to."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

from amber.memory import Memory

WORD = "zebra-41-quartz"
SESSION = "11111111-2222-4333-8444-555555555555"


def transcript(path: Path) -> Path:
    """Write a session in which the word is a prompt, is quoted in the reply and in a tool's result, and is the title."""
    common: dict[str, Any] = {"isSidechain": False, "sessionId": SESSION, "cwd": f"/home/{WORD}", "version": "2.1.214"}
    tool = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": f"echo {WORD}"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": f"{WORD}\n"}
    bodies: list[tuple[str, object]] = [
        ("user", f"remember {WORD}"),
        ("assistant", [{"type": "text", "text": f"You said {WORD}."}]),
        ("assistant", [tool]),
        ("user", [result]),
        ("user", "and forget " + f"{WORD} " * 3_000),
    ]
    lines: list[dict[str, Any]] = [{"type": "summary", "summary": f"About {WORD}", "leafUuid": "u4"}]
    for n, (kind, content) in enumerate(bodies):
        parent = f"u{n - 1}" if n else None
        at = f"2026-10-05T08:00:0{n}.250Z"
        message = {"role": kind, "content": content}
        lines.append(
            {**common, "parentUuid": parent, "type": kind, "uuid": f"u{n}", "timestamp": at, "message": message}
        )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def fill(memory: Memory, sender: str, folder: Path) -> None:
    """Put the word wherever it can be, as of a sender; and others beside it."""
    put = memory.facts.put
    memory.register("account", unique=("mail",))
    for n in range(40):
        put(f"garden river {n}", sender="ben", project="kept")
        put(f"{WORD} number {n} " * (1 + 7 * (n % 5)), sender=sender)
    put({"mail": WORD, WORD: [WORD]}, sender=sender, type="account")
    put(WORD, sender=sender, key=WORD, project=f"p/{WORD}", session=f"run {WORD}")
    put("something else", sender=sender, key=WORD, project=f"p/{WORD}")
    fact = put({"word": WORD, "long": f"{WORD} " * 4_000}, sender=sender)
    memory.facts.patch(fact, {"word": None, "long": None})
    memory.facts.delete(put(f"deleted {WORD}", sender=sender))
    put(f"undone {WORD}", sender=sender)
    memory.history.undo(last=1, reason=f"not {WORD}")
    put(f"held {WORD}", sender=sender, session=f"run {WORD}", ephemeral=True)
    memory.sessions.discard(f"run {WORD}")
    put(f"derived {WORD}", sender="ben", derived_from=[fact], source="derived")
    with memory.transaction(actor=sender, reason=f"because of {WORD}", session="s") as tx:
        tx.facts.put(f"in a batch {WORD}", sender=sender)
        tx.facts.put("in a batch", sender="ben", project="kept")
    memory.import_sessions(transcript(folder / "session.jsonl"), sender=sender)
    memory.recall(WORD)


def forget(path: str, sender: str) -> None:
    """Forget a sender."""
    with Memory.open(path, space="acme") as memory:
        memory.forget(sender=sender)


def scrub_halfway(path: str, sender: str) -> None:
    """Forget a sender, and end the process in the middle of the scrub."""
    with Memory.open(path, space="acme") as memory:
        scrub, calls = memory._store.scrub, 0

        def one_step(*, steps: int = 1) -> object:
            nonlocal calls
            calls += 1
            if calls > 1:
                os.kill(os.getpid(), signal.SIGKILL)
            return scrub(steps=1)

        memory._store.scrub = one_step  # type: ignore[method-assign, assignment]
        memory.forget(sender=sender)
