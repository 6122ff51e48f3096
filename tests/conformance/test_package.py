"""What amber.testing offers beside the suite."""

from __future__ import annotations

import subprocess
import sys

import pytest

import amber.testing
from amber.testing import CONFORMANCE, FakeClock
from amber.testing.conformance import together
from amber.testing.crash import environment


def test_without_pytest_it_says_what_to_install() -> None:
    code = """
import sys
sys.modules["pytest"] = None
try:
    import amber.testing
except ImportError as error:
    print(type(error).__name__, error)
"""
    run = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True)
    assert run.stdout == "MissingExtra amber.testing needs pytest: run pip install pytest.\n"


def test_everything_that_is_named_is_there() -> None:
    assert {each.__name__ for each in CONFORMANCE} <= set(amber.testing.__all__)
    for name in amber.testing.__all__:
        assert getattr(amber.testing, name) is not None


def test_a_clock_stands_still_until_it_is_told_to_move() -> None:
    clock = FakeClock(1_000)
    assert (clock(), clock()) == (1_000, 1_000)
    assert clock.advance(seconds=1.5) == 1_501_000
    assert clock.advance(microseconds=-1) == clock() == 1_500_999


def test_an_error_in_any_thread_is_raised() -> None:
    def fail() -> None:
        raise KeyError("here")

    with pytest.raises(KeyError, match="here"):
        together([lambda: None, fail])
