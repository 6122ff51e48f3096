"""What a store keeps beside a body, derived by the collection's declaration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from amber.errors import BadInput
from amber.model.bounds import check_name, is_plain
from amber.model.collection import Body, Collection, Facets, Order
from amber.model.where import field_entries

#: Gives the tokens of a text: none is empty or holds white space, a control character or an ASCII capital letter.
Analyze = Callable[[str], list[str]]

#: Occurrences of one term in one document are counted up to here (one byte); ranking saturates long before.
MAX_COUNT = 255

#: So many tokens are counted faster one by one.
_FEW = 64

INT_LOW, INT_HIGH = -(2**63), 2**63


class Derived:
    """All that a store keeps for one body beside the body itself."""

    __slots__ = ("columns", "due", "encoded", "entries", "facets", "group", "length", "many", "terms")

    def __init__(self, collection: Collection, body: Body, encoded: str, analyze: Analyze | None) -> None:
        self.encoded = encoded
        if not collection.members <= body.keys():
            lacking = sorted(collection.members - body.keys())
            raise BadInput(f"A document of {collection.name} needs {', '.join(lacking)}.", lacking=lacking)
        columns: dict[str, Any] = {}
        self.columns = columns
        for name, kind, derive in collection.single:
            value = derive(body) if derive is not None else body.get(name)
            if value is not None:
                if kind == "int":
                    if type(value) is not int or not INT_LOW <= value < INT_HIGH:
                        check_order(collection, name, kind, value)
                elif type(value) is not str or not is_plain(value):
                    check_order(collection, name, kind, value)
            columns[name] = value
        self.many: dict[str, list[tuple[tuple[Order, ...], Order]]] = {}
        for field, indexes in collection.multiple:
            items = field.derive(body) or ()
            for item in items:
                check_order(collection, field.name, field.kind, item)
            for index in indexes:
                self.many[index.name] = collection.index_rows(index, body) if items else []
        self.due: int | None = body.get(collection.queue.due) if collection.queue is not None else None
        if self.due is not None:
            check_order(collection, collection.queue.due if collection.queue is not None else "", "int", self.due)
        self.entries: list[tuple[str, str]] = []
        self.group = ""
        if collection.field_index is not None:
            self.entries = field_entries(collection.field_index.root, body.get(collection.field_index.root))
            self.group = body.get(collection.field_index.group) or ""
            check_order(collection, collection.field_index.group, "text", self.group)
        self.terms: dict[str, int] | None = None
        self.length = 0
        self.facets = Facets()
        if collection.search is not None and analyze is not None:
            text = collection.search.text(body)
            if text is not None:
                tokens = analyze(text)
                self.terms = _count(tokens)
                self.length = len(tokens)
                if self.length > MAX_COUNT and max(self.terms.values()) > MAX_COUNT:
                    self.terms = {term: min(count, MAX_COUNT) for term, count in self.terms.items()}
                self.facets = collection.search.facets(body)


def _count(tokens: list[str]) -> dict[str, int]:
    if len(tokens) > _FEW:
        return Counter(tokens)
    counts: dict[str, int] = {}
    for token in tokens:
        counts[token] = counts.get(token, 0) + 1
    return counts


def check_order(collection: Collection, name: str, kind: str, value: Any) -> None:
    """Check a value that an index orders by or looks up; None is none.

    :raises BadInput: for another type than declared. :raises TooLarge: for a text over the bound.
    """
    if value is None:
        return
    if kind == "int":
        if type(value) is int and INT_LOW <= value < INT_HIGH:
            return
    elif type(value) is str:
        if value:
            check_name(f"{collection.name}.{name}", value)
        return
    raise BadInput(f"{collection.name}.{name} must be {kind}, not {value!r}.", field=name, value=value)
