"""The cases run on what the tests of the library run on."""

from tests.services.conftest import clock, memory, open_at, open_memory, sqlite_path, target

__all__ = ["clock", "memory", "open_at", "open_memory", "sqlite_path", "target"]
