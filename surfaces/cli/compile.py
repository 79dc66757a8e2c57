"""`jackfield compile`: the graphs of a connector's tools as BGL, which loads again and runs the same."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

import click

from ...connectors.lint import lint
from ...connectors.masking import SECRET_CODES
from ...connectors.model import Connector, Runnable
from ...graphs.bgl import to_json
from ...graphs.errors import Code, JackfieldError
from ..faults import not_found
from .failures import errors_as_json
from .rows import write_json
from .target import locate

UNFIT: Final = re.compile(r"[^A-Za-z0-9_]+")


@click.command("compile")
@click.argument("connector")
@click.argument("tool", required=False)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="A file for one TOOL, else a folder for all.")
@click.option("--hash", "hashes", is_flag=True, help="Print only the hash of each graph.")
def command(connector: str, tool: str | None, output: Path | None, hashes: bool) -> None:
    """Print the graph of TOOL as BGL, or all as one JSON object: tools and skills by id, resources by URI."""
    errors_as_json(True)
    _, owner = locate(connector, tool)
    compiled: dict[str, Runnable] = {**owner.resources, **owner.skills, **owner.tools}
    if tool is not None and tool not in compiled:
        raise not_found("tool", tool, list(compiled), f" in connector '{owner.slug}'")
    if not hashes:
        refuse_secrets(owner)
    graphs = {name: found.graph for name, found in compiled.items() if tool in (None, name)}
    if hashes:
        for name, graph in graphs.items():
            click.echo(f"{graph.hash}  {name}")
    elif tool is not None:
        write_json(to_json(graphs[tool]), output)
    elif output is not None:
        for name, graph in graphs.items():
            file = output / f"{UNFIT.sub('-', name).strip('-')}.bgl.json"
            write_json(to_json(graph), file)
            click.echo(str(file))
    else:
        click.echo(json.dumps({name: to_json(graph) for name, graph in graphs.items()}, ensure_ascii=False, indent=2))


def refuse_secrets(owner: Connector) -> None:
    """Raises CONFIG_INVALID when the connector's file holds a secret, which its graphs would then show."""
    found = [] if owner.path is None else [each for each in lint(owner.path) if each.code in SECRET_CODES]
    if found:
        place = found[0].place
        raise JackfieldError(
            Code.CONFIG_INVALID,
            f"{place.file}:{place.line}: {found[0].message}",
            f"{found[0].hint} A graph that is printed would show it.",
            {"finding": found[0].code, "count": len(found)},
        )
