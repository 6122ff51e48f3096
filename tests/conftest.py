"""Fixtures for all tests: the stores, and a check that nothing of them is left."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import cast

import pytest
from tests.faces import HoppedStore

from amber.backends.dict import DictStore
from amber.backends.sqlite import SQLiteStore, text
from amber.model.collection import Collection
from amber.store.contract import Store
from amber.testing import COLLECTIONS, MakeStore, words


@pytest.fixture(params=["dict", "sqlite", "sqlite-2-wait", "async-dict", "async-sqlite"])
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
        if request.param.endswith("dict"):
            stores.append(DictStore(collections, analyze=words))
        else:
            stores.append(SQLiteStore(tmp_path / f"{len(stores)}.db", collections, analyze=words))
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
