"""What all commands share: options before and after a command's name, and how the memory is opened."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from amber.cli.moments import LocalZone
from amber.config import default_target, parse_target
from amber.errors import BadInput, NotFound
from amber.memory import Memory
from amber.model.wording import clean

F = TypeVar("F", bound=Callable[..., Any])


class State:
    """What the options of all commands say."""

    def __init__(self) -> None:
        self.db: str | None = None
        self.space: str | None = None
        self.actor: str | None = None
        self.json = False

    @property
    def target(self) -> str:
        """The path or URL of the memory."""
        return self.db if self.db is not None else default_target()

    @contextmanager
    def open(self, *, make: bool = False) -> Iterator[Memory]:
        """Open the memory.

        :param make: also make a new one. A command that only reads does not: a mistyped name is no empty memory.
        """
        place = parse_target(self.target)
        if place.kind == "dict" and make:
            note("memory: is a memory of this command alone; nothing of it is kept.")
        try:
            memory = Memory.open(self.target, space=self.space, actor=self.actor, zone=LocalZone(), create=make)
        except NotFound as error:
            hint = "Make one with 'amber import' or 'amber put'."
            raise NotFound(f"{error.message} {hint}", target=self.target) from None
        with memory:
            yield memory


pass_state = click.make_pass_decorator(State, ensure=True)


def note(text: str) -> None:
    """Say something that is no part of the output."""
    # it may quote what was recorded
    click.echo(clean(text), err=True)


def set_shared(context: click.Context, option: click.Parameter, value: Any) -> None:
    """Keep the value of a shared option."""
    if value not in (None, False) and option.name is not None:
        setattr(context.ensure_object(State), option.name, value)


def shared_options(*, variables: bool) -> list[click.Option]:
    """Give the options that stand before or after a command's name; after it they count more."""

    def option(name: str, metavar: str, variable: str, text: str) -> click.Option:
        more = {"envvar": variable, "show_envvar": True} if variables else {}
        declared = {"expose_value": False, "callback": set_shared, "metavar": metavar, "help": text}
        return click.Option([name], **declared, **more)  # type: ignore[arg-type]

    return [
        option("--db", "PATH_OR_URL", "AMBER_DB", "The memory: a file, or a URL."),
        option("--space", "NAME", "AMBER_SPACE", "The space in it, which nothing crosses (default: default)."),
        click.Option(
            ["--json"], is_flag=True, expose_value=False, callback=set_shared, help="Print JSON, for programs to read."
        ),
    ]


_SHARED = {"--db", "--space", "--json", "--help"}


class Command(click.Command):
    """A command with the shared options, and examples below its help."""

    def __init__(self, *given: Any, examples: Sequence[str] = (), **options: Any) -> None:
        super().__init__(*given, **options)
        self.examples = examples
        self.params += shared_options(variables=False)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        own: list[tuple[str, str]] = []
        shared: list[tuple[str, str]] = []
        for parameter in self.get_params(ctx):
            row = parameter.get_help_record(ctx)
            if row is not None and isinstance(parameter, click.Option):
                (shared if _SHARED & {*parameter.opts} else own).append(row)
        for title, rows in (("Options", own), ("Shared options", shared)):
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.examples:
            with formatter.section("Examples"):
                for line in self.examples:
                    formatter.write(f"{'':{formatter.current_indent}}{line}\n")


def scope_options(command: F) -> F:
    """Add the options that name a scope."""
    options = (
        click.option("--sender", metavar="NAME", help="The person it is about or from."),
        click.option("--project", metavar="PATH", help="The body of work, like team/atlas; what is below it counts."),
        click.option("--session", metavar="NAME", help="The run of an agent."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def read_json(text: str, what: str) -> Any:
    """Read JSON that was typed."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{what} is not JSON: {error}.", value=text) from None


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")
