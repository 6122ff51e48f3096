"""Under the writer's lock: from a prepared batch to the steps that a backend carries out.

Shared by all stores, so that they can not disagree. Reads what the batch touches through ``load``; writes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from amber.errors import BadInput, Conflict, LimitReached, NotFound
from amber.model import batch as b
from amber.model.collection import Collection, Record
from amber.store.codec import encode
from amber.store.constraints import Load, constrain
from amber.store.contract import ChangeKind
from amber.store.derive import INT_HIGH, INT_LOW, Analyze, Derived
from amber.store.prepare import Prepared
from amber.store.step import Step


def resolve(
    prepared: Prepared, collections: Mapping[str, Collection], load: Load, analyze: Analyze, *, careful: bool = True
) -> tuple[list[Step], list[b.Reschedule]]:
    """Decide what becomes of each document, in the order of their first write.

    Unique values are listed on the steps and judged by the backend; expectations are judged before this is called.

    :param careful: see whether appended documents exist; else they are taken for new, and the backend finds out.

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
            new = not careful and isinstance(write, b.Append)
            step = Step(collections[write.collection], write.key, None if new else load(write.collection, write.key))
            steps[place] = step
        _apply(step, write, derived)

    def load_after(collection: str, key: str) -> Record | None:
        # rules count as the batch leaves them
        step = steps.get((collection, key))
        if step is None:
            return load(collection, key)
        return Record(key, 0, 0, step.body) if step.body is not None else None

    changed = [step for step in steps.values() if step.fresh and not (step.before is None and step.body is None)]
    for step in changed:
        if step.body is not None:
            if step.derived is None:
                step.encoded = encode(step.body)
                if step.before is None or step.kind not in ("add", None):
                    step.derived = Derived(step.collection, step.body, step.encoded, analyze)
            else:
                step.encoded = step.derived.encoded
        constrain(step, load_after, batch.at, undoing=bool(batch.undoes))
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
        delta = step.deltas.get(write.field, 0) + write.n
        if not INT_LOW <= delta < INT_HIGH:
            raise BadInput(f"The additions to {write.field} of {write.collection}/{write.key} leave 64 bits.", n=delta)
        step.deltas[write.field] = delta
