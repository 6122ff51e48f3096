"""Export and load, as far as stores share it: the order of collections, and the refusal of a space that is in use."""

from __future__ import annotations

from collections.abc import Mapping

from amber.errors import Conflict
from amber.model.collection import Collection


def in_order(collections: Mapping[str, Collection]) -> list[Collection]:
    """Give the collections by name, those that hold rules for others first."""
    rules = {each.rules.collection for each in collections.values() if each.rules is not None}
    return [collections[name] for name in sorted(collections, key=lambda name: (name not in rules, name))]


def not_empty(space: str, position: int) -> Conflict:
    """Say that a space can not be loaded into."""
    conflict = Conflict(
        f"Space {space!r} was written to already (it is at position {position}), and a load needs an empty one: "
        "name another space, or another memory.",
        space=space,
        position=position,
    )
    conflict.retry = "no"  # type: ignore[misc]
    return conflict
