"""The second spelling of native files → the first. What is already in the first spelling passes unchanged.

Both spellings may be mixed in one file. What has no place here (an oauth2 block, say) stays, for the schema to name.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from .filter_form import NAMES, check, words_of
from .filters import select_of
from .kinds import FILE_FORMATS
from .mapping import request_of
from .rewriting import Rewriting, names, objects

TYPE_NAMES: Final[Mapping[str, str]] = {"integer": "int", "number": "float", "boolean": "bool"}
SOURCE_ALIASES: Final[Mapping[str, str]] = {
    "api": "rest",
    "http": "rest",
    "db": "postgres",
    "postgresql": "postgres",
    "mariadb": "mysql",
    "elliot": "file",
}
# Facts about a source that some other program wrote down at run time. They say nothing about the connector.
BOOKKEEPING: Final = ("row_count", "config_snapshot", "managed", "created_at", "updated_at")
ENVIRONMENT: Final = re.compile(r"\{\{\s*env:([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")
SECRET_FIELDS: Final = ("secret_key", "user_secret_key", "pass_secret_key")


def normalise(document: Mapping[str, Any], folder: Path) -> tuple[dict[str, Any], Rewriting]:
    """(the document in its first spelling, where its fields came from). `document` itself is not changed."""
    result = copy.deepcopy(dict(document))
    rewriting = Rewriting()
    for name in ("sources", "skills", "saves", "resources"):
        if name in result and result[name] is None:
            del result[name]
    for pointer, source in objects(result, "sources"):
        _source(source, pointer, rewriting, folder)
    sources = {str(source.get("id")): source for _, source in objects(result, "sources")}
    for pointer, tool in objects(result, "tools"):
        _tool(tool, pointer, rewriting, sources)
    for pointer, skill in objects(result, "skills"):
        _skill(skill, pointer, rewriting)
    for pointer, save in objects(result, "saves"):
        _address(save, pointer, rewriting)
    return result, rewriting


def _source(source: dict[str, Any], pointer: str, rewriting: Rewriting, folder: Path) -> None:
    for name in BOOKKEEPING:
        source.pop(name, None)
    kind = source.get("type")
    if isinstance(kind, str):
        if kind in FILE_FORMATS:
            source["type"] = "file"
            source.setdefault("format", kind)
            rewriting.came_from(f"{pointer}/format", f"{pointer}/type")
        else:
            source["type"] = SOURCE_ALIASES.get(kind, kind)
    rewriting.move(source, pointer, "managed_path", "path")
    _milliseconds(source, pointer, rewriting)
    _drop_nulls(source, "data_path", "format", "table", "query", "path", "url", "dsn", "pagination", "method")
    _address(source, pointer, rewriting)
    _authorisation(source)
    if source.get("type") == "file":
        _path_of_workspace(source, folder)
    _pagination(source)


def _address(value: dict[str, Any], pointer: str, rewriting: Rewriting) -> None:
    if value.get("type") in ("postgres", "mysql"):
        rewriting.move(value, pointer, "url", "dsn")


def _milliseconds(value: dict[str, Any], pointer: str, rewriting: Rewriting) -> None:
    if isinstance(value.get("timeout_ms"), int | float) and "timeout_s" not in value:
        value["timeout_s"] = value.pop("timeout_ms") / 1000
        rewriting.came_from(f"{pointer}/timeout_s", f"{pointer}/timeout_ms")


def _authorisation(value: dict[str, Any]) -> None:
    """`auth: null` is none; a `secret_key` written as `{{ env:NAME }}` means the variable NAME."""
    auth = value.get("auth")
    if "auth" in value and auth is None:
        del value["auth"]
    if not isinstance(auth, dict):
        return
    for name in [name for name, item in auth.items() if item is None]:
        del auth[name]
    for name in SECRET_FIELDS:
        text = auth.get(name)
        if isinstance(text, str) and (reference := ENVIRONMENT.fullmatch(text.strip())):
            auth[name] = reference[1]


def _pagination(source: dict[str, Any]) -> None:
    pagination = source.get("pagination")
    if isinstance(pagination, dict):
        for name in [name for name, item in pagination.items() if item is None]:
            del pagination[name]


def _path_of_workspace(source: dict[str, Any], folder: Path) -> None:
    """A path written from the workspace (`connectors/data/x.json`) of a file that lies in `connectors/`."""
    path = source.get("path")
    if not isinstance(path, str):
        return
    head, _, rest = path.partition("/")
    if rest and head == folder.name and not (folder / path).exists() and (folder / rest).exists():
        source["path"] = rest


def _tool(tool: dict[str, Any], pointer: str, rewriting: Rewriting, sources: Mapping[str, dict[str, Any]]) -> None:
    for index, parameter in enumerate(_dicts(tool.get("parameters"))):
        _parameter(parameter, f"{pointer}/parameters/{index}")
    _milliseconds(tool, pointer, rewriting)
    _response_shape(tool, pointer, rewriting)
    for name in [name for name, value in tool.items() if value is None]:
        del tool[name]
    tool.pop("run_async", None)
    queries = tool.get("rest_query_params")
    if isinstance(queries, list):
        tool["rest_query_params"] = {name: f":{name}" for name in queries if isinstance(name, str)}
        if not queries:
            del tool["rest_query_params"]
    if "api_mapping" in tool:
        _replace(tool, pointer, rewriting, "api_mapping", "request", lambda: request_of(tool, sources))
    _limit(tool)
    check(tool, pointer, rewriting)
    asked = {name: tool[name] for name in NAMES if name in tool}
    filters = [tool.pop(name, None) for name in NAMES]
    answered = any(name in tool for name in ("sql", "request", "graph"))
    used = names(tool.get("source_ids"))
    if not answered and len(used) == 1 and any(filters):
        tool["sql"] = select_of(tool, used[0], *filters)
        rewriting.came_from(f"{pointer}/sql", pointer)
        rewriting.written_from(f"{pointer}/sql", tool["sql"], words_of(asked, pointer))
    elif answered:
        for name in (name for name in NAMES[:-1] if asked.get(name)):
            form = next(form for form in ("sql", "request", "graph") if form in tool)
            rewriting.warn(f"{pointer}/{name}", f"'{name}' is not read: the tool's {form} says what it answers.")


def _limit(tool: dict[str, Any]) -> None:
    """The tool's own `limit` is what its limit parameter means when it is not given."""
    if isinstance(tool.get("limit"), int) and "sql" not in tool:
        for parameter in _dicts(tool.get("parameters")):
            if parameter.get("name") == "limit" and parameter.get("required") is False:
                parameter.setdefault("default", tool["limit"])


