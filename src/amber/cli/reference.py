"""Write the reference of the command line from its help: ``python -m amber.cli.reference``."""

from __future__ import annotations

import click

from amber.cli.app import cli
from amber.cli.exits import MEANINGS

_HEAD = """# The command line

Install it with `pip install 'amber[cli]'`. This page is the help of the commands, written by
`python -m amber.cli.reference`."""
_CODES = """## Exit codes

With an error nothing stands on standard output; standard error has one line, `error: ...`, or with `--json` the object
`{"error": {"code": ..., "message": ..., "retry": ..., "details": ...}}`.

| code | meaning |
| --- | --- |"""
_PLACES = (
    "amber/amber.db in $XDG_DATA_HOME or ~/.local/share, on macOS in ~/Library/Application Support, on Windows in "
    "%LOCALAPPDATA%."
)


def reference() -> str:
    """Give the reference as Markdown, the same on every computer."""
    parent = _context("amber", cli, None)
    codes = "\n".join(f"| {code} | {meaning} |" for code, meaning in MEANINGS)
    sections = [_section(name, cli.commands[name], parent) for name in cli.list_commands(parent)]
    return "\n\n".join([_HEAD, _section("amber", cli, None), *sections, f"{_CODES}\n{codes}"]) + "\n"


def _context(name: str, command: click.Command, parent: click.Context | None) -> click.Context:
    context = click.Context(
        command, info_name=name, parent=parent, terminal_width=80, max_content_width=80, **command.context_settings
    )
    context.meta["amber.default_path"] = _PLACES
    return context


def _section(name: str, command: click.Command, parent: click.Context | None) -> str:
    title = name if parent is None else f"amber {name}"
    text = command.get_help(_context(name, command, parent))
    return f"## {title}\n\n```text\n{text}\n```"


if __name__ == "__main__":
    click.echo(reference(), nl=False)
