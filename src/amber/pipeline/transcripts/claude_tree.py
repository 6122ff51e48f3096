"""Find what a person took back, in the tree that the records of Claude Code form.

A prompt that is edited and sent again becomes a sibling of the first one: only one of them has the later conversation
below it. Most forks are something else (parallel calls, progress and results side by side, copies written at a
resume), so a branch is dead only if a typed prompt opens it, another typed prompt beside it is alive, and the two were
not typed at one moment.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple


class Node(NamedTuple):
    """A record's place in the tree."""

    line: int
    parent: str | None
    at: int | None
    typed: bool
    answer: bool


def find_retracted(nodes: dict[str, Node], tip: str | None) -> set[str]:
    """Give the ids of all records on branches that were taken back."""
    siblings: defaultdict[str | None, list[str]] = defaultdict(list)
    for uuid, node in nodes.items():
        if node.typed:
            siblings[node.parent].append(uuid)
    forks = {parent: uuids for parent, uuids in siblings.items() if len(uuids) > 1}
    if not forks or tip is None:
        return set()
    alive = _walk_to_root(nodes, tip)
    opened: set[str] = set()
    for parent, uuids in forks.items():
        if parent is None or parent not in nodes:
            opened |= _find_unanswered_roots(nodes, uuids, alive)
        else:
            opened |= _find_dead(nodes, uuids, alive)
    return _spread_down(nodes, opened)


def _find_dead(nodes: dict[str, Node], uuids: list[str], alive: set[str]) -> set[str]:
    moments = {nodes[uuid].at for uuid in uuids if uuid in alive}
    if not moments:
        return set()
    return {uuid for uuid in uuids if uuid not in alive and nodes[uuid].at not in moments}


def _find_unanswered_roots(nodes: dict[str, Node], uuids: list[str], alive: set[str]) -> set[str]:
    # Prompts without a parent need not be versions of each other: a resume or a lost record makes a root, too. One that
    # was never answered, followed by one that lives, was taken back.
    dead = _find_dead(nodes, uuids, alive)
    if not dead:
        return set()
    answered = {node.parent for node in nodes.values() if node.answer}
    below = {uuid: _spread_down(nodes, {uuid}) for uuid in dead}
    return {uuid for uuid in dead if not (below[uuid] & answered)}


def _walk_to_root(nodes: dict[str, Node], tip: str) -> set[str]:
    order = list(nodes)
    places: dict[str, int] = {}
    alive: set[str] = set()
    step: str | None = tip
    while step is not None and step not in alive:
        alive.add(step)
        parent = nodes[step].parent
        if parent is not None and parent not in nodes:
            # The parent was dropped, or stands in another file: go on with the record before this one.
            if not places:
                places = {uuid: place for place, uuid in enumerate(order)}
            place = places[step]
            parent = order[place - 1] if place else None
        step = parent
    return alive


def _spread_down(nodes: dict[str, Node], opened: Iterable[str]) -> set[str]:
    dead = set(opened)
    grown = bool(dead)
    while grown:
        # Children nearly always follow their parents in the file: the second sweep finds nothing.
        before = len(dead)
        dead.update(uuid for uuid, node in nodes.items() if node.parent in dead)
        grown = len(dead) > before
    return dead
