"""What every reader of recorded sessions gives, whatever tool wrote the file.

A reader never invents, merges or reorders: one message stands for one thing that was said, called or returned, in the
order of the file. Who reads messages decides by `kind`, not by `role`: a good part of what is recorded under the
user's role was written by a program.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias

Format: TypeAlias = Literal[
    "claude",
    "codex",
    "swe-agent",
    "openhands",
    "mini-swe-agent",
    "messages",  # plain lists in the manner of OpenAI or Anthropic
    "chatgpt",
    "aider",
    "mcp-memory",
]

Role: TypeAlias = Literal["user", "assistant", "tool", "system"]

Kind: TypeAlias = Literal[
    "prompt",  # typed by a person
    "reply",
    "thinking",
    "tool_call",
    "tool_result",
    "injected",  # put there by the program, in any role: instructions, reminders, hook feedback, a subagent's task
    "command",  # slash commands as echoed, and what local commands printed
    "summary",  # compaction summaries and recaps: the program's digest of what is in the file already
    "error",  # text made from a failed API call
    "interrupt",
]


class ToolUse(NamedTuple):
    """The call or the result that a message stands for."""

    name: str | None
    call_id: str | None
    """Pairs a call with its result; None where the tool records none."""
    arguments: Any
    """The JSON value given to the tool; None for results."""
    is_error: bool | None
    """Whether the result was a failure; None for calls and where it is not recorded."""


class TranscriptMessage(NamedTuple):
    """One thing that was said, called or returned."""

    uid: str
    """Unique in the session and the same at every reading, however much the file has grown since."""
    role: Role
    kind: Kind
    text: str
    """Readable text: no terminal escapes, no base64, no lone surrogates; control characters and NUL as recorded."""
    at: int | None
    """Microseconds since the epoch, UTC."""
    zone: str | None
    """Zone or offset as recorded, "+00:00" for Z."""
    model: str | None
    tool: ToolUse | None
    tokens: dict[str, int] | None
    """`input` (without what came from a cache), `output`, `cache_read`, `cache_write`, `reasoning` (a part of output).

    Stands on one message of each API answer only, so that the sum over a session is what the session used.
    """
    live: bool
    """False when it was taken back: edited and sent again, or on a branch that was rewound."""
    cwd: str | None
    branch: str | None
    line: int
    """Line of the file, or number of the record in a document, from 1."""


class SessionInfo(NamedTuple):
    """What is known of a session as a whole."""

    format: Format
    session_id: str
    """For a subagent's file of Claude Code `<session>/<agent>`: the session's own id names several files."""
    parent_id: str | None
    """The session that started this one, or that this one was forked from."""
    agent_id: str | None
    cwd: str | None
    title: str | None
    models: tuple[str, ...]
    versions: tuple[str, ...]
    started_at: int | None
    ended_at: int | None
    zone: str | None
    path: str


class Skip(NamedTuple):
    """A line, or a part of one, that gives no message. The reason never quotes what was said."""

    line: int
    reason: str


OnSkip: TypeAlias = Callable[[Skip], None]
