"""An exact inverted index in the memory of a process: the best documents by the formula of ``ranking``, all of them.

Documents of about one length share a block, so that in a block a set of terms has a narrow range of scores. A search
splits blocks by which terms their documents hold, the most promising part first, and scores only the documents of parts
that can still come among the best: some dozens of a hundred thousand.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush, heapreplace
from typing import NamedTuple

from amber.search.plan import WeighedTerm, weigh
from amber.search.postings import BITS, BLOCK, Bitmaps, Dense, Vocabulary
from amber.search.query import Term
from amber.search.ranking import K1, SMOOTHING
from amber.store.contract import SearchFilter, Text

#: A search gives up after this many steps, each about a microsecond.
_MOST_STEPS = 50_000
#: A search gives up at once on more terms than this.
_MOST_TERMS = 48
#: Bounds are compared with this allowance for how floats are rounded.
_ROUNDING = 1.0 - 1e-9


def _bands() -> list[int]:
    """Give the shortest length of each band; within one, the length norm varies by 12 %."""
    bands = [0]
    while bands[-1] < 100_000:
        bands.append(max(bands[-1] + 1, int((bands[-1] + SMOOTHING) * 1.12 - SMOOTHING)))
    return bands


_BANDS = _bands()


class Found(NamedTuple):
    """A document that a search found, its score, and how often it holds each of the question's terms, in their
    order."""

    collection: str
    key: str
    position: int
    score: float
    counts: Sequence[int]


class _Document(NamedTuple):
    collection: str
    key: str
    position: int
    length: int
    at: int
    terms: array[int]


class _Block:
    """Documents of about one length."""

    __slots__ = ("documents", "free", "shortest")

    def __init__(self, shortest: int) -> None:
        self.shortest = shortest
        self.documents: list[_Document | None] = []
        self.free: list[int] = []


class _Row(NamedTuple):
    """A term in a block: the most that one occurrence, two, and more can count; who holds it so often."""

    once: float
    twice: float
    often: float
    holders: int
    two: int
    more: int


class _Asked(NamedTuple):
    """A term of the question: its place there, its worth, its postings."""

    place: int
    worth: float
    postings: Dense


class InvertedIndex:
    """The texts of one space. Not safe to be used by several threads at once."""

    def __init__(self) -> None:
        self._vocabulary = Vocabulary()
        self._blocks: list[_Block] = []
        self._open: dict[int, list[int]] = defaultdict(list)
        self._slots: dict[tuple[str, str], int] = {}
        self._tokens = 0

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, place: tuple[str, str]) -> bool:
        return place in self._slots

    @property
    def size(self) -> int:
        """About how many bytes this takes."""
        words = self._vocabulary
        return 520 * len(self) + 14 * words.entries + 280 * len(words) + 800 * len(self._blocks) * words.dense

    def knows(self, token: str) -> bool:
        """Tell whether any document holds a token."""
        return token in self._vocabulary

    def put(self, text: Text) -> None:
        """Enter a document, in place of what it was before."""
        self.remove(text.collection, text.key)
        slot = self._place(text.length)
        add = self._vocabulary.add
        numbers = [add(term, slot, count) for term, count in text.terms.items()]
        numbers += [add(name, slot, 1) for name in _facet_names(text)]
        document = _Document(text.collection, text.key, text.position, text.length, text.facets.at, array("I", numbers))
        self._blocks[slot >> BITS].documents[slot & BLOCK - 1] = document
        self._slots[text.collection, text.key] = slot
        self._tokens += text.length

    def _place(self, length: int) -> int:
        """Give a free slot in a block for this length."""
        band = bisect_right(_BANDS, length) - 1
        room = self._open[band]
        while room:
            number = room[-1]
            block = self._blocks[number]
            if block.free:
                return number << BITS | block.free.pop()
            if len(block.documents) < BLOCK:
                block.documents.append(None)
                return number << BITS | len(block.documents) - 1
            room.pop()
        self._blocks.append(_Block(_BANDS[band]))
        room.append(len(self._blocks) - 1)
        return self._place(length)

    def remove(self, collection: str, key: str) -> None:
        """Take a document out, if it is there."""
        slot = self._slots.pop((collection, key), None)
        if slot is None:
            return
        number, place = slot >> BITS, slot & BLOCK - 1
        block = self._blocks[number]
        document = block.documents[place]
        assert document is not None
        for term in document.terms:
            self._vocabulary.remove(term, slot)
        block.documents[place] = None
        block.free.append(place)
        room = self._open[bisect_right(_BANDS, document.length) - 1]
        if number not in room:
            room.append(number)
        self._tokens -= document.length

    def weigh(self, terms: Sequence[Term]) -> list[WeighedTerm]:
        """Give the terms that some document has, in the order of the question."""
        return weigh(terms, {term.token: self._vocabulary.frequency(term.token) for term in terms}, len(self))

    def search(self, terms: Sequence[Term], filter: SearchFilter, limit: int) -> list[Found] | None:
        """Give the best documents, best first, ties by newest position, then by key and collection.

        None when that would take too long: a question of very many words.
        """
        weighed = self.weigh(terms)
        if len(weighed) > _MOST_TERMS:
            return None
        if not weighed:
            return []
        places = {term.token: place for place, term in enumerate(terms)}
        asked = [_Asked(places[token], weight, self._vocabulary.find(token)) for token, weight, _ in weighed]
        best = _Best(self, asked, filter, limit)
        return best.found(len(terms)) if best.run() else None

    def allowed(self, filter: SearchFilter) -> Bitmaps | None:
        """Give the documents that pass a filter (times apart), None when all do."""
        names = [f"\0{name}\0{value}" for name, value in zip(_NAMES, filter[1:5], strict=True) if value is not None]
        maps = [self._vocabulary.find(name).holders for name in names]
        if filter.collections:
            several: Bitmaps = defaultdict(int)
            for collection in set(filter.collections):
                for block, holders in self._vocabulary.find(f"\0collection\0{collection}").holders.items():
                    several[block] |= holders
            maps.append(several)
        if not maps:
            return None
        first, *others = maps
        allowed = {}
        for block, holders in first.items():
            for other in others:
                holders &= other.get(block, 0)
            if holders:
                allowed[block] = holders
        return allowed


_NAMES = ("sender", "project", "session", "type")


def _facet_names(text: Text) -> Iterator[str]:
    """Give the facets of a document as terms; no token begins with the character that these do."""
    yield f"\0collection\0{text.collection}"
    for name, value in zip(_NAMES, text.facets[:4], strict=True):
        if value is None:
            continue
        yield f"\0{name}\0{value}"
        if name == "project":
            for end, letter in enumerate(value):
                if letter == "/":
                    yield f"\0project\0{value[:end]}"


#: A term as scoring needs it: its worth, who holds it, twice, more often, and how often those do.
_Term = tuple[float, int, int, int, dict[int, int]]


class _Best:
    """One search: parts of blocks, the most promising first.

    A part is a set of documents of one block for which it is settled which of the first terms they hold.
    """

    def __init__(self, index: InvertedIndex, asked: list[_Asked], filter: SearchFilter, limit: int) -> None:
        self._blocks, self._asked, self._limit = index._blocks, asked, limit
        self._since, self._until = filter.since, filter.until
        self._allowed = index.allowed(filter)
        self._per_token = K1 / (index._tokens / len(index) + SMOOTHING)
        self._scores: list[float] = []
        self._reached = 0.0
        self._kept: list[tuple[float, int, str, str, int]] = []

    def run(self) -> bool:
        """Find the best; False when it takes too long."""
        parts: list[tuple[float, int, int, int, float, int]] = []
        rows: dict[int, tuple[list[_Row], list[float], list[_Term]]] = {}
        for number, block in enumerate(self._blocks):
            allowed = -1 if self._allowed is None else self._allowed.get(number, 0)
            if allowed:
                rows[number] = found = self._rows(number, block)
                if found[0]:
                    parts.append((-found[1][0], number, number, 0, 0.0, allowed))
        parts.sort()
        steps = len(parts)
        while parts:
            bound, _, number, depth, base, members = heappop(parts)
            if -bound < self._reached:
                break
            in_block, rest, terms = rows[number]
            last = len(in_block)
            while True:
                steps += 1
                if depth == last:
                    steps += self._score(number, members, terms)
                    break
                once, twice, often, holders, two, more = in_block[depth]
                depth += 1
                after = rest[depth]
                inside = members & holders
                outside = members & ~holders
                bound = base + after
                if outside and bound > 0.0 and bound >= self._reached:
                    heappush(parts, (-bound, steps, number, depth, base, outside))
                if not inside:
                    break
                if several := inside & two:
                    inside ^= several
                    if many := several & more:
                        several ^= many
                        bound = base + often + after
                        if bound >= self._reached:
                            steps += 1
                            heappush(parts, (-bound, steps, number, depth, base + often, many))
                    bound = base + twice + after
                    if several and bound >= self._reached:
                        steps += 1
                        heappush(parts, (-bound, steps, number, depth, base + twice, several))
                    if not inside:
                        break
                members = inside
                base += once
                bound = base + after
                if bound < self._reached:
                    break
                if parts and -bound > parts[0][0]:
                    steps += 1
                    heappush(parts, (-bound, steps, number, depth, base, members))
                    break
            if steps > _MOST_STEPS:
                return False
        return True

    def _rows(self, number: int, block: _Block) -> tuple[list[_Row], list[float], list[_Term]]:
        """Give the terms in a block, the weightiest first, what those from each on can add up to, and the terms in the
        order of the question."""
        norm = self._per_token * (block.shortest + SMOOTHING)
        one, two = (K1 + 1.0) / (1.0 + norm), 2.0 * (K1 + 1.0) / (2.0 + norm)
        rows, terms = [], []
        for _, worth, postings in self._asked:
            holders = postings.holders.get(number)
            if holders:
                twice, often = postings.twice.get(number, 0), postings.often.get(number, 0)
                most = worth * postings.most * (K1 + 1.0) / (postings.most + norm) if often else 0.0
                rows.append(_Row(worth * one, worth * two, most, holders, twice, often))
                terms.append((worth, holders, twice, often, postings.counts))
        rows.sort(reverse=True)
        total, rest = 0.0, [0.0]
        for row in reversed(rows):
            total += row.often or (row.twice if row.two else row.once)
            rest.append(total)
        rest.reverse()
        return rows, rest, terms

    def _score(self, number: int, members: int, terms: list[_Term]) -> int:
        """Score documents; gives how many."""
        documents, base = self._blocks[number].documents, number << BITS
        per_token, since, until, scores = self._per_token, self._since, self._until, self._scores
        done = 0
        while members:
            place = members.bit_length() - 1
            bit = 1 << place
            members ^= bit
            document = documents[place]
            assert document is not None
            done += 1
            if (since is not None and document.at < since) or (until is not None and document.at >= until):
                continue
            # in the same order and by the same steps as ``ranking.score``, so that the last bit is the same
            saturation = per_token * (document.length + SMOOTHING)
            total = 0.0
            for worth, holders, twice, often, counts in terms:
                if holders & bit:
                    count = 1 if not twice & bit else 2 if not often & bit else counts[base | place]
                    total += worth * count * (K1 + 1.0) / (count + saturation)
            if total < self._reached or total <= 0.0:
                continue
            self._kept.append((-total, -document.position, document.key, document.collection, base | place))
            if len(scores) < self._limit:
                heappush(scores, total)
            else:
                heapreplace(scores, max(total, scores[0]))
            if len(scores) == self._limit:
                self._reached = scores[0] * _ROUNDING
        return done

    def found(self, size: int) -> list[Found]:
        """Give what was kept, best first."""
        self._kept.sort()
        hits = []
        for total, position, key, collection, slot in self._kept[: self._limit]:
            counts = [0] * size
            for place, _, postings in self._asked:
                counts[place] = postings.count(slot)
            hits.append(Found(collection, key, -position, -total, tuple(counts)))
        return hits
