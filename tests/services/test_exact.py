"""The exact index in memory answers what scoring every text answers, whoever writes, and lets go of what was purged."""

from __future__ import annotations

import gc
import os
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.services.stage import STORES, SteppingClock, target_of
from tests.unit.search.test_inverted import scored, texts_in

from amber import Memory
from amber.errors import BadInput, Closed, Conflict, NotFound
from amber.memory import open_store
from amber.search.query import query_terms
from amber.services import exact
from amber.services.exact import ExactIndex
from amber.services.unit import Context, IdMaker
from amber.store.contract import SearchFilter, Selection, Store
from amber.testing.conformance_texts import all_texts

ALL = SearchFilter()
SECRET = "zebra41quartz"
Pair = tuple[Memory, ExactIndex]


def memory_over(store: Store, clock: Callable[[], int] | None = None, space: str = "acme") -> Pair:
    """Give a memory over a store that is open, and its index."""
    index = ExactIndex(store, space)
    ticks = clock or SteppingClock()
    return Memory(store, Context(store, space, ticks, IdMaker(ticks), actor="tester", exact=index)), index


@pytest.fixture
def pair(target: str) -> Any:
    store = open_store(target)
    yield memory_over(store)
    store.close()


def agrees(index: ExactIndex, store: Store, question: str, filter: SearchFilter = ALL, limit: int = 10) -> bool:
    """Tell whether the index is current and finds what scoring every text finds."""
    terms = query_terms(question)
    answer = index.search(terms, filter, limit)
    assert answer is not None
    texts = all_texts(store, "acme")
    return [each[:4] for each in answer.found] == scored(texts, terms, filter, limit)


