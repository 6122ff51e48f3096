"""Times and durations: aware datetimes in the API, integer microseconds since the epoch (UTC) in storage."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from amber.errors import BadInput

Time = datetime | date | str
Duration = timedelta | str

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
#: The first and the last moment that a datetime in UTC can name.
EARLIEST = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
LATEST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(w|d|h|m|s|ms)")
_SECONDS = {"w": 604_800.0, "d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


def to_micros(value: Time, zone: tzinfo = UTC) -> int:
    """Read a time: an aware datetime, a date (its first moment in ``zone``), or ISO 8601 text; text without an offset
    is in ``zone``.

    :raises BadInput: for a naive datetime, text that is not ISO 8601, a time outside the years 1 to 9999 in UTC, or
        another type.
    """
    if isinstance(value, str):
        value = _parse(value, zone)
    elif isinstance(value, datetime):
        if value.utcoffset() is None:
            raise BadInput(f"{value!r} has no zone; give an aware datetime, like datetime.now(UTC).", value=value)
    elif isinstance(value, date):
        value = datetime.combine(value, time(), zone)
    else:
        raise BadInput(f"A time must be an aware datetime or ISO 8601 text, not {value!r}.", value=value)
    micros = (value - _EPOCH) // _MICROSECOND
    if not EARLIEST <= micros <= LATEST:
        raise BadInput(f"{value.isoformat()} lies outside the years 1 to 9999 in UTC.", value=value)
    return micros


def _parse(text: str, zone: tzinfo) -> datetime:
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise BadInput(
            f"{text!r} is not a time; write ISO 8601, like 2026-11-15 or 2026-11-15T12:00:00+01:00.", value=text
        ) from None
    return found if found.tzinfo is not None else found.replace(tzinfo=zone)


def from_micros(value: int) -> datetime:
    """Give a stored time as an aware datetime in UTC."""
    return _EPOCH + timedelta(microseconds=value)


def to_duration(given: Duration) -> int:
    """Read a duration as microseconds: a timedelta, or text like ``30d``, ``12h``, ``1h30m``.

    :raises BadInput: when it is neither, or not above zero.
    """
    value: object = given
    if isinstance(value, timedelta):
        micros = value // _MICROSECOND
    elif isinstance(value, str) and _PART.sub("", value).strip() == "" and value.strip():
        seconds = sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(value))
        micros = round(min(seconds * 1_000_000, LATEST))
    else:
        raise BadInput(f"{value!r} is not a duration; write it like '30d', '12h' or '1h30m'.", value=value)
    if micros <= 0:
        raise BadInput(f"A duration must be above zero, not {value!r}.", value=value)
    return micros
