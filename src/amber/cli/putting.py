"""``amber put``, ``patch``, ``delete``, ``restore``: change facts."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click
from rich.text import Text

from amber.cli.base import Command, State, pass_state, read_json, scope_options
from amber.cli.describing import change_lines, dated_text
from amber.cli.machine import emit, fact_json, to_fact
from amber.cli.render import count, show
from amber.errors import BadInput
from amber.memory import Memory
from amber.model.fact import FACTS, SOURCES, Fact
from amber.model.history import Entry
from amber.services.facts import Facts
from amber.store.retry import again

Change = Callable[[Facts], Fact]

_reason = click.option("--reason", metavar="TEXT", help="Why; kept in the log.")
_actor = click.option("--actor", metavar="NAME", help="Who makes the change; kept in the log.")


def _commit(memory: Memory, change: Change, actor: str | None, reason: str | None) -> tuple[Fact, Entry]:
    """Make one change, and give the fact as it is then and the entry in the log."""

    def attempt() -> tuple[Fact, int]:
        with memory.transaction(actor=actor, reason=reason) as transaction:
            fact = change(transaction.facts)
        receipt = transaction.receipt
        return fact, (receipt.position if receipt is not None else None) or fact.revision

    fact, position = again(attempt)
    return memory.facts.get(fact.id), memory.history.get(position)


@click.command(
    "put",
    cls=Command,
    examples=(
        "amber put --sender ana --key city Lisbon",
        "amber put --sender ana --key city --valid-from 2026-12-01 Porto",
        'amber put --type preference --as-json \'{"editor": "vim", "tabs": false}\'',
        "git log -1 --format=%B | amber put --project team/atlas --source tool -",
    ),
)
@click.argument("value", nargs=-1, required=True, metavar="VALUE...")
@click.option("--key", metavar="NAME", help="What it gives a value for: the new value supersedes the old one.")
@scope_options
@click.option("--type", metavar="NAME", help="The type of the fact.")
@click.option("--source", type=click.Choice(SOURCES), default="user", show_default=True, help="Where it comes from.")
@click.option("--trust", type=float, metavar="0..1", help="How far to believe it (default: as its source deserves).")
@click.option("--valid-from", metavar="TIME", help="When it begins to be so (default: now).")
@click.option("--valid-until", metavar="TIME", help="When it ends (default: open).")
@click.option("--ttl", metavar="DURATION", help="How long to keep it: 30d, 12h, 1h30m.")
@click.option("--ephemeral", is_flag=True, help="Only for its session, until that is promoted or discarded.")
@click.option("--as-json", is_flag=True, help="VALUE is JSON, not text.")
@_reason
@_actor
@pass_state
def put_command(
    state: State, /, value: tuple[str, ...], as_json: bool, reason: str | None, actor: str | None, **options: Any
) -> None:
    """Remember a fact.

    VALUE is text, or - to read it from standard input. The same fact again is no second copy but a mention. Another
    value under the same key supersedes the old one, which stays in the history, dated.
    """
    text = _stdin() if value == ("-",) else " ".join(value)
    given = read_json(text, "VALUE") if as_json else text
    if isinstance(given, str) and not given.strip():
        raise BadInput("VALUE is empty; there is nothing to remember.")
    with state.open(make=True) as memory:
        fact, entry = _commit(memory, lambda facts: facts.put(given, **options), actor, reason)
        changes = [each for each in entry.changes if each.collection == FACTS.name]
        outcome = "mention" if not any(each.id == fact.id and each.before is None for each in changes) else "new"
        if any(each.kind == "add" for each in changes):
            outcome = "mention"
        old = [each for each in changes if each.after is not None and each.after["superseded_by"] == fact.id]
        outcome = "superseded" if old else outcome
        if state.json:
            ended = [fact_json(to_fact(each.id, each.after)) for each in old if each.after is not None]
            emit({"outcome": outcome, "position": entry.position, "fact": fact_json(fact), "superseded": ended})
            return
        if outcome == "mention":
            show(_told("known", fact.id, f"{count(fact.mentions, 'mention')}  ", dated_text(fact.body)))
            return
        show(_told("new", fact.id, dated_text(fact.body)))
        for each in old:
            if each.after is not None:
                show(_told("was", each.id, dated_text(each.after)))


def _stdin() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8").removesuffix("\n")
    except UnicodeDecodeError as error:
        raise BadInput(f"Standard input is not UTF-8 text: {error.reason} at byte {error.start}.") from None


def _told(word: str, id: str, *text: str | Text) -> Text:
    return Text.assemble((f"{word:<7}", "bold"), (f"{id}  ", "dim"), *text, no_wrap=True, overflow="ellipsis")


def _changed(state: State, change: Change, actor: str | None, reason: str | None) -> None:
    with state.open() as memory:
        fact, entry = _commit(memory, change, actor, reason)
        if state.json:
            emit({"position": entry.position, "fact": fact_json(fact)})
        else:
            show(*change_lines(memory, entry.changes))


@click.command(
    "patch",
    cls=Command,
    examples=("""amber patch 1k1gqhyzp96sdzn0r7g0 '{"tabs": true, "editor": null}'""",),
)
@click.argument("id")
@click.argument("patch", metavar="JSON")
@_reason
@_actor
@pass_state
def patch_command(state: State, id: str, patch: str, reason: str | None, actor: str | None) -> None:
    """Change members of a fact whose value is an object.

    Members of JSON replace those of the value; null removes one (RFC 7396).
    """
    given = read_json(patch, "The patch")
    _changed(state, lambda facts: facts.patch(id, given), actor, reason)


@click.command("delete", cls=Command, examples=("amber delete 1k1gqhyzp96sdzn0r7g0 --reason 'no longer so'",))
@click.argument("id")
@_reason
@_actor
@pass_state
def delete_command(state: State, id: str, reason: str | None, actor: str | None) -> None:
    """Delete a fact, so that it can be restored.

    It is not listed or found any more, and stays in the history."""
    _changed(state, lambda facts: facts.delete(id), actor, reason)


@click.command("restore", cls=Command, examples=("amber restore 1k1gqhyzp96sdzn0r7g0",))
@click.argument("id")
@_reason
@_actor
@pass_state
def restore_command(state: State, id: str, reason: str | None, actor: str | None) -> None:
    """Bring a deleted fact back."""
    _changed(state, lambda facts: facts.restore(id), actor, reason)


COMMANDS: tuple[click.Command, ...] = (put_command, patch_command, delete_command, restore_command)
