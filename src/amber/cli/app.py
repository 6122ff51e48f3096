"""The command ``amber``: all commands together, and what becomes of an error."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from amber.cli import (
    exits,
    facts,
    finding,
    forgetting,
    history,
    importing,
    keeping,
    labels,
    putting,
    sessions,
    showing,
    upkeep,
)
from amber.cli.base import Command, note, set_shared, shared_options
from amber.cli.machine import to_json
from amber.config import default_path
from amber.errors import AmberError
from amber.model.wording import clean


class Group(click.Group):
    """All commands, in the order in which they are told about; turns each error into a line and an exit code."""

    command_class = Command

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Without --db"):
            formatter.write_text(ctx.meta.get("amber.default_path") or str(default_path()))
        with formatter.section("Exit codes"):
            formatter.write_text(exits.SUMMARY)

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any) -> Any:  # type: ignore[override]
        """Run a command line and end the process with its exit code."""
        given = sys.argv[1:] if args is None else list(args)
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                # a letter that the terminal does not know must not end the command
                stream.reconfigure(errors="replace")
        sys.exit(self._run(given, prog_name or "amber", {**extra, "standalone_mode": False}))

    def _run(self, given: list[str], prog_name: str, extra: dict[str, Any]) -> int:
        as_json = "--json" in given
        try:
            code = super().main(given, prog_name, **extra)
            sys.stdout.flush()
        except AmberError as error:
            _report(as_json, error.message, error.code, retry=error.retry, details=error.details)
            return exits.exit_code(error)
        except click.ClickException as error:
            _report(as_json, _usage(error), "usage", retry="no", details={})
            return exits.USAGE
        except click.Abort:
            note("interrupted")
            return exits.INTERRUPTED
        except BrokenPipeError:
            _drop_output()
            return exits.PIPE_CLOSED
        except Exception as error:
            if os.environ.get("AMBER_TRACEBACK"):
                traceback.print_exc()
            text = f"{type(error).__name__}: {error}. This is a fault in Amber; AMBER_TRACEBACK=1 shows where."
            _report(as_json, text, "fault", retry="no", details={})
            return exits.FAULT
        return code if isinstance(code, int) else exits.OK

    def make_context(self, *given: Any, **more: Any) -> click.Context:
        with _until_the_reader_is_gone():
            return super().make_context(*given, **more)

    def invoke(self, ctx: click.Context) -> Any:
        with _until_the_reader_is_gone():
            return super().invoke(ctx)


@contextmanager
def _until_the_reader_is_gone() -> Iterator[None]:
    """End quietly when nobody reads the output; click's own main would end with code 1."""
    try:
        yield
    except BrokenPipeError:
        _drop_output()
        raise click.exceptions.Exit(exits.PIPE_CLOSED) from None


def _drop_output() -> None:
    """Send what is still buffered nowhere, so that the interpreter does not complain about it at its end."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return


def _usage(error: click.ClickException) -> str:
    text = error.format_message()
    if isinstance(error, click.UsageError) and error.ctx is not None:
        text = f"{text.rstrip('.')}. See '{error.ctx.command_path} --help'."
    return text


def _report(as_json: bool, text: str, code: str, **more: Any) -> None:
    line = " ".join(text.split())
    if as_json:
        note(to_json({"error": {"code": code, "message": line, **more}}, encoding=sys.stderr.encoding))
    else:
        click.echo(f"{click.style('error:', fg='red', bold=True)} {clean(line)}", err=True)


@click.group(
    cls=Group,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    params=shared_options(variables=True),
)
@click.option(
    "--actor",
    envvar="AMBER_ACTOR",
    show_envvar=True,
    expose_value=False,
    callback=set_shared,
    metavar="NAME",
    help="Who makes the changes; kept in the log.",
)
@click.version_option(package_name="amber", message="amber %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """The memory of AI agents, kept like a database: searchable, logged, and reversible.

    --db, --space and --json may also stand after the command's name.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


_MODULES = (importing, finding, sessions, showing, putting, facts, history, labels, keeping, forgetting, upkeep)
for _module in _MODULES:
    for _command in _module.COMMANDS:
        cli.add_command(_command)
