"""`build-connector`: a connector file out of discovered sources, with tools that lint clean and cases for them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from ...connectors.discovery import naming
from ...connectors.discovery.columns import columns_of
from ...connectors.discovery.found import Found
from ...connectors.drafting.document import FIRST, cases_of, document_of, next_version, text_of
from ...connectors.drafting.tools import tools_of
from ...connectors.masking import SECRET_CODES, masked
from ...connectors.offer import offer_of
from ...connectors.reading import read_text
from ...graphs.errors import Code, JackfieldError
from ...graphs.findings import Finding
from ...graphs.model import Json
from . import files
from .bench import CONNECTORS, DRAFTS, Bench
from .configuration import KINDS, checked, native_source
from .discover import found_in
from .drafts import Draft, cases_file, draft_file, encoded
from .lint import LINT_ANSWER, linted, report
from .sampling import sample
from .tool import PlatformTool, answer_of, hints, object_of

MORE: Final = ("skills", "saves")
PLACE: Final = ("type", "url", "dsn", "table", "query", "path", "data_path")  # what says which rows a source gives


async def run(bench: Bench, arguments: Mapping[str, Any], principal: str) -> dict[str, Json]:
    slug = arguments["slug"] or naming.slug(arguments["name"])
    found = await sources_of(bench, arguments["sources"], principal, look=arguments["tools"] is None)
    tools: Sequence[Mapping[str, Json]] = arguments["tools"] if arguments["tools"] is not None else tools_of(found)
    if not tools:
        raise _no_tools(found)
    more: dict[str, Json] = {name: arguments[name] for name in MORE}
    more["instructions"] = arguments["instructions"]
    more["prefix"] = arguments["prefix"]
    sources = [dict(one.source) for one in found]

    def written(version: str, prefix: Json) -> Draft:
        fields = {**more, "prefix": prefix}
        document = document_of(arguments["name"], slug, version, arguments["description"] or "", sources, tools, fields)
        return Draft(text_of(document), bench.target(slug), True)

    draft = written(arguments["version"] or FIRST, arguments["prefix"])
    if arguments["prefix"] is None and _clashes(bench, slug, draft):
        draft = written(arguments["version"] or FIRST, True)
    if arguments["version"] is None:
        draft = _versioned(bench, slug, draft, lambda version: written(version, "prefix" in json.loads(draft.text)))
    findings = await linted(bench, draft)
    _refuse_secrets(findings)
    files.write(bench.workspace, draft_file(bench, slug), encoded(draft.text))
    suite = cases_of(arguments["name"], slug, found, tools)
    files.write(bench.workspace, cases_file(bench, slug), encoded(text_of(suite)))
    return {
        "connector": slug,
        "draft": f"{CONNECTORS}/{DRAFTS}/{slug}.connector.json",
        "text": draft.text,
        "tools": [{"id": tool.get("id"), "description": tool.get("description")} for tool in tools],
        "cases": len(suite["cases"]),
        "left_out": [f"{one.id}: {warning}" for one in found for warning in one.warnings],
        **report(draft, findings),
    }


async def sources_of(bench: Bench, given: Sequence[Any], principal: str, *, look: bool) -> list[Found]:
    """The sources that were given: by the id of a discovery, or as source objects, which are looked at if need be.

    Raises SCHEMA_NOT_FOUND, VALIDATION_INVALID_PARAMS, and what looking raises.
    """
    found: list[Found] = []
    for index, item in enumerate(_unwrapped(given)):
        if isinstance(item, str):
            found.append(bench.recall(principal, item))
        elif isinstance(item, Mapping):
            found.extend(await _of_object(bench, item, index, principal, look))
        else:
            raise _not_a_source(index, "neither a source_id nor a source object")
    seen: set[str] = set()
    for one in found:
        if one.id in seen:
            raise _not_a_source(len(seen), f"a second source with the id '{one.id}'")
        seen.add(one.id)
    return found


def _unwrapped(given: Sequence[Any]) -> Iterator[Any]:
    """The items, and of whole answers of a discovery the source objects in them."""
    for item in given:
        if isinstance(item, Mapping) and "source_id" in item and "type" not in item:
            tables = item.get("tables")
            inner = tables if isinstance(tables, list) and tables else [item.get("source")]
            yield from (one.get("source") if isinstance(one, Mapping) and "source" in one else one for one in inner)
        else:
            yield item


async def _of_object(bench: Bench, item: Mapping[str, Any], index: int, principal: str, look: bool) -> list[Found]:
    kind = item.get("type")
    if not isinstance(kind, str) or not isinstance(item.get("id"), str):
        raise _not_a_source(index, "an object without 'id' or 'type'")
    known = bench.known(principal, item["id"])
    if known is not None and all(known.source.get(field) == item.get(field) for field in PLACE):
        return [replace(known, source=dict(item))]
    if look and kind == "rows":
        rows = (await sample(bench, checked(bench, item))).rows
        return [Found(item["id"], dict(item), columns_of(rows, item["id"]), rows.num_rows, True)]
    if not look or kind not in KINDS:
        return [Found(item["id"], dict(item))]
    source = {**native_source(kind, item, item["id"]), "id": item["id"]}
    return await found_in(bench, source)


def _not_a_source(index: int, what: str) -> JackfieldError:
    return JackfieldError(
        Code.VALIDATION_INVALID_PARAMS,
        f"Parameter 'sources[{index}]' is {what}.",
        "Give the source_id or the source object that elliot_discover_source answered.",
        {"parameter": f"sources[{index}]"},
    )


def _no_tools(found: Sequence[Found]) -> JackfieldError:
    said = [warning for one in found for warning in one.warnings]
    return JackfieldError(
        Code.VALIDATION_INVALID_PARAMS,
        "No tool can be made of these sources: nothing is known of their columns.",
        said[0] if said else "Discover them again when they have rows, or give 'tools'.",
        {"parameter": "sources", "warnings": said},
    )


def _clashes(bench: Bench, slug: str, draft: Draft) -> bool:
    """Whether another served connector has a tool of the same name."""
    reading = read_text(draft.text, draft.path)
    if reading is None or reading.connector is None:
        return False
    others = [one for one in bench.app.catalog.connectors.values() if one.slug != slug]
    taken = offer_of(others).tools
    return any(tool.name in taken for tool in reading.connector.tools.values())


def _versioned(bench: Bench, slug: str, draft: Draft, written: Any) -> Draft:
    """The draft with a version above the served one's, where there is one and anything changed."""
    served = bench.app.catalog.connectors.get(slug)
    reading = read_text(draft.text, draft.path)
    if served is None or reading is None or reading.connector is None:
        return draft
    same: Draft = written(served.version)
    if served.path is not None and served.path.read_bytes() == encoded(same.text):
        return same
    raised: Draft = written(next_version(served, reading.connector))
    return raised


