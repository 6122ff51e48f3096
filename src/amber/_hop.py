"""The one place where the async face meets threads.

A memory that is awaited owns a few threads, never the event loop's default executor. A call is one hop to one of them
and one back; the statements of an operation are run there one after the other. Calls may come from several event loops
in several threads. Only asyncio (and what runs on it, such as uvloop) is served.

**Cancellation.** A call that is cancelled before a thread took it does nothing. One that a thread has taken is finished
as a whole, and CancelledError goes on only then: whoever sees it finds all of the operation or nothing, and nothing
that still runs. If the operation failed, its error is the cause of the CancelledError. Being cancelled again while
waiting changes nothing. Hence a timeout is late by what was left of the operation, and its result is not given: name
the attempt (``operation=``) to ask for it again.

**Context.** An operation sees the context variables of the task that called it, as they were at the call. What it sets
itself does not come back.

**The end.** ``close`` refuses further calls, waits for those that were handed over, runs the last work and ends the
threads. Threads hold nothing of a memory: one that was never closed is collected like any object, and its threads end;
at the end of the interpreter they finish what they are at, and end.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from concurrent.futures import Future
from contextvars import copy_context
from functools import partial
from inspect import iscoroutinefunction
from itertools import islice
from operator import length_hint
from threading import Lock, Thread
from types import TracebackType
from typing import Any, ParamSpec, TypeVar
from weakref import finalize

from amber._crew import Call, Crew
from amber.errors import BadInput, Closed, Unsupported

P = ParamSpec("P")
T = TypeVar("T")
Kind = type[BaseException] | None
Exit = Callable[[Kind, BaseException | None, TracebackType | None], bool | None]

#: Threads of one memory at most; one is made when all others of its kind are busy, and lives until the end. Reads have
#: their own, so that they never wait for writes that wait for another process's lock. What runs in Python takes turns
#: of 5 ms with the event loop: four threads that compute keep it for 20 to 60 ms at most, sixteen for 150 (measured).
READERS = 4
#: Writes wait for each other more than they compute, and as many as this can be waiting to share a transaction. More
#: calls wait in the order in which they came, and take no thread. Each thread that reads has a connection of its own.
WRITERS = 16

_LIST: type = type(iter([]))


class Hop:
    """Run sync work for async callers."""

    def __init__(self, owner: Hop | None = None) -> None:
        """:param owner: whose threads to use; they end with it."""
        self._owner = owner
        self._alone = Lock() if owner is not None else None
        self._writers: Crew = owner._writers if owner is not None else Crew(WRITERS)
        self._readers: Crew = owner._readers if owner is not None else Crew(READERS)
        if owner is None:
            for crew in (self._writers, self._readers):
                finalize(self, crew.stop).atexit = False

    def strand(self) -> Hop:
        """Give a hop to the same threads that runs one call at a time: for what several tasks may use at once, and
        several threads may not."""
        return Hop(self)

    async def read(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run an operation as ``run`` does, in a thread for reads."""
        return await self._run(self._readers, partial(work, *args, **kwargs))

    async def run(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run one operation in a thread of this memory (see the module for what cancelling does).

        :raises Closed: after ``close``, and in a process that was forked since. :raises Unsupported: outside asyncio.
        """
        return await self._run(self._writers, partial(work, *args, **kwargs))

    async def _run(self, crew: Crew, work: Callable[[], T]) -> T:
        call = self._handed_over(crew, work)
        try:
            await call.waiter
        except asyncio.CancelledError as cancelled:
            if call.take():
                raise
            raise cancelled from await call.settled()
        except BaseException:
            # the loop ended without waiting for its tasks
            call.take()
            raise
        return call.outcome()  # type: ignore[no-any-return]

    async def run_surely(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run what must be done, also when the task is cancelled before it began; CancelledError goes on afterwards."""
        call = self._handed_over(self._writers, partial(work, *args, **kwargs))
        try:
            await call.waiter
        except asyncio.CancelledError as cancelled:
            raise cancelled from await call.settled()
        return call.outcome()  # type: ignore[no-any-return]

    def _handed_over(self, crew: Crew, work: Callable[[], Any]) -> Call:
        # before the lock: a forked child may inherit it locked
        if os.getpid() != crew.pid:
            raise Closed(f"This memory was opened by process {crew.pid}; open it again in the forked child.")
        if self._alone is not None:
            work = partial(_run_alone, self._alone, work)
        call = Call(running_loop(), copy_context(), work)
        crew.hand_over(call)
        return call

    async def make(self, work: Callable[[], T], undo: Callable[[T], object]) -> T:
        """Run what gives something that must be freed; when it can not be handed to the caller, ``undo`` frees it."""
        made: list[T] = []

        def kept() -> T:
            made.append(work())
            return made[0]

        try:
            return await self.run(kept)
        except asyncio.CancelledError:
            for each in made:
                await self.leave(partial(_undo, undo, each), None, None, None)
            raise

    async def leave(
        self, exit: Exit, kind: Kind, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        """Leave a block: always, and as a cancelled one when this is cancelled before it began.

        Was the memory closed meanwhile, the end of that is waited for: what is called then finds a closed store and
        neither waits nor touches a file, so it runs here.
        """
        begun: list[bool] = []

        def work(kind: Kind, error: BaseException | None, trace: TracebackType | None) -> bool | None:
            begun.append(True)
            return exit(kind, error, trace)

        try:
            try:
                return await self.run(work, kind, error, trace)
            except Closed:
                if begun:
                    raise
                await self._wait_for_end()
                return work(kind, error, trace)
        except asyncio.CancelledError as cancelled:
            if not begun:
                left = type(cancelled), cancelled, cancelled.__traceback__
                try:
                    await self.run_surely(work, *left)
                except Closed:
                    if not begun:
                        await self._wait_for_end()
                        work(*left)
            raise

    async def iterate(
        self, make: Callable[P, Iterator[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> AsyncGenerator[T, None]:
        """Go through an iterator: a hop for each item, and for each page of a generator that hands lists on.

        It is as lazy as the iterator: none of its code runs before it is asked for more.
        """
        items: list[Iterator[T]] = []
        ended = False

        def step() -> list[T]:
            if not items:
                items.append(iter(make(*args, **kwargs)))
            return _at_hand(items[0])

        try:
            while page := await self.read(step):
                for item in page:
                    yield item
            ended = True
        finally:
            close = getattr(items[0], "close", None) if items and not ended else None
            if close is not None:
                await self.leave(lambda *_: close(), None, None, None)

    async def close(self, last: Callable[[], object]) -> None:
        """Refuse further calls, wait for those that were handed over, run the last work and end the threads.

        May be called again, and from other tasks and loops: each waits for the end. A task that is cancelled waits for
        it too. Not to be waited for by what runs in a thread of this memory, such as a callback.
        """
        crews = (self._writers, self._readers)
        if os.getpid() != self._writers.pid:
            # nothing here is of this process: the threads did not come along, and the files belong to the parent
            return
        running_loop()
        with self._writers.lock:
            first = self._writers.ended is None
            ended = self._writers.ended = self._writers.ended or Future()
        closer = Thread(target=_close, args=(crews, last, ended), name="amber-close")
        if first:
            for crew in crews:
                with crew.lock:
                    crew.stop()
            try:
                closer.start()
            except RuntimeError:
                # the system gives no thread: better the loop waits than that something stays open
                _close(crews, last, ended)
        try:
            await self._wait_for_end()
        finally:
            if closer.is_alive() and ended.done():
                closer.join()
        ended.result()

    async def _wait_for_end(self) -> None:
        """Wait for the end of ``close``, however often this task is cancelled."""
        if self._writers.ended is None or os.getpid() != self._writers.pid:
            return
        waiting, cancelled = asyncio.wrap_future(self._writers.ended), None
        while not waiting.done():
            try:
                await asyncio.wait([waiting])
            except asyncio.CancelledError as error:
                cancelled = error
        failure = waiting.exception()
        if cancelled is not None:
            raise cancelled from failure


def _undo(undo: Callable[[T], object], made: T, *_: object) -> None:
    undo(made)


def _run_alone(lock: Lock, work: Callable[[], T]) -> T:
    with lock:
        return work()


def _close(crews: Iterable[Crew], last: Callable[[], object], ended: Future[None]) -> None:
    for crew in crews:
        for thread in crew.threads:
            thread.join()
    try:
        last()
    except BaseException as error:
        ended.set_exception(error)
    else:
        ended.set_result(None)


def _at_hand(items: Iterator[T]) -> list[T]:
    """Give the next item, and with it the rest of a list that a generator is handing on, for which none of its code
    runs. Nothing at the end."""
    page = list(islice(items, 1))
    rest = getattr(items, "gi_yieldfrom", None)
    if page and type(rest) is _LIST:
        page += islice(items, length_hint(rest))
    return page


def running_loop() -> asyncio.AbstractEventLoop:
    """Give the loop of the task that calls.

    :raises Unsupported: when there is none.
    """
    try:
        return asyncio.get_running_loop()
    except RuntimeError as error:
        raise Unsupported(
            "AsyncMemory needs a running asyncio event loop; under trio, run Memory in trio.to_thread.run_sync."
        ) from error


def check_callbacks(**given: object) -> None:
    """Check that no callback would have to be awaited: they are called in the thread that does the work.

    :raises BadInput: naming the one that is a coroutine function.
    """
    for name, callback in given.items():
        if iscoroutinefunction(callback):
            raise BadInput(f"{name} is called in a thread and can not be a coroutine function; give a plain one.")


async def once(work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run one operation in a thread that ends with it."""
    hop = Hop()
    try:
        return await hop.run(work, *args, **kwargs)
    finally:
        await hop.close(lambda: None)