def test_the_first_questions_are_free(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    memory, index = pair
    for n in range(120):
        memory.facts.put(f"zebra number {n}")
    calls: list[Any] = []
    pages = type(memory._store).texts

    def count(self: Store, *given: Any, **options: Any) -> Any:
        calls.append(given)
        return pages(self, *given, **options)

    monkeypatch.setattr(type(memory._store), "texts", count)
    for _ in range(exact.FREE):
        memory.recall("zebra")
    assert (len(calls), index.ready) == (0, False)
    asked = 0
    while not index.ready:
        asked += 1
        assert len(memory.recall("zebra")) == 10
        # a page at least, and all of them in the end
        assert asked <= len(calls) <= 3
    assert index.ready
    assert len(index) == 120
    monkeypatch.setattr(type(memory._store), "candidates", None)
    assert len(memory.recall("zebra")) == 10


def test_work_stops_when_its_time_is_over(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    memory, index = pair
    with memory.transaction() as tx:
        for n in range(400):
            tx.facts.put(f"zebra number {n}")
    now = [0.0]
    monkeypatch.setattr(exact, "perf_counter", lambda: now.__setitem__(0, now[0] + 1.0) or now[0])
    for _ in range(exact.FREE):
        index.work(9.0, 400)
    index.work(2.5, 400)
    assert len(index) == 3 * exact._PAGE
    index.work(0.0, 400)
    assert len(index) == 4 * exact._PAGE


def test_the_same_hits_with_and_without(pair: Pair) -> None:
    memory, index = pair
    memory.facts.put("Ana keeps three zebras", sender="ana", project="zoo/africa", source="document")
    memory.facts.put("a zebra and a zebra and a giraffe", sender="ben", project="zoo")
    memory.facts.put("zebra", sender="ben", session="s1", ephemeral=True)
    memory.facts.put("old zebra", key="z")
    memory.facts.put("new giraffe", key="z")
    memory.facts.delete(memory.facts.put("the deleted zebra"))
    scopes: list[dict[str, Any]] = [
        {}, {"sender": "ana"}, {"project": "zoo"}, {"session": "s1"}, {"kinds": ("message",)}, {"limit": 1},
        {"since": "2023-11-14T22:13:20Z"}, {"until": "2023-11-14T22:13:20Z"}, {"valid_at": "2030-01-01"},
    ]  # fmt: skip
    questions = (
        "zebra",
        "zebra giraffe",
        "who keeps zebras?",
        "",
        "nothing here",
        "the and",
        " ".join(f"w{n}" for n in range(99)),
    )
    shown = [[hit.to_dict() for hit in memory.recall(each, **scope)] for each in questions for scope in scopes]
    assert index.complete()
    again = [[hit.to_dict() for hit in memory.recall(each, **scope)] for each in questions for scope in scopes]
    assert again == shown
    assert any(shown)


WORDS = "zebra giraffe okapi tea coffee 東京 C++ src/main.py running ran the don't".split()
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.lists(st.sampled_from(WORDS), max_size=5), st.sampled_from(["ana", "ben"])),
        st.tuples(st.just("keyed"), st.lists(st.sampled_from(WORDS), max_size=5), st.sampled_from(["k", "l"])),
        st.tuples(st.just("many"), st.lists(st.sampled_from(WORDS), min_size=1, max_size=5), st.integers(2, 120)),
        st.tuples(st.just("delete"), st.integers(0, 9), st.none()),
        st.tuples(st.just("patch"), st.integers(0, 9), st.sampled_from(WORDS)),
        st.tuples(st.just("undo"), st.integers(1, 2), st.none()),
        st.tuples(st.just("forget"), st.sampled_from(["ana", "ben"]), st.none()),
        st.tuples(st.just("purge"), st.integers(0, 9), st.none()),
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=40, deadline=None)
@given(kind=st.sampled_from(STORES), steps=STEPS, begun=st.integers(0, 6))
def test_it_follows_every_kind_of_write(
    kind: str, steps: list[Any], begun: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with open_store(target_of(kind, tmp_path_factory.mktemp("exact"))) as store:  # type: ignore[attr-defined]
        memory, index = memory_over(store)
        for number, (step, what, more) in enumerate(steps):
            # while it is being made, from any moment on
            if number >= begun:
                index._asked = exact.FREE
                index.work(0.0, 1)
            facts = [*memory.facts.iter()]
            # what is refused (nothing is left to undo, somebody else says the same) changes nothing
            with suppress(Conflict, NotFound):
                if step == "put":
                    memory.facts.put(" ".join(what) or "-", sender=more)
                elif step == "keyed":
                    memory.facts.put({"text": " ".join(what)}, key=more, sender="ana")
                elif step == "many":
                    with memory.transaction() as tx:
                        for n in range(more):
                            tx.facts.put(f"{' '.join(what)} {n}", sender="ana")
                elif step == "forget":
                    memory.forget(sender=what)
                elif step == "undo" and memory.history.position():
                    memory.history.undo(last=what)
                elif facts and step == "delete":
                    memory.facts.delete(facts[what % len(facts)])
                elif facts and step == "patch" and isinstance(facts[what % len(facts)].value, dict):
                    memory.facts.patch(facts[what % len(facts)], {"text": more})
                elif facts and step == "purge":
                    store.purge("acme", Selection("facts", (facts[what % len(facts)].id,)), now=1)
        assert index.complete()
        for question in ("zebra giraffe tea", "東京 C++", "ran main.py 7"):
            for filter in (ALL, SearchFilter(sender="ana")):
                assert agrees(index, store, question, filter)


def held(index: ExactIndex) -> list[str]:
    """Give every word in memory."""
    return texts_in(index._index)


def test_a_purge_by_another_is_followed(pair: Pair) -> None:
    memory, index = pair
    secret = memory.facts.put(f"{SECRET} is the word", sender="ana")
    memory.facts.put("another word", sender="ben")
    assert index.complete()
    assert index.holds(SECRET)
    assert len(memory.recall(SECRET)) == 1
    memory._store.purge("acme", Selection("facts", (secret.id,)), now=1)
    assert memory.recall(SECRET) == []
    assert not index.holds(SECRET)
    gc.collect()
    assert not any(SECRET in word or word in ("ana", "\0sender\0ana", secret.id) for word in held(index))
    assert [hit.text for hit in memory.recall("word")] == ["another word"]
    assert index.ready


def test_what_is_forgotten_is_gone_before_anybody_asks(pair: Pair) -> None:
    memory, index = pair
    for n in range(250):
        memory.facts.put(f"{SECRET} {n}", sender="ana")
    memory.facts.put("another word", sender="ben")
    assert index.complete()
    memory.forget(sender="ana")
    assert (index.ready, len(index), index.holds(SECRET)) == (True, 1, False)
    assert not any(SECRET in word or "ana" in word for word in held(index))


def test_what_is_forgotten_half_way_through_making_it_is_gone(pair: Pair) -> None:
    memory, index = pair
    for n in range(150):
        memory.facts.put(f"{SECRET} {n}", sender="ana")
    index._asked = exact.FREE
    index.work(0.0, 150)
    assert (index.ready, index.holds(SECRET)) == (False, True)
    memory.forget(sender="ana")
    assert (len(index), held(index)) == (0, [])
    assert index.complete()
    assert agrees(index, memory._store, SECRET)


def test_every_put_is_found_at_once_by_many_threads(pair: Pair) -> None:
    memory, index = pair
    memory.facts.put("beginning")
    assert index.complete()
    errors: list[BaseException] = []

    def write_and_ask(name: int) -> None:
        try:
            for n in range(15):
                fact = memory.facts.put(f"word{name}x{n} common")
                assert [hit.id for hit in memory.recall(f"word{name}x{n}")] == [fact.id]
                memory.facts.delete(fact)
                assert memory.recall(f"word{name}x{n}") == []
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write_and_ask, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert agrees(index, memory._store, "beginning common")


def test_much_that_came_meanwhile_is_caught_up_with_afterwards(pair: Pair) -> None:
    memory, index = pair
    memory.facts.put("zebra")
    assert index.complete()
    with memory.transaction() as tx:
        for n in range(3 * exact._AT_ONCE):
            tx.facts.put(f"zebra {n}")
    assert index.search(query_terms("zebra"), ALL, 10) is None
    while index.search(query_terms("zebra"), ALL, 10) is None:
        assert len(memory.recall("zebra")) == 10
    assert agrees(index, memory._store, "zebra 7")


def test_a_bound_is_kept(pair: Pair) -> None:
    memory, _ = pair
    for n in range(60):
        memory.facts.put(f"zebra number {n}")
    index = ExactIndex(memory._store, "acme", bound=20_000)
    assert not index.complete()
    assert (index.ready, len(index)) == (False, 0)
    assert not index.complete()
    # what can not fit is not begun
    index = ExactIndex(memory._store, "acme", bound=20_000)
    for _ in range(9):
        index.work(9.0, 60)
    assert len(index) == 0


def test_it_outgrows_its_bound(pair: Pair) -> None:
    memory, _ = pair
    memory.facts.put("zebra")
    index = ExactIndex(memory._store, "acme", bound=20_000)
    assert index.complete()
    for n in range(60):
        memory.facts.put(f"zebra number {n}")
    assert index.search(query_terms("zebra"), ALL, 10) is None
    assert len(index) == 0


def test_the_size_is_about_right() -> None:
    import tracemalloc

    from tests.unit.search.test_inverted import text

    from amber.search.inverted import InvertedIndex

    tracemalloc.start()
    try:
        index = InvertedIndex()
        for n in range(4_000):
            words = " ".join(f"w{(n * 7 + m * m) % (50 if m % 2 else 4_000)}" for m in range(30))
            index.put(
                text(f"key{n:020}", words, n, sender=f"s{n % 9}", project="a/b", session=f"c{n // 100}", type="t")
            )
        found = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert 0.6 < index.size / found < 1.7, (index.size, found)


def test_an_interrupt_half_way_leaves_nothing_wrong(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    memory, index = pair
    memory.facts.put("zebra one")
    memory.facts.put("zebra two")
    assert index.complete()
    put, done = type(index._index).put, list[int]()

    def interrupted(self: Any, text: Any) -> None:
        put(self, text)
        done.append(1)
        if len(done) == 2:
            raise KeyboardInterrupt

    with memory.transaction() as tx:
        tx.facts.put("zebra three")
        tx.facts.put("zebra four")
        tx.facts.put("zebra five")
    monkeypatch.setattr(type(index._index), "put", interrupted)
    with pytest.raises(KeyboardInterrupt):
        memory.recall("zebra")
    monkeypatch.undo()
    assert len(memory.recall("zebra")) == 5
    assert index.complete()
    assert agrees(index, memory._store, "zebra two")


def test_a_log_that_does_not_reach_back_means_to_begin_anew(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    memory, index = pair
    memory.facts.put("zebra")
    assert index.complete()
    memory.facts.put("giraffe")
    monkeypatch.setattr(type(memory._store), "text_changes", lambda *_, **__: None)
    assert [hit.text for hit in memory.recall("giraffe")] == ["giraffe"]
    assert not index.ready
    monkeypatch.undo()
    assert index.complete()
    assert agrees(index, memory._store, "zebra giraffe")


def test_trimmed_entries(sqlite_path: Path) -> None:
    store = open_store(str(sqlite_path))
    memory, index = memory_over(store)
    fact = memory.facts.put("zebra")
    assert index.complete()
    memory.facts.delete(fact)
    memory.facts.put("giraffe")
    with sqlite3.connect(sqlite_path) as raw:
        raw.execute("DELETE FROM amber_change WHERE position <= 2")
        raw.execute("DELETE FROM amber_log WHERE position <= 2")
    raw.close()
    assert (memory.recall("zebra"), [hit.text for hit in memory.recall("giraffe")]) == ([], ["giraffe"])
    assert index.complete()
    assert (len(index), agrees(index, store, "giraffe zebra")) == (1, True)
    store.close()


def test_another_store_writes(sqlite_path: Path) -> None:
    with Memory.open(sqlite_path, space="acme") as one, Memory.open(sqlite_path, space="acme") as other:
        index = one._context.exact
        assert index is not None
        fact = other.facts.put(f"{SECRET} here", sender="ana")
        assert index.complete()
        assert len(one.recall(SECRET)) == 1
        other.facts.delete(fact)
        assert one.recall(SECRET) == []
        other.facts.put(f"{SECRET} again", sender="ana")
        assert len(one.recall(SECRET)) == 1
        other.forget(sender="ana")
        assert one.recall(SECRET) == []
        assert not any(SECRET in word for word in held(index))


def test_what_a_caller_rolls_back_never_comes_in(sqlite_path: Path) -> None:
    own = sqlite3.connect(sqlite_path, isolation_level=None)
    try:
        memory = Memory.open(own, space="acme")
        index = memory._context.exact
        assert index is not None
        memory.facts.put("zebra one")
        assert index.complete()
        own.execute("BEGIN")
        memory.facts.put(f"{SECRET} zebra")
        assert len(memory.recall("zebra")) == 2
        assert index.search(query_terms("zebra"), ALL, 10) is None
        assert not index.holds(SECRET)
        own.execute("ROLLBACK")
        assert [hit.text for hit in memory.recall("zebra")] == ["zebra one"]
        # the same position again, with something else in it
        memory.facts.put("zebra three")
        assert sorted(hit.text for hit in memory.recall("zebra")) == ["zebra one", "zebra three"]
        assert agrees(index, memory._store, f"zebra {SECRET}")
        own.execute("BEGIN")
        memory.facts.put("zebra four")
        assert len(memory.recall("zebra")) == 3
        own.execute("COMMIT")
        assert len(memory.recall("zebra")) == 3
        assert agrees(index, memory._store, "zebra four")
    finally:
        own.close()


def test_it_is_not_begun_inside_a_callers_transaction(sqlite_path: Path) -> None:
    own = sqlite3.connect(sqlite_path, isolation_level=None)
    try:
        memory = Memory.open(own, space="acme")
        index = memory._context.exact
        assert index is not None
        own.execute("BEGIN")
        memory.facts.put("zebra")
        assert not index.complete()
        assert len(index) == 0
        own.execute("ROLLBACK")
        assert index.complete()
        assert len(index) == 0
    finally:
        own.close()


def test_a_forked_child_is_told_to_open_its_own(pair: Pair) -> None:
    memory, index = pair
    memory.facts.put("zebra")
    assert index.complete()
    child = os.fork()
    if not child:
        try:
            memory.recall("zebra")
        except Closed:
            os._exit(0)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(memory.recall("zebra")) == 1


def test_two_spaces_know_nothing_of_each_other(target: str) -> None:
    store = open_store(target)
    one, index = memory_over(store)
    other, others = memory_over(store, space="other")
    one.facts.put(f"{SECRET} zebra")
    other.facts.put("zebra")
    assert index.complete()
    assert others.complete()
    assert (len(index), len(others), others.holds(SECRET)) == (1, 1, False)
    assert [hit.text for hit in other.recall("zebra")] == ["zebra"]
    store.close()


def test_how_it_is_turned_off_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    def bound(**options: Any) -> int | None:
        with Memory.open("memory:", **options) as memory:
            return memory._context.exact._bound if memory._context.exact is not None else None

    assert bound() == 256_000_000
    assert bound(search_memory=0) is None
    assert bound(search_memory=5) == 5_000_000
    monkeypatch.setenv("AMBER_SEARCH_MEMORY", "7")
    assert bound() == 7_000_000
    assert bound(search_memory=0) is None
    monkeypatch.setenv("AMBER_SEARCH_MEMORY", "0")
    assert bound() is None
    monkeypatch.setenv("AMBER_SEARCH_MEMORY", "much")
    with pytest.raises(BadInput, match="AMBER_SEARCH_MEMORY"):
        Memory.open("memory:")


@pytest.mark.parametrize("wrong", [-1, 1.5, "5", True, 10**7])
def test_a_bad_bound_is_refused(wrong: Any) -> None:
    with pytest.raises(BadInput, match="search_memory"):
        Memory.open("memory:", search_memory=wrong)
