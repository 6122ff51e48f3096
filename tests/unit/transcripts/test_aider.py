"""aider: markdown that is appended for ever, where headings and quotations are not what they look like."""

from pathlib import Path

import pytest
from tests.unit.transcripts.samples import AIDER, read_all, short

from amber.pipeline.transcripts import open_session

START = (
    "# aider chat started at 2026-10-05 09:10:00\n\n> /venv/bin/aider  \n> Model: gpt-4o with diff edit format  \n\n"
)


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return path


def test_runs_and_who_speaks_in_them(tmp_path: Path) -> None:
    (one, first), (other, second) = read_all(write(tmp_path / ".aider.chat.history.md", AIDER))
    assert [(m.role, m.kind) for m in first] == [
        ("user", "prompt"),
        ("assistant", "reply"),
        ("system", "command"),
        ("user", "command"),
        ("user", "prompt"),
        ("assistant", "reply"),
        ("system", "command"),
        ("user", "injected"),
    ]
    assert [m.text for m in first if m.role != "assistant"] == [
        "Rename the zebra\n\nand the okapi",
        "Applied edit to a.md\nCommit 2222222 feat: rename",
        "/diff",
        "why?",
        "===== test session =====\nfailed: zebra\n\n1 failed",
        "# Fix any errors below, if possible.",
    ]
    assert short(second) == [("command", "!ls"), ("command", "a.md"), ("prompt", "hello"), ("reply", "Hello!")]
    info = one.info()
    assert (info.format, info.models, info.versions) == ("aider", ("gpt-4o",), ("v0.80.0",))
    assert (info.started_at, first[0].at, first[0].zone) == (1791191400000000, 1791191400000000, None)
    assert info.cwd == str(tmp_path.resolve())
    assert info.session_id.startswith("aider-2026-10-05T09:10:00-")
    assert one.skips["run in which nobody said anything"] == 2
    assert other.info().session_id.startswith("aider-2026-10-06T10:00:00-")


def test_headings_quotations_and_edits_of_an_answer_stay_in_it(tmp_path: Path) -> None:
    (_, messages), _ = read_all(write(tmp_path / "h.md", AIDER))
    reply = messages[1].text
    for line in (
        "# A title",
        "#### A heading",
        "> a quotation",
        "# aider chat\n> quoted  \n#### zebra",
        "#### okapi  ",
    ):
        assert line in reply
    assert reply.endswith(">>>>>>> REPLACE\n```")


def test_tokens_stand_on_the_answer_before_them(tmp_path: Path) -> None:
    (_, messages), _ = read_all(write(tmp_path / "h.md", AIDER))
    assert [m.tokens for m in messages if m.kind == "reply"] == [
        {"input": 3100, "cache_write": 1024, "output": 500},
        {"input": 900, "output": 12},
    ]


def test_a_model_may_change_in_a_run(tmp_path: Path) -> None:
    text = (
        START
        + "#### one  \n\nOne.\n\n#### /model o3  \n> Models: o3 with diff edit format, weak model x  \n\n#### two  \n\nTwo.\n\n"
    )
    ((reader, messages),) = read_all(write(tmp_path / "h.md", text))
    assert [m.model for m in messages if m.kind == "reply"] == ["gpt-4o", "o3"]
    assert reader.info().models == ("gpt-4o", "o3")


@pytest.mark.parametrize("after", ["\n\n#### next  \n", "\n\n> ^C KeyboardInterrupt  \n\n#### next  \n", "\n\n# aider chat started at 2026-10-05 10:00:00\n\n#### next  \n"])  # fmt: skip
def test_an_answer_that_broke_off_inside_an_edit_swallows_nothing(tmp_path: Path, after: str) -> None:
    text = START + "#### one  \n\na.py\n```\n<<<<<<< SEARCH\nold\n=======\nne" + "\n" + after
    prompts = [
        m.text for _, messages in read_all(write(tmp_path / "h.md", text)) for m in messages if m.kind == "prompt"
    ]
    assert prompts == ["one", "next"]


def test_a_torn_head_is_a_session_without_a_time(tmp_path: Path) -> None:
    text = "#### lost  \n\nFound.\n\n" + AIDER
    (reader, messages), *others = read_all(write(tmp_path / "h.md", text))
    assert short(messages)[:2] == [("prompt", "lost"), ("reply", "Found.")]
    assert messages[0].at is None
    assert reader.info().session_id.startswith("aider-head-")
    assert len(others) == 2


def test_two_runs_of_one_second_are_two(tmp_path: Path) -> None:
    names = {reader.info().session_id for reader, _ in read_all(write(tmp_path / "h.md", (START + "#### x  \n\n") * 3))}
    assert len(names) == 3


def test_what_may_still_be_written_waits(tmp_path: Path) -> None:
    text = START + "#### hello  \n\nHello, I am here.\n\n> Applied edit to a.py  \n"
    path = write(tmp_path / "h.md", text)
    known: dict[str, tuple[str, str]] = {}
    # aider writes whole pieces; a reader may see the last one torn anywhere
    for end in range(len(START) + 1, len(text) + 1):
        path.write_text(text[:end])
        for _, messages in read_all(path) if "####" in text[:end] else ():
            for message in messages:
                if text[:end].endswith("  \n") or text[:end].endswith("\n\n"):
                    assert known.setdefault(message.uid, (message.kind, message.text)) == (message.kind, message.text)
    assert sorted(kind for kind, _ in known.values()) == ["prompt", "reply"]
    ((reader, _),) = read_all(path)
    assert reader.skips["may still be written"] == 1
    path.write_text(text + "\n#### more  \n")
    ((_, messages),) = read_all(path)
    assert [m.kind for m in messages] == ["prompt", "reply", "command", "prompt"]


def test_line_ends_marks_and_bad_bytes(tmp_path: Path) -> None:
    path = tmp_path / "h.md"
    body = (START + "#### caf\xe9 \u2028 \x85 \x0c  \n\nYes.\n\n").replace("\n", "\r\n")
    path.write_bytes(b"\xef\xbb\xbf" + body.encode() + b"#### \xff\xed\xa0\x80 \x00  \r\n")
    ((_, messages),) = read_all(path)
    assert short(messages) == [
        ("prompt", "caf\xe9 \u2028 \x85 \x0c"),
        ("reply", "Yes."),
        ("prompt", "\ufffd\ufffd\ufffd\ufffd \x00"),
    ]


def test_a_file_without_runs_of_words_holds_no_session(tmp_path: Path) -> None:
    path = write(tmp_path / "h.md", START * 3)
    session = open_session(path)
    assert not list(session.sessions())  # type: ignore[union-attr]
