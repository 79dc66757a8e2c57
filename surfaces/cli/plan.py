"""`jackfield plan`: a tool's graph, what each source is asked, and with --analyze what it gave."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import anyio
import click

from ...connectors.model import Skill, Tool
from ...graphs.bgl import to_json
from ...graphs.errors import Code, JackfieldError
from ...graphs.model import Graph, Json
from ..app import App
from ..facts import by_node, duration
from .arguments import read_arguments
from .failures import errors_as_json
from .target import locate

FORMATS: Final = ("tree", "mermaid", "svg", "json", "bgl")


@click.command("plan")
@click.argument("connector")
@click.argument("tool")
@click.argument("arguments", nargs=-1)
@click.option("--format", "format", type=click.Choice(FORMATS), default="tree", show_default=True)
@click.option("--analyze", is_flag=True, help="Also call the tool (a READ), and say what each node gave and took.")
@click.option("--args", "document", metavar="JSON", help="Arguments as a JSON object, or @FILE.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE")
def command(
    connector: str,
    tool: str,
    arguments: tuple[str, ...],
    format: str,
    analyze: bool,
    document: str | None,
    output: Path | None,
) -> None:
    """Draw the graph of TOOL and say what each source is asked for these ARGUMENTS (name=value).

    Below a source stands what was not sent to it and why. The SQL always runs again over what comes.
    """
    errors_as_json(format == "json")
    app, owner = locate(connector, tool)
    _, found = app.find(owner.slug, tool)
    graph = found.graph
    if format == "bgl":
        return _put(json.dumps(to_json(graph), ensure_ascii=False, indent=2), output)
    given = read_arguments(found.input_schema, arguments, document)

    async def main() -> str:
        async with app:
            return await plan_text(app, owner.slug, found, given, format, analyze=analyze)

    return _put(anyio.run(main), output)


def _put(text: str, output: Path | None) -> None:
    if output is None:
        click.echo(text)
    else:
        output.write_text(text + "\n", "utf-8")


async def plan_text(
    app: App, connector: str, found: Tool | Skill, arguments: Mapping[str, Any], format: str, *, analyze: bool
) -> str:
    """The plan in one of the formats, with `app` open."""
    from ...graphs.drawing import mermaid, svg, tree
    from ..plans import analyzed, plan_lines, plans_or_missing

    writing = [found] if isinstance(found, Tool) else [app.find(connector, step.tool)[1] for step in found.steps]
    writing = [one for one in writing if isinstance(one, Tool) and one.writes]
    if analyze and writing:
        raise JackfieldError(
            Code.VALIDATION_INVALID_PARAMS,
            f"'{writing[0].id}' is a {writing[0].category}, and --analyze would call it.",
            "Plan it without --analyze, or call it.",
        )
    plans, missing = await plans_or_missing(app, connector, found.graph, arguments)
    result = await app.call(connector, found.id, arguments, fresh=True) if analyze else None

    facts = analyzed(result.run) if result is not None and result.run is not None else {}
    if format == "json":
        return _json(found.graph, plans, facts)
    drawing = {"mermaid": mermaid, "svg": svg, "tree": tree}[format](found.graph, facts)
    if format != "tree":
        return drawing
    lines = [drawing]
    measured = by_node(result.run.events) if result is not None and result.run is not None else None
    writes = any(plan["type"] in ("save", "request", "statement") for plan in plans)
    if plans:
        heading = "what each source is asked, and what is written" if writes else "what each source is asked"
        lines += ["", heading, *(f"  {line}" for line in plan_lines(plans, measured))]
    if missing is not None:
        lines += ["", f"What each source is asked depends on the arguments: {missing.message}"]
    if result is not None and result.run is not None:
        lines += ["", f"ran in {duration(result.run.duration_s)}; graph {found.graph.hash[:12]}"]
    return "\n".join(lines)


def _json(graph: Graph, plans: list[Mapping[str, Json]], facts: Mapping[str, Json]) -> str:
    document = {"hash": graph.hash, "sources": plans, "nodes": facts, "graph": to_json(graph)}
    return json.dumps(document, ensure_ascii=False, indent=2, default=str)
