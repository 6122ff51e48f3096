"""Texts for people: one line each, harmless to whatever shows them."""

from __future__ import annotations

import json
import re
from typing import Any

#: The longest line where nobody says otherwise.
SHOWN = 400

# What would move the cursor, change colours, turn the direction of the rest of the line, or break it in two.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def clean(text: str) -> str:
    """Replace the characters that a terminal would act on; tabs and line feeds stay."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def escape(document: str) -> str:
    """Escape the same characters in a text that is JSON, which stays the same document."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", document)


def one_line(text: str, limit: int = SHOWN) -> str:
    """Give a text as one line, cut with an ellipsis."""
    # enough for the line is enough of a text of a megabyte
    line = clean(" ".join(text[: 20 * limit].split()))
    return line if len(line) <= limit and len(text) <= 20 * limit else line[: limit - 1] + "…"


def value_line(value: Any, limit: int = SHOWN) -> str:
    """Give a JSON value as one line: a text as it is, all else as JSON."""
    return one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), limit)


def count(n: int, one: str, many: str | None = None) -> str:
    """Write a number with its noun."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"
