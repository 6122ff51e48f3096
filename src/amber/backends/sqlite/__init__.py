"""The embedded store: one SQLite file, several threads and processes."""

from amber.backends.sqlite.store import SQLiteStore

__all__ = ["SQLiteStore"]
