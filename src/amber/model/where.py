"""The one typed rule by which values are compared, on every store.

* ``None`` matches a null and a missing path.
* ``True`` and ``False`` match booleans only, never 1 and 0.
* Numbers match by value: 1 and 1.0 are equal, exact past 2**53.
* Text matches text, to the letter.
* Lists and objects match as JSON: same members, key order of objects does not count.

A path is a text with dots between its segments (``payload.role``), a dot inside a key written ``\\.``
and a backslash ``\\\\``; or a tuple of segments. Objects are walked by key, lists by decimal index.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from json.encoder import encode_basestring
from typing import Any

from amber.errors import BadInput

Path = tuple[str, ...]
Where = tuple[tuple[Path, Any], ...]

#: Longer canonical forms are replaced by their digest, so that index entries stay small.
MAX_SCALAR = 160
#: A document with more leaves than this is found through one overflow entry and a comparison of its body.
MAX_FIELDS = 64
OVERFLOW = "*"
#: Values are compared to this depth.
MAX_LEVELS = 200


def parse_path(path: str | Sequence[str]) -> Path:
    """Give the segments of a path.

    :raises BadInput: when the path or a segment is empty or not a text, or an escape is unfinished.
    """
    given: object = path
    segments: list[object]
    if isinstance(given, str):
        segments = [*_split(given)]
    elif isinstance(given, (tuple, list)):
        segments = [*given]
    else:
        raise BadInput(f"A filter path must be a text or a tuple of texts, not {type(path).__name__}.", path=path)
    checked = tuple(segment for segment in segments if isinstance(segment, str) and segment)
    if not checked or len(checked) != len(segments):
        raise BadInput(f"The filter path {path!r} has an empty segment; write it like 'payload.role'.", path=path)
    return checked


def _split(path: str) -> list[str]:
    if "\\" not in path:
        return path.split(".")
    segments, current, escaped = [], "", False
    for letter in path:
        if escaped:
            current, escaped = current + letter, False
        elif letter == "\\":
            escaped = True
        elif letter == ".":
            segments.append(current)
            current = ""
        else:
            current += letter
    if escaped:
        raise BadInput(f"The filter path {path!r} ends in a backslash; write \\\\ for a backslash.", path=path)
    return [*segments, current]


def path_text(path: Path) -> str:
    """Write a path as the one text that names it; a long one as its digest."""
    return _bounded(".".join(map(_escaped, path)))


def _escaped(segment: str) -> str:
    if "." in segment or "\\" in segment:
        return segment.replace("\\", "\\\\").replace(".", "\\.")
    return segment


def parse_where(where: Mapping[Any, Any] | None) -> Where:
    """Check a filter and give it as pairs of path and value.

    :raises BadInput: for a malformed path, or a value that is not JSON.
    """
    if not where:
        return ()
    if not isinstance(where, Mapping):
        raise BadInput(f"where is a mapping of paths to values, like {{'payload.role': 'admin'}}, not {where!r}.")
    pairs = []
    for path, value in where.items():
        segments = parse_path(path)
        scalar(value)
        pairs.append((segments, value))
    return tuple(pairs)


def walk(body: Any, path: Path) -> Any:
    """Give the value at a path, or None when a segment is missing."""
    current = body
    for segment in path:
        if isinstance(current, dict):
            current = current.get(segment)
        elif isinstance(current, list) and segment.isascii() and segment.isdigit():
            place = int(segment)
            current = current[place] if place < len(current) else None
        else:
            return None
        if current is None:
            return None
    return current


def matches(body: Any, where: Iterable[tuple[Path, Any]]) -> bool:
    """Tell whether every condition holds for a body."""
    return all(scalar(walk(body, path)) == scalar(value) for path, value in where)


def scalar(value: Any) -> str:
    """Give the text under which a JSON value is compared and indexed.

    Two values have the same text exactly when the rule of this module calls them equal.

    :raises BadInput: when the value is not JSON.
    """
    text = "s" + value if type(value) is str else _canonical(value, 0)
    return _bounded(text)


def _bounded(text: str) -> str:
    if len(text) > MAX_SCALAR or "\0" in text:
        return "#" + blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return text


def canonical(value: Any) -> str:
    """Write a JSON value so that equal values give equal texts."""
    return _canonical(value, 0)


def canonical_list(values: Iterable[Any], depth: int = 1) -> str:
    """Write several JSON values as ``canonical`` writes a list of them."""
    return "[" + ",".join(_members(values, depth)) + "]"


def _members(values: Iterable[Any], depth: int) -> list[str]:
    # most members are texts or nothing
    return [
        ("s" + encode_basestring(value) if value is not None else "n")
        if value is None or type(value) is str
        else _canonical(value, depth)
        for value in values
    ]


def _canonical(value: Any, depth: int) -> str:
    if value is None:
        return "n"
    if value is True:
        return "t"
    if value is False:
        return "f"
    if isinstance(value, int):
        return "d" + str(int(value))
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise BadInput(f"{value!r} is not a JSON number.", value=value)
        return "d" + (str(int(value)) if value.is_integer() else repr(value))
    if isinstance(value, str):
        return ("s" + value) if depth == 0 else "s" + encode_basestring(value)
    if depth > MAX_LEVELS:
        raise BadInput(f"The value is nested deeper than {MAX_LEVELS} levels.")
    if isinstance(value, (list, tuple)):
        return canonical_list(value, depth + 1)
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise BadInput("The keys of an object must be texts.", value=value)
        keys = sorted(value)
        members = _members([value[key] for key in keys], depth + 1)
        items = [f"{encode_basestring(key)}:{member}" for key, member in zip(keys, members, strict=True)]
        return "{" + ",".join(items) + "}"
    raise BadInput(f"A value of type {type(value).__name__} is not JSON.", value=value)


def field_entries(root: str, value: Any) -> list[tuple[str, str]]:
    """Give the (path, scalar) entries of a field index for the value under ``root``.

    Objects give one entry of their own and one for each member, lists one entry as a whole; nulls give none
    (a null and a missing path are the same, so neither can be looked up). When there are more than
    ``MAX_FIELDS`` the answer is the single overflow entry.
    """
    if type(value) is not dict:
        return [(_root_text(root), scalar(value))] if value is not None else []
    entries: list[tuple[str, str]] = []
    _enter(_escaped(root), value, entries, 0)
    return entries if len(entries) <= MAX_FIELDS else [(OVERFLOW, "")]


def _enter(path: str, value: dict[str, Any], entries: list[tuple[str, str]], depth: int) -> str:
    """Add the entries of an object and of what lies in it; give it as ``canonical`` writes it inside another."""
    # each member is written once: for its own entry, and for those of the objects around it
    if not all(isinstance(key, str) for key in value):
        raise BadInput("The keys of an object must be texts.", value=value)
    if depth > MAX_LEVELS:
        raise BadInput(f"The value is nested deeper than {MAX_LEVELS} levels.")
    members = []
    for key in sorted(value):
        member = value[key]
        if type(member) is str:
            inside, alone = "s" + encode_basestring(member), "s" + member
        elif type(member) is dict:
            # what lies under an empty key has no path
            below: list[tuple[str, str]] = entries if key and len(entries) <= MAX_FIELDS else []
            inside = _enter(f"{path}.{_escaped(key)}", member, below, depth + 1)
            alone = ""
        else:
            inside = alone = _canonical(member, depth + 1)
        members.append(f"{encode_basestring(key)}:{inside}")
        if alone and key and member is not None and len(entries) <= MAX_FIELDS:
            entries.append((_bounded(f"{path}.{_escaped(key)}"), _bounded(alone)))
    text = "{" + ",".join(members) + "}"
    entries.append((_bounded(path), _bounded(text)))
    return text


@cache
def _root_text(root: str) -> str:
    # roots are declared, so there are few
    return path_text((root,))


def is_indexed(root: str, path: Path, value: Any) -> bool:
    """Tell whether equality of ``value`` at ``path`` can be answered by the field index of ``root``.

    A path with a segment of digits may walk into a list, whose items have no entries of their own.
    """
    return (
        path[0] == root
        and value is not None
        and not any(segment.isascii() and segment.isdigit() for segment in path[1:])
    )
