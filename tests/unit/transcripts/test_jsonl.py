"""Lines of a file that others write: cut where they end, read as far as they can be, counted when they cannot."""

from pathlib import Path

import pytest

from amber.pipeline.transcripts import jsonl
from amber.pipeline.transcripts.jsonl import LineReader, Record, parse_json
from amber.pipeline.transcripts.record import Skip


def read_lines(path: Path, raw: bytes, size: int | None = None) -> tuple[list[tuple[int, Record]], list[Skip]]:
    path.write_bytes(raw)
    skips: list[Skip] = []
    lines = LineReader(path, len(raw) if size is None else size)
    records = list(lines.records(skips.append))
    assert lines.bytes_read == min(len(raw), lines.bytes_read)
    return records, skips


def test_lines_end_at_newlines_only(tmp_path: Path) -> None:
    raw = '{"a":"x\u2028y\x85z\u2029"}\r\n{"b":1}\n'.encode()
    assert read_lines(tmp_path / "f", raw) == ([(1, {"a": "x\u2028y\x85z\u2029"}), (2, {"b": 1})], [])


def test_every_other_line_is_counted_with_its_reason(tmp_path: Path) -> None:
    raw = b'// Source: a gist\n\nnot json\n[1]\n7\n{"a":1}\n{"torn":\n{"b":2}\n'
    records, skips = read_lines(tmp_path / "f", raw)
    assert records == [(6, {"a": 1}), (8, {"b": 2})]
    assert skips == [
        (1, "comment line"),
        (2, "empty line"),
        (3, "not JSON"),
        (4, "not an object"),
        (5, "not an object"),
        (7, "not JSON"),
    ]


@pytest.mark.parametrize("tail", [b'{"b":', b'{"b":"\xe4\xba', b"12", b'{"b":"caf\\u00'])
def test_a_torn_last_line_is_left_for_the_next_time(tmp_path: Path, tail: bytes) -> None:
    assert read_lines(tmp_path / "f", b'{"a":1}\n' + tail) == ([(1, {"a": 1})], [(2, "torn last line")])


def test_a_whole_last_line_needs_no_newline(tmp_path: Path) -> None:
    assert read_lines(tmp_path / "f", b'{"a":1}\n{"b":2}') == ([(1, {"a": 1}), (2, {"b": 2})], [])


def test_what_is_written_after_the_size_was_fixed_is_not_seen(tmp_path: Path) -> None:
    raw = b'{"a":1}\n{"b":2}\n'
    assert read_lines(tmp_path / "f", raw, size=10) == ([(1, {"a": 1})], [(2, "torn last line")])
    assert read_lines(tmp_path / "f", raw, size=8) == ([(1, {"a": 1})], [])


def test_a_byte_order_mark_is_no_part_of_the_first_record(tmp_path: Path) -> None:
    assert read_lines(tmp_path / "f", b'\xef\xbb\xbf{"a":1}\n') == ([(1, {"a": 1})], [])


def test_a_line_without_end_is_passed_over_piece_by_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl, "MAX_LINE", 16)
    records, skips = read_lines(tmp_path / "f", b'{"a":1}\n{"b":"' + b"x" * 100 + b'"}\n{"c":3}\n')
    assert records == [(1, {"a": 1}), (3, {"c": 3})]
    assert [skip.line for skip in skips] == [2]
    assert skips[0].reason.startswith("line longer than")


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b'"caf\xe9"', "caf\ufffd"),
        (b'"a\\ud800b"', "a\ufffdb"),
        (b'"\\ud83d\\ude80"', "\U0001f680"),
        (b'{"\\udc00":["\\udfff",{"k":"\\ud800"}]}', {"\ufffd": ["\ufffd", {"k": "\ufffd"}]}),
        (b'"nul\\u0000"', "nul\x00"),
        (b'"raw\x00\x1f"', "raw\x00\x1f"),
        (b'{"n":123456789012345678901234567890,"s":"\\ud800"}', {"n": 123456789012345678901234567890.0, "s": "\ufffd"}),
    ],
)
def test_lenient_parsing(raw: bytes, value: object) -> None:
    assert parse_json(raw) == value


@pytest.mark.parametrize(
    "raw", [b"", b"nope", b"[NaN]", b"[Infinity]", b'{"n":1e999,"s":"\\ud800"}', b"[" * 100_000, b"[" + b"9" * 5000]
)
def test_what_is_not_json(raw: bytes) -> None:
    with pytest.raises(ValueError):
        parse_json(raw)
