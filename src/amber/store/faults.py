"""Named points between the steps of a write, where crash tests end the process. In production a point does nothing."""

from __future__ import annotations

from collections.abc import Callable

#: Every point, in the order in which each kind of write passes them.
POINTS = (
    "commit:begun",
    "commit:document",
    "commit:derived",
    "commit:log",
    "commit:space",
    "commit:before-commit",
    "commit:after-commit",
    "purge:begun",
    "purge:document",
    "purge:images",
    "purge:before-commit",
    "purge:after-commit",
    "trim:begun",
    "trim:log",
    "trim:before-commit",
    "trim:after-commit",
    "load:begun",
    "load:before-commit",
    "load:after-commit",
    "load-end:begun",
    "load-end:before-commit",
    "load-end:after-commit",
    "backup:copied",
    "backup:before-rename",
    "backup:after-rename",
    "migrate:begun",
    "migrate:statement",
    "migrate:document",
    "migrate:declared",
    "migrate:before-commit",
    "migrate:after-commit",
    "claim:begun",
    "claim:before-commit",
    "claim:after-commit",
    "scrub:begun",
    "scrub:before-commit",
    "scrub:after-commit",
    "scrub:vacuumed",
    "scrub:emptied",
    "verify:begun",
    "verify:before-commit",
    "verify:after-commit",
)

_hook: Callable[[str], None] | None = None


def install(hook: Callable[[str], None] | None) -> None:
    """Call ``hook`` with the name of every point that is passed in this process; None stops that."""
    global _hook
    _hook = hook


def point(name: str) -> None:
    """Pass a named point."""
    if _hook is not None:
        _hook(name)
