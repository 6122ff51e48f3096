"""Whatever stands in a file, reading ends without an error; and what was read once is read the same when it grows."""

from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amber.pipeline.transcripts import Reader, Refusal, detect, open_session
from amber.pipeline.transcripts.claude import ClaudeReader
from amber.pipeline.transcripts.codex import CodexReader

EXAMPLES = sorted(Path(__file__).parents[3].joinpath("examples").rglob("*.jsonl"))
LINES = [line for path in EXAMPLES for line in path.read_bytes().splitlines()]

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 10**20) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
relaxed = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def read_with_both(path: Path) -> None:
    detect(path)
    for reader in (ClaudeReader(path), CodexReader(path)):
        reader.info()
        uids = [message.uid for message in reader]
        assert len(uids) == len(set(uids))
        assert reader.bytes_read == reader.bytes_total
        for message in reader:
            message.text.encode()


@relaxed
@given(st.binary(max_size=300))
def test_any_bytes(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(raw)
    read_with_both(path)


def spoil(draw: st.DrawFn, value: Any) -> Any:
    """Replace one value somewhere below."""
    if isinstance(value, dict) and value and draw(st.integers(0, 5)):
        key = draw(st.sampled_from(sorted(value)))
        return value | {key: spoil(draw, value[key])}
    if isinstance(value, list) and value and draw(st.integers(0, 5)):
        place = draw(st.integers(0, len(value) - 1))
        return [*value[:place], spoil(draw, value[place]), *value[place + 1 :]]
    return draw(json_values)


@st.composite
def spoiled_lines(draw: st.DrawFn) -> bytes:
    record = orjson.loads(draw(st.sampled_from(LINES)))
    for _ in range(draw(st.integers(0, 2))):
        record = spoil(draw, record)
    try:
        return orjson.dumps(record)
    except TypeError:
        return b'{"n":1e999}'


@settings(relaxed, max_examples=300)
@given(st.lists(spoiled_lines(), min_size=1, max_size=8))
def test_records_of_the_wrong_shape(tmp_path: Path, lines: list[bytes]) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"\n".join(lines))
    read_with_both(path)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem[-12:])
def test_a_growing_file_never_says_otherwise(tmp_path: Path, example: Path) -> None:
    raw = example.read_bytes()
    path = tmp_path / example.name
    whole = open_session(example)
    assert isinstance(whole, Reader)
    known = {message.uid: (message.role, message.kind, message.text) for message in whole}
    ends = [place for place, byte in enumerate(raw) if byte == 0x0A]
    for end in ends:
        path.write_bytes(raw[: end - 3])
        session = open_session(path)
        if isinstance(session, Refusal):
            continue
        for message in session:
            assert known[message.uid] == (message.role, message.kind, message.text)
