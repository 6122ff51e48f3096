"""Retention: the oldest log entries go; their pages are free for the next commits, and ``scrub`` gives them back."""

from __future__ import annotations

import orjson

from amber.backends.sql import read
from amber.backends.sql.engine import Cursor
from amber.store.codec import decode
from amber.store.contract import Purged
from amber.store.faults import point
from amber.store.horizon import moved


def trim(cursor: Cursor, space: int, upto: int, limit: int) -> Purged:
    """Forget up to ``limit`` of the oldest entries and about as many changes, as far as they are asked for."""
    execute = cursor.execute
    row = execute("SELECT position FROM amber_space WHERE n = ? /* lock */", (space,)).fetchone()
    if row is None:
        return Purged(0, 0, True)
    asked = min(upto, row[0])
    old = read.horizon(lambda sql, values: execute(sql, values).fetchall(), space)
    if asked <= old.position:
        return Purged(0, 0, True)
    cut = min(asked, old.position + limit)
    # the entry in which the change after the last allowed one lies stays, unless it is the first
    beyond = execute(
        """SELECT position FROM amber_change WHERE space = ? AND position <= ? ORDER BY position, n
           LIMIT 1 OFFSET ?""",
        (space, cut, limit),
    ).fetchone()
    if beyond is not None:
        cut = max(old.position + 1, beyond[0] - 1)

    def undoes(position: int) -> tuple[int, ...]:
        found = execute("SELECT undoes FROM amber_log WHERE space = ? AND position = ?", (space, position)).fetchone()
        return tuple(decode(found[0])) if found is not None and found[0] is not None else ()

    at = execute("SELECT at FROM amber_log WHERE space = ? AND position = ?", (space, cut)).fetchone()[0]
    sql = "SELECT DISTINCT target FROM amber_undone WHERE space = ? AND target <= ? AND by > ?"
    targets = [target for (target,) in execute(sql, (space, cut, cut)).fetchall()]
    new = moved(old, cut, at, targets, undoes)
    execute(
        """INSERT INTO amber_horizon VALUES (?, ?, ?, ?) ON CONFLICT (space) DO UPDATE
           SET position = excluded.position, at = excluded.at, undos = excluded.undos""",
        (space, cut, at, orjson.dumps(sorted(new.undos)).decode()),
    )
    changes = _delete(cursor, space, cut)
    return Purged(0, changes, cut == asked)


def _delete(cursor: Cursor, space: int, cut: int) -> int:
    execute = cursor.execute
    sql = "SELECT DISTINCT collection, key FROM amber_change WHERE space = ? AND position <= ?"
    places = execute(sql, (space, cut)).fetchall()
    changes: int = execute("DELETE FROM amber_change WHERE space = ? AND position <= ?", (space, cut)).rowcount
    execute("DELETE FROM amber_log WHERE space = ? AND position <= ?", (space, cut))
    point("trim:log")
    # a mark stays as long as the entry that makes it: it is what tells undo and redo apart
    execute("DELETE FROM amber_undone WHERE space = ? AND target <= ? AND by <= ?", (space, cut, cut))
    # where documents without images once stood is asked by nobody
    cursor.executemany(
        """DELETE FROM amber_departed WHERE space = ? AND collection = ? AND key = ? AND NOT EXISTS
           (SELECT 1 FROM amber_change c WHERE c.space = ? AND c.collection = ? AND c.key = ?)""",
        [(space, *place, space, *place) for place in places],
    )
    return changes
