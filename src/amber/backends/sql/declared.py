"""Whether the tables are still as this process declared them: one of another version may have changed them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from amber.errors import SchemaMismatch
from amber.model.collection import Collection

#: A number that every migration and every change of a declaration raises.
TURN = "(SELECT value FROM amber_meta WHERE name = 'declared')"
RAISE_TURN = """INSERT INTO amber_meta VALUES ('declared', 1) ON CONFLICT (name) DO UPDATE
                SET value = amber_meta.value + 1"""


def digests(collections: Iterable[Collection], analyzer: str) -> Mapping[str, str]:
    """Give what must be made anew when it changes, for each collection."""
    return {each.name: each.digest() + (f"/{analyzer}" if each.search is not None else "") for each in collections}


def check_known(found: int, known: int) -> None:
    """Refuse a schema that this Amber does not know.

    :raises SchemaMismatch: when it is newer.
    """
    if found > known:
        raise SchemaMismatch(
            f"This memory has schema {found}, newer than the {known} known here: upgrade the amber package.",
            found=found,
            known=known,
        )


class Declared:
    """The declarations that a store works by. A write by other ones would leave indexes and postings without its
    documents, and a read would not find what is there."""

    __slots__ = ("_digests", "_turn", "_version")

    def __init__(self, digests: Mapping[str, str], version: int) -> None:
        self._digests, self._version = digests, version
        self._turn: Any = ()

    def knows(self, turn: Any) -> bool:
        """Tell whether all was well when the number of ``TURN`` was this one."""
        return bool(turn == self._turn)

    def check(self, execute: Callable[..., Any]) -> None:
        """Look whether somebody migrated or declared otherwise since the last look.

        :raises SchemaMismatch: when the schema, or one of the collections of this store, is another one now.
        """
        row = execute(f"SELECT {TURN}").fetchone()
        if not self.knows(row[0]):
            (schema,) = execute("SELECT value FROM amber_meta WHERE name = 'schema'").fetchone() or (0,)
            if schema != self._version:
                raise SchemaMismatch(
                    f"This memory was migrated to schema {schema} while it was open here with {self._version}; nothing "
                    "was read or written. Upgrade the amber package everywhere and open it again.",
                    found=schema,
                    known=self._version,
                )
            found = dict(execute("SELECT name, digest FROM amber_collection"))
            other = sorted(name for name, digest in self._digests.items() if found.get(name) != digest)
            if other:
                raise SchemaMismatch(
                    f"Another version of Amber, or another declaration, opened this memory and changed {other} while "
                    "it was open here; nothing was read or written. Open it again with one version everywhere.",
                    collections=other,
                )
            self._turn = row[0]
