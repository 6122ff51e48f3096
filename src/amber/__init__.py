"""The memory of AI agents, kept like a database."""

from typing import TYPE_CHECKING, Any

from amber import errors
from amber.memory import Memory
from amber.model.fact import Fact
from amber.model.forget import Forgotten
from amber.model.history import Diff, Entry, Undone
from amber.model.message import Message, Session
from amber.pipeline.importer import Imported
from amber.services.listing import FactPage
from amber.services.recall import Hit

if TYPE_CHECKING:
    from amber.aio import AsyncMemory

__all__ = [
    "Memory",
    "AsyncMemory",
    "Fact",
    "FactPage",
    "Message",
    "Session",
    "Entry",
    "Diff",
    "Undone",
    "Hit",
    "Imported",
    "Forgotten",
    "errors",
]


def __getattr__(name: str) -> Any:
    # asyncio takes longer to import than all of Amber that a command needs
    if name == "AsyncMemory":
        from amber.aio import AsyncMemory

        return AsyncMemory
    raise AttributeError(f"module 'amber' has no attribute {name!r}")
