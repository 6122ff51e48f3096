"""Retention in the in-process store: the oldest log entries go."""

from __future__ import annotations

from amber.backends.dict.space import Place, Space
from amber.store.arguments import check_limit, check_oldest
from amber.store.contract import Oldest, Purged
from amber.store.horizon import moved


def trim(space: Space, oldest: Oldest, limit: int) -> Purged:
    """Forget up to ``limit`` of the oldest entries, as far as they are asked for."""
    check_oldest(oldest)
    check_limit(limit)
    asked = min(oldest.upto, space.position) - space.horizon.position
    entries = changes = 0
    for entry in space.log[: max(0, min(asked, limit))]:
        if entries and changes + len(entry.changes) > limit:
            break
        entries, changes = entries + 1, changes + len(entry.changes)
    if not entries:
        return Purged(0, 0, True)
    gone, left = space.log[:entries], space.log[entries:]
    undoes = {entry.position: entry.undoes for entry in space.log}
    targets = {target for entry in left for target in entry.undoes}
    space.horizon = moved(space.horizon, gone[-1].position, gone[-1].at, targets, undoes.__getitem__)
    space.log = left
    without: set[Place] = set()
    for entry in gone:
        space.operations.pop(entry.operation, None)
        space.undone.pop(entry.position, None)
        for change in entry.changes:
            place = (change.collection, change.key)
            space.places[place].remove(entry.position)
            if not space.places[place]:
                del space.places[place]
                without.add(place)
    _forget_departures(space, without)
    return Purged(0, changes, entries >= asked)


def _forget_departures(space: Space, places: set[Place]) -> None:
    """Where documents without images once stood is asked by nobody."""
    for (name, by, equal), keys in list(space.departed.items()):
        for key in [key for key in keys if (name, key) in places]:
            del keys[key]
        if not keys:
            del space.departed[name, by, equal]
