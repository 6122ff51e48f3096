"""From a batch to the steps that a backend carries out: shared by all stores, so that they can not disagree.

``prepare`` needs no lock and does the expensive part (encoding, index values, analysis). ``resolve`` runs under the
writer's lock: it reads what the batch touches through ``load`` and decides. Neither writes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from amber.errors import BadInput, Conflict, Immutable, LimitReached, NotFound, TooLarge, UniqueViolation
from amber.model import batch as b
from amber.model.bounds import MAX_SPACE, check_name, check_text
from amber.model.collection import Body, Collection, Facets, Index, Order, Record
from amber.model.where import field_entries
from amber.store.codec import decode, encode
from amber.store.contract import MAX_PAGE, ChangeKind, Cursor, Selection

Load = Callable[[str, str], Record | None]
Analyze = Callable[[str], list[str]]

#: Occurrences of one term in one document are counted up to here (one byte); ranking saturates long before.
MAX_COUNT = 255

INT_LOW, INT_HIGH = -(2**63), 2**63


class Derived:
    """All that a store keeps for one body beside the body itself."""

    __slots__ = ("columns", "due", "encoded", "entries", "facets", "group", "length", "many", "terms")

    def __init__(self, collection: Collection, body: Body, encoded: str, analyze: Analyze | None) -> None:
        self.encoded = encoded
        self.columns: dict[str, Any] = {}
        self.many: dict[str, list[tuple[tuple[Order, ...], Order]]] = {}
        for field in collection.fields:
            value = field.derive(body)
            if field.many:
                for item in value or ():
                    _check_order(collection, field.name, field.kind, item)
                continue
            if value is not None:
                _check_order(collection, field.name, field.kind, value)
            self.columns[field.name] = value
        for name in collection.many:
            self.many[name] = collection.index_rows(collection.by_name[name], body)
        self.due: int | None = body.get(collection.queue.due) if collection.queue is not None else None
        self.entries: list[tuple[str, str]] = []
        self.group = ""
        if collection.field_index is not None:
            self.entries = field_entries(collection.field_index.root, body.get(collection.field_index.root))
            self.group = body.get(collection.field_index.group) or ""
        self.terms: Counter[str] | None = None
        self.length = 0
        self.facets = Facets()
        if collection.search is not None and analyze is not None:
            text = collection.search.text(body)
            if text is not None:
                tokens = analyze(text)
                self.terms = Counter(tokens)
                self.length = len(tokens)
                if self.length > MAX_COUNT:
                    self.terms = Counter({term: min(count, MAX_COUNT) for term, count in self.terms.items()})
                self.facets = collection.search.facets(body)


def _check_order(collection: Collection, name: str, kind: str, value: Any) -> None:
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


class Step:
    """What happens to one document in a commit."""

    __slots__ = (
        "before",
        "body",
        "collection",
        "deltas",
        "derived",
        "encoded",
        "fresh",
        "key",
        "kind",
        "new_unique",
        "old_unique",
    )

    def __init__(self, collection: Collection, key: str, before: Record | None) -> None:
        self.collection = collection
        self.key = key
        self.before = before
        self.body: Body | None = before.body if before is not None else None
        #: None for a removed document, and for one that is only touched and added to: nothing derived changes then
        self.derived: Derived | None = None
        self.encoded = ""
        #: None while nothing but touches has happened: those are not logged
        self.kind: ChangeKind | None = None
        self.deltas: dict[str, int] = {}
        #: touched or written at all
        self.fresh = False
        self.old_unique: list[tuple[str, str]] = []
        self.new_unique: list[tuple[str, str]] = []

    @property
    def is_light(self) -> bool:
        """Whether the document only gets other touchable fields and counters."""
        return self.body is not None and self.derived is None


class Prepared:
    """A checked batch with what could be derived before the lock."""

    __slots__ = ("batch", "derived")

    def __init__(self, batch: b.Batch, derived: list[Derived | None]) -> None:
        self.batch = batch
        self.derived = derived


def prepare(
    batch: b.Batch, collections: Mapping[str, Collection], analyze: Analyze, max_writes: int = b.MAX_WRITES
) -> Prepared:
    """Check a batch and derive what its documents need.

    :raises BadInput, TooLarge: see ``Store.commit``.
    """
    check_name("space", batch.space, MAX_SPACE)
    check_name("operation", batch.operation)
    if type(batch.at) is not int:
        raise BadInput(f"The time of a batch must be integer microseconds, not {batch.at!r}.", at=batch.at)
    for name in ("actor", "reason", "session"):
        check_text(name, getattr(batch, name))
    if len(batch.writes) > max_writes:
        raise TooLarge(f"A batch of {len(batch.writes)} writes is over the bound of {max_writes}; send several.")
    derived: list[Derived | None] = []
    total = 0
    for write in batch.writes:
        collection = find_collection(collections, write.collection)
        check_name("key", write.key, b.MAX_KEY)
        if isinstance(write, (b.Put, b.Append)):
            encoded = encode(write.body)
            total += len(encoded)
            derived.append(Derived(collection, write.body, encoded, analyze))
            continue
        _check_small(write, collection)
        derived.append(None)
    if total > b.MAX_BYTES:
        raise TooLarge(f"A batch of {total} bytes is over the bound of {b.MAX_BYTES}; send several.", bytes=total)
    _check_expectations(batch.expectations, collections)
    return Prepared(batch, derived)


def _check_small(write: b.Write, collection: Collection) -> None:
    if isinstance(write, b.Add):
        if type(write.n) is not int:
            raise BadInput(f"Add needs an int, not {write.n!r}.", n=write.n)
        if write.field not in collection.counters:
            raise BadInput(f"{collection.name} does not declare {write.field!r} as a counter.", field=write.field)
        if write.initial is not None:
            encode(write.initial)
    elif isinstance(write, b.Touch):
        other = sorted(set(write.values) - collection.touchable)
        if other:
            raise BadInput(f"{collection.name} does not declare {other} as touchable.", fields=other)
        encode(dict(write.values))
    elif isinstance(write, b.Reschedule):
        if collection.queue is None:
            raise BadInput(f"{collection.name} declares no queue.", collection=collection.name)
        if type(write.due_at) is not int:
            raise BadInput(f"due_at must be integer microseconds, not {write.due_at!r}.")


def _check_expectations(expectations: Iterable[b.Expectation], collections: Mapping[str, Collection]) -> None:
    for expectation in expectations:
        if isinstance(expectation, b.NotPurged):
            _check_group(len(expectation.sources))
            for name, _ in expectation.sources:
                find_collection(collections, name)
            continue
        collection = find_collection(collections, expectation.collection)
        if isinstance(expectation, b.Unchanged):
            _check_group(expectation.size)
            index = check_equal(collection, expectation.by, expectation.equal)
            _check_order(collection, index.order, collection.columns[index.order].kind, expectation.low)
        elif isinstance(expectation, b.Leased) and collection.queue is None:
            raise BadInput(f"{collection.name} declares no queue.", collection=collection.name)


def _check_group(size: int) -> None:
    if size > b.MAX_GROUP:
        raise TooLarge(f"A batch can expect something of {b.MAX_GROUP} documents at a time, not {size}.", size=size)


def resolve(
    prepared: Prepared, collections: Mapping[str, Collection], load: Load, analyze: Analyze
) -> tuple[list[Step], list[b.Reschedule]]:
    """Decide what becomes of each document, in the order of their first write.

    Unique values are listed on the steps and judged by the backend; expectations are judged before this is called.

    :raises Conflict, NotFound, LimitReached, Immutable, TooLarge: see ``Store.commit``.
    """
    batch = prepared.batch
    steps: dict[tuple[str, str], Step] = {}
    moves: list[b.Reschedule] = []
    for write, derived in zip(batch.writes, prepared.derived, strict=True):
        if isinstance(write, b.Reschedule):
            moves.append(write)
            continue
        place = (write.collection, write.key)
        step = steps.get(place)
        if step is None:
            step = Step(collections[write.collection], write.key, load(write.collection, write.key))
            steps[place] = step
        _apply(step, write, derived)
    changed = [step for step in steps.values() if step.fresh and not (step.before is None and step.body is None)]
    for step in changed:
        if step.body is not None:
            if step.derived is None:
                step.encoded = encode(step.body)
                if step.before is None or step.kind not in ("add", None):
                    step.derived = Derived(step.collection, step.body, step.encoded, analyze)
            else:
                step.encoded = step.derived.encoded
        _constrain(step, load, batch.at, undoing=bool(batch.undoes))
    return changed, moves


def _apply(step: Step, write: b.Write, derived: Derived | None) -> None:
    if isinstance(write, b.Touch):
        if step.body is not None:
            step.body = {**step.body, **write.values}
            step.derived, step.fresh = None, True
        return
    if isinstance(write, b.Add):
        _add(step, write)
        return
    if isinstance(write, b.Delete):
        if step.body is None and step.before is None and step.kind is None:
            return
        step.body, step.derived = None, None
    elif isinstance(write, (b.Put, b.Append)):
        if isinstance(write, b.Append) and step.body is not None:
            raise Conflict(
                f"{write.collection}/{write.key} exists already.", collection=write.collection, key=write.key
            )
        step.body, step.derived = write.body, derived
    step.fresh, step.deltas = True, {}
    step.kind = _kind(step)


def _kind(step: Step) -> ChangeKind:
    if step.body is None:
        return "delete"
    return "append" if step.before is None and step.collection.log == "before" else "put"


def _add(step: Step, write: b.Add) -> None:
    made = step.body is None
    if step.body is None:
        if write.initial is None:
            raise NotFound(f"There is no {write.collection}/{write.key} to add to.", key=write.key)
        step.body = write.initial
    current = step.body.get(write.field)
    if current is not None and type(current) is not int:
        raise BadInput(f"{write.collection}/{write.key}.{write.field} is {current!r}, not an int.", field=write.field)
    value = (current or 0) + write.n
    if write.at_most is not None and value > write.at_most:
        raise LimitReached(
            f"{write.field} of {write.collection}/{write.key} would become {value}, over {write.at_most}.",
            value=value,
            at_most=write.at_most,
        )
    if not INT_LOW <= value < INT_HIGH:
        raise BadInput(f"{write.field} of {write.collection}/{write.key} would leave 64 bits.", value=value)
    step.body = {**step.body, write.field: value}
    step.derived, step.fresh = None, True
    if made or step.kind in ("put", "append", "delete"):
        step.kind = _kind(step)
    else:
        step.kind = "add"
        step.deltas[write.field] = step.deltas.get(write.field, 0) + write.n


def _constrain(step: Step, load: Load, at: int, *, undoing: bool) -> None:
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


def judge_unique(steps: Sequence[Step], holders: Callable[[str, str], Iterable[str]]) -> None:
    """Judge unique values at the end of a batch: who newly acquires a value must be its only holder.

    A document that breaks a rule registered after it may keep the value that it already had.

    :param holders: gives the keys that hold a (constraint, value) before the batch.
    :raises UniqueViolation: naming the other holder.
    """
    released: set[tuple[str, str, str]] = set()
    acquired: dict[tuple[str, str], str] = {}
    for step in steps:
        released.update((*pair, step.key) for pair in step.old_unique if pair not in step.new_unique)
    for step in steps:
        for pair in step.new_unique:
            if pair in step.old_unique:
                continue
            others = {key for key in holders(*pair) if key != step.key and (*pair, key) not in released}
            if pair in acquired:
                others.add(acquired[pair])
            acquired[pair] = step.key
            if others:
                _refuse_value(step, pair, min(others))


def _refuse_value(step: Step, pair: tuple[str, str], holder: str) -> None:
    raise UniqueViolation(
        f"{step.collection.name}/{step.key} would be the second with {pair[1]} ({pair[0]}); {holder} holds it.",
        collection=step.collection.name,
        key=step.key,
        holder=holder,
        constraint=pair[0],
        value=pair[1],
    )


def ruled_groups(steps: Sequence[Step], collections: Mapping[str, Collection]) -> list[tuple[Collection, str]]:
    """Name the (collection, group) whose run-time rule this commit changes, so that held values are listed anew."""
    return [
        (collection, step.key)
        for step in steps
        for collection in collections.values()
        if collection.rules is not None and collection.rules.collection == step.collection.name
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


def log_images(step: Step) -> tuple[str | None, str | None]:
    """Give the encoded images before and after that the log keeps for a step."""
    before = encode(step.before.body) if step.before is not None and step.kind != "add" else None
    after = step.encoded if step.kind == "put" else None
    return before, after


def departures(step: Step) -> list[tuple[str, tuple[Order, ...]]]:
    """Give the (index, values) of indexes with ``forget`` under which a document does not stand any more."""
    collection, before = step.collection, step.before
    if before is None or step.is_light:
        return []
    left: list[tuple[str, tuple[Order, ...]]] = []
    for index in collection.indexes:
        if index.forget:
            old = {equal for equal, _ in collection.index_rows(index, before.body)}
            new = {equal for equal, _ in collection.index_rows(index, step.body)} if step.body is not None else set()
            left.extend((index.name, equal) for equal in sorted(old - new))
    return left


def copy(body: Body) -> Body:
    """Give an own copy of a stored body."""
    result: Body = decode(encode(body))
    return result


def find_collection(collections: Mapping[str, Collection], name: str) -> Collection:
    """Give a declared collection.

    :raises BadInput: when the store was opened without it.
    """
    try:
        return collections[name]
    except KeyError:
        known = ", ".join(sorted(collections))
        raise BadInput(f"There is no collection {name!r}; declared are: {known}.", collection=name) from None


def find_index(collection: Collection, name: str) -> Index:
    """Give a declared index.

    :raises BadInput: when the collection has none of this name.
    """
    try:
        return collection.by_name[name]
    except KeyError:
        known = ", ".join(sorted(collection.by_name))
        raise BadInput(f"{collection.name} has no index {name!r}; declared are: {known}.", index=name) from None


def check_equal(collection: Collection, index_name: str, equal: Sequence[Order]) -> Index:
    """Check that a value of the right type is given for each equal field of an index."""
    index = find_index(collection, index_name)
    if len(equal) != len(index.equal):
        raise BadInput(
            f"Index {collection.name}.{index.name} needs values for {index.equal}, got {tuple(equal)!r}.",
            equal=tuple(equal),
        )
    for name, value in zip(index.equal, equal, strict=True):
        if value is None:
            raise BadInput(f"{collection.name}.{name} can not be looked up as None.", field=name)
        _check_order(collection, name, collection.columns[name].kind, value)
    return index


def check_scan(
    collection: Collection,
    index_name: str,
    equal: Sequence[Order],
    low: Order | None,
    high: Order | None,
    after: Cursor | None,
    limit: int,
) -> Index:
    """Check the arguments of a scan, the same on every store."""
    index = check_equal(collection, index_name, equal)
    kind = collection.columns[index.order].kind
    for value in (low, high, after.order if after is not None else None):
        _check_order(collection, index.order, kind, value)
    check_limit(limit)
    return index


def check_limit(limit: int) -> None:
    """Check the size of a page."""
    if type(limit) is not int or not 1 <= limit <= MAX_PAGE:
        raise BadInput(f"limit must be an int from 1 to {MAX_PAGE}, not {limit!r}.", limit=limit)


def check_selection(collections: Mapping[str, Collection], selection: Selection) -> Collection:
    """Check what a purge was asked for: an unset selection must never select everything."""
    collection = find_collection(collections, selection.collection)
    if (selection.by is None) == (not selection.keys):
        raise BadInput("A purge needs either keys or an index with its values.", selection=selection)
    if selection.by is not None and not check_equal(collection, selection.by, selection.equal).forget:
        raise BadInput(f"Index {collection.name}.{selection.by} is not declared with forget.", index=selection.by)
    return collection
