"""Read the chat history of aider, `.aider.chat.history.md`: one file per project, appended for ever.

Each run of aider is a session, if anybody said anything in it. There are no times but the start of each run, which is
local and bears no zone: it is taken as UTC. The last output of the program waits until something follows it, for it may
still grow; so does what is not a whole line.
"""

import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple

from amber.pipeline.transcripts.aider_blocks import RUN, Block, Line, to_blocks
from amber.pipeline.transcripts.identity import Uids, fingerprint
from amber.pipeline.transcripts.jsonl import MAX_LINE
from amber.pipeline.transcripts.reader import PartReader, SeveralReader
from amber.pipeline.transcripts.record import Kind, Role, SessionInfo, TranscriptMessage
from amber.pipeline.transcripts.text import clean, cut_result, to_micros

_MODEL: Final = re.compile(r"(?:Main )?[Mm]odels?: (\S+)(?: with |,|$)")
_VERSION: Final = re.compile(r"Aider (v\S+)")
_TOKENS: Final = re.compile(r"^Tokens: (.*?)(?:\. Cost|\.?$)", re.MULTILINE)
_COUNT: Final = re.compile(r"([\d.,]+)([kM]?) (sent|cache write|cache hit|received)")
_NAMES: Final = {"sent": "input", "received": "output", "cache write": "cache_write", "cache hit": "cache_read"}
_TIMES: Final = {"": 1, "k": 1_000, "M": 1_000_000}

# Commands whose words are put to the model.
_ASKING: Final = re.compile(r"/(?:ask|code|architect|context)\s+(?=\S)")
# Written by the program in the user's place: what a linter or a test said, and complaints about the form of an answer.
_INJECTED: Final = (
    "# Fix any errors below, if possible.",
    "The LLM did not conform to the edit format.",
    "I ran this command:",
)
_HISTORY: Final = ".aider.chat.history"


class _Run(NamedTuple):
    name: str
    start: int
    end: int
    line: int
    at: int | None
    models: tuple[str, ...]
    version: str | None
    empty: tuple[int, ...]
    """Lines of the runs before it in which nobody said anything."""


class AiderReader(SeveralReader):
    """Give the runs of one history."""

    _torn = 0
    """The number of a last line that is not whole yet."""
    _read = 0

    @cached_property
    def _runs(self) -> list[_Run]:
        runs: list[_Run] = []
        uids, empty = Uids(), list[int]()
        found: list[Block] = []
        for block in to_blocks(self._lines_of(0, 1, self.size)):
            if block.speaker == "run" and found:
                _close(runs, found, block.place, uids, empty)
                found = []
            # only what describes the run is kept of it
            if len(found) < 2 or block.speaker in ("user", "answer") or _MODEL.search(block.text[:500]):
                found.append(block._replace(text=block.text[:2000]))
        if found:
            _close(runs, found, self.size, uids, empty)
        self._read = self.size
        return runs

    @property
    def bytes_read(self) -> int:
        """Bytes read so far, of `bytes_total`."""
        return self._read if "_runs" not in self.__dict__ else self.size + self._read

    def _parts(self) -> Iterator[PartReader]:
        for run in self._runs:
            yield AiderRun(self, run)
        self._read = self.size

    def _lines_of(self, start: int, number: int, end: int) -> Iterator[Line]:
        """Yield the whole lines of a part of the file; a last one without its end is left for the next reading."""
        with self.path.open("rb", buffering=256 * 1024) as file:
            file.seek(start)
            while start < end:
                raw = file.readline(min(end - start, MAX_LINE))
                if not raw:
                    return
                if raw.endswith(b"\n") or len(raw) == MAX_LINE:
                    body = raw.removeprefix(b"\xef\xbb\xbf") if start == 0 else raw
                    text = body.decode("utf-8", "replace").rstrip("\n").removesuffix("\r")
                    yield Line(number, start, text)
                else:
                    self._torn = number
                start += len(raw)
                self._read = start
                number += 1


