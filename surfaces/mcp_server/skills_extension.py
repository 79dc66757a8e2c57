"""The skills extension (SEP-2640): each skill as a folder with one file, `skill://NAME/SKILL.md`, and its digest."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, PaginatedRequestParams, RequestParams, Resource, ResourceTemplate

from ...connectors.offer import Offer, OfferedSkill
from ...graphs.errors import JackfieldError
from ...nodes.base import Client
from ..served import Caller
from ..service import Service
from .callers import Context
from .listing import page_of
from .shelf import MARKDOWN, Contents, text_contents
from .skills import arguments_of, template_of, tools_of

EXTENSION: Final = "io.modelcontextprotocol/skills"
SETTINGS: Final[Mapping[str, Any]] = {"directoryRead": True}
SCHEME: Final = "skill://"
FILE: Final = "/SKILL.md"
LONGEST_NAME: Final = 64
LONGEST_DESCRIPTION: Final = 1_024
FOLDER: Final = "inode/directory"
CACHE: Final[Mapping[str, Any]] = {"ttlMs": 0, "cacheScope": "private"}


class SkillUri(RequestParams):
    """Of `skills/get`."""

    uri: str


class DirectoryUri(PaginatedRequestParams):
    """Of `resources/directory/read`."""

    uri: str


@dataclass(frozen=True, slots=True)
class SkillFile:
    """A skill's folder, which has one file. `frontmatter` is what stands at the head of `text`."""

    uri: str
    frontmatter: Mapping[str, str]
    text: str

    @property
    def folder(self) -> str:
        return self.uri.removesuffix(FILE)

    @property
    def data(self) -> bytes:
        return self.text.encode()

    def entry(self) -> dict[str, Any]:
        """The `Skill` of the extension."""
        file = {"uri": self.uri, "digest": f"sha256:{hashlib.sha256(self.data).hexdigest()}", "size": len(self.data)}
        return {"uri": self.uri, "frontmatter": dict(self.frontmatter), "resources": [file]}

    def resource(self) -> Resource:
        return Resource(
            uri=self.uri,
            name=self.frontmatter["name"],
            description=self.frontmatter["description"],
            mime_type=MARKDOWN,
            size=len(self.data),
        )


class SkillFolders:
    """The extension's methods, and the shelf of its files."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._held: tuple[Offer, Mapping[str, SkillFile]] | None = None

    async def list(self, ctx: Context, params: PaginatedRequestParams) -> dict[str, Any]:
        page, cursor = page_of(list(self._files.values()), params, lambda file: file.uri)
        following = {} if cursor is None else {"nextCursor": cursor}
        return {"skills": [file.entry() for file in page], **following, **CACHE}

    async def get(self, ctx: Context, params: SkillUri) -> dict[str, Any]:
        """Raises MCPError -32602 for what is no skill."""
        file = self._files.get(params.uri)
        if file is None:
            raise MCPError(INVALID_PARAMS, f"No skill is served at {params.uri[:200]!r}. List them with skills/list.")
        return {"skill": file.entry(), **CACHE}

    async def directory(self, ctx: Context, params: DirectoryUri) -> dict[str, Any]:
        """Raises MCPError -32602 for what is no folder of a skill."""
        file = self._files.get(f"{params.uri}{FILE}")
        if file is None:
            raise MCPError(INVALID_PARAMS, f"{params.uri[:200]!r} is no folder.")
        page, cursor = page_of([file.resource()], params, lambda resource: resource.uri)
        following = {} if cursor is None else {"nextCursor": cursor}
        children = [each.model_dump(by_alias=True, mode="json", exclude_none=True) for each in page]
        return {"resources": children, **following}

    def resources(self) -> Iterable[Resource]:
        return (file.resource() for file in self._files.values())

    def templates(self) -> Iterable[ResourceTemplate]:
        return ()

    def values(self, template: str, argument: str, given: Mapping[str, str]) -> Sequence[str] | None:
        return None

    async def read(self, uri: str, caller: Caller, client: Client | None = None) -> Contents | None:
        file = self._files.get(uri)
        return None if file is None else text_contents(uri, file.text, MARKDOWN)

    @property
    def _files(self) -> Mapping[str, SkillFile]:
        """By URI, made once for each offer."""
        offer = self._service.offer
        if self._held is None or self._held[0] is not offer:
            self._held = (offer, skill_files(offer))
        return self._held[1]


def skill_files(offer: Offer) -> dict[str, SkillFile]:
    """Every offered skill as a file, by URI. One that names a tool which is not there is left out, as lint says."""
    files: dict[str, SkillFile] = {}
    for offered in offer.skills.values():
        uri = f"{SCHEME}{folder_name(offered.name)}{FILE}"
        if uri in files:  # such as `a_b` beside `a__b`
            digest = hashlib.sha256(offered.skill.key.encode()).hexdigest()[:8]
            uri = f"{SCHEME}{folder_name(offered.name)[: LONGEST_NAME - 9]}-{digest}{FILE}"
        with suppress(JackfieldError):
            files[uri] = _file(uri, offer, offered)
    return files


def folder_name(name: str) -> str:
    """The name as skills may have it: small letters, digits and single hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:LONGEST_NAME].rstrip("-")


def _file(uri: str, offer: Offer, offered: OfferedSkill) -> SkillFile:
    import yaml

    skill = offered.skill
    description = " ".join(" ".join(filter(None, (skill.description, skill.when_to_use))).split())
    name = uri.removeprefix(SCHEME).removesuffix(FILE)
    frontmatter = {"name": name, "description": description[:LONGEST_DESCRIPTION] or skill.name}
    head = yaml.safe_dump(frontmatter, sort_keys=False, allow_unicode=True, width=2**20)
    arguments = [
        f"- `{argument}`{'' if required else ' (optional)'}: {schema.get('description') or schema.get('type', 'any')}"
        for argument, schema, required in arguments_of(skill)
    ]
    tools = [f"- `{tool.id}`: {tool.description}" for tool in tools_of(offer, offered)]
    parts = [f"---\n{head}---", f"# {skill.name}", template_of(offer, offered)]
    parts += ["## Arguments\n\n" + "\n".join(arguments)] if arguments else []
    parts += ["## Tools\n\n" + "\n".join(tools)] if tools else []
    return SkillFile(uri, frontmatter, "\n\n".join(parts) + "\n")
