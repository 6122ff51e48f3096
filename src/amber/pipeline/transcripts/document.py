"""Read a file that is one JSON document: whole up to `WHOLE` bytes, and item by item above that.

What a person or a tool keeps as one document is rewritten whole at each change, so a document that breaks off is one
that is being written, or a damaged one: it is never taken in part for the whole. A streamed document costs one item at
a time, and 16 letters for each message that was named by its words.
"""

import codecs
import io
import re
from collections.abc import Generator, Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import IO, Any, Final, TypeAlias

import ijson

from amber.errors import BadInput
from amber.pipeline.transcripts.jsonl import Json, Record, parse_json
from amber.pipeline.transcripts.reader import NO_MESSAGE, Reader
from amber.pipeline.transcripts.record import OnSkip, Skip

#: Documents up to this many bytes are parsed in one go: four times as fast, for five times their size in memory.
WHOLE: Final = 64 * 1024 * 1024

#: What is nested deeper than this inside an item of a streamed document is left out of it.
_MAX_DEPTH: Final = 200
_CHUNK: Final = 64 * 1024
_HEAD: Final = 256 * 1024

_ESCAPE: Final = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
_HIGH: Final = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\Z")

Place: TypeAlias = tuple[str, ...]


class Document:
    """Give the items of lists in a JSON document, up to a size that is fixed beforehand."""

    def __init__(self, path: Path, size: int, whole: int = WHOLE) -> None:
        self._path, self._size = path, size
        self._root: Json = None
        self._is_loaded = False
        self._whole = whole
        self.bytes_read = 0

    def items(self, place: Place) -> Generator[Json, None, None]:
        """Yield the items of the list at a place (the keys that lead to it); nothing when there is no list.

        :raises BadInput: the document breaks off or is damaged.
        :raises OSError: the file cannot be read.
        """
        self.bytes_read = 0
        if self._load():
            found = _follow(self._root, place)
            found = found if isinstance(found, list) else []
            for number, item in enumerate(found):
                self.bytes_read = self._size * number // len(found)
                yield item
            self.bytes_read = self._size
            return
        with self._path.open("rb") as file:
            yield from _stream(_Lenient(file, self._size, self), [*place, None])

    def value(self, place: Place) -> Json:
        """Give the value at a place, None when there is none: a small one, for a streamed document is read for it.

        :raises BadInput: the document breaks off or is damaged.
        :raises OSError: the file cannot be read.
        """
        if self._load():
            return _follow(self._root, place)
        with self._path.open("rb") as file:
            with closing(_stream(_Lenient(file, self._size), [*place])) as found:
                return next(found, None)

    def _load(self) -> bool:
        if not self._is_loaded and self._size <= self._whole:
            self._whole = -1
            with self._path.open("rb") as file:
                raw = file.read(self._size)
            try:
                self._root = parse_json(raw.removeprefix(codecs.BOM_UTF8), finite=False)
                self._is_loaded = True
            except ValueError:
                # nested too deeply, which streaming survives, or broken, which it tells with the place
                pass
        return self._is_loaded


class DocumentItems:
    """The items of one list of a document as numbered records: what `LineReader` is for lines."""

    def __init__(self, document: Document, place: Place) -> None:
        self._document, self._place = document, place

    @property
    def bytes_read(self) -> int:
        """How far the document is read."""
        return self._document.bytes_read

    def records(self, on_skip: OnSkip | None = None) -> Iterator[tuple[int, Record]]:
        """Yield number (from 1) and record; report every item that is no object."""
        for number, item in enumerate(self._document.items(self._place), 1):
            if isinstance(item, dict):
                yield number, item
            elif on_skip is not None:
                on_skip(Skip(number, "not an object"))


class DocumentReader(Reader):
    """Read one session out of the list at a place of a document; messages count records, not lines."""

    def __init__(self, path: Path, on_skip: OnSkip | None = None, *, place: Place = (), whole: int = WHOLE) -> None:
        super().__init__(path, on_skip)
        self._document = Document(path, self.size, whole)
        self._place = place

    def check(self) -> None:
        """Read what tells whether the document is whole.

        :raises BadInput: it is not.
        """
        self.info()
        with closing(self._document.items(self._place)) as items:
            if next(items, None) is None:
                raise BadInput(NO_MESSAGE)

    def _source(self) -> DocumentItems:
        return DocumentItems(self._document, self._place)


def read_head(path: Path) -> bytes:
    """Give the beginning of a file, without a byte order mark."""
    with path.open("rb") as file:
        return file.read(_HEAD).removeprefix(codecs.BOM_UTF8)


