"""Small sessions of every format that is one document, lines of notes, or markdown: of our own making."""

from pathlib import Path
from typing import Any

import orjson

from amber.pipeline.transcripts import Reader, TranscriptMessage, open_session

Json = Any

SWE_2025: Json = {
    "environment": "main",
    "trajectory": [
        {"action": "ls", "observation": "a.py", "state": {"working_dir": "/atlas"}, "messages": [{"role": "user"}] * 3},
    ],
    "history": [
        {"role": "system", "content": "You are a programmer.", "agent": "main", "message_type": "system_prompt"},
        {"role": "user", "content": "other task", "is_demo": True, "message_type": "demonstration"},
        {"role": "user", "content": [{"type": "text", "text": "Fix the zebra"}], "message_type": "observation"},
        {
            "role": "assistant",
            "content": "I look around.",
            "thought": "I look around.",
            "action": "ls",
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command":"ls"}'}}],
        },
        {"role": "tool", "content": "a.py\r\nb.py", "tool_call_ids": ["c1"], "message_type": "observation"},
        {"role": "assistant", "content": "Done.", "thought": "Done.", "action": "submit", "tool_calls": [{"id": "c1", "function": {"name": "submit", "arguments": "{"}}]},
        {"role": "tool", "content": "diff --git a b", "tool_call_ids": ["c1"]},
    ],
    "info": {"exit_status": "submitted", "model_stats": {"tokens_sent": 900, "tokens_received": 40, "api_calls": 2}},
    "replay_config": '{"agent": {"model": {"name": "gpt-4o"}}}',
}  # fmt: skip

SWE_2024: Json = {
    "environment": "swe_main",
    "trajectory": [{"action": "ls\n", "state": '{"open_file": "n/a", "working_dir": "/zoo"}\n'}],
    "history": [
        {"role": "system", "content": "SETTING", "agent": "primary"},
        {"role": "user", "content": "a demonstration", "is_demo": True, "agent": "primary"},
        {"role": "user", "content": "Fix the okapi", "agent": "primary"},
        {"role": "assistant", "content": "Look.\n```\nls\n```", "thought": "Look.\n", "action": "ls\n", "agent": "primary"},
        {"role": "user", "content": "okapi.py\n(Open file: n/a)", "agent": "primary"},
        {"role": "assistant", "content": "```\nsubmit\n```", "thought": "", "action": "submit\n", "agent": "primary"},
    ],
    "info": {"model_stats": {"tokens_sent": 0}},
}  # fmt: skip

OPENHANDS: Json = [
    {"id": 0, "timestamp": "2026-10-05T02:00:00.250000", "source": "environment", "observation": "agent_state_changed", "content": "", "extras": {"agent_state": "loading"}},
    {"id": 1, "timestamp": "2026-10-05T02:00:01", "source": "user", "message": "Write a game", "action": "message", "args": {"content": "Write a game", "image_urls": ["data:image/png;base64,AAAA"]}},
    {"id": 2, "timestamp": "2026-10-05T02:00:01", "source": "user", "message": "No observation", "cause": 1, "observation": "null", "content": "", "extras": {}},
    {"id": 5, "timestamp": "2026-10-05T02:00:02", "source": "agent", "action": "system", "args": {"content": "You are OpenHands"}},
    {"id": 6, "timestamp": "2026-10-05T02:00:03", "source": "user", "action": "recall", "args": {"query": "Write a game"}},
    {"id": 7, "timestamp": "2026-10-05T02:00:03", "source": "environment", "observation": "recall", "cause": 6, "content": "Repository notes", "extras": {}},
    {
        "id": 9, "timestamp": "2026-10-05T02:00:09", "source": "agent", "message": "Running command: ls", "action": "run",
        "args": {"command": "ls", "thought": "First I look.", "hidden": False},
        "tool_call_metadata": {"function_name": "execute_bash", "tool_call_id": "toolu_01", "model_response": {"id": "r1", "created": 1791187208, "model": "claude-opus-4-8", "usage": {"prompt_tokens": 120, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 100}}}},
    },
    {
        "id": 10, "timestamp": "2026-10-05T02:00:10", "source": "agent", "message": "Running command: cat x", "action": "run", "args": {"command": "cat x", "thought": ""},
        "tool_call_metadata": {"function_name": "second", "tool_call_id": "toolu_01", "model_response": {"id": "r1", "created": 1791187208, "usage": {"prompt_tokens": 120, "completion_tokens": 9}}},
    },
    {"id": 11, "timestamp": "2026-10-05T02:00:11", "source": "agent", "cause": 10, "observation": "run", "content": "no such file", "extras": {"metadata": {"exit_code": 1, "working_dir": "/workspace"}}, "tool_call_metadata": {"tool_call_id": "toolu_01"}},
    {"id": 12, "timestamp": "2026-10-05T02:00:12", "source": "agent", "cause": 9, "observation": "run", "content": "a.py", "extras": {}, "success": True},
    {"id": 20, "timestamp": "2026-10-05T02:00:20", "source": "agent", "message": "All done", "action": "finish", "args": {"thought": "All done", "outputs": {}}},
    {"id": 21, "timestamp": "2026-10-05T02:00:21", "source": "environment", "message": "state", "action": "change_agent_state", "args": {"agent_state": "finished"}},
]  # fmt: skip

