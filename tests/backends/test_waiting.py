"""Waiting for a position, and what ends it early."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.services.stage import STORES, target_of

from amber.errors import Closed
from amber.memory import open_store
from amber.testing.conformance import together


@pytest.mark.parametrize("kind", STORES)
def test_closing_ends_a_wait(kind: str, tmp_path: Path) -> None:
    store = open_store(target_of(kind, tmp_path))

    def listen() -> None:
        with pytest.raises(Closed):
            store.wait("acme", 0, timeout=60.0)

    def close() -> None:
        time.sleep(0.05)
        store.close()

    begun = time.monotonic()
    together([listen, close])
    assert time.monotonic() - begun < 30
