"""The servers that all tests of a process share, started when the first test asks for one; and the places on them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any, TypeVar

import psycopg
import redis
from tests.servers.postgres import Postgres
from tests.servers.redis import Redis, RedisCluster

S = TypeVar("S", Postgres, Redis, RedisCluster)

_numbers = itertools.count(1)
#: What a test left behind; run after it.
_to_clean: list[Callable[[], object]] = []
_started: list[Postgres | Redis | RedisCluster] = []


@cache
def postgres(kind: str = "postgres") -> Postgres:
    """Give the shared server: ``postgres`` is 18 with pgvector, ``postgres-15`` Debian's without it."""
    return _note(Postgres("15" if kind == "postgres-15" else "18"))


@cache
def single_redis(kind: str = "redis") -> Redis:
    """Give the shared server: ``redis`` is Valkey, ``redis-7.0`` Debian's."""
    return _note(Redis("7.0" if kind == "redis-7.0" else "valkey"))


@cache
def redis_cluster() -> RedisCluster:
    """Give the shared cluster of six nodes."""
    return _note(RedisCluster())


def place(kind: str) -> str:
    """Give a URL of a place of its own, which is cleaned after the test."""
    name = f"t{next(_numbers)}"
    if kind.startswith("postgres"):
        _to_clean.append(lambda: _admin(kind).execute(f"DROP SCHEMA IF EXISTS {name} CASCADE"))
        return f"{postgres(kind).url}?schema={name}"
    if kind == "redis-cluster":
        server = redis_cluster()
        _to_clean.append(lambda: [_client(each.port).flushall() for each in server.nodes if _is_primary(each.port)])
        return f"{server.url}&prefix={name}"
    port = single_redis(kind).port
    _to_clean.append(lambda: _client(port).flushall())
    return f"{single_redis(kind).url}?prefix={name}"


def clean() -> None:
    """Take away what was made since the last time."""
    while _to_clean:
        _to_clean.pop()()


def end() -> None:
    """End the servers that were started."""
    _to_clean.clear()
    while _started:
        _started.pop().remove()


def _note(server: S) -> S:
    _started.append(server)
    return server


@cache
def _admin(kind: str) -> psycopg.Connection[Any]:
    connection = psycopg.connect(postgres(kind).url, autocommit=True)
    # Who still holds a table of a closed store is found out, instead of waited for.
    connection.execute("SET lock_timeout = '5s'; SET client_min_messages = 'warning'")
    return connection


@cache
def _client(port: int) -> redis.Redis:
    return redis.Redis(host="127.0.0.1", port=port)


def _is_primary(port: int) -> bool:
    with suppress(redis.RedisError):
        return bool(_client(port).info("replication")["role"] == "master")
    return False
