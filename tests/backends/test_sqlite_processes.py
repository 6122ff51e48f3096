"""Several processes on one file, and forks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.backends.conftest import Open
from tests.crash import work

from amber.model import batch as b
from amber.store.contract import LogQuery
from amber.testing.crash import environment, start
from amber.testing.samples import SPACE, Hand

PROCESSES, COMMITS = 8, 25


def commits(path: str, name: str) -> None:
    """Commit some batches of three facts and a sum; run in a process of its own."""
    with work.opened(path) as store:
        for number in range(COMMITS):
            key = f"{name}-{number}"
            facts = [
                b.Put("facts", f"{key}-{n}", {"name": key, "text": f"word {key}", "labels": [name]}) for n in range(3)
            ]
            store.commit(b.Batch(SPACE, key, number, (*facts, b.Add("facts", "sum", "n", 1, initial={}))))


def claims(path: str, _: str) -> None:
    """Claim one row after another until there is none, and say which."""
    with work.opened(path) as store:
        while True:
            leases = store.claim(SPACE, "work", 2, lease=10**9, now=10_000)
            if not leases:
                return
            sys.stdout.write("".join(lease.key + "\n" for lease in leases))


def run(path: Path, function: str, processes: int) -> list[str]:
    """Run a function in several processes at once; give what each said."""
    children = [start(f"{__name__}:{function}", str(path), f"p{number}") for number in range(processes)]
    said = [child.communicate(timeout=100)[0] for child in children]
    assert [child.returncode for child in children] == [0] * processes, said
    return said


def test_eight_processes_make_one_new_file_at_once(path: Path, open_store: Open) -> None:
    assert run(path, "commits", PROCESSES) == [""] * PROCESSES
    store = open_store(analyzer="1")
    entries = store.log(SPACE, LogQuery(limit=10_000, reverse=False))
    assert [entry.position for entry in entries] == list(range(1, PROCESSES * COMMITS + 1))
    for number in range(PROCESSES):
        mine = [entry.operation for entry in entries if entry.operation.startswith(f"p{number}-")]
        assert mine == [f"p{number}-{n}" for n in range(COMMITS)]
        assert store.count(SPACE, "facts", "name", low=f"p{number}-", high=f"p{number}.") == COMMITS * 3
    assert store.stats(SPACE).documents["facts"] == PROCESSES * COMMITS * 3 + 1
    assert Hand(store).body("sum") == {"n": PROCESSES * COMMITS}
    assert store.verify() == []


def test_processes_claim_each_row_once(path: Path, open_store: Open) -> None:
    store = open_store(analyzer="1")
    Hand(store).send(*(b.Put("jobs", f"k{n:03}", {"due": n}) for n in range(100)))
    said = run(path, "claims", 3)
    assert sorted("".join(said).split()) == [f"k{n:03}" for n in range(100)]


FORKS = """
import os, sys, threading
from amber.errors import Closed
from amber.model import batch as b
from amber.testing.samples import Hand
from tests.crash import work

store = work.opened(sys.argv[1])
hand = Hand(store)
hand.put("a", name="one")
assert hand.body("a") == {"name": "one"}
for way in ("exit", "close", "collect"):
    child = os.fork()
    if child == 0:
        refused = 0
        for call in (lambda: hand.body("a"), lambda: hand.put("b", name="two"), lambda: store.scan("main", "facts", "name"),
                     lambda: store.log("main", __import__("amber.store.contract").store.contract.LogQuery()),
                     lambda: store.verify(), lambda: store.scrub(), lambda: store.position("main")):
            try:
                call()
            except Closed:
                refused += 1
        if way == "close":
            store.close()
        if way == "collect":
            del hand, call
            store = None
            import gc; gc.collect()
        own = work.opened(sys.argv[1])
        Hand(own).put("from-" + way, name="child")
        own.close()
        sys.exit(0 if refused == 7 else 9)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, way
    hand.put("after-" + way, name="parent")
    assert hand.body("from-" + way) == {"name": "child"}
assert store.verify() == []
store.close()
with work.opened(sys.argv[1]) as store:
    assert store.position("main") == 7
    assert store.verify() == []
"""


def test_a_fork_is_noticed_and_the_parent_goes_on(path: Path) -> None:
    child = subprocess.run(
        [sys.executable, "-c", FORKS, str(path)],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (child.returncode, child.stderr) == (0, "")


FORK_IN_A_WRITE = """
import os, sys, threading
from amber.errors import Closed
from amber.store import faults
from amber.testing.samples import Hand
from tests.crash import work

hand = Hand(work.opened(sys.argv[1]))
inside, forked = threading.Event(), threading.Event()

def hook(point):
    if point == "commit:document":
        inside.set()
        forked.wait(20)

writer = threading.Thread(target=lambda: hand.put("a", name="one"))
faults.install(hook)
writer.start()
inside.wait(20)
child = os.fork()
if child == 0:
    faults.install(None)
    try:
        hand.put("b", name="two")
    except Closed:
        os._exit(0)
    os._exit(1)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
forked.set()
writer.join()
faults.install(None)
assert status == 0, status
assert hand.keys("name") == ["a"]
hand.store.close()
"""


def test_a_fork_while_a_thread_writes_does_not_hang_the_child(path: Path) -> None:
    child = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORK_IN_A_WRITE, str(path)],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (child.returncode, child.stderr) == (0, "")


@pytest.mark.parametrize("durability", ["off", "normal", "full"])
def test_a_crash_of_the_process_loses_nothing(path: Path, open_store: Open, durability: str) -> None:
    code = """
import os, sys
from amber.backends.sqlite import SQLiteStore
from amber.testing.samples import COLLECTIONS, Hand, words
hand = Hand(SQLiteStore(sys.argv[1], COLLECTIONS, analyze=words, durability=sys.argv[2]))
for number in range(20):
    hand.put(f"k{number:02}", name="n")
os.kill(os.getpid(), 9)
"""
    subprocess.run([sys.executable, "-c", code, str(path), durability], env=environment(), timeout=60, check=False)
    store = open_store(durability=durability)
    assert Hand(store).keys("name") == [f"k{number:02}" for number in range(20)]
    assert store.verify() == []


FORK_AND_OUTLIVE = """
import os, sys
from amber.testing.samples import Hand
from tests.crash import work

path = sys.argv[1]
store = work.opened(path)
hand = Hand(store)
hand.put("a", name="one")
hand.body("a")
ready, go = os.pipe(), os.pipe()
child = os.fork()
if child == 0:
    mine = Hand(work.opened(path))
    mine.put("b", name="two")
    os.write(ready[1], b"x")
    os.read(go[0], 1)
    mine.put("c", name="three")
    os._exit(0)
os.read(ready[0], 1)
store.close()
os.write(go[1], b"x")
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
with work.opened(path) as store:
    assert Hand(store).keys("name") == ["a", "c", "b"]
    assert store.verify() == []
"""


def test_a_child_that_outlives_its_parents_memory_loses_nothing(path: Path) -> None:
    child = subprocess.run(
        [sys.executable, "-c", FORK_AND_OUTLIVE, str(path)],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (child.returncode, child.stderr) == (0, "")
