"""Facts: what is put comes back, in its scope, and nothing else does."""

from __future__ import annotations

import copy
import pickle
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from tests.services.stage import Open, SteppingClock, values

from amber.errors import BadInput, Conflict, NotFound, SourcePurged, TooLarge, UniqueViolation
from amber.memory import Memory
from amber.model.batch import Batch
from amber.model.fact import MAX_NESTING, MAX_PAYLOAD
from amber.model.times import Time
from amber.store.contract import Receipt, Selection


def test_what_is_put_comes_back(memory: Memory) -> None:
    fact = memory.facts.put("Lisbon", sender="ana", key="city", project="travel", source="user")
    assert memory.facts.get(sender="ana", key="city", project="travel") == fact
    assert memory.facts.get(fact.id) == memory.facts.get(fact) == memory.facts.find(fact) == fact
    assert (fact.value, fact.key, fact.sender, fact.project, fact.source, fact.trust) == (
        "Lisbon",
        "city",
        "ana",
        "travel",
        "user",
        1.0,
    )
    assert (fact.position, fact.revision, fact.mentions) == (1, 1, 1)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "text",
        0,
        -1,
        2**63 - 1,
        -(2**63),
        1.5,
        1e308,
        True,
        False,
        [],
        {},
        [[]],
        {"": 1},
        {"a": None},
        [None, {"b": [1, "x"]}],
    ],
)
def test_a_value_keeps_its_type(memory: Memory, value: Any) -> None:
    found = memory.facts.get(memory.facts.put(value)).value
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    "value",
    [
        None, float("nan"), float("inf"), -float("inf"), {"a": float("nan")}, 2**63, {"n": [10**30]}, b"bytes", {1: "a"},
        {"a": {None: 1}}, {1, 2}, object(), datetime(2026, 1, 1, tzinfo=UTC), Decimal(1), 1j, {"a": b"x"},
        {chr(0xD800): 1, chr(0xD801): 2},
    ],
)  # fmt: skip
def test_a_value_that_would_not_come_back_is_refused(memory: Memory, value: Any) -> None:
    with pytest.raises(BadInput):
        memory.facts.put(value)
    assert memory.history.position() == 0


def test_a_value_that_holds_itself_is_refused(memory: Memory) -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(TooLarge):
        memory.facts.put(value)
    assert memory.history.position() == 0


