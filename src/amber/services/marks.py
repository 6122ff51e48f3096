"""What entries of the log are: changes, undos, redos; and which of them are taken back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

from amber.errors import NotFound
from amber.store.contract import LogEntry

Kind = Literal["change", "undo", "redo", "purge"]

#: How far the entries that others depend on are read together; longer chains are followed one by one.
_LEVELS = 4


class Marks:
    """Which entries are changes, undos and redos, and which are taken back; each is worked out once.

    :param read: gives entries by their positions, in any order.
    """

    def __init__(self, read: Callable[[tuple[int, ...]], Iterable[LogEntry]]) -> None:
        self._read_many = read
        self._known: dict[int, LogEntry] = {}
        self._undone: dict[int, bool] = {}
        self._kinds: dict[int, Kind] = {}

    def learn(self, entries: Iterable[LogEntry]) -> None:
        """Take entries to be asked about, and read together what decides about them."""
        found = [*entries]
        for _ in range(_LEVELS):
            self._known.update((entry.position, entry) for entry in found)
            # the newest undo most often decides
            needed = {max(entry.undone_by) for entry in found if entry.undone_by}
            needed.update(entry.undoes[0] for entry in found if len(entry.undoes) == 1)
            needed.difference_update(self._known)
            if not needed:
                return
            found = [*self._read_many(tuple(sorted(needed)))]

    def _read(self, position: int) -> LogEntry:
        known = self._known.get(position)
        if known is None:
            found = [*self._read_many((position,))]
            if not found:
                raise NotFound(f"The log has no position {position}.", position=position)
            self._known[position] = known = found[0]
        return known

    def is_undone(self, entry: LogEntry) -> bool:
        """Tell whether an entry is taken back by one that is not taken back itself."""
        pending = [entry]
        while pending:
            current = pending[-1]
            known = [self._undone.get(by) for by in current.undone_by]
            if False in known or None not in known:
                self._undone[current.position] = False in known
                pending.pop()
            else:
                # the newest first: most often it decides
                pending.append(self._read(max(by for by in current.undone_by if by not in self._undone)))
        return self._undone[entry.position]

    def kind(self, entry: LogEntry) -> Kind:
        """Tell what an entry is: a redo takes one undo back, an undo anything else."""
        chain = [entry]
        while chain[-1].position not in self._kinds and len(chain[-1].undoes) == 1:
            chain.append(self._read(chain[-1].undoes[0]))
        for each in reversed(chain):
            if each.position in self._kinds:
                continue
            kind: Kind = "undo"
            if not each.undoes:
                is_purge = not each.changes and each.operation == f"purge/{each.position}"
                kind = "purge" if is_purge else "change"
            elif len(each.undoes) == 1 and self._kinds[each.undoes[0]] == "undo":
                kind = "redo"
            self._kinds[each.position] = kind
        return self._kinds[entry.position]


def is_forgotten(entry: LogEntry) -> bool:
    """Tell whether nothing is left of what an entry changed."""
    return bool(entry.changes) and all(change.purged for change in entry.changes)
