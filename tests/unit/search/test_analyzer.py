"""What `analyze` gives, for one text per rule and for any text."""

from __future__ import annotations

import time
import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from amber.search.analyzer import _LONG, _SHORT, _chunks, analyze, clear_cache, token_spans
from amber.search.words import _leaves

AWKWARD = (
    "\ud83d lone \udc00",
    "a\x00b",
    "<|endoftext|>",
    "line\u2028separator\u2029",
    "\u202eoverride",
    "{x} {{y}}",
    "\U0001f680 rocket",
    "\ufdfa",
    "\u0301",
    "'",
    "__",
    "a'b's't",
    "http://a:b@c/?d=e#f.",
    "ㄱㅏ",
    "ｶﾞ",
    "a\u200d\u0301",
    "\x1c\x85",
    "_+_",
    "@_._",
    "_/_#",
    "a/_/b",
    "x._.y",
    ">\u0338-a",
)

#: What the rules of words, numbers, addresses and their neighbours are about.
PUNCTUATION = "aB9_-.:/\\@#+&'\"()[]{}<>|`^→,;!?*=~$% \u0301\u0338é漢カ한ไ☺İ"


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Deployed deploys DEPLOYING", ["deploy", "deploy", "deploy"]),
        ("Caroline's they'd don't", ["carolin", "they", "don't"]),
        ("don’t", ["don't"]),
        ("l'amour", ["l'amour", "amour"]),
        ("she bought the children's shoes", ["she", "buy", "the", "child", "shoe"]),
        ("x_y", ["x_y", "x", "y"]),
        ("ask-codex", ["ask-codex", "ask", "codex"]),
        ("BENCH-100821", ["bench-100821", "bench", "100821"]),
        ("(src/main.py)", ["src/main.py", "src", "main.py", "main", "py"]),
        ("C/C++ via cc", ["c/c++", "c++", "c/c", "c", "c", "via", "cc"]),
        ("C++, C# and F#.", ["c++", "c", "c#", "c", "and", "f#", "f"]),
        ("a@b.io", ["a@b.io", "a", "b.io", "b", "io"]),
        ("v1.2.3", ["v1.2.3", "1.2.3"]),
        ("camelCase", ["camelcas", "camel", "case"]),
        ("HTTPServer", ["httpserver", "http", "server"]),
        ("--dry-run", ["--dry-run", "dry-run", "dri", "run"]),
        ("#123 @bob .env", ["#123", "123", "@bob", "bob", ".env", "env"]),
        ("__init__", ["__init__", "init"]),
        ("std::vector", ["std::vector", "std", "vector"]),
        ("U.S.A.", ["u.s.a", "usa"]),
        ("$5,000.50 at 3.14, 8pm", ["5000.50", "at", "3.14", "8pm", "8", "pm"]),
        ("2024-03-15T10:00", ["2024-03-15t10:00", "2024-03-15", "2024", "03", "15", "10:00"]),
        (
            "https://ex.com/a.html?x=1.",
            ["https://ex.com/a.html?x=1", "ex.com/a.html", "ex.com", "ex", "com", "a.html", "a", "html", "x", "1"],
        ),
        ("deadbeef12345678deadbeef12345678deadbeef", ["deadbeef12345678deadbeef12345678deadbeef", "deadbee"]),
        ("Café Straße Æther", ["café", "cafe", "strass", "æther", "aether"]),
        ("ＦＵＬＬ １２", ["full", "12"]),
        ("1½ Amber™ so\u00adft", ["1", "1/2", "1", "2", "amber", "soft"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("مُحَمَّد كتـاب", ["محمد", "كتاب"]),
        ("Αθήνα ёлка", ["αθήνα", "αθηνα", "елка"]),
        ("雾凇拼", ["雾", "雾凇", "凇", "凇拼", "拼"]),
        ("用docker部署", ["用", "docker", "部", "部署", "署"]),
        ("서울에서", ["서울에서", "서", "서울", "울", "울에", "에", "에서", "서"]),
        ("サーバ", ["サ", "サー", "ー", "ーバ", "バ", "サーバ"]),
        ("สวัสดี", ["ส", "สวั", "วั", "วัส", "ส", "สดี", "ดี"]),
        ("👍🏽❤️ 🇩🇪🇫🇷", ["👍", "❤", "🇩🇪", "🇫🇷"]),
        ('AND NEAR( " * main:', ["and", "near", "main"]),
        ("... --- ___ \x00 \ud800", []),
        ("", []),
    ],
)
def test_tokens_of(text: str, tokens: list[str]) -> None:
    assert analyze(text) == tokens


