"""The whole of an answer that was cut: `jackfield://results/{id}`, rows in the format that is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from urllib.parse import parse_qs

from mcp_types import Resource, ResourceTemplate

from ...nodes.base import Client
from ..app import App
from ..kept_answers import KeptAnswers
from ..served import Caller
from ..whole_results import FORMATS, encoded, read, require_format
from .answers import RESULT_URI
from .shelf import Contents, blob_contents, text_contents

TEMPLATE: Final = f"{RESULT_URI}{{id}}{{?format}}"
AS_TEXT: Final = ("json", "csv", "ndjson")


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
            description=f"All rows of an answer that came in pages. format is one of {', '.join(FORMATS)}.",
        )

    def values(self, template: str, argument: str, given: Mapping[str, str]) -> Sequence[str] | None:
        if template != TEMPLATE:
            return None
        return tuple(FORMATS) if argument == "format" else () if argument == "id" else None

    async def read(self, uri: str, caller: Caller, client: Client | None = None) -> Contents | None:
        if not uri.startswith(RESULT_URI):
            return None
        name, _, query = uri.removeprefix(RESULT_URI).partition("?")
        wanted = require_format(parse_qs(query).get("format", ["json"])[-1])
        if self._kept.names(name):
            return text_contents(uri, await self._kept.read(caller, name), FORMATS["json"])
        data = await encoded(await read(self._app, name, caller.principal), wanted)
        if wanted in AS_TEXT:
            return text_contents(uri, data.decode(), FORMATS[wanted])
        return blob_contents(uri, data, FORMATS[wanted])
