"""Find the session files in folders, and open them."""

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from amber.errors import BadInput
from amber.pipeline.transcripts.aider import AiderReader, is_history_name
from amber.pipeline.transcripts.chatgpt import ChatGPTReader
from amber.pipeline.transcripts.claude import ClaudeReader
from amber.pipeline.transcripts.codex import CodexReader
from amber.pipeline.transcripts.detect import Refusal, Shape, detect, examine
from amber.pipeline.transcripts.document import WHOLE
from amber.pipeline.transcripts.mcp_memory import McpMemoryReader
from amber.pipeline.transcripts.mini_swe_agent import MiniSweAgentReader
from amber.pipeline.transcripts.openhands import OpenHandsReader
from amber.pipeline.transcripts.plain import open_plain
from amber.pipeline.transcripts.reader import Reader
from amber.pipeline.transcripts.record import Format, OnSkip
from amber.pipeline.transcripts.swe_agent import SweAgentReader

_LINES: Final = ".jsonl"
_OTHERS: Final = (".traj", ".json")
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
            if is_candidate(name):
                yield Path(root, name)


def is_candidate(name: str) -> bool:
    """Tell by its name whether a file in a folder is looked at."""
    return name.endswith((_LINES, *_OTHERS)) or is_history_name(Path(name))


def open_session(path: str | Path, on_skip: OnSkip | None = None, *, whole: int = WHOLE) -> Reader | Refusal:
    """Give the reader of a session file, or the reason why it is none.

    `on_skip` is told of every line that gives no message, while the messages are iterated. A JSON document of more
    than `whole` bytes is streamed. A file may hold several sessions: `Reader.sessions` gives them one by one.

    :raises OSError: the file cannot be read.
    """
    path = Path(path).expanduser()
    found = examine(path)
    if isinstance(found.what, Refusal):
        return found.what
    try:
        reader = _open(found.what, found.shape, path, on_skip, whole)
        reader.check()
    except BadInput as error:
        return Refusal(found.what, error.message)
    return reader


def _open(what: Format, shape: Shape, path: Path, on_skip: OnSkip | None, whole: int) -> Reader:
    if what == "claude":
        return ClaudeReader(path, on_skip)
    if what == "codex":
        return CodexReader(path, on_skip)
    if what == "aider":
        return AiderReader(path, on_skip)
    if what == "mcp-memory":
        return McpMemoryReader(path, on_skip)
    if what == "chatgpt":
        return ChatGPTReader(path, on_skip, is_single=shape != "list", whole=whole)
    if what == "openhands":
        return OpenHandsReader(path, on_skip, whole=whole)
    if what == "swe-agent":
        return SweAgentReader(path, on_skip, place=("history",), whole=whole)
    if what == "mini-swe-agent":
        return MiniSweAgentReader(path, on_skip, place=() if shape == "list" else ("messages",), whole=whole)
    return open_plain(path, on_skip, shape, whole)
