"""``amber recall``: find what answers a question."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.padding import Padding
from rich.text import Text

from amber.cli.base import Command, State, note, pass_state, scope_options
from amber.cli.machine import emit, hit_json
from amber.cli.moments import day_and_time
from amber.cli.render import clean, make_console, show
from amber.memory import Memory
from amber.services.recall import Hit


@click.command(
    "recall",
    cls=Command,
    examples=(
        "amber recall what is the rate limit of the fare API",
        "amber recall --project home/ana/atlas --type prompt --since 2026-10-01 deploy",
        "amber recall --json \"never use mocks\" | jq -r '.hits[].text'",
    ),
)
@click.argument("question", nargs=-1, required=True, metavar="QUESTION...")
@click.option("--limit", type=int, default=10, show_default=True, metavar="N", help="How many to show at most.")
@scope_options
@click.option("--type", metavar="NAME", help="A type of facts, or a kind of messages: prompt, reply, tool_result ...")
@click.option("--kind", type=click.Choice(["fact", "message"]), help="Only facts, or only messages.")
@click.option("--since", metavar="TIME", help="Not before this time.")
@click.option("--until", metavar="TIME", help="Before this time.")
@click.option("--valid-at", metavar="TIME", help="Facts that are valid at this time (default: now).")
@pass_state
def recall_command(
    state: State,
    question: tuple[str, ...],
    limit: int,
    sender: str | None,
    project: str | None,
    session: str | None,
    type: str | None,
    kind: str | None,
    since: str | None,
    until: str | None,
    valid_at: str | None,
) -> None:
    """Find the facts and messages that answer a question best.

    No model is asked; any words will do, in any language. TIME is ISO 8601, in the local zone when it names none:
    2026-10-05, 2026-10-05T14:00. What stands first below a passage leads to it: 'amber show SESSION:N' for a message,
    'amber facts ID' for a fact. Finding nothing is no failure: the exit code is 0.
    """
    asked = " ".join(question)
    with state.open() as memory:
        hits = memory.recall(
            asked,
            sender=sender,
            project=project,
            session=session,
            type=type,
            kinds=(kind,) if kind is not None else ("fact", "message"),
            since=since,
            until=until,
            valid_at=valid_at,
            limit=limit,
        )
        places = _places(memory, hits)
    if state.json:
        emit({"question": asked, "hits": [hit_json(each, places.get(each.id)) for each in hits]})
    elif not hits:
        narrowed = any((sender, project, session, type, kind, since, until))
        note("nothing found" + ("; try it without the options that narrow it" if narrowed else "; try other words"))
    else:
        for n, hit in enumerate(hits):
            if n:
                show("")
            show(_snippet(hit), Padding(_origin(hit, places.get(hit.id)), (0, 0, 0, 2)))
        said = [places[hit.id] for hit in hits if hit.kind == "message"]
        if said and make_console().is_terminal:
            note(f"what was said around it: amber show {said[0]}")


def _places(memory: Memory, hits: Sequence[Hit]) -> dict[str, str]:
    """Give where each hit stands, as 'amber show' takes it: the short name of the session, and the message's number."""
    names = memory.sessions.short_names([hit.session for hit in hits if hit.session is not None])
    return {
        hit.id: f"{names[hit.session]}:{hit.item.seq}" if hit.kind == "message" else names[hit.session]
        for hit in hits
        if hit.session is not None
    }


def _snippet(hit: Hit) -> Text:
    """Give the passage: matches stand out by style on a terminal, in brackets elsewhere."""
    if not make_console().is_terminal:
        return Text(clean(hit.snippet))
    text, end = Text(), 0
    for n, (left, right) in enumerate(hit.spans):
        # each mark takes one place in the snippet
        start, stop = left + 2 * n + 1, right + 2 * n + 1
        text.append(clean(hit.snippet[end : start - 1]))
        text.append(clean(hit.snippet[start:stop]), style="bold yellow")
        end = stop + 1
    text.append(clean(hit.snippet[end:]))
    return text


def _origin(hit: Hit, place: str | None) -> Text:
    who = f"fact from {hit.source}" if hit.kind == "fact" else str(hit.item.kind).replace("_", " ")
    by = f" by {hit.sender}" if hit.sender else ""
    parts = [f"{hit.score:.1f}", f"{who}{by}", day_and_time(hit.at)]
    # what leads further stands where a narrow terminal does not cut it off
    place = (place if hit.kind == "message" else hit.id) or ""
    parts += [each for each in (hit.project, hit.session if hit.kind == "fact" else None) if each]
    lead = (f"{clean(place)}  ", "yellow")
    return Text.assemble(lead, (clean("  ".join(parts)), "dim"), no_wrap=True, overflow="ellipsis")


COMMANDS: tuple[click.Command, ...] = (recall_command,)
