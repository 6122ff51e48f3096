"""Any sequence of calls: the file answers what the in-process store answers, errors and their details included."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, cast

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from tests.faces import HoppedStore

from amber.backends.dict import DictStore
from amber.backends.sqlite import SQLiteStore, text
from amber.errors import AmberError
from amber.model import batch as b
from amber.store.contract import Clause, Cursor, LogEntry, LogQuery, Named, Oldest, Page, SearchFilter, Selection, Store
from amber.testing.samples import COLLECTIONS, words

F = "facts"
SPACES = st.sampled_from(["main", "main", "main", "other"])
KEYS = st.sampled_from(["a", "b", "c", "é", "😀"])
NAMES = st.sampled_from([each.name for each in COLLECTIONS] + [F, F, F])
SMALL = st.integers(-2, 5)
TEXTS = st.lists(st.sampled_from(["one", "two", "c++", "日本", "don't"]), max_size=4).map(" ".join)
VALUES = st.sampled_from([None, True, 1, 1.0, 0, "1", "x", [1], [], {"y": 1}, {"y": 1.0}, 2**60])
PROJECTS = st.sampled_from([None, "a", "a/b", "ab", "a_b"])


def some(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Give a value that may be null."""
    return st.one_of(st.none(), values)


FACTS = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["t", "u"]),
        "name": some(st.sampled_from(["n", "m", "é", "😀", "\ufffd"])),
        "size": some(SMALL),
        "labels": st.lists(st.sampled_from(["x", "y"]), max_size=3),
        "text": some(TEXTS),
        "payload": st.fixed_dictionaries({"x": VALUES}, optional={"y": VALUES}) | VALUES,
    },
    optional={
        "uses": SMALL,
        "n": some(SMALL),
        "handle": st.sampled_from(["h", "i", "j", "k"]),
        "state": st.sampled_from(["active", "retired", "idle"]),
        "first": st.sampled_from(["p", "q"]),
        "last": some(st.sampled_from(["p", "q", "r"])),
        "sender": st.sampled_from(["ana", "ben"]),
        "project": PROJECTS,
        "at": SMALL,
        "seen": SMALL,
    },
)
NOTES = st.fixed_dictionaries({"thread": st.sampled_from(["t", "u"]), "at": SMALL, "text": TEXTS})
TASKS = st.fixed_dictionaries({"due": some(SMALL)}, optional={"seen": SMALL, "n": SMALL})
QUEUES = st.sampled_from(["jobs", "errands"])
RULES = st.fixed_dictionaries(
    {},
    optional={
        "unique": st.sampled_from([[], [[["payload", "x"]]], [[["payload", "x"], ["payload", "y"]]]]),
        "immutable": st.booleans(),
    },
)
COUNTERS = st.sampled_from(["n", "m", "uses"])
WRITES = st.one_of(
    st.builds(b.Put, st.just(F), KEYS, FACTS),
    st.builds(b.Put, st.just(F), KEYS, FACTS),
    st.builds(b.Put, st.just("notes"), KEYS, NOTES),
    st.builds(b.Put, QUEUES, KEYS, TASKS),
    st.builds(b.Append, st.just("notes"), KEYS, NOTES),
    st.builds(b.Append, st.just(F), KEYS, FACTS),
    st.builds(b.Delete, NAMES, KEYS),
    st.builds(b.Add, st.just(F), KEYS, COUNTERS, SMALL, st.none() | SMALL, FACTS),
    st.builds(b.Add, st.just(F), KEYS, COUNTERS, SMALL, st.none(), st.none()),
    st.builds(b.Touch, st.sampled_from([F, "jobs"]), KEYS, st.fixed_dictionaries({"seen": SMALL})),
    st.builds(b.Reschedule, QUEUES, KEYS, SMALL, st.none() | st.integers(0, 3)),
    st.builds(b.Put, st.just("kinds"), st.sampled_from(["t", "u"]), RULES),
    st.builds(b.Delete, st.just("kinds"), st.sampled_from(["t", "u"])),
    st.builds(b.Put, st.just(F), KEYS, st.just({"name": 5}) | st.just({"payload": float("nan")})),
)
POSITIONS = st.integers(0, 30)
GROUPS = st.one_of(
    st.builds(lambda value: ("size", (value,)), st.sampled_from(["t", "u"])),
    st.builds(lambda value: ("label", (value,)), st.sampled_from(["x", "y"])),
    st.just(("name", ())),
)
EXPECTATIONS = st.one_of(
    st.builds(b.AtRevision, NAMES, KEYS, POSITIONS),
    st.builds(b.Absent, NAMES, KEYS),
    st.builds(
        lambda group, since, size, low: b.Unchanged(
            F, group[0], group[1], since, size, low if group[0] != "name" else None
        ),
        GROUPS,
        POSITIONS,
        st.integers(0, 3),
        some(SMALL),
    ),
    st.builds(b.Leased, st.sampled_from(["jobs", "errands"]), KEYS, st.integers(0, 4)),
    st.builds(b.NotPurged, st.lists(st.tuples(NAMES, KEYS), max_size=2).map(tuple), POSITIONS),
)
BATCHES = st.fixed_dictionaries(
    {
        "space": SPACES,
        "writes": st.lists(WRITES, min_size=1, max_size=3),
        "expectations": st.lists(EXPECTATIONS, max_size=1).map(tuple) | st.just(()),
        "at": SMALL,
        "actor": st.sampled_from([None, "ana", "ben"]),
        "session": st.sampled_from([None, "s1", "s2"]),
        "again": st.integers(0, 9),
    }
)
SCANS: tuple[tuple[str, str, tuple[Any, ...]], ...] = (
    (F, "name", ()),
    *((F, index, (value,)) for index in ("size", "group") for value in ("t", "u")),
    *((F, "label", (value,)) for value in ("x", "y")),
    (F, "typed_label", ("t", "x")),
    ("notes", "thread", ("t",)),
)


