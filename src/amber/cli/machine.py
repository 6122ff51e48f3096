"""Output for programs: JSON, with times in the local zone and their offset."""

from __future__ import annotations

import codecs
import json
import sys
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import click

from amber.cli.moments import to_local
from amber.model.collection import Body, Record
from amber.model.fact import FACTS, Fact
from amber.model.history import Change, Diff, Entry
from amber.model.message import MESSAGES, SESSIONS
from amber.model.times import from_micros
from amber.model.wording import escape
from amber.services.listing import FactPage
from amber.services.recall import Hit

_TIMES = {
    FACTS.name: ("valid_from", "valid_until", "expires_at", "created_at", "updated_at", "last_seen", "deleted_at"),
    MESSAGES.name: ("at",),
    SESSIONS.name: ("started_at", "ended_at"),
}


def emit(document: Any, *, stream: bool = False) -> None:
    """Print a JSON document: on a terminal indented, else on one line, as each document of a stream always is."""
    indent = 2 if sys.stdout.isatty() and not stream else None
    click.echo(to_json(document, indent=indent, encoding=sys.stdout.encoding))


def to_json(document: Any, *, indent: int | None = None, encoding: str | None = "utf-8") -> str:
    """Write JSON in the letters that the output can hold, without any that a terminal acts on or that end a line."""
    plain = encoding is None or codecs.lookup(encoding).name != "utf-8"
    return escape(json.dumps(document, ensure_ascii=plain, indent=indent, default=_other))


def _other(value: Any) -> Any:
    if isinstance(value, datetime):
        return to_local(value).isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    return str(value)


def body_json(collection: str, body: Body | None) -> Body | None:
    """Give a document as the log keeps it, with readable times and without what only the store needs."""
    if body is None:
        return None
    times = _TIMES.get(collection, ())
    return {
        name: from_micros(value) if name in times and isinstance(value, int) else value
        for name, value in body.items()
        if name not in ("digest", "subject")
    }


def fact_json(fact: Fact | None) -> Body | None:
    """Give a fact."""
    if fact is None:
        return None
    return {**fact.to_dict(), **(body_json(FACTS.name, fact.body) or {})}


def page_json(page: FactPage) -> Body:
    """Give a page of facts."""
    return {"facts": [fact_json(each) for each in page], "cursor": page.cursor, "complete": page.complete}


def hit_json(hit: Hit, place: str | None = None) -> Body:
    """Give something found; ``place`` is where a message stands, as ``amber show`` takes it."""
    return {**hit.to_dict(), "at": hit.at, **({"place": place} if hit.kind == "message" else {})}


def entry_json(entry: Entry) -> Body:
    """Give an entry of the log."""
    return {**entry._asdict(), "changes": [_change(each) for each in entry.changes]}


def _change(change: Change) -> Body:
    images = {name: body_json(change.collection, getattr(change, name)) for name in ("before", "after")}
    return {**change._asdict(), **images}


def diff_json(diff: Diff) -> Body:
    """Give what differs between two moments."""
    facts = [
        {"kind": each.kind, "before": fact_json(each.before), "after": fact_json(each.after)} for each in diff.facts
    ]
    return {"start": diff.start, "end": diff.end, "facts": facts, "others": diff.others}


def to_fact(id: str, body: Body) -> Fact:
    """Give a document of the log as a fact."""
    return Fact(Record(id, 0, 0, body))
