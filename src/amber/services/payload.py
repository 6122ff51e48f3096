"""From what users pass as a fact's value to JSON that comes back as it was given."""

from __future__ import annotations

from typing import Any

from amber.errors import AmberError, BadInput, TooLarge
from amber.model.fact import MAX_NESTING, MAX_PAYLOAD
from amber.store.codec import decode, encode

#: A text that is within the bound however it is encoded.
_SHORT = MAX_PAYLOAD // 8
#: Stands in for lone surrogates, which no encoding of text can hold.
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def clean_text(text: str) -> str:
    """Replace lone surrogates by U+FFFD; all other texts stay as they are."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join(REPLACEMENT if "\ud800" <= letter <= "\udfff" else letter for letter in text)
    return text


def to_payload(value: Any) -> Any:
    """Give the JSON value of a fact: a text, number, boolean, list or object, or a pydantic model instance.

    :raises BadInput: for None, for what JSON can not hold, and for a model with a secret field (its dump would store
        asterisks and lose the value).
    :raises TooLarge: for a payload over ``MAX_PAYLOAD`` bytes or nested deeper than ``MAX_NESTING``.
    """
    if type(value) is str and len(value) <= _SHORT:
        return clean_text(value)
    if type(value) is dict and (plain := _plain(value)) is not None:
        return plain
    if hasattr(value, "model_dump"):
        _check_dump(value.model_dump(), type(value).__name__)
        value = value.model_dump(mode="json")
    if value is None:
        raise BadInput("None is no fact; delete the fact instead.")
    payload = _cleaned(value, 0)
    size = len(encode(payload).encode())
    if size > MAX_PAYLOAD:
        raise TooLarge(f"A fact of {size} bytes is larger than the bound of {MAX_PAYLOAD}.", bytes=size)
    return payload


def _plain(value: dict[Any, Any]) -> Any:
    """Give a copy of a small object that holds JSON alone; None for any other, which is looked at member by member."""
    try:
        text = encode(value)
    except AmberError:
        return None
    if len(text) > _SHORT or text.count("[") + text.count("{") > MAX_NESTING:
        return None
    return decode(text)


def _cleaned(value: Any, depth: int) -> Any:
    if depth > MAX_NESTING:
        raise TooLarge(f"A fact may be nested {MAX_NESTING} levels deep.", depth=depth)
    if type(value) is str:
        return clean_text(value)
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise BadInput("The keys of an object must be texts.", value=value)
        cleaned = {clean_text(key): _cleaned(member, depth + 1) for key, member in value.items()}
        if len(cleaned) < len(value):
            raise BadInput("Two keys of an object become the same when lone surrogates are replaced.", value=value)
        return cleaned
    if isinstance(value, (list, tuple)):
        return [_cleaned(item, depth + 1) for item in value]
    return value


def _check_dump(value: Any, name: str) -> None:
    if hasattr(value, "get_secret_value"):
        raise BadInput(f"{name} has a secret field, whose dump would lose the value; store it elsewhere.")
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        raise BadInput(f"{name} holds {value!r}, which JSON can not hold.", value=value)
    if isinstance(value, dict):
        for member in value.values():
            _check_dump(member, name)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for item in value:
            _check_dump(item, name)
