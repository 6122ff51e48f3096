"""What a recall gives."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from amber.model.fact import Fact
from amber.model.message import Message
from amber.search.snippet import Snippet, WeightedToken, snippet


class Hit:
    """Something found: ``kind`` is ``fact`` or ``message``, ``item`` the fact or message itself, ``source`` where it
    came from (a fact's source, a message's role). ``why`` names the tokens that were found."""

    __slots__ = ("_passage", "_planned", "at", "item", "kind", "score", "source", "text", "why")

    def __init__(
        self,
        kind: str,
        item: Fact | Message,
        text: str,
        score: float,
        at: datetime | None,
        source: str,
        why: tuple[str, ...],
        planned: Sequence[WeightedToken],
    ) -> None:
        self.kind, self.item, self.text, self.score = kind, item, text, score
        self.at, self.source, self.why, self._planned = at, source, why, planned
        self._passage: Snippet | None = None

    @property
    def id(self) -> str:
        """The id of the fact or message."""
        return self.item.id

    @property
    def sender(self) -> str | None:
        """Whom it is from."""
        return _text(self.item.body["sender"])

    @property
    def project(self) -> str | None:
        """The project that it belongs to."""
        return _text(self.item.body["project"])

    @property
    def session(self) -> str | None:
        """The session that it comes from."""
        return _text(self.item.body["session"])

    @property
    def snippet(self) -> str:
        """The part of the text that matches best, each match in square brackets; worked out when it is asked for."""
        return self._matched().text

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """Where the matches lie in the snippet when it is read without the brackets."""
        return self._matched().spans

    def _matched(self) -> Snippet:
        if self._passage is None:
            self._passage = snippet(self.text, self._planned)
        return self._passage

    def to_dict(self) -> dict[str, Any]:
        """Give the hit as JSON."""
        names = ("kind", "id", "text", "snippet", "score", "sender", "project", "session", "source")
        shown = {name: getattr(self, name) for name in names}
        return {**shown, "at": self.at.isoformat() if self.at is not None else None, "why": list(self.why)}

    def __repr__(self) -> str:
        return f"Hit({self.kind} {self.id!r}, score={self.score:.2f}, {self.snippet!r})"


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
