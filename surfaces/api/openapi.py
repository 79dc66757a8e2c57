"""The OpenAPI 3.1 document of the API, made from its endpoints."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.metadata import version
from typing import Any, Final

import msgspec
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from ...graphs.errors import STATUS, Code
from .endpoint import OPERATOR_ONLY, Endpoint, Nothing
from .shapes import ErrorAnswer

TEMPLATE: Final = "#/components/schemas/{model}"
JSON: Final = "application/json"
PATH_PARAMETER: Final = re.compile(r"\{(\w+)\}")
TAGS: Final[Mapping[str, str]] = {
    "connectors": "Connectors and their text",
    "sources": "Where rows come from",
    "tools": "What agents call",
    "skills": "Prompts over tools",
    "runs": "Calls under way and ended",
    "results": "Whole answers",
    "events": "What happens, as it happens",
    "sessions": "Who called what",
    "audit": "Every call, on record",
    "facts": "What is set up, and dictionaries",
}
# What any endpoint can answer.
ALWAYS: Final = ((Code.AUTH_REQUIRED, 401), (Code.INTERNAL_ERROR, 500))


@lru_cache(maxsize=4)
def document(endpoints: tuple[Endpoint, ...], prefix: str) -> bytes:
    """The document as JSON."""
    return msgspec.json.encode(described(endpoints, prefix))


def described(endpoints: Sequence[Endpoint], prefix: str) -> dict[str, Any]:
    """The document as a dictionary."""
    schemas, components = _components(endpoints)
    paths: dict[str, dict[str, Any]] = {}
    for each in endpoints:
        paths.setdefault(prefix + each.path, {})[each.method.lower()] = _operation(each, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Jackfield runtime API",
            "version": version("jackfield"),
            "description": "What the studio lives on. Every error is `{error: {code, message, hint, details}}`.",
        },
        "tags": [{"name": name, "description": text} for name, text in TAGS.items()],
        "paths": paths,
        "components": {"schemas": components},
    }


Schemas = Mapping[type[BaseModel], Mapping[str, Any]]


def _components(endpoints: Sequence[Endpoint]) -> tuple[Schemas, dict[str, Any]]:
    """The reference of each model as it is given or told, and the schemas that they lead to."""
    models: dict[type[BaseModel], Any] = {ErrorAnswer: "serialization"}
    for each in endpoints:
        if each.body is not Nothing:
            models[each.body] = "validation"
        if each.answer is not None:
            models[each.answer] = "serialization"
    found, definitions = models_json_schema(list(models.items()), ref_template=TEMPLATE)
    return {model: found[(model, mode)] for model, mode in models.items()}, definitions.get("$defs", {})


def _operation(each: Endpoint, schemas: Schemas) -> dict[str, Any]:
    description = " ".join(filter(None, (each.description, OPERATOR_ONLY if each.operator else "")))
    operation: dict[str, Any] = {
        "operationId": each.name,
        "tags": [each.tag],
        "summary": each.summary,
        **({"description": description} if description else {}),
        "parameters": [*_path_parameters(each), *_query_parameters(each), *_header_parameters(each)],
        "responses": {str(each.status): _success(each, schemas), **_failures(each, schemas)},
    }
    if each.body is not Nothing:
        required = any(field.is_required() for field in each.body.model_fields.values())
        operation["requestBody"] = {"required": required, "content": {JSON: {"schema": schemas[each.body]}}}
    return operation


def _path_parameters(each: Endpoint) -> Iterator[dict[str, Any]]:
    for name in PATH_PARAMETER.findall(each.path):
        yield {
            "name": name,
            "in": "path",
            "required": True,
            "description": each.parameters[name],
            "schema": {"type": "string"},
        }


def _query_parameters(each: Endpoint) -> Iterator[dict[str, Any]]:
    schema = each.query.model_json_schema()
    for name, field in schema.get("properties", {}).items():
        shown = {key: value for key, value in field.items() if key not in ("title", "description")}
        yield {
            "name": name,
            "in": "query",
            "required": name in schema.get("required", ()),
            **({"description": field["description"]} if "description" in field else {}),
            "schema": shown,
        }


def _header_parameters(each: Endpoint) -> Iterator[dict[str, Any]]:
    for name, place, meaning, required in each.headers:
        # OpenAPI leaves Accept to the media types of the answers, and says to pass over a parameter of that name.
        if place == "request" and name != "Accept":
            yield {
                "name": name,
                "in": "header",
                "required": required,
                "description": meaning,
                "schema": {"type": "string"},
            }


def _success(each: Endpoint, schemas: Schemas) -> dict[str, Any]:
    content: dict[str, Any] = {}
    if each.answer is not None:
        content[JSON] = {"schema": schemas[each.answer]}
    content |= {other.media: {"schema": dict(other.schema)} for other in each.others}
    told: dict[str, Any] = {"description": each.summary, "content": content}
    headers = [(name, meaning) for name, place, meaning, _ in each.headers if place == "response"]
    if headers:
        told["headers"] = {name: {"description": text, "schema": {"type": "string"}} for name, text in headers}
    return told


def _failures(each: Endpoint, schemas: Schemas) -> dict[str, Any]:
    """By status, with the codes that it stands for."""
    codes: list[tuple[Code, int]] = [*ALWAYS]
    if each.operator:
        codes.append((Code.ACCESS_DENIED, 403))
    if each.body is not Nothing:
        codes.append((Code.VALIDATION_INVALID_PARAMS, 400))
    if each.body is not Nothing or each.query is not Nothing:
        codes += [(code, 422) for code in (Code.VALIDATION_INVALID_PARAMS, Code.VALIDATION_MISSING_FIELD)]
    codes += [error if isinstance(error, tuple) else (error, STATUS[error].http) for error in each.errors]
    statuses: dict[int, dict[str, None]] = {}
    for code, status in codes:
        statuses.setdefault(status, {})[code.value] = None
    return {
        str(status): {
            "description": ", ".join(named),
            "content": {JSON: {"schema": schemas[ErrorAnswer]}},
        }
        for status, named in sorted(statuses.items())
    }
