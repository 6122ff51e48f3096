"""Registered fact types: a pydantic model that checks values here, and constraints that the store keeps everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from typing import Any

from amber.errors import BadInput, MissingExtra
from amber.model.batch import Absent, AtRevision, Expectation, Put
from amber.model.bounds import check_name
from amber.model.collection import Body
from amber.model.fact import TYPES
from amber.model.succession import merge
from amber.services.unit import Unit


class Types:
    """The types of one space. Models are known to the process that registered them; constraints to all."""

    def __init__(self) -> None:
        self._models: dict[str, Any] = {}
        self._names: dict[Any, str] = {}

    def register(
        self, unit: Unit, name: str, model: Any, unique: Sequence[str | Sequence[str]], immutable: bool
    ) -> None:
        """Register a model under a type name (see ``Memory.register``)."""
        check_name("type", name)
        if model is not None:
            _check_model(model)
        rule: Body = {"unique": _constraints(unique), "immutable": bool(immutable)}
        if model is not None:
            fields = set(model.model_fields)
            unknown = sorted({path[1] for paths in rule["unique"] for path in paths} - fields)
            if unknown:
                raise BadInput(f"{model.__name__} has no field {unknown}; it has {sorted(fields)}.", fields=unknown)

        def attempt() -> None:
            old = unit.get(TYPES, name)
            if old is not None and old.body == rule:
                return
            expected: Expectation = (
                AtRevision(TYPES.name, name, old.revision) if old is not None else Absent(TYPES.name, name)
            )
            unit.commit([Put(TYPES.name, name, rule)], [expected])

        unit.retrying(attempt)
        if model is not None:
            self._models[name] = model
            self._names.setdefault(model, name)

    def name_of(self, value: Any) -> str | None:
        """Give the type name of a model instance; the nearest registered class decides.

        :raises BadInput: for a model that was not registered.
        """
        if not hasattr(value, "model_dump"):
            return None
        for cls in type(value).__mro__:
            if cls in self._names:
                return self._names[cls]
        name = type(value).__name__
        raise BadInput(f"{name} is not registered; call memory.register('{name.lower()}', {name}) first.")

    def checked(self, name: str | None, value: Any) -> Any:
        """Give a value as its type's model makes it; as it is when this process registered no model.

        :raises BadInput: when the model refuses it.
        """
        model = self._models.get(name) if name is not None else None
        if model is None or isinstance(value, model):
            return value
        return _validated(name, model, value)

    def patched(self, name: str | None, value: Body, patch: Body) -> Any:
        """Give the value of a fact with a patch merged in, as its type's model makes it.

        :raises BadInput: when the model refuses it, or has no field for a member of the patch.
        """
        merged = merge(value, patch)
        model = self._models.get(name) if name is not None else None
        if model is None:
            return merged
        computed = set(model.model_computed_fields)
        aliases = {field.alias for field in model.model_fields.values()}
        unknown = sorted(set(patch) - set(model.model_fields) - aliases)
        if unknown and (model.model_config.get("extra") != "allow" or computed & set(unknown)):
            raise BadInput(f"{model.__name__} has no field {unknown} to patch.", fields=unknown)
        return _validated(name, model, {key: member for key, member in merged.items() if key not in computed})


def _validated(name: str | None, model: Any, value: Any) -> Any:
    # what was stored carries the names of the fields, whatever their aliases are
    named = {"by_alias": True, "by_name": True} if "by_name" in signature(model.model_validate).parameters else {}
    try:
        return model.model_validate(value, **named)
    except ValueError as error:
        raise BadInput(f"The value does not fit type {name!r}: {error}", type=name) from error


def _check_model(model: Any) -> None:
    try:
        import pydantic
    except ImportError as error:
        raise MissingExtra("Types need pydantic: pip install 'amber[pydantic]'.") from error
    if not (isinstance(model, type) and issubclass(model, pydantic.BaseModel)):
        raise BadInput(f"A type is registered with a pydantic model class, not {model!r}.", model=model)


def _constraints(unique: Sequence[str | Sequence[str]]) -> list[list[list[str]]]:
    """Give constraints as lists of payload paths: ``("a", "b")`` is one over both, ``[("a",), ("b",)]`` are two."""
    if not isinstance(unique, (tuple, list)) or not all(isinstance(each, (str, tuple, list)) for each in unique):
        raise BadInput(f"unique takes a tuple of field names, like ('email',), not {unique!r}.", unique=unique)
    given = [each for each in unique if isinstance(each, str)]
    if given and len(given) != len(unique):
        raise BadInput(f"unique is either field names or tuples of field names, not both: {unique!r}.", unique=unique)
    groups: list[Sequence[str]] = [given] if given else [each for each in unique if not isinstance(each, str)]
    for group in groups:
        if not group or not all(isinstance(field, str) and field for field in group):
            raise BadInput(f"A unique constraint needs field names, not {group!r}.", unique=unique)
    return [[["payload", field] for field in group] for group in groups]
