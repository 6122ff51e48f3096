"""Claim: hand out due rows, inside the writer's transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from amber.backends.sql.engine import Cursor
from amber.backends.sql.statements import Statements
from amber.store.codec import decode
from amber.store.contract import Lease


def claim(
    cursor: Cursor,
    statements: Mapping[str, Statements],
    space: int,
    names: Sequence[str],
    queue: str,
    n: int,
    *,
    lease: int,
    now: int,
) -> list[Lease]:
    """Hand out due rows of these collections, earliest first."""
    marks = ", ".join("?" * len(names))
    rows = cursor.execute(
        f"""SELECT collection, key, epoch, attempts FROM amber_queue
            WHERE space = ? AND queue = ? AND due_at <= ? AND collection IN ({marks})
            ORDER BY due_at, key, collection LIMIT ? /* claim */""",
        (space, queue, now, *names, n),
    ).fetchall()
    leases = []
    for collection, key, epoch, attempts in rows:
        cursor.execute(
            """UPDATE amber_queue SET due_at = ?, epoch = ?, attempts = ?
               WHERE space = ? AND collection = ? AND key = ?""",
            (now + lease, epoch + 1, attempts + 1, space, collection, key),
        )
        body: Any = cursor.execute(statements[collection].get, (space, key)).fetchone()[3]
        leases.append(Lease(collection, key, epoch + 1, attempts + 1, now + lease, decode(body)))
    return leases
