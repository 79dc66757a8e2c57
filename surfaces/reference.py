"""The reference pages and JSON Schemas, made from what the code declares: kinds of node and save, commands, codes.

`python -m jackfield.surfaces.reference docs/reference` writes them; with `--check` it says which are out of date.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from inspect import cleandoc
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from ..connectors.native.schema import connector_schema
from ..graphs.model import Json
from ..nodes import NODE_TYPES
from ..nodes.base import Effect, NodeType, Port
from ..nodes.saves import SAVES
from ..nodes.saves.base import AnySaveType
from .reference_api import api_page, openapi_file
from .reference_pages import command_page, error_page, lint_page, sql_page, table, text

Schema = Mapping[str, Json]
DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
EFFECTS: Final[Mapping[Effect, str]] = {
    Effect.PURE: "computes; nothing outside is touched",
    Effect.READS: "reads from outside; a transient failure is tried again inside the deadline",
    Effect.WRITES: "changes something outside; never repeated without an idempotency key",
    Effect.ASKS: "asks whoever called; the call may begin anew with the answer, so nothing is written before",
}


def pages() -> Mapping[str, str]:
    """Every file of the reference, by its path inside the reference folder."""
    made = {
        "README.md": _index(),
        "commands.md": command_page(),
        "errors.md": error_page(),
        "lint.md": lint_page(),
        "sql.md": sql_page(),
        "api.md": api_page(),
        "openapi.json": openapi_file(),
        "schema/connector.json": _json(connector_schema()),
    }
    for kind in NODE_TYPES:
        made[f"nodes/{kind.name}.md"] = _node_page(kind)
        made[f"schema/node.{kind.name}.json"] = _schema_file(kind.configuration, f"Configuration of {kind.name}")
    for save in SAVES:
        made[f"saves/{save.name}.md"] = _save_page(save)
        made[f"schema/save.{save.name}.json"] = _schema_file(save.configuration, f"Configuration of save {save.name}")
    return made


def stale(folder: Path) -> list[str]:
    """The paths that are missing, different or left over in `folder`."""
    made = pages()
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    return sorted(
        name
        for name in made.keys() | there
        if name not in made or name not in there or (folder / name).read_text("utf-8") != made[name]
    )


def write(folder: Path) -> None:
    """Make `folder` hold the reference and nothing else."""
    made = pages()
    for name in stale(folder):
        path = folder / name
        if name in made:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(made[name], "utf-8")
        else:
            path.unlink()


def _index() -> str:
    lines = [
        "# Reference",
        "",
        "Made by `scripts/docs` from the declarations in the code; do not edit these pages by hand.",
        "",
        "## Kinds of node",
        "",
        *table(
            ("kind", "what it does", "effect"),
            ((f"[`{k.name}`](nodes/{k.name}.md)", k.description, k.effect.value) for k in _sorted(NODE_TYPES)),
        ),
        "",
        "## Kinds of save",
        "",
        *table(
            ("save", "what it does", "modes"),
            ((f"[`{s.name}`](saves/{s.name}.md)", s.description, ", ".join(s.modes)) for s in _sorted(SAVES)),
        ),
        "",
        "## More",
        "",
        "* [Commands](commands.md)",
        "* [Error codes](errors.md)",
        "* [Lint codes](lint.md)",
        "* [SQL](sql.md)",
        "* [Runtime API](api.md), and its [OpenAPI document](openapi.json)",
        "* [JSON Schema of connector files](schema/connector.json), as `jackfield schema` prints it;",
        "  `schema/` also holds that of each configuration",
    ]
    return text(lines)


def _node_page(kind: NodeType[Any]) -> str:
    lines = [
        f"# `{kind.name}`",
        "",
        _sentence(kind.description),
        "",
        f"Effect: **{kind.effect.value}** – {EFFECTS[kind.effect]}.",
        "",
        "## Inputs",
        "",
        *_ports(kind.ports.inputs, kind.ports.open_inputs, "input"),
        "",
        "## Outputs",
        "",
        *_ports(kind.ports.outputs, kind.ports.open_outputs, "output"),
    ]
    if kind.ports_of is not None:
        lines += ["", "The ports of one node depend on its configuration."]
    return text(
        [*lines, "", "## Configuration", "", *_configuration(kind.configuration), "", _schema_link("node", kind)]
    )


def _save_page(save: AnySaveType) -> str:
    lines = [
        f"# save `{save.name}`",
        "",
        _sentence(save.description),
        "",
        "Modes: " + ", ".join(f"`{mode}`" for mode in save.modes) + ".",
        "",
        "## Configuration",
        "",
        *_configuration(save.configuration),
        "",
        _schema_link("save", save),
    ]
    return text(lines)


def _schema_link(what: str, kind: NodeType[Any] | AnySaveType) -> str:
    return f"JSON Schema: [`{what}.{kind.name}.json`](../schema/{what}.{kind.name}.json)"


def _ports(ports: Sequence[Port], open_: bool, what: str) -> Iterator[str]:
    if ports:
        named = ((f"`{p.name}`", _type(p.schema, {}), "yes" if p.required else "no", p.description) for p in ports)
        if what == "input":
            yield from table(("port", "type", "required", "what it is"), named)
        else:
            yield from table(("port", "type", "what it is"), ((name, type_, is_) for name, type_, _, is_ in named))
    if open_:
        yield from [""] if ports else []
        yield f"Any other {what} is allowed." if ports else f"Any {what} is allowed."
    elif not ports:
        yield f"It has no {what}s."


def _configuration(model: type[BaseModel]) -> Iterator[str]:
    schema = model.model_json_schema()
    definitions: Mapping[str, Schema] = schema.get("$defs", {})
    if model.__doc__:
        yield from cleandoc(model.__doc__).splitlines()
        yield ""
    yield from _fields(schema, definitions)
    for name in _used(schema, definitions):
        definition = definitions[name]
        yield from ["", f"### {name}", ""]
        if definition.get("description"):
            yield from [*definition["description"].splitlines(), ""]
        yield from _fields(definition, definitions)


def _fields(schema: Schema, definitions: Mapping[str, Schema]) -> Iterator[str]:
    properties: Mapping[str, Schema] = schema.get("properties", {})
    if not properties:
        yield "One of: " + _type(schema, definitions) + "." if "enum" in schema else "Nothing to configure."
    else:
        required = schema.get("required", ())
        rows = (
            (f"`{name}`", _type(field, definitions), _default(name in required, field), field.get("description", ""))
            for name, field in properties.items()
        )
        yield from table(("field", "type", "default", "what it is"), rows)
    if schema.get("additionalProperties") is True:
        yield from ["", "Further fields are values of input ports."]


def _default(required: bool, field: Schema) -> str:
    if required:
        return "required"
    default = field.get("default")
    return "" if default is None else f"`{json.dumps(default, ensure_ascii=False)}`"


def _type(schema: Schema, definitions: Mapping[str, Schema]) -> str:
    """A schema in a few words, with links to the sections of the page for its definitions."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})" if name in definitions else name
    for word in ("anyOf", "oneOf"):
        if word in schema:
            parts = [_type(branch, definitions) for branch in schema[word] if branch.get("type") != "null"]
            return " or ".join(dict.fromkeys(parts))
    if "const" in schema or "enum" in schema:
        values = [schema["const"]] if "const" in schema else schema["enum"]
        return ", ".join(f"`{json.dumps(value, ensure_ascii=False)}`" for value in values)
    if "table" in schema.get("behavior", ()):
        return "table"
    found = schema.get("type", "any")
    if found == "array":
        items = schema.get("items") or (schema.get("prefixItems") or [{}])[0]
        return f"list of {_type(items, definitions)}" if items else "list"
    if found == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_type(schema['additionalProperties'], definitions)}"
    return " or ".join(found) if isinstance(found, list) else str(found)


