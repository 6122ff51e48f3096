"""Take recorded sessions in: streamed, repeatable, nothing said twice.

A file is read in batches; each commit holds some messages and the session's new counts, so a crash in between leaves a
shorter session that the next import completes. What is in the memory already is compared, not added again: a prompt
that was edited and sent again since is marked as retracted.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from amber.errors import BadInput, Conflict, TooLarge
from amber.model.batch import Absent, Append, AtRevision, Expectation, Put, Touch, Write
from amber.model.collection import Body, Record
from amber.model.message import MESSAGES, SESSIONS, count_messages, find_opening, new_session
from amber.pipeline.transcripts import (
    NO_MESSAGE,
    Reader,
    Refusal,
    SessionInfo,
    TranscriptMessage,
    discover,
    open_session,
)
from amber.services.scope import check_project
from amber.services.unit import Unit

#: Messages in one commit, and characters of their text: what is held of a file at a time.
BATCH, BATCH_TEXT = 200, 4_000_000
#: How the reason of a file begins that is there and can not be read.
UNREADABLE = "cannot be read"


class Imported(NamedTuple):
    """What came of one file, or of each session in a file of several.

    ``status`` is ``imported``, ``unchanged`` (nothing in it is new), ``refused`` (not a session that can be read) or
    ``failed``; ``skipped`` counts lines that hold no message, by reason.
    """

    path: str
    status: str
    session: str | None
    format: str | None
    messages: int
    changed: int
    skipped: dict[str, int]
    reason: str | None
    bytes: int


class Progress(NamedTuple):
    """How far an import is, in bytes of the file at hand (each is read twice)."""

    path: str
    done: int
    total: int


def import_sessions(
    unit: Unit,
    paths: Iterable[str | os.PathLike[str]],
    *,
    sender: str,
    project: str | None,
    on_progress: Callable[[Progress], None] | None,
    on_file: Callable[[Imported], None] | None,
) -> list[Imported]:
    """Import what lies under paths, file by file (see ``Memory.import_sessions``)."""
    below = check_project(project)
    given = [Path(path) for path in paths]
    for path in given:
        if not path.exists():
            raise BadInput(f"There is no file or folder {str(path)!r}.", path=str(path))
    results: list[Imported] = []
    for each in _import_all(unit, given, sender, below, on_progress):
        results.append(each)
        if on_file is not None:
            on_file(each)
    return results


def _import_all(
    unit: Unit,
    given: Sequence[Path],
    sender: str,
    project: str | None,
    on_progress: Callable[[Progress], None] | None,
) -> Iterator[Imported]:
    left: list[tuple[Path, str]] = []
    for path in discover(given, lambda path, reason: left.append((path, reason))):
        yield from _refusals(left)
        yield from _import_file(unit, path, sender, project, on_progress)
    yield from _refusals(left)


def _refusals(left: list[tuple[Path, str]]) -> Iterator[Imported]:
    while left:
        path, reason = left.pop(0)
        yield _outcome(path, "failed" if reason.startswith(UNREADABLE) else "refused", reason=reason)


def _outcome(path: Path, status: str, **given: Any) -> Imported:
    empty: dict[str, Any] = {
        "session": None,
        "format": None,
        "messages": 0,
        "changed": 0,
        "skipped": {},
        "reason": None,
        "bytes": 0,
    }
    return Imported(str(path), status, **{**empty, **given})


def _import_file(
    unit: Unit, path: Path, sender: str, project: str | None, on_progress: Callable[[Progress], None] | None
) -> Iterator[Imported]:
    """Give what came of each session of a file; most hold one."""
    found = False
    try:
        stat = path.stat()
        reader = open_session(path)
        if isinstance(reader, Refusal):
            yield _outcome(path, "refused", reason=reader.reason)
            return
        mark = [str(path.resolve()), stat.st_size, stat.st_mtime_ns]
        for part in reader.sessions():
            found = True
            yield _import_session(unit, path, part, sender, project, mark, on_progress)
    except OSError as error:
        yield _outcome(path, "failed", reason=f"{UNREADABLE}: {error.strerror or error}")
    except BadInput as error:
        # what was taken in before stays; the others still come
        yield _outcome(path, "failed", reason=error.message)
    else:
        if not found:
            yield _outcome(path, "refused", reason=NO_MESSAGE)


def _import_session(
    unit: Unit,
    path: Path,
    reader: Reader,
    sender: str,
    project: str | None,
    mark: list[Any],
    on_progress: Callable[[Progress], None] | None,
) -> Imported:
    info = reader.info()
    try:
        known = unit.get(SESSIONS, info.session_id)
        if known is not None and known.body["read"] == mark:
            return _outcome(path, "unchanged", session=info.session_id, format=info.format)
        return _Import(unit, path, reader, info, sender, project, mark, on_progress).run()
    except BadInput as error:
        # other sessions of the file still come
        return _outcome(path, "failed", reason=error.message)


class _Import:
    """One file on its way in."""

    def __init__(
        self,
        unit: Unit,
        path: Path,
        reader: Reader,
        info: SessionInfo,
        sender: str,
        project: str | None,
        mark: list[Any],
        on_progress: Callable[[Progress], None] | None,
    ) -> None:
        self.unit, self.path, self.reader, self.info = unit, path, reader, info
        self.sender, self.mark, self.on_progress = sender, mark, on_progress
        self.project = project if project is not None else _project_of(info.cwd)
        self.added = self.changed = 0
        #: whether messages of this file may be there already: as long as nothing tells so, they are not looked for
        self.may_know = False
        self.refused: Counter[str] = Counter()

    def run(self) -> Imported:
        messages = iter(self.reader)
        chunk = _next(messages)
        while True:
            following = _next(messages)
            # the last commit also notes how far the file was read, so that an undo of it takes messages back too
            self._take(chunk, None if following else self.mark)
            if self.on_progress is not None:
                self.on_progress(Progress(str(self.path), self.reader.bytes_read, self.reader.bytes_total))
            if not following:
                break
            chunk = following
        return _outcome(
            self.path,
            "imported" if self.added or self.changed else "unchanged",
            session=self.info.session_id,
            format=self.info.format,
            messages=self.added,
            changed=self.changed,
            skipped=dict(Counter(self.reader.skips) + self.refused),
            bytes=self.reader.size,
        )

    def _take(self, chunk: list[TranscriptMessage], mark: list[Any] | None) -> None:
        """Commit some messages; one that can not be stored is left out, and counted, without the others."""
        try:
            self.unit.retrying(lambda: self._attempt(chunk, mark))
        except BadInput as error:
            # when it is the session itself that can not be stored, this raises
            self.unit.retrying(lambda: self._attempt([], mark if len(chunk) == 1 else None))
            if len(chunk) == 1:
                why = "message over a bound" if isinstance(error, TooLarge) else "message that can not be stored"
                self.refused[why] += 1
                return
            half = len(chunk) // 2
            self._take(chunk[:half], None)
            self._take(chunk[half:], mark)

    def _attempt(self, chunk: list[TranscriptMessage], mark: list[Any] | None) -> None:
        try:
            self._commit(chunk, mark)
        except Conflict:
            self.may_know = True
            raise

    def _commit(self, chunk: list[TranscriptMessage], mark: list[Any] | None) -> None:
        unit, name = self.unit, self.info.session_id
        session = unit.get(SESSIONS, name)
        old = session.body if session is not None else new_session(self._identity())
        body = {**old, **self._identity(), "sender": old.get("sender", self.sender)}
        if session is not None:
            # what was said about the session when it first came stays
            body["project"] = old["project"]
        keys = [self._key(message) for message in chunk]
        if session is not None and not self.added:
            self.may_know = True
        # of a session that began here an append finds out by itself whether its message is there
        there = unit.get_many(MESSAGES, keys) if self.may_know else {}
        new = [(key, message) for key, message in zip(keys, chunk, strict=True) if key not in there]
        first = old["messages"]
        bodies = [(key, self._body(message, first + n, body)) for n, (key, message) in enumerate(new)]
        writes: list[Write] = [Append(MESSAGES.name, key, each) for key, each in bodies]
        expected: list[Expectation] = []
        altered = self._altered(chunk, keys, there, writes, expected) if there else []
        told = zip(keys, chunk, strict=True)
        own = ((key, each) for key, each in told if key not in there or there[key].body["session"] == name)
        opening = find_opening(body, ((key, each.kind, each.live) for key, each in own))
        if not writes and session is not None and opening == old.get("opening"):
            if mark is not None and mark != old["read"]:
                unit.commit([Touch(SESSIONS.name, name, {"read": mark})], session=name)
            return
        body = count_messages(body, [each for _, each in bodies])
        for before, after in altered:
            body["prompts"] += _is_prompt(after) - _is_prompt(before)
            for token, n in (after["tokens"] or {}).items():
                body["tokens"][token] = body["tokens"].get(token, 0) + n - (before["tokens"] or {}).get(token, 0)
        body["read"], body["opening"] = mark, opening
        if session is None:
            expected.append(Absent(SESSIONS.name, name))
        else:
            if body == old:
                return
            expected.append(AtRevision(SESSIONS.name, name, session.revision))
        writes.append(Put(SESSIONS.name, name, body))
        unit.commit(writes, expected, session=name, reason=f"import of {self.info.format} session")
        self.added += len(bodies)
        self.changed += len(altered)

    def _altered(
        self,
        chunk: list[TranscriptMessage],
        keys: list[str],
        there: dict[str, Record],
        writes: list[Write],
        expected: list[Expectation],
    ) -> list[tuple[Body, Body]]:
        """Bring messages up to date whose liveness or token counts the grown file tells differently."""
        altered = []
        for key, message in zip(keys, chunk, strict=True):
            record = there.get(key)
            if record is None or record.body["session"] != self.info.session_id:
                continue
            if (record.body["live"], record.body["tokens"]) != (message.live, message.tokens):
                after = {**record.body, "live": message.live, "tokens": message.tokens}
                writes.append(Put(MESSAGES.name, key, after))
                expected.append(AtRevision(MESSAGES.name, key, record.revision))
                altered.append((record.body, after))
        return altered

    def _key(self, message: TranscriptMessage) -> str:
        # uuids of Claude name a record in whatever file it is copied to; others are unique in the session
        return message.uid if self.info.format == "claude" else f"{self.info.session_id}/{message.uid}"

    def _identity(self) -> Body:
        info = self.info
        return {
            "format": info.format,
            "path": str(self.path),
            "parent": info.parent_id,
            "agent": info.agent_id,
            "cwd": info.cwd,
            "project": self.project,
            "title": info.title,
            "models": list(info.models),
            "versions": list(info.versions),
            "zone": info.zone,
            "sender": self.sender,
        }

    def _body(self, message: TranscriptMessage, seq: int, session: Body) -> Body:
        tool = message.tool
        return {
            "session": self.info.session_id,
            "seq": seq,
            "role": message.role,
            "kind": message.kind,
            "text": message.text,
            "sender": session["sender"] if message.kind == "prompt" else None,
            "project": session["project"],
            "at": message.at,
            "zone": message.zone,
            "model": message.model,
            "tool": dict(tool._asdict()) if tool is not None else None,
            "tokens": message.tokens,
            "live": message.live,
            "cwd": message.cwd,
            "branch": message.branch,
            "line": message.line,
            "uid": message.uid,
        }


def _next(messages: Iterator[TranscriptMessage]) -> list[TranscriptMessage]:
    """Give the messages of the next commit; none at the end."""
    chunk: list[TranscriptMessage] = []
    size = 0
    for message in messages:
        chunk.append(message)
        size += len(message.text)
        if len(chunk) >= BATCH or size >= BATCH_TEXT:
            break
    return chunk


def _is_prompt(body: Body) -> bool:
    return bool(body["kind"] == "prompt" and body["live"])


def _project_of(cwd: str | None) -> str | None:
    """Give the working folder as a project path, so that two folders of one name stay two projects."""
    if cwd is None:
        return None
    segments = [segment for segment in cwd.replace("\\", "/").split("/") if segment]
    return "/".join(segments) or None
