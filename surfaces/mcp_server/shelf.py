"""A shelf: one family of resources, by the beginning of their URIs. The server asks each in turn."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import msgspec
from mcp_types import BlobResourceContents, Resource, ResourceTemplate, TextResourceContents

from ...graphs.model import Json
from ...nodes.base import Client
from ..served import Caller

Contents = list[TextResourceContents | BlobResourceContents]
JSON = "application/json"
MARKDOWN = "text/markdown"


class Shelf(Protocol):
    """Lists cost nothing: what has to be asked of a source is asked when it is read."""

    def resources(self) -> Iterable[Resource]: ...

    def templates(self) -> Iterable[ResourceTemplate]: ...

    async def read(self, uri: str, caller: Caller, client: Client | None = None) -> Contents | None:
        """None when `uri` names nothing on this shelf. Raises JackfieldError when it does and cannot be read."""
        ...

    def values(self, template: str, argument: str, given: Mapping[str, str]) -> Sequence[str] | None:
        """What an argument of a template may be, beside those already `given`; None when it is not of this shelf."""
        ...


def text_contents(uri: str, text: str, mime_type: str) -> Contents:
    return [TextResourceContents(uri=uri, text=text, mime_type=mime_type)]


def json_contents(uri: str, value: Json) -> Contents:
    return text_contents(uri, msgspec.json.encode(value).decode(), JSON)


def blob_contents(uri: str, data: bytes, mime_type: str) -> Contents:
    return [BlobResourceContents(uri=uri, blob=base64.b64encode(data).decode(), mime_type=mime_type)]
