"""Export: a space as JSON lines, of one moment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from hashlib import blake2b
from typing import Any, NamedTuple

import orjson

from amber.model.times import from_micros
from amber.services.lines import FORMAT, FileOrStream, Moved, writing
from amber.services.unit import Unit
from amber.store.rows import Document, Head, to_object

#: Rows between two reports.
STEP = 1_000
DIGEST_SIZE = 16


class Exported(NamedTuple):
    """What an export holds: documents by collection, entries of the log, all rows, and a digest of them. Two memories
    are equal when the digests of their exports are."""

    space: str
    position: int
    documents: Mapping[str, int]
    entries: int
    rows: int
    digest: str


def to_line(value: Any) -> bytes:
    """Write a line."""
    return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)


def new_digest() -> blake2b:
    """Give what the digest of an export is made with: fed with all lines between the first and the last, and before
    them with the head as a line of its own."""
    return blake2b(digest_size=DIGEST_SIZE)


def export(
    unit: Unit, target: FileOrStream, *, overwrite: bool, on_progress: Callable[[Moved], None] | None
) -> Exported:
    """Answer ``Memory.export``."""
    digest, counted = new_digest(), Counter[str]()
    head, rows = Head(0, 0), 0
    # opened first: what can not be written needs no snapshot
    with writing(target, overwrite=overwrite) as write, closing(unit.store.export(unit.space)) as found:
        for row in found:
            line = to_line(to_object(row))
            digest.update(line)
            rows += 1
            if isinstance(row, Head):
                head = row
                write(to_line(_first(unit, row)))
                continue
            if isinstance(row, Document):
                counted[row.collection] += 1
            write(line)
            if on_progress is not None and rows % STEP == 0:
                on_progress(Moved(rows, total_of(head)))
        write(to_line({"amber": "end", "rows": rows, "digest": digest.hexdigest(), "head": head._asdict()}))
    if on_progress is not None:
        on_progress(Moved(rows, rows))
    entries = head.position - head.horizon
    return Exported(unit.space, head.position, dict(counted), entries, rows, digest.hexdigest())


def total_of(head: Head) -> int:
    """Give about how many rows an export has."""
    return 1 + sum(head.documents.values()) + head.position - head.horizon


def _first(unit: Unit, head: Head) -> dict[str, Any]:
    return {
        "amber": "export",
        "format": FORMAT,
        "exported_at": from_micros(unit.now()).isoformat(),
        "space": unit.space,
        "entries": head.position - head.horizon,
        "head": head._asdict(),
    }
