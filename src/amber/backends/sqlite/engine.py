"""What the shared statements leave to SQLite: postings in FTS5, the file and its pages."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from amber.backends.sql.engine import Rows
from amber.backends.sqlite import text
from amber.backends.sqlite.verify_postings import postings_match
from amber.errors import Corrupt
from amber.store.contract import Problem
from amber.store.derive import Derived


class SQLiteEngine:
    """See ``sql.engine.Engine``."""

    unreadable: tuple[type[Exception], ...] = (sqlite3.DatabaseError, UnicodeDecodeError, Corrupt)

    def pack(self, space: int, collection: str, derived: Derived) -> tuple[str | None, bytes | None, str | None]:
        return text.pack(space, collection, derived)

    def enter(
        self, cursor: Any, space: int, collection: str, position: int, found: Sequence[tuple[str, Derived]]
    ) -> None:
        text.enter(cursor, space, collection, position, found)

    def replace(
        self, cursor: Any, space: int, collection: str, key: str, position: int, derived: Derived | None
    ) -> tuple[int, int]:
        return text.replace(cursor, space, collection, key, position, derived)

    def withdraw(self, cursor: Any, space: int, collection: str, key: str) -> None:
        text.withdraw(cursor, space, collection, key)

    def holding(
        self, space: int, collection: str, asked: Sequence[str], overflow: Sequence[str]
    ) -> tuple[str, list[Any]]:
        sql = f"""SELECT rowid FROM amber_search WHERE amber_search MATCH ? UNION ALL
                  SELECT id FROM amber_doc NOT INDEXED WHERE space = ? AND collection = ? AND id > {text.FOLDED}
                  AND ({_all_held(asked)} OR {_all_held(overflow)})"""
        values: list[Any] = [f"({_match(asked)}) OR ({_match(overflow)})", space, collection]
        return sql, [*values, *(f" {token} " for token in (*asked, *overflow))]

    def problems(self, cursor: Any) -> list[Problem]:
        problems: list[Problem] = []
        try:
            for (told,) in cursor.execute("PRAGMA integrity_check(20)"):
                if told != "ok":
                    problems.append(Problem("file", None, None, str(told)))
        except self.unreadable as error:
            problems.append(Problem("file", None, None, f"The pages can not be checked: {error}."))
        try:
            if not postings_match(cursor):
                problems.append(Problem("postings", None, None, "The postings do not match the texts."))
        except self.unreadable as error:
            problems.append(Problem("postings", None, None, f"The postings can not be read: {error}."))
        return problems

    def tables(self, cursor: Any) -> list[str]:
        sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, 6) = 'amber_'"
        found = []
        for (name,) in cursor.execute(sql).fetchall():
            if any(column[1] == "space" for column in cursor.execute(f'PRAGMA table_info("{name}")')):
                found.append(name)
        return found

    def size(self, rows: Rows) -> int | None:
        return int(rows("PRAGMA page_count", ())[0][0]) * int(rows("PRAGMA page_size", ())[0][0])


def _match(tokens: Sequence[str]) -> str:
    return " AND ".join(f'"{token}"' for token in tokens)


def _all_held(tokens: Sequence[str]) -> str:
    return "(" + " AND ".join(["instr(fields, ?)"] * len(tokens)) + ")"


ENGINE = SQLiteEngine()
