"""Whatever stands in a file of any format, only the errors that are promised leave a reader."""

import json
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.transcripts.samples import AIDER, ANTHROPIC, CHATGPT, MCP, MINI, OPENAI, OPENHANDS, SWE_2024, SWE_2025
from tests.unit.transcripts.test_hostile import spoil

from amber.errors import BadInput
from amber.pipeline.transcripts import Refusal, open_session
from amber.pipeline.transcripts.aider import AiderReader
from amber.pipeline.transcripts.chatgpt import ChatGPTReader
from amber.pipeline.transcripts.mcp_memory import McpMemoryReader
from amber.pipeline.transcripts.mini_swe_agent import MiniSweAgentReader
from amber.pipeline.transcripts.openhands import OpenHandsReader
from amber.pipeline.transcripts.plain import PlainDocument, PlainLines, PlainSet
from amber.pipeline.transcripts.reader import Reader
from amber.pipeline.transcripts.swe_agent import SweAgentReader

DOCUMENTS = [SWE_2025, SWE_2024, OPENHANDS, MINI, OPENAI, ANTHROPIC, CHATGPT, CHATGPT[0], MCP, {"messages": MINI, "info": {"mini_version": "1"}}]  # fmt: skip
RAW = [*map(orjson.dumps, DOCUMENTS), *(b"\n".join(map(orjson.dumps, each)) for each in (OPENAI, MCP, CHATGPT)), AIDER.encode()]  # fmt: skip

relaxed = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def read_whole(reader: Reader) -> None:
    try:
        for part in reader.sessions():
            info = part.info()
            orjson.dumps([*info])
            uids = []
            for message in part:
                orjson.dumps([*message[:7], [*(message.tool or ())], *message[8:]])
                assert message.text.strip() or message.kind == "tool_result"
                assert message.at is None or -(2**63) <= message.at < 2**63
                uids.append(message.uid)
            assert len(uids) == len(set(uids))
            assert [message.uid for message in part] == uids
    except BadInput as error:
        reason = error.message
    else:
        return
    assert reason


def read_with_all(path: Path) -> None:
    for whole in (0, 10**9):
        found = open_session(path, whole=whole)
        if isinstance(found, Refusal):
            assert found.reason
        else:
            read_whole(found)
        for reader in (
            SweAgentReader(path, place=("history",), whole=whole),
            OpenHandsReader(path, whole=whole),
            MiniSweAgentReader(path, whole=whole),
            MiniSweAgentReader(path, place=("messages",), whole=whole),
            PlainDocument(path, whole=whole),
            PlainSet(path, as_document=True, whole=whole),
            ChatGPTReader(path, whole=whole),
            ChatGPTReader(path, is_single=True, whole=whole),
        ):
            read_whole(reader)
    for other in (PlainLines(path), PlainSet(path), McpMemoryReader(path), AiderReader(path)):
        read_whole(other)


@relaxed
@given(st.binary(max_size=200))
def test_any_bytes(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "f"
    path.write_bytes(raw)
    read_with_all(path)


@st.composite
def spoiled(draw: st.DrawFn) -> bytes:
    value = draw(st.sampled_from(DOCUMENTS))
    for _ in range(draw(st.integers(1, 3))):
        value = spoil(draw, value)
    # json writes what orjson does not: surrogates and numbers beyond 64 bits
    return json.dumps(value, indent=draw(st.sampled_from([None, 1]))).encode()


@settings(relaxed, max_examples=150)
@given(spoiled())
def test_values_of_the_wrong_type(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "f"
    path.write_bytes(raw)
    read_with_all(path)


@st.composite
def torn(draw: st.DrawFn) -> bytes:
    raw = draw(st.sampled_from(RAW))
    for _ in range(draw(st.integers(1, 4))):
        first = draw(st.integers(0, len(raw)))
        last = draw(st.integers(first, min(len(raw), first + 40)))
        raw = raw[:first] + draw(st.binary(max_size=8) | st.sampled_from([b"\\ud800", b"\n", b"  \n", b"#### ", b"]", b"1e999"])) + raw[last:]  # fmt: skip
    return raw


@settings(relaxed, max_examples=150)
@given(torn())
def test_bytes_that_were_lost_or_came_in(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "f"
    path.write_bytes(raw)
    read_with_all(path)


@pytest.mark.parametrize("value", [None, True, 7, "x", [], {}, [[]], [{}], {"x": 1}])
@pytest.mark.parametrize("key", ["role", "content", "tool_calls", "tool_call_id", "tool_call_ids", "function_call", "name", "model", "usage", "extra", "timestamp", "type"])  # fmt: skip
def test_any_field_of_a_message(tmp_path: Path, key: str, value: Any) -> None:
    path = tmp_path / "f"
    path.write_bytes(
        orjson.dumps([{"role": "user", "content": "x"}, {**OPENAI[2], key: value}, {**OPENAI[3], key: value}])
    )
    read_with_all(path)
