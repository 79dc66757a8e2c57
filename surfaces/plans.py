"""What a call would ask of each source and change elsewhere: the tool's own graph, with every such node replaced by one
that explains it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from pydantic import Field

from ..graphs.errors import Code, JackfieldError
from ..graphs.model import Edge, Graph, Json, Node
from ..nodes.base import ARGUMENTS, OBJECT, SCAN, Configuration, Context, Effect, Inputs, Outputs, Port, node
from ..nodes.scan import EVERYTHING, Predicate, Scan
from .facts import NodeFacts, by_node

if TYPE_CHECKING:
    from ..engine.runs import Run
    from .app import App

SOURCES: Final = ("rest", "postgres", "mysql", "file", "rows")
AT_DATABASE: Final = ("query", "statement")
CALLING: Final = ("tool", "map")
EXPLAINED: Final = (*SOURCES, *AT_DATABASE, *CALLING, "request", "save")
PLAN: Final = "plan"
PLANS: Final = "$plans"
MISSING: Final = (Code.VALIDATION_MISSING_FIELD, Code.VALIDATION_INVALID_PARAMS)


class ExplainConfiguration(Configuration):
    type: str = Field(description="The kind of node that is explained")
    configuration: Mapping[str, Json] = Field(default_factory=dict)


@node(
    "explain",
    description="Says what a node would ask or change, and asks nothing of a source but its columns.",
    effect=Effect.PURE,
    configuration=ExplainConfiguration,
    inputs=(Port(ARGUMENTS, OBJECT, required=False), Port(SCAN, required=False)),
    outputs=(Port(PLAN, OBJECT),),
)
async def explain_node(config: ExplainConfiguration, inputs: Inputs, context: Context) -> Outputs:
    scan: Scan = inputs.get(SCAN) or EVERYTHING
    arguments = inputs.get(ARGUMENTS) or {}
    if config.type == "rest":
        plan = _rest(config.configuration, scan)
    elif config.type == "file":
        plan = _file(config.configuration, scan, context)
    elif config.type in ("postgres", "mysql"):
        plan = await _database(config.type, config.configuration, scan, arguments, context)
    elif config.type in AT_DATABASE:
        plan = {"sent": [str(config.configuration.get("sql", ""))], "kept": [], "rechecked": []}
    elif config.type in TOLD:
        plan = {"sent": [TOLD[config.type](config.configuration)], "kept": [], "rechecked": []}
    else:
        plan = {"sent": ["the rows stand in the connector"], "kept": [], "rechecked": []}
    return {PLAN: {"source": context.node, "type": config.type, "scan": scan.as_json(), **plan}}


def _called(configuration: Mapping[str, Json]) -> str:
    return f"calls {configuration.get('tool') or configuration.get('$board') or 'a graph'}"


def _mapped(configuration: Mapping[str, Json]) -> str:
    return f"{_called(configuration)} for each row"


def _requested(configuration: Mapping[str, Json]) -> str:
    return f"{configuration.get('method', 'POST')} {configuration.get('url', '')}"


def _saved(configuration: Mapping[str, Json]) -> str:
    target = configuration.get("path") or configuration.get("table") or configuration.get("url") or ""
    return f"saves into {configuration.get('type', '')} {target}, mode {configuration.get('mode', 'append')}"


TOLD: Final[Mapping[str, Callable[[Mapping[str, Json]], str]]] = {
    "tool": _called,
    "map": _mapped,
    "request": _requested,
    "save": _saved,
}


def explaining(graph: Graph) -> Graph:
    """The graph that explains the nodes of `graph` that reach outside, instead of firing them; each is an output port.

    Arguments are still checked by the input node, and conditions still found by `pushdown`.
    """
    explained = [one.id for one in graph.nodes if one.type in EXPLAINED]
    nodes = [
        replace(one, type="explain", configuration={"type": one.type, "configuration": dict(one.configuration)})
        if one.type in EXPLAINED
        else one
        for one in graph.nodes
        if one.type in EXPLAINED or one.type in ("input", "pushdown")
    ]
    kept = {one.id for one in nodes}
    edges = [edge for edge in graph.edges if edge.from_ in kept and edge.to in kept]
    edges = [e if e.to not in explained or e.in_ in (ARGUMENTS, SCAN) else Edge(e.from_, e.to) for e in edges]
    led = {edge.to for edge in edges}
    entries = [one.id for one in graph.nodes if one.type == "input"]
    edges += [Edge(entry, name) for entry in entries[:1] for name in explained if name not in led]
    edges += [Edge(name, PLANS, PLAN, name) for name in explained]
    return Graph((*nodes, Node(PLANS, "output")), tuple(edges), title=graph.title)


def plans_of(run: Run) -> list[Mapping[str, Any]]:
    """What each explained node said, out of a run of `explaining`."""
    return [plan for node, values in run.outputs if node == PLANS for plan in values.values()]


async def plans_or_missing(
    app: App, connector: str, graph: Graph, arguments: Mapping[str, Any]
) -> tuple[list[Mapping[str, Json]], JackfieldError | None]:
    """The plan of each source; or why there is none: an argument is missing, and none at all was given."""
    try:
        run = await app.run(explaining(graph), arguments, connector=app.connector(connector))
    except JackfieldError as error:
        if arguments or error.code not in MISSING:
            raise
        return [], error
    return plans_of(run), None


def plan_lines(plans: Sequence[Mapping[str, Any]], facts: Mapping[str, NodeFacts] | None = None) -> Iterator[str]:
    """The plans of all sources as text; `facts` are those of a run that was made with them."""
    width = max((len(plan["source"]) for plan in plans), default=0)
    for plan in plans:
        sent = list(plan["sent"]) or ["everything"]
        yield f"{plan['source']:{width}}  {sent[0]}"
        indent = " " * (width + 2)
        yield from (f"{indent}{line}" for line in sent[1:])
        measured = facts.get(plan["source"]) if facts else None
        if measured is not None:
            yield f"{indent}gave {measured.words()}"
        yield from (f"{indent}checked again: {line}" for line in plan["rechecked"])
        yield from (f"{indent}not sent: {line}" for line in plan["kept"])


def analyzed(run: Run) -> dict[str, dict[str, Json]]:
    """What a run measured, by node id, as drawings take it."""
    drawn: dict[str, dict[str, Json]] = {}
    for name, facts in by_node(run.events).items():
        measured: dict[str, Json] = {"ms": round(facts.seconds * 1000, 1)}
        for key in ("rows", "bytes", "requests"):
            value = getattr(facts, key)
            if value is not None:
                measured[key] = value
        drawn[name] = measured
    return drawn


def scan_words(scan: Scan) -> str:
    """`columns day, total; day >= 2026-03-01; limit 10`."""
    parts = [f"columns {', '.join(scan.columns)}" if scan.columns is not None else "all columns"]
    parts += [predicate_words(predicate) for predicate in scan.predicates]
    if scan.limit is not None:
        parts.append(f"limit {scan.limit}")
    return "; ".join(parts)


def predicate_words(predicate: Predicate) -> str:
    if isinstance(predicate.value, tuple):
        return f"{predicate.column} in ({', '.join(str(value) for value in predicate.value)})"
    return f"{predicate.column} {predicate.operator} {predicate.value}"


def _rest(configuration: Mapping[str, Json], scan: Scan) -> dict[str, Any]:
    from ..nodes.rest import RestConfiguration, explain

    told = explain(RestConfiguration.model_validate(dict(configuration)), scan)
    pairs = [*((name, str(value)) for name, value in told["params"].items()), *map(tuple, told["query"])]
    query = f"?{urlencode(pairs, safe=':{}, ')}" if pairs else ""
    pages = "" if told["pages"] == "none" else f", all pages ({told['pages']})"
    return {
        "sent": [f"{told['method']} {told['url']}{query}{pages}"],
        "kept": told["kept"],
        "rechecked": told["rechecked"],
    }


def _file(configuration: Mapping[str, Json], scan: Scan, context: Context) -> dict[str, Any]:
    from ..nodes.file import CACHED_BYTES
    from ..nodes.files.confine import matching

    path = context.secrets.expand(str(configuration["path"]))
    held = sum(place.path.stat().st_size for place in matching(path, context.folder, context.roots))
    if held < CACHED_BYTES:
        return {"sent": [f"{path}, read whole and kept while it does not change"], "kept": [], "rechecked": []}
    return {"sent": [f"{path}: {scan_words(scan)}"], "kept": list(scan.kept), "rechecked": []}


async def _database(
    engine: Any, configuration: Mapping[str, Json], scan: Scan, arguments: Mapping[str, Any], context: Context
) -> dict[str, Any]:
    from ..nodes.databases.source import DatabaseSource, described, explain

    config = DatabaseSource.model_validate(dict(configuration))
    try:
        columns = await described(engine, config, context, arguments)
    except JackfieldError as error:
        note = f"what the database is sent depends on its column types, and it could not be asked: {error.message}"
        return {"sent": [scan_words(scan)], "kept": [*scan.kept, note], "rechecked": []}
    told = explain(engine, config, scan, columns, arguments)
    return {"sent": [told.query.shown], "kept": list(told.kept), "rechecked": list(told.rechecked)}
