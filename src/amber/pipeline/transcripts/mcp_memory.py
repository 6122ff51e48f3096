"""Read the memory of the MCP reference server: JSON lines of entities and relations, a knowledge graph.

It is no conversation, but what an agent noted: each observation of an entity, and each relation, becomes a message of
the assistant, so that recall finds it by the entity's name and by its words. The server rewrites the file: the order
means nothing and lines have no numbers that last, so a message is named by what it says, and an observation that was
added later comes in alone. One that was deleted from the graph since stays in Amber: nothing in the file tells of it.
The file as a whole has no name but its path.
"""

from collections.abc import Iterator
from functools import cached_property

from amber.pipeline.transcripts.identity import fingerprint, name_session
from amber.pipeline.transcripts.jsonl import Record, get_text
from amber.pipeline.transcripts.reader import Reader, show_type
from amber.pipeline.transcripts.record import SessionInfo, TranscriptMessage
from amber.pipeline.transcripts.text import clean, to_micros


class McpMemoryReader(Reader):
    """Give the notes of one graph."""

    @cached_property
    def _times(self) -> tuple[int | None, int | None]:
        first = last = None
        for _, record in self._records(counting=False):
            at = to_micros(record.get("createdAt"))
            if at is not None:
                first = at if first is None else min(at, first)
                last = at if last is None else max(at, last)
        return first, last

    def info(self) -> SessionInfo:
        """Say which graph this is, and when it was written where it tells.

        :raises OSError: the file cannot be read.
        """
        first, last = self._times
        where = str(self.path.resolve()).encode("utf-8", "replace").decode()
        return SessionInfo(
            format="mcp-memory",
            session_id=name_session(self.path, fingerprint(where)),
            parent_id=None,
            agent_id=None,
            cwd=None,
            title=None,
            models=(),
            versions=(),
            started_at=first,
            ended_at=last,
            zone=None,
            path=str(self.path),
        )

    def _messages(self) -> Iterator[TranscriptMessage]:
        seen: set[str] = set()
        for line, record in self._records(counting=True):
            at = to_micros(record.get("createdAt"))
            for names, text in self._read(line, record):
                uid = fingerprint(*names)
                if uid in seen:
                    self._skip(line, "noted before")
                    continue
                seen.add(uid)
                yield TranscriptMessage(
                    uid, "assistant", "reply", text, at, None, None, None, None, True, None, None, line
                )

    def _read(self, line: int, record: Record) -> Iterator[tuple[tuple[str, ...], str]]:
        kind = get_text(record, "type")
        if kind == "entity" and (name := get_text(record, "name")):
            sort = get_text(record, "entityType")
            about = clean(f"{name} ({sort})" if sort else name)
            listed = record.get("observations")
            notes = [note for note in listed if isinstance(note, str)] if isinstance(listed, list) else []
            if isinstance(listed, list) and len(notes) < len(listed):
                self._skip(line, "observation that is no text")
            yield from ((("note", name, note), f"{about}: {clean(note)}") for note in notes)
            if not notes:
                yield ("entity", name), about
        elif kind == "relation" and (ends := [get_text(record, key) for key in ("from", "relationType", "to")]):
            if all(ends):
                yield ("relation", *ends), clean(" ".join(ends))
            else:
                self._skip(line, "relation without an end")
        else:
            self._skip(line, f"unknown record type '{show_type(kind)}'")