def test_size_is_bounded_before_anything_is_written(memory: Memory) -> None:
    largest = "é" * ((MAX_PAYLOAD - 2) // 2)
    assert memory.facts.get(memory.facts.put(largest)).value == largest
    with pytest.raises(TooLarge):
        memory.facts.put(largest + "a")
    fact = memory.facts.put({"text": largest[:-10]})
    with pytest.raises(TooLarge):
        memory.facts.patch(fact, {"more": largest})
    assert memory.facts.get(fact) == fact
    assert memory.history.position() == 2


def nested(levels: int) -> Any:
    value: Any = 1
    for level in range(levels):
        value = [value] if level % 2 else {"k": value}
    return value


def test_nesting_is_bounded_before_anything_is_written(memory: Memory) -> None:
    deepest = nested(MAX_NESTING)
    assert memory.facts.get(memory.facts.put(deepest)).value == deepest
    with pytest.raises(TooLarge):
        memory.facts.put(nested(MAX_NESTING + 1))
    assert memory.history.position() == 1


@pytest.mark.parametrize("scope", ["sender", "project", "session", "key", "type"])
@pytest.mark.parametrize("name", ["", 7, "a\0b", "x" * 513, "\ud800", "é" * 257])
def test_a_bad_name_is_refused(memory: Memory, scope: str, name: Any) -> None:
    for call in (lambda: memory.facts.put("x", **{scope: name}), lambda: memory.facts.page(**{scope: name})):
        with pytest.raises(BadInput):
            call()
    assert memory.history.position() == 0


@pytest.mark.parametrize("name", ["x" * 512, "é" * 256, "' OR 1=1 --", "%", "_", "a.b", "\n", "雾", " "])
def test_any_other_name_is_a_name(memory: Memory, name: str) -> None:
    fact = memory.facts.put("x", sender=name, key=name, session=name, type=name)
    memory.facts.put("y", sender="other", key="other", session="other", type="other")
    for scope in ("sender", "key", "session", "type"):
        named: dict[str, Any] = {scope: name}
        assert memory.facts.page(**named).facts == [fact]
    assert memory.facts.get(sender=name, key=name) == fact


@pytest.mark.parametrize(
    "wrong",
    [
        {"source": "rumour"}, {"trust": 1.1}, {"trust": -0.1}, {"trust": True}, {"trust": "1"}, {"trust": float("nan")},
        {"ttl": "soon"}, {"ttl": "0s"}, {"ttl": timedelta(0)}, {"ttl": -timedelta(1)}, {"ttl": "9" * 400 + "w"},
        {"ttl": "10000000d"}, {"ttl": 5}, {"valid_from": "yesterday"}, {"valid_from": datetime(2026, 1, 1)},  # noqa: DTZ001
        {"valid_from": 5}, {"valid_from": "2026-01-02", "valid_until": "2026-01-01"}, {"valid_until": "2001-01-01"},
        {"valid_from": "2026-01-02", "valid_until": "2026-01-02"}, {"ephemeral": True}, {"derived_from": "abc"},
        {"derived_from": [7]}, {"project": "a//b"}, {"project": "/"}, {"operation": ""}, {"operation": "x" * 600},
    ],
)  # fmt: skip
def test_a_bad_argument_is_refused(memory: Memory, wrong: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        memory.facts.put("x", **wrong)
    assert memory.history.position() == 0


def test_the_callers_objects_are_not_shared(memory: Memory) -> None:
    given = {"list": [1], "inner": {"a": 1}}
    fact = memory.facts.put(given, key="k")
    given["list"].append(2)  # type: ignore[attr-defined]
    fact.value["inner"]["a"] = 2
    memory.facts.get(key="k").value["list"].append(3)
    memory.history.page()[0].changes[0].after["payload"]["list"].append(4)  # type: ignore[index]
    memory.facts.page().facts[0].body["sender"] = "eve"
    expected = {"list": [1], "inner": {"a": 1}}
    assert memory.facts.get(key="k").value == expected
    memory.facts.patch(fact, {"inner": None})
    assert memory.history.page()[0].changes[0].before["payload"] == expected  # type: ignore[index]
    memory.history.undo(last=1)
    assert memory.facts.get(key="k").value == expected


def test_a_fact_can_be_copied_and_pickled(memory: Memory) -> None:
    fact = memory.facts.put({"a": [1]}, sender="ana")
    assert copy.copy(fact) == copy.deepcopy(fact) == pickle.loads(pickle.dumps(fact)) == fact
    page = memory.facts.page()
    assert copy.copy(page) == page
    with pytest.raises(AttributeError, match="nickname"):
        _ = fact.nickname


def test_a_fact_as_json(memory: Memory) -> None:
    fact = memory.facts.put("tea", sender="ana", ttl="1d", valid_from="2023-01-01")
    shown = fact.to_dict()
    assert (shown["payload"], shown["sender"], shown["id"]) == ("tea", "ana", fact.id)
    assert datetime.fromisoformat(shown["valid_from"]) == datetime(2023, 1, 1, tzinfo=UTC)
    assert not {"digest", "subject"} & set(shown)


# -- scopes --


def test_scopes_do_not_mix(memory: Memory) -> None:
    memory.facts.put("Lisbon", sender="ana", key="city")
    memory.facts.put("Porto", sender="ben", key="city")
    memory.facts.put("Faro", key="city")
    memory.facts.put("Braga", sender="ana", project="x", key="city")
    assert memory.facts.get(sender="ana", key="city").value == "Lisbon"
    assert memory.facts.get(sender="ben", key="city").value == "Porto"
    assert memory.facts.get(key="city").value == "Faro"
    assert memory.facts.get(sender="ana", project="x", key="city").value == "Braga"
    assert values(memory, sender="ana") == ["Lisbon", "Braga"]
    assert values(memory, key="city") == ["Lisbon", "Porto", "Faro", "Braga"]
    assert memory.facts.find(sender="cy", key="city") is None
    with pytest.raises(NotFound):
        memory.facts.get(sender="cy", key="city")


def test_spaces_do_not_mix(open_memory: Open) -> None:
    acme, other = open_memory("acme"), open_memory("acme/x")
    fact = acme.facts.put("secret", key="k")
    assert other.facts.find(key="k") is None
    assert other.facts.find(fact.id) is None
    assert values(other) == []
    assert other.recall("secret") == []
    assert (other.history.position(), other.history.page(), other.history.of(fact)) == (0, [], [])
    for change in (other.facts.delete, other.facts.restore, lambda each: other.facts.patch(each, {})):
        with pytest.raises(NotFound):
            change(fact)
    with pytest.raises(NotFound):
        other.history.undo(last=1)
    assert acme.facts.get(fact) == fact


def test_a_project_holds_what_is_below_it_by_whole_segments(memory: Memory) -> None:
    for project in ("t/acme", "t/acme-corp", "t/acme/x", "t/acme_x", "t", "t/acm", "T/acme", "t/acme/x/y"):
        memory.facts.put(project, project=project)
    assert values(memory, project="t/acme") == ["t/acme", "t/acme/x", "t/acme/x/y"]
    assert values(memory, project="/t/acme/") == ["t/acme", "t/acme/x", "t/acme/x/y"]
    assert values(memory, project="t/acme/x") == ["t/acme/x", "t/acme/x/y"]
    assert values(memory, project="t/ac%") == []
    assert len(values(memory, project="t")) == 7


def test_an_id_comes_without_a_scope(memory: Memory) -> None:
    fact = memory.facts.put("x", sender="ana")
    for scope in ({"sender": "ben"}, {"key": "k"}, {"project": "p"}, {"session": "s"}, {"valid_at": "2026-01-01"}):
        with pytest.raises(BadInput):
            memory.facts.find(fact.id, **scope)
    with pytest.raises(BadInput):
        memory.facts.find()


# -- pages --


def test_pages_go_through_everything_once_in_the_order_of_creation(memory: Memory) -> None:
    facts = [memory.facts.put(number, sender="ana", type="n") for number in range(25)]
    memory.facts.patch(memory.facts.put({"odd": True}, sender="ana"), {"odd": False})
    for filters in ({}, {"sender": "ana"}, {"type": "n"}, {"where": {"type": "n"}}):
        found: list[Any] = []
        cursor = None
        while True:
            page = memory.facts.page(after=cursor, limit=7, **filters)
            found += page.facts
            assert page.complete
            if page.cursor is None:
                break
            assert len(page) == 7
            cursor = page.cursor
        assert found[:25] == facts
        assert len(found) == memory.facts.count(**filters) == (25 if "type" in str(filters) else 26)


def test_a_page_by_value_goes_through_everything_once(memory: Memory) -> None:
    facts = [memory.facts.put({"n": number, "kind": "even" if number % 2 == 0 else "odd"}) for number in range(250)]
    found = list(memory.facts.iter(where={"payload.kind": "even"}, limit=7))
    assert found == facts[::2]


def test_an_exact_page_has_no_next_one(memory: Memory) -> None:
    memory.facts.put(1)
    memory.facts.put(2)
    assert memory.facts.page(limit=2).cursor is None
    assert memory.facts.page(limit=1).cursor is not None


def test_a_page_that_stopped_early_says_so(memory: Memory) -> None:
    for number in range(120):
        memory.facts.put(number)
    page = memory.facts.page(where={"created_at": 0}, scan_limit=100)
    assert (page.facts, page.complete) == ([], False)
    assert memory.facts.page(where={"created_at": 0}, scan_limit=100, after=page.cursor).cursor is None


@pytest.mark.parametrize("limit", [0, -1, True, None, "5", 1.5, 10**6])
def test_a_bad_limit_is_refused(memory: Memory, limit: Any) -> None:
    memory.facts.put("x")
    for call in (memory.facts.page, memory.history.page, memory.sessions.page):
        with pytest.raises(BadInput):
            call(limit=limit)
    with pytest.raises(BadInput):
        memory.sessions.messages("s", limit=limit)
    with pytest.raises(BadInput):
        memory.recall("x", limit=limit)


@pytest.mark.parametrize("cursor", ["", "x", "/", "1/", "²/x", "-1/x", "9" * 30 + "/x", 5, b"1/x", "1/\ud800"])
def test_a_bad_cursor_is_refused(memory: Memory, cursor: Any) -> None:
    memory.facts.put("x")
    with pytest.raises(BadInput):
        memory.facts.page(after=cursor)


# -- patch, delete, restore --


def test_patch_merges_members(memory: Memory) -> None:
    fact = memory.facts.put({"name": "Ana", "role": "admin", "deep": {"a": 1, "b": 2}}, key="me")
    patched = memory.facts.patch(fact, {"role": "user", "name": None, "deep": {"b": None, "c": [1]}})
    assert patched.value == {"role": "user", "deep": {"a": 1, "c": [1]}}
    assert memory.facts.get(key="me") == patched
    assert (patched.id, patched.revision, patched.position) == (fact.id, 2, 1)


@pytest.mark.parametrize("patch", [None, "text", [1], 5, {"a": float("nan")}, {1: 2}, {"a": 2**64}])
def test_a_bad_patch_is_refused(memory: Memory, patch: Any) -> None:
    fact = memory.facts.put({"a": 1})
    with pytest.raises(BadInput):
        memory.facts.patch(fact, patch)
    with pytest.raises(BadInput):
        memory.facts.patch(memory.facts.put("text"), {"a": 1})
    assert memory.facts.get(fact) == fact


def test_a_patch_applies_to_the_fact_as_it_is_now(memory: Memory) -> None:
    read = memory.facts.put({"a": 1})
    memory.facts.patch(read, {"b": 2})
    assert memory.facts.patch(read, {"c": 3}).value == {"a": 1, "b": 2, "c": 3}


def test_a_patch_makes_no_copy_of_another_fact(memory: Memory) -> None:
    one = memory.facts.put({"a": 1}, sender="ana")
    two = memory.facts.put({"a": 2}, sender="ana")
    with pytest.raises(UniqueViolation) as conflict:
        memory.facts.patch(two, {"a": 1})
    assert (conflict.value.holder, conflict.value.retry) == (one.id, "no")
    memory.facts.delete(one)
    assert memory.facts.patch(two, {"a": 1}).value == {"a": 1}
    with pytest.raises(Conflict):
        memory.facts.restore(one)


def test_a_deleted_fact_is_gone_until_it_is_restored(memory: Memory) -> None:
    fact = memory.facts.put("likes tea", sender="ana", key="drink")
    deleted = memory.facts.delete(fact)
    assert deleted.is_deleted
    assert memory.facts.get(fact.id) == deleted
    assert memory.facts.find(sender="ana", key="drink") is None
    assert (values(memory), values(memory, deleted=True), memory.recall("tea")) == ([], ["likes tea"], [])
    restored = memory.facts.restore(fact)
    assert memory.facts.get(sender="ana", key="drink") == restored
    assert [hit.id for hit in memory.recall("tea")] == [fact.id]


def test_the_wrong_state_is_refused_at_once(memory: Memory) -> None:
    fact = memory.facts.put({"a": 1})
    with pytest.raises(Conflict) as not_deleted:
        memory.facts.restore(fact)
    memory.facts.delete(fact)
    with pytest.raises(Conflict) as deleted:
        memory.facts.delete(fact)
    with pytest.raises(Conflict) as patched:
        memory.facts.patch(fact, {"a": 2})
    # reading again helps none of them
    assert {each.value.retry for each in (not_deleted, deleted, patched)} == {"no"}
    assert memory.history.position() == 2


@pytest.mark.parametrize("id", ["nobody", "x" * 512])
def test_what_is_not_there_is_not_found(memory: Memory, id: str) -> None:
    for change in (
        memory.facts.delete,
        memory.facts.restore,
        memory.facts.get,
        lambda each: memory.facts.patch(each, {}),
    ):
        with pytest.raises(NotFound):
            change(id)
    assert memory.facts.find(id) is None


def test_a_place_that_was_taken_is_not_restored(memory: Memory) -> None:
    old = memory.facts.put("Lisbon", key="city")
    memory.facts.delete(old)
    new = memory.facts.put("Porto", key="city")
    with pytest.raises(Conflict) as conflict:
        memory.facts.restore(old)
    assert conflict.value.holder == new.id
    assert values(memory, key="city") == ["Porto"]


# -- the same fact again --


def test_the_same_fact_again_is_a_mention(memory: Memory, clock: SteppingClock) -> None:
    first = memory.facts.put("Prefers dark mode", sender="ana")
    clock.advance(days=1)
    again = memory.facts.put("  prefers\tDARK mode ", sender="ana")
    assert (again.id, again.mentions, again.value) == (first.id, 2, "Prefers dark mode")
    assert again.last_seen - first.last_seen >= timedelta(days=1)
    assert memory.facts.count() == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [("Café", "Cafe\u0301"), ("STRASSE", "straße"), ("Å", "A\u030a"), ("a  b", "a b"), ("x\u00a0y", "x y"), ("Ǆ", "ǆ")],
)
def test_forms_that_are_the_same(memory: Memory, one: str, other: str) -> None:
    assert memory.facts.put(one).id == memory.facts.put(other).id


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True),
        (1, "1"),
        ("a", ["a"]),
        ("", " x"),
        ([1, 2], [2, 1]),
        ({"a": "X"}, {"a": "x"}),
        ({"a": None}, {}),
        (0, False),
    ],
)
def test_forms_that_are_not_the_same(memory: Memory, one: Any, other: Any) -> None:
    assert memory.facts.put(one).id != memory.facts.put(other).id


