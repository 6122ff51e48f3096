"""Compare everything derived with the documents it was derived from, and the log with itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial

from amber.backends.sql.engine import Catalog, Cursor
from amber.backends.sql.load_end import LAST_KNOWN
from amber.backends.sql.tables import index_table, table
from amber.backends.sql.verify_log import check_images
from amber.errors import Corrupt
from amber.model.collection import Collection, Order, Record
from amber.store.codec import decode, encode
from amber.store.constraints import rule_of
from amber.store.contract import LOST, Problem
from amber.store.derive import Derived


def find_problems(cursor: Cursor, spaces: Mapping[str, int], catalog: Catalog) -> list[Problem]:
    """List everything that does not agree; runs in one transaction and changes nothing."""
    problems = catalog.engine.problems(cursor)
    for number in spaces.values():
        space = _Space(cursor, number, catalog)
        space.find()
        problems += space.problems
    return problems


class _Space:
    def __init__(self, cursor: Cursor, space: int, catalog: Catalog) -> None:
        self.cursor, self.space = cursor, space
        self.collections, self.analyze, self.engine = catalog.collections, catalog.analyze, catalog.engine
        self.problems: list[Problem] = []
        self.holders: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
        self.searchable = self.tokens = 0
        begin = cursor.execute("SELECT position FROM amber_horizon WHERE space = ?", (space,)).fetchone()
        self.horizon = int(begin[0]) if begin is not None else 0
        #: whether every document could be read, so that what they have together can be compared
        self.complete = True

    def find(self) -> None:
        """Look at every part, also when another one can not be read."""
        for collection in self.collections.values():
            if not self._looked_at(partial(self._documents, collection)):
                self.complete = False
        if self.complete:
            self._looked_at(self._unique)
            self._looked_at(self._sizes)
        self._looked_at(self._log)
        self._looked_at(self._images)

    def _looked_at(self, part: Callable[[], None]) -> bool:
        try:
            part()
        except self.engine.unreadable as error:
            self._report("file", None, None, f"A part can not be read: {error}.")
            return False
        return True

    def _images(self) -> None:
        check_images(self.cursor, self.space, self.collections, self._load, self._report)

    def _sizes(self) -> None:
        documents, tokens, held = self.cursor.execute(
            """SELECT documents, tokens, (SELECT count(tokens) FROM amber_doc WHERE space = n) FROM amber_space
               WHERE n = ?""",
            (self.space,),
        ).fetchone()
        if (documents, tokens, held) != (self.searchable, self.tokens, self.searchable):
            self._report(
                "postings", None, None, f"{held} texts are indexed and {documents} counted; {self.searchable} expected."
            )

    def _report(self, kind: str, collection: str | None, key: str | None, detail: str) -> None:
        self.problems.append(Problem(kind, collection, key, detail))

    def _load(self, collection: str, key: str) -> Record | None:
        name = table(self.collections[collection])
        sql = f"SELECT key, created, revision, body FROM {name} WHERE space = ? AND key = ?"
        row = self.cursor.execute(sql, (self.space, key)).fetchone()
        return Record(row[0], row[1], row[2], decode(row[3])) if row is not None else None

    def _documents(self, collection: Collection) -> None:
        columns = [field.name for field in collection.fields if not field.many]
        names = "".join(f', "{column}"' for column in columns)
        sql = f"SELECT key, created, revision, body{names} FROM {table(collection)} WHERE space = ?"
        many = 0
        for key, created, revision, stored, *values in self.cursor.execute(sql, (self.space,)).fetchall():
            try:
                body = decode(stored)
            except Corrupt as error:
                self._report("body", collection.name, key, f"The body of {key} can not be read: {error}")
                self.complete = False
                continue
            try:
                derived = Derived(collection, body, stored, self.analyze)
            except Exception as error:
                # any: the rules of a collection stand on members that a damaged body may not have
                self._report("body", collection.name, key, f"The body of {key} is not as declared: {error!r}.")
                self.complete = False
                continue
            if [derived.columns[column] for column in columns] != values:
                self._report("index", collection.name, key, f"The columns of {key} do not match its body.")
            self._text(collection, key, created, derived)
            self._queued(collection, key, derived)
            for name, rows in derived.many.items():
                many += len(rows)
                if not all(self._has_row(collection, name, equal, order, key) for equal, order in rows):
                    self._report("index", collection.name, key, f"{key} is missing from index {name}.")
            for pair in collection.unique_values(body, rule_of(collection, body, self._load)):
                self.holders[pair].append((collection.name, key))
            self._last_change(collection, key, revision, stored, body)
        self._count(collection, many)
        self._strays(collection)

    def _strays(self, collection: Collection) -> None:
        """Report what the log and the queue have of documents that are not there."""
        absent = f"NOT EXISTS (SELECT 1 FROM {table(collection)} d WHERE d.space = ? AND d.key = x.key)"
        sql = f"{LAST_KNOWN} AND {absent} ORDER BY x.key"
        place = (self.space, collection.name, self.space)
        for (key,) in self.cursor.execute(sql, place).fetchall():
            self._report("log", collection.name, key, f"{key} is gone, and the log has no delete of it.")
        sql = f"SELECT key FROM amber_doc x WHERE space = ? AND collection = ? AND {absent}"
        for (key,) in self.cursor.execute(sql, place).fetchall():
            self._report("fields", collection.name, key, f"{key} is found by words or fields and does not exist.")
        sql = (
            f"""SELECT key FROM amber_queue x WHERE space = ? AND collection = ? AND due_at IS NOT NULL AND {absent}"""
        )
        for (key,) in self.cursor.execute(sql, place).fetchall():
            self._report("queue", collection.name, key, f"{key} waits in a queue and does not exist.")

    def _queued(self, collection: Collection, key: str, derived: Derived) -> None:
        if collection.queue is None:
            return
        sql = "SELECT due_at FROM amber_queue WHERE space = ? AND collection = ? AND key = ?"
        row = self.cursor.execute(sql, (self.space, collection.name, key)).fetchone()
        # a lease moves the time, so only whether there is one can be compared
        if (row is not None and row[0] is not None) is not (derived.due is not None):
            self._report("queue", collection.name, key, f"The place of {key} in its queue does not match its body.")

    def _has_row(self, collection: Collection, name: str, equal: tuple[Order, ...], order: Order, key: str) -> bool:
        index = collection.by_name[name]
        columns = " AND ".join(f'"{column}" = ?' for column in index.equal)
        sql = f"SELECT 1 FROM {index_table(collection, index)} WHERE space = ? AND {columns} AND ord = ? AND key = ?"
        return self.cursor.execute(sql, (self.space, *equal, order, key)).fetchone() is not None

    def _count(self, collection: Collection, many: int) -> None:
        one = self.cursor.execute
        sides = [index_table(collection, i) for i in collection.indexes if collection.many_field(i) is not None]
        if (
            sum(one(f"SELECT count(*) FROM {side} WHERE space = ?", (self.space,)).fetchone()[0] for side in sides)
            != many
        ):
            self._report("index", collection.name, None, "A multi-valued index does not match the documents.")

    def _text(self, collection: Collection, key: str, created: int, derived: Derived) -> None:
        row = self.cursor.execute(
            """SELECT tokens, counts, fields, length, position, sender, project, session, type, at
               FROM amber_doc WHERE space = ? AND collection = ? AND key = ?""",
            (self.space, collection.name, key),
        ).fetchone()
        if derived.terms is not None:
            self.searchable += 1
            self.tokens += derived.length
        if derived.terms is None and not derived.entries:
            if row is not None:
                self._report("postings", collection.name, key, f"{key} should not be found by words or fields.")
            return
        tokens, counts, fields = self.engine.pack(self.space, collection.name, derived)
        if (row[2] if row is not None else None) != fields:
            self._report("fields", collection.name, key, f"The field entries of {key} do not match its body.")
        rest = (tokens, counts, derived.length, created, *derived.facets)
        if row is None or (*row[:2], *row[3:]) != rest:
            self._report("postings", collection.name, key, f"The postings of {key} do not match its text.")

    def _last_change(
        self, collection: Collection, key: str, revision: int, stored: str, body: dict[str, object]
    ) -> None:
        row = self.cursor.execute(
            """SELECT position, kind, after, purged FROM amber_change WHERE space = ? AND collection = ? AND key = ?
               ORDER BY position DESC LIMIT 1""",
            (self.space, collection.name, key),
        ).fetchone()
        if row is None or row[0] != revision:
            # what was trimmed or lost can not be compared; what is older than the log's newest change of it is wrong
            newest = row[0] if row is not None else 0
            if revision > newest and (revision <= self.horizon or self._is_lost(revision)):
                return
            self._report("log", collection.name, key, f"{key} is at revision {revision}, which the log does not have.")
        elif row[1] == "put" and row[2] is not None and row[2] != stored and not row[3]:
            after = decode(row[2])
            kept = {name: value for name, value in body.items() if name not in collection.touchable}
            then = {name: value for name, value in after.items() if name not in collection.touchable}
            if encode(kept) != encode(then):
                self._report("log", collection.name, key, f"{key} differs from the image at position {revision}.")

    def _is_lost(self, position: int) -> bool:
        sql = "SELECT 1 FROM amber_log WHERE space = ? AND position = ? AND operation = ?"
        return self.cursor.execute(sql, (self.space, position, f"{LOST}{position}")).fetchone() is not None

    def _unique(self) -> None:
        sql = "SELECT rule, value, key FROM amber_unique WHERE space = ?"
        held = {(rule, value, key) for rule, value, key in self.cursor.execute(sql, (self.space,))}
        expected = {(*pair, key) for pair, places in self.holders.items() for _, key in places}
        for rule, value, key in sorted(held ^ expected):
            self._report("unique", None, key, f"The table of unique values is wrong for {value} ({rule}).")
        for (rule, value), places in sorted(self.holders.items()):
            if len(places) > 1:
                keys = ", ".join(sorted(key for _, key in places))
                self._report("unique", *min(places), f"{len(places)} documents have {value} ({rule}): {keys}.")

    def _log(self) -> None:
        entries, first, last, position = self.cursor.execute(
            """SELECT count(*), coalesce(min(position), ?), coalesce(max(position), ?),
               (SELECT position FROM amber_space WHERE n = ?) FROM amber_log WHERE space = ?""",
            (self.horizon + 1, self.horizon, self.space, self.space),
        ).fetchone()
        if entries != position - self.horizon or (first, last) != (self.horizon + 1, position):
            whole = f"{position}" if not self.horizon else f"{position} after the horizon {self.horizon}"
            self._report("log", None, None, f"The log holds {entries} entries from {first} to {last} of {whole}.")
        row = self.cursor.execute(
            """SELECT l.position FROM amber_log l WHERE l.space = ?
               AND l.operation NOT IN ('purge/' || l.position, 'lost/' || l.position)
               AND NOT EXISTS (SELECT 1 FROM amber_change c WHERE c.space = l.space AND c.position = l.position)
               LIMIT 1""",
            (self.space,),
        ).fetchone()
        if row is not None:
            self._report("log", None, None, f"The log entry {row[0]} has no changes.")
        row = self.cursor.execute(
            """SELECT position FROM (SELECT position, at, lag(at) OVER (ORDER BY position) AS earlier FROM amber_log
               WHERE space = ?) e WHERE at < earlier LIMIT 1""",
            (self.space,),
        ).fetchone()
        if row is not None:
            self._report("log", None, None, f"The time of the log entry {row[0]} lies before that of the one before.")
        row = self.cursor.execute(
            "SELECT max(l.at), max(s.last_at) FROM amber_log l JOIN amber_space s ON s.n = l.space WHERE l.space = ?",
            (self.space,),
        ).fetchone()
        if row[0] is not None and row[0] > row[1]:
            self._report("log", None, None, f"The log goes to {row[0]} microseconds, after {row[1]}, its newest time.")
