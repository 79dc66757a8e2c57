"""The sources in an OpenAPI document: each GET that answers a list, or one record by what its path names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import yaml

from ...graphs.errors import Code, JackfieldError
from ...graphs.model import Json
from .found import Argument, Found
from .naming import identifier, name_of_address, plural, singular
from .openapi_document import auth_of, is_openapi, looks_like_yaml, resolved, server_of
from .openapi_types import argument, argument_name, columns, records

__all__ = ["from_yaml", "is_openapi", "looks_like_yaml", "sources_of"]

MOST: Final = 25
MAX_PAGES: Final = 100
PLACEHOLDER: Final = re.compile(r"\{([^{}]+)\}")
# Parts of a path that say what is done, and what schemas' names are dressed with.
DOING: Final = re.compile(r"(^|_)(find|get|search|list|by|query|fetch|all|latest|recent)(_|$)")
DRESSED: Final = re.compile(r"(_(response|dto|model|schema|item|entity|resource|summary|base|list|v\d+))+$")
SIZES: Final = ("per_page", "perpage", "page_size", "pagesize", "limit", "size", "count", "_limit", "top", "$top")
CURSORS: Final = (
    "cursor",
    "page_token",
    "pagetoken",
    "next_token",
    "nexttoken",
    "after",
    "starting_after",
    "continuation",
)


def from_yaml(text: str) -> Any:
    """The document of a YAML text. Raises SOURCE_BAD_REPLY."""
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError):
        raise JackfieldError(
            Code.SOURCE_BAD_REPLY,
            "The OpenAPI document is not YAML that can be read.",
            "Give its JSON, if there is one.",
        ) from None


def sources_of(document: Mapping[str, Any], address: str, name: str, auth: Any = None) -> tuple[Found, ...]:
    """What an agent can read of the API. `address` is where the document was found; `auth` what was given with it.

    Raises SCHEMA_NOT_FOUND when the document has no GET that answers JSON records.
    """
    server = server_of(document, address)
    if urlsplit(server).hostname != urlsplit(address).hostname:
        auth = None  # what was given was for the document's host, and a document may name any other
    taken: set[str] = set()
    found: list[Found] = []
    for path, operation, shared in _reads(document):
        one = _source(document, server, path, operation, shared, name, auth, taken)
        if one is not None:
            found.append(one)
    if not found:
        raise JackfieldError(
            Code.SCHEMA_NOT_FOUND,
            f"The OpenAPI document of '{name}' has no GET operation that answers JSON records.",
            "Discover one address of the API itself.",
            {"source": name},
        )
    found.sort(key=lambda one: (one.is_single, any(argument.required for argument in one.arguments)))
    return tuple(found[:MOST])


def _reads(document: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any], list[Any]]]:
    """(path, operation, parameters of the path) of each GET that is not deprecated."""
    for path, item in document["paths"].items():
        held = resolved(document, item)
        operation = held.get("get") if isinstance(held, Mapping) else None
        if isinstance(operation, Mapping) and not operation.get("deprecated"):
            yield str(path), operation, list(held.get("parameters") or ())


def _source(
    document: Mapping[str, Any],
    server: str,
    path: str,
    operation: Mapping[str, Any],
    shared: list[Any],
    name: str,
    given: Any,
    taken: set[str],
) -> Found | None:
    schema = _reply(document, operation)
    if schema is None:
        return None
    listed = records(document, schema)
    is_single = listed is None
    data_path, record = listed if listed is not None else ("[@]", schema)
    thing = _thing(path, record)
    held = columns(document, record, thing)
    if not held:
        return None
    parameters = _parameters(document, operation, shared)
    paged, used = _pages(parameters)
    url, params, arguments = _arguments(document, path, parameters, used, thing)
    if any(p.get("in") in ("header", "cookie", "body") and p.get("required") for p in parameters):
        return None
    own = _free(thing if is_single else plural(thing), path, arguments, is_single, taken)
    auth = given if isinstance(given, Mapping) else auth_of(document, operation, name)
    source: dict[str, Json] = {"id": own, "type": "rest", "url": f"{server}{url}"}
    optional = {"params": params, "auth": auth, "data_path": data_path, **paged}
    source |= {field: value for field, value in optional.items() if value}
    if not is_single:
        source["schema"] = {column.name: column.type for column in held}
    about = " ".join(str(operation.get("summary") or "").split())
    need = {"required": True, "add": dict(auth), "named_by_the_service": True} if auth and not given else None
    return Found(
        own,
        source,
        held,
        pagination=paged.get("pagination"),
        auth=need,
        arguments=tuple(arguments),
        is_single=is_single,
        about=about,
        facts={"operation": f"GET {path}"},
    )


def _thing(path: str, record: Any) -> str:
    """What one record is called: by the path, or by its schema where the path says what is done."""
    named = singular(name_of_address(f"https://host{PLACEHOLDER.sub('', path)}"))
    reference = record.get("$ref") if isinstance(record, Mapping) else None
    if not isinstance(reference, str) or not DOING.search(named):
        return named
    schema = DRESSED.sub("", identifier(reference.rpartition("/")[2].rpartition(".")[2], ""))
    return singular(schema) if schema else named


def _reply(document: Mapping[str, Any], operation: Mapping[str, Any]) -> Any:
    """The schema of what a good answer holds as JSON; None where there is none."""
    responses = operation.get("responses")
    if not isinstance(responses, Mapping):
        return None
    for status in ("200", 200, "2XX", "default"):
        response = resolved(document, responses.get(status))
        if not isinstance(response, Mapping):
            continue
        if "schema" in response:  # 2.0
            return response["schema"]
        content = response.get("content")
        for kind, held in (content if isinstance(content, Mapping) else {}).items():
            if ("json" in str(kind) or kind == "*/*") and isinstance(held, Mapping) and "schema" in held:
                return held["schema"]
    return None


def _parameters(
    document: Mapping[str, Any], operation: Mapping[str, Any], shared: list[Any]
) -> list[Mapping[str, Any]]:
    """The parameters of an operation; its own go before those of its path."""
    found: dict[tuple[str, str], Mapping[str, Any]] = {}
    for one in [*shared, *(operation.get("parameters") or ())]:
        parameter = resolved(document, one)
        if isinstance(parameter, Mapping) and "name" in parameter:
            found[(str(parameter["name"]), str(parameter.get("in")))] = parameter
    return list(found.values())


def _pages(parameters: list[Mapping[str, Any]]) -> tuple[dict[str, Json], set[str]]:
    """The source's `pagination` or `limit_param`, by the names of the query's parameters, and those that it takes."""
    names = {str(p["name"]).lower(): p for p in parameters if p.get("in") == "query"}
    written = next((names[name] for name in SIZES if name in names), None)
    param = "" if written is None else str(written["name"])
    size = None if written is None else _page_size(written)
    sized: dict[str, Json] = {"page_size": size} if size is not None else {}
    for name in ("page", "page_number", "pagenumber", "_page"):
        if name in names:
            page = str(names[name]["name"])
            asked = {"size_param": param} if sized else {}
            fields = {"strategy": "page", "page_param": page, **asked, **sized, "max_pages": MAX_PAGES}
            return {"pagination": fields}, {param, page}
    for name in ("offset", "skip", "start", "$skip"):
        if name in names:
            offset = str(names[name]["name"])
            asked = {"limit_param": param} if sized else {}
            fields = {"strategy": "offset", "offset_param": offset, **asked, **sized, "max_pages": MAX_PAGES}
            return {"pagination": fields}, {param, offset}
    return ({"limit_param": param}, {param}) if param else ({}, set())


def _page_size(parameter: Mapping[str, Any]) -> int | None:
    """As many as the API says that it gives at once, but no more than 100; None where it does not say.

    One that gives fewer than it is asked for would seem to have ended.
    """
    schema = parameter.get("schema") if isinstance(parameter.get("schema"), Mapping) else parameter
    most = schema.get("maximum") if isinstance(schema, Mapping) else None
    usual = schema.get("default") if isinstance(schema, Mapping) else None
    if isinstance(most, int) and most > 0:
        return min(100, most)
    return usual if isinstance(usual, int) and usual > 0 else None


def _arguments(
    document: Mapping[str, Any], path: str, parameters: list[Mapping[str, Any]], used: set[str], thing: str
) -> tuple[str, dict[str, Json], list[Argument]]:
    """(path with `{name}`, query parameters with `:name`, the arguments that they name)."""
    taken: set[str] = set()
    params: dict[str, Json] = {}
    arguments: list[Argument] = []
    for parameter in parameters:
        written, place = str(parameter["name"]), parameter.get("in")
        if place not in ("path", "query") or (place == "query" and written in used):
            continue
        if place == "query" and written.lower() in CURSORS and not parameter.get("required"):
            continue
        name = argument_name(written, thing, taken)
        arguments.append(argument(document, parameter, name, thing))
        if place == "path":
            path = path.replace(f"{{{written}}}", f"{{{name}}}")
        else:
            params[written] = f":{name}"
    for written in PLACEHOLDER.findall(path):
        if written not in taken:
            name = argument_name(written, thing, taken)
            arguments.append(Argument(name, "string", f"{written} of the {thing}, passed on as it is.", True))
            path = path.replace(f"{{{written}}}", f"{{{name}}}")
    return path, params, arguments


def _free(name: str, path: str, arguments: list[Argument], is_single: bool, taken: set[str]) -> str:
    """An id of its own: `pets`, `pet_by_id`, `orders_of_user`, `pets_find_by_tags`."""
    required = [argument.name for argument in arguments if argument.required]
    if is_single and required:
        last = required[-1].removeprefix(f"{name}_")
        name = f"{name}_by_{last}"
    elif required and name in taken:
        name = f"{name}_of_{singular(identifier(required[0].removesuffix('_id')))}"
    elif name in taken:
        name = identifier(f"{name}_{name_of_address(f'https://host{PLACEHOLDER.sub(str(), path)}')}")
    free, number = name, 2
    while free in taken:
        free, number = f"{name}_{number}", number + 1
    taken.add(free)
    return free