def test_a_long_word_is_cut_and_still_equal_only_to_itself() -> None:
    [one], [same], [other] = analyze("x" * 64 + "y"), analyze("X" * 64 + "Y"), analyze("x" * 64 + "z")
    assert one == same
    assert one != other
    assert one.startswith("x" * 40 + "~")
    assert len(one) == 57
    assert analyze("7" * 64) == ["7" * 64]


@given(st.text())
@example(" ".join(AWKWARD))
def test_tokens_hold_nothing_that_an_index_could_trip_over(text: str) -> None:
    for token in analyze(text):
        assert 1 <= len(token) <= 64
        assert token.split() == [token]
        assert not {unicodedata.category(char) for char in token} & {"Cc", "Cs", "Cf", "Zs", "Zl", "Zp"}
        token.encode()


@given(st.text(), st.text())
@example("e", "\u0301")
@example("ㄱ", "ㅏ")
@example("\ud83d", "\ude00")
def test_a_new_line_separates(left: str, right: str) -> None:
    assert analyze(f"{left}\n{right}") == analyze(left) + analyze(right)


@given(st.text() | st.text(PUNCTUATION))
@example(" ".join(AWKWARD))
@example("\"Deployed,\" (HTTP) *bold* HTTPServer 'tis x' A. aB C++, C#. --x .net _y_ " + "z" * 65)
@example("Å\u0301 ｶﾞｯ ㄱㅏ\u11a8 1½ 서울 don’t")
def test_spans_give_the_same_tokens_and_lie_in_the_text(text: str) -> None:
    spans = list(token_spans(text))
    assert [span.token for span in spans] == analyze(text)
    assert all(0 <= span.start < span.end <= len(text) for span in spans)


@given(
    st.lists(
        st.sampled_from(["Deploys", "src/main.py", "Café", "用部署", "서울에서", "C++", "ｶﾞｯ", "e\u0301"]), min_size=1
    )
)
def test_what_a_span_covers_gives_its_token_again(words: list[str]) -> None:
    text = " ".join(words)
    for span in token_spans(text):
        assert span.token in analyze(text[span.start : span.end])


def test_the_cache_changes_nothing() -> None:
    text = "Deployed src/main.py don't 用部署"
    clear_cache()
    assert analyze(text) == analyze(text)


def test_the_cache_stays_bounded_and_right_when_it_turns_over() -> None:
    clear_cache()
    text = " ".join(f"w{number}" for number in range(70_000))
    assert analyze(text) == [f"w{number}" for number in range(70_000)]
    assert len(_chunks) + len(_chunks.old) <= 2 * _SHORT[0]
    longer = _chunks.longer
    assert longer is not None
    for n in range(2 * _LONG[0] + 2):
        analyze(f"long_{n}_" * 6)
    assert len(longer) + len(longer.old) <= 2 * _LONG[0]
    assert _leaves
    clear_cache()
    assert not any((_chunks, _chunks.old, longer, longer.old, _leaves))


def test_threads_agree_with_one_thread() -> None:
    words = [f"{base}{ending}" for base in ("deploy", "relat", "organiz") for ending in ("ed", "ing", "ional", "ation")]
    texts = [" ".join(words[turn:] + words[:turn]) for turn in range(len(words))] * 20
    expected = [analyze(text) for text in texts]

    def without_cache(text: str) -> list[str]:
        clear_cache()
        return analyze(text)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(without_cache, texts)) == expected


@pytest.mark.parametrize(
    "unit",
    ["a/", "_", "-", ".", "a'", "a's", "中", "น้", "1,111", "a.", "aB", "http://", "a:", "a\u0301", "a.b+", "://"],
)
def test_a_text_without_white_space_takes_linear_time(unit: str) -> None:
    def seconds(length: int) -> float:
        text = unit * (length // len(unit))
        start = time.process_time()
        analyze(text)
        return time.process_time() - start

    short = min(seconds(20_000) for _ in range(3))
    # the fastest of several: a pause of the machine makes one run slow, not all
    assert min(seconds(200_000) for _ in range(3)) < 40 * short + 0.1