def peek(path: Path) -> Json:
    """Build what the beginning of a document holds, as far as it goes."""
    head = read_head(path)
    builder = _Builder()
    try:
        for event, value in ijson.basic_parse(_Lenient(io.BytesIO(head), len(head)), buf_size=_CHUNK):
            builder.feed(event, value)
    except (ijson.JSONError, ValueError):
        # cut off here, or never JSON: what was built so far says it
        pass
    return builder.root


class _Lenient:
    """Give ijson a stream that it can read: valid UTF-8, no lone surrogates, a fixed size."""

    def __init__(self, file: IO[bytes], size: int, told: Document | None = None) -> None:
        self._file, self._left, self._told = file, size, told
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = b""
        self._is_first = True

    def read(self, count: int = -1) -> bytes:
        if count == 0:
            # ijson asks whether this is text or bytes
            return b""
        while True:
            raw = self._file.read(min(self._left, _CHUNK))
            self._left -= len(raw)
            if self._told is not None:
                self._told.bytes_read += len(raw)
            if self._is_first:
                raw, self._is_first = raw.removeprefix(codecs.BOM_UTF8), False
            text = self._held + self._decoder.decode(raw, final=not raw).encode()
            self._held = b""
            if not raw:
                return _without_lone(text)
            text, self._held = _split_before_escape(text)
            if text:
                return _without_lone(text)


def _split_before_escape(text: bytes) -> tuple[bytes, bytes]:
    """Hold back an escape, or a pair of them, that may go on in the next chunk."""
    place = text.find(b"\\", max(0, len(text) - 12))
    if place < 0:
        return text, b""
    place = _start_of_run(text, place)
    if _HIGH.search(text, max(0, place - 6), place):
        place = _start_of_run(text, place - 6)
    return text[:place], text[place:]


def _start_of_run(text: bytes, place: int) -> int:
    # backslashes in a row are escapes of each other: only the first surely begins one
    return len(text[: place + 1].rstrip(b"\\"))


def _without_lone(text: bytes) -> bytes:
    if b"\\ud" not in text and b"\\uD" not in text:
        return text
    return _ESCAPE.sub(lambda found: rb"\ufffd" if found[1] else found[0], text)


class _Builder:
    """Build a JSON value from events, as far as they come."""

    __slots__ = ("_keys", "_stack", "root")

    def __init__(self) -> None:
        self.root: Json = None
        self._stack: list[Any] = []
        self._keys: list[str] = []

    def feed(self, event: str, value: Any) -> bool:
        """Take an event; say whether the value is complete."""
        if event == "map_key":
            self._keys[-1] = value
            # stands for a value that is cut off
            self._stack[-1][value] = None
            return False
        if event in ("end_map", "end_array"):
            self._stack.pop()
            self._keys.pop()
            return not self._stack
        if event == "start_map":
            made: Any = {}
        elif event == "start_array":
            made = []
        else:
            made = _to_json(value)
        if self._stack:
            if len(self._stack) < _MAX_DEPTH:
                holder = self._stack[-1]
                if type(holder) is dict:
                    holder[self._keys[-1]] = made
                else:
                    holder.append(made)
        else:
            self.root = made
        if event in ("start_map", "start_array"):
            self._stack.append(made)
            self._keys.append("")
        return not self._stack


def _stream(file: _Lenient, wanted: list[str | None]) -> Generator[Json, None, None]:
    """Yield each value at a path: the keys of objects, None for lists."""
    path: list[str | None] = []
    builder: _Builder | None = None
    for event, value in _events(file):
        if builder is None:
            if event == "map_key":
                path[-1] = value
                continue
            if event in ("end_map", "end_array"):
                path.pop()
                continue
            if path != wanted:
                if event in ("start_map", "start_array"):
                    path.append(None)
                continue
            builder = _Builder()
        if builder.feed(event, value):
            yield builder.root
            builder = None


def _events(file: _Lenient) -> Iterator[tuple[str, Any]]:
    try:
        # numbers as text first: an exponent beyond floats must not end the document
        yield from ijson.basic_parse(file, buf_size=_CHUNK, use_float=False)
    except (ijson.JSONError, ValueError) as error:
        why = str(error).strip().splitlines()[0][:120] if str(error).strip() else "not JSON"
        raise BadInput(
            f"The JSON document breaks off or is damaged ({why}). If its tool is still writing, import it again later; "
            "else export it once more."
        ) from error


def _to_json(value: Any) -> Json:
    if type(value) is Decimal:
        number = float(value)
        return number if number - number == 0.0 else None
    if type(value) is int and not -(2**63) <= value < 2**64:
        return _to_json(Decimal(value))
    return value


def _follow(root: Json, place: Place) -> Json:
    for key in place:
        root = root.get(key) if isinstance(root, dict) else None
    return root
