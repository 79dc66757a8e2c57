"""A REST source discovered: one reply looked at, a few pages read by the node that will read them later."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from ...connectors.discovery import openapi
from ...connectors.discovery.authentication import need_of
from ...connectors.discovery.columns import columns_of
from ...connectors.discovery.envelope import Envelope, envelope_of
from ...connectors.discovery.found import Found
from ...connectors.discovery.pages import MAX_PAGES, guesses, may_be_cut, total_of
from ...graphs.errors import Code, JackfieldError
from ...graphs.model import Json
from ..probe import Reply, not_followed
from .bench import Bench
from .configuration import checked
from .sampling import Sample, probe, sample
from .variables import SETTING

MOST_TRIED: Final = 5  # guesses about pages; each is two requests
LARGE: Final = 100  # records of a page: what most APIs give at once, if asked
MOST_PAGES: Final = 1_000
LOOKED_AT: Final = 2  # pages of each guess
TRIED_AGAIN: Final = (Code.SOURCE_BAD_REPLY, Code.SOURCE_ERROR, Code.AUTH_FAILED)  # says that the guess was wrong
JSON_KINDS: Final = ("json", "javascript")


async def discover_rest(bench: Bench, source: dict[str, Json]) -> list[Found]:
    """What is at the address of a native REST source: its records; of an OpenAPI document each list of records.

    Raises what reading the source raises, and SOURCE_BAD_REPLY for a reply that has no records.
    """
    reply = await probe(bench, checked(bench, source))
    warnings: list[str] = []
    if moved := reply.moved_to:
        if "{{" in str(source["url"]):
            raise not_followed(reply)
        source = {**source, "url": moved}
        warnings.append("The address was redirected within its origin; the source has the new one.")
        reply = await probe(bench, checked(bench, source))
        if reply.moved_to:
            raise not_followed(reply)
    need = need_of(reply.status, reply.headers, reply.text, str(source["id"]))
    if need is not None:
        variables = ", ".join(str(name) for name in need.as_json()["set"])
        warnings.append(
            f"The service answers {reply.status} without credentials, so its records were not seen. Ask the person to "
            f"set {variables} where Jackfield runs and to name it in the setting {SETTING}, then discover again with "
            "the `auth` that this source has."
        )
        return [
            Found(
                str(source["id"]),
                {**source, "auth": dict(need.add)},
                auth=need.as_json(),
                warnings=tuple(warnings),
            )
        ]
    document = _document(reply, str(source["id"]))
    if openapi.is_openapi(document):
        return list(openapi.sources_of(document, str(source["url"]), str(source["id"]), source.get("auth")))
    if isinstance(document, str):
        found = replace(await _read(bench, {**source, "format": document}), warnings=tuple(warnings))
        return [found]
    return [await _records(bench, source, reply, document, warnings)]


def _document(reply: Reply, name: str) -> Any:
    """The reply's JSON or YAML; the name of the format for rows of text. Raises SOURCE_BAD_REPLY."""
    text = reply.text.strip()
    if "csv" in reply.kind:
        return "csv"
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    lines = text.splitlines()
    if "ndjson" in reply.kind or "jsonl" in reply.kind or (len(lines) > 1 and all(line[:1] == "{" for line in lines)):
        return "jsonl"
    if "yaml" in reply.kind or openapi.looks_like_yaml(text):
        return openapi.from_yaml(text)
    kind = "a page of HTML" if "html" in reply.kind or text[:1] == "<" else "something that is not JSON"
    raise JackfieldError(
        Code.SOURCE_BAD_REPLY,
        f"The address of '{name}' answers {kind} (content type '{reply.kind[:60] or 'none'}').",
        "Give the address of the API itself: one that answers JSON, CSV or an OpenAPI document.",
        {"source": name, "content_type": reply.kind[:60]},
    )


