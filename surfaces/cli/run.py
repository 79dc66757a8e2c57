"""`jackfield run`: run a graph to its end, every output counts; progress per node on stderr."""

from __future__ import annotations

from pathlib import Path

import anyio
import click

from ...connectors.model import Connector
from ...graphs.errors import Code, JackfieldError
from ...nodes.table import Table
from ..answers import CallResult, explained, read_whole, was_capped
from ..app import App
from .arguments import read_arguments
from .asking import Terminal, asks
from .call import give, said
from .failures import errors_as_json
from .progress import progress
from .rows import FORMATS, STREAMED, format_for
from .target import locate


@click.command("run")
@click.argument("graph")
@click.argument("inputs", nargs=-1)
@click.option("--format", "format", type=click.Choice(FORMATS))
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE")
@click.option("--no-cache", is_flag=True, help="Pull every source anew.")
@click.option("--args", "document", metavar="JSON", help="Inputs as a JSON object, or @FILE.")
@click.option("--timeout", type=float, metavar="SECONDS")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing on stderr but errors.")
def command(
    graph: str,
    inputs: tuple[str, ...],
    format: str | None,
    output: Path | None,
    no_cache: bool,
    document: str | None,
    timeout: float | None,
    quiet: bool,
) -> None:
    """Run GRAPH: a BGL file, or connector/tool for the graph of a tool. INPUTS are written as name=value.

    One output gives its rows or value; several give one object by node id.
    """
    errors_as_json(format in ("json", "ndjson"))
    app, owner, tool = _located(graph)
    _, found = app.find(owner.slug, tool)
    given = read_arguments(found.input_schema, inputs, document)
    chosen = format_for(format, output)

    async def main() -> None:
        async with app:
            with progress(quiet=quiet, lines=True, bars=not asks(found.graph)) as listener:
                run = await app.run(
                    found.graph,
                    given,
                    connector=owner,
                    timeout_s=timeout,
                    fresh=no_cache,
                    listener=listener,
                    client=Terminal(quiet=quiet),
                    stream=output is not None and chosen in STREAMED,
                )
                values = [(node, held) for node, outputs in run.outputs for held in [dict(outputs)]]
                if (
                    len(values) == 1
                    and len(values[0][1]) == 1
                    and isinstance(only := next(iter(values[0][1].values())), Table)
                ):
                    table = explained(only, app.redacted) if only.is_stream else only
                    result = CallResult(found.key, "RUN", run, table=table)
                else:
                    await read_whole(run)
                    result = CallResult(found.key, "RUN", run, value=_by_node(values))
                written = await give(result, chosen, output)
            if not quiet:
                click.echo(said(result, output, written), err=True)
                if was_capped(run):
                    click.echo("A source stopped at its page cap: there may be more rows.", err=True)

    anyio.run(main)


def _located(graph: str) -> tuple[App, Connector, str]:
    """A file or a slug with one graph, or connector/tool. Raises VALIDATION_INVALID_PARAMS for one with several."""
    if "/" in graph and not Path(graph).exists():
        slug, _, tool = graph.rpartition("/")
        app, owner = locate(slug, tool)
        return app, owner, tool
    app, owner = locate(graph)
    if len(owner.tools) == 1:
        return app, owner, next(iter(owner.tools))
    tools = ", ".join(f"{owner.slug}/{name}" for name in owner.tools) or "none"
    raise JackfieldError(
        Code.VALIDATION_INVALID_PARAMS, f"'{graph}' holds {len(owner.tools)} graphs, not one.", f"Name one of: {tools}."
    )


def _by_node(values: list[tuple[str, dict[str, object]]]) -> object:
    """One output alone is its values; a node that put out several times gives a list."""
    if len(values) == 1:
        return values[0][1]
    gathered: dict[str, list[dict[str, object]]] = {}
    for node, held in values:
        gathered.setdefault(node, []).append(held)
    return {node: held[0] if len(held) == 1 else held for node, held in gathered.items()}
