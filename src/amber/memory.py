"""The facade. This is the one place that names a backend."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, tzinfo
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any

from amber.backends.dict import DictStore
from amber.backends.sqlite import SQLiteStore
from amber.config import default_space, default_target, parse_target, read_options, read_search_memory
from amber.errors import BadInput, Closed, MissingExtra, Unsupported
from amber.model.bounds import MAX_SPACE, check_name
from amber.model.collection import Collection
from amber.model.fact import FACTS, TYPES
from amber.model.forget import Forgotten
from amber.model.label import LABELS
from amber.model.message import MESSAGES, SESSIONS
from amber.model.times import Time
from amber.pipeline.importer import Imported, Progress, import_sessions
from amber.search.analyzer import ANALYZER_VERSION, analyze
from amber.services.buffer import BufferedUnit
from amber.services.exact import ExactIndex
from amber.services.export import Exported, export
from amber.services.facts import Facts
from amber.services.forgetting import Forgetting
from amber.services.history import History
from amber.services.lines import FileOrStream, Moved
from amber.services.load import Loaded, load
from amber.services.moment import PastUnit
from amber.services.recall import Hit, recall
from amber.services.resolve import Moment, resolve
from amber.services.sessions import Sessions
from amber.services.types import Types
from amber.services.unit import Context, IdMaker, Unit, system_clock
from amber.store.contract import Copying, Problem, Receipt, Scrubbed, Stats, Store
from amber.store.derive import Analyze

#: Everything that a memory keeps.
COLLECTIONS: tuple[Collection, ...] = (FACTS, TYPES, MESSAGES, SESSIONS, LABELS)


def open_store(
    target: str | os.PathLike[str] | sqlite3.Connection | Any,
    *,
    create: bool = True,
    durability: str | None = None,
    timeout: float | None = None,
    collections: Iterable[Collection] = COLLECTIONS,
    analyze: Analyze = analyze,
) -> Store:
    """Open the store that a path, URL or connection names, of Amber's collections or others."""
    declared: dict[str, Any] = {"analyze": analyze, "analyzer": str(ANALYZER_VERSION)}
    if not isinstance(target, str | os.PathLike):
        if durability is not None or timeout is not None:
            raise BadInput("A connection keeps its own durability and timeout; set them on the connection.")
        return _store_of(target)(target, collections, **declared)
    parsed = parse_target(target)
    options = read_options(parsed, durability, timeout)
    if parsed.kind == "dict":
        return DictStore(collections, analyze=analyze)
    if parsed.kind == "sqlite":
        return SQLiteStore(parsed.path or Path(), collections, create=create, **declared, **options)
    return _server_store(parsed.kind)(parsed.url, collections, create=create, **declared, **options)


def _store_of(connection: Any) -> Callable[..., Store]:
    """Give the kind of store that works over a connection or client of the caller's."""
    if isinstance(connection, sqlite3.Connection):
        return SQLiteStore
    driver = type(connection).__module__.partition(".")[0]
    if driver in ("psycopg", "redis"):
        return _server_store({"psycopg": "postgres"}.get(driver, driver))
    raise BadInput(
        f"A memory is opened by a path, a URL, or a connection of sqlite3, psycopg or redis, not {connection!r}.",
        target=connection,
    )


def _server_store(kind: str) -> Callable[..., Store]:
    """Give the store of a kind of server, whose driver is an extra."""
    try:
        make: Callable[..., Store] = getattr(import_module(f"amber.backends.{kind}.store"), f"{kind.capitalize()}Store")
        return make
    except ImportError as error:
        if error.name in (f"amber.backends.{kind}", f"amber.backends.{kind}.store"):
            raise Unsupported(
                f"This version of Amber keeps no memories on {kind.capitalize()} yet; name a file, or memory://.",
                kind=kind,
            ) from error
        if error.name is None or error.name.partition(".")[0] not in ("psycopg", "psycopg_pool", "redis"):
            raise
        raise MissingExtra(
            f"Memories on {kind.capitalize()} need {error.name}, which is not installed: pip install 'amber[{kind}]'.",
            extra=kind,
        ) from error


