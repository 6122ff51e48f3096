"""Labels: names for positions of the log. They are documents, so they are logged, undone and exported like all else."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from difflib import get_close_matches
from typing import NamedTuple

from amber.errors import BadInput
from amber.model.bounds import check_name
from amber.model.collection import Collection, Field, Index, Record
from amber.model.times import from_micros, to_duration, to_micros

LABELS = Collection(
    "labels",
    fields=(Field("position", "int"),),
    indexes=(Index("position", (), "position"),),
    members=frozenset({"position", "at"}),
)
#: A text of these alone is meant as a number or time, even when it is none.
_LIKE_A_TIME = re.compile(r"[\d\s:.,+\-/_TZW]*\d[\d\s:.,+\-/_TZW]*", re.IGNORECASE)


class Label(NamedTuple):
    """A name for a position; ``at`` is its time (None: the beginning; of a label that was set to now, when it was asked
    for), ``revision`` the position at which the label was set."""

    name: str
    position: int
    at: datetime | None
    revision: int


def to_label(record: Record) -> Label:
    """Read a label from its document."""
    at = record.body["at"]
    return Label(record.key, record.body["position"], from_micros(at) if at is not None else None, record.revision)


def check_label(name: str) -> str:
    """Check the name of a label: none that could be taken for a moment of another kind.

    :raises BadInput: for a bad name, or one that reads as a number, a time or a duration.
    """
    check_name("label", name)
    if name != name.strip() or not name.isprintable():
        raise BadInput(f"A label is one line without blanks around it, not {name!r}.", label=name)
    if is_like_a_time(name) or _is_number(name):
        raise BadInput(f"{name!r} reads as a number or a time; a label needs a name that does not.", label=name)
    return name


def is_like_a_time(text: str) -> bool:
    """Tell whether a text is, or is meant as, a position, a time or a duration, so that it can be no label."""
    if _LIKE_A_TIME.fullmatch(text):
        return True
    for read in (to_micros, to_duration):
        try:
            read(text)
        except BadInput:
            continue
        return True
    return False


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def near(name: str, names: Iterable[str]) -> str:
    """Say which labels there are, the ones most like a name first."""
    known = sorted(names)
    chosen = get_close_matches(name, known, n=3, cutoff=0.5) or known[:3]
    if not chosen:
        return "there are no labels yet"
    more = f" and {len(known) - len(chosen)} more" if len(known) > len(chosen) else ""
    return f"there are {', '.join(map(repr, chosen))}{more}"
