"""The async face is what its source gives, whatever is added to that; what has no async face is an error."""

from __future__ import annotations

import collections.abc
import inspect
import os
import shutil
import subprocess
import sys
import typing
from pathlib import Path
from typing import Any

import pytest
from scripts import aio_source, generate_aio

import amber
from amber import aio
from amber._opening import Entering, Opening
from amber.memory import Memory, Transaction, View
from amber.services.facts import Facts
from amber.services.history import History
from amber.services.sessions import Sessions

HERE = Path(__file__).resolve().parents[2]
PAIRS = [
    (getattr(aio, name), inspect.signature(getattr(aio, name).__init__, eval_str=True).parameters["sync"].annotation)
    for name in aio.__all__
]


def public(cls: type) -> dict[str, Any]:
    return {name: inspect.getattr_static(cls, name) for name in dir(cls) if not name.startswith("_")}


def methods() -> list[Any]:
    return [
        pytest.param(face, sync, name, id=f"{sync.__name__}.{name}")
        for face, sync in PAIRS
        for name, value in public(sync).items()
        if not isinstance(value, property)
    ]


def test_the_file_is_what_its_source_gives() -> None:
    assert generate_aio.generate() == (HERE / "src/amber/aio.py").read_text(), "run make generate"


def test_every_part_has_its_twin() -> None:
    assert {sync for _, sync in PAIRS} >= {Memory, View, Transaction, Facts, Sessions, History}
    for face, sync in PAIRS:
        assert face.__name__ == f"Async{sync.__name__}"
        assert [base.__name__ for base in face.__bases__] == [
            base.__name__ if base is object else f"Async{base.__name__}" for base in sync.__bases__
        ]


def test_every_public_name_is_there_and_no_other() -> None:
    made = Memory.open("memory:")
    objects: list[Any] = [made, made.facts, made.sessions, made.history, made.at(0), made.transaction()]
    for each in objects:
        face = getattr(aio, f"Async{type(each).__name__}")(each, None)
        assert [name for name in dir(face) if not name.startswith("_")] == [
            name for name in dir(each) if not name.startswith("_")
        ]
    made.close()


@pytest.mark.parametrize(("face", "sync", "name"), methods())
def test_signatures_are_the_same_and_results_are_awaited(face: type, sync: type, name: str) -> None:
    one, other = (inspect.signature(getattr(cls, name), eval_str=True) for cls in (sync, face))
    assert one.parameters == other.parameters
    given, expected = other.return_annotation, one.return_annotation
    twins: dict[Any, Any] = {each: twin for twin, each in PAIRS}
    if typing.get_origin(given) is Entering:
        assert hasattr(getattr(sync, name), "__wrapped__") or hasattr(typing.get_origin(expected), "__enter__")
    elif typing.get_origin(expected) in (collections.abc.Iterator, collections.abc.Generator):
        assert typing.get_origin(given) is collections.abc.AsyncGenerator
        assert typing.get_args(given)[0] == typing.get_args(expected)[0]
        assert not inspect.iscoroutinefunction(getattr(face, name))
    elif hasattr(expected, "__enter__") and expected in twins:
        assert (typing.get_origin(given), *typing.get_args(given)) == (Opening, twins[expected])
    else:
        assert given == twins.get(expected, expected)
        assert inspect.iscoroutinefunction(getattr(face, name))
    assert type(inspect.getattr_static(face, name)) is type(inspect.getattr_static(sync, name))


@pytest.mark.parametrize(("face", "sync"), PAIRS)
def test_everything_says_what_it_does(face: type, sync: type) -> None:
    for name, value in {"": face, **public(face)}.items():
        assert inspect.getdoc(value), f"{face.__name__}.{name}"
        assert " with memory." not in str(inspect.getdoc(value)).replace("async with", "")


def test_the_public_name() -> None:
    assert amber.AsyncMemory is aio.AsyncMemory
    assert "AsyncMemory" in amber.__all__
    with pytest.raises(AttributeError, match="NoSuch"):
        amber.NoSuch  # noqa: B018
    program = "import amber, sys; sys.exit('asyncio' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(HERE / "src")}
    assert subprocess.run([sys.executable, "-c", program], check=False, env=environment).returncode == 0


SMALL = '''
from __future__ import annotations
from collections.abc import Callable, Iterator, Iterable
from contextlib import contextmanager, AbstractContextManager
from functools import cached_property
from typing import NamedTuple, overload
from amber.services.unit import Context, Unit
from amber.store.contract import Store


class Plain:
    """A value."""

    def __init__(self, n: int) -> None:
        self.n = n


class Labels:
    """Labels."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit

    def get(self) -> Plain:
        """Give one."""
        return Plain(1)


class Memory:
    """A memory."""

    def __init__(self, store: Store, context: Context) -> None:
        self._unit = Unit(context)

{body}
'''
UNIT = 'class Unit:\n    """Unit."""\n\n\nclass Context:\n    """Context."""\n'
STORE = 'class Store:\n    """Store."""\n'


