"""The list of fault points is whole: every one of the code is in it, and every one in it is visited and killed at."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.crash import test_kill_at_points as killing
from tests.crash import work

import amber
from amber.backends.sqlite.schema import MIGRATIONS
from amber.store import faults
from amber.testing.crash import killed_at
from amber.testing.samples import snapshot

#: What passes the points of each kind of write: a preparation, then the work. A new kind needs an entry here.
WORKS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "commit": ((), ("commit", "many")),
    "purge": ((), ("purge", "keys")),
    "claim": ((), ("claim",)),
    "migrate": ((), ("widen",)),
    "scrub": (("purge", "keys"), ("scrub",)),
    "verify": ((), ("verify",)),
    "trim": ((), ("trim",)),
    "load": ((), ("copy_space",)),
    "backup": ((), ("back_up",)),
}
#: What runs a write; the verb is among its arguments.
VERBS = ("write", "share", "checked")
#: Points that only a new file passes.
NEW = ("migrate:statement",)
#: What test_kill_at_points.py goes through, and the tests of loads and backups.
ELSEWHERE = (
    *(*killing.COMMIT, *killing.PURGE, *killing.TRIM, *killing.MIGRATE),
    *(each for each in faults.POINTS if each.startswith(("load:", "load-end:", "backup:"))),
)
#: From these points on the work is done.
DONE = (":after-commit", "scrub:")


@pytest.fixture
def hooked() -> Iterator[list[str]]:
    """Give the list of the points that are passed."""
    passed: list[str] = []
    faults.install(passed.append)
    yield passed
    faults.install(None)


def in_the_code() -> set[str]:
    """Give the names of all points in the code: those written out, and each verb with each suffix."""
    points: set[str] = set()
    suffixes: set[str] = set()
    verbs: set[str] = set()
    for path in Path(amber.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            if isinstance(node.func, ast.Name) and node.func.id == "point":
                (given,) = node.args
                if isinstance(given, ast.BinOp):
                    suffixes |= texts([given.right])
                else:
                    points |= texts([given])
            elif path.parent.name in ("sql", "sqlite") and name_of(node.func) in VERBS:
                verbs |= texts(node.args)
    return points | {verb + suffix for verb in verbs for suffix in suffixes}


def name_of(called: ast.expr) -> str:
    return called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""


def texts(nodes: list[ast.expr]) -> set[str]:
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def test_every_point_of_the_code_is_listed() -> None:
    assert in_the_code() == set(faults.POINTS)
    assert len(set(faults.POINTS)) == len(faults.POINTS)


def test_every_point_is_passed_by_some_work(tmp_path: Path, hooked: list[str]) -> None:
    for verb, (prepared, done) in WORKS.items():
        path = tmp_path / f"{verb}.db"
        work.fill(path)
        run(path, prepared)
        run(path, done)
    assert set(hooked) == set(faults.POINTS)


def run(path: Path, step: tuple[str, ...]) -> None:
    if step:
        getattr(work, step[0])(str(path), *step[1:])


def state(path: Path, *, wider: bool) -> Any:
    with work.opened(path, wider=wider) as store:
        return snapshot(store)


@pytest.mark.parametrize("point", [each for each in faults.POINTS if each not in (*NEW, *ELSEWHERE)])
def test_killed_at_a_point_it_is_whole_or_not_there(tmp_path: Path, point: str) -> None:
    prepared, done = WORKS[point.partition(":")[0]]
    path = tmp_path / "memory.db"
    work.fill(path)
    run(path, prepared)
    whole = path.with_name("whole.db")
    shutil.copy(path, whole)
    run(whole, done)
    before, after = state(path, wider=False), state(whole, wider=done == ("widen",))
    assert killed_at(point, f"tests.crash.work:{done[0]}", str(path), *done[1:])
    assert state(path, wider=False) == (after if any(each in point for each in DONE) else before)
    # and the work, done again, comes to its end
    run(path, done)
    with work.opened(path, wider=done == ("widen",)) as store:
        assert store.verify() == []


@pytest.mark.parametrize("passing", [1, 9, sum(map(len, MIGRATIONS))])
def test_a_new_file_killed_at_a_statement_is_made_at_the_next_open(tmp_path: Path, passing: int) -> None:
    path = tmp_path / "new.db"
    assert killed_at("migrate:statement", "tests.crash.work:create", str(path), passing=passing)
    work.fill(path)
    with work.opened(path) as store:
        assert store.verify() == []


@pytest.mark.parametrize("passing", [1, 3, 4])
@pytest.mark.parametrize("point", ["migrate:document", "migrate:declared"])
def test_a_refill_killed_midway_is_done_again(tmp_path: Path, point: str, passing: int) -> None:
    path = tmp_path / "memory.db"
    work.fill(path)
    before = state(path, wider=False)
    # both collections with a text are made anew: another analyzer
    assert killed_at(point, "tests.crash.work:widen", str(path), passing=passing) or passing > 2
    assert state(path, wider=False) == before
    work.widen(str(path))
    with work.opened(path, wider=True) as store:
        assert store.verify() == []