class AiderRun(PartReader):
    """Give what was said in one run."""

    def __init__(self, whole: AiderReader, run: _Run) -> None:
        super().__init__(whole)
        self._history, self._run = whole, run

    def info(self) -> SessionInfo:
        """Say which run this is: by its start and its command line, which stand in the file for good."""
        run = self._run
        # a copy under another name says nothing about the project
        folder = str(self.path.resolve().parent) if self.path.name.startswith(_HISTORY) else None
        return SessionInfo(
            format="aider",
            session_id=run.name,
            parent_id=None,
            agent_id=None,
            cwd=folder,
            title=None,
            models=run.models,
            versions=tuple(filter(None, [run.version])),
            started_at=run.at,
            ended_at=run.at,
            zone=None,
            path=str(self.path),
        )

    def _messages(self) -> Iterator[TranscriptMessage]:
        run = self._run
        for line in run.empty:
            self._skip(line, "run in which nobody said anything")
        self._model = run.models[0] if run.models else None
        held: TranscriptMessage | None = None
        is_opening = True
        for block in to_blocks(self._history._lines_of(run.start, run.line, run.end)):
            if block.speaker == "run":
                self._skip(block.line, "not conversation: run")
                continue
            is_last = block.is_open and run.end >= self.size
            if is_last and self._history._torn and block.speaker != "program":
                self._skip(block.line, "torn last line")
                continue
            if block.speaker == "program":
                self._note(block)
                if held is not None:
                    held = held._replace(tokens=_find_tokens(block.text))
                said = None if is_opening else self._read_program(block, is_last)
                if is_opening:
                    self._skip(block.line, "not conversation: opening")
            else:
                is_opening = False
                said = self._read_answer(block) if block.speaker == "answer" else self._read_prompt(block)
            if held is not None:
                yield held
                held = None
            if said is not None and said.kind == "reply":
                # its tokens are told after it
                held = said
            elif said is not None:
                yield said
        if held is not None:
            yield held

    def _note(self, block: Block) -> None:
        found = _MODEL.findall(block.text[:2000])
        self._model = found[-1] if found else self._model

    def _read_prompt(self, block: Block) -> TranscriptMessage | None:
        text = clean(block.text)
        asked = _ASKING.match(text)
        if asked is not None:
            return self._make(block, "user", "prompt", text[asked.end() :])
        if text.startswith(("/", "!")):
            return self._make(block, "user", "command", text)
        return self._make(block, "user", "injected" if text.startswith(_INJECTED) else "prompt", text)

    def _read_answer(self, block: Block) -> TranscriptMessage | None:
        return self._make(block, "assistant", "reply", clean(block.text))

    def _read_program(self, block: Block, is_last: bool) -> TranscriptMessage | None:
        if is_last:
            self._skip(block.line, "may still be written")
            return None
        text = "\n".join(line for line in block.text.split("\n") if not line.startswith("Tokens: ")).strip()
        if not text:
            self._skip(block.line, "not conversation: tokens")
            return None
        return self._make(block, "system", "command", cut_result(clean(text)))

    def _make(self, block: Block, role: Role, kind: Kind, text: str) -> TranscriptMessage | None:
        if not text.strip():
            self._skip(block.line, "empty text")
            return None
        model = self._model if role == "assistant" else None
        return TranscriptMessage(
            f"line-{block.line - self._run.line + 1}",
            role,
            kind,
            text,
            self._run.at,
            None,
            model,
            None,
            None,
            True,
            None,
            None,
            block.line,
        )


def _close(runs: list[_Run], found: list[Block], end: int, uids: Uids, empty: list[int]) -> None:
    first = found[0]
    if not any(block.speaker in ("user", "answer") for block in found):
        empty.append(first.line)
        return
    header = RUN.match(first.text) if first.speaker == "run" else None
    # the first line after the header is the command line; it does not change when the run goes on
    opening = next((block.text.partition("\n")[0] for block in found if block.speaker != "run"), "")
    stamp = header[1].replace(" ", "T") if header is not None else "head"
    notes = [block.text for block in found if block.speaker == "program"]
    models = {model: None for text in notes for model in _MODEL.findall(text)}
    version = next((match[1] for text in notes if (match := _VERSION.search(text))), None)
    name = uids.count(f"aider-{stamp}-{fingerprint(stamp, opening)}")
    at = to_micros(header[1]) if header is not None else None
    runs.append(_Run(name, first.place, end, first.line, at, tuple(models), version, tuple(empty)))
    empty.clear()


def _find_tokens(text: str) -> dict[str, int] | None:
    found = _TOKENS.search(text)
    if found is None:
        return None
    counts: dict[str, int] = {}
    for digits, factor, name in _COUNT.findall(found[1]):
        try:
            counts[_NAMES[name]] = round(float(digits.replace(",", "")) * _TIMES[factor])
        except ValueError:
            continue
    return counts or None


def is_history(head: str) -> bool:
    """Say whether a text holds the start of a run."""
    return "# aider chat started at " in head and any(RUN.match(line) for line in head.split("\n"))


def is_history_name(path: Path) -> bool:
    """Say whether a file is named as histories are."""
    name = path.name.lower()
    return name.endswith(".md") and "history" in name and ("chat" in name or "aider" in name)
