"""One body, every store and every face."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.services.stage import FACES, OPEN, STORES, Open, SteppingClock, finish, opener, target_of

from amber.memory import Memory


@pytest.fixture
def clock() -> SteppingClock:
    return SteppingClock()


@pytest.fixture(params=STORES)
def target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Give what a store of each kind is opened with."""
    return target_of(request.param, tmp_path)


@pytest.fixture(params=[*FACES])
def open_memory(request: pytest.FixtureRequest, target: str, clock: SteppingClock) -> Iterator[Open]:
    """Give a maker of memories over one store."""
    threads, made = set(threading.enumerate()), list[Any]()

    def face(memory: Memory) -> Memory:
        made.append(FACES[request.param](memory))
        return made[-1]  # type: ignore[no-any-return]

    make = opener(target, clock, face)
    yield make
    make().close()
    for memory in made:
        finish(memory)
    assert set(threading.enumerate()) <= threads, "a thread is left"


@pytest.fixture(params=[*OPEN])
def open_at(request: pytest.FixtureRequest) -> Iterator[Open]:
    """Give what opens a memory at a path, URL or connection, as ``Memory.open``, on each face."""
    threads, made = set(threading.enumerate()), list[Any]()

    def opened(*args: Any, **kwargs: Any) -> Memory:
        made.append(OPEN[request.param](*args, **kwargs))
        return made[-1]  # type: ignore[no-any-return]

    yield opened
    for memory in made:
        finish(memory)
    assert set(threading.enumerate()) <= threads, "a thread is left"


@pytest.fixture
def memory(open_memory: Open) -> Iterator[Memory]:
    """Give a new memory. Whatever a test did to it, all that is derived from the documents is right in the end."""
    memory = open_memory()
    yield memory
    if not memory._closed:
        assert memory.verify() == []


@pytest.fixture
def sqlite_path(tmp_path: Path) -> Path:
    return tmp_path / "amber.db"
