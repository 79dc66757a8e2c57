"""Documents that are the same for every workspace: the five principles, error codes, installation, templates.

Each stands under `elliot://`, as agents of the spec look for it, and under `jackfield://`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Final

from mcp_types import Resource, ResourceTemplate

from ...graphs.errors import STATUS
from ...nodes.base import Client
from ..served import Caller
from ..starters import TEMPLATES, connector_text
from .shelf import JSON, MARKDOWN, Contents, json_contents, text_contents

SCHEMES: Final = ("elliot", "jackfield")
DOCS: Final[Mapping[str, str]] = {
    "principles": "The five principles that connectors are held to",
    "error-codes": "Every error code: what it means, and its HTTP status and exit code",
    "authentication": "How a connector names the secrets of its sources, and who may call",
    "install": "How to install Jackfield and serve a workspace",
}
# What the spec calls a template, and which of ours it is.
SPEC_TEMPLATES: Final[Mapping[str, str]] = {
    "rest-api-key": "rest-api-key",
    "postgres-readonly": "postgres",
    "paginated-rest": "paginated-rest",
    "openapi-petstore": "openapi-petstore",
}
EXAMPLE_SLUG: Final = "my-product"


class Documents:
    """The shelf of `…://docs/{document}` and `…://templates/{template}`."""

    def resources(self) -> Iterable[Resource]:
        for name, what in DOCS.items():
            mime_type = JSON if name == "error-codes" else MARKDOWN
            yield Resource(uri=f"elliot://docs/{name}", name=name, description=f"{what}.", mime_type=mime_type)
        for name, ours in SPEC_TEMPLATES.items():
            yield _template(f"elliot://templates/{name}", name, ours)
        for name in TEMPLATES:
            if name not in SPEC_TEMPLATES.values():
                yield _template(f"jackfield://templates/{name}", name, name)

    def templates(self) -> Iterable[ResourceTemplate]:
        yield ResourceTemplate(
            uri_template="jackfield://docs/{document}",
            name="document",
            title="A document",
            description=f"One of {', '.join(DOCS)}.",
        )
        yield ResourceTemplate(
            uri_template="jackfield://templates/{template}",
            name="template",
            title="A connector template",
            description="A connector file to start from, that lints without a finding.",
            mime_type=JSON,
        )

    def values(self, template: str, argument: str, given: Mapping[str, str]) -> Sequence[str] | None:
        known = {
            ("jackfield://docs/{document}", "document"): tuple(DOCS),
            ("jackfield://templates/{template}", "template"): tuple(dict.fromkeys((*TEMPLATES, *SPEC_TEMPLATES))),
        }
        return known.get((template, argument))

    async def read(self, uri: str, caller: Caller, client: Client | None = None) -> Contents | None:
        scheme, _, path = uri.partition("://")
        shelf, _, name = path.partition("/")
        if scheme not in SCHEMES:
            return None
        if shelf == "docs" and name in DOCS:
            return _document(uri, name)
        ours = SPEC_TEMPLATES.get(name, name)
        if shelf == "templates" and ours in TEMPLATES:
            return text_contents(uri, connector_text(ours, EXAMPLE_SLUG), JSON)
        return None


def _template(uri: str, name: str, ours: str) -> Resource:
    description = f"A connector file to start from: {TEMPLATES[ours]}."
    return Resource(uri=uri, name=name, description=description, mime_type=JSON)


def _document(uri: str, name: str) -> Contents:
    if name == "error-codes":
        codes = [
            {"code": code.value, "meaning": status.meaning, "http": status.http, "exit": status.exit}
            for code, status in STATUS.items()
        ]
        return json_contents(uri, {"error_codes": codes, "unknown": "INTERNAL_ERROR"})
    return text_contents(
        uri, (files("jackfield.surfaces") / "guides" / "docs" / f"{name}.md").read_text("utf-8"), MARKDOWN
    )