def test_the_same_value_elsewhere_is_another_fact(memory: Memory) -> None:
    facts = [
        memory.facts.put("tea", **scope)
        for scope in ({}, {"sender": "ana"}, {"project": "p"}, {"key": "k"}, {"type": "t"}, {"session": "s", "ephemeral": True})
    ]  # fmt: skip
    assert len({fact.id for fact in facts}) == 6
    # one run or another does not make two facts
    assert memory.facts.put("tea", session="s1").id == memory.facts.put("tea", session="s2").id == facts[0].id


def test_numbers_that_are_equal_are_one_fact(memory: Memory) -> None:
    assert memory.facts.put({"n": 1}).id == memory.facts.put({"n": 1.0}).id


# -- time to live --


def test_a_fact_with_a_time_to_live_ends(memory: Memory, clock: SteppingClock) -> None:
    fact = memory.facts.put("code 42", key="code", ttl="1h30m")
    clock.advance(seconds=5_000)
    assert memory.facts.get(key="code") == fact
    clock.advance(seconds=500)
    assert (memory.facts.find(key="code"), values(memory), memory.recall("code")) == (None, [], [])
    again = memory.facts.put("code 42", key="code")
    assert again.id != fact.id
    assert values(memory) == ["code 42"]


def test_said_again_for_longer_it_lives_longer(memory: Memory, clock: SteppingClock) -> None:
    fact = memory.facts.put("x", ttl="1h")
    assert memory.facts.put("x", ttl="2h").id == fact.id
    clock.advance(seconds=5_000)
    assert (values(memory), memory.facts.get(fact).mentions) == (["x"], 2)
    assert memory.facts.put("x").id == fact.id
    clock.advance(days=1_000)
    assert values(memory) == ["x"]
    assert memory.facts.put("x", ttl="1s").expires_at is None


