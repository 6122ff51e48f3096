"""The receipt of forgetting: how much was removed, and none of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from amber.model.collection import Scope


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What a forget removed, or with ``dry_run`` what it would remove.

    It holds neither content nor the name of who or what was forgotten, so that it may be kept; ``actor`` is who called.

    ``scope`` is ``sender``, ``session`` or ``project``; ``documents`` and ``images`` count, by collection, what was
    removed and the changes in the log that were emptied (of documents that were deleted before, only these are left);
    ``entries`` the log entries that named who was forgotten as actor or session; ``others`` what participants beside
    the store removed, by participant; ``positions`` are those of the log entries that tell long-lived readers of it.

    ``steps`` is how much work the scrub of the raw files was; ``remaining`` names what could not be erased yet, and
    what to do about it. Empty: the words are in none of the files.
    """

    space: str
    scope: Scope
    at: datetime
    actor: str | None
    dry_run: bool
    documents: Mapping[str, int]
    images: Mapping[str, int]
    entries: int
    others: Mapping[str, int]
    positions: tuple[int, ...] = ()
    steps: int = 0
    remaining: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """How many documents there were."""
        return sum(self.documents.values())

    @property
    def is_empty(self) -> bool:
        """Whether there was nothing to forget."""
        return not (self.documents or self.images or self.entries or self.others)

    def to_dict(self) -> dict[str, Any]:
        """Give the receipt as JSON; the time is an ISO 8601 text."""
        return {
            "space": self.space,
            "scope": self.scope,
            "at": self.at.isoformat(),
            "actor": self.actor,
            "dry_run": self.dry_run,
            "documents": dict(self.documents),
            "images": dict(self.images),
            "entries": self.entries,
            "others": dict(self.others),
            "positions": list(self.positions),
            "steps": self.steps,
            "remaining": list(self.remaining),
        }

    def __str__(self) -> str:
        did = "would forget" if self.dry_run else "forgot"
        held = [f"{n:,} {name}" for name, n in (*self.documents.items(), *self.others.items())]
        if self.images:
            held.append(f"{sum(self.images.values()):,} images in the log")
        if self.entries:
            held.append(f"the name in {self.entries:,} log entries")
        text = f"{did} a {self.scope} of space {self.space!r}: {', '.join(held) or 'nothing was there'}"
        if self.dry_run:
            return text
        files = "clean" if not self.remaining else "not clean yet: " + "; ".join(self.remaining)
        by = f" by {self.actor}" if self.actor is not None else ""
        return f"{text} (at {self.at.isoformat()}{by}; raw files {files})"
