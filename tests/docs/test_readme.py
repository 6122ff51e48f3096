"""Every Python block of the README runs, in order, and prints what its comments say."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def blocks() -> list[str]:
    """Give the Python blocks."""
    return re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


def test_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    for block in blocks():
        exec(compile(block, "README.md", "exec"), namespace)
    printed = capsys.readouterr().out.splitlines()
    assert printed[:3] == ["Porto", "2", "Prefers dark [mode]"]
    assert printed[3:6] == ["['ana@example.org']", "Berlin", "Porto"]
    assert printed[6:8] == ["Oslo", "Bergen"]
    assert printed[9] == "Bergen"
    assert "Rome" in printed
    assert printed[printed.index("Rome") + 1 :][:2] == ["True True", "0"]
    imported = [line for line in printed if line.startswith("imported")]
    assert [line.split()[1] for line in imported] == ["claude"] * 4 + ["codex"] * 2
    around = [line for line in printed if line.startswith("Message(")]
    first = printed.index(around[0])
    assert any("[rate]" in line and "[limit]" in line for line in printed[first - 8 : first])
    assert len({line.partition("#")[0] for line in around}) == 1
    place = [int(line.partition("#")[2].split()[0]) for line in around]
    assert place == [*range(place[0], place[0] + 3)]
    assert printed[first + 3 : first + 5] == ["Shared rate limiter for the fare API", "commit it"]
    assert printed[first + 5].startswith("yes, start it empty.")
    assert printed[-7].startswith("1  ")
    assert printed[-6] == "  + city: Lisbon (ana)"
    assert printed[-5:-2] == ["True {'facts': 1}", "()", "[]"]
    assert printed[-2:] == ["Lisbon", "20 facts"]
