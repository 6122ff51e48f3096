"""Compare what the in-process store derived with the documents it was derived from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from amber.backends.dict.space import Space, index_entries
from amber.model.collection import Collection
from amber.store.codec import decode
from amber.store.constraints import rule_of
from amber.store.contract import Problem
from amber.store.derive import Analyze, Derived


def find_problems(space: Space, collections: Mapping[str, Collection], analyze: Analyze) -> list[Problem]:
    """List everything that does not agree in a space."""
    problems: list[Problem] = []
    expected_entries = 0
    holders: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for collection in collections.values():
        for key, stored in space.documents[collection.name].items():
            body = decode(stored.encoded)
            derived = Derived(collection, body, stored.encoded, analyze)
            for index, equal, order in index_entries(collection, derived):
                expected_entries += 1
                if (order, key) not in space.indexes.get((collection.name, index, equal), ()):
                    problems.append(Problem("index", collection.name, key, f"{key} is missing from index {index}."))
            for term, count in (derived.terms or {}).items():
                if space.postings.get(term, {}).get((collection.name, key)) != count:
                    problems.append(Problem("postings", collection.name, key, f"{key} has stale postings."))
                    break
            for pair in collection.unique_values(body, rule_of(collection, body, space.load)):
                holders[pair].append((collection.name, key))
    if sum(map(len, space.indexes.values())) != expected_entries:
        problems.append(Problem("index", None, None, "An index has entries without a document."))
    problems += violations(holders)
    return problems


def violations(holders: Mapping[tuple[str, str], list[tuple[str, str]]]) -> list[Problem]:
    """List the values that more than one document holds."""
    found = []
    for (constraint, value), places in sorted(holders.items()):
        if len(places) > 1:
            keys = ", ".join(sorted(key for _, key in places))
            collection, key = min(places)
            found.append(
                Problem("unique", collection, key, f"{len(places)} documents have {value} ({constraint}): {keys}.")
            )
    return found
