"""Every kind of schema that the package accepts, behind one interface (API 3, 4)."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUserError

from .errors import InvalidOptionError, message_of, repr_of
from .foreign_call import is_cancelled, settled

VALUE_MEMBERS = frozenset({"const", "default", "enum", "examples"})
"""Members of a JSON Schema that hold values, in which a `$ref` is a word like any other."""

_MOST_ISSUES = 20
_LONGEST_ISSUE = 300


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

    A JSON Schema is checked on a thread of its own. A validator, and what pydantic calls of the user's,
    runs on the event loop, where it may return any awaitable: one that takes long should be async.

    Args:
        schema: As the user gave it.
        option: Name of the option, for the error.

    Raises:
        InvalidOptionError: It is of none of the accepted kinds, not a valid JSON Schema, or refers to
            something that does not exist.
    """
    if isinstance(schema, TypeAdapter):
        return _of_adapter(schema, option)
    if schema is None or isinstance(schema, (str, bytes, bool, int, float, BaseModel)):
        raise InvalidOptionError(
            f"{option} must be a pydantic model, a type, a JSON Schema dict or a validator, "
            f"got {repr_of(schema)}."
        )
    if isinstance(schema, Mapping):
        return _of_json_schema(dict(schema), option)
    if inspect.isroutine(schema) or isinstance(schema, partial):
        return _of_validator(schema)
    try:
        adapter = TypeAdapter(schema)
    except Exception as error:  # of pydantic, or of the user's own class
        if callable(schema) and not isinstance(schema, type):
            return _of_validator(schema)
        raise _unusable(option, schema, error) from error
    return _of_adapter(adapter, option)


def issues_text(issues: Iterable[tuple[Iterable[object], str]]) -> str:
    """Return issues as one line (FACTS 8.5), bounded: a model mends a few at a time.

    Args:
        issues: Pairs of the path to the value and the message.
    """
    told = [
        f"{where}: {_cut(text)}" if (where := ".".join(map(str, path))) else _cut(text)
        for path, text in islice(issues, _MOST_ISSUES + 1)
    ]
    more = "; and more" if len(told) > _MOST_ISSUES else ""
    return "; ".join(told[:_MOST_ISSUES]) + more


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_ISSUE else f"{text[:_LONGEST_ISSUE]}…"


def _of_adapter(adapter: TypeAdapter[Any], option: str) -> ValueSchema:
    async def validate(text: str) -> Any:
        try:
            return adapter.validate_json(text)
        except ValidationError as error:
            raise _issues_of(error) from error
        except BaseException as error:  # of a validator of the user's; SystemExit would end the loop
            raise _broken(error) from error

    try:
        described = adapter.json_schema(by_alias=True)
    except PydanticInvalidForJsonSchema:
        described = {}
    except (PydanticUserError, NameError) as error:
        raise _unusable(option, adapter, error) from error
    return ValueSchema(described, validate)


def _of_json_schema(schema: dict[str, Any], option: str) -> ValueSchema:
    from jsonschema import SchemaError
    from jsonschema.validators import validator_for
    from jsonschema_specifications import REGISTRY
    from referencing.exceptions import Unresolvable

    try:
        kind = validator_for(schema)
        json.dumps(schema)
        if schema and not any(name in kind.VALIDATORS for name in schema):
            raise InvalidOptionError(
                f"{option} has no word of JSON Schema, only {_cut(', '.join(map(repr, schema)))}; "
                "an object is {'type': 'object', 'properties': {…}}."
            )
        kind.check_schema(schema)
        checker = kind(schema, registry=REGISTRY)  # a closed one: left alone it would ask the network
        checker.is_valid(None)
        _check_references(schema, schema)
    except SchemaError as error:
        raise InvalidOptionError(
            f"{option} is not a valid JSON Schema: {_cut(error.message)}", cause=error
        ) from error
    except Unresolvable as error:
        raise InvalidOptionError(
            f"{option} refers to {error.ref!r}, which it does not hold; put it under '$defs'.", cause=error
        ) from error
    except (RecursionError, TypeError, ValueError) as error:
        if isinstance(error, InvalidOptionError):
            raise
        raise InvalidOptionError(
            f"{option} is not a valid JSON Schema: it is nested without end or has members of a wrong kind.",
            cause=error,
        ) from error

    def first_issues(text: str) -> str:
        found = islice(checker.iter_errors(_loads(text)), _MOST_ISSUES + 1)
        return issues_text((issue.path, issue.message) for issue in sorted(found, key=_place))

    async def validate(text: str) -> Any:
        issues, error = await settled(first_issues, text)
        if error is not None:
            raise error if isinstance(error, SchemaIssues) else _broken(error)
        if issues:
            raise SchemaIssues(issues)
        return _loads(text)

    return ValueSchema(schema, validate)


def _place(issue: Any) -> list[str]:
    return list(map(str, issue.path))


def _check_references(part: Any, schema: dict[str, Any]) -> None:
    """Look up every reference of a schema that is one document.

    Raises:
        Unresolvable: It refers to something that it does not hold.
    """
    from jsonschema_specifications import REGISTRY
    from referencing.jsonschema import DRAFT202012

    resolver = REGISTRY.resolver_with_root(DRAFT202012.create_resource(schema))
    waiting = [part]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if "$id" in part and part is not schema:
                continue  # a document of its own
            if isinstance(part.get("$ref"), str):
                resolver.lookup(part["$ref"])
            waiting.extend(value for name, value in part.items() if name not in VALUE_MEMBERS)
        elif isinstance(part, list):
            waiting.extend(part)


def _of_validator(check: Callable[[Any], Any]) -> ValueSchema:
    async def validate(text: str) -> Any:
        value = _loads(text)
        try:
            judged = check(value)
            return await judged if inspect.isawaitable(judged) else judged
        except SchemaIssues:
            raise
        except ValidationError as error:
            raise _issues_of(error) from error
        except ValueError as error:
            raise SchemaIssues(_cut(message_of(error))) from error
        except GeneratorExit:
            raise
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError) and is_cancelled():
                raise
            raise _broken(error) from error

    return ValueSchema({}, validate)


def _issues_of(error: ValidationError) -> SchemaIssues:
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return SchemaIssues(issues_text((issue["loc"], issue["msg"]) for issue in found))


def _broken(error: BaseException) -> SchemaIssues:
    """Return a validator's own failure as a refusal: the model reads it as it reads that of a tool."""
    return SchemaIssues(_cut(f"{type(error).__name__}: {message_of(error)}"))


def _unusable(option: str, schema: Any, error: Exception) -> InvalidOptionError:
    said = " ".join(str(getattr(error, "message", message_of(error))).split())
    return InvalidOptionError(f"{option} {repr_of(schema)} is not usable: {said}", cause=error)


def _loads(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise SchemaIssues(f"not valid JSON: {error}") from error
