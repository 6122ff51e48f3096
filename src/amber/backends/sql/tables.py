"""The names of tables, and what they must not be."""

from __future__ import annotations

import re
from collections.abc import Collection as Names
from collections.abc import Iterable, Mapping

from amber.errors import BadInput
from amber.model.collection import Collection, Index

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_RESERVED = {"space", "key", "created", "revision", "body", "ord", "rowid"}


def table(collection: Collection) -> str:
    """Name a collection's table."""
    return f"amber_{collection.name}"


def index_table(collection: Collection, index: Index) -> str:
    """Name the table, or SQL index, that holds an index of a collection."""
    return f"amber_{collection.name}_by_{index.name}"


def by_name(collections: Iterable[Collection]) -> Mapping[str, Collection]:
    """Give declarations by their name."""
    return {collection.name: collection for collection in collections}


def check_names(collection: Collection, taken: Names[str]) -> None:
    """Refuse names that can not be those of tables and columns.

    :param taken: the tables that are there for all collections, without ``amber_``.
    :raises BadInput: naming them.
    """
    names = [collection.name, *collection.columns, *collection.by_name]
    bad = [name for name in names if not _NAME.fullmatch(name)]
    bad += [name for name in collection.columns if name in _RESERVED]
    # the tables of multi-valued indexes are called amber_<collection>_by_<index>, those of FTS5 amber_search_<part>
    if collection.name in taken or "_by_" in collection.name or collection.name.startswith("search_"):
        bad.append(collection.name)
    if bad:
        raise BadInput(f"{bad} can not be names of a collection's table, fields or indexes.", names=bad)
