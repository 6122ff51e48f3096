"""Export and load through the facade: JSON lines, an equal memory, and every way in which a file can be torn."""

from __future__ import annotations

import gzip
import io
import os
import stat
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.migrations.day import Clock, fill, observe
from tests.services.stage import STORES, Open, SteppingClock, everything, opener, sync_face, target_of, values

from amber.errors import BadInput, Closed, Conflict, NotFound, SchemaMismatch, Unavailable
from amber.memory import Memory
from amber.services.export import Exported
from amber.store.contract import Selection

Make = Callable[..., Memory]


@pytest.fixture
def full(memory: Memory) -> Memory:
    """Give a memory with something of everything."""
    for number in range(8):
        memory.facts.put({"n": number, "text": f"zebra {number}"}, key=f"k{number % 3}", sender="ana")
    memory.register("t", unique=("v",))
    memory.facts.put({"v": 1}, type="t")
    memory.facts.put("held", session="s", ephemeral=True)
    memory.facts.put("Zebra 7", sender="ana")
    memory.facts.put("zebra 7", sender="ana")
    memory.history.undo(last=1)
    memory.history.redo()
    memory.history.undo(last=2, reason="for good")
    memory.facts.put("gone", sender="gone")
    memory._store.purge(memory.space, Selection("facts", by="sender", equal=("gone",)), now=1)
    memory.history.label("v1", 5)
    memory.history.label("early", 1)
    memory.history.trim(keep=memory.history.position() - 3)
    return memory


@pytest.fixture(params=STORES)
def make(request: pytest.FixtureRequest, tmp_path: Path, clock: SteppingClock) -> Iterator[Make]:
    """Give a maker of empty memories of each kind."""
    (tmp_path / "to").mkdir()
    make = opener(target_of(request.param, tmp_path / "to"), clock, sync_face)
    yield make
    make().close()


def lines_of(memory: Memory) -> list[bytes]:
    """Give the lines of an export."""
    stream = io.BytesIO()
    memory.export(stream)
    return stream.getvalue().splitlines(keepends=True)


def loads(memory: Memory, lines: list[bytes]) -> Any:
    """Load lines."""
    return memory.load(io.BytesIO(b"".join(lines)))


def test_an_equal_memory(full: Memory, make: Make, tmp_path: Path) -> None:
    exported = full.export(tmp_path / "e.jsonl")
    assert (exported.space, exported.position, exported.entries) == (
        "acme",
        full.history.position(),
        full.history.position() - 3,
    )
    assert exported.documents == {name: n for name, n in full.stats().documents.items() if n}
    other = make("elsewhere")
    loaded = other.load(tmp_path / "e.jsonl")
    assert (loaded.is_whole, loaded.intact, loaded.space, loaded.position) == (True, True, "acme", exported.position)
    assert (loaded.documents, loaded.entries, loaded.rows) == (exported.documents, exported.entries, exported.rows)
    assert other.export(io.BytesIO()).digest == exported.digest
    assert other.verify() == []
    assert everything(other, ("s",)) == everything(full, ("s",))
    assert other.history.page(limit=100) == full.history.page(limit=100)
    assert (other.history.labels(), other.history.oldest()) == (full.history.labels(), 3)
    for position in range(3, exported.position + 1):
        assert everything(other.at(position), ("s",)) == everything(full.at(position), ("s",))
    with pytest.raises(NotFound, match="oldest moment"):
        other.at("early")
    assert [(hit.id, hit.score) for hit in other.recall("zebra")] == [
        (hit.id, hit.score) for hit in full.recall("zebra")
    ]
    for each in (full, other):
        each.history.redo(force=True)
        each.history.undo(5, force=True)
        with pytest.raises(Conflict):
            each.facts.put({"v": 1}, type="t", sender="ben")
    # what the forced undo ended, it ended at two times
    assert values(other, superseded=True, deleted=True) == values(full, superseded=True, deleted=True)
    assert values(other) == values(full)


def test_everything_of_a_day(tmp_path: Path) -> None:
    clock = Clock()
    fill(tmp_path / "day.db", clock)
    for number, space in enumerate(("acme", "other")):
        with Memory.open(tmp_path / "day.db", space=space, clock=clock) as memory:
            seen, exported = observe(memory), memory.export(tmp_path / f"{space}.jsonl.gz")
        for target in ("memory:", tmp_path / f"copy{number}.db"):
            with Memory.open(target, space=space, clock=clock) as copy:
                loaded = copy.load(tmp_path / f"{space}.jsonl.gz")
                assert (loaded.is_whole, loaded.intact) == (True, True)
                assert (observe(copy), copy.verify()) == (seen, [])
                assert copy.export(io.StringIO()).digest == exported.digest


