"""``amber label``, ``labels``, ``unlabel``: names for positions of the log."""

from __future__ import annotations

from typing import Any

import click

from amber.cli.base import Command, State, note, pass_state
from amber.cli.machine import emit
from amber.cli.moments import day_and_time, to_moment
from amber.cli.render import clean, one_line, show, table
from amber.model.label import Label

_reason = click.option("--reason", metavar="TEXT", help="Why; kept in the log.")


def _json(label: Label) -> dict[str, Any]:
    return label._asdict()


@click.command(
    "label",
    cls=Command,
    examples=(
        "amber label before-import",
        "amber label 'release 1.0' 2026-11-15T12:00 --reason 'what we shipped'",
        "amber undo --after before-import",
    ),
)
@click.argument("name")
@click.argument("moment", required=False)
@click.option("--move", is_flag=True, help="Let a label that stands elsewhere move.")
@_reason
@pass_state
def label_command(state: State, name: str, moment: str | None, move: bool, reason: str | None) -> None:
    """Name a position of the log.

    The name can be used wherever a MOMENT is asked for: at, diff, undo --after. Without a MOMENT (a position, time or
    other label) it stands where the log is now.
    """
    with state.open() as memory:
        position = to_moment(moment) if moment is not None else None
        label = memory.history.label(name, position, move=move, reason=reason)
    if state.json:
        emit(_json(label))
    else:
        show(f"label {clean(label.name)} stands at position {label.position}")


@click.command("labels", cls=Command, examples=("amber labels", "amber labels --json | jq -r '.labels[].name'"))
@pass_state
def labels_command(state: State) -> None:
    """List the labels, by position."""
    with state.open() as memory:
        labels, oldest = memory.history.labels(), memory.history.oldest()
    if state.json:
        emit({"labels": [_json(each) for each in labels], "oldest": oldest})
    elif not labels:
        note("no labels")
    else:
        rows = [
            (str(each.position), day_and_time(each.at, seconds=True), one_line(each.name) + _lost(each, oldest))
            for each in labels
        ]
        show(table(("#", "time", "label"), rows, right=(0,)))


def _lost(label: Label, oldest: int) -> str:
    return "  (trimmed: can not be looked at)" if label.position < oldest else ""


@click.command("unlabel", cls=Command, examples=("amber unlabel before-import",))
@click.argument("name")
@_reason
@pass_state
def unlabel_command(state: State, name: str, reason: str | None) -> None:
    """Remove a label.

    What it stood at stays in the log.
    """
    with state.open() as memory:
        memory.history.unlabel(name, reason=reason)
        position = memory.history.position()
    if state.json:
        emit({"name": name, "position": position})
    else:
        show(f"removed label {clean(name)}")


COMMANDS: tuple[click.Command, ...] = (label_command, labels_command, unlabel_command)
