"""The threads of a memory that is awaited, and the calls that they run."""

from __future__ import annotations

import asyncio
import atexit
import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import Context
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any
from weakref import WeakSet

from amber.errors import Closed, Unavailable


class Call:
    """One call: taken once, by the thread that runs it or by the task that gives it up."""

    __slots__ = ("_claim", "_context", "_error", "_result", "_work", "ended", "loop", "waiter")

    def __init__(self, loop: asyncio.AbstractEventLoop, context: Context, work: Callable[[], Any]) -> None:
        self.loop, self._context, self._work = loop, context, work
        self.waiter = loop.create_future()
        self.ended = False
        self._result: Any = None
        self._error: BaseException | None = None
        self._claim = Lock()

    def take(self) -> bool:
        """Take the call; False when it was taken before."""
        return self._claim.acquire(blocking=False)

    def run(self) -> bool:
        """Run it in this thread; False when it was taken before."""
        if not self.take():
            return False
        try:
            self._result = self._context.run(self._work)
        except BaseException as error:
            self._error = error
        return True

    def report(self) -> None:
        """Tell its loop that it ran."""
        try:
            self.loop.call_soon_threadsafe(self._report)
        except RuntimeError:
            # the loop was closed before its tasks ended: nobody is left to be told
            return

    def _report(self) -> None:
        # what came of it stays here and not in the future, which takes no StopIteration
        self.ended = True
        if not self.waiter.done():
            self.waiter.set_result(None)

    async def settled(self) -> BaseException | None:
        """Wait for the end of a call that runs, however often this task is cancelled; give its error."""
        while not self.ended:
            self.waiter = self.loop.create_future()
            try:
                await self.waiter
            except asyncio.CancelledError:
                continue
        return self._failure()

    def outcome(self) -> Any:
        """Give what the call gave, or raise what it raised."""
        error = self._failure()
        if error is None:
            return self._result
        try:
            raise error
        finally:
            # its traceback holds this frame
            del error

    def _failure(self) -> BaseException | None:
        # given away: its traceback holds the frame of ``run``, which holds the call
        error, self._error = self._error, None
        return error


class Crew:
    """The threads of one hop, and what is handed over to them.

    The one that became idle last is woken first: its caches are warm. Only starting a thread and stopping take the
    lock, so that an event loop never waits for a thread that holds it: what else is shared are lists and deques, whose
    single steps are atomic, and whoever adds to one looks at the other one afterwards.
    """

    def __init__(self, limit: int) -> None:
        self.pid = os.getpid()
        self.lock = Lock()
        self.closed = False
        #: What came of closing, once that began.
        self.ended: Future[None] | None = None
        self.threads: list[Thread] = []
        self._limit = limit
        self._inboxes: list[SimpleQueue[None]] = []
        self._idle: list[SimpleQueue[None]] = []
        self._calls: deque[Call] = deque()
        _crews.add(self)

    def hand_over(self, call: Call) -> None:
        """Let an idle thread run a call, else a new one, else the one that is done first.

        :raises Closed: after ``stop``. :raises Unavailable: when the system gives no thread at all.
        """
        self._calls.append(call)
        try:
            self._idle.pop().put(None)
        except IndexError:
            if len(self.threads) < self._limit and not self.closed:
                self._hire(call)
        if self.closed and call.take():
            # the threads may have ended before they saw it
            raise Closed("This memory was closed; open it again.")

    def _hire(self, call: Call) -> None:
        with self.lock:
            if self.closed or len(self.threads) >= self._limit:
                return
            inbox: SimpleQueue[None] = SimpleQueue()
            # daemon: the end of the interpreter waits for what they do (see _end), not for what they may be asked
            thread = Thread(target=self._serve, args=(inbox,), name="amber", daemon=True)
            self._inboxes.append(inbox)
            try:
                thread.start()
            except RuntimeError as error:
                if not self.threads and call.take():
                    raise Unavailable(f"No thread can be started for this memory: {error}.") from error
                return
            self.threads.append(thread)

    def _serve(self, inbox: SimpleQueue[None]) -> None:
        calls, idle = self._calls, self._idle
        while True:
            try:
                call = calls.popleft()
            except IndexError:
                call = None
            ran = call is not None and call.run()
            # before the answer, so that the next call of the same task finds this thread and starts no other
            idle.append(inbox)
            if call is not None and ran:
                call.report()
            # nothing of a call may live until the next one comes
            del call
            if calls:
                # handed over before it was seen that this thread is idle
                try:
                    idle.remove(inbox)
                    continue
                except ValueError:
                    pass
            elif self.closed:
                return
            inbox.get()

    def stop(self) -> None:
        """Let the threads end when nothing is left to do. Takes no lock: the collector may call it at any point."""
        self.closed = True
        for inbox in tuple(self._inboxes):
            inbox.put(None)


_crews: WeakSet[Crew] = WeakSet()


@atexit.register
def _end() -> None:
    for crew in list(_crews):
        if crew.pid == os.getpid():
            crew.stop()
            for thread in crew.threads:
                thread.join()
