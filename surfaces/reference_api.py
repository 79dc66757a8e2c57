"""The reference page of the runtime API, and its OpenAPI document, made from the endpoints."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from .api.endpoint import Endpoint, Nothing
from .api.openapi import TAGS, described
from .api.routes import ENDPOINTS, PREFIX
from .reference_pages import table, text


def api_page() -> str:
    document = described(ENDPOINTS, PREFIX)
    schemas = document["components"]["schemas"]
    lines = [
        "# Runtime API",
        "",
        "Served by `jackfield serve` under `/api`. [openapi.json](openapi.json) describes it in full, and is served at",
        "`/api/openapi.json`. Every error is `{error: {code, message, hint, details}}`; [Error codes](errors.md) says",
        "which status each has. *operator*: for the local principal alone.",
    ]
    for tag, meaning in TAGS.items():
        lines += ["", f"## {meaning}"]
        for each in ENDPOINTS:
            if each.tag == tag:
                lines += ["", *_section(each, document["paths"][PREFIX + each.path][each.method.lower()], schemas)]
    return text(lines)


def openapi_file() -> str:
    return json.dumps(described(ENDPOINTS, PREFIX), indent=2, ensure_ascii=False) + "\n"


def _section(each: Endpoint, operation: Mapping[str, Any], schemas: Mapping[str, Any]) -> Iterator[str]:
    yield f"### `{each.method} {PREFIX}{each.path}`"
    yield ""
    yield f"{each.summary}.{' *operator*' if each.operator else ''}"
    if each.description:
        yield ""
        yield each.description
    given = [*_parameters(operation), *(_fields(each.body.__name__, schemas) if each.body is not Nothing else ())]
    if given:
        yield ""
        yield from table(("given", "where", "type", "meaning"), given)
    answers = [media for answer in (operation["responses"][str(each.status)],) for media in answer["content"]]
    yield ""
    yield f"Answers {each.status}: {', '.join(f'`{media}`' for media in answers)}{_told(each)}"


def _parameters(operation: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    for one in operation["parameters"]:
        needed = ", required" if one["required"] and one["in"] != "path" else ""
        yield f"`{one['name']}`", one["in"], _type(one["schema"]) + needed, one.get("description", "")


def _fields(model: str, schemas: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    schema = schemas[model]
    for name, one in schema.get("properties", {}).items():
        needed = ", required" if name in schema.get("required", ()) else ""
        yield f"`{name}`", "body", _type(one) + needed, one.get("description", "")


def _told(each: Endpoint) -> str:
    if each.answer is None:
        return ""
    return f", with {', '.join(f'`{name}`' for name in each.answer.model_fields)}"


def _type(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(_type(one) for one in schema["anyOf"] if one.get("type") != "null")
    return str(schema.get("type", "any"))
