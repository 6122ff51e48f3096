"""Cut a chat history of aider into blocks: who speaks, from which line.

aider appends what happens as markdown: `#### ` before each line of a prompt, `> ` before what the program says, nothing
before an answer. Each of its own writes ends in two spaces, and that is what tells a prompt or a message of the program
from a heading or a quotation in an answer. Output of several lines bears its sign on the first line only, and goes on
to the line that ends so.
"""

import re
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple, TypeAlias

Speaker: TypeAlias = Literal["run", "user", "program", "answer"]

RUN: Final = re.compile(r"# aider chat started at (\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2})\s*\Z")
#: A block longer than this is cut: nothing that anybody said is.
MAX_BLOCK: Final = 4 * 1024 * 1024
_END: Final = "  "
# What the program surely said, even in an answer that broke off inside an edit.
_PROGRAM: Final = ("> Tokens: ", "> ^C", "> Applied edit to ", "> Commit ", "> Unexpected error", "> Retrying in ")
# How a line begins that may be more than a line of an answer.
_SIGNS: Final = "#><"
_OPENS_EDIT: Final = re.compile(r"<{5,9} SEARCH>?\s*\Z")
_CLOSES_EDIT: Final = re.compile(r">{5,9} REPLACE\s*\Z")


class Block(NamedTuple):
    """Lines that one speaker wrote in one go."""

    speaker: Speaker
    text: str
    line: int
    """Where it begins, from 1."""
    place: int
    """Where it begins, in bytes of what was read."""
    is_open: bool
    """Whether the file ends in it, so that it may go on."""


class Line(NamedTuple):
    """A line of the file, without its end."""

    number: int
    place: int
    text: str


def to_blocks(lines: Iterator[Line]) -> Iterator[Block]:
    """Yield the blocks; blank lines between them are dropped."""
    cutter = _Cutter()
    for line in lines:
        yield from cutter.add(line)
    yield from cutter.finish()


class _Cutter:
    def __init__(self) -> None:
        self._speaker: Speaker | None = None
        self._lines: list[str] = []
        self._size = self._left_out = 0
        self._line = self._place = 0
        self._blanks = 1
        """How many blank lines stand before this one."""
        self._in_edit = False
        self._goes_on = False
        """Whether the program's output has not ended yet."""
        self._is_after_command = True
        """Whether no prompt was given since: what comes is not an answer."""

    def add(self, line: Line) -> Iterator[Block]:
        text = line.text
        if self._speaker == "answer" and text[:1] not in _SIGNS:
            # most lines by far; an empty text is in every other
            self._keep(text)
            self._blanks = 0 if text.strip() else self._blanks + 1
            return
        speaker = self._decide(text)
        if speaker != self._speaker or speaker == "run" or (speaker == "user" and self._blanks):
            yield from self._close(is_open=False)
            self._speaker, self._line, self._place = speaker, line.number, line.place
        if speaker is not None:
            self._keep(_without_sign(speaker, text))
        if speaker == "answer":
            self._in_edit = bool(_OPENS_EDIT.match(text)) or (self._in_edit and not _CLOSES_EDIT.match(text))
        else:
            self._in_edit = False
        if speaker == "program":
            self._goes_on = not text.endswith(_END) and (self._goes_on or text.startswith(">"))
        elif speaker in ("user", "run"):
            self._is_after_command = speaker == "run" or text[5:6] in ("/", "!")
        self._blanks = 0 if text.strip() else self._blanks + 1

    def finish(self) -> Iterator[Block]:
        yield from self._close(is_open=True)

    def _decide(self, text: str) -> Speaker | None:
        if self._blanks and RUN.match(text):
            self._goes_on = False
            return "run"
        # an answer that broke off inside an edit ends in two blank lines, as every prompt after an answer follows two
        before = 2 if self._in_edit else 0 if self._speaker == "user" else 1
        if text.startswith("####") and text.endswith(_END) and self._blanks >= before:
            self._goes_on = False
            return "user"
        if self._goes_on:
            return "program"
        if text.startswith(">") and not text.startswith(">>>>") and self._is_program(text):
            return "program"
        if not text.strip():
            # inside an answer it is part of it; between others it is nothing
            return "answer" if self._speaker == "answer" else None if self._speaker != "program" else "program"
        return "answer"

    def _is_program(self, text: str) -> bool:
        if text.startswith(_PROGRAM):
            return True
        if self._in_edit:
            return False
        if text.endswith(_END):
            return True
        # output of several lines, or a quotation that opens an answer
        return self._speaker != "answer" and (self._speaker == "program" or self._is_after_command)

    def _keep(self, text: str) -> None:
        if self._size < MAX_BLOCK:
            self._lines.append(text[:MAX_BLOCK])
        else:
            self._left_out += len(text)
        self._size += len(text)

    def _close(self, *, is_open: bool) -> Iterator[Block]:
        if self._speaker is not None:
            text = "\n".join(self._lines).strip("\n")
            if self._left_out:
                text += f"\n[{self._left_out} characters left out]"
            if text.strip() or self._speaker == "run":
                yield Block(self._speaker, text, self._line, self._place, is_open)
        self._speaker, self._lines, self._size, self._left_out = None, [], 0, 0


def _without_sign(speaker: Speaker, text: str) -> str:
    if speaker == "user":
        return text[5:].rstrip(" ")
    if speaker == "program":
        return text.removeprefix(">").removeprefix(" ").rstrip(" ") if text.startswith(">") else text.rstrip(" ")
    return text
