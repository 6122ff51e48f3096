"""Make readable text out of what tools record: strings, blocks, images, calls, times."""

import re
from datetime import UTC, datetime
from typing import Any, Final

import orjson

# A tool result beyond this is a dump (a log, a minified file): nothing is remembered from its tail, and one such row
# would outweigh a whole session. 99.9 % of the results in real files are shorter.
MAX_RESULT: Final = 256 * 1024

# How much of a call's arguments is shown when no argument is known to say it all.
_MAX_ARGUMENTS: Final = 2000

_ESC: Final = "\x1b"
_ANSI: Final = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\][^\x07\x1b]*(?:\x07|\x1b\\)"  # OSC: titles, links
    r"|[PX^_][^\x1b]*\x1b\\"  # strings for devices
    r"|[ -/]*[0-~])"  # two-character sequences
)
# The year 5138 in seconds, 1973 in milliseconds.
_MILLISECONDS: Final = 10**11
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

# The argument that says what a call does, first match wins: names used by Claude Code, Codex and common MCP servers.
_MAIN_ARGUMENTS: Final = (
    "command",
    "cmd",
    "file_path",
    "notebook_path",
    "pattern",
    "query",
    "path",
    "url",
    "prompt",
    "skill",
    "input",
)
# What is worth reading beside it.
_MORE_ARGUMENTS: Final = {"path": "in", "prompt": "-"}


def clean(text: str) -> str:
    """Remove terminal escapes."""
    if _ESC not in text:
        return text
    return _ANSI.sub("", text)


def cut_result(text: str) -> str:
    """Cut a tool's output at `MAX_RESULT` characters and say how many were left out."""
    if len(text) <= MAX_RESULT:
        return text
    return f"{text[:MAX_RESULT]}\n[{len(text) - MAX_RESULT} characters left out]"


def show_image(media_type: object, data: object) -> str:
    """Name an image by type and size, from its base64 text."""
    name = media_type if isinstance(media_type, str) and len(media_type) < 40 else ""
    label = f"image {name}".rstrip()
    if not isinstance(data, str) or not data:
        return f"[{label}]"
    size = len(data) * 3 // 4 - data.endswith("=") - data.endswith("==")
    return f"[{label} {(size + 999) // 1000} kB]"


def show_image_url(url: object) -> str:
    """Name an image by its data URL, or by its address."""
    if isinstance(url, dict):
        url = url.get("url")
    if not isinstance(url, str):
        return "[image]"
    if not url.startswith("data:"):
        return f"[image {url[:200]}]"
    head, _, data = url[5:].partition(",")
    return show_image(head.partition(";")[0], data)


def show_call(name: str, arguments: Any) -> str:
    """Write a call as a person would: the tool and what it was asked to do."""
    if isinstance(arguments, str):
        return f"{name}: {clean(arguments)}" if arguments else name
    if not isinstance(arguments, dict):
        return name if arguments is None else f"{name}: {_as_json(arguments)}"
    if not arguments:
        return name
    for key in _MAIN_ARGUMENTS:
        main = _as_words(arguments.get(key))
        if main:
            more = [
                f" {word} {arguments[extra]}"
                for extra, word in _MORE_ARGUMENTS.items()
                if extra != key and isinstance(arguments.get(extra), str)
            ]
            return clean(f"{name}: {main}{''.join(more)}")
    return f"{name}: {_as_json(arguments)}"


def _as_words(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
        # ["bash", "-lc", script]: the script is what was run.
        if len(value) == 3 and value[1] in {"-lc", "-c"}:
            return str(value[2])
        return " ".join(value)
    return ""


def _as_json(value: Any) -> str:
    text = orjson.dumps(value).decode()
    return text if len(text) <= _MAX_ARGUMENTS else f"{text[:_MAX_ARGUMENTS]} ..."


def to_micros(stamp: object) -> int | None:
    """Read an ISO 8601 time; one without zone is taken as UTC, as every tool here writes."""
    if not isinstance(stamp, str):
        return None
    try:
        moment = datetime.fromisoformat(stamp)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        delta = moment - _EPOCH
    except (ValueError, OverflowError):
        return None
    return (delta.days * 86400 + delta.seconds) * 1_000_000 + delta.microseconds


def from_epoch(stamp: object) -> int | None:
    """Read a time given as a number: seconds since the epoch, or milliseconds where these would be far ahead."""
    if isinstance(stamp, bool) or not isinstance(stamp, int | float):
        return None
    seconds = stamp / 1000 if abs(stamp) > _MILLISECONDS else stamp
    # years 1 to 9999, as everywhere; NaN is in no range
    return round(seconds * 1_000_000) if -62_135_596_800 <= seconds < 253_402_300_800 else None


def to_offset(stamp: object) -> str | None:
    """Give the offset that a time was recorded with."""
    if not isinstance(stamp, str):
        return None
    if stamp.endswith("Z"):
        return "+00:00"
    tail = stamp[-6:]
    return tail if len(tail) == 6 and tail[0] in "+-" and tail[3] == ":" and "T" in stamp[:-6] else None
