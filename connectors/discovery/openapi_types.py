"""JSON Schemas of an OpenAPI document as the columns of a source and the parameters of a tool."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from ...graphs.model import Json
from .columns import looks_secret_by_name
from .envelope import path_of
from .found import Argument, Column
from .naming import identifier
from .openapi_document import resolved

DEEPEST: Final = 4  # objects in objects that become columns
MOST_VALUES: Final = 60
FORMATS: Final[Mapping[str, str]] = {"date": "date", "date-time": "datetime"}
WORDS: Final[Mapping[str, str]] = {"integer": "int", "number": "float", "boolean": "bool", "string": "string"}
# Names that would fit any tool: what they belong to goes before them.
GENERIC: Final = frozenset(
    ("data", "value", "input", "query", "args", "object", "item", "type", "key", "param", "params", "name", "filter")
)


def merged(document: Mapping[str, Any], schema: Any, depth: int = 0) -> Mapping[str, Any]:
    """A schema with its reference followed and its `allOf` made one; of a choice the first that is not null."""
    schema = resolved(document, schema)
    if not isinstance(schema, Mapping) or depth > DEEPEST * 2:
        return {}
    for choice in ("oneOf", "anyOf"):
        options = schema.get(choice)
        if isinstance(options, list):
            for option in options:
                found = merged(document, option, depth + 1)
                if _type(found) != "null":
                    return {**found, **{key: held for key, held in schema.items() if key != choice}}
    parts = schema.get("allOf")
    if not isinstance(parts, list):
        return schema
    whole: dict[str, Any] = {key: held for key, held in schema.items() if key != "allOf"}
    properties: dict[str, Any] = {}
    required: list[Any] = []
    for part in [*parts, schema]:
        one = schema if part is schema else merged(document, part, depth + 1)
        properties.update(_properties(one))
        required += _listed(one.get("required"))
        whole.setdefault("type", one.get("type"))
    return {**whole, "properties": properties, "required": required}


def _properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    found = schema.get("properties")
    return found if isinstance(found, Mapping) else {}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _type(schema: Mapping[str, Any]) -> str:
    """The type, of several the first that is not null."""
    found = schema.get("type")
    if isinstance(found, list):
        found = next((one for one in found if one != "null"), "null")
    if found is None:
        found = "object" if "properties" in schema else "array" if "items" in schema else ""
    return str(found)


def word(document: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """The word of a source's `schema` for one field."""
    found = _type(schema)
    if found == "array":
        item = word(document, merged(document, schema.get("items")))
        return "json" if item == "json" or item.endswith("[]") else f"{item}[]"
    if found == "string":
        return FORMATS.get(str(schema.get("format")), "string")
    return WORDS.get(found, "json" if found == "object" else "string")


def columns(document: Mapping[str, Any], schema: Any, name: str) -> tuple[Column, ...]:
    """The columns of records of `schema`, as the source flattens them: `address_city` of an object in an object."""
    found = list(_columns(document, merged(document, schema), "", 0))
    keys = [key for key in ("id", "uuid", f"{name}_id", "code", "slug") if any(c.name == key for c in found)]
    return tuple(replace(one, is_key=bool(keys) and one.name == keys[0]) for one in found)


def _columns(document: Mapping[str, Any], schema: Mapping[str, Any], before: str, depth: int) -> Iterator[Column]:
    required = _listed(schema.get("required"))
    for name, held in _properties(schema).items():
        one = merged(document, held)
        if one.get("writeOnly"):
            continue
        place = f"{before}{name}"
        if _type(one) == "object" and _properties(one) and depth < DEEPEST:
            yield from _columns(document, one, f"{place}_", depth + 1)
            continue
        items = merged(document, one.get("items")) if _type(one) == "array" else {}
        if _type(items) == "object":
            continue  # records in records are a table of their own
        nullable = bool(name not in required or depth or one.get("nullable") or "null" in _listed(one.get("type")))
        yield Column(
            place,
            word(document, one),
            nullable,
            values=_values(one),
            is_secret=looks_secret_by_name(place),
        )


def _values(schema: Mapping[str, Any]) -> tuple[Json, ...]:
    values = schema.get("enum")
    return tuple(v for v in values if isinstance(v, str | int))[:MOST_VALUES] if isinstance(values, list) else ()


def argument(document: Mapping[str, Any], parameter: Mapping[str, Any], name: str, thing: str) -> Argument:
    """A tool's parameter for one of an operation; `name` is what the tool calls it, `thing` what it belongs to."""
    schema = merged(document, parameter.get("schema")) if "schema" in parameter else parameter
    kind = word(document, schema)
    items = ""
    if kind.endswith("[]"):
        kind, items = "array", kind.removesuffix("[]")
        schema = {**merged(document, schema.get("items")), "description": schema.get("description")}
    if kind == "json":
        kind = "string"
    values = schema.get("enum")
    said = " ".join(str(parameter.get("description") or schema.get("description") or "").split())
    # An enum of an array is of its items, which a parameter cannot say.
    fits = isinstance(values, list) and not items and all(isinstance(v, str | int | float) for v in values)
    known = f" Known: {', '.join(map(str, values[:12]))}." if isinstance(values, list) and not fits else ""
    written = str(parameter.get("name", name))
    description = f"{(said or f'{written} of the {thing}')[:240].rstrip('.')}, passed on as it is.{known}"
    example = parameter.get("example", schema.get("example", schema.get("default")))
    enum: tuple[Json, ...] = tuple(values[:MOST_VALUES]) if fits and isinstance(values, list) else ()
    required = bool(parameter.get("required")) or parameter.get("in") == "path"
    return Argument(name, kind, description, required, enum, items, example)


def argument_name(written: str, thing: str, taken: set[str]) -> str:
    """The name that a tool gives a parameter: in snake case, and saying what it is of."""
    name = identifier(written)
    if len(name) <= 2 or name in GENERIC:
        name = f"{thing}_{name}"
    free, number = name, 2
    while free in taken:
        free, number = f"{name}_{number}", number + 1
    taken.add(free)
    return free


def records(document: Mapping[str, Any], schema: Any) -> tuple[str, Any] | None:
    """(data_path, schema of one record) of a reply: of a list, or of an object that holds one; None for one record."""
    whole = merged(document, schema)
    if _type(whole) == "array":
        return "", whole.get("items")
    found = [
        (keys, items)
        for keys, items in _lists(document, whole, ())
        if _type(merged(document, items)) == "object" or len(keys) == 1
    ]
    objects = [one for one in found if _type(merged(document, one[1])) == "object"]
    wrapping = _is_envelope(whole, [keys for keys, _ in objects])
    return (path_of(objects[0][0]), objects[0][1]) if objects and wrapping else None


def _lists(
    document: Mapping[str, Any], schema: Mapping[str, Any], keys: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, held in _properties(schema).items():
        one = merged(document, held)
        here = (*keys, str(name))
        if _type(one) == "array":
            yield here, one.get("items")
        elif _type(one) == "object" and len(here) < 2:
            yield from _lists(document, one, here)


def _is_envelope(schema: Mapping[str, Any], lists: list[tuple[str, ...]]) -> bool:
    """Whether an object is there for the one list in it, and is not a record that happens to hold lists."""
    names = {str(name).lower() for name in _properties(schema)}
    return len({keys[0] for keys in lists}) == 1 and not names & {"id", "uuid", "name", "title", "slug"}