TEXTS = [
    "a\0b",
    "<|endoftext|>",
    "line\u2028next\u2029end\u0085",
    "\u202e",
    "{x} {{y}} %s",
    "🦓 𝕏",
    "\ufeffx",
    "\r\n\t",
    "ﬁ ﬁ",
    "\\u2028",
    '"',
]


def test_case_17_awkward_texts_come_back(memory: Memory, make: Make, tmp_path: Path) -> None:
    for text in (*TEXTS, "a\ud800b"):
        memory.facts.put(f"zebra {text}")
        memory.facts.put({text.strip("\0") or "x": [text]}, key="k")
    memory.facts.put([1.0, -0.0, 1e300, 2**63 - 1, -(2**63), None, True], key="numbers")
    path = tmp_path / "e.jsonl"
    exported = memory.export(path)
    raw = path.read_bytes()
    assert raw.count(b"\n") == exported.rows + 1
    raw.decode()
    other = make()
    assert other.load(path).is_whole
    assert everything(other) == everything(memory)
    assert other.export(io.BytesIO()).digest == exported.digest
    assert [repr(value) for value in values(other)] == [repr(value) for value in values(memory)]


def test_streams_of_bytes_and_text(full: Memory, make: Make, tmp_path: Path) -> None:
    wanted = full.export(io.BytesIO()).digest
    binary, text = io.BytesIO(), io.StringIO()
    full.export(binary)
    full.export(text)
    with (tmp_path / "t.jsonl").open("w", encoding="utf-8", newline="") as file:
        full.export(file)
    with (tmp_path / "b.jsonl").open("wb") as raw:
        full.export(raw)
    with gzip.open(tmp_path / "z.gz", "wb") as packed:
        full.export(packed)  # type: ignore[arg-type]
    assert file.closed is not False
    sources: list[Any] = [
        io.BytesIO(binary.getvalue()),
        io.StringIO(text.getvalue()),
        tmp_path / "t.jsonl",
        str(tmp_path / "b.jsonl"),
        tmp_path / "z.gz",
    ]
    for number, source in enumerate(sources):
        other = make(f"s{number}")
        assert other.load(source).is_whole
        assert other.export(io.BytesIO()).digest == wanted
    with (tmp_path / "t.jsonl").open(encoding="utf-8") as opened:
        assert make("text file").load(opened).is_whole
    with (tmp_path / "b.jsonl").open("rb") as opened_raw:
        assert make("raw file").load(opened_raw).is_whole
        assert not opened_raw.closed


def test_a_file_is_compressed_by_its_name(full: Memory, make: Make, tmp_path: Path) -> None:
    full.export(tmp_path / "e.jsonl.gz")
    full.export(tmp_path / "again.gz")
    assert (tmp_path / "e.jsonl.gz").read_bytes()[:2] == b"\x1f\x8b"
    assert make().load(tmp_path / "e.jsonl.gz").intact


def test_a_file_is_private_whole_and_not_overwritten(full: Memory, tmp_path: Path) -> None:
    path = tmp_path / "out" / "e.jsonl"
    path.parent.mkdir()
    old = os.umask(0)
    try:
        full.export(path)
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    before = path.read_bytes()
    full.facts.put("later")
    with pytest.raises(Conflict, match="exists already") as conflict:
        full.export(path)
    assert (conflict.value.retry, path.read_bytes()) == ("no", before)
    full.export(path, overwrite=True)
    assert path.read_bytes() != before
    for wrong in (tmp_path / "out", tmp_path / "no" / "folder", "", 7, None, tmp_path / "a\0b"):
        with pytest.raises(BadInput):
            full.export(wrong)  # type: ignore[arg-type]
    assert os.listdir(path.parent) == ["e.jsonl"]