def _used(schema: Schema, definitions: Mapping[str, Schema]) -> list[str]:
    """The definitions that a schema leads to, in the order a reader meets them."""
    found: list[str] = []
    waiting = [{key: value for key, value in schema.items() if key != "$defs"}]
    while waiting:
        for reference in _references(waiting.pop(0)):
            if reference in definitions and reference not in found:
                found.append(reference)
                waiting.append(dict(definitions[reference]))
    return found


def _references(value: Json) -> Iterator[str]:
    if isinstance(value, Mapping):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"].rpartition("/")[2]
        for inner in value.values():
            yield from _references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _references(inner)


def _schema_file(model: type[BaseModel], title: str) -> str:
    schema = {"$schema": DIALECT, **model.model_json_schema(), "title": title}
    return _json(schema)


def _json(schema: Schema) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _sorted(kinds: Iterable[Any]) -> list[Any]:
    return sorted(kinds, key=lambda kind: str(kind.name))


def main(arguments: Sequence[str]) -> int:
    """Write or check the folder named; the exit code."""
    checking = "--check" in arguments
    folders = [argument for argument in arguments if not argument.startswith("--")]
    if len(folders) != 1 or len(arguments) != len(folders) + checking:
        sys.stderr.write("usage: python -m jackfield.surfaces.reference FOLDER [--check]\n")
        return 2
    folder = Path(folders[0])
    if not checking:
        write(folder)
        return 0
    old = stale(folder)
    for name in old:
        sys.stderr.write(f"{folder / name} is out of date: run scripts/docs\n")
    return 1 if old else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
