"""``amber forget`` and ``scrub``: for good, everywhere, with a receipt."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click
from rich.text import Text

from amber.cli import exits
from amber.cli.base import Command, State, note, pass_state, scope_options
from amber.cli.describing import noun
from amber.cli.machine import emit
from amber.cli.render import clean, count, show
from amber.model.forget import Forgotten


@click.command(
    "forget",
    cls=Command,
    examples=(
        "amber forget --sender ana --dry-run",
        "amber forget --sender ana",
        "amber forget --project clients/acme --yes --json",
        "amber forget --session 9bd5f3dd-113c-493e-8193-d0d445a3ba4a --yes",
    ),
)
@scope_options
@click.option("--dry-run", is_flag=True, help="Only say how much would go.")
@click.option("--yes", is_flag=True, help="Do not ask; needed where nobody can be asked.")
@pass_state
@click.pass_context
def forget_command(
    context: click.Context,
    state: State,
    sender: str | None,
    project: str | None,
    session: str | None,
    dry_run: bool,
    yes: bool,
) -> None:
    """Forget a person, a session or a project for good.

    Name one of them. Everything of it goes: facts, sessions, messages, their places in the log and in the index, what
    was derived from them, and the words in the raw files. No undo brings it back. What would go is shown first, and
    you are asked. The receipt holds no word of what was forgotten. Exit code 1 tells that something could not be
    erased yet, and what to do.
    """
    if sum(each is not None for each in (sender, session, project)) != 1:
        raise click.UsageError("Name one of --sender, --session and --project.")
    if not (dry_run or yes or _can_ask()):
        raise click.UsageError("Nobody can be asked here: say --yes, or --dry-run to see what would go.")
    with state.open() as memory:
        if dry_run or not yes:
            planned = memory.forget(sender=sender, session=session, project=project, dry_run=True)
            if dry_run:
                _told(state, planned)
                return
            for line in _lines(planned):
                note(line)
            if not planned.is_empty and not click.confirm("Forget this for good?", err=True):
                note("nothing was forgotten")
                return
        receipt = memory.forget(sender=sender, session=session, project=project)
    _told(state, receipt)
    context.exit(exits.PROBLEMS if receipt.remaining else exits.OK)


@click.command("scrub", cls=Command, examples=("amber scrub",))
@pass_state
@click.pass_context
def scrub_command(context: click.Context, state: State) -> None:
    """Erase what was forgotten from the raw files.

    'amber forget' does this itself; it is for what that could not erase because another process was reading. Exit
    code 1 tells that something still could not be erased.
    """
    with state.open() as memory:
        scrubbed = memory.scrub()
    if state.json:
        emit({"steps": scrubbed.steps, "done": scrubbed.done, "remaining": scrubbed.remaining})
    else:
        show(*_files(scrubbed.remaining))
    context.exit(exits.PROBLEMS if scrubbed.remaining else exits.OK)


def _can_ask() -> bool:
    return sys.stdin.isatty()


def _told(state: State, receipt: Forgotten) -> None:
    if state.json:
        emit({**receipt.to_dict(), "at": receipt.at})
        return
    show(*(Text(line, overflow="fold") for line in _lines(receipt)))
    if not receipt.dry_run:
        show(*_files(receipt.remaining))


def _lines(receipt: Forgotten) -> Iterator[str]:
    did = "would forget" if receipt.dry_run else "forgot"
    if receipt.is_empty:
        yield f"There is nothing of this {receipt.scope} in space {clean(receipt.space)}."
        return
    held = [count(n, noun(name)) for name, n in receipt.documents.items()]
    held += [f"{n:,} {name}" for name, n in receipt.others.items()]
    yield f"{did} {', '.join(held) or 'what the log still held'} (space {clean(receipt.space)})"
    if receipt.images:
        yield f"  {count(sum(receipt.images.values()), 'change')} in the log emptied"
    if receipt.entries:
        yield f"  {count(receipt.entries, 'log entry', 'log entries')} without the name"


def _files(remaining: tuple[str, ...]) -> Iterator[Text]:
    if not remaining:
        yield Text("raw files: clean")
    for each in remaining:
        yield Text.assemble(("raw files: still in ", "bold red"), clean(each), overflow="fold")


COMMANDS: tuple[click.Command, ...] = (forget_command, scrub_command)
