"""The shape that all readers of transcripts share."""

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Protocol

from amber.errors import BadInput
from amber.pipeline.transcripts.jsonl import LineReader, Record
from amber.pipeline.transcripts.record import OnSkip, SessionInfo, Skip, TranscriptMessage

_NAME: Final = re.compile(r"[\w.-]{1,60}\Z", re.ASCII)

# Reasons are few; a file that invents a record type per line must not grow the counts without end.
_MAX_REASONS: Final = 500


#: Why a file that looks like a session is refused all the same.
NO_MESSAGE: Final = "there is no message in it"


class Source(Protocol):
    """Where records come from: the lines of a file, or the items of a document."""

    @property
    def bytes_read(self) -> int:
        """Bytes read so far."""

    def records(self, on_skip: OnSkip | None = None) -> Iterator[tuple[int, Record]]:
        """Yield number (from 1) and record; report everything else with its reason."""


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
        self._lines: Source | None = None

    @property
    def bytes_read(self) -> int:
        """Bytes read so far, of `bytes_total`: for a progress bar."""
        return self._before + (self._lines.bytes_read if self._lines is not None else 0)

    @property
    def bytes_total(self) -> int:
        """Bytes that one reading takes: both passes."""
        return 2 * self.size

    def check(self) -> None:  # noqa: B027 - most files have nothing to check before they are read
        """See whether the file can be read at all, where only its end tells.

        :raises BadInput: it cannot; the message says what to do.
        """

    def sessions(self) -> Iterator["Reader"]:
        """Yield a reader for each session of the file: itself, where a file holds one.

        :raises BadInput: the file is damaged further on; what was yielded before is whole.
        :raises OSError: the file cannot be read.
        """
        yield self

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
        self._lines = self._source()
        return self._lines.records(self._count if counting else None)

    def _source(self) -> Source:
        return LineReader(self.path, self.size)

    def _skip(self, line: int, reason: str) -> None:
        self._count(Skip(line, reason))

    def _count(self, skip: Skip) -> None:
        if skip.reason not in self.skips and len(self.skips) >= _MAX_REASONS:
            skip = Skip(skip.line, "other reasons")
        self.skips[skip.reason] += 1
        if self._on_skip is not None:
            self._on_skip(skip)


class PartReader(Reader):
    """Read one of several sessions of a file; how far the file is read is for the whole file to say."""

    def __init__(self, whole: Reader) -> None:
        super().__init__(whole.path, whole._on_skip)
        self.size, self._whole = whole.size, whole
        self._carried: Counter[str] = Counter()
        self.carry(whole.skips)

    def carry(self, skips: Counter[str]) -> None:
        """Take over what gave no message before this session or after the last one: it is nowhere else counted."""
        self._carried.update(skips)
        skips.clear()

    def __iter__(self) -> Iterator[TranscriptMessage]:
        """Yield the messages in the order of the file; iterate again to read again.

        :raises OSError: the file cannot be read.
        """
        messages = super().__iter__()
        self.skips.update(self._carried)
        return messages

    @property
    def bytes_read(self) -> int:
        """Bytes read so far of the whole file."""
        return self._whole.bytes_read


class SeveralReader(Reader):
    """Read a file of several sessions. As one session it is the first one's, with the messages of all."""

    def info(self) -> SessionInfo:
        """Describe the first session.

        :raises BadInput: there is none.
        :raises OSError: the file cannot be read.
        """
        for session in self.sessions():
            return session.info()
        raise BadInput(NO_MESSAGE)

    def sessions(self) -> Iterator[Reader]:
        """Yield a reader for each session. Read one before you ask for the next.

        :raises BadInput: the file is damaged further on; what was yielded before is whole.
        :raises OSError: the file cannot be read.
        """
        held: PartReader | None = None
        try:
            for part in self._parts():
                if held is not None:
                    yield held
                held = part
        except BadInput:
            if held is not None:
                yield held
            raise
        if held is not None:
            held.carry(self.skips)
            yield held

    @abstractmethod
    def _parts(self) -> Iterator[PartReader]: ...

    def _messages(self) -> Iterator[TranscriptMessage]:
        for session in self.sessions():
            yield from session
            self.skips.update(session.skips)


def show_type(*names: object) -> str:
    """Name a record's type, if it looks like a name: anything else could be what someone said."""
    return (
        "/".join(
            name if isinstance(name, str) and _NAME.match(name) else "unnamed" for name in names if name is not None
        )
        or "unnamed"
    )
