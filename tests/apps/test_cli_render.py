"""How things are written for people."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table

from amber.cli.machine import to_json
from amber.cli.moments import LocalZone, brief, day_and_time, to_local, to_moment
from amber.cli.render import clean, count, one_line, size, table
from amber.model.times import to_micros


def printed(made: Table, width: int) -> list[str]:
    console = Console(width=width, markup=False, highlight=False)
    with console.capture() as capture:
        console.print(made)
    return capture.get().splitlines()


@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_table_fits_the_terminal(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("amber.cli.render.make_console", lambda: Console(width=width))
    rows = [
        ["1k1gqhyzp96sdzn0r7g0", "2026-10-05", "a/very/long/project/path/that/goes/on", "京都は日本の都市で" * 20],
        ["1k1gqhyzp96sdzn0r7g1", "2026-10-06", "", "short"],
    ]
    shown = printed(table(("id", "day", "project", "fact"), rows), width)
    assert len(shown) == 3
    assert all(cell_len(line) <= width for line in shown)
    assert all(row[0] in line for row, line in zip(rows, shown[1:], strict=True))
    assert "…" in shown[1]
    assert shown[2].rstrip().endswith("short"[: width - 20])


def test_one_line() -> None:
    assert one_line("a\n\tb\x1b  c") == "a b\N{REPLACEMENT CHARACTER} c"
    assert one_line("abcdef", 4) == "abc…"
    assert one_line("abcd", 4) == "abcd"
    assert one_line("x" * 10_000_000, 10) == "x" * 9 + "…"
    assert (
        clean("\u202eabc\u2066\ud800")
        == "\N{REPLACEMENT CHARACTER}abc\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}"
    )


def test_numbers() -> None:
    assert (count(1, "fact"), count(1_200, "fact"), count(0, "fact")) == ("1 fact", "1,200 facts", "0 facts")
    assert (size(999), size(1_500), size(2_500_000)) == ("999 bytes", "1.5 KB", "2.5 MB")


def test_json_for_an_output_that_knows_few_letters() -> None:
    assert to_json({"a": "京"}, encoding="latin-1") == '{"a": "\\u4eac"}'
    assert to_json({"a": "京"}, encoding="UTF8") == '{"a": "京"}'


@pytest.fixture(params=["Europe/Lisbon", "Pacific/Apia", "UTC"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield os.environ["TZ"]
    monkeypatch.undo()
    time.tzset()


def test_local_zone_knows_summer_time(zone: str) -> None:
    for month in (1, 7):
        there = datetime(2026, month, 1, 12, tzinfo=LocalZone())
        assert to_micros(there) == to_micros(datetime(2026, month, 1, 12).astimezone())
        assert to_micros(f"2026-{month:02}-01T12:00", LocalZone()) == to_micros(there)
        assert day_and_time(there) == f"2026-{month:02}-01 12:00"


@pytest.mark.parametrize("at", [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)])
def test_the_ends_of_the_calendar(zone: str, at: datetime) -> None:
    assert to_local(at).isoformat()
    assert isinstance(to_micros(at.replace(tzinfo=None).isoformat(), LocalZone()), int)


def test_moments() -> None:
    assert to_moment("12") == 12
    assert to_moment("2026-01-01") == "2026-01-01"
    assert to_moment("-1") == "-1"
    assert to_moment("١٢") == "١٢"
    midnight = datetime(2026, 3, 1).astimezone()
    assert brief(midnight) == "2026-03-01"
    assert brief(midnight.replace(hour=5)) == "2026-03-01 05:00"
