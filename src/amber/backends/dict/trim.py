"""Retention in the in-process store: the oldest log entries go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from amber.backends.dict.space import Place, Space
from amber.backends.dict.write import judge
from amber.model.batch import Expectation
from amber.model.collection import Collection
from amber.store.arguments import check_limit, check_oldest
from amber.store.contract import Oldest, Purged
from amber.store.horizon import moved


def trim(
    space: Space,
    collections: Mapping[str, Collection],
    oldest: Oldest,
    limit: int,
    expectations: Sequence[Expectation],
) -> Purged:
    """Forget up to ``limit`` of the oldest entries, as far as they are asked for."""
    check_oldest(oldest)
    check_limit(limit)
    for expectation in expectations:
        judge(space, collections, expectation)
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
            space.places[place].pop(entry.position, None)
            if not space.places[place]:
                del space.places[place]
                without.add(place)
    # where documents without images once stood is asked by nobody
    for place in without:
        space.unmark(place, None, ())
    return Purged(0, changes, entries >= asked)
