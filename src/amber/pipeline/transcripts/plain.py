"""Read plain lists of chat messages, in the manner of OpenAI or Anthropic.

Such a list is `[{role, content}, ...]`, one message per line, or the `messages` of a request; each may stand alone, and
lines or a list of `{messages: [...]}` are one session each. There are no ids and mostly no times.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from amber.pipeline.transcripts.chat import has_messages
from amber.pipeline.transcripts.chat_reader import ChatReader
from amber.pipeline.transcripts.document import WHOLE, Document, DocumentItems, DocumentReader, peek
from amber.pipeline.transcripts.jsonl import LineReader, Record, get_text
from amber.pipeline.transcripts.reader import PartReader, Reader, SeveralReader, Source
from amber.pipeline.transcripts.record import OnSkip, Skip


class PlainLines(ChatReader):
    """Give the messages of a file with one message per line."""

    names_by_line = True


class PlainDocument(ChatReader, DocumentReader):
    """Give the messages of a document that is a list of them, or has one under `messages`."""

    @cached_property
    def _about(self) -> Mapping[str, object]:
        names = ("model", "title") if self._place else ()
        return {name: self._document.value((name,)) for name in names}


class PlainSet(SeveralReader):
    """Give a session for each line, or each item of a list, that has `messages`."""

    def __init__(
        self, path: Path, on_skip: OnSkip | None = None, *, as_document: bool = False, whole: int = WHOLE
    ) -> None:
        super().__init__(path, on_skip)
        self._document = Document(path, self.size, whole) if as_document else None

    def _parts(self) -> Iterator[PartReader]:
        for number, record in self._records(counting=True):
            if has_messages(record.get("messages")):
                yield _PlainPart(self, record)
            else:
                self._skip(number, "record without messages")

    def _source(self) -> Source:
        return DocumentItems(self._document, ()) if self._document is not None else super()._source()


class _PlainPart(ChatReader, PartReader):
    """Give the messages of one record of a set."""

    def __init__(self, whole: PlainSet, record: Record) -> None:
        super().__init__(whole)
        self._record = record

    @cached_property
    def _about(self) -> Mapping[str, object]:
        return {name: get_text(self._record, name) for name in ("model", "title")}

    def _source(self) -> Source:
        return _Items(self._record["messages"])


class _Items:
    """A list at hand as a source of records."""

    def __init__(self, items: list[Any]) -> None:
        self._items = items
        self.bytes_read = 0

    def records(self, on_skip: OnSkip | None = None) -> Iterator[tuple[int, Record]]:
        for number, item in enumerate(self._items, 1):
            if isinstance(item, dict):
                yield number, item
            elif on_skip is not None:
                on_skip(Skip(number, "not an object"))


def open_plain(path: Path, on_skip: OnSkip | None, shape: str, whole: int) -> Reader:
    """Give the reader for the form that the lists of a file have.

    :raises BadInput: the document is damaged.
    :raises OSError: the file cannot be read.
    """
    if shape == "object":
        return PlainDocument(path, on_skip, place=("messages",), whole=whole)
    first: Record | None
    if shape == "list":
        root = peek(path)
        first = next((item for item in root if isinstance(item, dict)), None) if isinstance(root, list) else None
    else:
        lines = LineReader(path, path.stat().st_size).records()
        first = next((record for _, record in lines if record.keys() & {"messages", "role"}), None)
    if first is not None and isinstance(first.get("messages"), list):
        return PlainSet(path, on_skip, as_document=shape == "list", whole=whole)
    if shape == "list":
        return PlainDocument(path, on_skip, whole=whole)
    return PlainLines(path, on_skip)