MINI: Json = [
    {"role": "system", "content": "One ```bash block, please."},
    {"role": "user", "content": "Fix the colon"},
    {"role": "assistant", "content": "I look.\n\n```mswea_bash_command\ncat a.py\n```\n"},
    {"role": "user", "content": "<returncode>1</returncode>\n<output>\ncat: a.py: No such file\n</output>"},
    {"role": "assistant", "content": "```bash\nls\n```\nand\n```bash\npwd\n```"},
    {"role": "user", "content": "Please give exactly one command."},
    {"role": "assistant", "content": "```bash\ngit diff\n```"},
    {"role": "user", "content": "diff --git a/a.py b/a.py"},
]

OPENAI: Json = [
    {"role": "developer", "content": "Be brief."},
    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}, {"type": "text", "text": "What is it?"}]},
    {"role": "assistant", "content": None, "reasoning_content": "Hm.", "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"path":"/a"}'}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "a zebra"},
    {"role": "assistant", "content": "A zebra.", "model": "gpt-4o", "usage": {"prompt_tokens": 10, "completion_tokens": 3}},
    {"role": "user", "content": "yes"},
    {"role": "assistant", "content": "", "refusal": "I can not."},
    {"role": "user", "content": "yes"},
]  # fmt: skip

ANTHROPIC: Json = {
    "model": "claude-opus-4-8",
    "system": "Be brief.",
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "List it", "cache_control": {"type": "ephemeral"}}, {"type": "document", "title": "a.pdf"}]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm.", "signature": "x"}, {"type": "redacted_thinking", "data": "x"}, {"type": "text", "text": "I list."}, {"type": "tool_use", "id": "t1", "name": "ls", "input": {"path": "/a"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": [{"type": "text", "text": "denied"}, {"type": "image", "source": {"media_type": "image/png", "data": "AAAA"}}]}, {"type": "text", "text": "go on"}, {"type": "text", "text": "<system-reminder>x</system-reminder>"}]},
        {"role": "assistant", "content": "Done."},
    ],
}  # fmt: skip


def node(key: str, parent: str | None, *children: str, **message: Any) -> dict[str, Any]:
    return {key: {"id": key, "parent": parent, "children": list(children), "message": message or None}}


def said(role: str, *parts: Any, **more: Any) -> dict[str, Any]:
    content = {"content_type": "text", "parts": list(parts)}
    return {
        "author": {"role": role},
        "content": content,
        "create_time": 1791187200.5,
        "recipient": "all",
        "metadata": {},
    } | more


CHATGPT: Json = [
    {
        "title": "Zebras",
        "create_time": 1791187200.0,
        "conversation_id": "11111111-aaaa",
        "default_model_slug": "gpt-4o",
        "current_node": "n9",
        "mapping": {
            **node("n0", None, "n1"),
            **node("n1", "n0", "n2", "n4", **said("system", "", metadata={"is_visually_hidden_from_conversation": True})),
            **node("n2", "n1", "n3", **said("user", "the wrong giraffe")),
            **node("n3", "n2", **said("assistant", "About giraffes.")),
            **node("n4", "n1", "n5", **said("user", {"content_type": "image_asset_pointer", "asset_pointer": "x"}, "the right zebra", create_time=None)),
            **node("n5", "n4", "n6", **said("assistant", recipient="python", content={"content_type": "code", "text": "print(1)"})),
            **node("n6", "n5", "n7", **said("tool", author={"role": "tool", "name": "python"}, content={"content_type": "execution_output", "text": "1"})),
            **node("n7", "n6", "n8", **said("assistant", content={"content_type": "thoughts", "thoughts": [{"summary": "s", "content": "I think."}]})),
            **node("n8", "n7", "n9", **said("user", metadata={"is_visually_hidden_from_conversation": True}, content={"content_type": "user_editable_context", "user_profile": "Ana"})),
            **node("n9", "n8", **said("assistant", "Zebras have stripes.", metadata={"model_slug": "o3"})),
        },
    },
    {"title": "Second", "create_time": 1791187300, "id": "22222222-bbbb", "current_node": "m1", "mapping": node("m1", None, **said("user", "hello"))},
]  # fmt: skip

