"""The memory of AI agents, kept like a database."""

from amber import errors
from amber.memory import Memory
from amber.model.fact import Fact
from amber.model.forget import Forgotten
from amber.model.history import Diff, Entry, Undone
from amber.model.message import Message, Session
from amber.pipeline.importer import Imported
from amber.services.listing import FactPage
from amber.services.recall import Hit

__all__ = [
    "Memory",
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