class View:
    """What can be read of a space: through the memory itself, a transaction, or at a moment of the past."""

    def __init__(self, unit: Unit, types: Types) -> None:
        self._unit, self._types = unit, types
        self.facts = Facts(unit, types)
        self.sessions = Sessions(unit)

    @property
    def space(self) -> str:
        """The name of the space."""
        return self._unit.space

    def recall(
        self,
        question: str,
        *,
        sender: str | None = None,
        project: str | None = None,
        session: str | None = None,
        type: str | None = None,
        kinds: Sequence[str] = ("fact", "message"),
        since: Time | None = None,
        until: Time | None = None,
        valid_at: Time | None = None,
        limit: int = 10,
    ) -> list[Hit]:
        """Find the facts and messages that answer a question best, best first.

        Ranked by BM25 over the space; no model is asked, and no text of a question is an error. Without a scope the
        whole space is searched; every part of a scope that is given narrows it before anything is ranked: with a
        session, to what was said in it, its ephemeral facts included, and to nothing else. In a transaction the search
        does not see what is not committed yet.

        :param sender: of facts, and of prompts. :param project: this project and all below it.
        :param type: a fact type, or a kind of message (``prompt``, ``reply``, ``tool_result`` ...).
        :param kinds: ``fact``, ``message`` or both. :param since: not before this time. :param until: before it.
        :param valid_at: facts valid at this time (default now).
        :raises BadInput: for a bad scope, time or limit. :raises Unsupported: in a view of the past.
        """
        return recall(
            self._unit,
            question,
            sender=sender,
            project=project,
            session=session,
            type=type,
            kinds=kinds,
            since=since,
            until=until,
            valid_at=valid_at,
            limit=limit,
        )


class Transaction(View):
    """Many changes as one batch, with one undo. Reads see what it wrote; searches do not."""

    def __init__(
        self, context: Context, types: Types, reason: str | None, session: str | None, operation: str | None
    ) -> None:
        self._buffer = BufferedUnit(context)
        self._buffer.refuse("A transaction is used in its block: with memory.transaction() as tx.")
        self._entered = False
        super().__init__(self._buffer, types)
        self._options: dict[str, Any] = {"reason": reason, "session": session, "operation": operation}
        #: The receipt, after the block was left; None when nothing was written.
        self.receipt: Receipt | None = None

    def __enter__(self) -> Transaction:
        if self._entered:
            raise Closed("A transaction is used once; make another one for each attempt.")
        self._entered = True
        self._buffer.refuse(None)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._buffer.refuse("This transaction is over: its block was left. Make another one.")
        if kind is None:
            self.receipt = self._buffer.send(**self._options)


