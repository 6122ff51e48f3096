"""Search of the in-process store: an exact inverted index."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from itertools import islice

from amber.backends.dict.space import Place, Space
from amber.model.collection import Facets
from amber.store.arguments import check_candidates
from amber.store.contract import PURGE, Candidate, Clause, SearchFilter, Text, TextChanges, TextPage, TextStats


def stats(space: Space, terms: Sequence[str]) -> TextStats:
    """Give the figures that ranking needs."""
    documents = len(space.texts)
    frequency = {term: len(space.postings.get(term, ())) for term in terms}
    return TextStats(documents, space.tokens / documents if documents else 0.0, frequency)


def candidates(
    space: Space, clauses: Sequence[Clause], filter: SearchFilter, also: Sequence[str], limit: int
) -> list[Candidate]:
    """Give the documents with the largest sums of weights."""
    words = check_candidates(clauses, filter, also, limit)
    sums: dict[Place, int] = defaultdict(int)
    for clause in clauses:
        places = set.intersection(*(set(space.postings.get(word, ())) for word in clause.words))
        if clause.among:
            places &= set().union(*(space.postings.get(word, ()) for word in clause.among))
        for place in places:
            sums[place] += clause.weight
    rows = []
    for (collection, key), total in sums.items():
        length, facets = space.texts[collection, key]
        if passes(filter, collection, facets):
            rows.append((-total, -space.documents[collection][key].created, key, collection, length))
    found = []
    for _, created, key, collection, length in sorted(rows)[:limit]:
        place = (collection, key)
        counts = {word: space.postings[word][place] for word in words if place in space.postings.get(word, ())}
        found.append(Candidate(collection, key, -created, length, counts, space.texts[place][1]))
    return found


def passes(filter: SearchFilter, collection: str, facets: Facets) -> bool:
    """Tell whether a document passes a filter."""
    return (
        (not filter.collections or collection in filter.collections)
        and (filter.sender is None or facets.sender == filter.sender)
        and (filter.session is None or facets.session == filter.session)
        and (filter.type is None or facets.type == filter.type)
        and (filter.project is None or lies_below(filter.project, facets.project))
        and (filter.since is None or facets.at >= filter.since)
        and (filter.until is None or facets.at < filter.until)
    )


def lies_below(project: str, place: str | None) -> bool:
    """Tell whether a project is the one asked for or lies below it."""
    return place is not None and (place == project or place.startswith(project + "/"))


def page(space: Space, after: Place | None, limit: int) -> TextPage:
    """Give one page of texts."""
    if space.listed[0] != space.position:
        space.listed = (space.position, sorted(space.texts))
    places = space.listed[1]
    start = bisect_right(places, after) if after is not None else 0
    found = places[start : start + limit]
    cursor = found[-1] if start + limit < len(places) else None
    return TextPage([_text(space, place) for place in found], cursor, space.position)


def _text(space: Space, place: Place) -> Text:
    stored = space.documents[place[0]][place[1]]
    derived = stored.derived
    return Text(*place, stored.created, derived.length, dict(derived.terms or {}), derived.facets)


def changes(space: Space, since: tuple[int, int], limit: int) -> TextChanges | None:
    """Give the texts that changed from a place of the log on."""
    newest, (first, n) = space.position, since
    if first > newest:
        return TextChanges([], [], since, newest) if since == (newest + 1, 0) else None
    start = bisect_left(space.log, first, key=lambda entry: entry.position)
    if start == len(space.log) or space.log[start].position != first:
        return None
    upto = (newest + 1, 0)
    places: dict[Place, None] = {}
    purges: set[int] = set()
    for entry in islice(space.log, start, None):
        skipped = n if entry.position == first else 0
        part = entry.changes[skipped : skipped + limit]
        limit -= len(part)
        places.update(((change.collection, change.key), None) for change in part)
        if skipped + len(part) < len(entry.changes):
            upto = (entry.position, skipped + len(part))
            break
        if entry.operation.startswith(PURGE):
            purges.add(entry.position)
    if purges:
        places.update((place, None) for place, position in space.purged.items() if position in purges)
    gone = [place for place in places if place not in space.texts]
    return TextChanges([_text(space, place) for place in places if place in space.texts], gone, upto, newest)
