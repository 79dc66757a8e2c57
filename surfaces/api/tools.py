"""/api/tools: what agents are offered, each tool taken apart, planned and run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from pydantic import Field
from starlette.responses import Response

from ...connectors.model import Connector, Skill, Tool
from ...connectors.offer import OfferedTool
from ...graphs.bgl import to_json
from ...graphs.errors import Code, JackfieldError
from ...graphs.model import Graph
from ...nodes.blocking import in_thread
from ..faults import not_found
from ..served import LOCAL
from ..service import CURSOR, Service, pages
from ..signatures import as_mcp, signature
from ..whole_results import accepted
from .calling import (
    FAILURES,
    RESULT_HEADER,
    ROWS,
    RUN_HEADER,
    SESSION,
    caller_of,
    json_answer,
    no_rows,
    rows_answer,
    while_connected,
)
from .endpoint import Asked, Endpoint, Given, Nothing, Other, Told, endpoint
from .shapes import Error, PageTold

LONGEST_KEY: Final = 255
NAME: Final = {"tool": "The name by which agents know the tool"}


class ToolSummary(Told):
    name: str = Field(description="The name by which agents know it; the tool's own where they are not offered it")
    offered: bool
    connector: str
    id: str
    title: str
    description: str
    category: Literal["READ", "WRITE", "ACTION"]
    signature: str


class ToolList(Told):
    tools: list[ToolSummary]


class ToolDetail(ToolSummary):
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None
    annotations: dict[str, Any]
    sql: str | None
    at: str | None = Field(description="The database source that runs the SQL; else it runs here")
    save: dict[str, Any] | None
    timeout_s: float | None
    page_size: int
    max_rows: int
    max_bytes: int
    pages: bool = Field(description="Whether an answer may go on at a cursor")
    graph_hash: str | None = Field(description="What runs; null when it cannot be compiled")
    error: Error | None = Field(description="Why it cannot be compiled")


class Drawing(Given):
    format: Literal["json", "mermaid", "svg"] = Field("json", description="json: BGL, and the graph's hash")


class GraphTold(Told):
    hash: str
    graph: dict[str, Any] = Field(description="The graph as BGL")


class Arguments(Given):
    arguments: dict[str, Any] = Field(default_factory=dict, description="By the tool's input schema")


class Run(Arguments):
    cursor: str | None = Field(None, description="next_cursor of an earlier answer, to go on from there")
    fresh: bool = Field(False, description="Ask the sources, and use no rows that are kept of an earlier call")


class PlanTold(Told):
    hash: str
    sources: list[dict[str, Any]] = Field(
        description="What each source is asked: `sent`, what is not sent and why (`kept`), what SQL checks again"
    )
    missing: Error | None = Field(description="Why `sources` is empty: an argument is missing, and none was given")
    graph: dict[str, Any] = Field(description="The graph as BGL")


@endpoint("GET", "/tools", tag="tools", summary="List the tools that agents are offered", answer=ToolList)
async def list_tools(asked: Asked[Nothing, Nothing]) -> ToolList:
    """A tool that is not offered, because another has its name, is found at its connector."""
    service = asked.service
    names = names_of(service)
    return ToolList(tools=[tool_summary(names, one.connector, one.tool) for one in service.offer.tools.values()])


@endpoint("GET", "/tools/{tool}", tag="tools", summary="One tool", answer=ToolDetail, parameters=NAME,
          errors=(Code.TOOL_NOT_FOUND,))  # fmt: skip
async def get_tool(asked: Asked[Nothing, Nothing]) -> ToolDetail:
    """The operator alone sees `sql`, `at` and `save`."""
    one = _offered(asked)
    tool = one.tool
    shown = as_mcp(tool)
    is_operator = asked.principal == LOCAL
    graph_hash, error = None, None
    try:
        graph_hash = (await compiled(tool)).hash
    except JackfieldError as failure:
        error = Error.model_validate(failure.as_json())
    return ToolDetail(
        **tool_summary({tool.key: one.name}, one.connector, tool).model_dump(),
        input_schema=shown["inputSchema"],
        output_schema=shown.get("outputSchema"),
        annotations=shown["annotations"],
        sql=tool.sql if is_operator else None,
        at=tool.at if is_operator else None,
        save=None if tool.save is None or not is_operator else dict(tool.save),
        timeout_s=tool.timeout_s,
        page_size=tool.result.page_size,
        max_rows=tool.result.max_rows,
        max_bytes=tool.result.max_bytes,
        pages=pages(tool),
        graph_hash=graph_hash,
        error=error,
    )


@endpoint("GET", "/tools/{tool}/graph", tag="tools", summary="The graph that a tool runs", query=Drawing,
          answer=GraphTold, others=(Other("text/plain"), Other("image/svg+xml")), operator=True, parameters=NAME,
          errors=(Code.TOOL_NOT_FOUND, Code.CONFIG_INVALID, Code.QUERY_INVALID))  # fmt: skip
async def get_graph(asked: Asked[Drawing, Nothing]) -> GraphTold | Response:
    graph = await compiled(_offered(asked).tool)
    match asked.query.format:
        case "mermaid":
            from ...graphs.drawing import mermaid

            return Response(mermaid(graph), media_type="text/plain")
        case "svg":
            from ...graphs.drawing import svg

            return Response(svg(graph), media_type="image/svg+xml", headers={"content-security-policy": "sandbox"})
    return GraphTold(hash=graph.hash, graph=to_json(graph))


@endpoint("POST", "/tools/{tool}/plan", tag="tools", summary="What a call would ask of each source", body=Arguments,
          answer=PlanTold, operator=True, parameters=NAME, errors=FAILURES)  # fmt: skip
async def plan_tool(asked: Asked[Nothing, Arguments]) -> PlanTold:
    """Nothing is called. Databases are asked for the types of their columns."""
    from ..plans import plans_or_missing

    one = _offered(asked)
    graph = await compiled(one.tool)
    plans, missing = await plans_or_missing(asked.service.app, one.connector.slug, graph, asked.body.arguments)
    return PlanTold(
        hash=graph.hash,
        sources=[dict(plan) for plan in plans],
        missing=None if missing is None else Error.model_validate(missing.as_json()),
        graph=to_json(graph),
    )


@endpoint("POST", "/tools/{tool}/run", tag="tools", summary="Run a tool", body=Run, answer=PageTold, others=ROWS,
          parameters=NAME, errors=FAILURES,
          headers=(("Idempotency-Key", "request", "A write with the same key and arguments happens once", False),
                   (SESSION, "request", "The session to which this call is counted", False),
                   ("Accept", "request", "A media type of csv, ndjson, arrow or parquet: all rows, no pages", False),
                   (RUN_HEADER, "response", "The id of the run, for /api/runs", False),
                   (RESULT_HEADER, "response", "The id of the whole, for /api/results, when there is more", False),
                   ))  # fmt: skip
async def run_tool(asked: Asked[Nothing, Run]) -> Response:
    """As an agent's call: checked, bounded, recorded in the audit. A READ answers a page; WRITE and ACTION a value of
    their own. Going away ends the call.
    """
    name = asked.path["tool"]
    form = accepted(asked.request.headers.get("accept", ""))
    arguments = dict(asked.body.arguments)
    offered = asked.service.offer.tools.get(name)
    if form != "json" and offered is not None and offered.tool.writes:
        raise no_rows(name, form)
    if asked.body.cursor is not None:
        if offered is not None and not pages(offered.tool):
            raise JackfieldError(
                Code.VALIDATION_INVALID_PARAMS,
                f"'{name}' gives no pages to go on in.",
                "Leave `cursor` out.",
                {"parameter": CURSOR},
            )
        arguments[CURSOR] = asked.body.cursor
    work = asked.service.call(
        caller_of(asked),
        name,
        arguments,
        idempotency_key=_key(asked),
        whole=form != "json",
        fresh=asked.body.fresh,
    )
    answer = await while_connected(asked.request, work)
    return json_answer(answer) if form == "json" else await rows_answer(answer, form, name)


def _key(asked: Asked[Any, Any]) -> str:
    """The idempotency key, of this principal alone."""
    key = asked.request.headers.get("idempotency-key", "")[:LONGEST_KEY]
    return key if not key or asked.principal == LOCAL else f"{asked.principal}\n{key}"


def _offered(asked: Asked[Any, Any]) -> OfferedTool:
    name = asked.path["tool"]
    found = asked.service.offer.tools.get(name)
    if found is None:
        raise not_found("tool", name, asked.service.offer.tools)
    return found


async def compiled(part: Tool | Skill) -> Graph:
    """The graph, made in a thread when it is first asked for. Raises what compiling raises."""
    if "graph" not in vars(part):
        await in_thread(lambda: part.graph)
    return part.graph


def names_of(service: Service) -> dict[str, str]:
    """The name by which agents know each tool, by the tool's key."""
    return {one.tool.key: name for name, one in service.offer.tools.items()}


def tool_summary(names: Mapping[str, str], connector: Connector, tool: Tool) -> ToolSummary:
    name = names.get(tool.key)
    return ToolSummary(
        name=name or tool.name,
        offered=name is not None,
        connector=connector.slug,
        id=tool.id,
        title=tool.title,
        description=tool.description,
        category=tool.category,
        signature=signature(tool),
    )


ENDPOINTS: Final[tuple[Endpoint, ...]] = (list_tools, get_tool, get_graph, plan_tool, run_tool)
