"""The fields of a native connector file in its first spelling. Sources, saves and requests are fields of their kinds.

These models are what `jackfield schema` prints and what lint checks; a second spelling is rewritten into them first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Final, Literal

from pydantic import Field, StrictBool, StringConstraints, model_validator

from ...graphs.model import Json
from ...nodes.base import Configuration
from ...nodes.blocks import AnyBlock, Contents
from ..model import IDENTIFIER, SLUG, VARIABLE

SCALARS: Final = ("string", "int", "float", "bool", "date", "datetime", "object")
ScalarType = Literal["string", "int", "float", "bool", "date", "datetime", "object"]
ParameterType = Literal["string", "int", "float", "bool", "date", "datetime", "object", "array"]

# SemVer 2.0: no leading zeros, a pre-release of dot-separated identifiers, build metadata.
SEMVER: Final = (
    r"^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)"
    r"(-(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*))*)?"
    r"(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?$"
)

PLATFORM_SCHEMES: Final = frozenset(("jackfield", "elliot", "skill", "ui", "file", "http", "https"))
ABSOLUTE_URI: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):\S+")

Text = Annotated[str, StringConstraints(min_length=1)]
Id = Annotated[str, StringConstraints(pattern=rf"^{IDENTIFIER.pattern}$")]
SourceId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_-]*$")]


class SourceIdentity(Configuration):
    """What every source has beside the fields of its kind."""

    id: SourceId
    type: str
    name: str = ""
    description: str = ""
    table_name: str | None = Field(None, description="What SQL calls it, when that is not the id")

    @property
    def names(self) -> tuple[str, ...]:
        named = re.sub(r"[^a-z0-9]+", "_", self.name.lower()).strip("_")
        return tuple(dict.fromkeys(n for n in (self.id, self.table_name, self.id.replace("-", "_"), named) if n))


class SaveIdentity(Configuration):
    """What every save has beside the fields of its kind."""

    id: SourceId
    type: str


class Parameter(Configuration):
    """One argument of a tool. Without `required` it is required unless it has a default."""

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
    type: ParameterType
    description: str = Field("", description="What it means and how it is matched")
    required: StrictBool | None = None
    default: Json = None
    enum: tuple[str | int | float | bool, ...] | None = None
    minimum: int | float | None = None
    maximum: int | float | None = None
    items: ScalarType | None = Field(None, description="Type of the items of an array")
    sensitive: StrictBool = Field(False, description="Keep the value out of the audit log")

    @model_validator(mode="after")
    def _items_of_an_array(self) -> Parameter:
        if (self.items is not None) and self.type != "array":
            raise ValueError(f'\'items\' belongs to type "array", and this is "{self.type}"')
        return self

    @property
    def is_required(self) -> bool:
        return self.default is None if self.required is None else self.required


class Result(Configuration):
    """The shape of a READ answer."""

    page_size: int = Field(50, ge=1, le=10_000, description="Rows of one page")
    max_rows: int = Field(1000, ge=1, description="Rows over all pages")
    max_bytes: int = Field(20_000, ge=256, description="Bytes of one page")
    fields: tuple[str, ...] = Field((), description="Columns to give, in this order; empty: all")
    rename: Mapping[str, str] = Field(default_factory=dict, description="Old column name to new")


class ToolSave(Configuration):
    """Where a WRITE tool's rows go."""

    to: str = Field(description="Id of one of the connector's saves")
    mode: Literal["append", "overwrite", "upsert"] | None = None
    key: tuple[str, ...] | None = None


class Tool(Configuration):
    """What an agent calls. It says `sql` (perhaps with `at` or `save`), `request` or `graph`, or only `source_ids`."""

    id: Id
    name: Text
    description: str = Field(description="Verb first: what a call returns or does")
    category: Literal["READ", "WRITE", "ACTION"]
    parameters: tuple[Parameter, ...] = ()
    sql: str | None = Field(None, description="One SELECT with :name parameters; one DML statement for WRITE with at")
    source_ids: tuple[str, ...] = Field(
        (), description="Sources the SQL may use; with no SQL, the one that is returned"
    )
    at: str | None = Field(None, description="Run the SQL whole in this database source")
    save: ToolSave | None = None
    request: Mapping[str, Json] | None = None
    graph: Mapping[str, Json] | str | None = Field(None, description="A BGL graph, or the path of its file")
    rest_query_params: Mapping[str, str] | None = Field(
        None, description="REST query parameters, each from an argument"
    )
    result: Result = Result()
    output_schema: Mapping[str, Json] | None = None
    timeout_s: float | None = Field(None, gt=0)
    destructive: StrictBool | None = Field(None, description="Overrules what the verb and the category suggest")
    idempotent: StrictBool | None = None


