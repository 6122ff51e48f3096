"""The readers of sessions that consist of chat messages: a survey for what names the session, then the messages."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import ClassVar

from amber.pipeline.transcripts.chat import ChatParser, Said, find_time, find_tokens, is_answer
from amber.pipeline.transcripts.identity import Uids, fingerprint, name_session
from amber.pipeline.transcripts.jsonl import Record, get_dict, get_text
from amber.pipeline.transcripts.reader import Reader
from amber.pipeline.transcripts.record import Format, SessionInfo, TranscriptMessage


class ChatSurvey:
    """What the first pass found."""

    def __init__(self) -> None:
        self.models: dict[str, None] = {}
        self.started_at: int | None = None
        self.ended_at: int | None = None
        self.first_answer: int | None = None
        self.last_answer: int | None = None
        self.mark = ""
        """A fingerprint of what was said up to the first answer."""

    def add(self, number: int, record: Record) -> None:
        """Take note of one record."""
        if self.first_answer is None:
            # the whole first answer would do, but some tools add to it later
            said = [record.get(key) for key in ("role", "content", "tool_calls")]
            self.mark = fingerprint(self.mark, *said)
        if is_answer(record):
            self.first_answer = self.first_answer or number
            self.last_answer = number
        if model := find_model(record):
            self.models[model] = None
        at = find_time(record)
        if at is not None:
            self.started_at = at if self.started_at is None else min(at, self.started_at)
            self.ended_at = at if self.ended_at is None else max(at, self.ended_at)


class ChatReader(Reader):
    """Give the messages of one conversation whose records have a role and content."""

    format: ClassVar[Format] = "messages"
    names_by_line = False
    """Whether a record's number names it for good: in a file that only grows, not in one that is written anew."""

    @cached_property
    def _surveyed(self) -> ChatSurvey:
        survey = ChatSurvey()
        for number, record in self._records(counting=False):
            survey.add(number, record)
        return survey

    def info(self) -> SessionInfo:
        """Say which session this is. It has no id: its name and opening stand for it (see `identity`).

        :raises BadInput: the document is damaged.
        :raises OSError: the file cannot be read.
        """
        survey, about = self._surveyed, self._about
        return SessionInfo(
            format=self.format,
            session_id=name_session(self.path, survey.mark),
            parent_id=None,
            agent_id=None,
            cwd=get_text(about, "cwd") or None,
            title=get_text(about, "title") or None,
            models=tuple(survey.models) or tuple(filter(None, [get_text(about, "model")])),
            versions=tuple(filter(None, [get_text(about, "version")])),
            started_at=survey.started_at,
            ended_at=survey.ended_at,
            zone=None,
            path=str(self.path),
        )

    @cached_property
    def _about(self) -> Mapping[str, object]:
        """What the file says beside the messages: `model`, `cwd`, `title`, `version`."""
        return {}

    def _messages(self) -> Iterator[TranscriptMessage]:
        uids = Uids()
        self._number = 0
        self._parser = ChatParser(lambda reason: self._skip(self._number, reason))
        self._start()
        general = get_text(self._about, "model") or None
        for number, record in self._records(counting=True):
            self._number = number
            said = self._read(number, record)
            at, model = find_time(record), find_model(record) or general
            tokens = self._find_tokens(number, record)
            for index, each in enumerate(said):
                part = f"#{index}" if len(said) > 1 else ""
                by_model = each.role == "assistant"
                yield TranscriptMessage(
                    f"line-{number}{part}" if self.names_by_line else uids.name(*each.raw),
                    each.role,
                    each.kind,
                    each.text,
                    at,
                    None,
                    model if by_model else None,
                    each.tool,
                    tokens if by_model else None,
                    True,
                    None,
                    None,
                    number,
                )
                tokens = None if by_model else tokens

    def _start(self) -> None:
        """Get ready for a pass over the messages."""

    def _read(self, number: int, record: Record) -> list[Said]:
        return self._parser.parse(record)

    def _find_tokens(self, number: int, record: Record) -> dict[str, int] | None:
        return find_tokens(get_dict(record, "usage") or get_dict(_response(record), "usage"))


def find_model(record: Record) -> str:
    """Find which model answered, where the list says so."""
    return get_text(record, "model") or get_text(_response(record), "model")


def _response(record: Record) -> Record:
    return get_dict(get_dict(record, "extra"), "response")
