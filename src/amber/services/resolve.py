"""Moments: a position of the log, a time, or a label; and what is no longer to be seen."""

from __future__ import annotations

from datetime import date, datetime
from typing import NamedTuple

from amber.errors import BadInput, NotFound
from amber.model.label import is_like_a_time
from amber.model.times import from_micros, to_micros
from amber.services.labels import Labels
from amber.services.unit import Unit
from amber.store.contract import Horizon, Store

Moment = int | str | datetime


class Resolved(NamedTuple):
    """A moment as a position; ``time`` when it was given as one, ``label`` when it was given by name."""

    position: int
    time: int | None = None
    label: str | None = None


def resolve(unit: Unit, moment: Moment) -> Resolved:
    """Find the position of a moment.

    :raises BadInput: for a position that the log does not have yet, or what is no moment.
    :raises NotFound: for a label that is not there, and for what was trimmed, naming the oldest moment to be seen.
    """
    given: object = moment
    if isinstance(given, bool) or not isinstance(given, (int, str, date)):
        raise BadInput(f"A moment is a position, a time or a label, not {moment!r}.", moment=moment)
    store, space = unit.store, unit.space
    if isinstance(given, int):
        newest = store.position(space)
        if not 0 <= given <= newest:
            raise BadInput(f"Position {given} is not in the log, which ends at {newest}.", position=given)
        return Resolved(_seen(store, space, given, f"Position {given}"))
    if isinstance(given, str) and not is_like_a_time(given):
        labels = Labels(unit)
        found = labels.find(given) if given.strip() else None
        if found is None:
            raise labels.missing(given)
        named = f"Label {given!r}, which stands at position {found.position},"
        return Resolved(_seen(store, space, found.position, named), label=given)
    time = to_micros(given, unit.context.zone)
    horizon = store.horizon(space)
    if horizon.position and time < horizon.at:
        raise trimmed(horizon, f"What was known at {from_micros(time).isoformat()}")
    return Resolved(store.position_at(space, time), time)


def _seen(store: Store, space: str, position: int, what: str) -> int:
    horizon = store.horizon(space)
    if position < horizon.position:
        raise trimmed(horizon, what)
    return position


def trimmed(horizon: Horizon, what: str) -> NotFound:
    """Say that something lies before the beginning of the log, and what the oldest moment is."""
    oldest = f"position {horizon.position} ({from_micros(horizon.at).isoformat()})"
    return NotFound(
        f"{what} was trimmed from the log; the oldest moment that can be seen is {oldest}.", oldest=horizon.position
    )
