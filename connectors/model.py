"""What a connector is once it has been read, whatever file it came from: sources, tools, skills and saves.

A tool's graph is compiled when it is first asked for, and kept: a catalog of hundreds of tools loads without
reading one line of SQL.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final, Literal
from urllib.parse import unquote

from ..graphs.findings import Finding
from ..graphs.model import EMPTY, Graph, Json
from ..nodes.arguments import from_text

Category = Literal["READ", "WRITE", "ACTION"]
SLUG: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
IDENTIFIER: Final = re.compile(r"[a-z][a-z0-9_]*")
VARIABLE: Final = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")  # a place of a URI template (RFC 6570, level 1)


@dataclass(frozen=True, slots=True)
class Source:
    """Where rows come from. `type` is the node type; `names` are what SQL may call it, the id among them."""

    id: str
    type: str
    configuration: Mapping[str, Json]
    names: tuple[str, ...] = ()
    title: str = ""
    pointer: str = ""


@dataclass(frozen=True, slots=True)
class ResultShape:
    """How an answer is cut for one who reads it page by page. Column choice and names are part of the graph."""

    page_size: int = 50
    max_rows: int = 1000
    max_bytes: int = 20_000
    fields: tuple[str, ...] = ()
    rename: Mapping[str, str] = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True)
class Tool:
    """What an agent calls. `key` is how the whole catalog names it: `connector/id`.

    `graph` raises JackfieldError (CONFIG_INVALID, QUERY_INVALID) when the tool cannot be compiled.
    """

    id: str
    name: str
    title: str
    description: str
    category: Category
    input_schema: Mapping[str, Json]
    annotations: Mapping[str, bool]
    compile: Callable[[], Graph] = field(repr=False, compare=False)
    answer: Callable[[], Mapping[str, Json] | None] = field(default=lambda: None, repr=False, compare=False)
    connector: str = ""
    result: ResultShape = ResultShape()
    timeout_s: float | None = None
    sql: str | None = None
    at: str | None = None
    save: Mapping[str, Json] | None = None
    destructive: bool | None = None  # what the author said; the annotations hold what follows
    pointer: str = ""

    @property
    def key(self) -> str:
        return f"{self.connector}/{self.id}"

    @property
    def writes(self) -> bool:
        """Whether a successful call makes the connector's cached rows stale."""
        return self.category != "READ"

    @cached_property
    def graph(self) -> Graph:
        return self.compile()

    @cached_property
    def output_schema(self) -> Mapping[str, Json] | None:
        """The JSON Schema of the result object; None where it is not known before the call."""
        return self.answer()


@dataclass(frozen=True, slots=True)
class Step:
    """One tool call of a skill; `params` may hold `{{skill.input.X}}` and `{{steps.alias.field}}`."""

    alias: str
    tool: str
    params: Mapping[str, Json]


@dataclass(frozen=True)
class Skill:
    """A prompt over tools, or steps that run as a graph, or both.

    `graph` raises JackfieldError INVALID_SKILL when the skill names a tool or a step that is not there.
    """

    id: str
    name: str
    description: str
    input_schema: Mapping[str, Json]
    tool_ids: tuple[str, ...]
    prompt: str
    compile: Callable[[], Graph] = field(repr=False, compare=False)
    connector: str = ""
    steps: tuple[Step, ...] = ()
    when_to_use: str = ""
    gives_messages: bool = False  # its graph makes its prompt: the output port `messages`
    pointer: str = ""

    @property
    def key(self) -> str:
        return f"{self.connector}/{self.id}"

    @property
    def category(self) -> str:
        return "SKILL"

    @property
    def writes(self) -> bool:
        """Whether it may change something: its steps may; what makes a prompt only reads."""
        return not self.gives_messages

    @cached_property
    def graph(self) -> Graph:
        return self.compile()


@dataclass(frozen=True)
class Resource:
    """What agents read by its URI, or by any that fits a template such as `shop://orders/{id}`.

    Reading runs `graph` with the arguments that its URI gives; its output port `contents` is what resources/read gives.
    """

    uri: str
    name: str
    title: str
    description: str
    mime_type: str
    input_schema: Mapping[str, Json]
    compile: Callable[[], Graph] = field(repr=False, compare=False)
    is_template: bool = False
    connector: str = ""
    pointer: str = ""

    @property
    def id(self) -> str:
        return self.uri

    @property
    def key(self) -> str:
        return f"{self.connector}/{self.uri}"

    @property
    def category(self) -> str:
        return "RESOURCE"

    @property
    def writes(self) -> bool:
        return False

    @cached_property
    def graph(self) -> Graph:
        return self.compile()

    def arguments(self, uri: str) -> Mapping[str, Json] | None:
        """What `uri` has in the template's places, as the graph takes it; None for a URI of another resource."""
        if not self.is_template:
            return {} if uri == self.uri else None
        found = self._pattern.fullmatch(uri)
        if found is None:
            return None
        return from_text(self.input_schema, {name: unquote(text) for name, text in found.groupdict().items()})

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        pieces = VARIABLE.split(self.uri)  # text, name, text, name, text
        places = [f"(?P<{piece}>[^/?#]+)" if at % 2 else re.escape(piece) for at, piece in enumerate(pieces)]
        return re.compile("".join(places))


Runnable = Tool | Skill | Resource  # each has a graph


@dataclass(frozen=True)
class Connector:
    """One connector. `folder` is where its relative paths start; `findings` are what reading it found."""

    slug: str
    name: str
    version: str
    path: Path | None
    folder: Path
    format: str
    description: str = ""
    instructions: str = ""
    prefix: bool = False
    sources: Mapping[str, Source] = field(default_factory=dict)
    tools: Mapping[str, Tool] = field(default_factory=dict)
    skills: Mapping[str, Skill] = field(default_factory=dict)
    resources: Mapping[str, Resource] = field(default_factory=dict)  # by URI, or URI template
    saves: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    evals: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    graph_files: tuple[Path, ...] = ()  # BGL files that it names
    digest: str = ""  # of the file's text: a reload that finds the same text keeps this very connector
