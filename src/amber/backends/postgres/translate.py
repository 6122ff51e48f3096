"""What errors of the driver mean for the caller."""

from __future__ import annotations

import psycopg
from psycopg import errors

from amber.config import hide_password
from amber.errors import AmberError, Corrupt, SchemaMismatch, TimedOut, Unavailable

_WAITED = (errors.LockNotAvailable, errors.QueryCanceled, errors.DeadlockDetected)
_OTHER = (errors.UndefinedTable, errors.UndefinedColumn, errors.InvalidSchemaName)


def translate(error: psycopg.Error, where: str) -> AmberError:
    """Say what an error of the driver means for the caller.

    :param where: what was opened; a password in it is not shown.
    """
    shown, said = hide_password(where), str(error).strip().partition("\n")[0]
    if isinstance(error, _WAITED):
        return TimedOut(f"Another transaction holds what this one needs ({shown}): {said}. Nothing was written.")
    if isinstance(error, _OTHER):
        return SchemaMismatch(
            f"The tables of this memory are not those that it was opened with ({shown}): {said}. Were they dropped, or "
            "was it opened by another version of Amber? Open it again."
        )
    if isinstance(error, errors.DataCorrupted | errors.IndexCorrupted):
        return Corrupt(f"The database is damaged ({shown}): {said}. Restore a backup.")
    if isinstance(error, errors.InsufficientPrivilege):
        return Unavailable(f"Access is not permitted ({shown}): {said}. Nothing was written.")
    if isinstance(error, psycopg.OperationalError):
        return Unavailable(f"Postgres can not be reached ({shown}): {said}. Nothing was written.")
    return Unavailable(f"Postgres refused ({shown}): {said}.")
