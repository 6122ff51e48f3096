"""Output for people: one line for each thing, cut to the terminal; whole and without colours when it is piped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import click
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from amber.model import wording
from amber.model.wording import clean as clean
from amber.model.wording import count as count

#: A piped line is for grep and for other programs: it is not cut to a width that nobody looks at.
_PIPED_WIDTH = 4_000
#: The longest value in one line, on a terminal and piped.
_SHOWN, _SHOWN_PIPED = 400, 2_000
#: What the last column of a table gets at least, and what another one keeps.
_LAST, _NARROW = 24, 4


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
        # only a line feed ends a line here: texts may hold others
        text = "".join(f"{line.rstrip()}\n" for line in text.split("\n")[:-1])
    click.echo(text, nl=False, color=console.color_system is not None)


def one_line(text: str, limit: int | None = None) -> str:
    """Give a text as one line, cut with an ellipsis; without a limit, as long as fits what it is shown on."""
    return wording.one_line(text, limit if limit is not None else bound())


def bound() -> int:
    """Give the longest value in one line."""
    return _SHOWN if make_console().is_terminal else _SHOWN_PIPED


def value_line(value: Any, limit: int | None = None) -> str:
    """Give a JSON value as one line: a text as it is, all else as JSON."""
    return wording.value_line(value, limit if limit is not None else bound())


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


def size(n: int) -> str:
    """Write a number of bytes."""
    value, unit = float(n), "bytes"
    for unit in ("bytes", "KB", "MB", "GB", "TB"):
        if value < 1000 or unit == "TB":
            break
        value /= 1000
    return f"{n} bytes" if unit == "bytes" else f"{value:.1f} {unit}"
