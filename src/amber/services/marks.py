"""What entries of the log are: changes, undos, redos; and which of them are taken back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from amber.store.contract import LOST, PURGE, Horizon, LogEntry, LogQuery, Store

Kind = Literal["change", "undo", "redo", "purge", "lost"]


class Marks:
    """Which entries are changes, undos and redos, and which are taken back; each is worked out once."""

    def __init__(self, read: Callable[[int], LogEntry | None], horizon: Callable[[], Horizon]) -> None:
        self._read, self._horizon = read, horizon
        self._undone: dict[int, bool] = {}
        self._kinds: dict[int, Kind] = {}

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


def marks_of(store: Store, space: str) -> Marks:
    """Give the marks of a log."""

    def read(position: int) -> LogEntry | None:
        found = store.log(space, LogQuery(low=position, high=position + 1, limit=1))
        return found[0] if found else None

    return Marks(read, lambda: store.horizon(space))
