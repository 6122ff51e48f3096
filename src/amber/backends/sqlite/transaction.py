"""One transaction for one write, or one for all that wait: a savepoint each, so that a refused one takes nobody along.

Whoever gets the writer's lock leads: it carries out what the others wait with, and they find it done when they get the
lock. Nobody is answered before the commit.
"""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

from amber.backends.sqlite.translate import BUSY, code_of
from amber.store.faults import point

T = TypeVar("T")
Work = Callable[[sqlite3.Cursor], T]

#: Writes that one transaction carries out together at most.
MAX_TOGETHER = 128


def plain(connection: sqlite3.Connection) -> sqlite3.Cursor:
    """Give a cursor that yields tuples, whatever row factory the connection has."""
    cursor = connection.cursor()
    cursor.row_factory = None
    return cursor


def run(
    connection: sqlite3.Connection,
    work: Work[T],
    name: str,
    *,
    careful: Work[T] | None = None,
    nested: bool = False,
    keep: bool = True,
) -> T:
    """Run a write as one transaction; any exception leaves nothing of it.

    :param name: prefix of the fault points passed here.
    :param careful: what to run, after a roll-back, when ``work`` fails.
    :param nested: in a savepoint of the transaction that is open.
    :param keep: False rolls back at the end.
    """
    cursor = plain(connection)
    begin, commit = ("SAVEPOINT amber", "RELEASE amber") if nested else ("BEGIN IMMEDIATE", "COMMIT")
    begun = False
    try:
        cursor.execute(begin)
        begun = True
        point(name + ":begun")
        try:
            result = work(cursor)
        except Exception:
            if careful is None:
                raise
            _roll_back(cursor, nested=nested)
            begun = False
            cursor.execute(begin)
            begun = True
            result = careful(cursor)
        point(name + ":before-commit")
        if keep:
            cursor.execute(commit)
        else:
            _roll_back(cursor, nested=nested)
    except BaseException:
        if begun or not nested:
            _roll_back(cursor, nested=nested)
        raise
    finally:
        cursor.close()
    point(name + ":after-commit")
    return result


def _roll_back(cursor: sqlite3.Cursor, *, nested: bool) -> None:
    # some errors (disk full, corrupt page) have rolled back already
    if cursor.connection.in_transaction:
        if nested:
            cursor.execute("ROLLBACK TO amber")
            cursor.execute("RELEASE amber")
        else:
            cursor.execute("ROLLBACK")


class Call:
    """A write that waits for the lock, and what became of it."""

    __slots__ = ("careful", "done", "error", "result", "work")

    def __init__(self, work: Work[Any], careful: Work[Any]) -> None:
        self.work, self.careful = work, careful
        self.result: Any = None
        self.error: Exception | None = None
        self.done = False


class _Lost(Exception):
    """The driver gave the whole transaction up because of one write."""


class Waiting:
    """The writes that wait for one connection. ``add`` may be called by any thread, ``lead`` under the lock."""

    def __init__(self) -> None:
        self._calls: deque[Call] = deque()

    def __len__(self) -> int:
        return len(self._calls)

    def add(self, call: Call) -> None:
        """Let whoever gets the lock carry out a write."""
        self._calls.append(call)

    def withdraw(self, call: Call) -> None:
        """Take back a write, unless somebody has begun it."""
        try:
            self._calls.remove(call)
        except ValueError:
            return

    def lead(self, connection: sqlite3.Connection, own: Call, name: str) -> None:
        """Carry out what waits until one's own write is done."""
        while not own.done:
            group: list[Call] = []
            while self._calls and len(group) < MAX_TOGETHER:
                group.append(self._calls.popleft())
            try:
                if len(group) == 1 or not self._together(connection, group, name):
                    for call in group:
                        _alone(connection, call, name)
            except BaseException:
                # this thread was interrupted: the others' writes wait for the next one
                self._calls.extendleft(call for call in reversed(group) if call is not own and not call.done)
                raise

    def _together(self, connection: sqlite3.Connection, group: list[Call], name: str) -> bool:
        """Carry out writes in one transaction; False when it failed as a whole, and each is to be tried alone."""
        cursor = plain(connection)
        begun = kept = False
        try:
            cursor.execute("BEGIN IMMEDIATE")
            begun = True
            point(name + ":begun")
            for call in group:
                _apply(cursor, call)
            point(name + ":before-commit")
            cursor.execute("COMMIT")
            kept = True
        except (_Lost, sqlite3.Error) as error:
            if begun or not isinstance(error, sqlite3.Error) or code_of(error) not in BUSY:
                return False
            # each has waited its time for the other process
            for call in group:
                call.error, call.done = error, True
            return True
        finally:
            if not kept:
                _roll_back(cursor, nested=False)
                for call in group:
                    if not call.done:
                        call.result = call.error = None
            cursor.close()
        for call in group:
            call.done = True
        point(name + ":after-commit")
        return True


def _alone(connection: sqlite3.Connection, call: Call, name: str) -> None:
    try:
        call.result = run(connection, call.work, name, careful=call.careful)
    except Exception as error:
        call.error = error
    call.done = True


def _apply(cursor: sqlite3.Cursor, call: Call) -> None:
    cursor.execute("SAVEPOINT amber")
    try:
        call.result = call.work(cursor)
    except Exception:
        _undo(cursor)
        try:
            call.result = call.careful(cursor)
        except Exception as error:
            _undo(cursor)
            call.error = error
    cursor.execute("RELEASE amber")


def _undo(cursor: sqlite3.Cursor) -> None:
    if not cursor.connection.in_transaction:
        raise _Lost
    cursor.execute("ROLLBACK TO amber")
