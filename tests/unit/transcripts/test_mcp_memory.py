"""The memory of the MCP server: what an agent noted, whatever the order of the file."""

from pathlib import Path

from tests.unit.transcripts.samples import MCP, lines, read_all, short


def test_notes_and_relations(tmp_path: Path) -> None:
    ((reader, messages),) = read_all(lines(tmp_path / "memory.jsonl", *MCP))
    assert short(messages) == [
        ("reply", "Ana works_on Atlas"),
        ("reply", "Ana (person): likes zebras"),
        ("reply", "Ana (person): lives in Porto"),
        ("reply", "Nobody"),
        ("reply", "Gone knows Missing"),
    ]
    assert {m.role for m in messages} == {"assistant"}
    assert (messages[0].at, messages[1].at, reader.info().started_at) == (1791187200000000, None, 1791187200000000)
    assert reader.skips == {"noted before": 1}


def test_the_order_means_nothing(tmp_path: Path) -> None:
    ((one, before),) = read_all(lines(tmp_path / "memory.jsonl", *MCP))
    ((other, after),) = read_all(lines(tmp_path / "memory.jsonl", *reversed(MCP)))
    assert one.info().session_id == other.info().session_id
    assert {m.uid: m.text for m in before} == {m.uid: m.text for m in after}


def test_two_graphs_of_one_name_are_two(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    ((one, _),) = read_all(lines(tmp_path / "memory.jsonl", *MCP))
    ((other, _),) = read_all(lines(tmp_path / "b" / "memory.jsonl", *MCP))
    assert one.info().session_id != other.info().session_id


def test_odd_records_are_counted(tmp_path: Path) -> None:
    odd = [
        {"type": "entity", "name": "", "entityType": "x"},
        {"type": "entity", "name": "Ana", "entityType": 7, "observations": ["likes tea", 7, None]},
        {"type": "entity", "name": "Ben", "observations": "no list"},
        {"type": "relation", "from": "Ana", "to": None, "relationType": "knows"},
        {"type": "brand-new", "name": "x"},
    ]
    path = lines(tmp_path / "memory.jsonl", MCP[0], *odd)
    path.write_bytes(path.read_bytes() + b'{"type":"entity","na')
    ((reader, messages),) = read_all(path)
    assert short(messages) == [
        ("reply", "Ana works_on Atlas"), ("reply", "Ana: likes tea"), ("reply", "Ben"),
    ]  # fmt: skip
    assert reader.skips == {
        "unknown record type 'entity'": 1,
        "observation that is no text": 1,
        "relation without an end": 1,
        "unknown record type 'brand-new'": 1,
        "torn last line": 1,
    }
