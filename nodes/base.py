"""The contract: what a kind of node declares, and all that one node may touch in one run.

A kind is one declaration (`@node(...)` over one async function). Its schema, docs page, lint and form come from it.
The engine implements `Context`; a node never imports the engine, and the engine is handed a registry of kinds.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from ..graphs.errors import Code, JackfieldError
from ..graphs.model import Graph, Json

if TYPE_CHECKING:
    from .table import Table

Value = Any  # JSON, LLM content, or a Table
Inputs = Mapping[str, Value]
Outputs = dict[str, Value]
Fire = Callable[[Inputs, "Context"], Awaitable[Outputs]]
C = TypeVar("C", bound=BaseModel)
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

ARGUMENTS: Final = "$arguments"  # the port that carries all validated arguments of a call as one object
SCAN: Final = "scan"  # the port that carries what a query needs of a source
ROWS: Final = "rows"  # the port that carries a Table
ANYTHING: Final[Mapping[str, Json]] = {}
TABLE: Final[Mapping[str, Json]] = {"type": "array", "items": {"type": "object"}, "behavior": ["table"]}
OBJECT: Final[Mapping[str, Json]] = {"type": "object"}


class Effect(StrEnum):
    """What firing a node does to the world. READS may be retried; WRITES never is without an idempotency key."""

    PURE = "pure"
    READS = "reads"
    WRITES = "writes"
    ASKS = "asks"


@dataclass(frozen=True, slots=True)
class Port:
    """A named input or output with its JSON Schema (`TABLE` for rows). A required input must be wired or configured."""

    name: str
    schema: Mapping[str, Json] = field(default_factory=lambda: ANYTHING)
    description: str = ""
    required: bool = True


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports of one configured node. Open: it also takes, or gives, ports that are not named here."""

    inputs: tuple[Port, ...] = ()
    outputs: tuple[Port, ...] = ()
    open_inputs: bool = False
    open_outputs: bool = False


