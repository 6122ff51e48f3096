"""The exact index of a space in the memory of a process, kept current by log position.

It is made bit by bit, after questions that the store had to answer, and never takes longer for it than the store took:
no caller waits for it, no thread works in the background, a process that asks seldom never pays much. From then on a
question first reads what was committed since the last one, by whatever process. When that is much, the store answers
again, and the index catches up afterwards in the same way.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from time import perf_counter
from typing import NamedTuple

from amber.search.inverted import Found, InvertedIndex
from amber.search.plan import WeighedTerm
from amber.search.query import Term
from amber.store.contract import SearchFilter, Store

#: Questions that are answered by the store before the index is begun: a process that asks once or twice needs none.
FREE = 2
#: Bytes of memory that an index may take, about; 1 KB for a short message.
BOUND = 256 * 1024 * 1024
#: The least that a document takes.
_LEAST = 600
#: Texts read at a time, a millisecond's work; and changes that a question waits for.
_PAGE, _AT_ONCE = 50, 100


class Answer(NamedTuple):
    """The best documents, best first, and what each term of the question weighed."""

    found: list[Found]
    weighed: list[WeighedTerm]


class ExactIndex:
    """Keep the texts of one space in memory and search them. May be used from several threads.

    It is right at a position of the log and answers only when that is the newest one. What a caller's own transaction
    has not committed yet never goes into it: inside one, the store answers.

    :param bound: bytes that it may take, about; when it would take more, it is dropped, and the store answers.
    """

    #: As a participant in forgetting (see ``participants``).
    name = "texts in memory"

    def __init__(self, store: Store, space: str, bound: int = BOUND) -> None:
        self._store, self._space, self._bound = store, space, bound
        self._lock = threading.Lock()
        self._asked = 0
        self._begin()

    def _begin(self) -> None:
        self._index = InvertedIndex()
        #: from where on the log is to be read; None until the first page of texts was
        self._since: tuple[int, int] | None = None
        self._cursor: tuple[str, str] | None = None
        self._filled = False
        self._overfull = False

    def __len__(self) -> int:
        return len(self._index)

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        return self._index.size

    @property
    def ready(self) -> bool:
        """Whether all texts were read once."""
        return self._filled

    def holds(self, token: str) -> bool:
        """Tell whether any text in memory has a token."""
        return self._index.knows(token)

    def search(self, terms: Sequence[Term], filter: SearchFilter, limit: int) -> Answer | None:
        """Give the best documents, as ``InvertedIndex.search`` does; None when the store has to be asked."""
        if not self._filled:
            return None
        newest = self._store.position(self._space)
        with self._lock:
            try:
                if not self._filled or not (self._since == (newest + 1, 0) or self._follow(_AT_ONCE)):
                    return None
            except BaseException:
                # what was interrupted half way is of no use
                self._begin()
                raise
            found = self._index.search(terms, filter, limit)
            return Answer(found, self._index.weigh(terms)) if found is not None else None

    def work(self, seconds: float, documents: int) -> None:
        """Go on making the index, or catching up, for about this long; not at all when another thread does.

        :param documents: how many texts the space has.
        """
        if not self._lock.acquire(blocking=False):
            return
        try:
            self._asked += 1
            if self._asked <= FREE or self._overfull or documents * _LEAST > self._bound:
                return
            end = perf_counter() + seconds
            while self._step() and perf_counter() < end:
                pass
        except BaseException:
            self._begin()
            raise
        finally:
            self._lock.release()

    def complete(self) -> bool:
        """Make the index at once, however long that takes; tell whether it is current then."""
        with self._lock:
            try:
                while self._step():
                    pass
            except BaseException:
                self._begin()
                raise
            return self._filled and not self._overfull

    def _step(self) -> bool:
        """Read one page of texts or changes; False when there is nothing left to do, or nothing can be done now."""
        if self._overfull:
            return False
        if self._filled:
            before = self._since
            return not self._follow(_PAGE) and self._since != before
        page = self._store.texts(self._space, after=self._cursor, limit=_PAGE)
        if not page.settled:
            return False
        if self._since is None:
            # what was committed after this page was read is followed from here, be it on a later page or not
            self._since = (page.position + 1, 0)
        for text in page.texts:
            self._index.put(text)
        self._cursor, self._filled = page.cursor, page.cursor is None
        return self._fits()

    def _follow(self, limit: int) -> bool:
        """Read one page of changes; tell whether the index is current."""
        assert self._since is not None
        page = self._store.text_changes(self._space, self._since, limit=limit)
        if page is None:
            # the log does not reach back, or the store is an older copy of itself
            self._begin()
            return False
        if not page.settled:
            return False
        for collection, key in page.gone:
            self._index.remove(collection, key)
        for text in page.texts:
            self._index.put(text)
        self._since = page.upto
        return self._fits() and page.upto == (page.position + 1, 0)

    def _fits(self) -> bool:
        if self._index.size <= self._bound:
            return True
        self._begin()
        self._overfull = True
        return False

    def count(self, space: str, collection: str, keys: Sequence[str]) -> int:
        """As a participant in forgetting: nothing is to be counted, all of it is a copy."""
        return 0

    def forget(self, space: str, collection: str, keys: Sequence[str]) -> int:
        """As a participant in forgetting: the store comes first."""
        return 0

    def settle(self, space: str) -> Sequence[str]:
        """Let go of what was purged, now and not with the next question."""
        with self._lock:
            try:
                current = False
                while self._filled and not current:
                    before = self._since
                    current = self._follow(_PAGE)
                    if self._since == before:
                        break
                if not current:
                    self._begin()
            except BaseException:
                self._begin()
                raise
        return ()