class SkillStep(Configuration):
    alias: Id
    tool_id: str
    params: Mapping[str, Json] = Field(default_factory=dict)


class Skill(Configuration):
    """A prompt template over tools, or steps that run as a graph, or both."""

    id: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]*$")]
    name: Text
    description: str
    tool_ids: tuple[str, ...] = ()
    prompt_template: str = ""
    parameters: tuple[Parameter, ...] = ()
    steps: tuple[SkillStep, ...] = ()
    when_to_use: str = ""
    messages: tuple[AnyBlock, ...] = Field((), description="In place of a template: what the prompt consists of")
    graph: Mapping[str, Json] | str | None = Field(
        None, description="In place of a template: a BGL graph, or its file, whose output port messages is the prompt"
    )

    @model_validator(mode="after")
    def _does_something(self) -> Skill:
        written = bool(self.steps or self.prompt_template.strip())
        forms = written + bool(self.messages) + (self.graph is not None)
        if not forms:
            raise ValueError("a skill needs a prompt_template or steps; this one would do nothing")
        if forms > 1:
            raise ValueError("a skill has a prompt_template and steps, or messages, or a graph; keep one of them")
        return self


class Resource(Contents):
    """What agents read by its URI: a text, a file, the answer of a tool, or what a graph makes."""

    uri: str = Field("", description="Absolute, of any scheme but the platform's own")
    uri_template: str = Field("", description="In place of uri: one with {name} places, which the contents may use")
    name: Text
    title: str = ""
    description: str = ""
    mime_type: str = ""
    tool: str = Field("", description="In place of contents: the tool whose answer it is, as JSON")
    graph: Mapping[str, Json] | str | None = Field(
        None, description="In place of contents: a BGL graph, or its file, whose output port contents is what is read"
    )

    @property
    def address(self) -> str:
        return self.uri or self.uri_template

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(VARIABLE.findall(self.uri_template))

    @model_validator(mode="after")
    def _fits(self) -> Resource:
        if bool(self.uri) == bool(self.uri_template):
            raise ValueError("a resource has a 'uri', or a 'uri_template'")
        if sum(map(bool, (*self.sources(), self.tool, self.graph))) != 1:
            raise ValueError("a resource has one of text, blob, path, tool and graph")
        scheme = ABSOLUTE_URI.match(self.address)
        if scheme is None:
            raise ValueError(f"'{self.address}' is no absolute URI, such as shop://orders")
        if scheme[1].lower() in PLATFORM_SCHEMES:
            raise ValueError(f"URIs of the scheme '{scheme[1]}' are the platform's own")
        if len(set(self.variables)) != len(self.variables) or "{" in VARIABLE.sub("", self.uri_template):
            raise ValueError("a place of a template is {name}, each name once")
        return self


class Top(Configuration):
    """The file itself. `sources`, `tools`, `skills`, `saves` and `resources` are checked one by one."""

    name: Text
    slug: Annotated[str, StringConstraints(pattern=rf"^{SLUG.pattern}$", max_length=64)]
    version: Annotated[str, StringConstraints(pattern=SEMVER)]
    description: str = ""
    instructions: str = Field("", description="How an agent should use the connector as a whole")
    prefix: StrictBool = Field(False, description="Agents see its tools as slug_id")
    sources: tuple[Json, ...]
    tools: tuple[Json, ...]
    skills: tuple[Json, ...] = ()
    saves: tuple[Json, ...] = ()
    resources: tuple[Json, ...] = ()
    evals: str | tuple[str, ...] | None = Field(None, description="File of cases for `jackfield eval`")
