"""``amber import``: take recorded sessions in."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

from amber.cli import exits
from amber.cli.base import Command, State, note, pass_state
from amber.cli.machine import emit
from amber.cli.moments import day_and_time
from amber.cli.render import clean, count, make_console, one_line, show, table
from amber.memory import Memory
from amber.pipeline.importer import Imported, Progress
from amber.pipeline.transcripts import is_candidate

#: Rows that a table shows without --verbose.
_ROWS = 20


@click.command(
    "import",
    cls=Command,
    examples=(
        "amber import ~/.claude/projects ~/.codex/sessions",
        "amber import --sender ana --project team/atlas session.jsonl",
        "amber import --json ~/.codex/sessions | jq -r 'select(.status == \"refused\") | .path'",
    ),
)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--sender", default="me", show_default=True, metavar="NAME", help="Whose prompts they are.")
@click.option("--project", metavar="PATH", help="What the work belongs to (default: each session's working folder).")
@click.option("-v", "--verbose", is_flag=True, help="List all sessions, and why lines hold no message.")
@pass_state
@click.pass_context
def import_command(
    context: click.Context, state: State, paths: tuple[str, ...], sender: str, project: str | None, verbose: bool
) -> None:
    """Take recorded sessions of other tools in.

    Claude Code, Codex, aider, OpenHands, SWE-agent, mini-swe-agent, ChatGPT exports, message lists, MCP memories.

    PATH is a session file or a folder with such files. Safe to repeat: what is in the memory already is not added
    again. With --json each file is one line. Exit code 1 tells that a file could not be read, that a file which was
    named is no session, or that there was none at all.
    """
    results: list[Imported] = []
    with state.open(make=True) as memory:
        before = memory.history.position()
        try:
            with _bar(paths, hidden=state.json and sys.stdout.isatty()) as (progress, finished):

                def done(each: Imported) -> None:
                    finished(each)
                    results.append(each)
                    if state.json:
                        emit(each._asdict(), stream=True)

                memory.import_sessions(paths, sender=sender, project=project, on_progress=progress, on_file=done)
        except KeyboardInterrupt:
            note("\nwhat was taken in so far stays; the same command goes on from there")
            raise
        if not state.json:
            _report(memory, results, verbose)
            if memory.history.position() > before:
                note(f"to take this back: amber undo --after {before}")
    named = {str(Path(path).expanduser()) for path in paths}
    lost = any(each.status == "failed" or (each.status == "refused" and each.path in named) for each in results)
    found = any(each.status in ("imported", "unchanged") for each in results)
    context.exit(exits.OK if found and not lost else exits.PROBLEMS)


@contextmanager
def _bar(
    paths: tuple[str, ...], *, hidden: bool
) -> Iterator[tuple[Callable[[Progress], None], Callable[[Imported], None]]]:
    """Show how many of all bytes are read, on a terminal."""
    console = make_console(stderr=True)
    if hidden or not console.is_terminal:
        yield (lambda _: None), (lambda _: None)
        return
    # only a terminal needs it, and it takes as long to load as half a command
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    done, counted = 0, ""
    with Bar(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False) as bar:
        task = bar.add_task("reading", total=sum(_sizes(paths)) or None)

        def progress(at: Progress) -> None:
            share = at.done / at.total if at.total else 1.0
            bar.update(task, completed=done + share * at.total / 2, description=one_line(Path(at.path).name, 24))

        def finished(file: Imported) -> None:
            nonlocal done, counted
            # a file of several sessions comes as often
            if file.path != counted:
                done, counted = done + _size(file.path), file.path
            bar.update(task, completed=done)

        yield progress, finished


def _sizes(paths: tuple[str, ...]) -> Iterator[int]:
    for path in map(os.path.expanduser, paths):
        if not os.path.isdir(path):
            yield _size(path)
        for folder, _, files in os.walk(path):
            yield from (_size(os.path.join(folder, name)) for name in files if is_candidate(name))


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _report(memory: Memory, results: list[Imported], verbose: bool) -> None:
    by_status = {name: [each for each in results if each.status == name] for name in _ORDER}
    new, unchanged = by_status["imported"], by_status["unchanged"]
    if new:
        shown = new if verbose else sorted(new, key=lambda each: -each.messages)[:_ROWS]
        chosen = {each.path for each in shown}
        show(_table(memory, [each for each in new if each.path in chosen]), "")
        if len(shown) < len(new):
            show(
                Text(
                    f"… and {count(len(new) - len(shown), 'session')} more; -v lists them all",
                    style="dim",
                ),
                "",
            )
        show(_summary(new))
    if unchanged:
        same = f"{count(len(unchanged), 'session')} already in the memory"
        show(same if new else f"nothing new: {same}")
    if not results:
        note("no session files found")
    _left_out("not taken in", by_status["refused"], verbose)
    _left_out("could not be read", by_status["failed"], verbose)
    _skipped(new, verbose)


_ORDER = ("imported", "unchanged", "refused", "failed")


def _table(memory: Memory, new: list[Imported]) -> Table:
    rows = []
    for each in new:
        session = memory.sessions.get(each.session or "")
        title = session.title or ("subagent" if session.agent else session.project or "")
        day = day_and_time(session.started_at)[:10] if session.started_at is not None else ""
        rows.append((day, each.format or "", f"{each.messages:,}", one_line(title, 40), session.id))
    return table(("day", "format", "messages", "title", "session"), rows, right=(2,))


def _summary(new: list[Imported]) -> str:
    formats = Counter(each.format or "" for each in new)
    parts = ", ".join(f"{n} {name}" for name, n in sorted(formats.items()))
    changed = sum(each.changed for each in new)
    more = f", {count(changed, 'message')} brought up to date" if changed else ""
    return f"{count(len(new), 'session')} ({parts}), {count(sum(each.messages for each in new), 'new message')}{more}"


def _left_out(what: str, files: list[Imported], verbose: bool) -> None:
    if not files:
        return
    show(f"{count(len(files), 'file')} {what}:")
    for each in files if verbose else files[:_ROWS]:
        show(Text(f"  {clean(each.path)}: {clean(each.reason or '')}", overflow="fold"))
    if not verbose and len(files) > _ROWS:
        show(Text(f"  … and {len(files) - _ROWS:,} more; -v lists them all", style="dim"))


def _skipped(new: list[Imported], verbose: bool) -> None:
    reasons: Counter[str] = Counter()
    for each in new:
        reasons.update(each.skipped)
    if not reasons:
        return
    total = f"{count(sum(reasons.values()), 'line')} without a message"
    if not verbose:
        show(Text(f"{total} (bookkeeping of the tools); -v tells why", style="dim"))
        return
    show(f"{total}:")
    for reason, n in reasons.most_common():
        show(f"  {n:>6,}  {clean(reason)}")


COMMANDS: tuple[click.Command, ...] = (import_command,)
