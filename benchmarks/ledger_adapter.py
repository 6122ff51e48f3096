"""Amber behind the surface that ``bench_ledger.py`` measures, through the public facade alone.

    PYTHONPATH=src:. python bench_ledger.py --backends sqlite --vs benchmarks.ledger_adapter:Adapter

How one maps onto the other:

* MemState lets callers give ids; Amber gives ids itself, so the caller's id is the *key* of the fact: a commit under an
  id that exists replaces its value in both. A fact without an id of the caller gets no key. A look-up by id is a
  look-up by key.
* ``store.commit`` puts a long-term fact of a session; what ``storage.save`` writes into a session is unlogged and
  uncommitted in MemState and is an *ephemeral* fact here (logged, indexed and searchable all the same), which
  ``discard_session`` drops and ``promote_session`` keeps.
* A singleton key is ``register(type, model, unique=...)``; ``rollback`` is ``history.undo(last=, session=)``;
  ``get_tx_log`` is ``history.page(session=, limit=, offset=)``. The log of Amber keeps what MemState's rollback
  removes.
* Postings are written for every fact, and durability is what it is by default (``normal``, as MemState sets it too).

``preload`` puts one fact a commit, so that the log is as long as MemState's, on SQLite many of them
in one transaction of a borrowed connection; without a log to fill it puts many in one commit.
"""

from __future__ import annotations

import sqlite3
from typing import Any, LiteralString, NamedTuple, cast

from amber import Memory
from amber.config import parse_target
from amber.errors import NotFound
from amber.model.fact import Fact as AmberFact


class Fact(NamedTuple):
    """What a caller of MemState commits."""

    type: str
    payload: dict[str, Any]
    id: str | None = None
    source: str | None = None
    session_id: str | None = None


class Constraint(NamedTuple):
    """A rule of MemState's schemas."""

    singleton_key: str | None = None
    immutable: bool = False


def to_dict(fact: AmberFact) -> dict[str, Any]:
    """Give a fact in the shape that MemState answers with."""
    body = fact.body
    return {
        "id": body["key"] or fact.id,
        "type": body["type"],
        "payload": body["payload"],
        "session_id": body["session"],
        "ts": body["created_at"],
    }


class Adapter:
    """One memory in both roles: the store and its storage. Servers are the tool's; a memory has a schema or prefix of
    its own there."""

    def __init__(self, kind: str, where: dict[str, Any]) -> None:
        self._kind, self._path = kind, where["path"]
        self._url = {
            "postgres": f"{where['pg'].replace('+psycopg', '')}?schema={where['prefix']}",
            "redis": f"{where['redis']}?prefix={where['prefix']}",
        }.get(kind, "memory:")
        self._memory = Memory.open(self._path if kind == "sqlite" else self._url)
        self.store = self.storage = self

    def fact(self, **given: Any) -> Fact:
        return Fact(**given)

    def constraint(self, **given: Any) -> Constraint:
        return Constraint(**given)

    def register_schema(self, name: str, model: Any, constraint: Constraint | None = None) -> None:
        rule = constraint if constraint is not None else Constraint()
        unique = (rule.singleton_key,) if rule.singleton_key is not None else ()
        self._memory.register(name, model, unique=unique, immutable=rule.immutable)

    def commit(self, fact: Fact, session_id: str | None = None, ephemeral: bool = False) -> str:
        put = self._memory.facts.put(
            fact.payload, key=fact.id, type=fact.type, session=session_id or fact.session_id, ephemeral=ephemeral
        )
        return fact.id or put.id

    def get(self, id: str) -> dict[str, Any] | None:
        found = self._memory.facts.find(key=id)
        return to_dict(found) if found is not None else None

    def query(self, name: str | None = None, filters: dict[str, Any] | None = None) -> list[dict[str, Any]]:
        return [to_dict(fact) for fact in self._memory.facts.iter(type=name, where=filters, limit=1_000)]

    def update(self, id: str, patch: dict[str, Any]) -> str:
        self._memory.facts.patch(self._memory.facts.get(key=id), patch["payload"])
        return id

    def rollback(self, session_id: str, steps: int = 1) -> None:
        try:
            self._memory.history.undo(last=steps, session=session_id)
        except NotFound:
            return

    def promote_session(self, session_id: str) -> list[str]:
        return [fact.key or fact.id for fact in self._memory.sessions.promote(session_id)]

    def discard_session(self, session_id: str) -> int:
        return self._memory.sessions.discard(session_id)

    def save(self, raw: dict[str, Any]) -> None:
        self.commit(_from_raw(raw), ephemeral=raw["session_id"] is not None)

    def append_tx(self, raw: dict[str, Any]) -> None:
        raise NotImplementedError("Amber logs what is committed; an entry can not be written by itself.")

    def get_tx_log(self, session_id: str, limit: int = 100, offset: int = 0) -> list[Any]:
        return self._memory.history.page(session=session_id, limit=limit, offset=offset)

    def get_session_facts(self, session_id: str) -> list[dict[str, Any]]:
        return [to_dict(fact) for fact in self._memory.facts.iter(session=session_id, limit=1_000)]

    def preload(self, facts: list[dict[str, Any]], txs: list[dict[str, Any]]) -> None:
        """Take facts in, and when there are log entries, one for each fact, in the order of the facts."""
        if txs and [each["fact_id"] for each in txs] != [each["id"] for each in facts]:
            raise ValueError("The log to load must have one entry for each fact.")
        fill = _fill if txs else _fill_at_once
        chunks = [facts[start : start + 1_000] for start in range(0, len(facts), 1_000)]
        if self._kind == "sqlite":
            connection = sqlite3.connect(self._path, isolation_level=None, cached_statements=256)
            connection.execute("PRAGMA busy_timeout = 10000")
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("PRAGMA secure_delete = ON")
            with Memory.open(connection) as memory:
                for chunk in chunks:
                    connection.execute("BEGIN IMMEDIATE")
                    fill(memory, chunk)
                    connection.execute("COMMIT")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.close()
        else:
            for chunk in chunks:
                fill(self._memory, chunk)
        if self._kind == "postgres":
            self._at_server("VACUUM ANALYZE")

    def close(self) -> None:
        self._memory.close()
        if self._kind == "postgres":
            schema = parse_target(self._url).options["schema"]
            self._at_server(cast(LiteralString, f"DROP SCHEMA {schema} CASCADE"))
        elif self._kind == "redis":
            import redis

            # As the tool does with MemState's: the database is one that may be flushed.
            redis.from_url(str(parse_target(self._url).url)).flushdb()

    def _at_server(self, statement: LiteralString) -> None:
        import psycopg

        with psycopg.connect(str(parse_target(self._url).url), autocommit=True) as connection:
            connection.execute(statement)


def _fill(memory: Memory, chunk: list[dict[str, Any]]) -> None:
    for each in chunk:
        _put(memory, each)


def _fill_at_once(memory: Memory, chunk: list[dict[str, Any]]) -> None:
    with memory.transaction() as tx:
        for each in chunk:
            _put(tx, each)


def _from_raw(raw: dict[str, Any]) -> Fact:
    return Fact(raw["type"], raw["payload"], raw["id"], raw["source"], raw["session_id"])


def _put(memory: Any, raw: dict[str, Any]) -> None:
    memory.facts.put(raw["payload"], key=raw["id"], type=raw["type"], session=raw["session_id"])
