"""The hop: what cancelling, closing, forgetting and ending do to calls that wait, run, or are done."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import threading
import time
import traceback
import weakref
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import aclosing
from contextvars import ContextVar, copy_context
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import amber
from amber import _hop
from amber._crew import Call
from amber._hop import READERS, WRITERS, Hop
from amber.errors import Closed, Unavailable, Unsupported

Test = Callable[[Hop], Coroutine[Any, Any, None]]


def on_a_hop(test: Test) -> Callable[[], None]:
    """Run a test in a loop, with a hop that is closed at its end and leaves no thread."""

    def run() -> None:
        before = set(threading.enumerate())

        async def main() -> None:
            hop = Hop()
            try:
                await asyncio.wait_for(test(hop), 30)
            finally:
                await hop.close(lambda: None)
            assert set(threading.enumerate()) <= before

        asyncio.run(main())

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


class Gate:
    """Work that says when it began and waits until it may go on."""

    def __init__(self, result: Any = None, error: BaseException | None = None) -> None:
        self.begun, self.may_end, self.ended = threading.Event(), threading.Event(), False
        self._result, self._error = result, error

    def __call__(self) -> Any:
        self.begun.set()
        assert self.may_end.wait(20)
        self.ended = True
        if self._error is not None:
            raise self._error
        return self._result

    async def has_begun(self) -> None:
        while not self.begun.is_set():  # noqa: ASYNC110
            await asyncio.sleep(0.001)


async def occupied(hop: Hop) -> tuple[list[Gate], list[asyncio.Task[Any]]]:
    """Keep all threads for writes busy."""
    gates = [Gate(number) for number in range(WRITERS)]
    tasks = [asyncio.create_task(hop.run(gate)) for gate in gates]
    for gate in gates:
        await gate.has_begun()
    return gates, tasks


async def ticks(number: int = 20) -> None:
    for _ in range(number):
        await asyncio.sleep(0.001)


@on_a_hop
async def test_what_was_given_and_what_comes_of_it(hop: Hop) -> None:
    def work(*args: int, **kwargs: int) -> Any:
        return args, kwargs, threading.get_ident()

    args, kwargs, thread = await hop.run(work, 1, 2, self=3, work=4)
    assert (args, kwargs) == ((1, 2), {"self": 3, "work": 4})
    assert thread != threading.get_ident()


@on_a_hop
async def test_never_the_executor_of_the_loop(hop: Hop) -> None:
    loop = asyncio.get_running_loop()
    loop.run_in_executor = None  # type: ignore[assignment]
    await asyncio.gather(*(hop.run(int) for _ in range(50)))
    assert {thread.name.partition("_")[0] for thread in threading.enumerate()} <= {"MainThread", "amber"}


@on_a_hop
async def test_an_error_keeps_its_traceback_and_is_not_kept(hop: Hop) -> None:
    class Failure(Exception):
        pass

    def fail() -> Any:
        raise Failure

    gc.disable()
    try:
        try:
            await hop.run(fail)
        except Failure as failure:
            frames = [frame.name for frame in traceback.extract_tb(failure.__traceback__)]
            error = weakref.ref(failure)
        assert "fail" in frames
        await ticks(5)
        assert error() is None, "a cycle holds the error"
    finally:
        gc.enable()


@pytest.mark.parametrize("error", [StopIteration("x"), StopAsyncIteration("x"), GeneratorExit("x"), LookupError("x")])
def test_any_error_comes_back(error: BaseException) -> None:
    def fail() -> Any:
        raise error

    async def test(hop: Hop) -> None:
        # a coroutine can not raise StopIteration: Python says RuntimeError instead, as everywhere
        with pytest.raises((type(error), RuntimeError)) as caught:
            await hop.run(fail)
        assert error in (caught.value, caught.value.__cause__)

    on_a_hop(test)()


@on_a_hop
async def test_context_variables_go_along_and_changes_stay_there(hop: Hop) -> None:
    variable: ContextVar[str] = ContextVar("variable")

    def work(new: str) -> str:
        seen = variable.get()
        variable.set(new)
        return seen

    async def task(number: int) -> None:
        variable.set(f"task {number}")
        for _ in range(10):
            assert await hop.run(work, "other") == f"task {number}"
            await asyncio.sleep(0)
        assert variable.get() == f"task {number}"

    await asyncio.gather(*(task(number) for number in range(20)))


@on_a_hop
async def test_cancelled_before_it_began_it_does_nothing(hop: Hop) -> None:
    gates, tasks = await occupied(hop)
    done: list[int] = []
    waiting = [asyncio.create_task(hop.run(done.append, number)) for number in range(3)]
    await ticks()
    waiting[1].cancel()
    # at once: it does not wait for a thread
    with pytest.raises(asyncio.CancelledError) as caught:
        await asyncio.wait_for(waiting[1], 5)
    assert caught.value.__cause__ is None
    for gate in gates:
        gate.may_end.set()
    assert await asyncio.gather(*tasks) == [*range(WRITERS)]
    await waiting[0]
    await waiting[2]
    assert sorted(done) == [0, 2]


@on_a_hop
async def test_cancelled_before_the_first_step_it_does_nothing(hop: Hop) -> None:
    done: list[int] = []
    task = asyncio.create_task(hop.run(done.append, 1))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await hop.run(int)
    assert done == []


@pytest.mark.parametrize("times", [1, 2, 5])
@pytest.mark.parametrize("error", [None, KeyError("failed")])
def test_cancelled_while_it_runs_it_is_finished_first(times: int, error: BaseException | None) -> None:
    async def test(hop: Hop) -> None:
        gate = Gate(error=error)
        task = asyncio.create_task(hop.run(gate))
        await gate.has_begun()
        for _ in range(times):
            task.cancel()
            await ticks()
            assert not task.done()
        gate.may_end.set()
        with pytest.raises(asyncio.CancelledError) as caught:
            await task
        assert gate.ended
        assert caught.value.__cause__ is error
        assert task.cancelled()

    on_a_hop(test)()


@on_a_hop
async def test_cancelled_when_it_is_done_already(hop: Hop) -> None:
    gate = Gate()
    task = asyncio.create_task(hop.run(gate))
    await gate.has_begun()
    gate.may_end.set()
    # the answer is on its way to a loop that is busy meanwhile
    time.sleep(0.05)  # noqa: ASYNC251
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert gate.ended


@on_a_hop
async def test_a_timeout_is_late_by_the_rest_of_the_operation(hop: Hop) -> None:
    gate = Gate(error=KeyError("failed"))
    threading.Timer(0.2, gate.may_end.set).start()
    with pytest.raises(TimeoutError) as caught:
        async with asyncio.timeout(0.01):
            await hop.run(gate)
    assert gate.ended
    assert isinstance(caught.value.__cause__, asyncio.CancelledError)
    gate = Gate()
    threading.Timer(0.1, gate.may_end.set).start()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(hop.run(gate), 0.01)
    assert gate.ended
    # a timeout inside a task that is cancelled too: cancelled wins
    gate = Gate()

    async def both() -> None:
        async with asyncio.timeout(0.01):
            await hop.run(gate)

    task = asyncio.create_task(both())
    await gate.has_begun()
    await asyncio.sleep(0.05)
    task.cancel()
    gate.may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await task


@on_a_hop
async def test_a_task_group_ends_after_what_it_began(hop: Hop) -> None:
    gates = [Gate() for _ in range(4)]

    async def fail() -> None:
        for gate in gates:
            await gate.has_begun()
        for gate in gates:
            threading.Timer(0.1, gate.may_end.set).start()
        raise KeyError("the group ends")

    async def together() -> None:
        async with asyncio.TaskGroup() as group:
            for gate in gates:
                group.create_task(hop.run(gate))
            group.create_task(fail())

    with pytest.raises(ExceptionGroup) as caught:
        await together()
    assert [str(error) for error in caught.value.exceptions] == ["'the group ends'"]
    assert all(gate.ended for gate in gates)


def test_the_end_of_the_loop_waits_for_what_runs() -> None:
    gate, hop = Gate(), Hop()

    async def main() -> None:
        asyncio.create_task(hop.run(gate))  # noqa: RUF006
        await gate.has_begun()
        threading.Timer(0.1, gate.may_end.set).start()

    asyncio.run(main())
    assert gate.ended
    asyncio.run(hop.close(lambda: None))


@pytest.mark.filterwarnings("ignore:coroutine method:RuntimeWarning")
def test_a_loop_that_is_gone_harms_nobody() -> None:
    gate, hop, done = Gate(), Hop(), list[int]()
    loop = asyncio.new_event_loop()
    running = loop.create_task(hop.run(gate))
    loop.run_until_complete(gate.has_begun())
    loop.close()
    # a task that is destroyed while it waits is logged by asyncio, which is not what this is about
    running._log_destroy_pending = False  # type: ignore[attr-defined]
    del running
    gate.may_end.set()
    asyncio.run(hop.run(done.append, 1))
    asyncio.run(hop.close(lambda: None))
    assert (gate.ended, done) == (True, [1])


@on_a_hop
async def test_no_more_threads_than_calls_at_once_and_no_more_than_the_limit(hop: Hop) -> None:
    for _ in range(50):
        await hop.run(int)
        await hop.read(int)
    assert (len(hop._writers.threads), len(hop._readers.threads)) == (1, 1)
    await asyncio.gather(
        *(hop.run(time.sleep, 0.001) for _ in range(200)), *(hop.read(time.sleep, 0) for _ in range(200))
    )
    assert len(hop._writers.threads) == WRITERS
    assert 1 <= len(hop._readers.threads) <= READERS


@on_a_hop
async def test_a_thread_is_idle_before_its_answer_is_seen(hop: Hop) -> None:
    class Slow(list[Any]):
        def append(self, inbox: Any) -> None:
            time.sleep(0.01)
            super().append(inbox)

    hop._writers._idle = Slow()
    for _ in range(5):
        await hop.run(int)
    assert len(hop._writers.threads) == 1


@on_a_hop
async def test_reads_do_not_wait_for_writes(hop: Hop) -> None:
    gates, tasks = await occupied(hop)
    assert await asyncio.wait_for(hop.read(int), 5) == 0
    for gate in gates:
        gate.may_end.set()
    await asyncio.gather(*tasks)


def test_close_waits_for_what_was_handed_over() -> None:
    async def main() -> list[Any]:
        hop = Hop()
        gates, tasks = await occupied(hop)
        order: list[Any] = []
        tasks += [asyncio.create_task(hop.run(order.append, "waiting"))]
        await ticks()
        closing = [asyncio.create_task(hop.close(partial(order.append, "last"))) for _ in range(3)]
        await ticks()
        for refused in (hop.run, hop.read, hop.run_surely):
            with pytest.raises(Closed):
                await refused(int)
        closing[1].cancel()
        await ticks()
        assert not any(task.done() for task in closing)
        for gate in gates:
            gate.may_end.set()
        outcomes = await asyncio.gather(*closing, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [type(None), asyncio.CancelledError, type(None)]
        assert all(task.done() for task in tasks)
        await hop.close(partial(order.append, "never"))
        assert [thread.name for thread in threading.enumerate() if thread.name.startswith("amber")] == []
        return order

    assert asyncio.run(main()) == ["waiting", "last"]


def test_a_close_that_fails_says_so() -> None:
    async def main() -> None:
        hop = Hop()

        def fail() -> None:
            raise KeyError("the store")

        for _ in range(2):
            with pytest.raises(KeyError, match="the store"):
                await hop.close(fail)

    asyncio.run(main())


def test_calls_and_close_from_many_loops_at_once() -> None:
    """Whoever is not refused gets its answer; nobody waits for ever."""
    for _ in range(20):
        hop, outcomes, barrier = Hop(), list[str](), threading.Barrier(9)

        async def use(hop: Hop = hop, outcomes: list[str] = outcomes, barrier: threading.Barrier = barrier) -> None:
            barrier.wait()
            for _ in range(200):
                try:
                    await asyncio.wait_for(hop.run(int), 10)
                except Closed:
                    outcomes.append("closed")
                    return

        async def end(hop: Hop = hop, barrier: threading.Barrier = barrier) -> None:
            barrier.wait()
            await asyncio.sleep(0.002)
            await asyncio.wait_for(hop.close(lambda: None), 10)

        threads = [threading.Thread(target=lambda use=use: asyncio.run(use())) for _ in range(8)]
        threads.append(threading.Thread(target=lambda end=end: asyncio.run(end())))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()
        with pytest.raises(Closed):
            asyncio.run(hop.run(int))


def test_outside_asyncio_it_says_so() -> None:
    hop = Hop()
    call = hop.run(int)
    with pytest.raises(Unsupported, match="asyncio"):
        call.send(None)
    close = hop.close(lambda: None)
    with pytest.raises(Unsupported, match="asyncio"):
        close.send(None)


def test_a_system_without_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    async def main() -> None:
        hop, closed = Hop(), list[int]()
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", refuse)
            with pytest.raises(Unavailable, match="can't start new thread"):
                await hop.run(int)
        assert await hop.run(int) == 0
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", refuse)
            # one thread there is: it does the work of all
            assert await asyncio.gather(*(hop.run(int) for _ in range(9))) == [0] * 9
            await hop.close(partial(closed.append, 1))
        assert closed == [1]

    asyncio.run(main())


def test_a_hop_that_is_forgotten_ends_its_threads() -> None:
    async def main() -> None:
        hop = Hop()
        await asyncio.gather(*(hop.run(int) for _ in range(9)), hop.read(int))
        threads = [*hop._writers.threads, *hop._readers.threads]
        strand = hop.strand()
        del hop
        gc.collect()
        assert await strand.run(int) == 0
        del strand
        gc.collect()
        for thread in threads:
            thread.join(10)
            assert not thread.is_alive()

    asyncio.run(main())


def numbers(log: list[str]) -> Iterator[int]:
    try:
        yield from [1, 2, 3]
        log.append("second page")
        yield from [4]
        yield 5
    finally:
        log.append(threading.current_thread().name)


@on_a_hop
async def test_an_iterator_is_as_lazy_as_it_was(hop: Hop) -> None:
    log: list[str] = []
    found = []
    async for number in hop.iterate(numbers, log):
        found.append(number)
        assert ("second page" in log) == (number > 3)
    assert found == [1, 2, 3, 4, 5]
    assert log == ["second page", "amber"]


@on_a_hop
async def test_an_iterator_that_is_left_half_way_is_ended(hop: Hop) -> None:
    log: list[str] = []
    async with aclosing(hop.iterate(numbers, log)) as items:
        async for _ in items:
            break
    assert log == ["amber"]
    # not closed: the loop's hook ends it
    async for _ in hop.iterate(numbers, log):
        break
    gc.collect()
    for _ in range(100):
        await asyncio.sleep(0.001)
        if len(log) == 2:
            break
    assert log == ["amber", "amber"]


def test_an_iterator_that_is_left_at_the_end_of_the_loop_is_ended() -> None:
    log: list[str] = []
    kept: list[AsyncGenerator[int, None]] = []

    async def main() -> None:
        hop = Hop()
        for _ in range(2):
            kept.append(hop.iterate(numbers, log))
            assert await anext(kept[-1]) == 1
        await hop.close(lambda: None)
        with pytest.raises(Closed):
            # what was at hand is given, what must be read is refused
            assert [number async for number in kept[0]] == [2, 3]

    asyncio.run(main())
    assert len(log) == 2


@on_a_hop
async def test_an_iterator_is_cancelled_in_a_step(hop: Hop) -> None:
    gate, log = Gate(), list[str]()

    def work() -> Iterator[int]:
        try:
            gate()
            yield 1
        finally:
            log.append("ended")

    async def go() -> None:
        async for _ in hop.iterate(work):
            raise AssertionError

    task = asyncio.create_task(go())
    await gate.has_begun()
    task.cancel()
    await ticks()
    assert not task.done()
    gate.may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (gate.ended, log) == (True, ["ended"])


@on_a_hop
async def test_what_was_made_for_nobody_is_freed(hop: Hop) -> None:
    gate, freed = Gate("made"), list[str]()
    task = asyncio.create_task(hop.make(gate, freed.append))
    await gate.has_begun()
    task.cancel()
    gate.may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert freed == ["made"]
    assert await hop.make(lambda: "kept", freed.append) == "kept"
    assert freed == ["made"]


@on_a_hop
async def test_a_block_is_left_also_when_that_is_cancelled(hop: Hop) -> None:
    gates, tasks = await occupied(hop)
    left: list[Any] = []

    def exit(kind: Any, error: Any, trace: Any) -> None:
        left.append(kind)

    leaving = asyncio.create_task(hop.leave(exit, None, None, None))
    await ticks()
    leaving.cancel()
    await ticks()
    for gate in gates:
        gate.may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await leaving
    await asyncio.gather(*tasks)
    assert left == [asyncio.CancelledError]


def test_a_block_that_is_left_while_it_is_closed_waits_for_that() -> None:
    """What is called at its end then finds a closed store, and does not write on the event loop."""

    async def main() -> None:
        hop, gate, order = Hop(), Gate(), list[str]()
        running = asyncio.create_task(hop.run(gate))
        await gate.has_begun()
        closing = asyncio.create_task(hop.close(partial(order.append, "closed")))
        await ticks()
        leaving = asyncio.create_task(hop.leave(lambda *_: order.append("left"), None, None, None))
        await ticks()
        assert order == []
        gate.may_end.set()
        await asyncio.gather(running, closing, leaving)
        assert order == ["closed", "left"]

    asyncio.run(main())


@pytest.mark.parametrize("cancels", ["at once", "while it closes"])
def test_a_block_is_left_once_when_closing_and_cancelling_meet(cancels: str) -> None:
    async def main() -> None:
        hop, left = Hop(), list[Any]()
        gates, tasks = await occupied(hop)
        leaving = asyncio.create_task(hop.leave(lambda kind, *_: left.append(kind), None, None, None))
        if cancels == "at once":
            await ticks()
        closing = asyncio.create_task(hop.close(lambda: None))
        await ticks()
        leaving.cancel()
        await ticks()
        assert left == []
        for gate in gates:
            gate.may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        await asyncio.gather(closing, *tasks)
        assert left == [asyncio.CancelledError]

    asyncio.run(main())


def test_what_was_made_for_nobody_is_freed_although_it_is_closed() -> None:
    async def main() -> None:
        hop, gate, freed = Hop(), Gate("made"), list[str]()
        making = asyncio.create_task(hop.make(gate, freed.append))
        await gate.has_begun()
        closing = asyncio.create_task(hop.close(lambda: None))
        await ticks()
        making.cancel()
        gate.may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await making
        await closing
        assert freed == ["made"]

    asyncio.run(main())


@on_a_hop
async def test_what_is_handed_over_as_a_thread_becomes_idle_is_not_lost(hop: Hop) -> None:
    crew, late = hop._writers, list[int]()

    class Idle(list[Any]):
        def append(self, inbox: Any) -> None:
            if not late:
                late.append(0)
                # by a loop that found no idle thread a moment ago, and all threads there may be
                crew._calls.append(Call(loop, copy_context(), partial(late.append, 1)))
            super().append(inbox)

    loop = asyncio.get_running_loop()
    crew._idle = Idle()
    await hop.run(int)
    for _ in range(1_000):
        if late == [0, 1]:
            break
        await asyncio.sleep(0.001)
    assert late == [0, 1]


@on_a_hop
async def test_a_strand_runs_one_call_at_a_time(hop: Hop) -> None:
    strand, busy, most = hop.strand(), 0, 0

    def work() -> None:
        nonlocal busy, most
        busy += 1
        most = max(most, busy)
        time.sleep(0.001)
        busy -= 1

    await asyncio.gather(*(strand.run(work) for _ in range(30)), *(strand.read(work) for _ in range(30)))
    assert most == 1


def in_a_new_process(program: str, *args: str) -> tuple[int, str, str]:
    """Run a program with this library; give its exit code and what it printed."""
    environment = {**os.environ, "PYTHONPATH": str(Path(amber.__file__).parents[1])}
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, *args],
        capture_output=True, text=True, timeout=60, check=False, env=environment,
    )  # fmt: skip
    return ended.returncode, ended.stdout, ended.stderr


@pytest.mark.parametrize(
    "ending",
    [
        "asyncio.run(hop.run(int))",
        "asyncio.run(both())",
        "asyncio.run(both()); del hop",
        "loop = asyncio.new_event_loop(); task = loop.create_task(hop.run(time.sleep, 0.2)); loop.run_until_complete(asyncio.sleep(0.05)); task._log_destroy_pending = False; loop.close()",
    ],
)
def test_the_interpreter_ends_whatever_was_left_open(ending: str) -> None:
    program = f"""
