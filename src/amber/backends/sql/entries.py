"""Tokens that stand for what the field index keeps."""

from __future__ import annotations

from zlib import crc32

from amber.store.derive import Derived


def entry_token(space: int, collection: str, path: str, value: str) -> str:
    """Give the token of a field entry. Two entries may have the same one: who looks one up compares the bodies."""
    entry = f"{collection}\0{path}\0{value}"
    return f"{space:x}={crc32(entry.encode()):x}"


def group_token(space: int, collection: str, group: str) -> str:
    """Give the token of all documents of a group that have field entries."""
    entry = f"{collection}\0{group}"
    return f"{space:x}={crc32(entry.encode()):x}"


def entry_tokens(space: int, collection: str, derived: Derived) -> list[str]:
    """Give the distinct tokens of a document's field entries."""
    tokens = [entry_token(space, collection, path, value) for path, value in derived.entries]
    if derived.group:
        tokens.append(group_token(space, collection, derived.group))
    return [*dict.fromkeys(tokens)]