class Configuration(BaseModel):
    """Base of every kind's configuration: immutable, and an unknown field is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class NoConfiguration(Configuration):
    """A kind that has nothing to configure."""


class OpenConfiguration(Configuration):
    """A kind whose configuration may also hold values of its input ports, as BGL allows for any node."""

    model_config = ConfigDict(extra="allow", frozen=True)


@dataclass(frozen=True, slots=True)
class NodeType(Generic[C]):
    """A kind of node.

    `run` gets the validated configuration and the values of its input ports, and gives values by output port.
    `ports_of` refines the declared ports by a node's configuration (an `input` node's schema, say).
    """

    name: str
    description: str
    effect: Effect
    configuration: type[C]
    ports: Ports
    run: Callable[[C, Inputs, Context], Awaitable[Outputs]]
    ports_of: Callable[[Mapping[str, Json]], Ports] | None = None

    def ports_for(self, configuration: Mapping[str, Json]) -> Ports:
        return self.ports if self.ports_of is None else self.ports_of(configuration)

    def bind(self, node: str, configuration: Mapping[str, Json], wired: frozenset[str] = frozenset()) -> Fire:
        """The async function that fires this node. Configuration is validated here, once.

        A wired port overrides the configuration's field of that name, which then is validated at each firing
        (so that a required field may come by wire alone). What the scheduler passes in is the wired values only.

        Raises JackfieldError CONFIG_INVALID.
        """
        fields = {field.alias or name for name, field in self.configuration.model_fields.items()}
        overriding = wired & fields
        run = self.run
        if not overriding and "*" not in wired:
            config = self._validated(node, configuration)
            literal = config.model_extra or {}
            if not literal:
                return lambda inputs, context: run(config, inputs, context)
            return lambda inputs, context: run(config, {**literal, **inputs}, context)

        async def fire(inputs: Inputs, context: Context) -> Outputs:
            overridden = {name: value for name, value in inputs.items() if name in fields}
            values = {name: value for name, value in inputs.items() if name not in fields}
            config = self._validated(node, {**configuration, **overridden})
            return await run(config, {**(config.model_extra or {}), **values}, context)

        return fire

    def _validated(self, node: str, configuration: Mapping[str, Json]) -> C:
        try:
            return self.configuration.model_validate(dict(configuration))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = "/".join(str(part) for part in first["loc"])
            raise JackfieldError(
                Code.CONFIG_INVALID,
                f"Node '{node}' ({self.name}): configuration '{place}': {first['msg']}.",
                f"See `jackfield schema node {self.name}`.",
                {"node": node, "type": self.name, "field": place},
            ) from None


def node(
    name: str,
    *,
    description: str,
    effect: Effect = Effect.PURE,
    configuration: type[C],
    inputs: Sequence[Port] = (),
    outputs: Sequence[Port] = (),
    open_inputs: bool = False,
    open_outputs: bool = False,
    ports_of: Callable[[Mapping[str, Json]], Ports] | None = None,
) -> Callable[[Callable[[C, Inputs, Context], Awaitable[Outputs]]], NodeType[C]]:
    """Declare a kind of node over the async function that fires it."""
    ports = Ports(tuple(inputs), tuple(outputs), open_inputs, open_outputs)

    def declare(run: Callable[[C, Inputs, Context], Awaitable[Outputs]]) -> NodeType[C]:
        return NodeType(name, description, effect, configuration, ports, run, ports_of)

    return declare


class Secrets(Protocol):
    """Where configured text gets its secrets. Values never enter a configuration, an event or an error."""

    def expand(self, text: str) -> str:
        """`text` with each `{{ env:VAR }}` replaced, once. Raises SECRET_MISSING naming the variable."""

    def value(self, secret_key: str) -> str:
        """The value of the environment variable or credential `secret_key`. Raises SECRET_MISSING."""

    def is_echoed(self, body: bytes) -> bool:
        """Whether a reply holds a value that was given."""

    def conceal(self, text: str) -> str:
        """Text of a reply, that a caller will see, without the values that were given and are worth hiding."""


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request. `url` is absolute, with what belongs in its path already percent-encoded."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    query: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    timeout_s: float = 30.0
    max_bytes: int | None = None  # cap of the decoded body; None: the engine's


@dataclass(frozen=True, slots=True)
class Response:
    """`headers` by lower-case name, the last value winning; `body` decoded (gzip undone) and within the cap."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str


class Egress(Protocol):
    """The one way out for HTTP."""

    async def send(self, request: Request) -> Response:
        """Any status is an answer. Redirects are not followed.

        Raises SOURCE_UNREACHABLE, SOURCE_BLOCKED, SOURCE_TIMEOUT, SOURCE_BAD_REPLY, BUDGET_EXCEEDED.
        """


class Lease(Protocol[R_co]):
    """A pooled resource while it is ours."""

    @property
    def value(self) -> R_co: ...

    def discard(self) -> None:
        """Close it at the end of the lease instead of giving it back: after an error its state is not known."""


class Pools(Protocol):
    """Long-lived resources shared by runs: database connections."""

    def lease(
        self, key: str, open: Callable[[], Awaitable[R]], close: Callable[[R], Awaitable[None]]
    ) -> AbstractAsyncContextManager[Lease[R]]:
        """An idle resource of `key`, or a new one. `key` holds a digest of credentials, never credentials.

        Waits its turn, bounded; raises OVERLOADED.
        """


class Tables(Protocol):
    """The locked DuckDB database, as one run sees it."""

    async def query(
        self, sql: str, parameters: Mapping[str, Value], tables: Mapping[str, Table], *, stream: bool = False
    ) -> Table:
        """The rows of one read-only SELECT (`:name` parameters) over just `tables`.

        Raises QUERY_INVALID, SCHEMA_NOT_FOUND, TYPE_MISMATCH, BUDGET_EXCEEDED, QUERY_TIMEOUT.
        """


