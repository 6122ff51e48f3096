"""Find the session files in folders, and open them."""

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from amber.pipeline.transcripts.claude import ClaudeReader
from amber.pipeline.transcripts.codex import CodexReader
from amber.pipeline.transcripts.detect import Refusal, detect
from amber.pipeline.transcripts.reader import Reader
from amber.pipeline.transcripts.record import OnSkip

_LINES: Final = ".jsonl"
# Formats of other tools: named when met, so that nobody wonders why they are missing.
_OTHERS: Final = (".traj", ".json", "chat.history.md", "chat-history.md")
_NEVER_WALKED: Final = frozenset({".git", "node_modules"})


def discover(paths: Iterable[str | Path], on_left_out: Callable[[Path, str], None] | None = None) -> Iterator[Path]:
    """Yield the files that could be sessions, each once, folders in sorted order.

    A path that names a file is taken as given. Folders are walked without following links to folders; files in them
    are yielded if `detect` knows them. `on_left_out` is told of the others that could have been meant; side files (an
    index, the outputs beside a session) are passed over in silence.
    """
    seen: set[tuple[int, int]] = set()

    def leave_out(path: Path, reason: str) -> None:
        if on_left_out is not None:
            on_left_out(path, reason)

    for given in (Path(path).expanduser() for path in paths):
        for path in _walk(given, leave_out) if given.is_dir() else (given,):
            try:
                status = path.stat()
                if not stat.S_ISREG(status.st_mode):
                    leave_out(path, "not a regular file")
                    continue
                refusal = detect(path) if path != given else None
            except OSError as error:
                leave_out(path, f"cannot be read: {error.strerror or error}")
                continue
            key = (status.st_dev, status.st_ino)
            if isinstance(refusal, Refusal):
                if path.name.endswith(_LINES) or (refusal.name or "").partition(" ")[0] not in {"", "Claude"}:
                    leave_out(path, refusal.reason)
            elif key not in seen:
                seen.add(key)
                yield path


def _walk(folder: Path, leave_out: Callable[[Path, str], None]) -> Iterator[Path]:
    def report(error: OSError) -> None:
        leave_out(Path(error.filename), f"cannot be read: {error.strerror}")

    for root, folders, files in os.walk(folder, onerror=report):
        folders[:] = sorted(name for name in folders if name not in _NEVER_WALKED)
        for name in sorted(files):
            if name.endswith((_LINES, *_OTHERS)):
                yield Path(root, name)


def open_session(path: str | Path, on_skip: OnSkip | None = None) -> Reader | Refusal:
    """Give the reader of a session file, or the reason why it is none.

    `on_skip` is told of every line that gives no message, while the messages are iterated.

    :raises OSError: the file cannot be read.
    """
    path = Path(path).expanduser()
    found = detect(path)
    if isinstance(found, Refusal):
        return found
    return ClaudeReader(path, on_skip) if found == "claude" else CodexReader(path, on_skip)
