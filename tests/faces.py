"""The async face behind a sync one, so that one test body runs on both: every call is awaited on a running loop."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Coroutine, Iterator
from threading import Thread
from types import TracebackType
from typing import Any, TypeVar

from amber._hop import Hop
from amber._opening import Opening
from amber.aio import AsyncMemory
from amber.memory import Memory
from amber.store.contract import Store

T = TypeVar("T")
_END = object()


class Background:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="test loop")
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Await something on the loop, from any thread."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def runs(self) -> bool:
        """Tell whether it was not stopped yet."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """End the loop and its thread; nothing may be left on it."""
        self.run(self._loop.shutdown_asyncgens())
        left = self.run(_others())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        assert not left, left


async def _others() -> list[str]:
    return [repr(task) for task in asyncio.all_tasks() if task is not asyncio.current_task()]


class Awaited:
    """An object of the async face that is used like one of the sync face. Private names are those of the sync object."""

    def __init__(self, inner: Any, background: Background) -> None:
        self._inner, self._background = inner, background

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            return getattr(self._inner._sync, name)
        value = getattr(self._inner, name)
        if inspect.ismethod(value):
            return lambda *args, **kwargs: _translated(value(*args, **kwargs), self._background)
        return _translated(value, self._background)

    def __enter__(self) -> Any:
        self._background.run(self._inner.__aenter__())
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: TracebackType | None) -> Any:
        return self._background.run(self._inner.__aexit__(kind, error, trace))

    def __repr__(self) -> str:
        return repr(self._inner)


class AwaitedMemory(Awaited):
    """A memory, whose loop ends when it is closed."""

    def close(self) -> None:
        """Close the memory; its loop stays for what is called afterwards, until ``end``."""
        self._background.run(self._inner.close())

    def end(self) -> None:
        """Close the memory and its loop. May be called again."""
        if self._background.runs():
            self.close()
            self._background.stop()


class AwaitedOpening:
    """What ``async with`` opens: opened in a ``with`` block, or by the first look at it."""

    def __init__(self, opening: Opening[Any], background: Background) -> None:
        self._opening, self._background = opening, background

    def __enter__(self) -> Any:
        return _translated(self._background.run(self._opening.__aenter__()), self._background)

    def __exit__(self, kind: Any, error: BaseException | None, trace: TracebackType | None) -> Any:
        return self._background.run(self._opening.__aexit__(kind, error, trace))

    def __getattr__(self, name: str) -> Any:
        async def opened() -> Any:
            return await self._opening

        return getattr(Awaited(self._background.run(opened()), self._background), name)


def _translated(value: Any, background: Background) -> Any:
    if inspect.iscoroutine(value):
        return _translated(background.run(value), background)
    if isinstance(value, AsyncGenerator):
        return _iterated(value, background)
    if isinstance(value, Opening):
        return AwaitedOpening(value, background)
    return Awaited(value, background) if type(value).__module__ == "amber.aio" else value


def _iterated(items: AsyncGenerator[Any, Any], background: Background) -> Iterator[Any]:
    async def step() -> Any:
        return await anext(items, _END)

    try:
        while (item := background.run(step())) is not _END:
            yield item
    finally:
        background.run(items.aclose())


def async_face(memory: Memory) -> Any:
    """Give the async face of a memory, used like the memory itself. ``end`` ends its loop."""
    return AwaitedMemory(AsyncMemory(memory, Hop()), Background())


def async_open(*args: Any, **kwargs: Any) -> Any:
    """Open a memory as ``Memory.open`` does, through ``AsyncMemory.open``. ``end`` ends its loop."""
    background = Background()

    async def opened() -> AsyncMemory:
        return await AsyncMemory.open(*args, **kwargs)

    try:
        return AwaitedMemory(background.run(opened()), background)
    except BaseException:
        background.stop()
        raise


class HoppedStore:
    """A store each of whose verbs is called from a running event loop, through the hop of the async face."""

    def __init__(self, store: Store) -> None:
        self._store, self._hop, self._background = store, Hop(), Background()
        self.capabilities, self.collections = store.capabilities, store.collections

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._store, name)
        if name.startswith("_") or not callable(value):
            return value
        return lambda *args, **kwargs: self._background.run(self._hop.run(value, *args, **kwargs))

    def close(self) -> None:
        """Close the store as the face does, and again as often as one likes."""
        self._background.run(self._hop.close(self._store.close))

    def end(self) -> None:
        """Close the store and its loop."""
        self.close()
        self._background.stop()

    def __enter__(self) -> HoppedStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
