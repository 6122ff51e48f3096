"""The first pass over a file of Claude Code: what a message can not say of itself.

Which texts were taken back, what an API answer used in all, what became of texts that were queued while the agent was
busy, and whose session this is. Only small things are kept: ids, flags, counts, hashes; never a text.

Two passes parse every line twice: 0.63 s for a session of 53 MB (83 MB/s), a third of it parsing, with 10 MB held at
most. One pass that kept what it parsed would save the second parsing and hold 121 MB.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from amber.pipeline.transcripts.claude_kinds import is_machine_queued, iter_prompts, queued_command
from amber.pipeline.transcripts.claude_tree import Node, find_retracted
from amber.pipeline.transcripts.jsonl import Record, get_dict, get_text
from amber.pipeline.transcripts.text import to_micros, to_offset

_SPOKEN = frozenset({"user", "assistant", "system", "attachment"})

# "sent": comes again as a record; "taken in": the agent read it, and it may stand nowhere else; "taken back": the
# person fetched it back to the input line.
Fate: TypeAlias = Literal["machine", "waiting", "sent", "taken in", "taken back"]
_FATES: dict[str, Fate] = {"dequeue": "sent", "remove": "taken in", "popAll": "taken back"}


class Queued(NamedTuple):
    """A text typed while the agent was busy."""

    line: int
    hash: int
    fate: Fate
    settled_line: int


class ClaudeSurvey:
    """What the first pass found."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.usage: dict[str, dict[str, int]] = {}
        self.retracted: set[str] = set()
        self.fates: dict[int, Fate] = {}
        self.queued_hashes: set[int] = set()
        self.session_ids: Counter[str] = Counter()
        self.agent_ids: Counter[str] = Counter()
        self.cwds: dict[str, str] = {}
        self.models: dict[str, None] = {}
        self.versions: dict[str, None] = {}
        self.titles: dict[str, str] = {}
        self.started_at: int | None = None
        self.ended_at: int | None = None
        self.zone: str | None = None
        self._tip: str | None = None
        self._summaries: dict[str, str] = {}
        self._waiting: list[Queued] = []
        self._settled: list[Queued] = []
        self._last_answer = 0

    def add(self, line: int, record: Record) -> None:
        """Take note of one record."""
        kind, uuid = get_text(record, "type"), get_text(record, "uuid")
        if uuid:
            self._add_node(line, uuid, record)
        if kind == "assistant":
            self._last_answer = line
            self._add_answer(get_dict(record, "message"))
        elif kind == "queue-operation":
            self._add_queued(line, record)
        elif kind == "last-prompt":
            leaf = get_text(record, "leafUuid")
            if leaf in self.nodes:
                self._tip = leaf
        elif kind == "summary":
            self._summaries[get_text(record, "leafUuid")] = get_text(record, "summary").strip()
        elif kind == "ai-title":
            self.titles["ai"] = get_text(record, "aiTitle").strip()
        elif kind == "custom-title":
            self.titles["custom"] = get_text(record, "customTitle").strip()
        self._add_session(record)

    def finish(self) -> None:
        """Draw the conclusions that need the whole file."""
        self.retracted = find_retracted(self.nodes, self._tip)
        for leaf, title in self._summaries.items():
            # A summary may name another session: only one that points into this file is its title.
            if leaf in self.nodes:
                self.titles["summary"] = title
        for queued in self._settled:
            fate = queued.fate
            if fate == "taken in" and self._last_answer < queued.settled_line:
                # The copy may still be on its way.
                fate = "waiting"
            self.fates[queued.line] = fate
        self.fates |= {queued.line: queued.fate for queued in self._waiting}

    def take_title(self) -> str | None:
        """Give the title: the person's own, else the last one made, else an old summary."""
        return self.titles.get("custom") or self.titles.get("ai") or self.titles.get("summary") or None

    def _add_node(self, line: int, uuid: str, record: Record) -> None:
        kind = get_text(record, "type")
        parent = get_text(record, "parentUuid") or get_text(record, "logicalParentUuid")
        typed = self._add_prompts(record)
        if uuid in self.nodes:
            return
        self.nodes[uuid] = Node(
            line,
            parent or None,
            to_micros(record.get("timestamp")),
            typed,
            kind == "assistant",
        )
        if kind in _SPOKEN:
            self._tip = uuid

    def _add_prompts(self, record: Record) -> bool:
        if record.get("type") == "attachment":
            queued = queued_command(record)
            if queued is not None:
                self._settle_sent(hash(queued))
            return False
        if record.get("type") != "user":
            return False
        prompts = list(iter_prompts(record))
        for prompt in prompts:
            self._settle_sent(hash(prompt))
        # A queued prompt hangs where the session stood when it was typed: beside others, not instead of them. Words
        # given with a tool's result belong to the result.
        return bool(prompts) and record.get("promptSource") != "queued" and "toolUseResult" not in record

    def _add_answer(self, message: Record) -> None:
        model, answer = get_text(message, "model"), get_text(message, "id")
        if model == "<synthetic>":
            return
        if model:
            self.models[model] = None
        if answer:
            known = self.usage.setdefault(answer, {})
            # Early records of an answer carry placeholders of what was still streaming.
            for name, count in to_tokens(get_dict(message, "usage")).items():
                if count > known.get(name, -1):
                    known[name] = count

    def _add_queued(self, line: int, record: Record) -> None:
        operation, content = record.get("operation"), record.get("content")
        if operation == "enqueue":
            text = content if isinstance(content, str) else ""
            self._waiting.append(Queued(line, hash(text), "machine" if is_machine_queued(text) else "waiting", line))
            self.queued_hashes.add(hash(text))
            return
        fate = _FATES.get(str(operation))
        if fate is None or not self._waiting:
            return
        if isinstance(content, str):
            wanted = hash(content)
            index = next((i for i, queued in enumerate(self._waiting) if queued.hash == wanted), None)
            if index is not None:
                self._settle(index, fate, line)
        elif operation == "popAll":
            while self._waiting:
                self._settle(0, fate, line)
        else:
            self._settle(0, fate, line)

    def _settle(self, index: int, fate: Fate, line: int) -> None:
        queued = self._waiting.pop(index)
        self._settled.append(queued._replace(fate="machine" if queued.fate == "machine" else fate, settled_line=line))

    def _settle_sent(self, text_hash: int) -> None:
        if text_hash not in self.queued_hashes:
            return
        for index, queued in enumerate(self._waiting):
            if queued.hash == text_hash:
                self._settle(index, "sent", queued.line)
                return
        for index, queued in enumerate(self._settled):
            if queued.hash == text_hash and queued.fate in {"taken in", "taken back"}:
                self._settled[index] = queued._replace(fate="sent")
                return

    def _add_session(self, record: Record) -> None:
        if session := get_text(record, "sessionId"):
            self.session_ids[session] += 1
            if cwd := get_text(record, "cwd"):
                self.cwds.setdefault(session, cwd)
        agent = get_text(record, "agentId")
        if agent and record.get("isSidechain"):
            self.agent_ids[agent] += 1
        if version := get_text(record, "version"):
            self.versions[version] = None
        stamp = record.get("timestamp")
        at = to_micros(stamp)
        if at is not None:
            self.started_at = at if self.started_at is None else min(at, self.started_at)
            self.ended_at = at if self.ended_at is None else max(at, self.ended_at)
            self.zone = self.zone or to_offset(stamp)


def to_tokens(usage: Mapping[str, Any]) -> dict[str, int]:
    """Give the counts of an API answer under the names that all formats share."""
    counts = {
        "input": usage.get("input_tokens"),
        "output": usage.get("output_tokens"),
        "cache_read": usage.get("cache_read_input_tokens"),
        "cache_write": usage.get("cache_creation_input_tokens"),
        "reasoning": get_dict(usage, "output_tokens_details").get("reasoning_tokens"),
    }
    return {name: count for name, count in counts.items() if type(count) is int and count >= 0}
