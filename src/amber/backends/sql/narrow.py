"""What a search is narrowed by, as conditions on ``amber_doc d``."""

from __future__ import annotations

from typing import Any

from amber.store.contract import SearchFilter


def conditions(filter: SearchFilter) -> tuple[str, list[Any]]:
    """Give them, joined by AND, and their values; empty when everything is searched."""
    parts: list[str] = []
    values: list[Any] = []
    for name in ("sender", "session", "type"):
        value = getattr(filter, name)
        if value is not None:
            parts.append(f"d.{name} = ?")
            values.append(value)
    if filter.project is not None:
        # "0" follows "/" in every byte order, so the range holds what lies below the project by whole segments
        parts.append("(d.project = ? OR (d.project >= ? AND d.project < ?))")
        values += [filter.project, filter.project + "/", filter.project + "0"]
    if filter.since is not None:
        parts.append("d.at >= ?")
        values.append(filter.since)
    if filter.until is not None:
        parts.append("d.at < ?")
        values.append(filter.until)
    if filter.collections:
        parts.append(f"d.collection IN ({', '.join('?' * len(filter.collections))})")
        values += filter.collections
    return " AND ".join(parts), values