# -- validity, source and trust --


def test_times_may_be_given_in_many_ways(memory: Memory) -> None:
    moment = datetime(2023, 3, 1, tzinfo=UTC)
    ways: tuple[Time, ...] = (
        moment,
        date(2023, 3, 1),
        "2023-03-01",
        "2023-03-01T01:00:00+01:00",
        "2023-02-28T19:00-05:00",
    )
    for number, given in enumerate(ways):
        assert memory.facts.put(number, valid_from=given).valid_from == moment


def test_a_derived_fact_is_never_trusted_more_than_its_sources(memory: Memory) -> None:
    user = memory.facts.put("a", source="user")
    document = memory.facts.put("b", source="document")
    derived = memory.facts.put("c", source="derived", derived_from=[user, document.id])
    assert (derived.trust, derived.derived_from) == (document.trust, [user.id, document.id])
    assert memory.facts.put("d", source="user", trust=1, derived_from=[derived]).trust == document.trust
    assert memory.facts.put("e", trust=0.1, derived_from=[derived]).trust == 0.1
    with pytest.raises(NotFound):
        memory.facts.put("f", derived_from=["nobody"])


# -- operations --


def test_an_operation_answers_with_its_first_result(memory: Memory) -> None:
    fact = memory.facts.put({"n": 1}, key="k", operation="op-1")
    memory.facts.patch(fact, {"n": 2})
    memory.facts.put({"n": 3}, key="k")
    assert memory.facts.put({"n": 9}, key="other", operation="op-1") == fact
    memory.history.undo(after=0)
    assert memory.facts.put({"n": 1}, key="k", operation="op-1") == fact
    assert memory.facts.find(fact.id) is None