def small(body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Generate from a small memory with something in it."""
    for name, text in {"memory": SMALL.replace("{body}", body), "services/unit": UNIT, "store/contract": STORE}.items():
        path = tmp_path / "amber" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(aio_source, "SOURCE", tmp_path)
    monkeypatch.setattr(aio_source, "_modules", {})
    return generate_aio.Generator().module()


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("    def look(self) -> Labels:\n        '''Look.'''", "return AsyncLabels(await self._hop.run(self._sync.look), self._hop)"),
        ("    @property\n    def labels(self) -> Labels:\n        '''Labels.'''", "return AsyncLabels(self._sync.labels, self._hop)"),
        ("    @property\n    def plain(self) -> Plain:\n        '''Plain.'''", "return self._sync.plain"),
        ("    def get(self) -> Plain:\n        '''Get.'''", "return await self._hop.read(self._sync.get)"),
        ("    def each(self) -> Iterator[Plain]:\n        '''Each.'''", "def each(self) -> AsyncGenerator[Plain, None]:"),
        ("    @contextmanager\n    def hold(self) -> Iterator[Plain]:\n        '''Hold.'''", "def hold(self) -> Entering[Plain]:"),
        ("    def hold(self) -> AbstractContextManager[Labels]:\n        '''Hold.'''", "def hold(self) -> Entering[AsyncLabels]:"),
        ("    def call(self, work: Callable[[], None]) -> None:\n        '''Call.'''", "check_callbacks(work=work)"),
        ("    @overload\n    def x(self, a: int) -> int: ...\n    def x(self, a: object) -> object:\n        '''X.'''", "async def x(self, a: int) -> int:\n        ..."),
        ("    @classmethod\n    def size(cls, path: str) -> int:\n        '''Size.'''", "return await once(Memory.size, path)"),
        ("    @staticmethod\n    def size(path: str) -> int:\n        '''Size.'''", "return await once(Memory.size, path)"),
        ("    def all(self, a: int, /, b: int, *c: int, d: int = 1, **e: int) -> int:\n        '''All.'''", "(self._sync.all, a, b, *c, d=d, **e)"),
    ],
)  # fmt: skip
def test_what_is_added_is_translated(body: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = small(body, tmp_path, monkeypatch)
    assert expected in text
    compile(text, "aio.py", "exec")


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("    def x(self):\n        '''X.'''", "says not what it returns"),
        ("    def x(self) -> int:\n        return 1", "no docstring"),
        ("    def x(self) -> list[Labels]:\n        '''X.'''", "holds what can reach a store"),
        ("    def x(self) -> Labels | None:\n        '''X.'''", "holds what can reach a store"),
        ("    def x(self) -> Store:\n        '''X.'''", "holds what can reach a store"),
        ("    @property\n    def x(self) -> Unit:\n        '''X.'''", "holds what can reach a store"),
        ("    def x(self) -> Iterator[Labels]:\n        '''X.'''", "no async face"),
        ("    def x(self) -> Iterable[int]:\n        '''X.'''", "no async face"),
        ("    def x(self) -> Callable[[], int]:\n        '''X.'''", "no async face"),
        ("    def x(self) -> list[Iterator[int]]:\n        '''X.'''", "no async face"),
        ("    def x(self, other: Memory) -> int:\n        '''X.'''", "takes a Memory"),
        ("    def __len__(self) -> int:\n        '''X.'''", "__len__ has no async face"),
        ("    async def x(self) -> int:\n        '''X.'''", "no async face"),
        ("    @cached_property\n    def x(self) -> int:\n        '''X.'''", "@cached_property"),
        ("    @property\n    def x(self) -> int:\n        '''X.'''\n    @x.setter\n    def x(self, n: int) -> None:\n        '''X.'''", "@setter"),
        ("    @classmethod\n    def x(cls) -> Labels:\n        '''X.'''", "no threads to live on"),
        ("    LIMIT = 5", "'LIMIT = 5' has no async face"),
        ("    class Inner:\n        pass", "no async face"),
        ("    def x(self, n: _Hidden) -> int:\n        '''X.'''\n_Hidden = int", "private"),
    ],
)  # fmt: skip
def test_what_has_no_async_face_is_an_error(
    body: str, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(aio_source.Untranslatable, match=r"amber/memory.py:[0-9]+: Memory: .*") as caught:
        small(body, tmp_path, monkeypatch)
    assert what in str(caught.value)


def test_a_public_attribute_needs_its_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for given, expected in (
        ("        self.labels = Labels(self._unit)", "self.labels = AsyncLabels(sync.labels, hop)"),
        ("        self.last: int | None = None", "def last(self) -> int | None:"),
        ("        self.last = None", None),
        ("        self.last, self._next = 1, 2", None),
    ):
        if expected is None:
            with pytest.raises(aio_source.Untranslatable, match=r"self\.last is public"):
                small(given, tmp_path, monkeypatch)
        else:
            assert expected in small(given, tmp_path, monkeypatch)


ADDED = '''
class Labels:
    """Names of positions."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        #: How many were set through this object.
        self.count: int = 0

    def set(self, name: str, *, on_done: Callable[[str], None] | None = None) -> str:
        """Set one."""
        self.count += 1
        if on_done is not None:
            on_done(name)
        return f"{self._unit.space}/{name}"

    def names(self) -> Iterator[str]:
        """Give all."""
        yield from ["a", "b"]
        raise BadInput("no more")
'''
METHODS = '''
    @property
    def labels(self) -> Labels:
        """The labels."""
        return self._labels

    @contextmanager
    def held(self, name: str) -> Iterator[Labels]:
        """Hold one."""
        self.steps.append("held")
        try:
            yield self._labels
        except KeyError:
            self.steps.append("failed")
        finally:
            self.steps.append("let go")

    @overload
    def either(self, text: str) -> str: ...

    @overload
    def either(self, text: None = None) -> None: ...

    def either(self, text: str | None = None) -> str | None:
        """Give it back."""
        return text

    @classmethod
    def version(cls, more: str) -> str:
        """Give the version."""
        return f"1{more}"

    @staticmethod
    def twice(n: int) -> int:
        """Double it."""
        return 2 * n

'''
PROGRAM = """
import asyncio, sys, threading
from amber import AsyncMemory
from amber.aio import AsyncLabels
from amber.errors import BadInput

async def main():
    async with AsyncMemory.open("memory:", space="s") as memory:
        assert type(memory.labels) is AsyncLabels
        seen = []
        assert await memory.labels.set("x", on_done=lambda name: seen.append((name, threading.current_thread().name))) == "s/x"
        assert seen == [("x", "amber")] and memory.labels.count == 1

        async def wrong(name): ...

        try:
            await memory.labels.set("y", on_done=wrong)
        except BadInput as error:
            assert "on_done" in str(error)
        else:
            raise AssertionError
        names = []
        try:
            async for name in memory.labels.names():
                names.append(name)
        except BadInput:
            names.append("end")
        assert names == ["a", "b", "end"], names
        async with memory.held("x") as held:
            assert type(held) is AsyncLabels and await held.set("z") == "s/z"
        assert memory.steps == ["held", "let go"]
        async with memory.held("x"):
            raise KeyError
        assert memory.steps == ["held", "let go", "held", "failed", "let go"]
        assert await memory.either("x") == "x" and await memory.either() is None
    assert await AsyncMemory.version("2") == "12" and await AsyncMemory.twice(4) == 8
    assert [thread.name for thread in threading.enumerate()] == ["MainThread"]

asyncio.run(main())
"""


def test_all_kinds_of_additions_work_without_the_generator_being_edited(tmp_path: Path) -> None:
    shutil.copytree(HERE / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(HERE / "scripts", tmp_path / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(HERE / "pyproject.toml", tmp_path)
    path = tmp_path / "src/amber/memory.py"
    text = path.read_text()
    imports = "from contextlib import contextmanager\nfrom typing import overload\nfrom collections.abc import Callable, Iterator\nfrom amber.errors import BadInput\n"
    text = text.replace("from __future__ import annotations\n", "from __future__ import annotations\n" + imports, 1)
    text = text.replace("class Memory(View):", ADDED + "\n\nclass Memory(View):")
    text = text.replace("    def verify(self)", METHODS + "    def verify(self)", 1)
    made = "        self.history = History(self._unit)\n"
    assert made in text
    text = text.replace(made, made + "        self._labels = Labels(self._unit)\n        self.steps: list[str] = []\n")
    path.write_text(text)
    environment = {"PYTHONPATH": str(tmp_path / "src"), "PATH": ""}

    def python(*args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-W", "error", *args],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    stale = python("-m", "scripts.generate_aio", "--check")
    assert stale.returncode == 1
    assert "+class AsyncLabels:" in stale.stderr
    assert "make generate" in stale.stderr
    for args in (("-m", "scripts.generate_aio"), ("-m", "scripts.generate_aio", "--check"), ("-c", PROGRAM)):
        ended = python(*args)
        assert (ended.returncode, ended.stderr) == (0, "")
    mypy = python("-m", "mypy", "--strict", "src/amber/aio.py")
    assert mypy.returncode == 0, mypy.stdout
    path.write_text(text.replace("    def twice(n: int) -> int:", "    def twice(n: int):"))
    refused = python("-m", "scripts.generate_aio")
    assert refused.returncode == 1
    assert "twice says not what it returns" in refused.stderr
