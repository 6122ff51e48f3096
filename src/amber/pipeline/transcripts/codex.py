"""Read rollouts of Codex: `~/.codex/sessions/YYYY/MM/DD/rollout-<local time>-<uuid>.jsonl`.

Formats seen: cli 0.34 to 0.146. Every line is `{timestamp, type, payload}`; `codex_survey` says which of the two copies
of a thing counts. A session that is resumed days later grows in the same file, so a line's number names it for good.
"""

from collections.abc import Iterator
from functools import cached_property

from amber.pipeline.transcripts.codex_messages import CodexPass
from amber.pipeline.transcripts.codex_survey import CodexSurvey
from amber.pipeline.transcripts.jsonl import Record, get_dict, get_text
from amber.pipeline.transcripts.reader import Reader
from amber.pipeline.transcripts.record import SessionInfo, TranscriptMessage


class CodexReader(Reader):
    """Give the messages of one rollout."""

    @cached_property
    def _surveyed(self) -> CodexSurvey:
        survey = CodexSurvey()
        for line, record in self._records(counting=False):
            survey.add(line, record)
        return survey

    def info(self) -> SessionInfo:
        """Say whose session this is, from where and when.

        A fork copies the first session's meta record behind its own, so the id is the one in the file's name, if any
        record bears it, else the first.

        :raises OSError: the file cannot be read.
        """
        survey = self._surveyed
        ids = [found for meta in survey.metas if (found := get_text(meta, "id") or get_text(meta, "session_id"))]
        session = next((found for found in ids if self.path.stem.endswith(found)), ids[0] if ids else self.path.stem)
        return SessionInfo(
            format="codex",
            session_id=session,
            parent_id=_find_parent(survey.metas[0]) if survey.metas else None,
            agent_id=None,
            cwd=survey.cwd,
            title=survey.title,
            models=tuple(survey.models),
            versions=tuple(survey.versions),
            started_at=survey.started_at,
            ended_at=survey.ended_at,
            zone=survey.zone,
            path=str(self.path),
        )

    def _messages(self) -> Iterator[TranscriptMessage]:
        return CodexPass(self._surveyed, self._skip).run(self._records(counting=True))


def _find_parent(meta: Record) -> str | None:
    spawned = get_dict(get_dict(get_dict(meta, "source"), "subagent"), "thread_spawn")
    return (
        get_text(spawned, "parent_thread_id")
        or get_text(meta, "parent_thread_id")
        or get_text(meta, "forked_from_id")
        or None
    )