async def _records(bench: Bench, source: dict[str, Json], reply: Reply, document: Any, warnings: list[str]) -> Found:
    envelope = _envelope(source, document)
    if envelope is None:
        raise JackfieldError(
            Code.SOURCE_BAD_REPLY,
            f"The reply of '{source['id']}' is JSON without records: a list that is not of objects.",
            'Give config.data_path, a JMESPath that makes objects of it, such as "[].{value: @}".',
            {"source": str(source["id"])},
        )
    warnings.extend(envelope.warnings)
    if envelope.others:
        others = ", ".join(f"'{path}'" for path in envelope.others[:5])
        warnings.append(f"The reply has more lists of records: {others}. Discover one by its data_path.")
    if envelope.path:
        source = {**source, "data_path": envelope.path}
    tried = await _with_pages(bench, source, reply, document, envelope)
    warnings.extend(tried.warnings)
    total = total_of(reply.headers, document)
    rows = tried.sample.rows
    is_exact = tried.sample.is_whole and not may_be_cut(rows.num_rows, tried.pagination is not None)
    if not is_exact and tried.pagination is None and tried.sample.is_whole:
        warnings.append(
            f"The reply holds just {rows.num_rows} records and names no further page: it may be a first page. "
            "Look into the API's documentation, and give config.pagination."
        )
    return Found(
        str(source["id"]),
        tried.source,
        columns_of(rows, str(source["id"])),
        rows.num_rows if is_exact else total,
        is_exact or total is not None,
        tried.pagination,
        {"required": False} if "auth" not in source else {"required": None, "given": True},
        tuple(warnings),
        is_single=envelope.is_single,
    )


def _envelope(source: Mapping[str, Json], document: Any) -> Envelope | None:
    """Where the records are: as the config says, else as the document shows."""
    if isinstance(given := source.get("data_path"), str) and given:
        return Envelope(given, 0)
    return envelope_of(document, str(source["id"]))


@dataclass(frozen=True, slots=True)
class _Tried:
    source: dict[str, Json]
    sample: Sample
    pagination: Mapping[str, Json] | None
    warnings: tuple[str, ...] = ()


async def _with_pages(bench: Bench, source: dict[str, Json], reply: Reply, document: Any, envelope: Envelope) -> _Tried:
    """The source with the first guess about its pages that holds when it is tried, and what was read then."""
    if "pagination" in source:
        found = await sample(bench, checked(bench, _short(source, source["pagination"])))
        return _Tried(source, found, source["pagination"])
    if not envelope.is_single:
        unproven: _Tried | None = None
        for guess in guesses(reply.url, reply.headers, document, envelope.count)[:MOST_TRIED]:
            try:
                found = await sample(bench, checked(bench, _short(source, guess)))
            except JackfieldError as error:
                if error.code not in TRIED_AGAIN:
                    raise
                continue
            tried = _Tried({**source, "pagination": guess}, found, guess)
            if found.requests > 1:
                return await _enlarged(bench, tried, total_of(reply.headers, document))
            unproven = unproven or tried
        if unproven is not None:
            note = "There was one page only, so how further pages are found is a guess from its fields."
            return replace(unproven, warnings=(note,))
    return _Tried(source, await sample(bench, checked(bench, source)), None)


async def _enlarged(bench: Bench, tried: _Tried, total: int | None) -> _Tried:
    """The same with pages of 100 where the API gives so many, and with as many pages as its records take."""
    pagination = dict(tried.pagination or {})
    size = pagination.get("page_size")
    if total is None or not isinstance(size, int) or pagination["strategy"] not in ("page", "offset"):
        return tried
    if size < LARGE and total > size and ("size_param" in pagination or "limit_param" in pagination):
        larger = {**pagination, "page_size": LARGE}
        try:
            found = await sample(bench, checked(bench, _short(tried.source, larger)))
        except JackfieldError:
            found = tried.sample
        # An API that gives fewer than it is asked for shows here, and would lose records later.
        if found.rows.num_rows == min(LARGE * LOOKED_AT, total) and found is not tried.sample:
            pagination, size, tried = larger, LARGE, replace(tried, sample=found)
    pages = max(MAX_PAGES, min(MOST_PAGES, math.ceil(total * 2 / size)))
    pagination["max_pages"] = pages
    return replace(tried, source={**tried.source, "pagination": pagination}, pagination=pagination)


def _short(source: Mapping[str, Json], pagination: Mapping[str, Json]) -> dict[str, Json]:
    return {**source, "pagination": {**pagination, "max_pages": LOOKED_AT}}


async def _read(bench: Bench, source: dict[str, Json]) -> Found:
    """A source whose reply is rows of text."""
    found = await sample(bench, checked(bench, source))
    name = str(source["id"])
    rows = found.rows.num_rows if found.is_whole else None
    return Found(name, source, columns_of(found.rows, name), rows, rows is not None)
