"""Collections: what a feature declares, so that every store can keep it without knowing the feature.

A document is ``Record(key, created, revision, body)``. Everything else that a store keeps for it (index entries,
unique values, field entries, search postings, its place in a queue) is derived from the body by the functions
declared here, on every write, in the same transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Literal, NamedTuple

from amber.model.where import path_text, scalar

Body = dict[str, Any]
Order = str | int
#: An index may have this many equal fields: with their bounds, an entry fits every engine's largest index row.
MAX_EQUAL = 3
FieldKind = Literal["text", "int"]


class Record(NamedTuple):
    """A stored document.

    ``created`` is the position of the commit that first wrote it, ``revision`` of the one that last did: revisions
    of a key rise and never come back, also when it was deleted in between.
    """

    key: str
    created: int
    revision: int
    body: Body


class Field:
    """A value that indexes use: at ``path`` of the body, or derived from it.

    :param kind: ``text`` (ordered by UTF-8 bytes) or ``int`` (64 bits).
    :param many: the derived value is a sequence; the document is found under each of them.
    :param derive: gives the value from the body; a changed rule needs another ``version``.
    """

    __slots__ = ("derive", "is_member", "kind", "many", "name", "version")

    def __init__(
        self,
        name: str,
        kind: FieldKind = "text",
        *,
        many: bool = False,
        derive: Callable[[Body], Any] | None = None,
        version: int = 1,
    ) -> None:
        self.name, self.kind, self.many, self.version = name, kind, many, version
        self.is_member = derive is None
        self.derive: Callable[[Body], Any] = derive or (lambda body: body.get(name))


class Index(NamedTuple):
    """A named order of a collection's documents.

    A scan gives a value for each field of ``equal`` and a range of ``order``; ties go by key. A document with None in
    one of these fields is not in the index.

    With ``forget`` a purge can select by it: the store then also keeps which documents once stood under which values,
    so that the log images of a document that moved or was deleted are found.
    """

    name: str
    equal: tuple[str, ...]
    order: str
    forget: bool = False


class Unique(NamedTuple):
    """A value that one document at most may hold, in its space, while ``when`` is true of its body."""

    name: str
    values: Callable[[Body], Any]
    when: Callable[[Body], bool]


class Facets(NamedTuple):
    """What a search can be narrowed by; ``at`` is in microseconds since the epoch, UTC."""

    sender: str | None = None
    project: str | None = None
    session: str | None = None
    type: str | None = None
    at: int = 0


class Search(NamedTuple):
    """Searchable text: ``text`` gives it (None: not searchable now), ``facets`` what it can be narrowed by."""

    text: Callable[[Body], str | None]
    facets: Callable[[Body], Facets]


class FieldIndex(NamedTuple):
    """Equality look-ups on every path below ``root``, within the group that the field ``group`` names."""

    root: str
    group: str


class Rules(NamedTuple):
    """Constraints that users register at run time, kept as documents of another collection.

    The document of ``collection`` whose key is ``key(body)`` holds ``unique`` (a list of lists of paths, each path a
    list of segments) and ``immutable`` (a bool). ``binds`` tells whether a body is bound at all, ``changes`` whether
    the step from one body to the next (None: deleted) at a time in microseconds is one that immutability forbids,
    ``by`` names an index whose one equal field is that key.
    """

    collection: str
    key: Callable[[Body], str | None]
    binds: Callable[[Body], bool]
    changes: Callable[[Body, Body | None, int], bool]
    by: str


#: What can be forgotten as a whole.
Scope = Literal["sender", "session", "project"]
SCOPES: tuple[Scope, ...] = ("sender", "session", "project")


class ForgottenBy(NamedTuple):
    """Documents that belong to a scope: the index ``by`` (declared with ``forget``, with one equal field) finds them
    by its name. None: the document's own key is the name."""

    scope: Scope
    by: str | None


class ForgottenWith(NamedTuple):
    """Documents that go with those of another collection, or of their own: the index ``by`` (declared with ``forget``,
    with one equal field) finds them by the other's key. Only when one of ``scopes`` is forgotten."""

    collection: str
    by: str
    scopes: tuple[Scope, ...] = SCOPES


class Queue(NamedTuple):
    """Documents with a non-null ``due`` (microseconds) wait in the queue of this name until they are claimed."""

    name: str
    due: str


