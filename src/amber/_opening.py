"""What an async face opens: by ``await`` or by ``async with``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar

from amber._hop import Hop, Kind
from amber.errors import BadInput

T = TypeVar("T")


class _Entered(Protocol):
    async def __aenter__(self) -> Any: ...

    async def __aexit__(self, kind: Kind, error: BaseException | None, trace: TracebackType | None, /) -> Any: ...


E = TypeVar("E", bound=_Entered)


class Opening(Generic[E]):
    """What is opened by ``await``, or by ``async with``, which leaves it at the end of the block. Either is one hop.

    :param hop: where the work runs; None: a new one, which what is opened owns, and which ends when that fails.
    :param work: opens the sync object. :param wrap: gives its async face.
    """

    def __init__(self, hop: Hop | None, work: Callable[[], Any], wrap: Callable[[Any, Hop], E]) -> None:
        self._hop, self._work, self._wrap = hop, work, wrap
        self._made: E | None = None
        self._begun = False

    def __await__(self) -> Generator[Any, None, E]:
        return self._open(enter=False).__await__()

    async def __aenter__(self) -> E:
        if self._made is None:
            return await self._open(enter=True)
        await self._made.__aenter__()
        return self._made

    async def __aexit__(self, kind: Kind, error: BaseException | None, trace: TracebackType | None) -> bool | None:
        return await self._made.__aexit__(kind, error, trace) if self._made is not None else None

    async def _open(self, *, enter: bool) -> E:
        if self._made is not None:
            return self._made
        if self._begun:
            raise BadInput("Another task is opening this: open it once, and share what that gives.")
        self._begun = True
        hop = self._hop if self._hop is not None else Hop()

        def work() -> Any:
            made = self._work()
            if enter:
                made.__enter__()
            return made

        def undo(made: Any) -> None:
            if enter or self._hop is None:
                made.__exit__(asyncio.CancelledError, asyncio.CancelledError(), None)

        try:
            made = await hop.make(work, undo)
            # several tasks may use it at once: one that the hop does not belong to is used by one thread at a time
            self._made = self._wrap(made, hop if self._hop is None else hop.strand())
        except BaseException:
            self._begun = False
            if self._hop is None:
                await hop.close(lambda: None)
            raise
        return self._made


class Entering(Generic[T]):
    """A sync context manager, entered and left off the loop: ``async with``. Each is one hop."""

    def __init__(self, hop: Hop, work: Callable[[], AbstractContextManager[Any]], wrap: Callable[[Any], T]) -> None:
        self._hop, self._work, self._wrap = hop, work, wrap
        self._entered: list[AbstractContextManager[Any]] = []

    async def __aenter__(self) -> T:
        def work() -> tuple[AbstractContextManager[Any], Any]:
            manager = self._work()
            return manager, manager.__enter__()

        def undo(made: tuple[AbstractContextManager[Any], Any]) -> None:
            made[0].__exit__(None, None, None)

        manager, value = await self._hop.make(work, undo)
        self._entered.append(manager)
        return self._wrap(value)

    async def __aexit__(self, kind: Kind, error: BaseException | None, trace: TracebackType | None) -> bool | None:
        return await self._hop.leave(self._entered.pop().__exit__, kind, error, trace)
