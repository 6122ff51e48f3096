"""What entries of the log are: changes, undos, redos; and which of them are taken back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

from amber.store.contract import LOST, PURGE, Horizon, LogEntry

Kind = Literal["change", "undo", "redo", "purge", "lost"]

#: How far the entries that others depend on are read together; longer chains are followed one by one.
_LEVELS = 4


class Marks:
    """Which entries are changes, undos and redos, and which are taken back; each is worked out once.

    :param read: gives entries by their positions, in any order. :param horizon: says where the log begins.
    """

    def __init__(self, read: Callable[[tuple[int, ...]], Iterable[LogEntry]], horizon: Callable[[], Horizon]) -> None:
        self._read_many, self._horizon = read, horizon
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

    def _read(self, position: int) -> LogEntry | None:
        """Give an entry; None when it was trimmed."""
        known = self._known.get(position)
        if known is None:
            for known in self._read_many((position,)):
                self._known[position] = known
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
                newest = max(by for by in current.undone_by if by not in self._undone)
                entry_by = self._read(newest)
                if entry_by is not None:
                    pending.append(entry_by)
                else:
                    # trimmed since the entry was read, so that nobody can take it back
                    self._undone[newest] = False
        return self._undone[entry.position]

    def kind(self, entry: LogEntry) -> Kind:
        """Tell what an entry is: a redo takes one undo back, an undo anything else."""
        chain = [entry]
        while chain[-1].position not in self._kinds and len(chain[-1].undoes) == 1:
            target = chain[-1].undoes[0]
            found = self._read(target)
            if found is None:
                # trimmed; the store still knows whether it was an undo
                self._kinds[target] = "undo" if target in self._horizon().undos else "change"
                break
            chain.append(found)
        for each in reversed(chain):
            if each.position in self._kinds:
                continue
            kind: Kind = "undo"
            if not each.undoes:
                is_purge = not each.changes and each.operation == f"{PURGE}{each.position}"
                kind = "purge" if is_purge else "lost" if each.operation.startswith(LOST) else "change"
            elif len(each.undoes) == 1 and self._kinds[each.undoes[0]] == "undo":
                kind = "redo"
            self._kinds[each.position] = kind
        return self._kinds[entry.position]


def is_forgotten(entry: LogEntry) -> bool:
    """Tell whether nothing is left of what an entry changed."""
    return bool(entry.changes) and all(change.purged for change in entry.changes)
