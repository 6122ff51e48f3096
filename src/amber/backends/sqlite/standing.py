"""The file at a path: still the one that was opened, and whether this process can write beside it.

SQLite goes on with a file that was deleted or replaced under it: what is written then is answered and gone. And to
read a file in WAL mode it makes files beside it, which a read-only folder does not let it.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from urllib.parse import quote

from amber.errors import Unavailable

#: What SQLite answers when it can not make the files that it needs beside a database.
_UNWRITABLE = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)


class Standing:
    """What was found at a path when it was opened."""

    __slots__ = ("_file", "_path", "_state", "_wal", "frozen")

    def __init__(self, path: Path) -> None:
        self._path, self._wal = str(path), f"{path}-wal"
        self._file: tuple[int, int] | None = None
        self._state: tuple[int, int] | None = None
        self.frozen = False

    @property
    def target(self) -> str:
        """What SQLite opens: the path, or the URI of a file that nobody changes when it is frozen."""
        return f"file:{quote(self._path)}?immutable=1" if self.frozen else self._path

    def note(self) -> None:
        """Remember which file it is."""
        found = os.stat(self._path)
        self._file = (found.st_dev, found.st_ino)

    def check(self) -> None:
        """Look at the path; a microsecond.

        :raises Unavailable: when the file was deleted or replaced; when it is frozen, also when it was changed.
        """
        if self._file is None:
            return
        try:
            found = os.stat(self._path)
        except OSError as error:
            raise Unavailable(
                f"{self._path!r} was deleted or moved away while it was open ({error.strerror}); nothing was written. "
                "Bring it back, or open the memory again.",
                path=self._path,
            ) from error
        if (found.st_dev, found.st_ino) != self._file:
            raise Unavailable(
                f"{self._path!r} was replaced by another file while it was open; nothing was written. Open it again.",
                path=self._path,
            )
        if self.frozen and ((found.st_mtime_ns, found.st_size) != self._state or _size(self._wal)):
            raise Unavailable(
                f"{self._path!r} lies in a folder that this process can not write to, and somebody changed it; open it "
                "again.",
                path=self._path,
            )

    def freeze(self, error: sqlite3.OperationalError) -> None:
        """Read the file as one that nobody changes, when it can not be written and neither can its folder.

        That is safe while it is so: a writer would have left its log beside the file, and ``check`` looks for one.

        :raises sqlite3.OperationalError: the one given, when the file can not be read so either.
        :raises Unavailable: when changes wait in a log that can not be read here.
        """
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code not in _UNWRITABLE or os.access(os.path.dirname(self._path), os.W_OK) or not _size(self._path):
            raise error
        if _size(self._wal):
            raise Unavailable(
                f"{self._wal!r} holds changes that can be read only where files can be written; copy both files, and "
                "-shm when it is there, to another folder.",
                path=self._path,
            ) from error
        found = os.stat(self._path)
        self._state, self.frozen = (found.st_mtime_ns, found.st_size), True


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
