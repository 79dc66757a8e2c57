"""An OpenAPI document (2.0, 3.0, 3.1) read: local references followed, its servers, and what its security asks for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urljoin

from ...graphs.model import Json
from .naming import variable

REFERENCE: Final = re.compile(r"\{\{[^}]*\}\}")
DEEPEST: Final = 30  # references that lead to references
_YAML: Final = re.compile(r"\A\s*(#.*\n|---.*\n)*\s*[\"']?(openapi|swagger)[\"']?\s*:", re.IGNORECASE)


def is_openapi(document: Any) -> bool:
    return (
        isinstance(document, Mapping)
        and isinstance(document.get("paths"), Mapping)
        and (isinstance(document.get("openapi"), str) or str(document.get("swagger", "")).startswith("2"))
    )


def looks_like_yaml(text: str) -> bool:
    return _YAML.match(text[:2000]) is not None


def resolved(document: Mapping[str, Any], value: Any) -> Any:
    """`value`, or what its `$ref` points to in the same document; an empty object where that is not there."""
    for _ in range(DEEPEST):
        if not isinstance(value, Mapping) or not isinstance(value.get("$ref"), str):
            return value
        value = _pointed(document, value["$ref"])
    return {}


def _pointed(document: Mapping[str, Any], reference: str) -> Any:
    if not reference.startswith("#/"):
        return {}
    found: Any = document
    for part in reference[2:].split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        if not isinstance(found, Mapping) or key not in found:
            return {}
        found = found[key]
    return found


def server_of(document: Mapping[str, Any], address: str) -> str:
    """The first server's address, against the document's own where it is relative, without a slash at its end."""
    if "swagger" in document:
        schemes = document.get("schemes") or ()
        scheme = "https" if "https" in schemes or not schemes else str(schemes[0])
        host = str(document.get("host") or "")
        base = str(document.get("basePath") or "/")
        if not host:
            return _joined(address, base)
        if not schemes and address.startswith("http://"):
            scheme = "http"
        return f"{scheme}://{host}{base}".rstrip("/")
    servers = document.get("servers")
    server = servers[0] if isinstance(servers, list) and servers and isinstance(servers[0], Mapping) else {}
    url = str(server.get("url") or "/")
    variables = server.get("variables")
    for name, held in (variables if isinstance(variables, Mapping) else {}).items():
        if isinstance(held, Mapping):
            url = url.replace(f"{{{name}}}", str(held.get("default", "")))
    return _joined(address, url)


def _joined(address: str, url: str) -> str:
    """`url` against the document's address, which may begin with a variable that holds its host."""
    variable_part = REFERENCE.match(address)
    if variable_part is not None and "://" not in url:
        return f"{variable_part[0]}/{url.strip('/')}".rstrip("/")
    return urljoin(address, url).rstrip("/")


def auth_of(document: Mapping[str, Any], operation: Mapping[str, Any], name: str) -> dict[str, Json] | None:
    """The `auth` of an operation, its secrets named after `name`; None where none is needed or none is known here."""
    wanted = operation.get("security", document.get("security"))
    if not isinstance(wanted, list) or not wanted or {} in wanted:
        return None
    components = document.get("components")
    schemes = document.get("securityDefinitions") or (
        components.get("securitySchemes") if isinstance(components, Mapping) else None
    )
    if not isinstance(schemes, Mapping):
        return None
    for choice in wanted:
        for scheme in choice if isinstance(choice, Mapping) else ():
            found = _auth(resolved(document, schemes.get(scheme)), name)
            if found is not None:
                return found
    return None


def _auth(scheme: Any, name: str) -> dict[str, Json] | None:
    if not isinstance(scheme, Mapping):
        return None
    kind, how = str(scheme.get("type", "")), str(scheme.get("scheme", "")).lower()
    if kind == "apiKey":
        key: dict[str, Json] = {"type": "api_key", "secret_key": variable(name, "api_key")}
        place = "query_param" if scheme.get("in") == "query" else "header_name"
        return None if scheme.get("in") == "cookie" else {**key, place: str(scheme.get("name", "X-API-Key"))}
    if kind == "basic" or (kind == "http" and how == "basic"):
        user, password = variable(name, "user"), variable(name, "password")
        return {"type": "basic", "user_secret_key": user, "pass_secret_key": password}
    if kind in ("oauth2", "openIdConnect") or (kind == "http" and how == "bearer"):
        return {"type": "bearer", "secret_key": variable(name, "token")}
    return None
