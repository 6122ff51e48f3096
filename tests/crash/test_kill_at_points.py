"""kill -9 at every named point of a write: the file holds exactly the state before it, or exactly the one after."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.crash import work

from amber.backends.sqlite import SQLiteStore
from amber.model import batch as b
from amber.store import faults
from amber.testing.crash import killed_at
from amber.testing.samples import SPACE, Hand, placed, snapshot

COMMIT = [point for point in faults.POINTS if point.startswith("commit:")]
PURGE = [point for point in faults.POINTS if point.startswith("purge:")]
TRIM = [point for point in faults.POINTS if point.startswith("trim:")]
#: Those that a new file and a changed declaration both pass; the others are killed at in test_points.py.
MIGRATE = ["migrate:begun", "migrate:declared", "migrate:before-commit", "migrate:after-commit"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Give the path of a filled store that nobody has open."""
    work.fill(tmp_path / "memory.db")
    return tmp_path / "memory.db"


def state(path: Path, *, wider: bool = False) -> Any:
    """Open a store and give all that can be read of it."""
    with work.opened(path, wider=wider) as store:
        return snapshot(store)


def after(path: Path, change: str, *arguments: str) -> Any:
    """Give the state that a change leads to when nothing stops it."""
    copy = path.with_name("whole.db")
    shutil.copy(path, copy)
    getattr(work, change)(str(copy), *arguments)
    return state(copy)


def goes_on(path: Path) -> None:
    """Check that the store is sound and takes the next commit."""
    with work.opened(path) as store:
        assert store.verify() == []
        position = store.position(SPACE)
        assert placed(Hand(store).send(b.Put("facts", "next", {"text": "next word"}))) == position + 1
        assert store.verify() == []


@pytest.mark.parametrize("name", work.BATCHES)
@pytest.mark.parametrize("point", COMMIT)
def test_a_commit_is_whole_or_not_there(path: Path, name: str, point: str) -> None:
    before, done = state(path), after(path, "commit", name)
    killed = killed_at(point, "tests.crash.work:commit", str(path), name)
    found = state(path)
    assert found == (done if point == "commit:after-commit" or not killed else before)
    assert before != done
    # a touch makes no log entry; additions and touches pass the points of documents too
    assert killed or (name == "touch" and point == "commit:log")
    goes_on(path)


@pytest.mark.parametrize("passing", [2, 3, 5])
@pytest.mark.parametrize("point", ["commit:document", "commit:derived"])
def test_a_batch_of_many_documents_is_whole_or_not_there(path: Path, point: str, passing: int) -> None:
    before = state(path)
    assert killed_at(point, "tests.crash.work:commit", str(path), "many", passing=passing)
    assert state(path) == before
    goes_on(path)


def test_an_answered_commit_is_answered_again(path: Path) -> None:
    assert killed_at("commit:after-commit", "tests.crash.work:commit", str(path), "many")
    with work.opened(path) as store:
        batch = b.Batch(SPACE, "the batch", 1, work.BATCHES["many"])
        assert store.commit(batch) == (5, "the batch", 2_000_000_000_000_000, True)


@pytest.mark.parametrize("way", ["keys", "index"])
@pytest.mark.parametrize("point", PURGE)
def test_a_purge_is_whole_or_not_there(path: Path, way: str, point: str) -> None:
    before, done = state(path), after(path, "purge", way)
    assert killed_at(point, "tests.crash.work:purge", str(path), way, passing=1)
    assert state(path) == (done if point == "purge:after-commit" else before)
    work.purge(str(path), way)
    assert state(path) == done
    goes_on(path)


@pytest.mark.parametrize("point", TRIM)
def test_a_trim_is_whole_or_not_there(path: Path, point: str) -> None:
    before, done = state(path), after(path, "trim")
    assert before != done
    assert killed_at(point, "tests.crash.work:trim", str(path))
    assert state(path) == (done if point == "trim:after-commit" else before)
    work.trim(str(path))
    assert state(path) == done
    goes_on(path)


@pytest.mark.parametrize("point", MIGRATE)
def test_a_half_made_store_is_made_at_the_next_open(tmp_path: Path, point: str) -> None:
    path = tmp_path / "new.db"
    assert killed_at(point, "tests.crash.work:create", str(path))
    goes_on(path)


@pytest.mark.parametrize("point", MIGRATE)
def test_a_half_changed_declaration_is_finished_at_the_next_open(path: Path, point: str) -> None:
    before = state(path)
    assert killed_at(point, "tests.crash.work:widen", str(path))
    assert state(path) == before
    with work.opened(path, wider=True) as store:
        assert [row.key for row in store.scan(SPACE, "facts", "state", ("active",)).rows] == ["a", "b"]
        assert store.verify() == []
    assert isinstance(store, SQLiteStore)


def test_points_that_do_not_exist_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="commit:begun"):
        killed_at("commit:nothing", "tests.crash.work:create", str(tmp_path / "x.db"))


def test_work_that_fails_by_itself_is_no_crash(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="is a folder"):
        killed_at("commit:begun", "tests.crash.work:create", str(tmp_path))
    assert killed_at("commit:begun", "tests.crash.work:create", str(tmp_path / "x.db")) is False
