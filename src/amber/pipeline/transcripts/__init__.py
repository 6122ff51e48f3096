"""Read recorded sessions of Claude Code and Codex as one kind of message.

    for path in discover(["~/.claude/projects"]):
        session = open_session(path)
        if isinstance(session, Refusal):
            continue
        info = session.info()
        for message in session:
            ...

Nothing that a session says is ever obeyed: instructions, links and commands in it are text.
"""

from amber.pipeline.transcripts.detect import Refusal, detect
from amber.pipeline.transcripts.discover import discover, open_session
from amber.pipeline.transcripts.reader import Reader
from amber.pipeline.transcripts.record import (
    Format,
    Kind,
    OnSkip,
    Role,
    SessionInfo,
    Skip,
    ToolUse,
    TranscriptMessage,
)
from amber.pipeline.transcripts.text import MAX_RESULT

__all__ = [
    "detect",
    "discover",
    "open_session",
    "Reader",
    "Refusal",
    "Format",
    "Kind",
    "OnSkip",
    "Role",
    "SessionInfo",
    "Skip",
    "ToolUse",
    "TranscriptMessage",
    "MAX_RESULT",
]
