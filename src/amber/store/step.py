"""Steps: what becomes of each document in a commit, for a backend to carry out."""

from __future__ import annotations

from amber.model.collection import Body, Collection, Order, Record
from amber.store.codec import encode
from amber.store.contract import ChangeKind
from amber.store.derive import Derived


class Step:
    """What happens to one document in a commit."""

    __slots__ = (
        "before",
        "body",
        "collection",
        "deltas",
        "derived",
        "encoded",
        "fresh",
        "key",
        "kind",
        "new_unique",
        "old_unique",
    )

    def __init__(self, collection: Collection, key: str, before: Record | None) -> None:
        self.collection = collection
        self.key = key
        self.before = before
        self.body: Body | None = before.body if before is not None else None
        #: None for a removed document, and for one that is only touched and added to: nothing derived changes then
        self.derived: Derived | None = None
        self.encoded = ""
        #: None while nothing but touches has happened: those are not logged
        self.kind: ChangeKind | None = None
        self.deltas: dict[str, int] = {}
        #: touched or written at all
        self.fresh = False
        self.old_unique: list[tuple[str, str]] = []
        self.new_unique: list[tuple[str, str]] = []

    @property
    def is_light(self) -> bool:
        """Whether the document only gets other touchable fields and counters."""
        return self.body is not None and self.derived is None


def log_images(step: Step) -> tuple[str | None, str | None]:
    """Give the encoded images before and after that the log keeps for a step."""
    before = encode(step.before.body) if step.before is not None and step.kind != "add" else None
    after = step.encoded if step.kind == "put" else None
    return before, after


def departures(step: Step) -> list[tuple[str, tuple[Order, ...]]]:
    """Give the (index, values) of indexes with ``forget`` under which a document does not stand any more."""
    collection, before = step.collection, step.before
    if before is None or step.is_light:
        return []
    left: list[tuple[str, tuple[Order, ...]]] = []
    for index in collection.indexes:
        if index.forget:
            old = {equal for equal, _ in collection.index_rows(index, before.body)}
            new = {equal for equal, _ in collection.index_rows(index, step.body)} if step.body is not None else set()
            left.extend((index.name, equal) for equal in sorted(old - new))
    return left
