"""Postings in the memory of a process: which documents hold a term, as numbers while they are few and bitmaps then.

A document has a *slot*: its block (of ``BLOCK`` documents) and its place in it. Bitmaps are Python's own integers, one
for each block, so that documents with several terms are found by AND at the speed of memory.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

BITS = 13
#: Documents of a block.
BLOCK = 1 << BITS
_PLACE = BLOCK - 1
#: A term of more documents than this is kept as bitmaps, which take up to a kilobyte for each block; the documents of
#: the others take 8 bytes each, and their bitmaps are made for each search.
SPARSE = 256
#: So many documents are entered in the bitmaps of a term at once.
_TOGETHER = 512

Bitmaps = dict[int, int]
#: For a term of few documents: slot * 256 + occurrences each.
if TYPE_CHECKING:
    Sparse = array[int]
else:
    # not generic at run time before Python 3.12
    Sparse = array


class Dense:
    """The postings of a common term by block: who holds it, twice or more, three times or more; how often, from three
    on."""

    __slots__ = ("counts", "holders", "most", "often", "size", "twice", "waiting")

    def __init__(self, sparse: Sparse | None = None) -> None:
        self.holders: Bitmaps = {}
        self.twice: Bitmaps = {}
        self.often: Bitmaps = {}
        self.counts: dict[int, int] = {}
        #: no document holds the term more often (one that is gone may have)
        self.most = 3
        #: what is not in the bitmaps yet: many are entered faster together
        self.waiting: Sparse = sparse if sparse is not None else array("Q")
        self.size = len(self.waiting)

    def add(self, slot: int, count: int) -> None:
        """Enter a document."""
        self.size += 1
        self.waiting.append(slot << 8 | count)
        if len(self.waiting) >= _TOGETHER:
            self.settle()

    def settle(self) -> Dense:
        """Enter what waits."""
        blocks: dict[int, bytearray] = {}
        for packed in self.waiting:
            slot, count = packed >> 8, packed & 255
            block, place = slot >> BITS, slot & _PLACE
            bits = blocks.get(block)
            if bits is None:
                bits = blocks[block] = bytearray(BLOCK >> 3)
            bits[place >> 3] |= 1 << (place & 7)
            if count > 1:
                bit = 1 << place
                self.twice[block] = self.twice.get(block, 0) | bit
                if count > 2:
                    self.often[block] = self.often.get(block, 0) | bit
                    self.counts[slot] = count
                    self.most = max(self.most, count)
        for block, bits in blocks.items():
            self.holders[block] = self.holders.get(block, 0) | int.from_bytes(bits, "little")
        self.waiting = array("Q")
        return self

    def count(self, slot: int) -> int:
        """Tell how often a document holds the term."""
        block, bit = slot >> BITS, 1 << (slot & _PLACE)
        if not self.twice.get(block, 0) & bit:
            return 1 if self.holders.get(block, 0) & bit else 0
        return self.counts.get(slot, 2)

    def remove(self, slot: int) -> None:
        """Take a document out."""
        self.settle()
        block, bit = slot >> BITS, 1 << (slot & _PLACE)
        self.size -= 1
        self.counts.pop(slot, None)
        for bitmaps in (self.holders, self.twice, self.often):
            left = bitmaps.get(block, 0) & ~bit
            if left:
                bitmaps[block] = left
            else:
                bitmaps.pop(block, None)


Postings = Sparse | Dense


class Vocabulary:
    """The postings of all terms, each under a number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._names: list[str] = []
        self._postings: list[Postings] = []
        self._free: list[int] = []
        #: all postings, and the terms that are kept as bitmaps
        self.entries = self.dense = 0

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, term: str) -> bool:
        return term in self._numbers

    def frequency(self, term: str) -> int:
        """Tell how many documents hold a term."""
        number = self._numbers.get(term)
        if number is None:
            return 0
        postings = self._postings[number]
        return postings.size if isinstance(postings, Dense) else len(postings)

    def find(self, term: str) -> Dense:
        """Give the postings of a term as bitmaps."""
        number = self._numbers.get(term)
        if number is None:
            return Dense()
        postings = self._postings[number]
        return postings.settle() if isinstance(postings, Dense) else Dense(postings[:]).settle()

    def add(self, term: str, slot: int, count: int) -> int:
        """Enter a document under a term and give the term's number."""
        number = self._numbers.get(term)
        if number is None:
            number = self._new(term)
        postings = self._postings[number]
        self.entries += 1
        if not isinstance(postings, Dense):
            if len(postings) < SPARSE:
                postings.append(slot << 8 | count)
                return number
            postings = self._postings[number] = Dense(postings)
            self.dense += 1
        postings.add(slot, count)
        return number

    def _new(self, term: str) -> int:
        if self._free:
            number = self._free.pop()
            self._names[number], self._postings[number] = term, array("Q")
        else:
            number = len(self._names)
            self._names.append(term)
            self._postings.append(array("Q"))
        self._numbers[term] = number
        return number

    def remove(self, number: int, slot: int) -> None:
        """Take a document out; a term that no document holds is forgotten with its letters."""
        postings = self._postings[number]
        self.entries -= 1
        if isinstance(postings, Dense):
            postings.remove(slot)
            left = postings.size
        else:
            place = next(n for n, packed in enumerate(postings) if packed >> 8 == slot)
            del postings[place]
            left = len(postings)
        if not left:
            self.dense -= isinstance(postings, Dense)
            del self._numbers[self._names[number]]
            self._names[number], self._postings[number] = "", array("Q")
            self._free.append(number)
