"""Settings: arguments come first, then the URL, then the environment, then the defaults."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from amber.errors import BadInput, Unsupported

#: The longest time that a busy store may be waited for, in seconds: the engines count it in 32 bits of milliseconds.
MAX_TIMEOUT = 2_000_000
#: Megabytes of texts that a process keeps in memory to search them, unless it is told otherwise; and the most.
SEARCH_MEMORY, MAX_SEARCH_MEMORY = 256, 1_000_000


class Target(NamedTuple):
    """Where a memory lies: ``kind`` is ``sqlite`` (with its path) or ``dict``; ``options`` come from the URL."""

    kind: str
    path: Path | None
    options: dict[str, str]


def default_path() -> Path:
    """Give the per-user default: ``amber/amber.db`` below ``XDG_DATA_HOME`` (``~/.local/share``), on macOS below
    ``~/Library/Application Support``, on Windows below ``%LOCALAPPDATA%``."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = str(Path.home() / "Library" / "Application Support")
    else:
        base = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(base) / "amber" / "amber.db"


def default_target() -> str:
    """Give what ``AMBER_DB`` names, or the per-user default."""
    return os.environ.get("AMBER_DB") or str(default_path())


def default_space() -> str:
    """Give what ``AMBER_SPACE`` names, or ``default``."""
    return os.environ.get("AMBER_SPACE") or "default"


def parse_target(target: str | os.PathLike[str]) -> Target:
    """Read a path or URL.

    A text with ``://`` is a URL: ``sqlite:///relative.db``, ``sqlite:////absolute.db`` (percent-encoded; options
    ``durability`` and ``timeout`` in the query). ``memory:`` is a store of this process. All else is a path, taken to
    the letter; ``~`` at its start is the home folder.

    :raises BadInput: for an empty target or an unknown option. :raises Unsupported: for a scheme that is not there.
    """
    text = os.fspath(target)
    if not isinstance(text, str) or not text.strip():
        raise BadInput(f"A memory is named by a path or URL, not {target!r}.", target=target)
    if text in ("memory:", "memory://", ":memory:"):
        return Target("dict", None, {})
    if text.startswith("memory:"):
        raise BadInput(f"memory: takes nothing after it, not {text[7:]!r}; write ./{text} for a file.", target=text)
    if text.startswith("file:") or text.endswith(":memory:"):
        raise BadInput(f"{text!r} is a spelling of SQLite's own; name a path, or memory: for one in this process.")
    if "://" not in text:
        return Target("sqlite", Path(text).expanduser(), {})
    parts = urlsplit(text)
    if parts.scheme != "sqlite":
        raise Unsupported(
            f"This Amber has no store for {parts.scheme}:// URLs; it keeps memories in SQLite files (a path) and in "
            "process (memory:).",
            scheme=parts.scheme,
        )
    if parts.netloc:
        raise BadInput(f"{text!r} names a host; write sqlite:///relative.db or sqlite:////absolute.db.", target=text)
    try:
        options = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query)))
    except ValueError:
        raise BadInput(f"{text!r} has options that are not written name=value.", target=text) from None
    unknown = sorted(set(options) - {"durability", "timeout"})
    if unknown or parts.fragment:
        raise BadInput(f"{text!r} has unknown options {unknown}; there are durability and timeout.", target=text)
    return Target("sqlite", Path(unquote(parts.path[1:])), options)


def read_options(target: Target, durability: str | None, timeout: float | None) -> dict[str, Any]:
    """Give a store's options: arguments before those of the URL."""
    options: dict[str, Any] = {}
    chosen = durability if durability is not None else target.options.get("durability")
    if chosen is not None:
        options["durability"] = chosen
    seconds = timeout if timeout is not None else target.options.get("timeout")
    if seconds is not None:
        try:
            options["timeout"] = float(seconds)
        except (TypeError, ValueError):
            raise BadInput(f"timeout must be a number of seconds, not {seconds!r}.", timeout=seconds) from None
        if not 0 <= options["timeout"] <= MAX_TIMEOUT:
            raise BadInput(f"timeout must be from 0 to {MAX_TIMEOUT} seconds, not {seconds!r}.", timeout=seconds)
    return options


def read_search_memory(megabytes: int | None) -> int:
    """Give how many megabytes a process may keep texts in: the argument, then ``AMBER_SEARCH_MEMORY``, then 256."""
    if megabytes is None:
        text = os.environ.get("AMBER_SEARCH_MEMORY")
        if not text:
            return SEARCH_MEMORY
        if not text.isascii() or not text.isdigit():
            raise BadInput(f"AMBER_SEARCH_MEMORY must be a number of megabytes, not {text!r}.", search_memory=text)
        megabytes = int(text)
    if type(megabytes) is not int or not 0 <= megabytes <= MAX_SEARCH_MEMORY:
        raise BadInput(
            f"search_memory must be a whole number of megabytes from 0 to {MAX_SEARCH_MEMORY}, not {megabytes!r}.",
            search_memory=megabytes,
        )
    return megabytes
