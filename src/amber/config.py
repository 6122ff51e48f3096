"""Settings: arguments come first, then the URL, then the environment, then the defaults."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from amber.errors import BadInput, Unsupported

#: The longest time that a busy store may be waited for, in seconds: the engines count it in 32 bits of milliseconds.
MAX_TIMEOUT = 2_000_000
#: Connections that a store may hold to its server at most.
MAX_POOL = 1_000
#: Megabytes of texts that a process keeps in memory to search them, unless it is told otherwise; and the most.
SEARCH_MEMORY, MAX_SEARCH_MEMORY = 256, 1_000_000


class Target(NamedTuple):
    """Where a memory lies: ``kind`` is ``sqlite`` (with its path), ``postgres`` or ``redis`` (with the URL of the
    server), or ``dict``; ``options`` are Amber's own, out of the query of a URL."""

    kind: str
    path: Path | None
    options: dict[str, str]
    url: str | None = None

    @property
    def shown(self) -> str:
        """The place as it may be shown: without a password."""
        if self.url is not None:
            return hide_password(self.url)
        return str(self.path.absolute()) if self.path is not None else "memory:"


#: The kind of store that each scheme names.
SCHEMES = {
    "sqlite": "sqlite",
    "postgresql": "postgres",
    "postgres": "postgres",
    "redis": "redis",
    "rediss": "redis",
    "valkey": "redis",
    "valkeys": "redis",
}
#: Amber's own options in the query of a URL; of a server's URL all others are for its driver.
OPTIONS = {
    "sqlite": ("durability", "timeout"),
    "postgres": ("durability", "timeout", "schema", "pool"),
    "redis": ("durability", "timeout", "prefix", "cluster"),
}


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

    A text with ``://`` is a URL (percent-encoded): ``sqlite:///relative.db``, ``sqlite:////absolute.db``, with
    ``durability`` and ``timeout`` in the query; ``postgresql://user@host/database``, also with ``schema`` and ``pool``;
    ``redis://host/0`` (``rediss://`` with TLS, ``valkey://``), also with ``prefix`` and ``cluster``; what else is in a
    server's query is for its driver (psycopg, redis-py). ``memory:`` is a store of this process. All else is a path,
    taken to the letter; ``~`` at its start is the home folder.

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
    return _parse_url(text)


def _parse_url(text: str) -> Target:
    parts = urlsplit(text)
    kind = SCHEMES.get(parts.scheme)
    if kind is None:
        raise Unsupported(
            f"This Amber has no store for {parts.scheme}:// URLs; it keeps memories in SQLite files (a path), on "
            "PostgreSQL (postgresql://), on Redis (redis://) and in process (memory:).",
            scheme=parts.scheme,
        )
    shown = hide_password(text)
    if kind == "sqlite" and parts.netloc:
        raise BadInput(f"{shown!r} names a host; write sqlite:///relative.db or sqlite:////absolute.db.", target=shown)
    try:
        given = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise BadInput(f"{shown!r} has options that are not written name=value.", target=shown) from None
    own = OPTIONS[kind]
    options = {name: value for name, value in given if name in own}
    others = [(name, part) for (name, _), part in zip(given, parts.query.split("&"), strict=False) if name not in own]
    if parts.fragment or (others and kind == "sqlite"):
        unknown = sorted({name for name, _ in others})
        raise BadInput(f"{shown!r} has unknown options {unknown}; there are {' and '.join(own)}.", target=shown)
    if kind == "sqlite":
        return Target(kind, Path(unquote(parts.path[1:])), options)
    query = "&".join(part for _, part in others)
    # The drivers know no other names.
    scheme = {"valkey": "redis", "valkeys": "rediss"}.get(parts.scheme, parts.scheme)
    return Target(kind, None, options, urlunsplit((scheme, parts.netloc, parts.path, query, "")))


def hide_password(url: str) -> str:
    """Give a URL as it may be shown: with *** for its password, wherever it stands."""
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    name, colon, _ = user.partition(":")
    given = [part.partition("=") for part in parts.query.split("&")]
    query = "&".join(f"{key}{equals}{'***' if 'password' in unquote(key) else value}" for key, equals, value in given)
    return urlunsplit(parts._replace(netloc=f"{name}{colon and ':***'}{at}{host}", query=query))


def read_options(target: Target, durability: str | None, timeout: float | None) -> dict[str, Any]:
    """Give a store's options: arguments before those of the URL."""
    options: dict[str, Any] = dict(target.options)
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
    if "pool" in options:
        text = options["pool"]
        if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= MAX_POOL:
            raise BadInput(f"pool must be a whole number of connections from 1 to {MAX_POOL}, not {text!r}.", pool=text)
        options["pool"] = int(text)
    if "cluster" in options:
        if options["cluster"] not in ("true", "false"):
            raise BadInput(f"cluster must be true or false, not {options['cluster']!r}.", cluster=options["cluster"])
        options["cluster"] = options["cluster"] == "true"
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
