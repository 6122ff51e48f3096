"""Short names of sessions: the beginning of an id that no other id has, and the way back.

An id may have two parts, ``<session>/<agent>`` for a subagent; its short name has the beginning of each:
``9bd5f3dd/a5bdbc1``.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from amber.errors import BadInput, NotFound
from amber.model.bounds import check_key, check_name
from amber.model.message import SESSIONS, Session
from amber.services.unit import Unit
from amber.store.contract import Cursor

#: What a short name shows of each part at least.
SHORTEST = 8
#: Sessions named in an error.
_NAMED = 8
#: Sessions whose ids begin alike that are looked at.
_ALIKE = 10_000
#: When there are no more sessions than this, and so many more for each name, all are gone through instead of looking
#: around each name.
_FEW, _PER_NAME = 1_000, 20


def resolve(unit: Unit, name: str) -> Session:
    """Find a session by its id or the beginning of it (see ``Sessions.resolve``)."""
    check_name("session", name)
    record = unit.get(SESSIONS, name)
    if record is not None:
        return Session(record)
    found = [session for session in _alike(unit, _first(name)) if _fits(name, session.id)]
    # a subagent does not make the session that started it ambiguous
    tops = [one for one in found if not any(one.id.startswith(f"{other.id}/") for other in found)]
    whole = [one for one in tops if "/" in name and one.id.partition("/")[2] == name.partition("/")[2]]
    for best in (tops, whole):
        if len(best) == 1:
            return best[0]
    if not tops:
        raise NotFound(f"There is no recorded session {name!r}, and none whose id begins so.", session=name)
    names = [each.id for each in tops]
    shown = ", ".join(repr(each) for each in names[:_NAMED]) + (", …" if len(names) > _NAMED else "")
    raise BadInput(
        f"{name!r} is the beginning of {len(names):,} sessions: {shown}. Give more of it.",
        session=name,
        candidates=names,
    )


def short_names(unit: Unit, ids: Iterable[str]) -> dict[str, str]:
    """Give the shortest name of each id that is no other's; an id that no recorded session has stands for itself."""
    wanted = list(dict.fromkeys(ids))
    for id in wanted:
        check_key(id)
    stems = {_first(id)[:SHORTEST] for id in wanted}
    alike: dict[str, list[str]] = {stem: [] for stem in stems}
    if unit.count(SESSIONS, "name", ()) <= _FEW + _PER_NAME * len(stems):
        for session in _after(unit, None) if wanted else ():
            for stem in stems.intersection(session.id[:n] for n in range(1, SHORTEST + 1)):
                alike[stem].append(session.id)
    else:
        # an id may be such a beginning itself
        whole = unit.get_many(SESSIONS, sorted(stems))
        for stem in stems:
            alike[stem] = [*([stem] if stem in whole else []), *(session.id for session in _longer(unit, stem))]
    beside = {stem: _Alike(each) for stem, each in alike.items()}
    return {id: beside[_first(id)[:SHORTEST]].short(id) for id in wanted}


def _first(id: str) -> str:
    return id.partition("/")[0]


def _fits(name: str, id: str) -> bool:
    head, slash, tail = name.partition("/")
    first, below, rest = id.partition("/")
    return first.startswith(head) and (not slash or (bool(below) and rest.startswith(tail)))


def _alike(unit: Unit, stem: str) -> Iterator[Session]:
    """Give the sessions whose ids begin so, in the order of their ids."""
    if not stem:
        return
    record = unit.get(SESSIONS, stem)
    if record is not None:
        yield Session(record)
    yield from _longer(unit, stem)


def _longer(unit: Unit, stem: str) -> Iterator[Session]:
    """Give the sessions whose ids begin so and go on."""
    for n, session in enumerate(_after(unit, stem, 10)):
        if not session.id.startswith(stem) or n == _ALIKE:
            return
        yield session


def _after(unit: Unit, id: str | None, chunk: int = 1_000) -> Iterator[Session]:
    """Give the sessions whose ids come after this text, in the order of their ids."""
    cursor = Cursor(0, id) if id is not None else None
    while True:
        page = unit.scan(SESSIONS, "name", (), after=cursor, limit=chunk)
        yield from map(Session, page.rows)
        if page.cursor is None:
            return
        cursor, chunk = page.cursor, 1_000


class _Alike:
    """Ids that begin alike. What two ids share at most, an id shares with one of those beside it in their order."""

    def __init__(self, ids: Sequence[str]) -> None:
        self._ids, self._whole = set(ids), len(ids) >= _ALIKE
        rests: dict[str, list[str]] = {}
        for id in sorted(self._ids):
            first, _, rest = id.partition("/")
            rests.setdefault(first, []).append(rest)
        self._firsts = sorted(rests)
        self._rests = {first: sorted(each) for first, each in rests.items()}

    def short(self, id: str) -> str:
        """Give the short name of an id."""
        if id not in self._ids or self._whole:
            return id
        first, slash, rest = id.partition("/")
        head = _cut(first, self._firsts)
        if not slash:
            return head
        place = bisect_left(self._firsts, first)
        if any(other.startswith(first) for other in self._firsts[place + 1 : place + 2]):
            # the first part also begins other ids: only the whole id is no other's
            return id
        return f"{head}/{_cut(rest, self._rests[first])}"


def _cut(text: str, ordered: Sequence[str]) -> str:
    """Give the beginning of a text that none of the others has."""
    place = bisect_left(ordered, text)
    others = [*ordered[max(0, place - 1) : place], *ordered[place + 1 : place + 2]]
    shared = max((_shared(text, each) for each in others), default=0)
    end = max(SHORTEST, shared + 1)
    # what is left out must not look like the number of a message, which is written behind a name: 9bd5f3dd:12
    while text[end : end + 1] == ":" and text[end + 1 : end + 2].isdigit():
        end += 2
    return text[:end]


def _shared(one: str, other: str) -> int:
    """Count the letters that two texts begin with alike."""
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
