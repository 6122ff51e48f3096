"""JSON in and out of the stores: refuse what would not come back as it was given, before anything is written."""

from __future__ import annotations

from typing import Any

import orjson

from amber.errors import BadInput, Corrupt, TooLarge
from amber.model.batch import MAX_DEPTH, MAX_DOCUMENT
from amber.model.collection import Body, Collection

_HIGH = 2**63
_STRICT = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS


def encode(value: Any) -> str:
    """Write a JSON value as text.

    :raises BadInput: for what JSON can not hold: NaN and infinities, integers beyond 64 bits, keys that are not text,
        other types, lone surrogates.
    :raises TooLarge: for a document over ``MAX_DOCUMENT`` bytes or nested deeper than ``MAX_DEPTH``.
    """
    try:
        data = orjson.dumps(value, option=_STRICT)
    except (TypeError, RecursionError) as error:
        check(value)
        raise BadInput(f"The value can not be stored as JSON: {error}.") from error
    if not _is_exact(value, 0):
        # the encoder writes NaN as null, takes integers of 64 bits without sign, and nests deeper
        check(value)
    if len(data) > MAX_DOCUMENT:
        raise TooLarge(f"A document of {len(data)} bytes is larger than the bound of {MAX_DOCUMENT}.", bytes=len(data))
    return data.decode()


def _is_exact(value: Any, depth: int) -> bool:
    """Tell quickly whether an encoded value comes back equal; texts and keys were checked by the encoder."""
    kind = type(value)
    if kind is dict:
        members: Any = value.values()
    elif kind is list or kind is tuple:
        members = value
    else:
        members = (value,)
        depth -= 1
    if depth >= MAX_DEPTH:
        return False
    for member in members:
        kind = type(member)
        if kind is str or member is None or kind is bool:
            continue
        if kind is int:
            if not -_HIGH <= member < _HIGH:
                return False
        elif kind is float:
            if member - member != 0.0:
                return False
        elif (kind is not dict and kind is not list and kind is not tuple) or not _is_exact(member, depth + 1):
            return False
    return True


def decode(text: str | bytes) -> Any:
    """Read a stored JSON text.

    :raises Corrupt: when it is not JSON.
    """
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise Corrupt(f"A stored document is not JSON: {error}.") from error


def decode_body(collection: Collection, text: str | bytes) -> Body:
    """Read a stored document.

    :raises Corrupt: when it is not JSON, or lacks what every document of the collection has.
    """
    body: Body = decode(text)
    if type(body) is not dict or not collection.members <= body.keys():
        lacking = sorted(collection.members - set(body)) if type(body) is dict else "all of it"
        raise Corrupt(
            f"A stored document of {collection.name} lacks {lacking}. Run verify, and restore a backup.",
            collection=collection.name,
        )
    return body


def check(value: Any) -> None:
    """Raise the BadInput or TooLarge that says why a value can not be stored; None when it can."""
    pending: list[tuple[Any, int]] = [(value, 0)]
    while pending:
        current, depth = pending.pop()
        kind = type(current)
        if depth >= MAX_DEPTH and kind in (dict, list, tuple):
            raise TooLarge(f"The value is nested deeper than {MAX_DEPTH} levels.", depth=depth)
        if kind is str:
            _check_text(current)
        elif kind is float:
            if current != current or current in (float("inf"), float("-inf")):
                raise BadInput(f"{current!r} is not a JSON number; store a text or null.", value=current)
        elif kind is int:
            if not -(2**63) <= current < 2**63:
                raise BadInput(f"The integer {current} does not fit 64 bits; store it as text.", value=current)
        elif kind is dict:
            for key, member in current.items():
                if type(key) is not str:
                    raise BadInput(f"The object key {key!r} is not a text.", value=key)
                _check_text(key)
                pending.append((member, depth + 1))
        elif kind is list or kind is tuple:
            pending.extend((item, depth + 1) for item in current)
        elif current is not None and kind is not bool:
            raise BadInput(f"A value of type {kind.__name__} is not JSON.", value=current)


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BadInput(f"A text holds a lone surrogate at {error.start}; replace it first.", at=error.start) from error
