"""Long output: a page at a time on a terminal, streamed everywhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, TypeVar

import click
from rich.console import Console
from rich.text import Text

F = TypeVar("F", bound=Callable[..., Any])


def pager_option(command: F) -> F:
    """Add the option that turns the pager off."""
    option = click.option("--no-pager", is_flag=True, help="Do not page what is longer than the screen.")
    return option(command)


def page_out(pieces: Iterable[str], console: Console, *, pager: bool) -> None:
    """Print pieces of text as they come; what is longer than the screen through the pager of the user (``PAGER``).

    No more is worked out than the pager asks for, so that the first page of the longest text is there at once.
    """
    colours = console.color_system is not None
    rest = iter(pieces)
    if pager and console.is_terminal and sys.stdin is not None and sys.stdin.isatty():
        first: list[str] = []
        height = 0
        for piece in rest:
            first.append(piece)
            height += piece.count("\n")
            if height >= console.height:
                click.echo_via_pager(chain(first, rest))
                return
        rest = iter(first)
    for piece in rest:
        click.echo(piece, nl=False, color=colours)


def painted(lines: Iterable[Text], console: Console) -> str:
    """Give lines, which are not wrapped any more, as what the console shows for them."""
    if not console.is_terminal:
        return "".join(f"{line.plain.rstrip()}\n" for line in lines)
    with console.capture() as capture:
        for line in lines:
            console.print(line, soft_wrap=True)
    return capture.get()


def wrap(text: Text, console: Console, first: Text, rest: Text | None = None) -> Iterator[Text]:
    """Give a text in lines that fit, each behind a lead: ``first``, then ``rest``. In a pipe nothing is wrapped."""
    following = rest if rest is not None else first
    lead = first
    for line in text.split("\n", allow_blank=True):
        if not console.is_terminal:
            yield Text.assemble(lead, line)
            lead = following
            continue
        room = max(8, console.width - following.cell_len)
        line.expand_tabs(4)
        fits = line.cell_len <= room
        for part in [line] if fits else line.wrap(console, room, overflow="fold"):
            part.rstrip()
            yield Text.assemble(lead, part)
            lead = following
