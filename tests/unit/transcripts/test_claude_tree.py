"""What was taken back, and what only looks so."""

from pathlib import Path

from tests.unit.transcripts.build import Claude, call, read, text, write

from amber.pipeline.transcripts import TranscriptMessage


def dead(messages: list[TranscriptMessage]) -> list[str]:
    return [message.text for message in messages if not message.live]


def test_an_edited_prompt_is_taken_back_with_all_below_it(tmp_path: Path) -> None:
    c = Claude()
    lines = [c.user("start"), c.answer(text("ok"))]
    fork = c.tip
    lines += [c.user("use Redis"), c.answer(text("Redis it is"), answer="msg_2")]
    c.tip = fork
    lines += [c.user("use Redis, locally"), c.user("[Request interrupted by user]")]
    c.tip = fork
    lines += [c.user("use Postgres"), c.answer(text("Postgres it is"), answer="msg_3")]
    _, messages = read(write(tmp_path / "s.jsonl", *lines))
    assert dead(messages) == ["use Redis", "Redis it is", "use Redis, locally", "[Request interrupted by user]"]


def test_the_last_prompt_record_names_the_live_branch(tmp_path: Path) -> None:
    c = Claude()
    lines = [c.user("start"), c.answer(text("ok"))]
    fork = c.tip
    lines += [c.user("one"), c.answer(text("first"), answer="msg_2")]
    leaf = c.tip
    c.tip = fork
    lines += [c.user("two"), {"type": "last-prompt", "lastPrompt": "one", "leafUuid": leaf}]
    assert dead(read(write(tmp_path / "s.jsonl", *lines))[1]) == ["two"]


def test_the_walk_crosses_a_compaction_and_a_lost_record(tmp_path: Path) -> None:
    c = Claude()
    lines = [c.user("start")]
    fork = c.tip
    lines += [c.user("first try")]
    c.tip = fork
    lines += [c.user("second try"), c.answer(text("done"))]
    before = c.tip
    c.tip = None
    lines += [c.record("system", subtype="compact_boundary", logicalParentUuid=before)]
    lines += [c.user("This session is being continued ...", isCompactSummary=True), c.user("go on")]
    c.tip = "dropped"
    lines += [c.user("and on")]
    assert dead(read(write(tmp_path / "s.jsonl", *lines))[1]) == ["first try"]


def test_results_of_parallel_calls_hang_off_side_branches_and_live(tmp_path: Path) -> None:
    c = Claude()
    lines = [c.user("look"), c.answer(call("Read", "t1", file_path="a"))]
    one = c.tip
    lines += [c.answer(call("Read", "t2", file_path="b"))]
    two = c.tip
    c.tip = one
    lines += [c.result("t1", "A")]
    c.tip = two
    lines += [c.result("t2", "B"), c.answer(text("both read"), answer="msg_2"), c.user("good")]
    assert dead(read(write(tmp_path / "s.jsonl", *lines))[1]) == []


def test_what_is_no_retraction(tmp_path: Path) -> None:
    c = Claude()
    lines = [c.user("start"), c.answer(text("ok"))]
    fork = c.tip
    lines += [c.user("queued while busy", promptSource="queued")]
    c.tip = fork
    lines += [c.user("<command-name>/help</command-name>")]
    c.tip = fork
    lines += [c.user("[Request interrupted by user]")]
    c.tip = fork
    lines += [c.user("go on"), c.answer(text("on"), answer="msg_2")]
    assert dead(read(write(tmp_path / "s.jsonl", *lines))[1]) == []


def test_of_two_prompts_without_parent_only_an_unanswered_one_was_taken_back(tmp_path: Path) -> None:
    for answered, expected in ((False, ["first"]), (True, [])):
        c = Claude()
        lines = [c.user("first")]
        lines += [c.answer(text("an answer"))] if answered else []
        c.tip = None
        lines += [c.user("first, better"), c.answer(text("ok"), answer="msg_2")]
        assert dead(read(write(tmp_path / "s.jsonl", *lines))[1]) == expected


def test_a_circle_of_parents_ends(tmp_path: Path) -> None:
    c = Claude()
    lines = [c.user("a", parentUuid="u2"), c.user("b", parentUuid="u1"), c.user("c", parentUuid="u1")]
    assert len(read(write(tmp_path / "s.jsonl", *lines))[1]) == 3
