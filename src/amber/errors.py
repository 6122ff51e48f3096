"""Every error that Amber raises, sorted by what the caller can do about it.

Each class carries a stable ``code`` and a ``retry`` word:

``no``              fix the call; sending it again gives the same answer
``reread``          somebody else was faster: read again, decide again, send again
``wait``            the store is busy or away: the same call may go through later
``same_operation``  the outcome is not known: send the same batch with the same operation id
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

Retry = Literal["no", "reread", "wait", "same_operation"]


class AmberError(Exception):
    """Base of all errors of Amber. Values are attributes (``details``) first and text second."""

    code: ClassVar[str] = "amber"
    retry: ClassVar[Retry] = "no"

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.details = details

    def __getattr__(self, name: str) -> Any:
        details = self.__dict__.get("details", {})
        if name in details:
            return details[name]
        raise AttributeError(name)


class BadInput(AmberError, ValueError):
    """An argument can not be used; nothing was written."""

    code = "bad_input"


class TooLarge(BadInput):
    """A value, document or batch passes a stated bound; nothing was written."""

    code = "too_large"


class Unsupported(AmberError):
    """This store, or this build of it, does not offer what was asked."""

    code = "unsupported"


class MissingExtra(Unsupported, ImportError):
    """An optional dependency is not installed; the message names the extra to install."""

    code = "missing_extra"


class Closed(AmberError):
    """The memory was closed, or was opened before this process was forked."""

    code = "closed"


class NotFound(AmberError, LookupError):
    """There is no such document."""

    code = "not_found"


class Conflict(AmberError):
    """An expectation of the batch does not hold: somebody changed what the decision stood on."""

    code = "conflict"
    retry: ClassVar[Retry] = "reread"


class UniqueViolation(Conflict):
    """Another document holds a value that must be unique."""

    code = "unique"


class Immutable(Conflict):
    """The document belongs to a type that was registered as immutable."""

    code = "immutable"
    retry: ClassVar[Retry] = "no"


class UndoConflict(Conflict):
    """A document was changed after the entry that should be undone."""

    code = "undo_conflict"
    retry: ClassVar[Retry] = "no"


class LimitReached(AmberError):
    """An addition would pass its ``at_most`` bound; nothing was added."""

    code = "limit"


class LeaseLost(AmberError):
    """The lease of a claimed row has another epoch: somebody else owns it now."""

    code = "lease_lost"


class SourcePurged(AmberError):
    """A source of a derived write was forgotten since it was read."""

    code = "source_purged"


class Unavailable(AmberError):
    """The store can not be reached or can not write now (locked, disk full, read-only)."""

    code = "unavailable"
    retry = "wait"


class TimedOut(Unavailable):
    """A lock or a statement was waited for longer than allowed; nothing was written."""

    code = "timeout"


class OutcomeUnknown(AmberError):
    """The connection broke while a commit was under way: it may or may not have happened."""

    code = "outcome_unknown"
    retry = "same_operation"


class SchemaMismatch(AmberError):
    """The database was written by another version of Amber; the message says what to run."""

    code = "schema"


class Corrupt(AmberError):
    """Stored data can not be read back as it was written."""

    code = "corrupt"
