"""ChatGPT exports: trees of messages, each conversation one session."""

import copy
from pathlib import Path
from typing import Any

import pytest
from tests.unit.transcripts.samples import CHATGPT, document, node, read_all, said, short

from amber.errors import BadInput
from amber.pipeline.transcripts import Reader, Refusal, open_session


def test_each_conversation_is_a_session(tmp_path: Path) -> None:
    (one, messages), (other, second) = read_all(document(tmp_path / "conversations.json", CHATGPT))
    assert [(m.role, m.kind, m.text, m.live) for m in messages] == [
        ("user", "prompt", "the wrong giraffe", False),
        ("assistant", "reply", "About giraffes.", False),
        ("user", "prompt", "[image]\nthe right zebra", True),
        ("assistant", "tool_call", "python: print(1)", True),
        ("tool", "tool_result", "1", True),
        ("assistant", "thinking", "I think.", True),
        ("user", "injected", "Ana", True),
        ("assistant", "reply", "Zebras have stripes.", True),
    ]
    assert short(second) == [("prompt", "hello")]
    info = one.info()
    assert (info.session_id, info.title, info.models) == ("11111111-aaaa", "Zebras", ("o3",))
    assert (info.started_at, messages[2].at, messages[-1].model) == (1791187200500000, None, "o3")
    assert other.info().session_id == "22222222-bbbb"
    assert one.skips == {"node without a message": 1, "empty text": 1}


def test_the_branch_that_is_shown_is_the_one_of_the_current_node(tmp_path: Path) -> None:
    value = copy.deepcopy(CHATGPT[:1])
    value[0]["current_node"] = "n3"
    ((_, messages),) = read_all(document(tmp_path / "c.json", value))
    assert [m.text for m in messages if m.live] == ["the wrong giraffe", "About giraffes."]
    for missing in ("gone", None, 7):
        value[0]["current_node"] = missing
        ((_, messages),) = read_all(document(tmp_path / "c.json", value))
        assert [m.text for m in messages if not m.live] == ["the wrong giraffe", "About giraffes."]


def test_a_conversation_saved_alone(tmp_path: Path) -> None:
    ((_, alone),) = read_all(document(tmp_path / "one.json", CHATGPT[0], pretty=True))
    assert alone == read_all(document(tmp_path / "all.json", CHATGPT))[0][1]


@pytest.mark.parametrize(
    "mapping",
    [
        {
            "a": {"parent": "b", "children": ["b"], "message": said("user", "x")},
            "b": {"parent": "a", "children": ["a"]},
        },
        {"a": {"parent": "gone", "children": ["gone", "a", 7, None], "message": said("user", "x")}},
        {"a": {"parent": 7, "children": "a", "message": said("user", "x")}, "b": None, "c": 7},
        {"a": {"message": {**said("user", "x"), "author": {"role": "user"}, "metadata": None, "create_time": "soon"}}},
    ],
)
def test_broken_trees(tmp_path: Path, mapping: Any) -> None:
    value = [{"title": 7, "mapping": mapping, "current_node": "a", "create_time": 1e300}]
    ((reader, messages),) = read_all(document(tmp_path / "c.json", value))
    assert short(messages) == [("prompt", "x")]
    assert reader.info().session_id.startswith("chatgpt-")


def test_a_long_conversation_needs_no_deep_stack(tmp_path: Path) -> None:
    mapping: dict[str, Any] = {}
    for number in range(5000):
        mapping |= node(f"n{number}", f"n{number - 1}", f"n{number + 1}", **said("user", str(number)))
    value = [{"title": "long", "mapping": mapping, "current_node": "n4999"}]
    ((_, messages),) = read_all(document(tmp_path / "c.json", value))
    assert [m.text for m in messages] == [str(number) for number in range(5000)]
    assert all(m.live for m in messages)


def test_what_is_no_conversation_is_counted(tmp_path: Path) -> None:
    value = [*CHATGPT, 7, {"title": "x", "mapping": None}]
    *_, (last, _) = read_all(document(tmp_path / "c.json", value))
    assert last.skips == {"not an object": 1, "record without a conversation": 1}


def test_a_damaged_export_is_refused_when_small_and_read_as_far_as_it_goes_when_large(tmp_path: Path) -> None:
    path = document(tmp_path / "conversations.json", CHATGPT)
    path.write_bytes(path.read_bytes()[:-30])
    found = open_session(path)
    assert isinstance(found, Refusal)
    assert found.name == "chatgpt"
    assert "breaks off or is damaged" in found.reason
    large = open_session(path, whole=100)
    assert isinstance(large, Reader)
    sessions = large.sessions()
    assert len(list(next(sessions))) == 8
    with pytest.raises(BadInput, match="import it again later"):
        next(sessions)
