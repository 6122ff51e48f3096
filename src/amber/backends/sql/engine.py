"""What the shared statements need of a database: a cursor, and an engine for what each does in its own way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from amber.backends.sql.declared import Declared
from amber.backends.sql.statements import Statements
from amber.model.collection import Collection
from amber.store.contract import Problem
from amber.store.derive import Analyze, Derived

T = TypeVar("T")

#: Runs a statement and gives what can be iterated, and asked ``fetchone`` and ``fetchall``.
Execute = Callable[..., Any]
#: Runs a reading statement and gives all of its rows.
Rows = Callable[[str, Sequence[Any]], list[Any]]


class Cursor(Protocol):
    """What a write is carried out with; rows are tuples."""

    def execute(self, sql: str, values: Any = ..., /) -> Any:
        """Run a statement."""

    def executemany(self, sql: str, rows: Iterable[Any], /) -> Any:
        """Run a statement for each of the rows of values."""


class Write(Protocol):
    """Runs a write as one transaction, under the name of its fault points."""

    def __call__(self, work: Callable[[Any], T], name: str, /) -> T:
        """Run it and give what it gives; any exception leaves nothing of it."""


class Engine(Protocol):
    """What a database does in its own way: above all, how documents are found by their words and fields.

    ``amber_doc`` is on every one: what a search is narrowed by, the distinct words of a text in ``tokens`` (NULL when a
    document has none) and one byte each in ``counts``.
    """

    #: What reading damaged data may end in.
    unreadable: tuple[type[Exception], ...]

    def pack(self, space: int, collection: str, derived: Derived) -> tuple[Any, bytes | None, Any]:
        """Give what ``amber_doc`` keeps of a document: ``tokens``, ``counts``, and ``fields`` for its field entries."""

    def enter(
        self, cursor: Cursor, space: int, collection: str, position: int, found: Sequence[tuple[str, Derived]]
    ) -> None:
        """Let new documents, given by their key, be found."""

    def replace(
        self, cursor: Cursor, space: int, collection: str, key: str, position: int, derived: Derived | None
    ) -> tuple[int, int]:
        """Bring what a document is found by up to date; give by how much the searchable documents and their tokens
        changed. ``position`` is where the document entered the log."""

    def withdraw(self, cursor: Cursor, space: int, collection: str, key: str) -> None:
        """Let a document be found no more."""

    def holding(
        self, space: int, collection: str, asked: Sequence[str], overflow: Sequence[str]
    ) -> tuple[str, list[Any]]:
        """Give a query for the ids in ``amber_doc`` of the documents of a collection that hold all of these entries, or
        all of those; more of them rather than fewer."""

    def problems(self, cursor: Cursor) -> list[Problem]:
        """Look at the pages and postings of the whole database."""

    def tables(self, cursor: Cursor) -> list[str]:
        """Name the tables of ours that have a column ``space``."""

    def size(self, rows: Rows) -> int | None:
        """Give the bytes on disk."""


class Catalog(NamedTuple):
    """What a store keeps, and by which statements."""

    collections: Mapping[str, Collection]
    #: where run-time rules are kept (see ``rule_homes``)
    homes: Mapping[str, tuple[Collection, ...]]
    statements: Mapping[str, Statements]
    analyze: Analyze
    declared: Declared
    engine: Engine
