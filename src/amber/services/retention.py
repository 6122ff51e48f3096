"""Retention: the beginning of the log is let go, by age or number of entries."""

from __future__ import annotations

from amber.errors import BadInput
from amber.model.bounds import check_int
from amber.model.history import Trimmed
from amber.model.times import EARLIEST, Duration, from_micros, to_duration
from amber.services.labels import Labels
from amber.services.unit import Unit
from amber.store.contract import Horizon, LogQuery, Oldest

#: Entries, and about as many changes, that go in one transaction.
CHUNK = 1_000


def trim(unit: Unit, older_than: Duration | None, keep: int | None, dry_run: bool) -> Trimmed:
    """Answer ``History.trim``."""
    if older_than is None and keep is None:
        raise BadInput("trim needs older_than (like '90d'), keep (a number of entries), or both.")
    store, space = unit.store, unit.space
    begin, upto = store.horizon(space), store.position(space)
    if keep is not None:
        check_int("keep", keep, 0)
        upto -= keep
    if older_than is not None:
        cut = max(unit.now() - to_duration(older_than), EARLIEST)
        upto = min(upto, store.position_at(space, cut))
    upto = max(upto, begin.position)
    labels = tuple(label.name for label in Labels(unit).iter(below=upto))
    end = Horizon(upto, _time(unit, begin, upto))
    if not dry_run:
        while not store.purge(space, Oldest(upto), now=unit.now(), limit=CHUNK).done:
            continue
    oldest = from_micros(end.at) if upto else None
    return Trimmed(upto - begin.position, upto, oldest, labels, dry_run)


def _time(unit: Unit, begin: Horizon, position: int) -> int:
    if position == begin.position:
        return begin.at
    found = unit.store.log(unit.space, LogQuery(low=position, high=position + 1, limit=1))
    return found[0].at if found else unit.store.horizon(unit.space).at
