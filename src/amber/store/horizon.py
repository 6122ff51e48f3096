"""What must be known of log entries after they were purged as the oldest."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from amber.store.contract import Horizon


def moved(
    horizon: Horizon, position: int, at: int, targets: Iterable[int], undoes: Callable[[int], tuple[int, ...]]
) -> Horizon:
    """Give the horizon after the entries up to ``position`` are gone.

    :param at: the time of the entry at that position.
    :param targets: the positions, up to this one, that entries after it take back.
    :param undoes: gives what an entry above the present horizon takes back.
    """
    undos = frozenset(target for target in targets if target <= position and _is_undo(horizon, target, undoes))
    return Horizon(position, at, undos)


def _is_undo(horizon: Horizon, position: int, undoes: Callable[[int], tuple[int, ...]]) -> bool:
    """Tell whether an entry is an undo: it takes several entries back, or one that is no undo itself."""
    turned = False
    while position > horizon.position:
        taken_back = undoes(position)
        if len(taken_back) != 1:
            return bool(taken_back) is not turned
        position, turned = taken_back[0], not turned
    return (position in horizon.undos) is not turned
