"""What all classes of the suite stand on: a new store and a hand that writes to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from threading import Barrier, Thread

import pytest

from amber.store.contract import Store
from amber.testing.clock import FakeClock
from amber.testing.samples import COLLECTIONS, Hand, MakeStore


class Conformance:
    """The fixtures. ``make_store`` comes from the one who runs the suite."""

    @pytest.fixture
    def clock(self) -> FakeClock:
        """Give a clock that stands still."""
        return FakeClock()

    @pytest.fixture
    def store(self, make_store: MakeStore) -> Iterator[Store]:
        """Give a new store of the sample collections."""
        store = make_store(COLLECTIONS)
        yield store
        store.close()

    @pytest.fixture
    def hand(self, store: Store, clock: FakeClock) -> Hand:
        """Give a hand that writes to the store."""
        return Hand(store, clock)


def together(works: Sequence[Callable[[], None]]) -> None:
    """Run each work in a thread of its own, all at once, and raise the first error of any."""
    barrier = Barrier(len(works))
    errors: list[BaseException] = []

    def run(work: Callable[[], None]) -> None:
        try:
            barrier.wait()
            work()
        except BaseException as error:
            errors.append(error)

    threads = [Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
