"""Search: postings follow every change; stats, order, ties and filters are the same on every store."""

from __future__ import annotations

from typing import Any

import pytest

from amber.model import batch as b
from amber.model.collection import Facets
from amber.store.contract import Candidate, Clause, SearchFilter, Selection
from amber.testing.conformance import Conformance
from amber.testing.samples import SPACE, Hand

F, N = "facts", "notes"
TOKENS = (
    *("c++", "a@b.io", "src/main.py", "bench-100821", "don't", "x_y", "%", "_", "*", '"', "'", "(", "near(", "a:b"),
    *("-x", "^a", "{x}", "\\", "|", "&", "!", "?", ",", ";", "=", "<|end|>", "#1", "$a", "`", "~", "[0]", "+", "."),
    *("and", "or", "not", "near", "日本", "ไทย", "हिन्दी", "😀", "é", "e\u0301", "1.x", "1", "0", "a.b", "t" * 64),
)


class SearchConformance(Conformance):
    """Terms in, documents out."""

    def found(self, hand: Hand, *terms: str, limit: int = 300, space: str = SPACE, **filters: Any) -> list[str]:
        """Give the keys that hold at least one of the terms, all of one weight."""
        clauses = [Clause((term,), 1) for term in terms]
        candidates = hand.store.candidates(space, clauses, SearchFilter(**filters), limit=limit)
        return [candidate.key for candidate in candidates]

    def test_a_candidate_holds_everything(self, hand: Hand) -> None:
        hand.put("a", text="one two two three", sender="ana", project="p", session="s", type="t", at=9)
        hand.put("n", N, text="two")
        found = hand.store.candidates(
            SPACE, [Clause(("two",), 1), Clause(("one",), 1), Clause(("none",), 5)], SearchFilter()
        )
        assert found == [
            Candidate(F, "a", 1, 4, {"two": 2, "one": 1}, Facets("ana", "p", "s", "t", 9)),
            Candidate(N, "n", 2, 1, {"two": 1}, Facets(None, None, None, None, 0)),
        ]

    def test_postings_follow_a_put(self, hand: Hand) -> None:
        hand.put("a", text="old words")
        hand.put("a", text="new words")
        assert self.found(hand, "old") == []
        assert self.found(hand, "new") == ["a"]
        hand.put("a", text=None)
        assert self.found(hand, "new", "words") == []
        hand.put("a", text="old words")
        assert self.found(hand, "old") == ["a"]
        assert hand.store.verify() == []

    def test_postings_follow_a_delete_and_a_return(self, hand: Hand) -> None:
        hand.put("a", text="word")
        hand.delete("a")
        assert self.found(hand, "word") == []
        hand.put("a", text="word")
        assert self.found(hand, "word") == ["a"]

    def test_a_candidate_keeps_the_place_where_it_entered_the_log(self, hand: Hand) -> None:
        hand.put("a", text="old")
        hand.put("b", name="n")
        hand.put("c", text="new")
        hand.put("a", text="new")
        hand.put("b", text="new")
        found = hand.store.candidates(SPACE, [Clause(("new",), 1)], SearchFilter())
        assert [(candidate.key, candidate.position) for candidate in found] == [("c", 3), ("b", 2), ("a", 1)]
        hand.delete("a")
        position = hand.put("a", text="new")
        assert hand.store.candidates(SPACE, [Clause(("new",), 1)], SearchFilter(), limit=1)[0].position == position
        assert hand.store.verify() == []

    def test_postings_follow_a_purge(self, hand: Hand) -> None:
        hand.put("a", text="word")
        hand.put("b", text="word")
        hand.store.purge(SPACE, Selection(F, ("a",)), now=5)
        assert self.found(hand, "word") == ["b"]
        assert hand.store.text_stats(SPACE, ["word"]) == (1, 1.0, {"word": 1})

    def test_counts_follow_without_other_words(self, hand: Hand) -> None:
        hand.put("a", text="one one two")
        hand.put("a", text="one two two")
        (candidate,) = hand.store.candidates(SPACE, [Clause(("one",), 1), Clause(("two",), 1)], SearchFilter())
        assert candidate.counts == {"one": 1, "two": 2}

    def test_facets_follow_without_other_words(self, hand: Hand) -> None:
        hand.put("a", text="word", sender="ana", at=1)
        hand.put("a", text="word", sender="ben", at=2)
        assert self.found(hand, "word", sender="ana") == []
        assert self.found(hand, "word", sender="ben", since=2) == ["a"]

    def test_stats(self, hand: Hand) -> None:
        assert hand.store.text_stats(SPACE, ["one"]) == (0, 0.0, {"one": 0})
        hand.put("a", text="one two")
        hand.put("b", text="two two two three four")
        hand.put("c", name="no text")
        hand.put("d", text="")
        assert hand.store.text_stats(SPACE, ["one", "two", "none"]) == (3, 7 / 3, {"one": 1, "two": 2, "none": 0})
        hand.put("b", text="two")
        hand.delete("d")
        assert hand.store.text_stats(SPACE, ["two", "three"]) == (2, 1.5, {"two": 2, "three": 0})
        stats = hand.store.stats(SPACE)
        assert (stats.searchable, stats.tokens) == (2, 3)

    def test_many_occurrences_are_counted_up_to_255(self, hand: Hand) -> None:
        hand.put("a", text="word " * 300 + "other")
        (candidate,) = hand.store.candidates(SPACE, [Clause(("word",), 1), Clause(("other",), 1)], SearchFilter())
        assert (candidate.length, candidate.counts) == (301, {"word": 255, "other": 1})
        assert hand.store.verify() == []

    def test_the_largest_sums_come_first(self, hand: Hand) -> None:
        hand.put("a", text="x y z")
        hand.put("b", text="y")
        hand.put("c", text="x")
        hand.put("d", text="y z")
        clauses = [Clause(("x",), 50), Clause(("y",), 20), Clause(("z",), 25)]
        found = hand.store.candidates(SPACE, clauses, SearchFilter())
        assert [candidate.key for candidate in found] == ["a", "c", "d", "b"]
        assert [each.key for each in hand.store.candidates(SPACE, clauses, SearchFilter(), limit=2)] == ["a", "c"]

    def test_all_words_of_a_clause_are_needed(self, hand: Hand) -> None:
        hand.put("a", text="x y")
        hand.put("b", text="x")
        hand.put("c", text="y z")
        found = hand.store.candidates(SPACE, [Clause(("x", "y"), 10), Clause(("z",), 3)], SearchFilter())
        assert [(each.key, dict(each.counts)) for each in found] == [("a", {"x": 1, "y": 1}), ("c", {"y": 1, "z": 1})]
        assert hand.store.candidates(SPACE, [Clause(("x", "y", "z"), 10)], SearchFilter()) == []
        both = [Clause(("x", "y"), 10), Clause(("x",), 10), Clause(("y",), 10)]
        assert [each.key for each in hand.store.candidates(SPACE, both, SearchFilter())] == ["a", "c", "b"]
        assert [each.key for each in hand.store.candidates(SPACE, [Clause(("x", "x"), 1)], SearchFilter())] == [
            "b",
            "a",
        ]

    def test_at_least_one_of_some_is_needed(self, hand: Hand) -> None:
        hand.put("a", text="x r")
        hand.put("b", text="x s r")
        hand.put("c", text="x")
        hand.put("d", text="r s")
        clauses = [Clause(("r",), 10), Clause(("x",), 3, ("r", "s")), Clause(("x", "r"), 100, ("none", "s"))]
        found = hand.store.candidates(SPACE, clauses, SearchFilter())
        assert [(each.key, dict(each.counts)) for each in found] == [
            ("b", {"x": 1, "r": 1, "s": 1}),
            ("a", {"x": 1, "r": 1}),
            ("d", {"r": 1, "s": 1}),
        ]
        for among in (("none",), ("", "one two", "\0"), ("r\0",)):
            assert hand.store.candidates(SPACE, [Clause(("x",), 3, among)], SearchFilter()) == []
        (one,) = hand.store.candidates(SPACE, [Clause(("x",), 3, ("", "s"))], SearchFilter())
        assert one.key == "b"

    def test_other_words_are_counted_and_find_nothing(self, hand: Hand) -> None:
        hand.put("a", text="x y y")
        hand.put("b", text="y z")
        (found,) = hand.store.candidates(SPACE, [Clause(("x",), 1)], SearchFilter(), also=["y", "z", "none"])
        assert (found.key, found.counts) == ("a", {"x": 1, "y": 2})
        assert hand.store.candidates(SPACE, [], SearchFilter(), also=["y"]) == []

    def test_weights_add_up_exactly(self, hand: Hand) -> None:
        hand.put("a", text="p q")
        hand.put("b", text="r")
        clauses = [Clause(("p",), 2**60), Clause(("q",), 1), Clause(("r",), 2**60)]
        assert [each.key for each in hand.store.candidates(SPACE, clauses, SearchFilter())] == ["a", "b"]
        found = hand.store.candidates(SPACE, [Clause(("p",), -5), Clause(("r",), -4)], SearchFilter())
        assert [each.key for each in found] == ["b", "a"]

    def test_ties_go_by_newest_position_then_key(self, hand: Hand) -> None:
        hand.send(b.Put(F, "c", {"text": "x"}), b.Put(N, "a", {"text": "x"}), b.Put(F, "b", {"text": "x"}))
        hand.put("d", text="x")
        hand.put("e", text="x")
        hand.put("d", text="x", more=1)
        assert self.found(hand, "x") == ["e", "d", "a", "b", "c"]
        for limit in range(1, 6):
            assert self.found(hand, "x", limit=limit) == ["e", "d", "a", "b", "c"][:limit]

    def test_one_key_in_two_collections(self, hand: Hand) -> None:
        hand.send(b.Put(F, "a", {"text": "x"}), b.Put(N, "a", {"text": "x"}))
        found = hand.store.candidates(SPACE, [Clause(("x",), 1)], SearchFilter())
        assert [(candidate.collection, candidate.key) for candidate in found] == [(F, "a"), (N, "a")]
        hand.delete("a")
        assert len(hand.store.candidates(SPACE, [Clause(("x",), 1)], SearchFilter())) == 1

    @pytest.mark.parametrize("case", range(len(TOKENS)))
    def test_tokens_may_hold_anything(self, hand: Hand, case: int) -> None:
        token = TOKENS[case]
        hand.send(*(b.Put(F, f"k{n:02}", {"text": f"{each} common"}) for n, each in enumerate(TOKENS)))
        assert self.found(hand, token) == [f"k{case:02}"]
        assert hand.store.text_stats(SPACE, [token]).frequency == {token: 1}
        assert hand.store.candidates(SPACE, [Clause((token,), 1)], SearchFilter())[0].counts == {token: 1}
        hand.put(f"k{case:02}", text="common")
        assert self.found(hand, token) == []

    def test_terms_that_no_document_can_hold(self, hand: Hand) -> None:
        hand.put("a", text="one two")
        for term in ("", " ", "one two", "one ", "\0", "one\0", "\n", "on", "one*"):
            assert self.found(hand, term) == []
            assert hand.store.text_stats(SPACE, [term]).frequency == {term: 0}
        assert self.found(hand) == []

    def test_spaces_never_mix(self, hand: Hand) -> None:
        for number in range(20):
            hand.send(b.Put(F, f"k{number}", {"text": f"word 1.word {number}"}), space=f"space-{number}")
        for number in (0, 1, 10, 16, 19):
            space = f"space-{number}"
            assert self.found(hand, "word", space=space) == [f"k{number}"]
            assert hand.store.text_stats(space, ["word", "1.word"]) == (1, 3.0, {"word": 1, "1.word": 1})
        assert self.found(hand, "word", space="nowhere") == []

    def test_by_facets(self, hand: Hand) -> None:
        for number, sender in enumerate(["ana", "ben", "ana", None]):
            hand.put(f"k{number}", text="x", sender=sender, session=f"s{number // 2}", type="t" if number else None)
        assert self.found(hand, "x", sender="ana") == ["k2", "k0"]
        assert self.found(hand, "x", sender="ANA") == []
        assert self.found(hand, "x", session="s1") == ["k3", "k2"]
        assert self.found(hand, "x", type="t", sender="ana") == ["k2"]
        assert self.found(hand, "x", sender="") == []

    def test_by_time(self, hand: Hand) -> None:
        for at in (-5, 0, 10, 20):
            hand.put(f"k{at}", text="x", at=at)
        assert self.found(hand, "x", since=0) == ["k20", "k10", "k0"]
        assert self.found(hand, "x", until=10) == ["k0", "k-5"]
        assert self.found(hand, "x", since=0, until=20) == ["k10", "k0"]
        assert self.found(hand, "x", since=10, until=10) == []

    def test_by_collection(self, hand: Hand) -> None:
        hand.put("f", text="x")
        hand.put("n", N, text="x")
        assert self.found(hand, "x", collections=(N,)) == ["n"]
        assert self.found(hand, "x", collections=(F,)) == ["f"]
        assert self.found(hand, "x", collections=(F, N)) == ["n", "f"]
        assert self.found(hand, "x", collections=("nothing",)) == []

    def test_by_project_and_what_lies_below_it(self, hand: Hand) -> None:
        names = ("a", "a/b", "a/b/c", "ab", "a.b", "a-b", "a0", "a%b", "a_b", "axb", "A", "a/", "é", "é/x", "", None)
        hand.send(*(b.Put(F, f"{n:02}", {"text": "x", "project": name}) for n, name in enumerate(names)))

        def below(project: str) -> list[str | None]:
            return [names[int(key)] for key in self.found(hand, "x", project=project)]

        assert below("a") == ["a", "a/b", "a/b/c", "a/"]
        assert below("a/b") == ["a/b", "a/b/c"]
        assert below("a%b") == ["a%b"]
        assert below("a_b") == ["a_b"]
        assert below("a%") == []
        assert below("é") == ["é", "é/x"]
        assert below("b") == []
        assert below("") == [""]

    def test_a_filter_narrows_before_the_limit(self, hand: Hand) -> None:
        hand.send(*(b.Put(F, f"k{n:03}", {"text": "x x" if n else "x", "sender": str(n % 2)}) for n in range(50)))
        assert len(self.found(hand, "x", sender="1", limit=20)) == 20
        assert self.found(hand, "x", sender="1", limit=3) == ["k001", "k003", "k005"]

    def test_many_documents(self, hand: Hand) -> None:
        hand.send(*(b.Put(F, f"k{n:04}", {"text": "x " + ("rare" if n == 700 else "")}) for n in range(1_200)))
        found = hand.store.candidates(SPACE, [Clause(("x",), 1), Clause(("rare",), 30)], SearchFilter(), limit=1_000)
        assert [candidate.key for candidate in found] == ["k0700", *(f"k{n:04}" for n in range(1_000) if n != 700)][
            :1_000
        ]
