"""Output for people: one line for each thing, cut to the terminal; whole and without colours when it is piped."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

import click
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

#: A piped line is for grep and for other programs: it is not cut to a width that nobody looks at.
_PIPED_WIDTH = 4_000
#: The longest value in one line, on a terminal and piped.
_SHOWN, _SHOWN_PIPED = 400, 2_000
#: What the last column of a table gets at least, and what another one keeps.
_LAST, _NARROW = 24, 4

# What would move the cursor, change colours or turn the direction of the rest of the line.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def make_console(*, stderr: bool = False) -> Console:
    """Make a console that prints texts as they are."""
    console = Console(stderr=stderr, markup=False, highlight=False, emoji=False)
    if not console.is_terminal:
        console = Console(stderr=stderr, markup=False, highlight=False, emoji=False, width=_PIPED_WIDTH)
    return console


def show(*parts: RenderableType) -> None:
    """Print parts below each other."""
    console = make_console()
    with console.capture() as capture:
        for part in parts:
            console.print(part)
    text = capture.get()
    if not console.is_terminal:
        text = "".join(f"{line.rstrip()}\n" for line in text.splitlines())
    click.echo(text, nl=False, color=console.color_system is not None)


def clean(text: str) -> str:
    """Replace the characters that a terminal would act on."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def one_line(text: str, limit: int | None = None) -> str:
    """Give a text as one line, cut with an ellipsis."""
    bound = limit if limit is not None else (_SHOWN if make_console().is_terminal else _SHOWN_PIPED)
    # enough for the line is enough of a text of a megabyte
    line = clean(" ".join(text[: 20 * bound].split()))
    return line if len(line) <= bound and len(text) <= 20 * bound else line[: bound - 1] + "…"


def value_line(value: Any, limit: int | None = None) -> str:
    """Give a JSON value as one line: a text as it is, all else as JSON."""
    return one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), limit)


def table(
    headers: Sequence[str] | None, rows: Iterable[Sequence[str | Text]], *, right: Sequence[int] = (), whole: int = 0
) -> Table:
    """Lay rows out in columns without rules; the last column takes what is left and is cut.

    :param right: columns that are set to the right. :param whole: a column that is never cut.
    """
    given = [[each if isinstance(each, Text) else Text(each) for each in row] for row in rows]
    heads = list(headers) if headers is not None else [""] * max((len(row) for row in given), default=0)
    made = Table(box=None, show_header=headers is not None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    widths = [max([Text(head).cell_len, *(_width(row[n]) for row in given)]) for n, head in enumerate(heads)]
    for n, (head, width) in enumerate(zip(heads, _fitted(widths, whole), strict=True)):
        made.add_column(head, justify="right" if n in right else "left", no_wrap=True, overflow="ellipsis", width=width)
    for row in given:
        made.add_row(*row)
    return made


def _fitted(widths: list[int], whole: int) -> list[int]:
    """Make columns narrower, the widest first, until the last one has room."""
    room = make_console().width - 2 * (len(widths) - 1)
    *fixed, last = widths
    while fixed and sum(fixed) > room - min(last, _LAST):
        others = [n for n in range(len(fixed)) if n != whole and fixed[n] > _NARROW]
        if not others:
            break
        fixed[max(others, key=lambda n: fixed[n])] -= 1
    return [*fixed, max(1, min(last, room - sum(fixed)))]


def _width(text: Text) -> int:
    return max((line.cell_len for line in text.split("\n")), default=0)


def lines(*each: Text) -> Text:
    """Put texts below each other in one cell."""
    return Text("\n").join(each)


def count(n: int, one: str, many: str | None = None) -> str:
    """Write a number with its noun."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def size(n: int) -> str:
    """Write a number of bytes."""
    value, unit = float(n), "bytes"
    for unit in ("bytes", "KB", "MB", "GB", "TB"):
        if value < 1000 or unit == "TB":
            break
        value /= 1000
    return f"{n} bytes" if unit == "bytes" else f"{value:.1f} {unit}"
