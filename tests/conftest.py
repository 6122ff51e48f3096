"""Fixtures for all tests: the stores, and a check that nothing of them is left."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import cast

import pytest
from tests.faces import HoppedStore
from tests.servers import shared

from amber.backends.dict import DictStore
from amber.backends.sqlite import SQLiteStore, text
from amber.memory import open_store
from amber.model.collection import Collection
from amber.store.contract import Store
from amber.testing import COLLECTIONS, MakeStore, words

#: The stores that the suite runs on, called directly; and those that are called from an event loop through the hop.
DIRECT = ("dict", "sqlite", "sqlite-2-wait")
HOPPED = ("async-dict", "async-sqlite")


@pytest.fixture(params=[*DIRECT, *HOPPED])
def make_store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeStore]:
    """Give a maker of new stores, of each kind in turn: called directly, and from an event loop through the hop.

    Most tests write fewer documents than may wait for FTS5; in one leg only two may.
    """
    if request.param == "sqlite-2-wait":
        monkeypatch.setattr(text, "PENDING", 2)
    threads = set(threading.enumerate())
    stores: list[Store] = []
    hopped: list[HoppedStore] = []

    def make(collections: Iterable[Collection] = COLLECTIONS) -> Store:
        kind = request.param.removeprefix("async-")
        if kind == "dict":
            stores.append(DictStore(collections, analyze=words))
        elif kind.startswith("sqlite"):
            stores.append(SQLiteStore(tmp_path / f"{len(stores)}.db", collections, analyze=words))
        else:
            stores.append(open_store(shared.place(kind), collections=collections, analyze=words))
        if not request.param.startswith("async"):
            return stores[-1]
        hopped.append(HoppedStore(stores[-1]))
        return cast(Store, hopped[-1])

    yield make
    for each in hopped:
        each.end()
    for store in stores:
        store.close()
    assert set(threading.enumerate()) <= threads, "a thread is left"
    assert open_files(tmp_path) == []


@pytest.fixture(autouse=True)
def clean_servers() -> Iterator[None]:
    """Take away from the shared servers what a test made there."""
    yield
    shared.clean()


def pytest_sessionfinish() -> None:
    """End the shared servers."""
    shared.end()


@pytest.fixture
def store(make_store: MakeStore) -> Store:
    """Give a new store of the sample collections."""
    return make_store(COLLECTIONS)


def open_files(folder: Path) -> list[str]:
    """Name the files whose path begins so that this process holds open; on systems that tell."""
    found = []
    for number in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else ():
        try:
            name = os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            continue
        if name.startswith(str(folder)):
            found.append(name)
    return found