MCP: list[Json] = [
    {"type": "relation", "from": "Ana", "to": "Atlas", "relationType": "works_on", "createdAt": "2026-10-05T08:00:00.000Z", "version": 1},
    {"type": "entity", "name": "Ana", "entityType": "person", "observations": ["likes zebras", "likes zebras", "lives in Porto"]},
    {"type": "entity", "name": "Nobody", "entityType": "", "observations": []},
    {"type": "relation", "from": "Gone", "to": "Missing", "relationType": "knows"},
]  # fmt: skip

AIDER = """> the end of an earlier run  \n
# aider chat started at 2026-10-05 09:00:00

> /venv/bin/aider --lint  \n> Aider v0.80.0  \n> Commit 1111111 style: lint  \n
# aider chat started at 2026-10-05 09:10:00

> /venv/bin/aider a.py  \n> Aider v0.80.0  \n> Model: gpt-4o with diff edit format, weak model gpt-4o-mini  \n> Added a.py to the chat.  \n
#### Rename the zebra  \n####   \n#### and the okapi  \n
Certainly! Here:

# A title of the answer

#### A heading of it

> a quotation of it

a.md
```
<<<<<<< SEARCH
# aider chat
> quoted  \n#### zebra  \n=======

# aider chat started at noon

#### okapi  \n>>>>>>> REPLACE
```

> Tokens: 3.1k sent, 1,024 cache write, 500 received. Cost: $0.02 message, $0.02 session.  \n> Applied edit to a.md  \n> Commit 2222222 feat: rename  \n
#### /diff  \n
#### /ask why?  \n
Because.

> Tokens: 900 sent, 12 received.  \n> ===== test session =====
failed: zebra

1 failed  \n
#### # Fix any errors below, if possible.  \n
# aider chat started at 2026-10-06 10:00:00

> /venv/bin/aider  \n
#### !ls  \n> a.md  \n
#### hello  \n
Hello!

"""


def document(path: Path, value: Json, *, pretty: bool = False) -> Path:
    path.write_bytes(orjson.dumps(value, option=orjson.OPT_INDENT_2 if pretty else 0))
    return path


def lines(path: Path, *values: Json) -> Path:
    path.write_bytes(b"".join(orjson.dumps(value) + b"\n" for value in values))
    return path


#: How to write a sample of each format.
EVERY: dict[str, Any] = {
    "swe-agent 2025": lambda path: document(path, SWE_2025, pretty=True),
    "swe-agent 2024": lambda path: document(path, SWE_2024),
    "openhands": lambda path: document(path, OPENHANDS),
    "mini-swe-agent": lambda path: document(path, MINI, pretty=True),
    "openai": lambda path: document(path, OPENAI),
    "openai lines": lambda path: lines(path, *OPENAI),
    "anthropic": lambda path: document(path, ANTHROPIC, pretty=True),
    "set": lambda path: lines(path, ANTHROPIC, {"messages": OPENAI}, {"other": 1}),
    "chatgpt": lambda path: document(path, CHATGPT),
    "chatgpt single": lambda path: document(path, CHATGPT[0], pretty=True),
    "mcp-memory": lambda path: lines(path, *MCP),
    "aider": lambda path: path.write_text(AIDER) and path,
}


def read_all(path: Path, **given: Any) -> list[tuple[Reader, list[TranscriptMessage]]]:
    """Read a file that must hold sessions, each whole."""
    session = open_session(path, **given)
    assert isinstance(session, Reader), session
    return [(part, list(part)) for part in session.sessions()]


def short(messages: list[TranscriptMessage]) -> list[tuple[str, str]]:
    return [(message.kind, message.text) for message in messages]
