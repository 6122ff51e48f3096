"""The shape that all readers of transcripts share."""

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from amber.pipeline.transcripts.jsonl import LineReader, Record
from amber.pipeline.transcripts.record import OnSkip, SessionInfo, Skip, TranscriptMessage

_NAME: Final = re.compile(r"[\w.-]{1,60}\Z", re.ASCII)

# Reasons are few; a file that invents a record type per line must not grow the counts without end.
_MAX_REASONS: Final = 500


class Reader(ABC):
    """Read one file twice: a survey of what needs the whole file, then its messages.

    The size is fixed when the reader is made, so that both passes see the same bytes of a file that grows. What comes
    later is for the next reader: the messages read now keep their uids.
    """

    def __init__(self, path: Path, on_skip: OnSkip | None = None) -> None:
        self.path = path
        self.size = path.stat().st_size
        self.skips: Counter[str] = Counter()
        """How many lines or parts gave no message, by reason; complete after an iteration."""
        self._on_skip = on_skip
        self._before = 0
        self._lines: LineReader | None = None

    @property
    def bytes_read(self) -> int:
        """Bytes read so far, of `bytes_total`: for a progress bar."""
        return self._before + (self._lines.bytes_read if self._lines is not None else 0)

    @property
    def bytes_total(self) -> int:
        """Bytes that one reading takes: both passes."""
        return 2 * self.size

    @abstractmethod
    def info(self) -> SessionInfo:
        """Say whose session this is, from where and when.

        :raises OSError: the file cannot be read.
        """

    def __iter__(self) -> Iterator[TranscriptMessage]:
        """Yield the messages in the order of the file; iterate again to read again.

        :raises OSError: the file cannot be read.
        """
        self.skips.clear()
        return self._messages()

    @abstractmethod
    def _messages(self) -> Iterator[TranscriptMessage]: ...

    def _records(self, *, counting: bool) -> Iterator[tuple[int, Record]]:
        self._before = self.size if counting else 0
        self._lines = LineReader(self.path, self.size)
        return self._lines.records(self._count if counting else None)

    def _skip(self, line: int, reason: str) -> None:
        self._count(Skip(line, reason))

    def _count(self, skip: Skip) -> None:
        if skip.reason not in self.skips and len(self.skips) >= _MAX_REASONS:
            skip = Skip(skip.line, "other reasons")
        self.skips[skip.reason] += 1
        if self._on_skip is not None:
            self._on_skip(skip)


def show_type(*names: object) -> str:
    """Name a record's type, if it looks like a name: anything else could be what someone said."""
    return (
        "/".join(
            name if isinstance(name, str) and _NAME.match(name) else "unnamed" for name in names if name is not None
        )
        or "unnamed"
    )
