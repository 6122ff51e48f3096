"""Times at the edge: people write and read them in their own zone."""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo

from amber.services.resolve import Moment


class LocalZone(tzinfo):
    """The zone of this computer, with its summer times, as far as the system knows them."""

    def utcoffset(self, dt: datetime | None) -> timedelta:
        if dt is None:
            return timedelta(0)
        try:
            return dt.replace(tzinfo=None).astimezone().utcoffset() or timedelta(0)
        except (OverflowError, ValueError, OSError):
            # the first and last days of the calendar, and years that the system's clock does not reach
            return timedelta(0)

    def dst(self, dt: datetime | None) -> timedelta:
        return timedelta(0)

    def tzname(self, dt: datetime | None) -> str:
        return "local"


def to_local(at: datetime) -> datetime:
    """Give an aware time in the zone of this computer; in UTC where the system can not tell."""
    try:
        return at.astimezone()
    except (OverflowError, ValueError, OSError):
        return at


def day_and_time(at: datetime | None, *, seconds: bool = False) -> str:
    """Write a time for people."""
    if at is None:
        return "no time"
    return to_local(at).strftime("%Y-%m-%d %H:%M:%S" if seconds else "%Y-%m-%d %H:%M")


def brief(at: datetime) -> str:
    """Write a time for people; the first moment of a day as the day alone."""
    text = day_and_time(at)
    return text.removesuffix(" 00:00")


def ago(at: datetime | None, now: datetime) -> str:
    """Write a time by its distance: with the hour while it is less than a week ago, else the day."""
    if at is None:
        return ""
    local, today = to_local(at), to_local(now)
    days = (today.date() - local.date()).days
    if not 0 <= days < 7:
        return f"{local:%Y-%m-%d}"
    day = {0: "today", 1: "yesterday"}.get(days, local.strftime("%a"))
    return f"{day} {local:%H:%M}"


def to_moment(text: str) -> Moment:
    """Read a position of the log, or a time or label."""
    return int(text) if text.isascii() and text.isdigit() else text
