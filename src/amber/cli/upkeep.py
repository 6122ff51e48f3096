"""``amber stats`` and ``verify``: how much there is, and whether it is sound."""

from __future__ import annotations

import click
from rich.text import Text

from amber.cli import exits
from amber.cli.base import Command, State, pass_state
from amber.cli.describing import noun, position_text
from amber.cli.machine import emit
from amber.cli.render import clean, count, show, size
from amber.config import parse_target


@click.command("stats", cls=Command, examples=("amber stats", "amber stats --space acme --json"))
@pass_state
def stats_command(state: State) -> None:
    """Show where the memory is and how much it holds."""
    with state.open() as memory:
        stats = memory.stats()
        where = parse_target(state.target).shown
        if state.json:
            emit({"db": where, **stats._asdict()})
            return
        newest = position_text(memory, stats.position)
        held = ", ".join(count(n, noun(name)) for name, n in stats.documents.items() if n) or "nothing yet"
    rows = [
        ("memory", where),
        ("space", stats.space),
        ("holds", held),
        ("search", f"{count(stats.searchable, 'text')}, {count(stats.tokens, 'word')}"),
        ("log", f"up to {newest}" if stats.position else "empty"),
        ("size", f"{size(stats.bytes)} (all spaces)" if stats.bytes is not None else ""),
    ]
    for name, value in rows:
        if value:
            show(Text.assemble((f"{name:<8}", "dim"), clean(value), overflow="fold"))


@click.command("verify", cls=Command, examples=("amber verify", "amber verify --json | jq '.problems | length'"))
@pass_state
@click.pass_context
def verify_command(context: click.Context, state: State) -> None:
    """Check that the memory is sound.

    The indexes and the log are compared with the documents. Exit code 1 tells that something is wrong."""
    with state.open() as memory:
        problems = memory.verify()
        documents = sum(memory.stats().documents.values())
        space = memory.space
    if state.json:
        emit({"space": space, "problems": [each._asdict() for each in problems]})
    elif problems:
        show(f"{count(len(problems), 'problem')} in space {clean(space)}:")
        for each in problems:
            show(Text.assemble((f"  {each.kind:<9} ", "bold red"), clean(each.detail), overflow="fold"))
    else:
        show(f"sound: {count(documents, 'document')} of space {clean(space)} and all that is derived from them")
    context.exit(exits.PROBLEMS if problems else exits.OK)


COMMANDS: tuple[click.Command, ...] = (stats_command, verify_command)
