"""Forks: a child must not inherit a connection in the middle of a call.

SQLite keeps one set of file locks for each process, and takes those of an inherited connection, which the system did
not inherit, for held: a new connection beside it would hold none, and lose its commits when the parent closes. An idle
connection can be closed in the child, one in use can not. So a fork waits for the calls that other threads are in,
holds new ones back while it happens, and the child closes what it inherited when it opens a memory of its own.
"""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path
from threading import RLock
from typing import Any, Protocol
from weakref import WeakSet

from amber.errors import Closed

#: Seconds that a fork waits for the calls of other threads.
PATIENCE = 5.0


class Connected(Protocol):
    """The connections of one store. A call holds ``lock`` while it uses the writer, ``opening`` while it makes a
    connection, and a reader's lock while it reads, taken in this order."""

    pid: int
    path: Path | None
    lock: Any
    opening: Any

    def readers(self) -> list[Any]:
        """Give the connections of threads, each with its ``lock``."""

    def is_idle(self) -> bool:
        """Tell, when all locks are held, whether no transaction is under way."""

    def drop(self) -> None:
        """Close the connections, in a child in which none of them is in use."""


#: Held while a store joins the others, and by a fork.
_gate = RLock()
_opened: WeakSet[Connected] = WeakSet()
_held: list[Any] = []
#: What was in use at the fork that is under way; in the child it stays, so that nothing of it is ever closed.
_torn: list[tuple[Path | None, tuple[Connected, list[Any]]]] = []
_late: list[sqlite3.Connection] = []


def enter(connections: Connected) -> None:
    """Note that a store is about to open its first connection, and take its ``opening`` lock for the caller.

    Connections that a fork brought along are closed first.

    :raises Closed: when a connection to the file was in use at the fork.
    """
    with _gate:
        for each in list(_opened):
            if each.pid != os.getpid():
                _opened.discard(each)
                each.drop()
        _close_late()
        if any(path == connections.path for path, _ in _torn):
            raise Closed(
                f"A call on {str(connections.path)!r} was under way when this process was forked, so the file can not "
                "be opened safely here; open it in a process that was spawned.",
                path=str(connections.path),
            )
        _opened.add(connections)
        connections.opening.acquire()
    _sweep()


def close(connection: sqlite3.Connection) -> None:
    """Close a connection that nobody uses, from wherever the garbage collector runs; after a fork that is under way."""
    _late.append(connection)
    _sweep()


def _sweep() -> None:
    # whoever holds the gate sweeps after giving it up, so that what comes meanwhile is closed too
    while _late and _gate.acquire(blocking=False):
        try:
            _close_late()
        finally:
            _gate.release()


def _close_late() -> None:
    while _late:
        _late.pop().close()


def _before() -> None:
    _gate.acquire()
    end = time.monotonic() + PATIENCE
    # an inherited one is idle: nobody can use it
    own = [each for each in list(_opened) if each.pid == os.getpid()]
    _torn.extend((each.path, (each, each.readers())) for each in own if not _hold(each, end))


def _hold(connections: Connected, end: float) -> bool:
    """Hold all calls on the connections back; False when they do not end in time."""
    taken: list[Any] = []

    def take(lock: Any) -> bool:
        if not lock.acquire(timeout=max(0.0, end - time.monotonic())):
            return False
        taken.append(lock)
        return True

    whole = take(connections.lock) and take(connections.opening)
    if whole and all(take(reader.lock) for reader in connections.readers()) and connections.is_idle():
        _held.extend(taken)
        return True
    for lock in reversed(taken):
        lock.release()
    return False


def _after_in_parent() -> None:
    _torn.clear()
    _go_on()


def _after_in_child() -> None:
    for _, (each, _readers) in _torn:
        _opened.discard(each)
    _go_on()


def _go_on() -> None:
    while _held:
        _held.pop().release()
    _close_late()
    _gate.release()
    _sweep()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
