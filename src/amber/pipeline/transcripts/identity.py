"""Name sessions and messages of formats that give them no ids, by what they hold.

A name must be the same at every reading, in whatever folder the file lies, and however much was added since. So a
session is named by its file and its opening, up to the first answer (two runs of one task differ there), and a message
by what was said and how often that was said before.
"""

from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import orjson

_MAX_STEM: Final = 120


def fingerprint(*values: Any) -> str:
    """Give 16 letters that stand for JSON values."""
    try:
        raw = orjson.dumps(values, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:
        # beyond what it writes: nested without end
        raw = str(len(values)).encode()
    return blake2b(raw, digest_size=8).hexdigest()


def name_session(path: Path, mark: str) -> str:
    """Name a session by its file and a fingerprint."""
    stem = path.name.removeprefix(".").partition(".")[0] or "session"
    return f"{stem.encode('utf-8', 'replace').decode()[:_MAX_STEM]}-{mark}"


class Uids:
    """Give uids by what was said; what is said again gets a number."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def name(self, *said: Any) -> str:
        """Name something that was said."""
        return self.count(fingerprint(*said))

    def count(self, name: str) -> str:
        """Make a name unique that may have been given before."""
        times = self._seen[name] = self._seen.get(name, 0) + 1
        return name if times == 1 else f"{name}-{times}"
