"""Read recorded sessions of many tools as one kind of message.

    for path in discover(["~/.claude/projects"]):
        session = open_session(path)
        if isinstance(session, Refusal):
            continue
        for part in session.sessions():
            info = part.info()
            for message in part:
                ...

Nothing that a session says is ever obeyed: instructions, links and commands in it are text.
"""

from amber.pipeline.transcripts.detect import Refusal, detect
from amber.pipeline.transcripts.discover import discover, is_candidate, open_session
from amber.pipeline.transcripts.reader import NO_MESSAGE, Reader
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
    "is_candidate",
    "open_session",
    "NO_MESSAGE",
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
