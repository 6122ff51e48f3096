"""A new file that appears whole and on the disk, or not at all: also when the process is killed while it is written."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from amber.errors import BadInput, Conflict, Unavailable
from amber.store.faults import point

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows: what a kill leaves there stays until somebody removes it
    fcntl = None

#: What a file is called until it is whole: a killed writer leaves one, which the next one to this name removes.
_PARTIAL = ".partial"


@contextmanager
def whole_file(target: str | os.PathLike[str], *, overwrite: bool) -> Iterator[Path]:
    """Give the path of an empty file beside ``target``, only its owner may read it; it gets the name of ``target``
    when the block is left, and is removed when it is left by an exception.

    :raises Conflict: when there is something of that name, unless it may be overwritten; not to be retried.
    :raises BadInput: when it can be no file name. :raises Unavailable: when it can not be written.
    """
    path = Path(target)
    check_target(path, overwrite=overwrite)
    with _translated(path):
        _remove_leftovers(path)
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}{_PARTIAL}")
        held = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        if fcntl is not None:
            fcntl.flock(held, fcntl.LOCK_EX)
        yield temporary
        with _translated(path):
            os.fsync(held)
            # before it has its name: closing a file drops the locks that SQLite holds on it in this process
            os.close(held)
            held = -1
            point("backup:before-rename")
            _rename(temporary, path, overwrite)
            _sync_folder(path.parent)
        point("backup:after-rename")
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    finally:
        if held >= 0:
            os.close(held)


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except FileExistsError as error:
        raise _exists(path) from error
    except OSError as error:
        raise Unavailable(f"{str(path)!r} can not be written: {error.strerror}.", path=str(path)) from error


def check_target(path: Path, *, overwrite: bool) -> None:
    """Refuse what can not become a new file (see ``whole_file``)."""
    if "\0" in str(path):
        raise BadInput(f"{str(path)!r} can not be a file name.", path=str(path))
    if path.is_dir():
        raise BadInput(f"{str(path)!r} is a folder; name a file.", path=str(path))
    if not path.parent.is_dir():
        raise BadInput(f"There is no folder {str(path.parent)!r}; make it first.", path=str(path))
    if os.path.lexists(path) and not overwrite:
        raise _exists(path)


def _exists(path: Path) -> Conflict:
    conflict = Conflict(f"{str(path)!r} exists already; name another file, or say that it may be overwritten.")
    conflict.retry = "no"  # type: ignore[misc]
    return conflict


def _rename(temporary: Path, path: Path, overwrite: bool) -> None:
    if overwrite:
        temporary.replace(path)
        return
    try:
        # unlike a rename it never takes the place of a file that came meanwhile
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:
        # a file system without hard links
        if os.path.lexists(path):
            raise FileExistsError from None
        temporary.rename(path)
        return
    temporary.unlink()


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _remove_leftovers(path: Path) -> None:
    """Remove what killed writers to the same name left; one that still runs holds its lock."""
    if fcntl is None:
        return
    prefix = f".{path.name}."
    for name in os.listdir(path.parent):
        if name.startswith(prefix) and name.endswith(_PARTIAL):
            left = path.with_name(name)
            try:
                number = os.open(left, os.O_RDWR)
            except OSError:
                continue
            try:
                fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
                left.unlink(missing_ok=True)
            except BlockingIOError:
                continue
            finally:
                os.close(number)