def test_a_repeated_mention_answers_with_its_first_result(memory: Memory) -> None:
    memory.facts.put("x")
    second = memory.facts.put("x", operation="again")
    memory.facts.put("x")
    repeated = memory.facts.put("x", operation="again")
    assert (repeated.mentions, repeated.revision) == (second.mentions, second.revision) == (2, 2)
    assert memory.facts.get(second).mentions == 3


def test_an_operation_of_something_else_is_refused(memory: Memory) -> None:
    memory.facts.put("x", operation="op")
    with pytest.raises(BadInput):
        memory.history.undo(last=1, operation="op")
    assert values(memory) == ["x"]


def test_what_is_derived_from_a_forgotten_fact_is_refused(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    source = memory.facts.put("a secret", sender="ana")
    store, now = memory._store, memory._context.clock()
    selection = Selection("facts", keys=(source.id,))
    # forgotten between the look at the source and the commit
    commit = store.commit

    def late(batch: Batch) -> Receipt:
        store.purge(memory.space, selection, now=now)
        return commit(batch)

    monkeypatch.setattr(store, "commit", late)
    with pytest.raises(SourcePurged):
        memory.facts.put("a summary", source="derived", derived_from=[source])
    monkeypatch.undo()
    assert memory.facts.count() == 0


@pytest.mark.parametrize("where", [["a"], "payload.x", 7, {("payload", ""): 1}, {7: 1}])
def test_a_bad_filter_is_refused(memory: Memory, where: Any) -> None:
    with pytest.raises(BadInput):
        memory.facts.page(where=where)


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00"])
def test_a_time_that_no_datetime_in_utc_can_name_is_refused(memory: Memory, at: str) -> None:
    with pytest.raises(BadInput):
        memory.facts.put("x", valid_from=at)
    with pytest.raises(BadInput):
        memory.facts.put("x", valid_until=at)
    assert memory.history.position() == 0


def test_a_reader_whose_clock_is_behind_misses_nothing(open_memory: Open, clock: SteppingClock) -> None:
    memory = open_memory()
    clock.advance(seconds=60)
    memory.facts.put("A", sender="a", key="k")
    clock.advance(seconds=-60)
    assert memory.facts.get(sender="a", key="k").value == "A"
    assert values(memory) == ["A"]
    assert [hit.text for hit in memory.recall("A", sender="a")] == ["k: A"]


def test_said_again_by_one_who_is_believed_more(memory: Memory) -> None:
    first = memory.facts.put("The API is paid", source="document")
    again = memory.facts.put("the api is paid", source="user")
    assert (again.id, again.mentions, again.source, again.trust) == (first.id, 2, "user", 1.0)
    assert memory.facts.put("The API is paid", source="tool").trust == 1.0
    memory.history.undo(again.revision, force=True)
    assert memory.facts.get(first.id).source == "document"


def test_said_again_with_an_end(memory: Memory) -> None:
    first = memory.facts.put("Lisbon", key="city")
    again = memory.facts.put("Lisbon", key="city", valid_until="2100-01-01")
    assert (again.id, again.valid_until) == (first.id, datetime(2100, 1, 1, tzinfo=UTC))
    assert memory.facts.find(key="city", valid_at="2101-01-01") is None


def test_a_common_value_in_a_scope_that_holds_little(memory: Memory) -> None:
    with memory.transaction() as tx:
        for number in range(60):
            tx.facts.put({"role": "user", "n": number}, sender="many", type="person")
        tx.facts.put({"role": "user", "n": -1}, sender="one", type="person")
    nobody = memory.facts.page(sender="nobody", where={"payload.role": "user"}, scan_limit=10)
    assert (nobody.facts, nobody.cursor, nobody.complete) == ([], None, True)
    one = memory.facts.page(sender="one", where={"payload.role": "user"}, scan_limit=10)
    assert ([fact.value["n"] for fact in one], one.complete) == ([-1], True)
    assert memory.facts.count(sender="many", where={"payload.role": "user"}) == 60


def test_the_names_of_a_fact_are_told(memory: Memory) -> None:
    assert {"sender", "trust", "valid_until", "value", "mentions"} <= set(dir(memory.facts.put("a")))
