"""One value for each moment of a key: the newest put that covers it, and nothing else is lost."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.services.stage import DAY, FACES, START, STORES, Open, SteppingClock, finish, iso, opener, target_of, values

from amber.memory import Memory


def test_a_new_value_supersedes_the_old_one(memory: Memory) -> None:
    alice = memory.facts.put("Alice", key="manager")
    bob = memory.facts.put("Bob", key="manager")
    assert memory.facts.get(key="manager") == bob
    assert memory.facts.page(key="manager").facts == [bob]
    kept = memory.facts.get(alice.id)
    assert (kept.value, kept.valid_until, kept.superseded_by) == ("Alice", bob.valid_from, bob.id)
    assert memory.facts.get(key="manager", valid_at=alice.valid_from) == kept
    assert values(memory, key="manager", superseded=True) == ["Alice", "Bob"]
    assert [hit.id for hit in memory.recall("manager")] == [bob.id]
    assert memory.at(alice.position).facts.get(key="manager") == alice
    memory.history.undo(last=1)
    assert memory.facts.get(key="manager").value == "Alice"
    assert values(memory, key="manager", superseded=True) == ["Alice"]


def test_intervals_that_do_not_meet_stay(memory: Memory) -> None:
    memory.facts.put("Oslo", key="home", valid_from="2019-01-01", valid_until="2021-01-01")
    memory.facts.put("Oslo", key="home", valid_from="2023-01-01")
    assert [memory.facts.find(key="home", valid_at=f"{year}-06-01") is not None for year in range(2018, 2025)] == [
        False, True, True, False, False, True, True,
    ]  # fmt: skip
    assert memory.facts.count(key="home", superseded=True) == 2
    memory.facts.put("Bergen", key="home", valid_from="2021-01-01", valid_until="2023-01-01")
    assert [memory.facts.get(key="home", valid_at=f"{year}-06-01").value for year in range(2019, 2025)] == [
        "Oslo", "Oslo", "Bergen", "Bergen", "Oslo", "Oslo",
    ]  # fmt: skip
    assert memory.facts.count(key="home", superseded=True) == 3


def test_a_future_value_leaves_the_present_one_current(memory: Memory, clock: SteppingClock) -> None:
    memory.facts.put("Lisbon", key="city")
    memory.facts.put("Porto", key="city", valid_from=iso(START + 10 * DAY))
    assert memory.facts.get(key="city").value == "Lisbon"
    assert values(memory, key="city") == ["Lisbon"]
    assert memory.facts.put("Lisbon", key="city").mentions == 2
    assert memory.facts.get(key="city", valid_at=iso(START + 11 * DAY)).value == "Porto"
    clock.advance(days=11)
    assert memory.facts.get(key="city").value == "Porto"
    assert values(memory, key="city") == ["Porto"]


def test_a_value_in_the_middle_leaves_both_ends(memory: Memory) -> None:
    memory.facts.put("desk", key="place", valid_from="2020-01-01", sender="ana", source="tool", trust=0.3)
    memory.facts.put("home", key="place", valid_from="2021-01-01", valid_until="2022-01-01", sender="ana")
    found = [memory.facts.get(key="place", sender="ana", valid_at=f"{year}-06-01") for year in (2020, 2021, 2022, 2025)]
    assert [fact.value for fact in found] == ["desk", "home", "desk", "desk"]
    assert (found[2].source, found[2].trust) == ("tool", 0.3)
    memory.history.undo(last=1)
    assert memory.facts.count(key="place", superseded=True) == 1
    assert memory.facts.get(key="place", sender="ana", valid_at="2021-06-01").value == "desk"


def test_two_values_in_one_moment(memory: Memory, open_memory: Open) -> None:
    still = open_memory(clock=lambda: START)
    still.facts.put("one", key="k")
    still.facts.put("two", key="k")
    still.facts.put("three", key="k")
    assert still.facts.get(key="k").value == "three"
    assert values(still, key="k") == ["three"]
    assert values(still, key="k", superseded=True) == ["one", "two", "three"]
    still.history.undo(last=2)
    assert still.facts.get(key="k").value == "one"


def test_a_clock_that_went_back(memory: Memory, clock: SteppingClock) -> None:
    memory.facts.put("one", key="k")
    clock.advance(days=-3)
    memory.facts.put("two", key="k")
    assert memory.facts.get(key="k").value == "two"
    clock.advance(days=6)
    assert (memory.facts.get(key="k").value, values(memory, key="k")) == ("two", ["two"])
    times = [entry.at for entry in memory.history.page()]
    assert times == sorted(times, reverse=True)


@pytest.mark.parametrize("key", ["k", None])
def test_the_same_from_a_clock_that_went_back_is_a_mention(
    memory: Memory, clock: SteppingClock, key: str | None
) -> None:
    memory.facts.put("zero", key="k", valid_from="2020-01-01")
    first = memory.facts.put("one", key=key)
    clock.advance(days=-3)
    again = memory.facts.put("one", key=key)
    assert (again.id, again.mentions, again.valid_from) == (first.id, 2, first.valid_from)
    assert again in memory.facts.page().facts
    clock.advance(days=1)
    assert memory.facts.put("one", key=key).mentions == 3
    check_spans(memory)


def test_a_deleted_value_is_not_superseded(memory: Memory) -> None:
    one = memory.facts.put("one", key="k")
    memory.facts.delete(one)
    memory.facts.put("two", key="k")
    assert memory.facts.get(one.id).valid_until is None
    memory.facts.delete(memory.facts.get(key="k"))
    assert memory.facts.restore(one).value == "one"
    assert memory.facts.get(key="k").id == one.id


def test_many_values_of_one_key(memory: Memory) -> None:
    for number in range(1_200):
        memory.facts.put(number, key="n")
    assert memory.facts.get(key="n").value == 1_199
    assert memory.facts.count(key="n") == 1
    first = memory.facts.page(key="n", superseded=True, limit=1).facts[0]
    assert memory.facts.get(key="n", valid_at=first.valid_from).value == 0


Put = tuple[str, int | None, int | None]
moments = st.integers(-6, 6)


@st.composite
def puts(draw: st.DrawFn) -> Put:
    value = draw(st.sampled_from("abc"))
    start = draw(st.none() | moments)
    end = draw(st.none() | moments)
    if end is not None and end <= (start if start is not None else 0):
        end = None
    return value, start, end


class Oracle:
    """Which value holds at each moment: of the newest put that covers it. An undated put of what holds now changes
    nothing, also where that ends; one that gives an end alone ends what had none."""

    def __init__(self) -> None:
        self.puts: list[tuple[str | None, int, int | None]] = []

    def put(self, value: str, start: int | None, end: int | None, now: int) -> None:
        if start is None and end is None and self.value(now) == value:
            return
        if start is None and end is not None and self.value(now) == value and self.is_one(now, None):
            self.puts.append((None, end, None))
            return
        begin = now if start is None else start
        if self.value(begin) == value and self.is_one(begin, end):
            return
        self.puts.append((value, begin, end))

    def is_one(self, start: int, end: int | None) -> bool:
        """Tell whether one put holds from a moment to another, or for ever."""
        borders = {border for _, *each in self.puts for border in each if border is not None and border > start}
        moments = [start, *(border for border in borders if end is None or border < end)]
        return len({self.put_at(moment) for moment in moments}) == 1

    def put_at(self, at: int) -> int:
        covering = (n for n, (_, start, end) in enumerate(self.puts) if start <= at and (end is None or at < end))
        return max(covering, default=-1)

    def value(self, at: int) -> str | None:
        n = self.put_at(at)
        return self.puts[n][0] if n >= 0 else None


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(given_puts=st.lists(puts(), max_size=9), undone=st.integers(0, 3))
@pytest.mark.parametrize("kind", STORES)
def test_the_newest_put_that_covers_a_moment_holds(
    kind: str, given_puts: list[Put], undone: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    put_and_undo(kind, given_puts, undone, tmp_path_factory)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(given_puts=st.lists(puts(), max_size=9), undone=st.integers(0, 3))
@pytest.mark.parametrize("kind", [f"async-{kind}" for kind in STORES])
def test_it_holds_when_it_is_awaited(
    kind: str, given_puts: list[Put], undone: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    put_and_undo(kind, given_puts, undone, tmp_path_factory)


def put_and_undo(kind: str, given_puts: list[Put], undone: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    target = target_of(kind.removeprefix("async-"), tmp_path_factory.mktemp("s"))
    clock = SteppingClock()
    memory = opener(target, clock, FACES["async" if kind.startswith("async") else "sync"])()
    oracle, snapshots = Oracle(), []
    for value, start, end in given_puts:
        snapshots.append((memory.history.position(), list(oracle.puts)))
        options: dict[str, Any] = {}
        if start is not None:
            options["valid_from"] = iso(START + start * DAY)
        if end is not None:
            options["valid_until"] = iso(START + end * DAY)
        memory.facts.put(value, key="k", **options)
        now = START if start is not None else clock.now
        oracle.put(
            value, None if start is None else START + start * DAY, None if end is None else START + end * DAY, now
        )
        check(memory, oracle)
    if undone and len(snapshots) >= undone:
        position, oracle.puts = snapshots[-undone]
        memory.history.undo(after=position)
        check(memory, oracle)
    assert memory.verify() == []
    finish(memory)


def check(memory: Memory, oracle: Oracle) -> None:
    check_spans(memory)
    # half a day off, so that the few milliseconds of "now" make no difference
    for day in range(-7, 8):
        at = START + day * DAY + DAY // 2
        found = memory.facts.find(key="k", valid_at=iso(at))
        assert (found.value if found is not None else None) == oracle.value(at), day
        assert [fact.value for fact in memory.facts.iter(key="k", valid_at=iso(at))] == ([found.value] if found else [])


def check_spans(memory: Memory) -> None:
    live = [fact.body for fact in memory.facts.iter(key="k", superseded=True)]
    spans = sorted((body["valid_from"], body["valid_until"] or 2**62) for body in live)
    spans = [span for span in spans if span[0] < span[1]]
    assert all(one[1] <= other[0] for one, other in itertools.pairwise(spans)), spans
