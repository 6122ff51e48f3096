"""The SQL of one collection's tables, made once."""

from __future__ import annotations

from collections.abc import Mapping

from amber.backends.sql.tables import index_table, table
from amber.model.collection import Collection, Index


class Statements:
    """What reads and writes the documents of a collection and its multi-valued indexes."""

    __slots__ = (
        "collection",
        "columns",
        "count",
        "counters",
        "delete",
        "get",
        "groups",
        "insert",
        "revision",
        "sides",
        "update",
    )

    def __init__(self, collection: Collection) -> None:
        name = table(collection)
        self.collection = collection
        self.columns = [field.name for field in collection.fields if not field.many]
        names = "".join(f', "{column}"' for column in self.columns)
        marks = ", ?" * len(self.columns)
        sets = "".join(f', "{column}" = ?' for column in self.columns)
        self.get = f"SELECT key, created, revision, body FROM {name} WHERE space = ? AND key = ?"
        self.revision = f"SELECT revision FROM {name} WHERE space = ? AND key = ?"
        self.insert = f"INSERT INTO {name} (space, key, created, revision, body{names}) VALUES (?, ?, ?, ?, ?{marks})"
        self.update = f"UPDATE {name} SET revision = ?, body = ?{sets} WHERE space = ? AND key = ?"
        self.counters = [name for name in self.columns if name in collection.counters]
        counts = "".join(f', "{column}" = ?' for column in self.counters)
        self.count = f"UPDATE {name} SET revision = ?, body = ?{counts} WHERE space = ? AND key = ?"
        self.delete = f"DELETE FROM {name} WHERE space = ? AND key = ?"
        #: by index: what enters a document into the table of a multi-valued index, and what takes it out
        self.sides: Mapping[str, tuple[str, str]] = {
            name: _side(collection, collection.by_name[name]) for name in collection.many
        }
        #: by index: the size and newest revision of a group, whole and from an order value on
        self.groups: Mapping[str, tuple[str, str]] = {
            index.name: (_group(collection, index, ""), _group(collection, index, " >= ?"))
            for index in collection.indexes
        }


def _side(collection: Collection, index: Index) -> tuple[str, str]:
    side = index_table(collection, index)
    marks = ", ".join("?" * (len(index.equal) + 3))
    equal = " AND ".join(f'"{column}" = ?' for column in index.equal)
    return (
        f"INSERT INTO {side} VALUES ({marks}) ON CONFLICT DO NOTHING",
        f"DELETE FROM {side} WHERE space = ? AND {equal} AND ord = ? AND key = ?",
    )


def _group(collection: Collection, index: Index, low: str) -> str:
    equal = "".join(f' AND x."{column}" = ?' for column in index.equal)
    if collection.many_field(index) is not None:
        source = f"{index_table(collection, index)} x JOIN {table(collection)} d ON d.space = x.space AND d.key = x.key"
        bound = f" AND x.ord{low}" if low else ""
        return f"SELECT count(*), max(d.revision) FROM {source} WHERE x.space = ?{equal}{bound}"
    order = f'x."{index.order}"'
    bound = f" AND {order}{low}" if low else ""
    source = f"{table(collection)} x INDEXED BY {index_table(collection, index)}"
    return f"SELECT count(*), max(x.revision) FROM {source} WHERE x.space = ?{equal}{bound} AND {order} IS NOT NULL"
