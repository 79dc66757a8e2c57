"""MCP content as it is configured: text, image, audio, a resource within, a link to one; and each as MCP writes it.

Texts have `{{name}}` places; data is base64, or a file below the connector's folder.
"""

from __future__ import annotations

import base64
import binascii
import mimetypes
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, model_validator

from ..graphs.errors import Code, JackfieldError
from ..graphs.model import Json
from .base import Configuration, Context
from .files.confine import locate, open_file
from .template import fill, places

MOST_BYTES: Final = 8 << 20  # of one file; a client keeps all of it in memory, a third longer in base64
Values = Mapping[str, Any]
Wire = dict[str, Json]


class Block(Configuration, ABC):
    """What every block has. `role` counts where blocks become messages of a prompt."""

    role: Literal["user", "assistant"] = "user"

    def texts(self) -> Iterator[str]:
        """The texts that have places."""
        yield from ()

    @abstractmethod
    def wire(self, values: Values, context: Context) -> Wire:
        """The block as MCP has it. Blocks for a moment where it reads a file. Raises as the file, or a place, does."""


class TextBlock(Block):
    type: Literal["text"]
    text: str

    def texts(self) -> Iterator[str]:
        yield self.text

    def wire(self, values: Values, context: Context) -> Wire:
        return {"type": "text", "text": fill(self.text, values)}


class _Binary(Block):
    data: str = Field("", description="Base64; may be a place")
    path: str = Field("", description="In place of data: a file below the connector's folder")
    mime_type: str = Field("", description="What the name of the file says, when empty")

    @model_validator(mode="after")
    def _has_one(self) -> Self:
        if bool(self.data) == bool(self.path):
            raise ValueError("give either 'data' or 'path'")
        return self

    def texts(self) -> Iterator[str]:
        yield self.data
        yield self.path

    def bytes_of(self, type: str, values: Values, context: Context) -> Wire:
        path = fill(self.path, values)
        data = _encoded(path, context) if path else _checked(fill(self.data, values), context.node)
        return {"type": type, "data": data, "mimeType": self.mime_type or _mime_type(path, f"{type}/*")}


class ImageBlock(_Binary):
    type: Literal["image"]

    def wire(self, values: Values, context: Context) -> Wire:
        return self.bytes_of("image", values, context)


class AudioBlock(_Binary):
    type: Literal["audio"]

    def wire(self, values: Values, context: Context) -> Wire:
        return self.bytes_of("audio", values, context)


class Contents(Configuration):
    """A resource's own contents: one of `text`, `blob` (base64) and `path`."""

    text: str = ""
    blob: str = Field("", description="Base64")
    path: str = Field("", description="A file below the connector's folder: text where its type says so, else bytes")
    mime_type: str = ""

    def sources(self) -> tuple[str, ...]:
        return (self.text, self.blob, self.path)

    def contents(self, uri: str, values: Values, context: Context) -> Wire:
        """`{uri, mimeType, text | blob}`"""
        path = fill(self.path, values)
        mime_type = self.mime_type or _mime_type(path, "text/plain" if self.text else "application/octet-stream")
        found: Wire = {"uri": uri, "mimeType": mime_type}
        if not path and not self.blob:
            return {**found, "text": fill(self.text, values)}
        if not path:
            return {**found, "blob": _checked(fill(self.blob, values), context.node)}
        content = _read(path, context)
        if _is_text(mime_type):
            return {**found, "text": _decoded(content, path)}
        return {**found, "blob": base64.b64encode(content).decode()}


class ResourceBlock(Block, Contents):
    type: Literal["resource"]
    uri: str

    def texts(self) -> Iterator[str]:
        yield self.uri
        yield from self.sources()

    def wire(self, values: Values, context: Context) -> Wire:
        return {"type": "resource", "resource": self.contents(fill(self.uri, values), values, context)}


class LinkBlock(Block):
    type: Literal["resource_link"]
    uri: str
    name: str
    title: str = ""
    description: str = ""
    mime_type: str = ""

    def texts(self) -> Iterator[str]:
        yield from (self.uri, self.name, self.title, self.description)

    def wire(self, values: Values, context: Context) -> Wire:
        found = {"uri": self.uri, "name": self.name, "title": self.title, "description": self.description}
        filled = {name: fill(text, values) for name, text in found.items() if text}
        return {"type": "resource_link", **filled, **({"mimeType": self.mime_type} if self.mime_type else {})}


AnyBlock = Annotated[TextBlock | ImageBlock | AudioBlock | ResourceBlock | LinkBlock, Field(discriminator="type")]


def names_in(texts: Iterator[str]) -> Iterator[str]:
    for text in texts:
        yield from places(text)


def _read(path: str, context: Context) -> bytes:
    place = locate(path, context.folder, context.roots)
    with open(open_file(place), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > MOST_BYTES:
            raise JackfieldError(
                Code.BUDGET_EXCEEDED,
                f"Node '{context.node}': '{path}' has {size:,} bytes; content may have {MOST_BYTES:,}.",
                "Give a link to it in its place.",
                {"path": path, "bytes": size, "limit": MOST_BYTES},
            )
        content = file.read(MOST_BYTES)
    context.budget.spend_bytes(len(content))
    return content


def _encoded(path: str, context: Context) -> str:
    return base64.b64encode(_read(path, context)).decode()


def _checked(data: str, node: str) -> str:
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise JackfieldError(
            Code.VALIDATION_INVALID_PARAMS, f"Node '{node}': what should be base64 is not.", "", {"node": node}
        ) from None
    return data


def _mime_type(path: str, otherwise: str) -> str:
    return mimetypes.guess_type(path)[0] or otherwise


def _is_text(mime_type: str) -> bool:
    return mime_type.startswith("text/") or mime_type.partition(";")[0].endswith(("json", "xml", "yaml", "javascript"))


def _decoded(content: bytes, path: str) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise JackfieldError(
            Code.SOURCE_BAD_REPLY, f"'{path}' is no UTF-8 text.", "Say its mime_type, and it goes out as bytes."
        ) from None
