"""The whole of an answer that was cut: `jackfield://results/{id}`, rows in the format that is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from urllib.parse import parse_qs

import msgspec
from mcp_types import BlobResourceContents, Resource, ResourceTemplate, TextResourceContents

from ...graphs.errors import Code, JackfieldError
from ...nodes.base import Client
from ..app import App
from ..kept_answers import KeptAnswers
from ..served import Caller
from ..whole_results import FORMATS, cut_facts, encoded, read, require_format
from .answers import RESULT_URI
from .shelf import Contents, blob_contents, text_contents

TEMPLATE: Final = f"{RESULT_URI}{{id}}{{?format,offset,limit}}"
AS_TEXT: Final = ("json", "csv", "ndjson")
# A session is answered by server-sent events, of which the official Python client takes no more than 1 MiB each.
MOST_IN_A_SESSION: Final = 1_000_000
MOST: Final = 32 << 20


class Results:
    """A result is read by whom it was given to, until its time is over. None is listed: answers link to theirs."""

    def __init__(self, app: App, kept: KeptAnswers) -> None:
        self._app = app
        self._kept = kept

    def resources(self) -> Iterable[Resource]:
        return ()

    def templates(self) -> Iterable[ResourceTemplate]:
        yield ResourceTemplate(
            uri_template=TEMPLATE,
            name="result",
            title="A whole result",
            description=f"The whole of an answer that was cut. format is one of {', '.join(FORMATS)}; offset and limit"
            " choose some of its rows, or of the characters of what is no table.",
        )

    def values(self, template: str, argument: str, given: Mapping[str, str]) -> Sequence[str] | None:
        if template != TEMPLATE:
            return None
        return {"format": tuple(FORMATS), "id": (), "offset": ("0",), "limit": ()}.get(argument)

    async def read(self, uri: str, caller: Caller, client: Client | None = None) -> Contents | None:
        if not uri.startswith(RESULT_URI):
            return None
        name, _, query = uri.removeprefix(RESULT_URI).partition("?")
        asked = {key: values[-1] for key, values in parse_qs(query).items()}
        wanted = require_format(asked.get("format", "json"))
        offset, limit = _count(asked, "offset"), _count(asked, "limit")
        if self._kept.names(name):
            value = await self._kept.read(caller, name)
            part = _part(value, offset, limit)
            contents = text_contents(uri, part, FORMATS["json"] if part == value else "text/plain")
            return _bounded(contents, len(part), "characters", caller)
        whole = await read(self._app, name, caller.principal)
        part = replace(whole, table=_part(whole.table, offset, limit))
        rows = part.table.num_rows
        if (offset or 0) + rows < whole.table.num_rows:
            part = replace(part, end=part.end or "part")
        data = await encoded(part, wanted)
        if wanted in AS_TEXT:
            contents = text_contents(uri, data.decode(), FORMATS[wanted])
        else:
            contents = blob_contents(uri, data, FORMATS[wanted])
        for content in contents:
            content.meta = {f"jackfield/{name}": value for name, value in cut_facts(part).items()} or None
        return _bounded(contents, rows, "rows", caller)


def _count(asked: Mapping[str, str], name: str) -> int | None:
    text = asked.get(name)
    if text is not None and not (text.isdecimal() and len(text) < 16):
        raise JackfieldError(
            Code.VALIDATION_INVALID_PARAMS,
            f"'{name}' is {text[:40]!r}, which counts nothing.",
            f"Give a whole number from 0 on, for example {name}=100.",
            {"parameter": name},
        )
    return None if text is None else int(text)


def _part(whole: Any, offset: int | None, limit: int | None) -> Any:
    """Some of a text's characters or of a table's rows."""
    start = offset or 0
    if isinstance(whole, str):
        return whole[start : None if limit is None else start + limit]
    return whole.slice(start) if limit is None else whole.slice(start, limit)


def _bounded(contents: Contents, count: int, unit: str, caller: Caller) -> Contents:
    """Raises BUDGET_EXCEEDED for what the client could not receive, with how much of it would fit."""
    most = MOST_IN_A_SESSION if caller.era == "handshake" else MOST
    size = sum(len(msgspec.json.encode(each)) for each in map(_sent, contents))
    if size <= most:
        return contents
    fitting = max(1, count * most // size * 9 // 10)
    raise JackfieldError(
        Code.BUDGET_EXCEEDED,
        f"These {count:,} {unit} take {size:,} bytes; one message of this connection takes {most:,}.",
        f"Read it in parts, with offset=0&limit={fitting}, offset={fitting}&limit={fitting} and so on.",
        {"count": count, "bytes": size, "most_bytes": most, "limit": fitting},
    )


def _sent(content: TextResourceContents | BlobResourceContents) -> str:
    return content.blob if isinstance(content, BlobResourceContents) else content.text
