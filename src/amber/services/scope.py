"""Scopes: names that are checked the same wherever they are given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amber.errors import BadInput
from amber.model.bounds import check_name
from amber.model.collection import Body
from amber.model.fact import ancestors


def check_project(project: str | None) -> str | None:
    """Give a project as a path without slashes at its ends.

    :raises BadInput: for an empty segment.
    """
    if project is None:
        return None
    check_name("project", project)
    path = project.strip("/")
    if not path or "" in path.split("/"):
        raise BadInput(f"project {project!r} has an empty segment; write it like 'team/service'.", project=project)
    return path


def check_id(id: Any) -> str:
    """Check a fact id."""
    check_name("id", id)
    return str(id)


def optional_name(what: str, value: str | None) -> str | None:
    """Check a name that may be left out."""
    if value is not None:
        check_name(what, value)
    return value


def in_scope(body: Body, scope: Mapping[str, Any]) -> bool:
    """Tell whether a fact lies in a scope; a project holds what is below it by whole segments."""
    for name, wanted in scope.items():
        if wanted is None:
            continue
        if name == "project":
            if wanted not in ancestors(body["project"]):
                return False
        elif body[name] != wanted:
            return False
    return True


def scope_text(scope: Mapping[str, Any]) -> str:
    """Write a scope for a message."""
    return ", ".join(f"{name}={value!r}" for name, value in scope.items() if value is not None) or "without a name"
