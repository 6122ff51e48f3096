"""Exit codes: one for each thing that a script may want to do next."""

from __future__ import annotations

from amber import errors

OK = 0
PROBLEMS = 1
USAGE = 2
NOT_FOUND = 3
CONFLICT = 4
UNAVAILABLE = 5
DAMAGED = 6
FAULT = 70
INTERRUPTED = 130
PIPE_CLOSED = 141

#: The exit code of every error of Amber; a test goes over the whole tree.
EXIT_CODES: dict[type[errors.AmberError], int] = {
    errors.AmberError: FAULT,
    errors.BadInput: USAGE,
    errors.TooLarge: USAGE,
    errors.Unsupported: USAGE,
    errors.MissingExtra: USAGE,
    errors.Closed: FAULT,
    errors.NotFound: NOT_FOUND,
    errors.Conflict: CONFLICT,
    errors.UniqueViolation: CONFLICT,
    errors.Immutable: CONFLICT,
    errors.UndoConflict: CONFLICT,
    errors.LimitReached: CONFLICT,
    errors.LeaseLost: CONFLICT,
    errors.SourcePurged: CONFLICT,
    errors.Unavailable: UNAVAILABLE,
    errors.TimedOut: UNAVAILABLE,
    errors.OutcomeUnknown: UNAVAILABLE,
    errors.SchemaMismatch: DAMAGED,
    errors.Corrupt: DAMAGED,
}

#: What the reference says about them.
MEANINGS = (
    ("0", "done, also when a search or list found nothing"),
    (
        "1",
        "verify found problems; import or load could not take all in; forgotten words are still in the files",
    ),
    ("2", "a wrong option, value or file; nothing was written"),
    ("3", "no such fact, position or memory; nothing to undo"),
    ("4", "the change contradicts what is there (changed since, unique, immutable)"),
    ("5", "the memory can not be reached or written now (locked, read-only, disk full)"),
    ("6", "the file is damaged, no memory, or of another version"),
    ("70", "a fault in Amber; set AMBER_TRACEBACK=1 to see where"),
    ("130", "interrupted"),
    ("141", "the reader of the output went away"),
)

#: The same in the few words of a help text.
SUMMARY = (
    "0 done, 1 problems found, 2 bad input, 3 not found, 4 conflict, 5 unavailable, 6 damaged or of another version, "
    "70 fault in Amber, 130 interrupted, 141 output closed"
)


def exit_code(error: errors.AmberError) -> int:
    """Give the exit code of an error; a class from elsewhere has that of its nearest known base."""
    return next(EXIT_CODES[each] for each in type(error).__mro__ if each in EXIT_CODES)