def _refuse_secrets(findings: Sequence[Finding]) -> None:
    """Raises VALIDATION_INVALID_PARAMS: a draft is a file, and no secret reaches one."""
    secret = next((finding for finding in findings if finding.code in SECRET_CODES), None)
    if secret is not None:
        raise JackfieldError(
            Code.VALIDATION_INVALID_PARAMS,
            f"{masked(secret.message)} A secret must not reach a file, so no draft was written.",
            "Ask the person to set an environment variable where Jackfield runs, and name it.",
            {"finding": secret.as_json()},
        )


OBJECTS: Final[Mapping[str, Json]] = {"type": "array", "items": {"type": "object"}}
BUILD: Final = PlatformTool(
    name="build-connector",
    title="Build a connector",
    description=(
        "Generate a connector from discovered sources: tools that list, find, count and join what is in them, checked "
        "by lint, with cases. Keeps it as a draft, which is not served, and returns its text; deploy-connector takes "
        "it live."
    ),
    input_schema=object_of(
        {
            "name": {"type": "string", "minLength": 1, "maxLength": 100, "description": "What people call it"},
            "sources": {
                "type": "array",
                "minItems": 1,
                "description": "For each source its source_id of a discovery, or its source object",
            },
            "slug": {
                "type": "string",
                "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$",
                "maxLength": 64,
                "description": "Its id; made of the name if absent",
            },
            "tools": {**OBJECTS, "description": "Tools of your own; absent: useful ones are made for every source"},
            "skills": {**OBJECTS, "description": "Prompts over the tools"},
            "saves": {**OBJECTS, "description": "Where WRITE tools save to"},
            "description": {"type": "string", "description": "What the connector is for"},
            "instructions": {"type": "string", "description": "How an agent should use it as a whole"},
            "version": {"type": "string", "description": "SemVer; raised above the served one's if absent"},
            "prefix": {
                "type": "boolean",
                "description": "Agents see its tools as slug_id; absent: where another connector has the same names",
            },
        },
        ("name", "sources"),
    ),
    output_schema=answer_of(
        {
            "connector": {"type": "string", "description": "The slug, by which lint, eval and deploy take the draft"},
            "draft": {"type": "string"},
            "text": {"type": "string", "description": "The connector file"},
            "tools": {"type": "array", "items": {"type": "object"}},
            "cases": {"type": "integer", "description": "Cases that were written for its tools"},
            "left_out": {"type": "array", "items": {"type": "string"}},
            **LINT_ANSWER,
        }
    ),
    annotations=hints(outside=True),
    run=run,
)