@dataclass(frozen=True, slots=True, eq=False)
class Collection:
    """The declaration of one kind of document.

    :param log: ``both`` keeps the body before and after each change; ``before`` keeps no after-image of an append,
        since the live document is it.
    :param touchable: top-level fields that may be changed by an unlogged touch; undo does not compare them.
    :param counters: top-level int fields that ``Add`` may change. What is derived from a body must not depend on
        touchable fields and counters (a counter may itself be a declared ``Field``, to be summed): touches and
        additions leave indexes, postings and unique values alone.
    :param forgotten_by: how the documents of a person, a session or a project are found when it is forgotten; what is
        derived from other documents is ``forgotten_with`` them.
    """

    name: str
    fields: tuple[Field, ...] = ()
    indexes: tuple[Index, ...] = ()
    unique: tuple[Unique, ...] = ()
    search: Search | None = None
    field_index: FieldIndex | None = None
    rules: Rules | None = None
    queue: Queue | None = None
    log: Literal["both", "before"] = "both"
    touchable: frozenset[str] = frozenset()
    counters: frozenset[str] = frozenset()
    forgotten_by: tuple[ForgottenBy, ...] = ()
    forgotten_with: tuple[ForgottenWith, ...] = ()
    version: int = 1
    #: what every body has: a stored one without it is damaged
    members: frozenset[str] = frozenset()
    by_name: Mapping[str, Index] = field(init=False)
    columns: Mapping[str, Field] = field(init=False)
    #: the multi-valued field of each index that has one
    many: Mapping[str, str] = field(init=False)
    #: the other fields: name, kind, and how the value is derived when it is no member of the body
    single: tuple[tuple[str, FieldKind, Callable[[Body], Any] | None], ...] = field(init=False)
    #: the multi-valued fields, each with the indexes that it is in
    multiple: tuple[tuple[Field, tuple[Index, ...]], ...] = field(init=False)

    def __post_init__(self) -> None:
        columns = {declared.name: declared for declared in self.fields}
        for index in self.indexes:
            unknown = [name for name in (*index.equal, index.order) if name not in columns]
            if unknown:
                raise ValueError(f"index {self.name}.{index.name} uses undeclared fields {unknown}")
            many = [name for name in index.equal if columns[name].many]
            if columns[index.order].many or len(many) > 1 or len(index.equal) > MAX_EQUAL:
                raise ValueError(
                    f"index {self.name}.{index.name} may have {MAX_EQUAL} equal fields, one of them multi-valued"
                )
        many_fields = {index.name: name for index in self.indexes for name in index.equal if columns[name].many}
        object.__setattr__(self, "many", many_fields)
        single = tuple((f.name, f.kind, None if f.is_member else f.derive) for f in self.fields if not f.many)
        object.__setattr__(self, "single", single)
        multiple = [(f, tuple(i for i in self.indexes if f.name in i.equal)) for f in self.fields if f.many]
        object.__setattr__(self, "multiple", tuple(multiple))
        by_name = {index.name: index for index in self.indexes}
        for name in [*(each.by for each in self.forgotten_by), *(each.by for each in self.forgotten_with)]:
            if name is not None and (name not in by_name or not by_name[name].forget or len(by_name[name].equal) != 1):
                raise ValueError(f"{self.name} is forgotten by {name!r}: no index with forget and one equal field")
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "by_name", {index.name: index for index in self.indexes})

    def count_columns(self, body: Body) -> dict[str, Any]:
        """Give the values of the counters that are declared as fields."""
        return {name: field.derive(body) for name, field in self.columns.items() if name in self.counters}

    @property
    def is_found(self) -> bool:
        """Whether documents are found by the words of a text, or by the entries of their fields."""
        return self.search is not None or self.field_index is not None

    @property
    def queue_name(self) -> str | None:
        """The name of the queue that the documents wait in, if any."""
        return self.queue.name if self.queue is not None else None

    def digest(self) -> str:
        """Give a text that changes when stores must rebuild what they derived from this declaration."""
        parts: list[Any] = [self.name, self.version, self.log, sorted(self.touchable), sorted(self.counters)]
        parts += [[f.name, f.kind, f.many, f.version] for f in self.fields]
        parts += [list(map(str, index)) for index in self.indexes]
        parts += [unique.name for unique in self.unique]
        parts += [self.search is not None, str(self.field_index), self.rules and self.rules.collection, str(self.queue)]
        return blake2b(repr(parts).encode(), digest_size=16).hexdigest()

    def many_field(self, index: Index) -> str | None:
        """Name the multi-valued field of an index, if it has one."""
        return self.many.get(index.name)

    def index_rows(self, index: Index, body: Body) -> list[tuple[tuple[Order, ...], Order]]:
        """Give the (equal values, order value) entries of a body in an index; none when a field is None."""
        order = self.columns[index.order].derive(body)
        values = [self.columns[name].derive(body) for name in index.equal]
        if order is None or any(value is None for value in values):
            return []
        many = self.many_field(index)
        if many is None:
            return [(tuple(values), order)]
        place = index.equal.index(many)
        each = sorted({value for value in values[place] if value is not None})
        return [((*values[:place], value, *values[place + 1 :]), order) for value in each]

    def unique_values(self, body: Body | None, rule: Body | None) -> list[tuple[str, str]]:
        """Give the (constraint, value) pairs that a body holds; values with a None in them bind nothing.

        All run-time constraints of a group share one name (see ``rule_name``), so that they can be replaced together;
        the value then starts with the fields.

        :param rule: the run-time rule of the body's group, if there is one.
        """
        if body is None:
            return []
        held = []
        for unique in self.unique:
            if unique.when(body):
                value = unique.values(body)
                if value is not None and not (isinstance(value, (tuple, list)) and None in value):
                    held.append((f"{self.name}/{unique.name}", scalar(value)))
        if rule is not None and self.rules is not None and self.rules.binds(body):
            constraint = self.rule_name(self.rules.key(body) or "")
            for paths in rule.get("unique") or ():
                found = [_walk(body, path) for path in paths]
                if None not in found:
                    name = ",".join(path_text(tuple(path)) for path in paths)
                    held.append((constraint, f"{name}={scalar(found)}"))
        return held

    def rule_name(self, group: str) -> str:
        """Name the run-time constraints of a group; no declared constraint can have this name."""
        return f"{self.name}//{group}"


def _walk(body: Any, path: Sequence[str]) -> Any:
    for segment in path:
        if not isinstance(body, dict):
            return None
        body = body.get(segment)
    return body