class TwoStores(RuleBasedStateMachine):
    """Both stores are told the same; what they answer is compared."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(text, "PENDING", 3)  # else all of them would wait for FTS5, always
        self.folder = tempfile.TemporaryDirectory(prefix="amber")
        self.stores: tuple[Store, ...] = (
            DictStore(COLLECTIONS, analyze=words),
            SQLiteStore(Path(self.folder.name) / "memory.db", COLLECTIONS, analyze=words, durability="off"),
        )
        self.numbers = count(1)
        self.sent: list[str] = []

    def teardown(self) -> None:
        self.look_at_everything()
        self.move()
        for store in self.stores:
            store.close()
        self.folder.cleanup()
        self.patch.undo()

    def both(self, name: str, *arguments: Any, **options: Any) -> Any:
        """Call on both stores, compare, and give the answer; None when it was an error."""
        return self.compare(lambda store: getattr(store, name)(*arguments, **options))

    def compare(self, call: Callable[[Store], Any]) -> Any:
        """Do the same with both stores."""
        answers = []
        for store in self.stores:
            try:
                answers.append(("answer", call(store)))
            except AmberError as error:
                answers.append(("error", (type(error), error.details)))
        assert all(answer == answers[0] for answer in answers), answers
        kind, answer = answers[0]
        return answer if kind == "answer" else None

    @initialize(rules=st.dictionaries(st.sampled_from(["t", "u"]), RULES))
    def begin(self, rules: dict[str, Any]) -> None:
        self.commit("main", [b.Put("kinds", key, rule) for key, rule in rules.items()])

    def commit(self, space: str, writes: Iterable[b.Write], **rest: Any) -> None:
        operation = rest.pop("operation", None) or f"operation-{next(self.numbers)}"
        batch = b.Batch(space, operation, rest.pop("at", 10), tuple(writes), **rest)
        if self.both("commit", batch) is not None:
            self.sent.append(operation)

    @rule(batches=st.lists(BATCHES, min_size=3, max_size=10))
    def write(self, batches: list[dict[str, Any]]) -> None:
        for batch in batches:
            again = batch.pop("again") == 0 and self.sent
            self.commit(**batch, operation=self.sent[-1] if again else None)
            self.look()

    @rule(space=SPACES, key=KEYS, body=FACTS)
    def write_what_was_read(self, space: str, key: str, body: dict[str, Any]) -> None:
        record = self.both("get", space, F, key)
        expect = b.AtRevision(F, key, record.revision) if record is not None else b.Absent(F, key)
        self.commit(space, [b.Put(F, key, body)], expectations=(expect,))

    @rule(space=SPACES, group=GROUPS, key=KEYS, body=FACTS)
    def write_beside_an_unchanged_group(self, space: str, group: Any, key: str, body: dict[str, Any]) -> None:
        size = self.both("count", space, F, *group)
        since = self.both("position", space)
        self.commit(space, [b.Put(F, key, body)], expectations=(b.Unchanged(F, group[0], group[1], since, size),))

    @rule(space=SPACES, position=POSITIONS)
    def undo(self, space: str, position: int) -> None:
        entries: list[LogEntry] = self.both("log", space, LogQuery(low=position, high=position + 1))
        writes: list[b.Write] = []
        for entry in entries:
            for change in entry.changes:
                if change.deltas is not None:
                    writes += [b.Add(change.collection, change.key, field, -n) for field, n in change.deltas.items()]
                elif change.before is not None:
                    writes.append(b.Put(change.collection, change.key, change.before))
                elif not change.purged:
                    writes.append(b.Delete(change.collection, change.key))
        if writes:
            self.commit(space, writes, undoes=(position,))

    @rule(
        space=SPACES,
        tasks=st.lists(st.builds(b.Put, QUEUES, KEYS, TASKS), max_size=5),
        n=st.integers(1, 4),
        lease=st.integers(1, 5),
        now=SMALL,
    )
    def claim(self, space: str, tasks: list[b.Put], n: int, lease: int, now: int) -> None:
        for task in tasks:
            self.commit(space, [task])
        leases = self.both("claim", space, "work", n, lease=lease, now=now)
        for each in leases[:1]:
            finish = b.Put(each.collection, each.key, {**each.body, "due": None})
            self.commit(space, [finish], expectations=(b.Leased(each.collection, each.key, each.epoch),))

    @rule(space=SPACES, name=NAMES, keys=st.lists(KEYS, max_size=3), now=SMALL, limit=st.integers(1, 4))
    def purge_keys(self, space: str, name: str, keys: list[str], now: int, limit: int) -> None:
        self.both("purge", space, Selection(name, tuple(keys)), now=now, limit=limit)

    @rule(space=SPACES, group=GROUPS, now=SMALL, limit=st.integers(1, 4))
    def purge_group(self, space: str, group: Any, now: int, limit: int) -> None:
        self.both("purge", space, Selection(F, by=group[0], equal=group[1]), now=now, limit=limit)

    @rule(space=SPACES, group=GROUPS, keys=st.lists(KEYS, max_size=4), limit=st.integers(1, 4))
    def purge_with_eyes_open(self, space: str, group: Any, keys: list[str], limit: int) -> None:
        selection = Selection(F, tuple(keys), group[0], group[1])
        page = self.both("reach", space, selection, limit=limit)
        while page is not None and page.cursor is not None:
            page = self.both("reach", space, selection, after=page.cursor, limit=limit)
        expected = [b.Unchanged(F, "label", ("x",), 0, 0)]
        self.both("purge", space, selection, now=0, limit=limit, expectations=expected)

    @rule(space=SPACES, part=st.sampled_from(["actor", "session"]), name=st.sampled_from(["ana", "s1"]))
    def purge_name(self, space: str, part: Any, name: str) -> None:
        self.both("reach", space, Named(part, name))
        self.both("purge", space, Named(part, name), now=0, limit=2)

    @rule(space=SPACES, upto=POSITIONS, limit=st.integers(1, 6))
    def purge_oldest(self, space: str, upto: int, limit: int) -> None:
        self.both("purge", space, Oldest(upto), now=0, limit=limit)
        self.both("horizon", space)

    @rule(
        space=SPACES,
        scan=st.sampled_from(SCANS),
        ends=st.tuples(some(SMALL), some(SMALL)),
        reverse=st.booleans(),
        limit=st.integers(1, 4),
        where=st.sampled_from([(), ((("payload", "x"), 1),), ((("state",), None),)]),
        scan_limit=st.integers(1, 6),
    )
    def scan(self, space: str, scan: Any, ends: Any, reverse: bool, limit: int, where: Any, scan_limit: int) -> None:
        collection, index, equal = scan
        low, high = ends if index in ("size", "label", "thread") else (None, None)
        after: Cursor | None = None
        while True:
            page: Page = self.both(
                "scan",
                space,
                collection,
                index,
                equal,
                low=low,
                high=high,
                reverse=reverse,
                after=after,
                limit=limit,
                where=where,
                scan_limit=scan_limit,
            )
            after = page.cursor
            if after is None:
                break

    @rule(
        space=SPACES,
        where=st.lists(
            st.tuples(st.sampled_from([("payload",), ("payload", "x"), ("payload", "y"), ("name",)]), VALUES),
            min_size=1,
            max_size=2,
        ).map(tuple),
        group=st.sampled_from([None, "t", "u"]),
        limit=st.integers(1, 3),
    )
    def lookup(self, space: str, where: Any, group: str | None, limit: int) -> None:
        page = self.both("lookup", space, F, where, group=group, limit=limit)
        if page is not None and page.cursor is not None:
            self.both("lookup", space, F, where, group=group, limit=limit, after=page.cursor)

    @rule(
        space=SPACES,
        clauses=st.lists(
            st.builds(
                Clause,
                st.lists(st.sampled_from(["one", "two", "c++", "日本", "none"]), min_size=1, max_size=2).map(tuple),
                st.integers(1, 3),
                st.lists(st.sampled_from(["one", "two", "日本", "none"]), max_size=2).map(tuple),
            ),
            max_size=3,
        ),
        filter=st.builds(
            SearchFilter,
            sender=st.sampled_from([None, "ana"]),
            project=PROJECTS,
            since=st.none() | SMALL,
            until=st.none() | SMALL,
            collections=st.sampled_from([(), (F,), ("notes", F)]),
            session=st.none(),
            type=st.sampled_from([None, None, "t"]),
        ),
        limit=st.integers(1, 5),
    )
    def search(self, space: str, clauses: list[Clause], filter: SearchFilter, limit: int) -> None:
        self.both("candidates", space, clauses, filter, also=["don't"], limit=limit)
        self.both("text_stats", space, ["one", "two", "c++", "none"])

    @rule(space=SPACES, position=st.integers(1, 30), n=st.integers(0, 2), limit=st.integers(1, 4))
    def follow_texts(self, space: str, position: int, n: int, limit: int) -> None:
        self.both("text_changes", space, (position, n), limit=limit)
        page = self.both("texts", space, limit=limit)
        if page.cursor is not None:
            self.both("texts", space, after=page.cursor, limit=limit)

    @rule(
        space=SPACES,
        query=st.builds(
            LogQuery,
            low=st.none() | POSITIONS,
            high=st.none() | POSITIONS,
            key=st.none(),
            session=st.none(),
            actor=st.none(),
            reverse=st.booleans(),
            limit=st.integers(1, 5),
        ),
        choice=st.sampled_from([{}, {"key": (F, "a")}, {"session": "s1"}, {"actor": "ana"}]),
        at=SMALL,
    )
    def read_the_log(self, space: str, query: LogQuery, choice: Any, at: int) -> None:
        self.both("log", space, query._replace(**choice))
        self.both("position_at", space, at)

    @rule(now=SMALL)
    def due(self, now: int) -> None:
        self.both("due_spaces", "work", now)

    def look(self) -> None:
        """Compare what is cheap to read; everything is compared at the end."""
        for space in ("main", "other"):
            self.both("log", space, LogQuery(limit=2))
            self.both(
                "candidates", space, [Clause(("one",), 1), Clause(("two",), 2), Clause(("c++",), 2)], SearchFilter()
            )
            self.both("scan", space, F, "label", ("x",))

    def move(self) -> None:
        """Load crosswise what the stores export: the copies are equal to the originals."""
        for space in ("main", "other"):
            rows = self.compare(lambda store, name=space: list(store.export(name)))  # type: ignore[misc]
            for store in self.stores:
                loaded = store.load(f"copy of {space}", enumerate(rows))
                assert (loaded.refused, loaded.lost, loaded.gone) == ((), (), ())
                assert list(store.export(f"copy of {space}")) == rows
                assert store.verify(f"copy of {space}") == store.verify(space)

    @staticmethod
    def _summary(store: Store, space: str) -> Any:
        return store.stats(space)._replace(bytes=None), sorted(store.verify(space), key=repr)

    @rule()
    def look_at_everything(self) -> None:
        self.both("spaces")
        for space in ("main", "other"):
            self.both("horizon", space)
            self.both("log", space, LogQuery(limit=10_000))
            self.compare(partial(self._summary, space=space))
            for scan in SCANS:
                self.both("scan", space, *scan)
                self.both("count", space, *scan)
            self.both("total", space, F, "name", field="uses")
            self.both("texts", space)
            self.both("text_changes", space, (1, 0), limit=10_000)
            for name in (each.name for each in COLLECTIONS):
                keys = ["a", "b", "c", "é", "😀", "t", "u"]
                self.both("get_many", space, name, keys)
                for key in keys:
                    self.both("queued", space, name, key)


class HoppedStores(TwoStores):
    """The same with both called through the hop of the async face, beside one that is not."""

    def __init__(self) -> None:
        super().__init__()
        self.hopped = (HoppedStore(DictStore(COLLECTIONS, analyze=words)), HoppedStore(self.stores[1]))
        self.stores = (self.stores[0], *(cast(Store, each) for each in self.hopped))

    def teardown(self) -> None:
        super().teardown()
        for each in self.hopped:
            each.end()


TestTwoStores = TwoStores.TestCase
TestTwoStores.settings = settings(
    max_examples=int(os.environ.get("AMBER_EXAMPLES", "150")),
    stateful_step_count=25,
    deadline=None,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
TestHoppedStores = HoppedStores.TestCase
TestHoppedStores.settings = settings(TestTwoStores.settings, max_examples=20)
