"""``amber log``, ``undo``, ``redo``, ``diff``: what happened, and taking it back."""

from __future__ import annotations

import click
from rich.text import Text

from amber.cli.base import Command, State, note, pass_state
from amber.cli.describing import change_lines, diff_lines, entry_table, position_text
from amber.cli.machine import diff_json, emit, entry_json
from amber.cli.moments import to_moment
from amber.cli.render import show
from amber.errors import NotFound
from amber.memory import Memory
from amber.model.history import Undone

_reason = click.option("--reason", metavar="TEXT", help="Why; kept in the log.")
_force = click.option("--force", is_flag=True, help="Write the old state over what was changed since.")


@click.command(
    "log",
    cls=Command,
    examples=(
        "amber log",
        "amber log --limit 100 --session 9bd5f3dd-113c-493e-8193-d0d445a3ba4a",
        "amber log --fact 1k1gqhyzp96sdzn0r7g0",
        "amber log --json | jq -r '.entries[].reason'",
    ),
)
@click.option("--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, metavar="N", help="How many.")
@click.option("--before", type=int, metavar="POSITION", help="Only what came before this position.")
@click.option("--session", metavar="NAME", help="Only changes of this run of an agent.")
@click.option("--actor", metavar="NAME", help="Only changes that this actor made.")
@click.option("--fact", metavar="ID", help="Only changes of this fact.")
@pass_state
def log_command(
    state: State, limit: int, before: int | None, session: str | None, actor: str | None, fact: str | None
) -> None:
    """Show what was changed, newest first.

    + came in, - was removed, ~ was changed, = was mentioned again.
    """
    if fact is not None and any(each is not None for each in (session, actor, before)):
        raise click.UsageError("--fact shows all changes of one fact; leave --session, --actor and --before out.")
    with state.open() as memory:
        if fact is None:
            entries = memory.history.page(limit=limit, before=before, session=session, actor=actor)
        else:
            entries = memory.history.of(fact, limit=limit)
            if not entries:
                raise NotFound(f"There is no fact {fact!r}.", id=fact)
        if state.json:
            emit({"entries": [entry_json(each) for each in entries]})
        elif not entries:
            note("no entries")
        else:
            show(entry_table(memory, entries))
            last, oldest = entries[-1].position, memory.history.oldest()
            if fact is None and len(entries) == limit and last > oldest + 1:
                note(f"older: amber log --before {last}")
            elif oldest and fact is None and session is None and actor is None:
                note(f"the log begins after position {oldest}: what came before was trimmed")


@click.command(
    "undo",
    cls=Command,
    examples=(
        "amber undo",
        "amber undo 12 --reason 'wrong person'",
        "amber undo --last 3 --session 9bd5f3dd-113c-493e-8193-d0d445a3ba4a",
        "amber undo --after 2026-11-15T12:00",
    ),
)
@click.argument("position", type=int, required=False)
@click.option("--last", type=int, metavar="N", help="The last N changes that are not undone.")
@click.option("--after", metavar="MOMENT", help="Everything after a position, time or label.")
@click.option("--session", metavar="NAME", help="With --last: only changes of this run of an agent.")
@click.option("--actor", metavar="NAME", help="With --last: only changes that this actor made.")
@_force
@_reason
@pass_state
def undo_command(
    state: State,
    position: int | None,
    last: int | None,
    after: str | None,
    session: str | None,
    actor: str | None,
    force: bool,
    reason: str | None,
) -> None:
    """Take changes back.

    Name one by its POSITION, or the last ones, or all after a MOMENT (a position, time or label). Without any of them
    the last change is taken back. What was changed since is not overwritten: the command says so
    and does nothing. An undo is a change itself, which 'amber redo' takes back.
    """
    if sum(each is not None for each in (position, last, after)) > 1:
        raise click.UsageError("POSITION, --last and --after exclude each other.")
    if (session is not None or actor is not None) and (position is not None or after is not None):
        raise click.UsageError("--session and --actor choose among the last changes; leave POSITION and --after out.")
    if position is None and after is None and last is None:
        last = 1
    with state.open() as memory:
        undone = memory.history.undo(
            position,
            last=last,
            session=session,
            actor=actor,
            after=to_moment(after) if after is not None else None,
            force=force,
            reason=reason,
        )
        _taken_back(state, memory, undone, "undone", "amber redo")


@click.command("redo", cls=Command, examples=("amber redo", "amber redo --actor onboarding"))
@click.option("--session", metavar="NAME", help="Only an undo of this run of an agent.")
@click.option("--actor", metavar="NAME", help="Only an undo that this actor made.")
@_force
@_reason
@pass_state
def redo_command(state: State, session: str | None, actor: str | None, force: bool, reason: str | None) -> None:
    """Take the newest undo back."""
    with state.open() as memory:
        undone = memory.history.redo(session=session, actor=actor, force=force, reason=reason)
        _taken_back(state, memory, undone, "redone: took back", f"amber undo {undone.position}")


def _taken_back(state: State, memory: Memory, undone: Undone, word: str, back: str) -> None:
    if state.json:
        documents = [{"collection": collection, "id": id} for collection, id in undone.documents]
        emit({"position": undone.position, "positions": undone.positions, "documents": documents})
        return
    named = ", ".join(str(each) for each in undone.positions[:10]) + (" …" if len(undone.positions) > 10 else "")
    changes = change_lines(memory, memory.history.get(undone.position).changes, 20)
    show(Text.assemble((f"{word} {named}", "bold"), (f"  (to take that back: {back})", "dim")), *changes)


@click.command(
    "diff",
    cls=Command,
    examples=("amber diff 12 15", "amber diff 2026-11-01 2026-11-15T12:00", "amber diff 12"),
)
@click.argument("a")
@click.argument("b", required=False)
@pass_state
def diff_command(state: State, a: str, b: str | None) -> None:
    """Show what differs between two moments.

    A and B are positions of the log, times or labels; without B it is now.
    """
    with state.open() as memory:
        end = to_moment(b) if b is not None else memory.history.position()
        diff = memory.history.diff(to_moment(a), end)
        if state.json:
            emit(diff_json(diff))
            return
        show(Text(f"from {position_text(memory, diff.start)} to {position_text(memory, diff.end)}", style="dim"))
        said = diff_lines(diff)
    if said:
        show(*said)
    else:
        note("no difference")


COMMANDS: tuple[click.Command, ...] = (log_command, undo_command, redo_command, diff_command)