import asyncio, time
from amber._hop import Hop
hop = Hop()
async def both():
    await asyncio.gather(*(hop.run(time.sleep, 0.01) for _ in range(20)), *(hop.read(int) for _ in range(20)))
{ending}
print("end")
"""
    assert in_a_new_process(program) == (0, "end\n", "")


def test_the_end_of_the_interpreter_waits_for_what_runs() -> None:
    program = """
import asyncio, time
from amber._hop import Hop
hop, loop = Hop(), asyncio.new_event_loop()

def work():
    print("begun", flush=True)
    time.sleep(0.3)
    print("done", flush=True)

task = loop.create_task(hop.run(work))
loop.run_until_complete(asyncio.sleep(0.1))
task._log_destroy_pending = False
loop.close()
"""
    assert in_a_new_process(program) == (0, "begun\ndone\n", "")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
def test_a_forked_child_is_told_to_open_its_own(tmp_path: Any) -> None:
    program = """
import asyncio, os, sys, threading, warnings
warnings.simplefilter("ignore", DeprecationWarning)
from amber import AsyncMemory
from amber.errors import Closed

async def opened():
    memory = await AsyncMemory.open(sys.argv[1])
    await asyncio.gather(*(memory.facts.put(number) for number in range(8)))
    return memory

memory = asyncio.run(opened())

async def child():
    for call in (memory.facts.count(), memory.facts.put(1), anext(memory.facts.iter()), memory.transaction().__aenter__()):
        try:
            await asyncio.wait_for(call, 10)
            return 2
        except Closed as error:
            if str(os.getppid()) not in str(error):
                return 3
    await memory.close()
    async with AsyncMemory.open(sys.argv[1]) as own:
        await own.facts.put("of the child")
        return 0 if await own.facts.count() == 9 else 4

pid = os.fork()
if pid == 0:
    os._exit(asyncio.run(child()))
_, status = os.waitpid(pid, 0)

async def parent():
    await memory.facts.put("of the parent")
    print(os.waitstatus_to_exitcode(status), await memory.facts.count())
    await memory.close()

asyncio.run(parent())
"""
    assert in_a_new_process(program, str(tmp_path / "a.db")) == (0, "0 10\n", "")


def test_the_limits_are_those_that_were_measured() -> None:
    """More readers hold up the event loop for 5 ms each: measure before raising it (benchmarks/async_hop.py)."""
    assert (_hop.READERS, _hop.WRITERS) == (4, 16)
