"""Documents: whole when they are small, item by item when not, and the same either way."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

import ijson
import orjson
import pytest
from tests.unit.transcripts.samples import (
    ANTHROPIC,
    CHATGPT,
    EVERY,
    MINI,
    OPENAI,
    OPENHANDS,
    SWE_2025,
    document,
    read_all,
)

from amber.errors import BadInput
from amber.pipeline.transcripts import Reader, Refusal, open_session
from amber.pipeline.transcripts.document import _CHUNK, Document

DEEP = '{"k":' * 5000 + "1" + "}" * 5000


def items(path: Path, raw: bytes | str, place: tuple[str, ...] = (), whole: int = 0) -> list[Any]:
    path.write_bytes(raw.encode() if isinstance(raw, str) else raw)
    return list(Document(path, path.stat().st_size, whole).items(place))


@pytest.mark.parametrize("name", sorted(EVERY))
def test_streamed_is_as_whole(tmp_path: Path, name: str) -> None:
    path = EVERY[name](tmp_path / "sample")
    whole = [(reader.info(), messages, dict(reader.skips)) for reader, messages in read_all(path)]
    streamed = [(reader.info(), messages, dict(reader.skips)) for reader, messages in read_all(path, whole=0)]
    assert streamed == whole


@pytest.mark.parametrize("name", sorted(EVERY))
@pytest.mark.parametrize("whole", [0, 10**9])
def test_progress_ends_at_the_end(tmp_path: Path, name: str, whole: int) -> None:
    session = open_session(EVERY[name](tmp_path / "sample"), whole=whole)
    assert isinstance(session, Reader)
    done = []
    for part in session.sessions():
        part.info()
        for _ in part:
            done.append(part.bytes_read)
            assert part.bytes_read <= part.bytes_total
    assert done == sorted(done)
    assert session.bytes_read == session.bytes_total


@pytest.mark.parametrize("whole", [0, 10**9])
def test_values_that_json_readers_differ_on(tmp_path: Path, whole: int) -> None:
    def read(raw: bytes | str) -> list[Any]:
        return items(tmp_path / "f", raw, whole=whole)

    assert read(b'\xef\xbb\xbf["caf\xe9", "\xed\xa0\x80"]') == ["caf\ufffd", "\ufffd\ufffd\ufffd"]
    assert read(r'["a\ud800b", "\udc00", "\ud83d\ude80", "\\ud800", "\\\ud800\\", "\ud800\ud83d\ude80"]') == [
        "a\ufffdb", "\ufffd", "\U0001f680", r"\ud800", "\\\ufffd\\", "\ufffd\U0001f680",
    ]  # fmt: skip
    assert read("[1e999, 123456789012345678901234567890, -1.5e3, 0, true, null]") == [
        None, 123456789012345678901234567890.0, -1500.0, 0, True, None,
    ]  # fmt: skip
    assert read('["x\\u0000y", "\u2028\x85"]') == ["x\0y", "\u2028\x85"]
    assert read("[]") == read("{}") == read("7") == read('"x"') == []


def test_an_escape_may_stand_on_the_border_of_two_chunks(tmp_path: Path) -> None:
    texts = [
        r"\ud83d\ude80",
        r"\ud800",
        r"\\\\ud800",
        r"\\\ud83d\ude80",
        r"\n\ud83d\ude80\ud800",
        r"\ud800\ud83d\ude80",
    ]
    for text in texts:
        for shift in range(-16, 4):
            padding = "x" * (_CHUNK + shift)
            raw = f'["{padding}{text}"]'
            assert items(tmp_path / "f", raw) == items(tmp_path / "f", raw, whole=10**9)
    assert items(tmp_path / "f", '["' + "\\\\" * _CHUNK + '\\ud800"]') == ["\\" * _CHUNK + "\ufffd"]


def test_infinities_cost_a_small_document_no_more_than_themselves(tmp_path: Path) -> None:
    assert items(tmp_path / "f", '[{"cost": NaN, "x": -Infinity}]', whole=10**9) == [{"cost": None, "x": None}]


@pytest.mark.parametrize("whole", [0, 10**9])
def test_what_is_nested_without_end_is_left_out(tmp_path: Path, whole: int) -> None:
    value = [{"role": "user", "content": "x", "more": 0}, {"role": "assistant", "content": "y"}]
    path = tmp_path / "f"
    path.write_text(json.dumps(value).replace("0}", DEEP + "}"))
    ((_, messages),) = read_all(path, whole=whole)
    assert [m.text for m in messages] == ["x", "y"]
    path.write_text("[" * 200_000)
    with pytest.raises(BadInput):
        list(Document(path, path.stat().st_size, whole).items(()))
    assert isinstance(open_session(path, whole=whole), Refusal)


@pytest.mark.parametrize("whole", [0, 10**9])
@pytest.mark.parametrize("value", [OPENAI, OPENHANDS, MINI, SWE_2025, ANTHROPIC, CHATGPT[0]], ids=["openai", "openhands", "mini", "swe", "anthropic", "chatgpt"])  # fmt: skip
def test_a_document_that_breaks_off_is_refused_with_what_to_do(tmp_path: Path, value: Any, whole: int) -> None:
    path = document(tmp_path / "f.json", value, pretty=True)
    raw = path.read_bytes()
    path.write_bytes(raw[: len(raw) * 2 // 3])
    found = open_session(path, whole=whole)
    if not isinstance(found, Refusal):
        # a tree is read when it is asked for
        with pytest.raises(BadInput, match="import it again later"):
            found.info()
        return
    assert found.name in {"messages", "openhands", "mini-swe-agent", "swe-agent", "chatgpt"}
    assert "import it again later" in found.reason
    path.write_bytes(raw + b"]")
    assert isinstance(open_session(path), Refusal)


def test_places_in_a_document(tmp_path: Path) -> None:
    raw = orjson.dumps(
        {"a": {"list": [9]}, "b": [{"list": [8]}], "list": [1, [2], {"list": [3]}], "info": {"x": {"y": 1}}}
    )
    for whole in (0, 10**9):
        assert items(tmp_path / "f", raw, ("list",), whole) == [1, [2], {"list": [3]}]
        assert items(tmp_path / "f", raw, ("a", "list"), whole) == [9]
        assert items(tmp_path / "f", raw, ("b", "list"), whole) == items(tmp_path / "f", raw, (), whole) == []
        made = Document(tmp_path / "f", len(raw), whole)
        assert made.value(("info", "x")) == {"y": 1}
        assert made.value(("info", "z")) is made.value(("list", "x")) is None
        assert isinstance(made.value(()), dict)


@pytest.mark.skipif(ijson.backend == "python", reason="ijson in pure Python keeps all text that it has read")
@pytest.mark.parametrize("kind", ["messages", "swe-agent", "openhands", "chatgpt"])
def test_memory_is_bounded_by_an_item_when_a_document_is_streamed(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "large.json"
    words = "zebra " * 2000
    with path.open("w") as file:
        record: Any = {"role": "assistant", "content": words}
        if kind == "openhands":
            record = {"id": 1, "source": "agent", "action": "message", "args": {"content": words}}
        elif kind == "chatgpt":
            record = {**CHATGPT[1], "title": words}
        file.write(
            '{"trajectory": [{"messages": ["' + "x" * 1_000_000 + '"]}],\n"history": [' if kind == "swe-agent" else "["
        )
        for number in range(1000):
            file.write(f"{',' if number else ''}{json.dumps(record)}\n")
        file.write("]}" if kind == "swe-agent" else "]")
    size = path.stat().st_size
    assert size > 12_000_000
    tracemalloc.start()
    session = open_session(path, whole=1_000_000)
    assert isinstance(session, Reader)
    count = sum(1 for part in session.sessions() if part.info() for _ in part)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 1000
    assert peak < 4_000_000


def test_memory_is_bounded_by_a_block_in_markdown(tmp_path: Path) -> None:
    path = tmp_path / "h.md"
    with path.open("w") as file:
        for _ in range(200):
            file.write("# aider chat started at 2026-10-05 09:10:00\n\n")
            for _ in range(5):
                file.write("#### zebra  \n\n" + "stripes " * 2000 + "\n\n> Tokens: 9 sent, 9 received.  \n\n")
    assert path.stat().st_size > 12_000_000
    tracemalloc.start()
    session = open_session(path)
    assert isinstance(session, Reader)
    count = sum(1 for part in session.sessions() for _ in part)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 2000
    assert peak < 4_000_000
