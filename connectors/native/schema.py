"""One JSON Schema of a native connector file, made from the declarations: for editors, forms and `jackfield schema`.

Sources and saves are the fields of their kinds, whatever kinds there are. The schema is that of the first spelling,
the one to write, and of the filter form of the second, marked as deprecated; `read` takes all of the second.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel

from . import document as fields
from .filter_form import FilterForm
from .kinds import FILE_FORMATS, request_model, save_models, source_models

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def connector_schema() -> dict[str, Any]:
    """The schema of a whole connector file."""
    definitions: dict[str, Any] = {}
    top = _object(fields.Top, definitions)
    properties = {"$schema": {"type": "string"}, **top["properties"]}
    properties["sources"] = _list([_source(name, model, definitions) for name, model in _all_sources()])
    properties["tools"] = _list([_tool(definitions)])
    properties["skills"] = _list([_skill(definitions)])
    properties["resources"] = _list([_resource(definitions)])
    properties["saves"] = _list([_save(name, model, definitions) for name, model in save_models().items()])
    properties["evals"] = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
    return {
        "$schema": DIALECT,
        "title": "Jackfield connector",
        "type": "object",
        "properties": properties,
        "required": top["required"],
        "additionalProperties": False,
        "$defs": dict(sorted(definitions.items())),
    }


def _all_sources() -> list[tuple[str, type[BaseModel]]]:
    models = source_models()
    short = [(name, models["file"]) for name in FILE_FORMATS] if "file" in models else []
    return [*models.items(), *short]


def _source(name: str, model: type[BaseModel], definitions: dict[str, Any]) -> dict[str, Any]:
    own = _object(model, definitions)
    if name in FILE_FORMATS:
        own["properties"].pop("format", None)
        own["required"] = [field for field in own["required"] if field != "format"]
    own["properties"].pop("children", None)  # the graph's, found from the SQL
    identity = _object(fields.SourceIdentity, definitions)
    return _named(name, identity, own)


def _save(name: str, model: type[BaseModel], definitions: dict[str, Any]) -> dict[str, Any]:
    return _named(name, _object(fields.SaveIdentity, definitions), _object(model, definitions))


def _named(name: str, identity: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """An object of one `type`: what all have, then what this kind has."""
    properties = {**identity["properties"], "type": {"const": name}, **own["properties"]}
    required = list(dict.fromkeys(["id", "type", *own["required"]]))
    return {
        "title": name,
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _tool(definitions: dict[str, Any]) -> dict[str, Any]:
    tool = _object(fields.Tool, definitions)
    tool["properties"]["request"] = {"type": "object", **_object(request_model(), definitions)}
    form = _object(FilterForm, definitions)["properties"]
    tool["properties"] |= {name: {**schema, "deprecated": True} for name, schema in form.items()}
    return {"type": "object", **tool, "additionalProperties": False}


def _skill(definitions: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", **_object(fields.Skill, definitions), "additionalProperties": False}


def _resource(definitions: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", **_object(fields.Resource, definitions), "additionalProperties": False}


def _object(model: type[BaseModel], definitions: dict[str, Any]) -> dict[str, Any]:
    """`properties` and `required` of a model; what it refers to goes to `definitions`."""
    schema = model.model_json_schema(ref_template="#/$defs/{model}")
    definitions.update(schema.pop("$defs", {}))
    return {"properties": schema.get("properties", {}), "required": schema.get("required", [])}


def _list(items: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "array", "items": items[0] if len(items) == 1 else {"oneOf": items}}
