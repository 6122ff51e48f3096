"""Paths and URLs: what they name, which options are Amber's, and no password in what is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from amber.config import hide_password, parse_target, read_options
from amber.errors import BadInput, Unsupported
from amber.memory import open_store


@pytest.mark.parametrize(
    ("text", "kind", "url", "options"),
    [
        ("postgresql://u:p@h:5433/d", "postgres", "postgresql://u:p@h:5433/d", {}),
        (
            "postgres://h/d?schema=a&sslmode=require&pool=3&timeout=2.5",
            "postgres",
            "postgres://h/d?sslmode=require",
            {"schema": "a", "pool": 3, "timeout": 2.5},
        ),
        ("redis://h/1?prefix=x&cluster=true", "redis", "redis://h/1", {"prefix": "x", "cluster": True}),
        ("valkey://h:7000", "redis", "redis://h:7000", {}),
        ("valkeys://h?socket_keepalive=1", "redis", "rediss://h?socket_keepalive=1", {}),
    ],
)
def test_a_server(text: str, kind: str, url: str, options: dict[str, object]) -> None:
    target = parse_target(text)
    assert (target.kind, target.path, target.url) == (kind, None, url)
    assert read_options(target, None, None) == options


def test_arguments_come_before_options() -> None:
    target = parse_target("postgresql://h/d?timeout=9&durability=off")
    assert read_options(target, "full", 3) == {"timeout": 3.0, "durability": "full"}


@pytest.mark.parametrize(
    ("option", "named"),
    [("pool=0", "pool"), ("pool=x", "pool"), ("pool=1001", "pool"), ("pool=-1", "pool"), ("timeout=x", "timeout"),
     ("timeout=inf", "timeout")],
)  # fmt: skip
def test_a_bad_option_of_postgres_is_named(option: str, named: str) -> None:
    with pytest.raises(BadInput, match=f"^{named} must be"):
        read_options(parse_target(f"postgresql://h/d?{option}"), None, None)


def test_a_bad_option_of_redis_is_named() -> None:
    with pytest.raises(BadInput, match="cluster must be true or false"):
        read_options(parse_target("redis://h?cluster=yes"), None, None)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://u:geheim@h/d", "postgresql://u:***@h/d"),
        ("postgresql://u:a@b:c@h/d", "postgresql://u:***@h/d"),
        ("redis://:geheim@h:1/0", "redis://:***@h:1/0"),
        ("redis://h?password=geheim&db=1", "redis://h?password=***&db=1"),
        ("postgresql://h/d?user=u&sslpassword=geheim", "postgresql://h/d?user=u&sslpassword=***"),
        ("postgresql://u@h/d?application_name=a%20b", "postgresql://u@h/d?application_name=a%20b"),
    ],
)
def test_a_password_is_never_shown(url: str, shown: str) -> None:
    assert hide_password(url) == shown
    assert parse_target(url).shown == shown


@pytest.mark.parametrize("text", ["postgresql://u:geheim@h/d#x", "redis://:geheim@h?db", "sqlite://u:geheim@h/x"])
def test_nor_in_an_error(text: str) -> None:
    with pytest.raises(BadInput) as refused:
        parse_target(text)
    assert "geheim" not in str(refused.value)
    assert "geheim" not in repr(refused.value.__dict__)


def test_where_it_lies() -> None:
    assert parse_target("memory:").shown == "memory:"
    assert parse_target("x.db").shown == str(Path("x.db").absolute())


@pytest.mark.parametrize("target", ["postgresql://localhost/agents", "redis://localhost"])
def test_a_server_that_no_store_is_made_for_yet_is_refused_by_name(target: str) -> None:
    with pytest.raises(Unsupported, match=r"keeps no memories on (Postgres|Redis) yet"):
        open_store(target)
