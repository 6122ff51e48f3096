"""Read a JSON-lines file that another program may be writing, without ever holding more than one line of it.

Lines end at b"\\n" only: U+2028, U+0085 and form feeds stand inside JSON strings, and str.splitlines() cuts there.
"""

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

import orjson

from amber.pipeline.transcripts.record import OnSkip, Skip

# The longest lines seen in 590 real files are 1.3 MB (pasted images); what is far beyond is not a session, and a file
# without any line end must not be loaded whole.
MAX_LINE: Final = 64 * 1024 * 1024

Json: TypeAlias = Any
Record: TypeAlias = dict[str, Any]

BOM: Final = b"\xef\xbb\xbf"
_REPLACEMENT: Final = "\ufffd"


def parse_json(raw: bytes | str, *, finite: bool = True) -> Json:
    """Parse JSON as leniently as a transcript needs.

    Invalid UTF-8 and lone surrogates become U+FFFD; control characters may stand raw in strings. NaN and infinities
    are an error, or None where a whole document would be lost for one of them (`finite=False`).

    :raises ValueError: this is not JSON.
    """
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw
    to_float = _to_float if finite else _to_float_or_none
    try:
        return _without_surrogates(
            json.loads(text, strict=False, parse_int=_to_int, parse_float=to_float, parse_constant=to_float)
        )
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def get_text(record: Mapping[str, Any], key: str) -> str:
    """Give a value that should be text; "" when it is absent or anything else."""
    value = record.get(key)
    return value if isinstance(value, str) else ""


def get_dict(record: Mapping[str, Any], key: str) -> Record:
    """Give a value that should be an object; an empty one when it is absent or anything else."""
    value = record.get(key)
    return value if isinstance(value, dict) else {}


def get_dicts(record: Mapping[str, Any], key: str) -> list[Record]:
    """Give the objects of a value that should be a list of objects."""
    value = record.get(key)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _to_int(digits: str) -> int | float:
    value = int(digits)
    # As orjson reads it, and because orjson writes no larger one.
    return value if -(2**63) <= value < 2**64 else _to_float(digits)


def _to_float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError("not a JSON number")
    return value


def _to_float_or_none(digits: str) -> float | None:
    value = float(digits)
    return value if math.isfinite(value) else None


def _without_surrogates(value: Json) -> Json:
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return "".join(_REPLACEMENT if "\ud800" <= char <= "\udfff" else char for char in value)
        return value
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    return value


class LineReader:
    """Read the records of a JSON-lines file up to a size that is fixed beforehand."""

    def __init__(self, path: Path, size: int) -> None:
        self._path = path
        self._size = size
        self.bytes_read = 0

    def records(self, on_skip: OnSkip | None = None) -> Iterator[tuple[int, Record]]:
        """Yield line number and record; report every other line with its reason.

        A last line without its line end counts when it is a whole record, and is a torn line when it is not: it is
        reported and left for the next reading.

        :raises OSError: the file cannot be read.
        """
        self.bytes_read = 0
        for number, raw in self._lines():
            whole = raw.endswith(b"\n")
            if len(raw) >= MAX_LINE:
                reason = f"line longer than {MAX_LINE // (1024 * 1024)} MB"
            elif not (stripped := raw.strip()):
                reason = "empty line"
            else:
                try:
                    record = parse_json(stripped)
                except ValueError:
                    reason = "torn last line" if not whole else _name_text(stripped)
                else:
                    if isinstance(record, dict):
                        yield number, record
                        continue
                    # A torn number is a number: 12 of 1234.
                    reason = "not an object" if whole else "torn last line"
            if on_skip is not None:
                on_skip(Skip(number, reason))

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        number = 0
        with self._path.open("rb", buffering=256 * 1024) as file:
            while (left := self._size - self.bytes_read) > 0:
                raw = file.readline(min(left, MAX_LINE))
                if not raw:
                    return
                self.bytes_read += len(raw)
                number += 1
                if number == 1:
                    raw = raw.removeprefix(BOM)
                yield number, raw
                if len(raw) == MAX_LINE and not raw.endswith(b"\n"):
                    self._pass_over_rest(file)

    def _pass_over_rest(self, file: Any) -> None:
        while (left := self._size - self.bytes_read) > 0:
            raw = file.readline(min(left, MAX_LINE))
            self.bytes_read += len(raw)
            if not raw or raw.endswith(b"\n"):
                return


def _name_text(line: bytes) -> str:
    return "comment line" if line.startswith(b"//") else "not JSON"
