"""Read sessions of Claude Code: `~/.claude/projects/<folder>/<session>.jsonl` and its subagents' files.

Formats seen: 2.1.11 to 2.1.239. Records form a tree in append order; each holds nearly always one block, and all
records of one API answer repeat its usage.
"""

from collections.abc import Iterator
from functools import cached_property

from amber.pipeline.transcripts.claude_messages import ClaudePass
from amber.pipeline.transcripts.claude_survey import ClaudeSurvey
from amber.pipeline.transcripts.reader import Reader
from amber.pipeline.transcripts.record import SessionInfo, TranscriptMessage


class ClaudeReader(Reader):
    """Give the messages of one file of Claude Code."""

    @cached_property
    def _surveyed(self) -> ClaudeSurvey:
        survey = ClaudeSurvey()
        for line, record in self._records(counting=False):
            survey.add(line, record)
        survey.finish()
        return survey

    def info(self) -> SessionInfo:
        """Say whose session this is, from where and when.

        The session id is the file's name if any record bears it, else the id on most records: a file may open with a
        record of the session before.

        :raises OSError: the file cannot be read.
        """
        survey = self._surveyed
        ids, stem = survey.session_ids, self.path.stem
        session = stem if stem in ids else ids.most_common(1)[0][0] if ids else stem
        cwd = survey.cwds.get(session) or next(iter(survey.cwds.values()), None)
        agent = survey.agent_ids.most_common(1)[0][0] if survey.agent_ids else None
        return SessionInfo(
            format="claude",
            session_id=f"{session}/{agent}" if agent else session,
            parent_id=session if agent else None,
            agent_id=agent,
            cwd=cwd,
            title=survey.take_title(),
            models=tuple(survey.models),
            versions=tuple(survey.versions),
            started_at=survey.started_at,
            ended_at=survey.ended_at,
            zone=survey.zone,
            path=str(self.path),
        )

    def _messages(self) -> Iterator[TranscriptMessage]:
        return ClaudePass(self._surveyed, self._skip).run(self._records(counting=True))
