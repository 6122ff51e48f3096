"""The last transaction of a load: what is missing is marked, and the space gets its name."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

import orjson

from amber.backends.sql.engine import Catalog, Cursor
from amber.backends.sql.export import image_of
from amber.backends.sql.load_rows import Loading, insert_entry
from amber.backends.sql.tables import table
from amber.errors import Corrupt
from amber.model.collection import Collection
from amber.store.contract import LOST
from amber.store.intake import GONE_IN_ONE, MAX_LOST, Intake, image_text, last_image
from amber.store.moving import not_empty
from amber.store.rows import Entry, Image, Loaded

#: Documents that their newest change left standing: what else is asked of them follows, and the key is x.key.
LAST_KNOWN = """SELECT x.key FROM amber_change x WHERE x.space = ? AND x.collection = ? AND x.kind <> 'delete'
                AND x.purged = 0 AND NOT EXISTS (SELECT 1 FROM amber_change y WHERE y.space = x.space
                AND y.collection = x.collection AND y.key = x.key AND (y.position, y.n) > (x.position, x.n))"""


def finish(cursor: Cursor, space: str, name: str, catalog: Catalog, intake: Intake) -> Loaded:
    """Mark what is missing, and let the space appear."""
    n, collections = Loading(cursor, name, catalog, intake).space, catalog.collections
    execute = cursor.execute
    # made so that its row can be held, where others write meanwhile
    execute("INSERT INTO amber_space (name) VALUES (?) ON CONFLICT DO NOTHING", (space,))
    row = execute("SELECT position FROM amber_space WHERE name = ? /* lock */", (space,)).fetchone()
    if row[0]:
        raise not_empty(space, row[0])
    for collection in collections.values():
        if collection.queue is not None:
            execute(
                f"""UPDATE amber_queue SET due_at = NULL WHERE space = ? AND collection = ? AND due_at IS NOT NULL AND
                    NOT EXISTS (SELECT 1 FROM {table(collection)} d WHERE d.space = ? AND d.key = amber_queue.key)""",
                (n, collection.name, n),
            )
    lost = _fill(cursor, n, intake)
    gone = _gone(cursor, n, collections)
    position, at = intake.position, intake.at
    for start in range(0, len(gone), GONE_IN_ONE):
        position += 1
        images = [(place, _known(cursor, n, place)) for place in gone[start : start + GONE_IN_ONE]]
        changes = tuple(Image(*place, "delete", None, None, None, False) for place, _ in images)
        entry = Entry(position, f"{LOST}{position}", at, None, None, None, (), changes)
        insert_entry(cursor, n, entry, [(image, None) for _, image in images])
    if not position:
        execute("DELETE FROM amber_space WHERE n = ? OR name = ?", (n, space))
        return intake.result(lost, gone)
    horizon = intake.horizon
    if horizon.position:
        undos = orjson.dumps(sorted(horizon.undos)).decode()
        execute("INSERT INTO amber_horizon VALUES (?, ?, ?, ?)", (n, horizon.position, horizon.at, undos))
    execute("DELETE FROM amber_space WHERE name = ?", (space,))
    execute("UPDATE amber_space SET name = ?, position = ?, last_at = ? WHERE n = ?", (space, position, at, n))
    return intake.result(lost, gone)


def _fill(cursor: Cursor, space: int, intake: Intake) -> list[int]:
    """Put an entry where there is none, and give the positions."""
    horizon = intake.horizon
    lost: list[tuple[int, int]] = []
    before, at = horizon.position, horizon.at
    known = cursor.execute("SELECT position, at FROM amber_log WHERE space = ? ORDER BY position", (space,))
    for position, time in chain(known, [(intake.position + 1, intake.at)]):
        if len(lost) + position - before > MAX_LOST:
            raise Corrupt(f"More than {MAX_LOST} entries are missing after position {before}; export it anew.")
        lost += [(each, at) for each in range(before + 1, position)]
        before, at = position, time
    rows = [(space, position, f"{LOST}{position}", time) for position, time in lost]
    cursor.executemany("INSERT INTO amber_log (space, position, operation, at) VALUES (?, ?, ?, ?)", rows)
    return [position for position, _ in lost]


def _gone(cursor: Cursor, space: int, collections: Mapping[str, Collection]) -> list[tuple[str, str]]:
    """Name the documents that the log has and the rows had not."""
    found = []
    for name, collection in sorted(collections.items()):
        sql = f"{LAST_KNOWN} AND NOT EXISTS (SELECT 1 FROM {table(collection)} d WHERE d.space = ? AND d.key = x.key)"
        found += [(name, key) for (key,) in cursor.execute(f"{sql} ORDER BY x.key", (space, name, space))]
    return found


def _known(cursor: Cursor, space: int, place: tuple[str, str]) -> str | None:
    sql = """SELECT collection, key, kind, before, after, deltas, purged FROM amber_change
             WHERE space = ? AND collection = ? AND key = ? ORDER BY position DESC"""
    return image_text(last_image(map(image_of, cursor.execute(sql, (space, *place)))))
