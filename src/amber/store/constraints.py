"""Immutability and unique values, judged on the steps of a commit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from amber.errors import Immutable, UniqueViolation
from amber.model.collection import Body, Collection, Record
from amber.store.step import Step

Load = Callable[[str, str], Record | None]
#: A collection, a group of it, and the new run-time rule of that group.
Ruled = tuple[Collection, str, Body | None]


def constrain(step: Step, load: Load, at: int, *, undoing: bool) -> None:
    """List the unique values that a step gives up and takes, and refuse what immutability forbids.

    :param load: gives rules as the batch leaves them.
    :raises Immutable: unless the batch undoes something.
    """
    collection, before = step.collection, step.before
    if step.is_light:
        return
    old = before.body if before is not None else None
    if not collection.unique and collection.rules is None:
        return
    old_rule, new_rule = rule_of(collection, old, load), rule_of(collection, step.body, load)
    if old is not None and old_rule is not None and old_rule.get("immutable") and not undoing:
        rules = collection.rules
        if rules is not None and rules.changes(old, step.body, at):
            raise Immutable(
                f"{collection.name}/{step.key} is of type {rules.key(old)!r}, which is registered as immutable.",
                collection=collection.name,
                key=step.key,
            )
    step.old_unique = collection.unique_values(old, old_rule)
    step.new_unique = collection.unique_values(step.body, new_rule)


def judge_unique(
    steps: Sequence[Step],
    groups: Sequence[Ruled],
    holders: Callable[[str, str], Iterable[str]],
    members: Callable[[Collection, str], Iterable[tuple[str, Body]]],
) -> None:
    """Judge unique values at the end of a batch: who newly acquires a value must be its only holder.

    A document that breaks a rule registered after it may keep the value that it already had.

    :param groups: those whose run-time rule the batch changes (see ``ruled_groups``).
    :param holders: gives the keys that hold a (constraint, value) before the batch.
    :param members: gives the documents of a group before the batch; asked when the batch changes its run-time rule.
    :raises UniqueViolation: naming the other holder.
    """
    if not any(step.new_unique for step in steps):
        return
    fresh = {
        collection.rule_name(group): _hold(collection, rule, members(collection, group))
        for collection, group, rule in groups
    }
    released: set[tuple[str, str, str]] = set()
    acquired: dict[tuple[str, str], str] = {}
    for step in steps:
        released.update((*pair, step.key) for pair in step.old_unique if pair not in step.new_unique)
    for step in steps:
        for pair in step.new_unique:
            if pair in step.old_unique:
                continue
            held = fresh[pair[0]].get(pair[1], ()) if pair[0] in fresh else holders(*pair)
            others = {key for key in held if key != step.key and (*pair, key) not in released}
            if pair in acquired:
                others.add(acquired[pair])
            acquired[pair] = step.key
            if others:
                _refuse_value(step, pair, min(others))


def _hold(collection: Collection, rule: Body | None, members: Iterable[tuple[str, Body]]) -> dict[str, list[str]]:
    held: dict[str, list[str]] = {}
    for key, body in members:
        for constraint, value in collection.unique_values(body, rule):
            if "//" in constraint:
                held.setdefault(value, []).append(key)
    return held


def _readable(value: str) -> str:
    """Write a held value for people: canonical texts carry a letter for their type."""
    return re.sub(r'(?<=[\[,])s"', '"', value)


def _refuse_value(step: Step, pair: tuple[str, str], holder: str) -> None:
    raise UniqueViolation(
        f"{step.collection.name}/{holder} holds {_readable(pair[1])} already, which must be unique.",
        collection=step.collection.name,
        key=step.key,
        holder=holder,
        constraint=pair[0],
        value=pair[1],
    )


def rule_homes(collections: Iterable[Collection]) -> Mapping[str, tuple[Collection, ...]]:
    """Give, by the collection that keeps run-time rules, the collections whose documents they bind."""
    homes: dict[str, tuple[Collection, ...]] = {}
    for collection in collections:
        if collection.rules is not None:
            home = collection.rules.collection
            homes[home] = (*homes.get(home, ()), collection)
    return homes


def ruled_groups(steps: Iterable[Step], homes: Mapping[str, tuple[Collection, ...]]) -> list[Ruled]:
    """Give the groups whose run-time rule this commit changes: held values are listed anew.

    :param homes: see ``rule_homes``.
    """
    return [
        (collection, step.key, step.body)
        for step in steps
        if step.collection.name in homes
        for collection in homes[step.collection.name]
    ]


def rule_of(collection: Collection, body: Body | None, load: Load) -> Body | None:
    """Read the run-time rule that a body falls under."""
    if body is None or collection.rules is None:
        return None
    key = collection.rules.key(body)
    if key is None:
        return None
    record = load(collection.rules.collection, key)
    return record.body if record is not None else None
