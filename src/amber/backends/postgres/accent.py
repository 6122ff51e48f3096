"""The shared statements as Postgres wants to hear them."""

from __future__ import annotations

import re

#: Hints to SQLite's planner: Postgres plans by its own statistics.
_HINT = re.compile(r"\s+(?:NOT INDEXED|INDEXED BY \w+)\b")
#: Numbers that are passed as one value, a JSON array: as a table with a column ``value``.
_NUMBERS = "(SELECT value::bigint AS value FROM json_array_elements_text(%s::json) AS e(value))"
_TABLE = re.compile(r"\bamber_\w+\b")
_MARKS = {"/* lock */": "FOR UPDATE", "/* claim */": "FOR UPDATE SKIP LOCKED"}


class Accent:
    """Rewrites statements; each text once.

    Tables are named with their schema, because a search path set on a connection is not there any more when a pooler
    hands the next transaction to another one.
    """

    __slots__ = ("_heard", "schema")

    def __init__(self, schema: str) -> None:
        #: quoted, as it stands in a statement
        self.schema = '"' + schema.replace('"', '""') + '"'
        self._heard: dict[str, str] = {}

    def __call__(self, sql: str) -> str:
        """Give a statement with psycopg's marks for values."""
        heard = self._heard.get(sql)
        if heard is None:
            heard = self._heard[sql] = self._hear(sql)
        return heard

    def _hear(self, sql: str) -> str:
        sql = _HINT.sub("", sql)
        # the order of loops is SQLite's to be told: to Postgres a CROSS JOIN has no condition, and all of ours have one
        sql = sql.replace("CROSS JOIN", "JOIN")
        sql = sql.replace("group_concat(by)", "string_agg(by::text, ',')")
        for mark, lock in _MARKS.items():
            sql = sql.replace(mark, lock)
        sql = sql.replace("%", "%%")
        # a table made of a query needs a name
        sql = re.sub(r"json_each\(\?\)(?!\s+\w)", "json_each(?) AS numbers", sql).replace("json_each(?)", _NUMBERS)
        sql = sql.replace("?", "%s")
        return _TABLE.sub(lambda found: f"{self.schema}.{found[0]}", sql)
