"""What entries of the log are: changes, undos, redos; and which of them are taken back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from amber.store.contract import LogEntry

Kind = Literal["change", "undo", "redo", "purge"]


class Marks:
    """Which entries are changes, undos and redos, and which are taken back; each is worked out once."""

    def __init__(self, read: Callable[[int], LogEntry]) -> None:
        self._read = read
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
