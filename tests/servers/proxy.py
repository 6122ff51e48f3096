"""A TCP proxy on loopback: adds time to answers, cuts connections, loses answers, goes silent."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from threading import Thread
from typing import Any

from tests.servers.processes import HOST, free_port

_CHUNK = 1 << 16


class Proxy:
    """Stand between clients and a server.

    :param port: the server's port on loopback. :param delay: seconds by which everything the server says comes later:
        what a round trip takes longer. What is on its way does not wait for what follows it.
    """

    def __init__(self, port: int, delay: float = 0.0) -> None:
        self.port, self.delay = free_port(), delay
        #: Answers that pass before all else that the server says is lost, and the connection ends; None: all pass.
        self.answers_left: int | None = None
        #: Nothing passes in either direction, and nobody is told.
        self.silent = False
        self._target = port
        self._pairs: set[tuple[asyncio.StreamWriter, asyncio.StreamWriter]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._thread.start()
        self._server = self._run(asyncio.start_server(self._serve, HOST, self.port))

    def cut(self) -> None:
        """End all connections that are open now, in the middle of whatever they are at."""
        self._run(self._cut())

    def remove(self) -> None:
        """End it and all connections."""
        self._server.close()
        self._run(self._cut())
        self._run(self._finish())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    async def _cut(self) -> None:
        for pair in list(self._pairs):
            for writer in pair:
                writer.transport.abort()

    async def _finish(self) -> None:
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, there_writer = await asyncio.open_connection(HOST, self._target)
        except OSError:
            writer.transport.abort()
            return
        pair = (writer, there_writer)
        self._pairs.add(pair)
        try:
            await asyncio.gather(self._ask(reader, there_writer), self._answer(there, writer))
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            self._pairs.discard(pair)
            for each in pair:
                each.transport.abort()

    async def _ask(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(_CHUNK):
            if not self.silent:
                writer.write(data)
        raise ConnectionResetError

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(_CHUNK):
            if self.silent:
                continue
            if self.answers_left is not None:
                if self.answers_left == 0:
                    break
                self.answers_left -= 1
            if self.delay:
                self._loop.call_later(self.delay, writer.write, data)
            else:
                writer.write(data)
        raise ConnectionResetError
