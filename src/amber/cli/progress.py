"""A bar for what takes long, on a terminal; nothing elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from amber.cli.render import make_console

Update = Callable[[int, int | None], None]


@contextmanager
def progress_bar(what: str, *, hidden: bool = False) -> Iterator[Update]:
    """Give what moves a bar: how much is done, and of how much."""
    console = make_console(stderr=True)
    if hidden or not console.is_terminal:
        yield lambda *_: None
        return
    # only a terminal needs it, and it takes as long to load as half a command
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
