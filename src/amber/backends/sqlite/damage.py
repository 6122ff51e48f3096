"""Which errors of the driver mean a damaged file, and which one that others changed, where no code says so."""

from __future__ import annotations

import re
import sqlite3

#: What the texts of errors begin with when stored data is not what was written.
_DAMAGE = re.compile(
    r"Could not decode to UTF-8|malformed|no such fts5 table|vtable constructor failed|database corruption"
)
#: Tables, indexes and columns of ours that this process knows and the file does not have.
_OTHER = re.compile(r"no such (table|index): amber_|no such column|has no column named|table amber_\w+ has \d+ columns")


def is_damage(error: Exception) -> bool:
    """Tell whether an error comes from data that can not be what was written.

    Among them are texts that are no UTF-8, also in SQLite's own words about a damaged schema, and rows that break a
    constraint of ours: every write is judged before, so the index that refuses it does not match its table.
    """
    if isinstance(error, (UnicodeDecodeError, sqlite3.IntegrityError)):
        return True
    return _DAMAGE.search(str(error)) is not None


def is_other_schema(error: Exception) -> bool:
    """Tell whether a table, index or column of ours is not there."""
    return isinstance(error, sqlite3.OperationalError) and _OTHER.search(str(error)) is not None