def _replace(
    tool: dict[str, Any], pointer: str, rewriting: Rewriting, old: str, new: str, made: Callable[[], Any]
) -> None:
    if new not in tool:
        value = made()
        if value is None:
            return
        tool[new] = value
        rewriting.came_from(f"{pointer}/{new}", f"{pointer}/{old}")
    tool.pop(old)


def _parameter(parameter: dict[str, Any], pointer: str) -> None:
    for name in ("default", "enum", "minimum", "maximum", "items"):
        if name in parameter and parameter[name] is None:
            del parameter[name]
    for name in ("type", "items"):
        if isinstance(parameter.get(name), str):
            parameter[name] = TYPE_NAMES.get(parameter[name], parameter[name])
    items = parameter.get("items")
    if isinstance(items, dict) and isinstance(items.get("type"), str) and len(items) == 1:
        parameter["items"] = TYPE_NAMES.get(items["type"], items["type"])


def _response_shape(tool: dict[str, Any], pointer: str, rewriting: Rewriting) -> None:
    shape = tool.pop("response_shape", None)
    if isinstance(shape, dict) and "result" not in tool:
        tool["result"] = {name: value for name, value in shape.items() if value is not None}
        rewriting.came_from(f"{pointer}/result", f"{pointer}/response_shape")


def _skill(skill: dict[str, Any], pointer: str, rewriting: Rewriting) -> None:
    for name in [name for name, value in skill.items() if value is None]:
        del skill[name]
    if not skill.get("prompt_template"):
        skill.pop("prompt_template", None)
        rewriting.move(skill, pointer, "instructions", "prompt_template")
    rewriting.move(skill, pointer, "input_parameters", "parameters")
    for index, parameter in enumerate(_dicts(skill.get("parameters"))):
        _parameter(parameter, f"{pointer}/parameters/{index}")
    if skill.get("prompt_template") == "":
        del skill["prompt_template"]


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _drop_nulls(value: dict[str, Any], *names: str) -> None:
    for name in names:
        if name in value and value[name] is None:
            del value[name]
