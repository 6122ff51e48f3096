"""Bounds and forms of names, the same on every store."""

from __future__ import annotations

from typing import Any

from amber.errors import BadInput, TooLarge

#: A text that is indexed (a name, a scope, a facet) may have this many UTF-8 bytes.
MAX_TEXT = 512
MAX_SPACE = 200


def is_plain(text: str) -> bool:
    """Tell quickly of most texts that they break no bound of this module; False says nothing."""
    return text.isascii() and len(text) <= MAX_SPACE and "\0" not in text


def check_name(what: str, value: Any, bound: int = MAX_TEXT) -> None:
    """Check a name that is stored beside documents: a non-empty text without NUL or surrogates, bounded in bytes."""
    if type(value) is str and value and is_plain(value) and bound >= MAX_SPACE:
        return
    if not isinstance(value, str) or not value:
        raise BadInput(f"{what} must be a non-empty text, not {value!r}.", **{what: value})
    if value.isascii():
        size = len(value)
    else:
        try:
            size = len(value.encode())
        except UnicodeEncodeError:
            raise BadInput(f"{what} {value!r} holds a lone surrogate.", **{what: value}) from None
    if "\0" in value:
        raise BadInput(f"{what} {value!r} holds a NUL character.", **{what: value})
    if size > bound:
        raise TooLarge(f"{what} has {size} bytes, over the bound of {bound}.", bytes=size)


def check_text(what: str, value: Any) -> None:
    """Check an optional short text of a batch."""
    if value is not None:
        check_name(what, value, 4096)


def check_key(key: Any) -> None:
    """Check a key, or another text, that something is looked up by: a text that can be written as UTF-8.

    What no document could be stored under is simply not found.
    """
    if type(key) is not str:
        raise BadInput(f"What is looked up must be a text, not {key!r}.", key=key)
    if not key.isascii():
        try:
            key.encode()
        except UnicodeEncodeError:
            raise BadInput(f"{key!r} holds a lone surrogate.", key=key) from None


def check_int(what: str, value: Any, low: int = -(2**63), high: int = 2**63 - 1) -> None:
    """Check an integer of 64 bits, or of a narrower range."""
    if type(value) is not int or not low <= value <= high:
        raise BadInput(f"{what} must be an int from {low} to {high}, not {value!r}.", **{what: value})
