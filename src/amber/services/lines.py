"""JSON lines: how an export is written. One line is one row (see ``store.rows``); the first says what the file is, the
last that it is whole. Lines end with a line feed alone, whatever other separators of lines the texts hold."""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from gzip import GzipFile
from pathlib import Path
from typing import IO, Any, NamedTuple

from amber.errors import BadInput, NotFound, Unavailable
from amber.store.whole_file import whole_file

#: The version of the format; a reader refuses a higher one.
FORMAT = 1
#: A longer line is none of ours: the largest entry of a log is far below.
MAX_LINE = 512 * 1024 * 1024

FileOrStream = str | os.PathLike[str] | IO[Any]


class Moved(NamedTuple):
    """How far an export or load is, in rows; ``total`` is None when it is not known."""

    done: int
    total: int | None


def is_path(given: FileOrStream) -> bool:
    """Tell a path from a stream.

    :raises BadInput: when it is neither.
    """
    if isinstance(given, (str, os.PathLike)):
        if not os.fspath(given):
            raise BadInput("An empty text names no file.", path=given)
        return True
    if hasattr(given, "write") or hasattr(given, "read"):
        return False
    raise BadInput(f"An export is a path or an open stream, not {given!r}.", given=given)


@contextmanager
def writing(target: FileOrStream, *, overwrite: bool) -> Iterator[Callable[[bytes], object]]:
    """Give what writes bytes to a path (whole or not at all, compressed when it ends in ``.gz``) or to a stream."""
    if not is_path(target):
        yield _stream_writer(target)  # type: ignore[arg-type]
        return
    path = Path(target)  # type: ignore[arg-type]
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            # a pipe or a device has no other name to be written under
            with path.open("wb") as file:
                yield file.write
            return
        with whole_file(path, overwrite=overwrite) as temporary, temporary.open("wb") as file:
            if path.suffix == ".gz":
                with GzipFile(filename="", mode="wb", fileobj=file, mtime=0, compresslevel=6) as packed:
                    yield packed.write
            else:
                yield file.write
    except OSError as error:
        raise Unavailable(f"{str(path)!r} can not be written: {error.strerror or error}.", path=str(path)) from error


def _stream_writer(stream: IO[Any]) -> Callable[[bytes], object]:
    given: object = stream
    mode = getattr(given, "mode", None)
    if isinstance(given, io.TextIOBase) or (isinstance(mode, str) and "b" not in mode):
        return lambda data: stream.write(data.decode())
    return stream.write


class Line(NamedTuple):
    """A line of a file, without its end; ``whole`` is False for one that the file breaks off in. ``problem`` says why
    nothing more can be read."""

    number: int
    data: bytes
    whole: bool
    problem: str | None = None


def reading(source: FileOrStream) -> Iterator[Line]:
    """Give the lines of a path (compressed or not) or a stream.

    :raises NotFound: when there is no such file. :raises Unavailable: when it can not be opened.
    """
    if not is_path(source):
        yield from _lines(source)  # type: ignore[arg-type]
        return
    path = Path(source)  # type: ignore[arg-type]
    try:
        if path.is_dir():
            raise BadInput(f"{str(path)!r} is a folder; name a file.", path=str(path))
        with path.open("rb") as file:
            packed = file.peek(2)[:2] == b"\x1f\x8b"
            yield from _lines(GzipFile(fileobj=file, mode="rb") if packed else file)  # type: ignore[arg-type]
    except FileNotFoundError as error:
        raise NotFound(f"There is no file {str(path)!r}.", path=str(path)) from error
    except ValueError as error:
        raise BadInput(f"{str(path)!r} can not be a file name: {error}.", path=str(path)) from error
    except OSError as error:
        raise Unavailable(f"{str(path)!r} can not be read: {error.strerror or error}.", path=str(path)) from error


def _lines(file: IO[Any]) -> Iterator[Line]:
    number = 0
    while True:
        number += 1
        try:
            data = file.readline(MAX_LINE)
        except (EOFError, zlib.error) as error:
            yield Line(number, b"", False, f"the compressed file breaks off or is damaged here: {error}")
            return
        except UnicodeDecodeError as error:
            yield Line(number, b"", False, f"the stream is not UTF-8 here: {error.reason}")
            return
        if not data:
            return
        if isinstance(data, str):
            data = data.encode("utf-8", "surrogatepass")
        if len(data) >= MAX_LINE and not data.endswith(b"\n"):
            yield Line(number, b"", False, f"the line is longer than {MAX_LINE} bytes")
            return
        yield Line(number, data.rstrip(b"\r\n"), data.endswith(b"\n"))
