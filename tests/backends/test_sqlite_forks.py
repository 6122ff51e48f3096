"""Forks in the middle of calls: the child never inherits a connection that is in use, and nothing is lost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from amber.testing.crash import environment

#: What every script begins with: a child's end, and threads that stand still inside a call.
BEGIN = """
import os, sys, threading, time
from amber.backends.sqlite import forks
from amber.errors import Closed
from amber.store import faults
from amber.store.contract import LogQuery
from amber.testing.samples import Hand
from tests.crash import work

path = sys.argv[1]
store = work.opened(path)
hand = Hand(store)
hand.put("first", name="one")
assert hand.body("first") == {"name": "one"}

def ended(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

def in_child(work_there):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work_there()
            code = 0
        except BaseException:
            import traceback
            traceback.print_exc()
        os._exit(code)
    return child

def own(name, count=1):
    try:
        hand.body("first")
    except Closed:
        pass
    else:
        raise AssertionError("the inherited store is not refused")
    mine = Hand(work.opened(path))
    for number in range(count):
        assert mine.put(f"{name}-{number}", name=name)
    return mine
"""

WRITING = """
inside, go = threading.Event(), threading.Event()
def hook(point):
    if point == "commit:document" and threading.current_thread() is writer:
        inside.set()
        go.wait(20)
writer = threading.Thread(target=lambda: hand.put("slow", name="one"))
faults.install(hook)
writer.start()
inside.wait(20)
threading.Timer(0.3, go.set).start()
begun = time.monotonic()
child = in_child(lambda: own("child", 5).store.close())
# the fork waited for the write
assert 0.1 < time.monotonic() - begun < 4, time.monotonic() - begun
writer.join()
faults.install(None)
assert ended(child) == 0
hand.put("after", name="one")
assert sorted(hand.keys("name")) == ["after", *(f"child-{n}" for n in range(5)), "first", "slow"]
assert store.verify() == []
store.close()
"""

BUSY = """
stop = threading.Event()
def write(number):
    n = 0
    while not stop.is_set():
        hand.put(f"w{number}-{n}", name="w", text="some words")
        n += 1
    counts[number] = n
def read():
    while not stop.is_set():
        hand.keys("name", limit=50)
        store.log("main", LogQuery(limit=5))
def pass_by():
    # threads that begin, read and end: their connections are opened and closed all the time
    while not stop.is_set():
        thread = threading.Thread(target=lambda: hand.body("first"))
        thread.start()
        thread.join()
counts = {}
threads = [threading.Thread(target=write, args=(n,)) for n in range(2)]
threads += [threading.Thread(target=read) for _ in range(2)] + [threading.Thread(target=pass_by)]
for thread in threads:
    thread.start()
children = []
for round in range(15):
    children.append(in_child(lambda: own(f"child{round}", 3).store.close()))
    time.sleep(0.01)
codes = [ended(child) for child in children]
stop.set()
for thread in threads:
    thread.join()
assert codes == [0] * 15, codes
documents = store.stats("main").documents["facts"]
assert documents == 1 + 45 + sum(counts.values()), (documents, counts)
assert store.verify() == []
store.close()
with work.opened(path) as again:
    assert again.stats("main").documents["facts"] == documents
    assert again.verify() == []
"""

OUTLIVING = """
stop = threading.Event()
def read():
    while not stop.is_set():
        hand.keys("name")
reader = threading.Thread(target=read)
reader.start()
time.sleep(0.05)
ready, go = os.pipe(), os.pipe()
def there():
    mine = own("early", 3)
    os.write(ready[1], b"x")
    os.read(go[0], 1)
    mine.put("late", name="late")
    mine.store.close()
child = in_child(there)
os.read(ready[0], 1)
stop.set()
reader.join()
# the last one of the parent closes: the log beside the file must not go while the child writes to it
store.close()
os.write(go[1], b"x")
assert ended(child) == 0
with work.opened(path) as again:
    assert sorted(Hand(again).keys("name")) == ["early-0", "early-1", "early-2", "first", "late"]
    assert again.verify() == []
"""

TOO_LONG = """
forks.PATIENCE = 0.2
inside, go = threading.Event(), threading.Event()
def hook(point):
    if point == "commit:document":
        inside.set()
        go.wait(20)
writer = threading.Thread(target=lambda: hand.put("slow", name="one"))
faults.install(hook)
writer.start()
inside.wait(20)
def there():
    faults.install(None)
    try:
        work.opened(path)
    except Closed as error:
        assert "under way when this process was forked" in error.message
    else:
        raise AssertionError("opened a file whose connection was in use at the fork")
    # another file is no matter
    with work.opened(path + ".other") as other:
        Hand(other).put("a", name="b")
child = in_child(there)
assert ended(child) == 0
go.set()
writer.join()
faults.install(None)
assert sorted(hand.keys("name")) == ["first", "slow"]
# and a later fork, with nothing under way, is as any other
child = in_child(lambda: own("later").store.close())
assert ended(child) == 0
assert store.verify() == []
store.close()
"""

IN_THE_CALL = """
# the thread that forks is itself inside a transaction
codes = []
def hook(point):
    if point == "commit:document" and not codes:
        def there():
            faults.install(None)
            try:
                work.opened(path)
            except Closed:
                return
            raise AssertionError("opened beside a transaction that this process inherited")
        codes.append(ended(in_child(there)))
faults.install(hook)
hand.put("second", name="one")
faults.install(None)
assert codes == [0]
assert sorted(hand.keys("name")) == ["first", "second"]
assert store.verify() == []
store.close()
"""

GRANDCHILD = """
def grand():
    own("grandchild").store.close()
def there():
    # neither opened nor closed anything yet
    assert ended(in_child(grand)) == 0
    mine = own("child")
    assert ended(in_child(lambda: Hand(work.opened(path)).put("third", name="x"))) == 0
    mine.put("fourth", name="x")
    mine.store.close()
assert ended(in_child(there)) == 0
assert sorted(hand.keys("name")) == ["child-0", "first", "fourth", "grandchild-0", "third"]
assert store.verify() == []
store.close()
"""

TWO_FORK = """
codes = []
def forking(number):
    for n in range(5):
        codes.append(ended(in_child(lambda: own(f"c{number}-{n}").store.close())))
threads = [threading.Thread(target=forking, args=(number,)) for number in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert codes == [0] * 15, codes
assert store.stats("main").documents["facts"] == 16
assert store.verify() == []
store.close()
"""


def run(script: str, path: Path) -> None:
    """Run a script in a process of its own; it must end well and say nothing."""
    child = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", BEGIN + script, str(path)],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert (child.returncode, child.stdout, child.stderr) == (0, "", "")


def test_a_fork_waits_for_a_write_of_another_thread(path: Path) -> None:
    run(WRITING, path)


def test_forks_while_many_threads_read_and_write(path: Path) -> None:
    run(BUSY, path)


def test_a_child_outlives_the_memory_that_a_thread_was_reading(path: Path) -> None:
    run(OUTLIVING, path)


def test_a_fork_that_could_not_wait_is_told_in_the_child(path: Path) -> None:
    run(TOO_LONG, path)


def test_a_fork_inside_a_transaction_is_told_in_the_child(path: Path) -> None:
    run(IN_THE_CALL, path)


def test_a_child_of_a_child(path: Path) -> None:
    run(GRANDCHILD, path)


def test_two_threads_fork_at_once(path: Path) -> None:
    run(TWO_FORK, path)