def test_a_failure_leaves_no_part_of_a_file(full: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export = full._store.export

    def broken(space: str) -> Iterator[Any]:
        rows = export(space)
        yield next(rows)
        yield next(rows)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(full._store, "export", broken)
    (tmp_path / "out").mkdir()
    with pytest.raises(Unavailable, match="No space left"):
        full.export(tmp_path / "out" / "e.jsonl")
    assert os.listdir(tmp_path / "out") == []


def test_progress(full: Memory, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from amber.services import export, load

    monkeypatch.setattr(export, "STEP", 5)
    monkeypatch.setattr(load, "STEP", 5)
    said: list[Any] = []
    exported = full.export(tmp_path / "e.jsonl", on_progress=said.append)
    assert said[-1] == (exported.rows, exported.rows)
    assert [at.done for at in said[:2]] == [5, 10]
    said.clear()
    make().load(tmp_path / "e.jsonl", on_progress=said.append)
    assert said[-1] == (exported.rows, exported.rows)
    assert len(said) > 2


# -- what is torn --


def test_a_torn_last_line_and_a_bad_one(full: Memory, make: Make) -> None:
    lines = lines_of(full)
    torn = [*lines[:4], b"{not json}\n", *lines[5:-1], lines[-1][:20]]
    memory = make()
    loaded = loads(memory, torn)
    assert [(bad.line, bad.reason.split(":")[0]) for bad in loaded.bad] == [
        (5, "it is not JSON"), (len(lines), "the file breaks off in it"), (len(lines) + 1, "the file breaks off"),
    ]  # fmt: skip
    assert (loaded.is_whole, loaded.intact) == (False, None)
    assert memory.verify() == []
    assert len(everything(memory, ("s",))) == len(everything(full, ("s",))) - (
        orjson.loads(lines[4])["collection"] == "facts"
    )


def test_each_line_may_be_missing_or_bad(full: Memory, open_memory: Open) -> None:
    lines = lines_of(full)
    whole = everything(full, ("s",))
    for number in range(len(lines)):
        for bad in (b"", b'{"row": "document"}\n', lines[number][: len(lines[number]) // 2] + b"\n"):
            memory = open_memory(f"cut {number} {len(bad)}")
            loaded = loads(memory, [*lines[:number], *([bad] if bad else []), *lines[number + 1 :]])
            row = orjson.loads(lines[number])
            assert memory.verify() == [], (number, bad, row)
            if bad:
                assert [each.line for each in loaded.bad][:1] == [number + 1]
            if row.get("row") == "entry":
                assert loaded.lost == (row["position"],)
                entry = memory.history.get(row["position"])
                assert (entry.kind, entry.changes) == ("lost", ())
                assert everything(memory, ("s",)) == whole
                with pytest.raises(Exception, match=r"lost when it was loaded|undone already"):
                    memory.history.undo(row["position"])
            elif row.get("row") == "document" and row["revision"] > 3:
                assert loaded.gone == ((row["collection"], row["key"]),)
                assert memory.history.page(limit=1)[0].kind == "lost"
            assert memory.history.oldest() == 3
            memory.facts.put("next")
            memory.history.undo(last=1)
            assert memory.verify() == []


def test_a_lost_fact_comes_back_from_the_log(full: Memory, make: Make) -> None:
    lost = full.facts.page(sender="ana", superseded=True).facts[-1]
    lines = [
        line
        for line in lines_of(full)
        if f'"row":"document","collection":"facts","key":"{lost.id}"'.encode() not in line
    ]
    memory = make()
    loaded = loads(memory, lines)
    assert loaded.gone == (("facts", lost.id),)
    assert memory.facts.find(lost.id) is None
    memory.history.undo(loaded.position)
    assert {**memory.facts.get(lost.id).body, "last_seen": 0} == {**lost.body, "last_seen": 0}
    assert memory.verify() == []


def test_an_undo_of_all_after_a_point_passes_over_what_was_lost(full: Memory, make: Make) -> None:
    lines = [line for line in lines_of(full) if b'"row":"entry","position":6,' not in line]
    memory = make()
    assert loads(memory, lines).lost == (6,)
    undone = memory.history.undo(after=full.history.position() - 1, force=True)
    assert undone.positions == (full.history.position(),)
    assert everything(memory.at(8), ("s",)) == everything(full.at(8), ("s",))


def test_lines_that_were_changed_are_told(full: Memory, make: Make) -> None:
    lines = lines_of(full)
    changed = [line.replace(b"zebra 7", b"zebra 8") for line in lines]
    loaded = loads(make("changed"), changed)
    assert (loaded.is_whole, loaded.intact) == (True, False)
    assert loads(make("crlf"), [line.replace(b"\n", b"\r\n") for line in lines]).intact
    assert loads(make("blank"), [b"\n", *(line + b"\n" for line in lines)]).intact
    assert loads(make("no last line feed"), [*lines[:-1], lines[-1].rstrip()]).is_whole


def test_two_exports_in_one_file(full: Memory, make: Make) -> None:
    lines = lines_of(full)
    memory = make()
    loaded = loads(memory, [*lines, *lines])
    assert {bad.line for bad in loaded.bad} <= set(range(len(lines) + 1, 2 * len(lines) + 1))
    assert (memory.verify(), everything(memory, ("s",))) == ([], everything(full, ("s",)))


@pytest.mark.parametrize("data", [b"", b"\n\n", b"{}\n", b"[1]\n", b'{"type": "user", "uuid": "u1"}\n', b"\x00\xff\xfe", b"SQLite format 3\0", b'{"amber": "else"}\n', b'{"amber": "export"}\n', b'{"amber": "export", "format": true}\n', b"null"])  # fmt: skip
def test_what_is_no_export_is_refused(make: Make, data: bytes, tmp_path: Path) -> None:
    memory = make()
    path = tmp_path / "x.jsonl"
    path.write_bytes(data)
    for source in (path, io.BytesIO(data)):
        with pytest.raises(BadInput):
            memory.load(source)
    assert memory.history.position() == 0
    memory.facts.put("x")


def test_a_newer_format_is_refused(full: Memory, make: Make) -> None:
    lines = lines_of(full)
    head = {**orjson.loads(lines[0]), "format": 2}
    memory = make()
    with pytest.raises(SchemaMismatch, match="upgrade the amber package"):
        loads(memory, [orjson.dumps(head) + b"\n", *lines[1:]])
    assert memory.history.position() == 0


def test_a_torn_compressed_file(full: Memory, make: Make, tmp_path: Path) -> None:
    full.export(tmp_path / "e.gz")
    data = (tmp_path / "e.gz").read_bytes()
    (tmp_path / "torn.gz").write_bytes(data[: len(data) * 2 // 3])
    memory = make()
    loaded = memory.load(tmp_path / "torn.gz")
    assert "breaks off or is damaged" in loaded.bad[-2].reason
    assert memory.verify() == []
    assert memory.history.position() >= full.history.position()


def test_a_source_that_can_not_be_read(make: Make, tmp_path: Path) -> None:
    memory = make()
    with pytest.raises(NotFound):
        memory.load(tmp_path / "none.jsonl")
    for wrong in (tmp_path, "", 7, None):
        with pytest.raises(BadInput):
            memory.load(wrong)  # type: ignore[arg-type]
    assert memory.history.position() == 0


def test_a_memory_in_use_is_refused(full: Memory, make: Make, tmp_path: Path) -> None:
    full.export(tmp_path / "e.jsonl")
    memory = make()
    memory.facts.put("own")
    with pytest.raises(Conflict, match="name another space, or another memory"):
        memory.load(tmp_path / "e.jsonl")
    assert values(memory) == ["own"]


# -- beside other work --


def test_it_is_of_one_moment(full: Memory, make: Make, tmp_path: Path) -> None:
    position, before = full.history.position(), everything(full, ("s",))
    stop, errors = threading.Event(), []

    def write() -> None:
        number = 0
        try:
            while not stop.is_set() and number < 5_000:
                full.facts.put(f"later {number}", key="k1", sender="ana")
                number += 1
        except Exception as error:
            errors.append(error)

    said = []
    thread = threading.Thread(target=write)

    def progress(at: Any) -> None:
        said.append(at)

    thread.start()
    try:
        exported = [full.export(tmp_path / f"{n}.jsonl", on_progress=progress) for n in range(3)]
    finally:
        stop.set()
        thread.join()
    assert not errors
    assert exported[-1].position > position
    for number, each in enumerate(exported):
        copy = make(f"copy {number}")
        loaded = copy.load(tmp_path / f"{number}.jsonl")
        assert (loaded.is_whole, loaded.position, copy.verify()) == (True, each.position, [])
        assert copy.facts.count(key="k1") == 1
        assert everything(copy.at(position), ("s",)) == before


def test_after_close_both_are_refused(full: Memory, tmp_path: Path) -> None:
    full.close()
    with pytest.raises(Closed):
        full.export(tmp_path / "e.jsonl")
    with pytest.raises(Closed):
        full.load(io.BytesIO(b'{"amber": "export", "format": 1, "head": {"position": 0, "at": 0}}\n'))
    with pytest.raises(Closed):
        full.backup(tmp_path / "b.db")
    assert not (tmp_path / "e.jsonl").exists()


def test_memory_stays_bounded(tmp_path: Path) -> None:
    payload = "word " * 2_000
    with Memory.open(tmp_path / "a.db", durability="off") as memory:
        for batch in range(10):
            with memory.transaction() as tx:
                for number in range(100):
                    tx.facts.put(f"{batch} {number} {payload}")
        stored = (tmp_path / "a.db").stat().st_size
        tracemalloc.start()
        try:
            memory.export(tmp_path / "e.jsonl")
            exported_peak = tracemalloc.get_traced_memory()[1]
            with Memory.open(tmp_path / "b.db", durability="off") as other:
                tracemalloc.reset_peak()
                assert other.load(tmp_path / "e.jsonl").is_whole
                loaded_peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    # 30 MB of JSON in entries of 1 MB and chunks of 4 MB
    assert stored > 20_000_000
    assert exported_peak < 10_000_000
    assert loaded_peak < 45_000_000


def test_a_digest_says_whether_two_memories_are_equal(open_memory: Open) -> None:
    def digest(memory: Memory) -> Exported:
        return memory.export(io.BytesIO())

    one = open_memory("one")
    one.facts.put("x", operation="op")
    assert digest(one).digest == digest(one).digest
    before = digest(one).digest
    one.facts.put("y")
    assert digest(one).digest != before
