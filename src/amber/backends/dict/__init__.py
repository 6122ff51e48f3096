"""The in-process store: dicts and a lock. For tests and throw-away agents, and the oracle of the other stores."""

from amber.backends.dict.store import DictStore

__all__ = ["DictStore"]
