"""More inputs of each kind in the list of reported faults than stand there; the numbers are those of the list."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.services.stage import Open, values
from tests.services.test_import import SESSION, claude, claude_session, write

from amber.errors import BadInput, Unsupported
from amber.memory import Memory

# 2: opened again


@pytest.mark.parametrize(
    "again",
    [{}, {"durability": "full"}, {"durability": "off", "timeout": 1.0}, {"create": False}, {"actor": "somebody else"}],
    ids=str,
)
def test_case_2_opened_with_other_settings(sqlite_path: Path, tmp_path: Path, again: dict[str, Any]) -> None:
    recording = write(tmp_path / "session.jsonl", *claude_session(40))
    with Memory.open(sqlite_path, space="acme") as memory:
        memory.register("u", unique=("v",))
        memory.facts.put({"v": 1}, type="u", sender="ana")
        memory.facts.put("Lisbon", sender="ana", key="city")
        memory.facts.put("Porto", sender="ana", key="city")
        memory.facts.delete(memory.facts.put("zebra, deleted"))
        memory.facts.put("zebra of a session", session="s", ephemeral=True)
        memory.import_sessions(recording)
        kept = _all_of(memory)
    file = sqlite_path.stat().st_ino
    for _ in range(2):
        with (
            Memory.open(sqlite_path, space="acme", **again) as memory,
            Memory.open(sqlite_path, space="other") as other,
        ):
            assert _all_of(memory) == kept
            assert other.facts.count() == 0
            assert memory.verify() == []
    assert sqlite_path.stat().st_ino == file


def _all_of(memory: Memory) -> list[Any]:
    return [
        [fact.body for fact in memory.facts.iter(superseded=True, deleted=True)],
        [fact.body for fact in memory.facts.iter(session="s")],
        memory.history.page(limit=1_000),
        [message.body for message in memory.sessions.iter_messages(SESSION)],
        [(hit.text, hit.score) for hit in memory.recall("zebra message 7", limit=50)],
        memory.stats()._replace(bytes=None),
    ]


# 6: the border of a name

NAMES = [
    "t/acme", "t/acme-corp", "t/acme/x", "t/acme/x/y", "t/acme_corp", "t/acme%", "t/acm_", "t/acme*", "t/acme?", "t/acme.x", "t/acme\\x", "t/acme x",
    "t/acme0", "t/acme/%", "t/acme/..", "t/ACME", "t/acmé", "t/acme\u0301", "acme", "t", "t/acme'--", 't/acme"', "t/[a]cme", "日本/東京", "日本/東京都",
]  # fmt: skip


def test_case_6_projects_in_every_read(memory: Memory) -> None:
    for name in NAMES:
        memory.facts.put(f"zebra {name}", key="k", project=name, sender="ana")
    for name in NAMES:
        inside = sorted(each for each in NAMES if each == name or each.startswith(name + "/"))
        assert sorted(str(fact.project) for fact in memory.facts.page(project=name)) == inside
        assert sorted(str(fact.project) for fact in memory.facts.page(project=name, sender="ana")) == inside
        assert sorted(str(fact.project) for fact in memory.facts.page(project=name, where={"key": "k"})) == inside
        assert memory.facts.count(project=name) == len(inside)
        assert sorted(str(hit.project) for hit in memory.recall("zebra", project=name, limit=50)) == inside
        assert memory.facts.get(project=name, key="k", sender="ana").value == f"zebra {name}"
        view = memory.at(memory.history.position())
        assert sorted(str(fact.project) for fact in view.facts.page(project=name)) == inside


@pytest.mark.parametrize("kind", ["space", "sender", "session", "type"])
def test_case_6_other_names_hold_nothing_below_them(memory: Memory, open_memory: Open, kind: str) -> None:
    for n, name in enumerate(NAMES):
        if kind == "space":
            open_memory(name).facts.put(f"zebra {n}")
        else:
            given: dict[str, Any] = {kind: name}
            memory.facts.put(f"zebra {n}", **given)
    for n, name in enumerate(NAMES):
        view = open_memory(name) if kind == "space" else memory
        scope: dict[str, Any] = {} if kind == "space" else {kind: name}
        assert values(view, **scope) == [f"zebra {n}"]
        assert [hit.text for hit in view.recall("zebra", **scope)] == [f"zebra {n}"]
        if kind == "space":
            assert [entry.position for entry in view.history.page()] == [1]
            assert view.verify() == []


def test_case_6_an_undo_stays_in_its_session(memory: Memory) -> None:
    for n, name in enumerate(NAMES):
        with memory.transaction(session=name) as tx:
            tx.facts.put(n)
    for n, name in enumerate(NAMES):
        memory.history.undo(last=1, session=name)
        assert values(memory) == [*range(n + 1, len(NAMES))]


@pytest.mark.parametrize("name", ["", "/", "//", "t//x", "x\0y", "\ud800", "x" * 2_000, 7, b"t"])
def test_case_6_what_can_not_be_a_name(memory: Memory, name: Any) -> None:
    for scope in (
        "project",
        *(each for each in ("sender", "session", "key", "type") if name not in ("/", "//", "t//x")),
    ):
        with pytest.raises(BadInput):
            memory.facts.put("zebra", **{scope: name})
    assert memory.history.position() == 0


# 8: one time stamp


def test_case_8_pages_of_facts_of_one_time(open_memory: Open) -> None:
    memory = open_memory(clock=lambda: 1_700_000_000_000_000)
    made = [memory.facts.put(f"{n:02}", sender="ana" if n % 2 else "ben") for n in range(50)]
    for limit in (1, 7, 50):
        found, cursor = [], None
        while True:
            page = memory.facts.page(after=cursor, limit=limit)
            found += [fact.value for fact in page]
            cursor = page.cursor
            if cursor is None:
                break
        assert found == [fact.value for fact in made]
    assert values(memory, sender="ana") == [f"{n:02}" for n in range(1, 50, 2)]
    assert len({hit.id for hit in memory.recall("07 08 09")}) == 3


def test_case_8_parallel_transactions_of_one_time(open_memory: Open) -> None:
    memory = open_memory(clock=lambda: 1_700_000_000_000_000)

    def work(number: int) -> None:
        for n in range(5):
            with memory.transaction() as tx:
                for part in "ab":
                    tx.facts.put(f"{number}/{n}{part}", sender=str(number))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert memory.facts.count() == 100
    for number in range(10):
        assert values(memory, sender=str(number)) == [f"{number}/{n}{part}" for n in range(5) for part in "ab"]
    assert [entry.position for entry in memory.history.page(limit=100)] == [*range(50, 0, -1)]


def test_case_8_a_recording_of_one_time_keeps_its_order(memory: Memory, tmp_path: Path) -> None:
    lines = [{**line, "timestamp": "2026-10-05T08:00:00.000Z"} for line in claude_session(300)]
    memory.import_sessions(write(tmp_path / "session.jsonl", *lines))
    found = list(memory.sessions.iter_messages(SESSION))
    assert [message.seq for message in found] == [*range(300)]
    assert [message.text for message in found] == [f"message {n}" for n in range(300)]


# 11: the same fact

SAME = [
    ("Prefers dark mode", "prefers\tdark  mode"), ("a b", "a\u00a0b"), ("a b", "\u3000a\u2003b\n"), ("straße", "STRASSE"), ("é", "e\u0301"),
    ("Å", "\u212b"), ("Ωmega", "ωMEGA"), ("İstanbul", "i\u0307stanbul"), ({"a": 1, "b": 2}, {"b": 2, "a": 1}), ({"é": ["é"]}, {"e\u0301": ["e\u0301"]}),
    ("東京", "東京 "), ("", ""), (1, 1), ([], []),
]  # fmt: skip
OTHER = [
    ("x.", "x"), ({"t": "A"}, {"t": "a"}), (["a", "b"], ["b", "a"]), (1, True), (0, False), ("1", 1), ("a b", "ab"), ({}, []),
    ("x", "×"), ("東京", "东京"), ("я", "R"), ({"a": None}, {}), ("100%", "100"), ("no tea", "tea"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), SAME)
def test_case_11_said_again(memory: Memory, one: Any, other: Any) -> None:
    first = memory.facts.put(one, sender="ana")
    again = memory.facts.put(other, sender="ana")
    assert (again.id, again.mentions, again.value) == (first.id, 2, one)
    with memory.transaction() as tx:
        assert tx.facts.put(one, sender="ana").id == first.id
    assert memory.facts.get(first.id).mentions == 3
    assert memory.facts.count(superseded=True, deleted=True) == 1


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_case_11_something_else(memory: Memory, one: Any, other: Any) -> None:
    memory.facts.put(one, sender="ana")
    memory.facts.put(other, sender="ana")
    assert [(type(value), value) for value in values(memory)] == [(type(one), one), (type(other), other)]
    assert {fact.mentions for fact in memory.facts.page()} == {1}


@pytest.mark.parametrize("scope", [{"sender": "ben"}, {"project": "p"}, {"key": "k"}, {}])
def test_case_11_another_scope_is_another_fact(memory: Memory, scope: dict[str, Any]) -> None:
    first = memory.facts.put("likes tea", sender="ana")
    other = memory.facts.put("likes tea", **scope)
    assert other.id != first.id
    assert memory.facts.count() == 2


# 12: supersession


def test_case_12_every_earlier_value_is_found_at_its_time(memory: Memory) -> None:
    names = ["Alice", "Bob", "Carol", "Dan", "Eve"]
    held = [memory.facts.put(name, sender="ana", key="manager") for name in names]
    memory.facts.put("Zoe", sender="ben", key="manager")
    assert values(memory, sender="ana", key="manager") == ["Eve"]
    for fact, name in zip(held, names, strict=True):
        assert memory.at(fact.position).facts.get(sender="ana", key="manager").value == name
        assert memory.facts.get(sender="ana", key="manager", valid_at=fact.valid_from).value == name
    assert [hit.item.value for hit in memory.recall("alice bob carol dan eve")] == ["Eve"]
    for fact, name in zip(held[:0:-1], names[-2::-1], strict=True):
        memory.history.undo(fact.position)
        assert values(memory, sender="ana", key="manager") == [name]
    assert values(memory, sender="ben", key="manager") == ["Zoe"]


def test_case_12_stays_in_one_place_are_not_merged(memory: Memory) -> None:
    spans = [("2019-01-01", "2020-01-01"), ("2023-01-01", None), ("2021-01-01", "2022-01-01")]
    for begin, end in spans:
        memory.facts.put("Oslo", sender="ana", key="lives in", valid_from=begin, valid_until=end)
    memory.facts.put("Bergen", sender="ana", key="lives in", valid_from="2020-01-01", valid_until="2021-01-01")
    found = memory.facts.page(sender="ana", key="lives in", superseded=True)
    kept = sorted(
        (fact.valid_from.year, fact.valid_until.year if fact.valid_until else None, fact.value) for fact in found
    )
    assert kept == [(2019, 2020, "Oslo"), (2020, 2021, "Bergen"), (2021, 2022, "Oslo"), (2023, None, "Oslo")]
    for year, value in ((2019, "Oslo"), (2020, "Bergen"), (2021, "Oslo"), (2022, None), (2024, "Oslo")):
        fact = memory.facts.find(sender="ana", key="lives in", valid_at=f"{year}-06-01")
        assert (fact.value if fact is not None else None) == value


# 15: scripts without spaces

SCRIPTS = [
    ("ภาษาไทย", "ฉันพูดภาษาไทยได้"), ("カタカナ", "この単語はカタカナで書く"), ("ひらがな", "ひらがなを読む"), ("微信", "用微信付款很方便"), ("繁體", "他寫繁體中文"),
    ("北京", "我住在北京市朝阳区"), ("비빔밥", "점심에 비빔밥을 먹었다"), ("부산", "부산에서 왔어요"), ("ﾃｽﾄ", "これはテストです"), ("ＡＢＣ", "the ABC code"), ("ລາວ", "ຂ້ອຍເວົ້າພາສາລາວ"),
    ("ភាសា", "ខ្ញុំនិយាយភាសាខ្មែរ"), ("မြန်မာ", "ကျွန်တော်မြန်မာစကားပြောတယ်"), ("猫", "家里有一只猫"), ("Python3", "用Python3写脚本"), ("iPhone", "我的iPhone手机坏了"),
    ("東京タワー", "東京タワーへ行った"), ("𠮷野家", "昼は𠮷野家で食べた"), ("नमस्ते", "नमस्ते दुनिया"), ("привет", "Привет, мир"), ("مرحبا", "مرحبا بالعالم"), ("שלום", "שלום עולם"),
]  # fmt: skip
BESIDE = ["天气很好", "京都の東", "부드러운 산", "花很香", "北方的京城", "微风和信件", "ทดสอบ", "テレビとスト"]


def test_case_15_more_scripts(memory: Memory) -> None:
    for text in [*BESIDE, *(row for _, row in SCRIPTS)]:
        memory.facts.put(text)
    for question, row in SCRIPTS:
        hits = memory.recall(question)
        assert hits, question
        assert hits[0].text == row, question


def test_case_15_in_what_was_said(memory: Memory, tmp_path: Path) -> None:
    rows = [row for _, row in SCRIPTS]
    lines = [claude(n, "assistant" if n % 2 else "user", row) for n, row in enumerate(rows)]
    memory.import_sessions(write(tmp_path / "session.jsonl", *lines))
    for question, row in SCRIPTS:
        assert memory.recall(question, kinds=("message",))[0].text == row, question


# 16: awkward questions

PARTS = {
    "C#": ("we write C# at work", "the C key and the # key"), ".NET": ("runs on .NET seven", "the net is wide"), "node.js": ("node.js is installed", "a node of js code"),
    "foo::bar": ("call foo::bar first", "foo went to the bar"), "--force": ("git push --force was used", "by force of habit"), "#1234": ("see issue #1234", "there are 1234 planks"),
    "v1.2.3": ("released v1.2.3 today", "version 1 and 2 and 3"), "10.0.0.1": ("the host is 10.0.0.1", "10 or 0 or 1"), "O'Brien": ("Ask O'Brien about it", "O dear, Brien is late"),
    "AT&T": ("a contract with AT&T", "at the T junction"), "<tag>": ("close the <tag> here", "play tag with me"), "f(x)": ("compute f(x) twice", "f and x are names"),
    "https://example.org/a?b=c": ("see https://example.org/a?b=c", "an example of an org: a b c"), "file_name.py": ("open file_name.py please", "a file with a name, py"),
    "src/**/*.ts": ("glob src/**/*.ts here", "the src of ts"), "user@host": ("ssh user@host now", "the user is a host"), "rock'n'roll": ("she likes rock'n'roll", "a rock and a roll"),
    "e.g.": ("fruit, e.g. apples", "eg g e"), "^main$": ("match ^main$ only", "the main street"), "it's": ("it's late", "its colour"), "foo_bar": ("rename foo_bar soon", "foo and bar"),
    "FOO-BAR-9": ("ticket FOO-BAR-9 is open", "foo bar 9 times"), "a.b.c": ("import a.b.c now", "a b c d"), "don’t": ("I don’t know", "I do it, t"), "naïve": ("a naïve idea", "a nave"),
}  # fmt: skip
QUESTIONS = [
    "AND", "OR", "NOT", "NEAR", "NEAR(a, 5)", "a AND", "NOT a", '"', '""', '"a', "'", "''", "*", "a*", "^a", "+a", "-a", "a:", "col:a", "{a b}: c", "(", ")", "((", "a)b(", "[", "\\",
    "%", "_", ";", "--", "/*", "a; DROP TABLE amber_facts", "\0", "a\0b", "\ud800", "\u202e", " ", "\n\t", "🦓", "a" * 10_000, " ".join(f"w{n}" for n in range(3_000)), "amber_search", "tokens:a", "1.zebra", "rank",
]  # fmt: skip


def test_case_16_more_awkward_questions(memory: Memory) -> None:
    for exact, beside in PARTS.values():
        memory.facts.put(beside)
        memory.facts.put(exact)
    for question, (exact, _) in PARTS.items():
        hits = memory.recall(question)
        assert hits, question
        assert hits[0].text == exact, question


def test_case_16_no_question_is_refused(memory: Memory) -> None:
    memory.facts.put("a zebra and w7")
    for question in QUESTIONS:
        for kinds in (("fact",), ("message",), ("fact", "message")):
            hits = memory.recall(question, kinds=kinds)
            assert {hit.text for hit in hits} <= {"a zebra and w7"}
    assert values(memory) == ["a zebra and w7"]


def test_case_16_the_past_can_not_be_searched_and_says_so(memory: Memory) -> None:
    memory.facts.put("zebra")
    with pytest.raises(Unsupported):
        memory.at(1).recall("AND")


# 17: awkward text

AWKWARD = [
    *(chr(number) for number in range(0x20)), "\x7f", "\x80", "\x85", "\u200b", "\u200d", "\u2028", "\u2029", "\u202e", "\u2066", "\ufeff", "\ufffd", "\ufffe", "\uffff", "\U0010ffff",
    "👩‍👩‍👧‍👦", "🇵🇹", "e\u0301\u0302\u0303", "{}", "{x}", "{{y}}", "{0}", "%s", "%(x)s", "%%", "$x", "${x}", "<|endoftext|>", "<|im_start|>", "</s>", "[INST]", "\\", "\\u0000", "\\n", '"', "'", "`", "'); DROP TABLE amber_facts; --",
    "<script>", "&amp;", "null", "NaN", "true", "[]", "# x", "---", "\r\n", "x" * 100_000, " lead", "trail ",
]  # fmt: skip


def test_case_17_every_text_comes_back(memory: Memory) -> None:
    for n, text in enumerate(AWKWARD):
        value = {"n": n, "text": text, f"k{text}": [text, {text: text}]} if text else {}
        fact = memory.facts.put(value, key=f"k{n}")
        assert memory.facts.get(fact.id).value == memory.facts.get(key=f"k{n}").value == value
        assert memory.at(fact.position).facts.get(fact.id).value == value
        found = memory.facts.page(where={("payload", "text"): text}).facts if len(text) < 1_000 else [fact]
        assert [each.id for each in found] == [fact.id], repr(text)
    whole = [fact.value for fact in memory.facts.iter()]
    assert [value["text"] for value in whole] == AWKWARD
    memory.history.undo(last=1)
    memory.history.redo()
    assert [fact.value for fact in memory.facts.iter()] == whole


@pytest.mark.parametrize("name", [text for text in AWKWARD if text.strip() and "\0" not in text and len(text) < 100])
def test_case_17_in_names(memory: Memory, name: str) -> None:
    fact = memory.facts.put("zebra", sender=name, session=name, type=name, key=name)
    assert memory.facts.page(sender=name, session=name, type=name, key=name).facts == [fact]
    assert [hit.id for hit in memory.recall("zebra", sender=name, session=name, type=name)] == [fact.id]
    with memory.transaction(actor=name, reason=name, session=name) as tx:
        tx.facts.put("another")
    (entry,) = memory.history.page(limit=1, actor=name, session=name)
    assert (entry.actor, entry.reason, entry.session) == (name, name, name)


def test_case_17_in_a_recording(memory: Memory, tmp_path: Path) -> None:
    """Separators of lines inside a text do not cut a line in two, written out or escaped."""
    # the escape of terminals is left out of recordings, with what it begins
    texts = [f"zebra {text} end" for text in AWKWARD if len(text) < 1_000 and text != "\x1b"]
    lines = [claude(n, "assistant" if n % 2 else "user", text) for n, text in enumerate(texts)]
    path = write(tmp_path / "session.jsonl", *lines)
    assert "\u2028" in path.read_text()
    (done,) = memory.import_sessions(path)
    assert (done.messages, done.skipped) == (len(texts), {})
    assert [message.text for message in memory.sessions.iter_messages(SESSION)] == texts
    assert len(memory.recall("zebra", limit=1_000)) == len(texts)


@pytest.mark.parametrize("bad", ["\ud800", "a\ud83eb", "\udc00\ud800"])
def test_case_17_lone_surrogates_are_replaced_everywhere(memory: Memory, bad: str, tmp_path: Path) -> None:
    fact = memory.facts.put({"t": bad, bad: 1})
    replaced = "".join("\ufffd" if "\ud800" <= letter <= "\udfff" else letter for letter in bad)
    assert memory.facts.get(fact.id).value == {"t": replaced, replaced: 1}
    line = orjson.dumps(claude(0, content="zebra HERE")).replace(b"HERE", b"\\ud800")
    (done,) = memory.import_sessions(write(tmp_path / "session.jsonl", line, claude(1, "assistant")))
    assert done.messages == 2
    assert memory.sessions.messages(SESSION)[0].text == "zebra \ufffd"


# the filter keys


@pytest.mark.parametrize(
    "key",
    ["' OR '1'='1", "x'); DROP TABLE amber_facts; --", "$where", "$gt", "__proto__", "payload.x", "a.b.c", "a\\b", "a\\.b", "é", "e\u0301", "\U0001f993", "\x01", "x" * 300, "null", "-1", "[*]", "..", "?x", ":x", "@x", "#x", "x--", "/*x*/", "NULL"],
)  # fmt: skip
def test_a_filter_key_is_nothing_but_a_key(memory: Memory, key: str) -> None:
    fact = memory.facts.put({key: 1, "in": {key: "v"}})
    memory.facts.put({"x": 1, "in": {"x": "v"}})
    assert memory.facts.page(where={("payload", key): 1}).facts == [fact]
    assert memory.facts.page(where={("payload", "in", key): "v"}).facts == [fact]
    assert memory.facts.page(where={("payload", key): "' OR 1=1 --"}).facts == []
    assert memory.facts.page(where={("payload", key, "deeper"): 1}).facts == []
    with memory.transaction() as tx:
        assert tx.facts.page(where={("payload", key): 1}).facts == [fact]
    assert memory.at(2).facts.page(where={("payload", key): 1}).facts[0].id == fact.id


@pytest.mark.parametrize("value", ["' OR 1=1 --", {"$ne": 1}, {"$gt": ""}, ["x"], "%", "_", "*", "\0", "x' --"])
def test_a_filter_value_is_nothing_but_a_value(memory: Memory, value: Any) -> None:
    memory.facts.put({"x": "anything"})
    assert memory.facts.page(where={"payload.x": value}).facts == []
    fact = memory.facts.put({"x": value})
    assert memory.facts.page(where={"payload.x": value}).facts == [fact]


# a torn import


@pytest.mark.parametrize("cut", [1, 20, 50, 200])
def test_a_torn_recording_comes_in_as_far_as_it_goes(memory: Memory, tmp_path: Path, cut: int) -> None:
    lines = [orjson.dumps(line) for line in claude_session(40)]
    bad = {10: b'{"broken": ', 11: b"\xff\xfe", 12: b"[1, 2]", 13: b""}
    for number, text in bad.items():
        lines[number] = text
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"\n".join(lines) + b"\n" + orjson.dumps(claude(40))[:cut])
    (torn,) = memory.import_sessions(path)
    assert (torn.status, torn.messages) == ("imported", 36)
    assert torn.skipped["torn last line"] == 1
    assert sum(torn.skipped.values()) in (4, 5)
    kept = [n for n in range(40) if n not in bad]
    found = list(memory.sessions.iter_messages(SESSION))
    assert [message.text for message in found] == [f"message {n}" for n in kept]
    # what was skipped is known by what is there: each message tells its line
    assert [message.line for message in found] == [n + 1 for n in kept]
    # the rest of the last line arrives
    path.write_bytes(b"\n".join(lines) + b"\n" + orjson.dumps(claude(40)) + b"\n")
    (whole,) = memory.import_sessions(path)
    assert (whole.messages, "torn last line" in whole.skipped) == (1, False)
    assert memory.sessions.get(SESSION).messages == 37
