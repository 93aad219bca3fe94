"""Every kind of schema that the package accepts, behind one interface (API 3, 4)."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError

from .errors import InvalidOptionError, message_of
from .foreign_call import settled


class SchemaIssues(ValueError):
    """A value does not fit; the message lists the issues as `path.to.field: message`, joined by `; `."""


@dataclass(frozen=True, slots=True)
class ValueSchema:
    """A schema ready for use.

    Attributes:
        json_schema: What the model sees; `{}` when the validator cannot describe itself.
        validate: Takes JSON text, returns the value; raises `SchemaIssues`.
    """

    json_schema: dict[str, Any]
    validate: Callable[[str], Awaitable[Any]]


def value_schema(schema: Any, option: str) -> ValueSchema:
    """Turn a pydantic model, type, `TypeAdapter`, JSON Schema dict or validator into a `ValueSchema`.

    Args:
        schema: As the user gave it.
        option: Name of the option, for the error.

    Raises:
        InvalidOptionError: It is of none of the accepted kinds, or not a valid JSON Schema.
    """
    if isinstance(schema, TypeAdapter):
        return _of_adapter(schema)
    if schema is None or isinstance(schema, (str, bytes, bool, int, float, BaseModel)):
        raise InvalidOptionError(
            f"{option} must be a pydantic model, a type, a JSON Schema dict or a validator, got {schema!r}."
        )
    if isinstance(schema, Mapping):
        return _of_json_schema(dict(schema), option)
    if inspect.isfunction(schema) or inspect.ismethod(schema) or inspect.isbuiltin(schema):
        return _of_validator(schema)
    try:
        return _of_adapter(TypeAdapter(schema))
    except PydanticUserError as error:
        if callable(schema) and not isinstance(schema, type):
            return _of_validator(schema)
        raise InvalidOptionError(
            f"{option} {schema!r} is not usable: {error.message}", cause=error
        ) from error


def issues_text(issues: Iterable[tuple[Iterable[object], str]]) -> str:
    """Return issues as one line (FACTS 8.5).

    Args:
        issues: Pairs of the path to the value and the message.
    """
    return "; ".join(
        f"{where}: {text}" if (where := ".".join(map(str, path))) else text for path, text in issues
    )


def _of_adapter(adapter: TypeAdapter[Any]) -> ValueSchema:
    async def validate(text: str) -> Any:
        try:
            return adapter.validate_json(text)
        except ValidationError as error:
            raise _issues_of(error) from error

    try:
        described = adapter.json_schema(by_alias=True)
    except PydanticUserError:
        described = {}
    return ValueSchema(described, validate)


def _of_json_schema(schema: dict[str, Any], option: str) -> ValueSchema:
    from jsonschema import SchemaError
    from jsonschema.validators import validator_for
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    kind = validator_for(schema)
    try:
        kind.check_schema(schema)
    except SchemaError as error:
        raise InvalidOptionError(
            f"{option} is not a valid JSON Schema: {error.message}", cause=error
        ) from error
    checker = kind(schema, registry=Registry())  # an empty one: left alone it would ask the network

    async def validate(text: str) -> Any:
        value = _loads(text)
        try:
            found = sorted(checker.iter_errors(value), key=lambda issue: list(map(str, issue.path)))
        except Unresolvable as error:
            raise SchemaIssues(f"the schema refers to {error.ref!r}, which it does not hold") from error
        if found:
            raise SchemaIssues(issues_text((issue.path, issue.message) for issue in found))
        return value

    return ValueSchema(schema, validate)


def _of_validator(check: Callable[[Any], Any]) -> ValueSchema:
    async def validate(text: str) -> Any:
        value, error = await settled(check, _loads(text))
        if isinstance(error, ValidationError):
            raise _issues_of(error) from error
        if isinstance(error, ValueError):
            raise SchemaIssues(message_of(error)) from error
        if error is not None:
            raise SchemaIssues(f"{type(error).__name__}: {message_of(error)}") from error
        return value

    return ValueSchema({}, validate)


def _issues_of(error: ValidationError) -> SchemaIssues:
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return SchemaIssues(issues_text((issue["loc"], issue["msg"]) for issue in found))


def _loads(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise SchemaIssues(f"not valid JSON: {error}") from error