class Memory(View):
    """The memory of agents: facts, recorded sessions, search and history of one space.

    Made by ``Memory.open``. May be used from several threads; after a fork the child must open its own.
    """

    def __init__(self, store: Store, context: Context) -> None:
        self._context = context
        self._store = store
        self._closed = False
        super().__init__(Unit(context), Types())
        self.history = History(self._unit)
        self._forgetting = Forgetting(self._unit)
        if context.exact is not None:
            self._forgetting.participants.join(context.exact)

    @classmethod
    def open(
        cls,
        target: str | os.PathLike[str] | sqlite3.Connection | Any = None,
        *,
        space: str | None = None,
        actor: str | None = None,
        zone: tzinfo = UTC,
        create: bool = True,
        durability: str | None = None,
        timeout: float | None = None,
        search_memory: int | None = None,
        clock: Callable[[], int] = system_clock,
    ) -> Memory:
        """Open a memory, and make it when it is not there yet.

        :param target: a path, a URL (``sqlite:///file.db``, ``postgresql://host/db``, ``redis://host/0``,
            ``memory:``; see ``config.parse_target``), or an open connection of ``sqlite3`` or ``psycopg``, which is
            never closed and in whose open transaction Amber takes part, or a client of ``redis``. Default: the
            variable ``AMBER_DB``, else a file of the user (see ``config.default_path``).
        :param space: the isolation border; nothing crosses it. Default: ``AMBER_SPACE``, else ``default``.
        :param actor: who makes the changes of this memory, kept in the log.
        :param zone: the zone of dates, and of times written as text without one.
        :param create: make the memory when it is not there; False raises NotFound then, and makes nothing.
        :param durability: ``full``, ``normal`` (default) or ``off``: what a power loss may take.
        :param timeout: seconds to wait for another process's write (default 30).
        :param search_memory: megabytes that the texts of the space may take in the memory of this process, where a
            process that asks often searches them exactly and several times faster; a short message takes about 1 KB.
            0: none, each search reads the store. Default: the variable ``AMBER_SEARCH_MEMORY``, else 256.
        :param clock: gives the time in microseconds since the epoch.
        :raises BadInput, NotFound, Unsupported, SchemaMismatch, Corrupt, Unavailable: when it can not be opened.
        """
        name = space if space is not None else default_space()
        check_name("space", name, MAX_SPACE)
        if actor is not None:
            check_name("actor", actor)
        megabytes = read_search_memory(search_memory)
        named = target if target is not None else default_target()
        store = open_store(named, create=create, durability=durability, timeout=timeout)
        ids = IdMaker(clock, lambda: store.time(name))
        exact = ExactIndex(store, name, megabytes * 1_000_000) if megabytes else None
        return cls(store, Context(store, name, clock, ids, zone, actor, exact))

    def register(
        self, name: str, model: Any = None, *, unique: Sequence[str | Sequence[str]] = (), immutable: bool = False
    ) -> None:
        """Register a fact type.

        :param name: the type's name. :param model: a pydantic model that values must fit, in this process.
        :param unique: fields of the value of which no two current facts of the type may have the same: ``("email",)``;
            several fields in one tuple count together; a list of tuples makes several constraints. A new fact with
            the value of an older one in the same scope supersedes it; in another scope it is refused. Kept by the
            store for all processes, also for ones that do not know the model.
        :param immutable: a fact of the type can not be changed, superseded or deleted (only undone or forgotten).

        Facts that already break a rule stay; it binds later writes, and ``verify`` lists them.
        :raises BadInput: when the model has no such field. :raises MissingExtra: when pydantic is not installed.
        """
        self._types.register(self._unit, name, model, unique, immutable)

    def transaction(
        self,
        *,
        actor: str | None = None,
        reason: str | None = None,
        session: str | None = None,
        operation: str | None = None,
    ) -> Transaction:
        """Collect changes and commit them as one batch when the block is left; an exception in it drops them all.

        No database transaction is held open, so a slow call inside harms nobody. When another writer changed what was
        read here, leaving the block raises Conflict and nothing is written: run the block again.

        :param actor: who makes these changes. :param reason: why. :param session: the run that the log notes for them;
            facts keep the one that they are put with.
        :param operation: names the attempt: the same one again changes nothing.
        """
        context = self._context._replace(actor=actor) if actor is not None else self._context
        return Transaction(context, self._types, reason, session, operation)

    def at(self, moment: Moment) -> View:
        """Give the memory as it was known at a position of the log, at a time, or at a label; read-only.

        This is log time: what had been written by then. What was valid then by what is known now is ``valid_at``.
        :raises NotFound: for a label that is not there, and for what was trimmed, naming the oldest moment to be seen.
        """
        position, time, _ = resolve(self._unit, moment)
        return View(PastUnit(self._context, position, time), self._types)

    def import_sessions(
        self,
        paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        *,
        sender: str = "me",
        project: str | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        on_file: Callable[[Imported], None] | None = None,
    ) -> list[Imported]:
        """Take recorded sessions in, from files and folders; one result for each session, or file that holds none.

        Read are those of Claude Code, Codex, aider, OpenHands, SWE-agent and mini-swe-agent, ChatGPT exports, lists of
        messages as OpenAI and Anthropic write them, and the notes of MCP memories; look-alikes are refused by name.
        Safe to repeat: only what is new is added. Files are streamed; one-document formats up to 64 MB are read whole.

        :param sender: whose prompts they are. :param project: default: the session's working folder as a path.
        :param on_progress: called after each batch. :param on_file: called with each result as soon as it is there.
        :raises BadInput: when a path does not exist; before anything is taken in.
        """
        given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
        check_name("sender", sender)
        self.history.position()
        return import_sessions(
            self._unit, given, sender=sender, project=project, on_progress=on_progress, on_file=on_file
        )

    def forget(
        self,
        *,
        sender: str | None = None,
        session: str | None = None,
        project: str | None = None,
        dry_run: bool = False,
    ) -> Forgotten:
        """Forget a person, a session, or a project with all below it: for good, everywhere, with a receipt.

        Gone are the documents with their images in the log and all that is derived from them (indexes, postings,
        facts ``derived_from`` forgotten ones, however often again); what was deleted, superseded, expired or undone
        before; and, after a scrub, the words in the raw files. With a session goes all that was said in it, by
        whomever, its subagents' sessions and its facts; with a sender, the sessions that are recorded as theirs, and
        facts of those that name neither sender nor project. Log entries lose the name where it stands as actor or
        session, and their reason with the first image. What stays: ids of documents and operations, positions, times,
        registered types, labels, files that were imported, and copies that you made.

        What was committed before the call began is gone when it returns; what others write meanwhile may stay. It
        works in chunks, each of them atomic, and lets other writers in between; a call that was killed is finished by
        the same call. No undo brings anything back.

        :param dry_run: only count; the receipt has the numbers that the call itself would give.
        :raises BadInput: unless exactly one scope is named.
        :raises Conflict: when others go on deriving from what is forgotten faster than it goes; call again.
        :raises Unavailable: when the store can not be written now; call again to go on.
        """
        return self._forgetting.forget(sender, session, project, dry_run=dry_run)

    def scrub(self) -> Scrubbed:
        """Remove what was forgotten from the raw files, of all spaces, as ``forget`` does at its end.

        For when its receipt names something that remained, as the write-ahead log while another reader held it.
        ``remaining`` of the answer names what is still left, and what to do about it.

        :raises Unavailable: when the store can not be written now.
        """
        return self._forgetting.scrub()

    def export(
        self, target: FileOrStream, *, overwrite: bool = False, on_progress: Callable[[Moved], None] | None = None
    ) -> Exported:
        """Write all of this space as JSON lines, which ``load`` makes an equal memory of, on any store.

        It is of one moment, whatever others write meanwhile, and holds nothing that was forgotten. Memory stays
        bounded. A file appears whole or not at all, and only its owner may read it.

        :param target: a path (compressed when it ends in ``.gz``), or a stream of bytes or text, which stays open.
        :param overwrite: take the place of an existing file. :param on_progress: called now and then.
        :raises Conflict: when the file exists. :raises Unavailable: when it can not be written.
        """
        return export(self._unit, target, overwrite=overwrite, on_progress=on_progress)

    def load(self, source: FileOrStream, *, on_progress: Callable[[Moved], None] | None = None) -> Loaded:
        """Make this space equal to the one that was exported: documents, history with positions and times, undo and
        purge marks, labels, queues.

        The space must be empty: nobody ever wrote to it. It appears as a whole at the end; a load that is broken off
        leaves nothing, and is simply done again. Lines that can not be read are listed with their number, and the rest
        goes in; a missing entry of the log is marked there as lost.

        :param source: a path or stream of what ``export`` wrote.
        :raises Conflict: when the space is not empty. :raises NotFound: when there is no such file.
        :raises BadInput: when it is no export. :raises SchemaMismatch: when a newer Amber wrote it.
        """
        return load(self._unit, source, on_progress=on_progress)

    def backup(
        self,
        path: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        on_progress: Callable[[Copying], None] | None = None,
    ) -> None:
        """Copy the whole memory, all its spaces, to a file that ``open`` opens, while it is in use.

        The copy has everything that was answered before the call, and appears whole and on the disk or not at all.

        :param overwrite: take the place of an existing file. :param on_progress: called after each step.
        :raises Unsupported: for a memory in process (export it), and inside a transaction of your connection.
        :raises Conflict: when the file exists, or is the memory itself. :raises Unavailable: when it can not be
            written.
        """
        self._store.backup(path, overwrite=overwrite, on_progress=on_progress)

    @property
    def migration_copy(self) -> Path | None:
        """The copy of the file that was made because this opening changed its schema, beside the file and named after
        the old version (``agent.db.schema-1``); None when there was no need. Remove it when all is well."""
        return self._store.migration_copy

    def verify(self) -> list[Problem]:
        """Compare everything derived (indexes, postings, unique values, the log) with the documents of this space."""
        return self._store.verify(self.space)

    def stats(self) -> Stats:
        """Give the size of this space."""
        return self._store.stats(self.space)

    def close(self) -> None:
        """Free what was opened; a connection that was given stays open. May be called again."""
        self._closed = True
        self._store.close()

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._closed else self._store.capabilities.name
        return f"<Memory {self.space!r} ({state})>"