class SourceCache(Protocol):
    """Pulls shared by runs: concurrent pulls of one key are one pull. A key begins with its connector: `slug|…`."""

    async def tables(
        self, key: str, ttl_s: float, pull: Callable[[], Awaitable[Mapping[str, Table]]]
    ) -> Mapping[str, Table]:
        """What `pull` gives (whole tables only), kept for `ttl_s` seconds; 0 shares only the pull under way."""

    def drop(self, connector: str) -> None:
        """Forget what was pulled for `connector`: one of its tools wrote."""


class Budget(Protocol):
    """What one call may use. Each method counts and raises BUDGET_EXCEEDED with what was used and the limit."""

    def spend_rows(self, rows: int) -> None: ...

    def spend_bytes(self, size: int) -> None: ...


@dataclass(frozen=True, slots=True)
class Question:
    """What a node wants to know of whoever called. `key` names it among the questions of one call.

    `params` are those of the MCP request `method`: a form or a link for the person, messages for the client's model,
    nothing for the client's roots.
    """

    key: str
    method: Literal["elicitation/create", "sampling/createMessage", "roots/list"]
    params: Mapping[str, Json] = field(default_factory=dict)


class Client(Protocol):
    """Whoever called, as one who can be asked and told things while the call goes on."""

    def takes(self, question: Question) -> bool:
        """Whether this client can be asked that."""

    async def ask(self, questions: Sequence[Question]) -> Mapping[str, Mapping[str, Json]]:
        """The MCP result of each question, by its key. All are asked at once.

        Raises INPUT_REQUIRED where the call has to end here, and begins anew when the answers are known.
        """

    async def log(self, level: str, data: Json, logger: str = "") -> None:
        """Tell the client. `level` is one of syslog's eight words."""


class Context(Protocol):
    """All that one node may touch in one run."""

    @property
    def run_id(self) -> str: ...

    @property
    def node(self) -> str: ...

    @property
    def principal(self) -> str:
        """Who calls; `local` for the operator."""

    @property
    def connector(self) -> str:
        """The slug of the connector whose graph runs; empty for a bare graph."""

    @property
    def folder(self) -> Path:
        """The folder that relative paths of this connector start from, and may not leave."""

    @property
    def roots(self) -> Sequence[Path]:
        """Further folders that the operator declared readable."""

    @property
    def deadline(self) -> float:
        """`anyio.current_time()` at which the run ends; infinity when it has none."""

    @property
    def client(self) -> Client | None:
        """Whoever called, when he can be asked. Ask by `nodes.asking.ask`, which refuses what cannot be repeated."""

    @property
    def wrote(self) -> str:
        """The first node of this run that began to write; empty while none has."""

    @property
    def streams(self) -> bool:
        """Whether an output Table may be a stream: each wired port has one consumer."""

    @property
    def fresh(self) -> bool:
        """The caller asked that no cached rows be used."""

    @property
    def idempotency_key(self) -> str:
        """Stable over repeats of the same write; empty when the caller gave none."""

    @property
    def secrets(self) -> Secrets: ...

    @property
    def egress(self) -> Egress: ...

    @property
    def pools(self) -> Pools: ...

    @property
    def tables(self) -> Tables: ...

    @property
    def cache(self) -> SourceCache: ...

    @property
    def budget(self) -> Budget: ...

    def subgraph(self, reference: str) -> Graph:
        """The sub-graph `#id` of the running graph. Raises CONFIG_INVALID."""

    async def invoke(self, graph: Graph, inputs: Inputs) -> Outputs:
        """Run `graph` as a component: its input nodes get `inputs`, and it ends at its first output."""

    async def call_tool(self, tool: str, arguments: Inputs) -> Outputs:
        """Run another tool's graph: `tool` of this connector, or `connector/tool`. Raises TOOL_NOT_FOUND."""

    def progress(self, done: float, total: float | None = None, message: str = "") -> None: ...

    def note(self, kind: str, **facts: Json) -> None:
        """Add an event of this node to the run (`pulled`, `pushed`, `saved` …). Never a secret."""
