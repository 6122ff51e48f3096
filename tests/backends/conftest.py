"""Fixtures of the SQLite tests."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import open_files

from amber.backends.sqlite import SQLiteStore
from amber.store import faults
from amber.testing import COLLECTIONS, words

Open = Callable[..., SQLiteStore]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Give the path of a file that does not exist yet."""
    return tmp_path / "memory.db"


@pytest.fixture
def open_store(path: Path) -> Iterator[Open]:
    """Give what opens stores; they are closed at the end, and nothing may be left open."""
    stores: list[SQLiteStore] = []
    threads = set(threading.enumerate())

    def opened(target: Any = None, **options: Any) -> SQLiteStore:
        collections = options.pop("collections", COLLECTIONS)
        options = {"analyze": words, "timeout": 10.0, **options}
        stores.append(SQLiteStore(path if target is None else target, collections, **options))
        return stores[-1]

    yield opened
    for store in stores:
        store.close()
    assert set(threading.enumerate()) <= threads
    assert open_files(path) == []


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """Give a connection of the caller's own, with a table of theirs."""
    with closing_connection(tmp_path / "own.db") as own:
        yield own


class closing_connection:  # noqa: N801
    """Open a plain connection for a block."""

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path)
        self.connection.execute("CREATE TABLE IF NOT EXISTS own (value TEXT)")

    def __enter__(self) -> sqlite3.Connection:
        return self.connection

    def __exit__(self, *_: object) -> None:
        self.connection.close()


@pytest.fixture
def at_point() -> Iterator[Callable[[str, BaseException], None]]:
    """Give what makes a named point of a write raise an error."""

    def install(point: str, error: BaseException) -> None:
        def hook(passed: str) -> None:
            if passed == point:
                raise error

        faults.install(hook)

    yield install
    faults.install(None)
