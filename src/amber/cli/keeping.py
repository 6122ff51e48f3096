"""``amber trim``, ``export``, ``load``, ``backup``: how long the log is kept, and copies of a memory."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from amber.cli import exits
from amber.cli.base import Command, State, note, pass_state
from amber.cli.describing import noun
from amber.cli.machine import emit
from amber.cli.moments import day_and_time
from amber.cli.progress import progress_bar
from amber.cli.render import clean, count, show, size
from amber.errors import NotFound
from amber.model.history import Trimmed
from amber.services.lines import FileOrStream
from amber.services.load import Loaded

#: Bad lines that are listed without --verbose.
_LINES = 20
_overwrite = click.option("--overwrite", is_flag=True, help="Take the place of an existing file.")


@click.command(
    "trim",
    cls=Command,
    examples=(
        "amber trim --older-than 90d --dry-run",
        "amber trim --older-than 90d --keep 10000",
    ),
)
@click.option("--older-than", metavar="DURATION", help="Entries older than this: 90d, 12h, 1h30m.")
@click.option("--keep", type=click.IntRange(0), metavar="N", help="All entries but the newest N.")
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@pass_state
def trim_command(state: State, older_than: str | None, keep: int | None, dry_run: bool) -> None:
    """Let the beginning of the log go.

    Facts stay as they are, and what is left can be undone and redone as before. What was known before the new
    beginning can not be seen any more. With --older-than and --keep only what neither wants to keep goes. It can not
    be undone.
    """
    if older_than is None and keep is None:
        raise click.UsageError("Say what shall go: --older-than, --keep, or both.")
    with state.open() as memory:
        trimmed = memory.history.trim(older_than=older_than, keep=keep, dry_run=dry_run)
    if state.json:
        emit(trimmed._asdict())
    else:
        _tell_trimmed(trimmed)


def _tell_trimmed(trimmed: Trimmed) -> None:
    if not trimmed.entries:
        show("nothing to trim")
    else:
        verb = "would go" if trimmed.dry_run else "gone"
        show(f"{count(trimmed.entries, 'entry', 'entries')} {verb}")
    if trimmed.oldest is not None:
        show(f"oldest moment to be seen: position {trimmed.position} ({day_and_time(trimmed.oldest, seconds=True)})")
    if trimmed.labels:
        named = ", ".join(clean(name) for name in trimmed.labels)
        show(f"{count(len(trimmed.labels), 'label')} before it, which can not be looked at: {named}")


@click.command(
    "export",
    cls=Command,
    examples=(
        "amber export acme.jsonl.gz --space acme",
        "amber export - | jq -r 'select(.row == \"document\") | .body.payload'",
    ),
)
@click.argument("file", metavar="FILE")
@_overwrite
@pass_state
def export_command(state: State, file: str, overwrite: bool) -> None:
    """Write a space as JSON lines.

    FILE gets facts, sessions, labels, the log with its undo marks, and queues, of one moment; - is standard output.
    Compressed when its name ends in .gz. 'amber load' makes an equal memory of it.
    """
    target: FileOrStream = sys.stdout.buffer if file == "-" else Path(file).expanduser()
    with state.open() as memory, progress_bar("exporting", hidden=file == "-") as update:
        exported = memory.export(target, overwrite=overwrite, on_progress=lambda at: update(at.done, at.total))
    if file == "-":
        return
    if state.json:
        emit({"file": str(target), **exported._asdict()})
    else:
        show(f"exported {_documents(exported.documents)}, {count(exported.entries, 'log entry', 'log entries')}")
        show(f"to {clean(str(target))} ({size(Path(file).expanduser().stat().st_size)}), digest {exported.digest}")


@click.command(
    "load",
    cls=Command,
    examples=(
        "amber load acme.jsonl.gz --db new.db --space acme",
        "amber export - --db old.db | amber load - --db new.db",
    ),
)
@click.argument("file", metavar="FILE")
@click.option("-v", "--verbose", is_flag=True, help="List all lines that could not be read.")
@pass_state
@click.pass_context
def load_command(context: click.Context, state: State, file: str, verbose: bool) -> None:
    """Make a memory of what 'amber export' wrote.

    The space must be empty; FILE - is standard input. Lines that can not be read are named with their number, the rest
    goes in, and exit code 1 tells that something is missing.
    """
    source: FileOrStream = sys.stdin.buffer if file == "-" else Path(file).expanduser()
    if isinstance(source, Path) and not source.exists():
        # before a new memory is made for it
        raise NotFound(f"There is no file {file!r}.", path=file)
    with state.open(make=True) as memory, progress_bar("loading") as update:
        loaded = memory.load(source, on_progress=lambda at: update(at.done, at.total))
    if state.json:
        emit(
            {
                **loaded._asdict(),
                "bad": [each._asdict() for each in loaded.bad],
                "gone": [{"collection": collection, "id": id} for collection, id in loaded.gone],
            }
        )
    else:
        _tell_loaded(loaded, verbose)
    context.exit(exits.OK if loaded.is_whole else exits.PROBLEMS)


def _tell_loaded(loaded: Loaded, verbose: bool) -> None:
    whose = f" of space {clean(loaded.space)}" if loaded.space is not None else ""
    entries = count(loaded.entries, "log entry", "log entries")
    show(f"loaded {_documents(loaded.documents)}, {entries}{whose}")
    if loaded.bad:
        show(f"{count(len(loaded.bad), 'line')} could not be read:")
        for each in loaded.bad if verbose else loaded.bad[:_LINES]:
            show(f"  line {each.line}: {clean(each.reason)}")
        if not verbose and len(loaded.bad) > _LINES:
            show(f"  … and {len(loaded.bad) - _LINES:,} more; -v lists them all")
    if loaded.lost:
        named = ", ".join(map(str, loaded.lost[:10])) + (" …" if len(loaded.lost) > 10 else "")
        show(f"{count(len(loaded.lost), 'log entry', 'log entries')} missing and marked as lost: {named}")
    if loaded.gone:
        what = count(len(loaded.gone), "document")
        show(f"{what} missing that the log knows; to bring back what it knows: amber undo {loaded.position}")
    if loaded.intact is False and loaded.is_whole:
        note("the file was changed since it was exported")


def _documents(documents: object) -> str:
    held = documents if isinstance(documents, dict) else {}
    return ", ".join(count(n, noun(name)) for name, n in held.items() if n) or "no documents"


@click.command("backup", cls=Command, examples=("amber backup ~/backups/agent-2026-11-15.db",))
@click.argument("file", metavar="FILE")
@_overwrite
@pass_state
def backup_command(state: State, file: str, overwrite: bool) -> None:
    """Copy the whole memory while it is in use.

    FILE is a memory like any other, with all spaces, as they were when the command began. It appears whole or not at
    all.
    """
    target = Path(file).expanduser()
    with state.open() as memory, progress_bar("copying") as update:
        memory.backup(target, overwrite=overwrite, on_progress=lambda at: update(at.done, at.total))
    written = target.stat().st_size
    if state.json:
        emit({"file": str(target.absolute()), "bytes": written})
    else:
        show(f"copied to {clean(str(target))} ({size(written)})")


COMMANDS: tuple[click.Command, ...] = (export_command, load_command, backup_command, trim_command)
