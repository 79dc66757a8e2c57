"""`api_mapping` over a REST source → a `request`: the source's address and credentials, the tool's path and body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from .rewriting import names


def request_of(tool: Mapping[str, Any], sources: Mapping[str, Mapping[str, Any]]) -> dict[str, Any] | None:
    """The request, or None when the tool names no single REST source to take the address from."""
    mapping = tool["api_mapping"]
    if not isinstance(mapping, dict):
        return None
    named = [sources[name] for name in names(tool.get("source_ids")) if name in sources]
    owners = [source for source in named if source.get("type") == "rest"]
    template = str(mapping.get("path_template") or "")
    if not owners and not template.startswith(("http://", "https://")):
        return None
    owner = owners[0] if owners else {}
    request: dict[str, Any] = {
        "method": str(mapping.get("method") or "POST").upper(),
        "url": joined(str(owner.get("base_url") or owner.get("url") or ""), template),
    }
    for field in ("auth", "headers"):
        if isinstance(owner.get(field), Mapping):
            request[field] = dict(owner[field])
    if query := bindings(mapping.get("query_params")):
        request["query"] = query
    if body := bindings(mapping.get("body_params")):
        request["body"] = body
        if mapping.get("body_format") in ("form", "json"):
            request["body_format"] = mapping["body_format"]
    return request


def bindings(names: Any) -> dict[str, Any]:
    """`["a"]` → `{"a": ":a"}`; `{"a": "b"}` sends argument `b` as `a`."""
    if isinstance(names, list):
        return {str(name): f":{name}" for name in names}
    if isinstance(names, dict):
        return {str(name): f":{argument}" for name, argument in names.items()}
    return {}


def joined(base: str, template: str) -> str:
    """`template` under `base`. Segments that end `base` and begin `template` are written once.

    https://h/v1/pets and /pets/{id} give https://h/v1/pets/{id}; https://h/v1 gives the same.
    """
    if not template:
        return base
    if template.startswith(("http://", "https://")):
        return template
    wanted = template.strip("/").split("/")
    address = base.split("?", 1)[0].rstrip("/")
    path = [part for part in urlsplit(address).path.split("/") if part]
    for size in range(min(len(path), len(wanted)), 0, -1):
        if path[-size:] == wanted[:size]:
            return "/".join([address, *wanted[size:]])
    return "/".join([address, *wanted])
