"""Bounds and forms of names, the same on every store."""

from __future__ import annotations

from typing import Any

from amber.errors import BadInput, TooLarge

#: A text that is indexed (a name, a scope, a facet) may have this many UTF-8 bytes.
MAX_TEXT = 512
MAX_SPACE = 200


def check_name(what: str, value: Any, bound: int = MAX_TEXT) -> None:
    """Check a name that is stored beside documents: a non-empty text without NUL or surrogates, bounded in bytes."""
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
