"""Search of the in-process store: an exact inverted index."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from amber.backends.dict.space import Place, Space
from amber.model.collection import Facets
from amber.store.arguments import check_candidates
from amber.store.contract import Candidate, Clause, SearchFilter, TextStats


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
        for place in set.intersection(*(set(space.postings.get(word, ())) for word in clause.words)):
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
