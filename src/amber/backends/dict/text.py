"""Search of the in-process store: an exact inverted index."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from amber.backends.dict.space import Place, Space
from amber.model.collection import Facets
from amber.store.contract import Candidate, SearchFilter, TextStats
from amber.store.resolve import check_limit


def stats(space: Space, terms: Sequence[str]) -> TextStats:
    """Give the figures that ranking needs."""
    documents = len(space.texts)
    frequency = {term: len(space.postings.get(term, ())) for term in terms}
    return TextStats(documents, space.tokens / documents if documents else 0.0, frequency)


def candidates(space: Space, terms: Sequence[tuple[str, float]], filter: SearchFilter, limit: int) -> list[Candidate]:
    """Give the documents with the largest sums of term weights."""
    check_limit(limit)
    sums: dict[Place, float] = defaultdict(float)
    for term, weight in terms:
        for place in space.postings.get(term, ()):
            sums[place] += weight
    rows = []
    for place, total in sums.items():
        length, facets = space.texts[place]
        if passes(filter, place[0], facets):
            rows.append((-round(total, 9), -space.documents[place[0]][place[1]].revision, place[1], place[0], length))
    found = []
    for _, revision, key, collection, length in sorted(rows)[:limit]:
        place = (collection, key)
        counts = {term: space.postings[term][place] for term, _ in terms if place in space.postings.get(term, ())}
        found.append(Candidate(collection, key, -revision, length, counts, space.texts[place][1]))
    return found


def passes(filter: SearchFilter, collection: str, facets: Facets) -> bool:
    """Tell whether a document passes a filter."""
    project = facets.project or ""
    return (
        (not filter.collections or collection in filter.collections)
        and (filter.sender is None or facets.sender == filter.sender)
        and (filter.session is None or facets.session == filter.session)
        and (filter.type is None or facets.type == filter.type)
        and (filter.project is None or project == filter.project or project.startswith(filter.project + "/"))
        and (filter.since is None or facets.at >= filter.since)
        and (filter.until is None or facets.at < filter.until)
    )
