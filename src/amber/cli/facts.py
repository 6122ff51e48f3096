"""``amber facts`` and ``amber at``: list facts, now or as they were known."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

import click
from rich.table import Table
from rich.text import Text

from amber.cli.base import Command, State, note, pass_state, scope_options
from amber.cli.describing import entry_table, fact_text, position_text
from amber.cli.machine import emit, entry_json, fact_json, page_json
from amber.cli.moments import brief, day_and_time, to_moment
from amber.cli.render import clean, lines, make_console, one_line, show, table, value_line
from amber.errors import BadInput
from amber.memory import Memory
from amber.model.fact import Fact
from amber.services.listing import FactPage

F = TypeVar("F", bound=Callable[..., Any])


def _filters(command: F) -> F:
    options = (
        scope_options,
        click.option("--key", metavar="NAME", help="What the fact gives a value for."),
        click.option("--type", metavar="NAME", help="The type of the fact."),
        click.option(
            "--where", multiple=True, metavar="PATH=JSON", help="A part of the fact has this value; repeatable."
        ),
        click.option("--all", "superseded", is_flag=True, help="Also what is superseded, expired or not valid yet."),
        click.option("--deleted", is_flag=True, help="Also what was deleted."),
        click.option("--valid-at", metavar="TIME", help="What is valid at this time (default: now)."),
        click.option(
            "--limit",
            type=click.IntRange(1, 10_000),
            default=50,
            show_default=True,
            metavar="N",
            help="How many to show at most.",
        ),
        click.option("--after", metavar="CURSOR", help="Go on where the page before ended."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command(
    "facts",
    cls=Command,
    examples=(
        "amber facts --sender ana",
        "amber facts --type preference --where payload.editor=vim",
        "amber facts --key city --all",
        "amber facts 1k1gqhyzp96sdzn0r7g0",
    ),
)
@click.argument("id", required=False)
@_filters
@pass_state
def facts_command(state: State, /, id: str | None, **filters: Any) -> None:
    """List facts, oldest first; or show one with its history.

    PATH leads into the fact: payload.role is the member role of its value. What is no JSON is taken as text.
    """
    filters["where"] = _where(filters["where"])
    with state.open() as memory:
        if id is not None:
            _one(state, memory, id, filters)
            return
        page = memory.facts.page(**filters)
    if state.json:
        emit(page_json(page))
    else:
        _list(page)


@click.command(
    "at",
    cls=Command,
    examples=("amber at 12", "amber at 2026-11-15T12:00 --sender ana", "amber at 2026-11-15 --key city"),
)
@click.argument("moment")
@_filters
@pass_state
def at_command(state: State, /, moment: str, **filters: Any) -> None:
    """List the facts as they were known at a moment.

    MOMENT is a position of the log, a time or a label. This is about what had been written by then; what was valid
    then by what is known now is 'amber facts --valid-at'.
    """
    filters["where"] = _where(filters["where"])
    with state.open() as memory:
        position = memory.history.resolve(to_moment(moment))
        page = memory.at(position).facts.page(**filters)
        if state.json:
            emit({"position": position, **page_json(page)})
            return
        show(Text(f"as known at {position_text(memory, position)}", style="dim"))
    _list(page)


def _where(given: Sequence[str]) -> dict[str, Any]:
    found = {}
    for text in given:
        path, sign, value = text.partition("=")
        if not sign or not path:
            raise BadInput(f"--where needs PATH=JSON, like payload.role=admin, not {text!r}.", where=text)
        found[path] = _value(value)
    return found


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        if text.lstrip()[:1] in ("{", "[", '"'):
            raise BadInput(f"{text!r} is not JSON: {error}.", value=text) from None
        return text


def _list(page: FactPage) -> None:
    facts, now = page.facts, datetime.now(UTC)
    if not facts:
        note("no facts" if page.complete else "none so far")
    else:
        show(_stacked(facts, now) if make_console().is_terminal else _columns(facts, now))
    if page.cursor is not None:
        why = "more" if page.complete else "stopped after looking at many facts; go on with"
        note(f"{why}: --after {page.cursor}")


def _stacked(facts: Sequence[Fact], now: datetime) -> Table:
    """Lay facts out for a terminal: what not every fact has stands in a second line."""
    rows: list[list[str | Text]] = []
    for fact in facts:
        more = "  ".join(each for each in (_state(fact, now), *_scope(fact)) if each)
        text = fact_text(fact.body)
        rows.append([fact.id, day_and_time(fact.valid_from)[:10], lines(text, Text(more, "dim")) if more else text])
    return table(("id", "since", "fact"), rows)


def _columns(facts: Sequence[Fact], now: datetime) -> Table:
    """Lay facts out for grep: each in one line."""
    rows: list[list[str | Text]] = [
        [fact.id, brief(fact.valid_from), _state(fact, now), *_scope(fact), fact_text(fact.body)] for fact in facts
    ]
    used = [n for n in range(len(rows[0])) if any(str(row[n]) for row in rows)]
    heads = ("id", "since", "state", "type", "project", "session", "fact")
    return table([heads[n] for n in used], [[row[n] for n in used] for row in rows])


def _scope(fact: Fact) -> tuple[str, str, str]:
    return one_line(fact.type or ""), one_line(fact.project or ""), one_line(fact.session or "")


def _state(fact: Fact, now: datetime) -> str:
    if fact.is_deleted:
        return "deleted"
    if fact.expires_at is not None:
        return f"{'expired' if fact.expires_at <= now else 'expires'} {brief(fact.expires_at)}"
    return f"until {brief(fact.valid_until)}" if fact.valid_until is not None else ""


def _one(state: State, memory: Memory, id: str, filters: dict[str, Any]) -> None:
    if any(filters[name] for name in ("sender", "project", "session", "key", "type", "where", "valid_at", "after")):
        raise BadInput("An ID names one fact; leave the filters out.", id=id)
    fact, entries = memory.facts.get(id), memory.history.of(id)
    if state.json:
        emit({"fact": fact_json(fact), "history": [entry_json(each) for each in entries]})
        return
    trust = f"{fact.source}, trust {fact.trust:g}"
    ephemeral = " (ephemeral)" if fact.ephemeral else ""
    derived = ", ".join(fact.derived_from)
    rows = [
        ("id", fact.id),
        ("key", one_line(fact.key or "")),
        ("value", value_line(fact.value, 100_000)),
        ("type", one_line(fact.type or "")),
        ("sender", one_line(fact.sender or "")),
        ("project", one_line(fact.project or "")),
        ("session", one_line(fact.session + ephemeral) if fact.session is not None else ""),
        ("source", f"{trust}, derived from {derived}" if derived else trust),
        (
            "valid",
            f"{brief(fact.valid_from)} until {brief(fact.valid_until) if fact.valid_until else 'further notice'}",
        ),
        ("expires", brief(fact.expires_at) if fact.expires_at is not None else ""),
        ("superseded by", fact.superseded_by or ""),
        ("deleted", day_and_time(fact.deleted_at) if fact.is_deleted else ""),
        ("mentions", f"{fact.mentions:,}, last {day_and_time(fact.last_seen)}"),
    ]
    for name, value in rows:
        if value:
            show(Text.assemble((f"{name:<13}  ", "dim"), clean(value), overflow="fold"))
    show("", entry_table(memory, entries))


COMMANDS: tuple[click.Command, ...] = (facts_command, at_command)
