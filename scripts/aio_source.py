"""The sync classes as their source says them: modules, classes, methods, parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src"

#: Whatever is made with one of these can reach a store.
REACHING = {("amber.services.unit", "Unit"), ("amber.services.unit", "Context"), ("amber.store.contract", "Store")}


class Untranslatable(Exception):
    """The generator does not know what the async face of something is."""


@dataclass
class Module:
    """One source file: its text, its classes, and where its names come from."""

    name: str
    lines: list[str]
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)
    names: dict[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Class:
    """A class of ours, by the module that defines it."""

    module: str
    name: str


_modules: dict[str, Module] = {}


def load(name: str) -> Module:
    """Read a module of ours."""
    if name not in _modules:
        path = SOURCE.joinpath(*name.split("."))
        text = (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text()
        module = Module(name, text.splitlines())
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and node.module:
                module.names |= {each.asname or each.name: (node.module, each.name) for each in node.names}
            elif isinstance(node, ast.Import):
                module.names |= {each.asname or each.name: ("", each.name) for each in node.names}
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef):
                module.classes[node.name] = node
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                module.names[node.name] = (name, node.name)
            elif isinstance(node, (ast.Assign, ast.AnnAssign)):
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    if isinstance(target, ast.Name):
                        module.names[target.id] = (name, target.id)
        _modules[name] = module
    return _modules[name]


def find(module: str, name: str) -> Class | None:
    """Give the class of ours that a name stands for in a module."""
    origin = load(module).names.get(name)
    while origin is not None and origin[0].partition(".")[0] == "amber":
        source = load(origin[0])
        if origin[1] in source.classes:
            return Class(*origin)
        following = source.names.get(origin[1])
        origin = following if following != origin else None
    return None


def node_of(cls: Class) -> ast.ClassDef:
    """Give the syntax of a class."""
    return load(cls.module).classes[cls.name]


def bases(cls: Class) -> list[Class]:
    """Give the classes of ours that a class stands on."""
    found = [find(cls.module, base.id) for base in node_of(cls).bases if isinstance(base, ast.Name)]
    return [each for each in found if each is not None]


def named(node: ast.AST | None) -> Iterator[str]:
    """Give the names in an annotation, also of one written as text."""
    for each in ast.walk(node) if node is not None else ():
        if isinstance(each, ast.Name):
            yield each.id
        elif isinstance(each, ast.Constant) and isinstance(each.value, str):
            try:
                yield from named(ast.parse(each.value, mode="eval"))
            except SyntaxError:
                continue


def functions(cls: Class) -> list[ast.FunctionDef]:
    """Give the methods that a class defines itself."""
    return [node for node in node_of(cls).body if isinstance(node, ast.FunctionDef)]


def method(cls: Class, name: str) -> ast.FunctionDef | None:
    """Give a method of a class or of what it stands on."""
    own = [node for node in functions(cls) if node.name == name]
    return own[0] if own else next((got for base in bases(cls) if (got := method(base, name))), None)


def reaches(cls: Class, seen: frozenset[Class] = frozenset()) -> bool:
    """Tell whether objects of a class can reach a store: by what they are made with."""
    if (cls.module, cls.name) in REACHING:
        return True
    if cls in seen:
        return False
    init = method(cls, "__init__")
    given = (
        [each.annotation for each in [*init.args.posonlyargs, *init.args.args, *init.args.kwonlyargs]] if init else []
    )
    given += [node.annotation for node in node_of(cls).body if isinstance(node, ast.AnnAssign)]
    known = {found for each in given for name in named(each) if (found := find(cls.module, name))}
    return any(reaches(each, seen | {cls}) for each in (*known, *bases(cls)))


def bound(node: ast.stmt) -> list[str]:
    """Give the names that a statement in the body of a class binds."""
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return [each.id if isinstance(each, ast.Name) else ast.unparse(each) for each in targets]
    return [getattr(node, "name", ast.unparse(node))]


def owns(cls: Class) -> bool:
    """Tell whether objects of a class own threads: it opens itself, and can be closed."""
    opens = [each for each in functions(cls) if any(ast.unparse(mark) == "classmethod" for mark in each.decorator_list)]
    return method(cls, "close") is not None and any({cls.name, "Self"} & {*named(each.returns)} for each in opens)


def attributes(target: ast.expr) -> Iterator[str]:
    """Give the public attributes of self that an assignment makes."""
    for each in target.elts if isinstance(target, ast.Tuple) else [target]:
        if isinstance(each, ast.Attribute) and ast.unparse(each.value) == "self" and not each.attr.startswith("_"):
            yield each.attr


def parameters(node: ast.FunctionDef) -> list[ast.arg]:
    """Give all parameters of a function."""
    given = node.args
    several = [each for each in (given.vararg, given.kwarg) if each is not None]
    return [*given.posonlyargs, *given.args, *given.kwonlyargs, *several]


def callbacks(node: ast.FunctionDef) -> list[str]:
    """Give the parameters that take a function."""
    return [each.arg for each in parameters(node) if "Callable" in named(each.annotation)]


def passed(node: ast.FunctionDef, *, bound: bool) -> list[str]:
    """Write the arguments that hand all parameters on."""
    given = node.args
    plain = [each.arg for each in [*given.posonlyargs, *given.args]][int(bound) :]
    more = [f"*{given.vararg.arg}"] if given.vararg else []
    more += [f"{each.arg}={each.arg}" for each in given.kwonlyargs]
    return plain + more + ([f"**{given.kwarg.arg}"] if given.kwarg else [])


def comment(lines: list[str], number: int) -> str:
    """Give the ``#:`` comment above a line."""
    found: list[str] = []
    while (above := lines[number - 2 - len(found)].strip()).startswith("#:"):
        found.insert(0, above[2:].strip())
    return " ".join(found)
