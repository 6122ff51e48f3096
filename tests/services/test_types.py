"""Registered types: models check values here, the store keeps constraints everywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, SecretStr, computed_field
from tests.services.stage import Open, SteppingClock, values

from amber.errors import BadInput, Conflict, Immutable, NotFound, UniqueViolation
from amber.memory import Memory


class Preference(BaseModel):
    email: str
    role: Literal["admin", "user"] = "user"


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")
    first: str = Field(alias="firstName")
    last: str = ""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def name(self) -> str:
        return f"{self.first} {self.last}"


class Secret(BaseModel):
    keys: list[SecretStr]


class Number(BaseModel):
    n: float


class Better(Preference):
    extra: int = 0


def test_a_model_goes_in_and_json_comes_out(memory: Memory) -> None:
    memory.register("preference", Preference)
    fact = memory.facts.put(Preference(email="a@b.io"), sender="ana")
    assert (fact.type, fact.value) == ("preference", {"email": "a@b.io", "role": "user"})
    assert memory.facts.put({"email": "c@d.io"}, type="preference").value == {"email": "c@d.io", "role": "user"}
    assert values(memory, type="preference", where={"payload.email": "c@d.io"}) == [{"email": "c@d.io", "role": "user"}]


def test_what_does_not_fit_is_refused(memory: Memory) -> None:
    memory.register("preference", Preference)
    fact = memory.facts.put(Preference(email="a@b.io"))
    position = memory.history.position()
    with pytest.raises(BadInput, match="preference"):
        memory.facts.put({"role": "admin"}, type="preference")
    with pytest.raises(BadInput, match="preference"):
        memory.facts.put("text", type="preference")
    with pytest.raises(BadInput, match="role"):
        memory.facts.patch(fact, {"role": "boss"})
    with pytest.raises(BadInput, match="rolle"):
        memory.facts.patch(fact, {"rolle": "admin"})
    with pytest.raises(BadInput):
        memory.facts.patch(fact, {"email": None})
    with pytest.raises(BadInput, match="register"):
        memory.facts.put(Number(n=1))
    assert memory.history.position() == position


def test_aliases_and_computed_fields(memory: Memory) -> None:
    memory.register("person", Strict)
    fact = memory.facts.put(Strict(firstName="Ana"))
    assert fact.value == {"first": "Ana", "last": "", "name": "Ana "}
    patched = memory.facts.patch(fact, {"last": "Sousa"})
    assert patched.value == {"first": "Ana", "last": "Sousa", "name": "Ana Sousa"}
    with pytest.raises(BadInput):
        memory.facts.patch(fact, {"name": "Ben"})
    with pytest.raises(BadInput):
        memory.facts.put({"firstName": "Ben", "nick": "B"}, type="person")


def test_a_subclass_and_a_class_of_two_names(memory: Memory) -> None:
    memory.register("preference", Preference)
    assert memory.facts.put(Better(email="x", extra=2)).type == "preference"
    memory.register("second", Preference)
    assert memory.facts.put(Preference(email="y"), type="second").type == "second"
    assert memory.facts.put(Preference(email="z")).type == "preference"


def test_what_a_dump_would_lose_is_refused(memory: Memory) -> None:
    memory.register("secret", Secret)
    memory.register("number", Number)
    for value in (Secret(keys=[SecretStr("x")]), Number(n=float("nan")), Number(n=float("inf"))):
        with pytest.raises(BadInput):
            memory.facts.put(value)
    assert values(memory) == []


@pytest.mark.parametrize("name", ["", None, 7, "a\0", "x" * 513])
def test_a_bad_type_name_is_refused(memory: Memory, name: Any) -> None:
    with pytest.raises(BadInput):
        memory.register(name, Preference)
    assert memory.history.position() == 0


@pytest.mark.parametrize(
    ("model", "unique"),
    [
        (Preference, ("mail",)), (Preference, "email"), (Preference, ("email", ("role",))), (Preference, [()]),
        (Preference, (1,)), (Preference, None), (Preference, ("",)), (Preference, {"email"}), (dict, ()), ("Preference", ()),
        (Preference(email="x"), ()), (None, [("a", 1)]), (None, {"a": "b"}),
    ],
)  # fmt: skip
def test_a_bad_registration_is_refused(memory: Memory, model: Any, unique: Any) -> None:
    with pytest.raises(BadInput):
        memory.register("t", model, unique=unique)
    assert memory.history.position() == 0


def test_a_unique_value_is_held_once(memory: Memory) -> None:
    memory.register("u", unique=("email",))
    ana = memory.facts.put({"email": "x", "n": 1}, type="u", sender="ana")
    with pytest.raises(UniqueViolation) as violation:
        memory.facts.put({"email": "x", "n": 2}, type="u", sender="ben")
    assert (violation.value.holder, violation.value.retry) == (ana.id, "no")
    # the same scope says it anew: that supersedes
    newer = memory.facts.put({"email": "x", "n": 3}, type="u", sender="ana")
    assert values(memory, type="u") == [{"email": "x", "n": 3}]
    assert memory.facts.get(ana.id).superseded_by == newer.id
    other = memory.facts.put({"email": "y"}, type="u", sender="ben")
    with pytest.raises(UniqueViolation):
        memory.facts.patch(other, {"email": "x"})
    memory.facts.delete(newer)
    assert memory.facts.patch(other, {"email": "x"}).value == {"email": "x"}
    with pytest.raises(UniqueViolation):
        memory.facts.restore(newer)
    with pytest.raises(UniqueViolation):
        memory.history.undo(memory.history.of(newer)[0].position)


def test_unique_values_of_several_fields(memory: Memory) -> None:
    memory.register("pair", unique=("a", "b"))
    memory.register("each", unique=[("a",), ("b",)])
    for type, refused in (("pair", 1), ("each", 3)):
        memory.facts.put({"a": 1, "b": 1}, type=type)
        count = 0
        for value in ({"a": 1, "b": 1}, {"a": 1, "b": 2}, {"a": 2, "b": 1}, {"a": 1}, {"b": None, "a": 3}):
            try:
                memory.facts.put(value, type=type, sender="other")
            except UniqueViolation:
                count += 1
        # a value that lacks a field is not bound by a constraint of it
        assert count == refused + (type == "each"), type


@pytest.mark.parametrize("field", ["e-mail", "a.b", "ключ", "with space", "'quote\"", "$ne", "0", "a,b"])
def test_any_field_may_be_unique(memory: Memory, field: str) -> None:
    memory.register("t", unique=(field,))
    memory.facts.put({field: "x"}, type="t", sender="ana")
    with pytest.raises(UniqueViolation):
        memory.facts.put({field: "x"}, type="t", sender="ben")
    memory.facts.put({field: "y"}, type="t", sender="ben")
    assert memory.facts.count(type="t") == 2


def test_one_and_true_and_text_are_three_values(memory: Memory) -> None:
    memory.register("t", unique=("v",))
    for number, value in enumerate((1, True, "1", 1.5, [1], {"a": 1})):
        memory.facts.put({"v": value}, type="t", sender=f"s{number}")
    for value in (1.0, [1.0], {"a": 1.0}):
        with pytest.raises(UniqueViolation):
            memory.facts.put({"v": value}, type="t", sender="other")


def test_a_value_whose_time_is_over_makes_room(memory: Memory, clock: SteppingClock) -> None:
    memory.register("t", unique=("v",))
    memory.facts.put({"v": 1}, type="t", sender="ana", ttl="1h")
    clock.advance(days=1)
    assert memory.facts.put({"v": 1}, type="t", sender="ben").sender == "ben"
    assert memory.facts.count(type="t") == 1


def test_a_value_that_was_superseded_is_free(memory: Memory) -> None:
    memory.register("t", unique=("v",))
    memory.facts.put({"v": 1}, type="t", sender="ana", key="k")
    memory.facts.put({"v": 2}, type="t", sender="ana", key="k")
    memory.facts.put({"v": 1}, type="t", sender="ben")
    with pytest.raises(UniqueViolation):
        memory.history.undo(3)
    assert memory.facts.get(sender="ana", key="k").value == {"v": 2}


def test_a_rule_over_rows_that_break_it(memory: Memory) -> None:
    for sender in ("ana", "ben"):
        memory.facts.put({"v": 1}, type="t", sender=sender)
    memory.register("t", unique=("v",))
    assert {problem.kind for problem in memory.verify()} != set()
    with pytest.raises(UniqueViolation):
        memory.facts.put({"v": 1}, type="t", sender="cy")
    for fact in memory.facts.page(sender="ana"):
        memory.facts.delete(fact)
    assert memory.verify() == []


def test_a_rule_may_be_loosened(memory: Memory) -> None:
    memory.register("t", unique=("v",), immutable=True)
    fact = memory.facts.put({"v": 1}, type="t", sender="ana")
    memory.register("t")
    memory.facts.put({"v": 1}, type="t", sender="ben")
    assert memory.facts.patch(fact, {"v": 2}).value == {"v": 2}
    position = memory.history.position()
    memory.register("t")
    assert memory.history.position() == position


def test_an_immutable_fact_stays(memory: Memory) -> None:
    memory.register("oath", immutable=True)
    fact = memory.facts.put({"v": 1}, type="oath", key="k")
    changes: tuple[Callable[[], Any], ...] = (
        lambda: memory.facts.patch(fact, {"v": 2}),
        lambda: memory.facts.delete(fact),
        lambda: memory.facts.put({"v": 2}, type="oath", key="k"),
        lambda: memory.facts.put({"v": 2}, key="k"),
        lambda: memory.facts.put({"v": 1}, type="other", key="k"),
    )
    for change in changes:
        with pytest.raises(Immutable):
            change()
    assert memory.facts.get(key="k") == fact
    assert memory.facts.put({"v": 1}, type="oath", key="k").mentions == 2
    memory.facts.put({"v": 2}, type="oath", key="k", valid_from="2020-01-01", valid_until="2021-01-01")
    memory.history.undo(last=3)
    assert memory.facts.find(key="k") is None


def test_constraints_bind_who_does_not_know_the_model(open_memory: Open) -> None:
    first, second = open_memory(), open_memory()
    first.register("preference", Preference, unique=("email",), immutable=True)
    fact = first.facts.put(Preference(email="x"), sender="ana")
    with pytest.raises(UniqueViolation):
        second.facts.put({"email": "x", "more": 1}, type="preference", sender="ben")
    with pytest.raises(Immutable):
        second.facts.delete(fact)
    other = open_memory("elsewhere")
    other.facts.put({"email": "x"}, type="preference", sender="ben")
    assert isinstance(Immutable("x"), Conflict)
    with pytest.raises(NotFound):
        other.facts.get(fact)
