"""`jackfield list`: what is here, one line a tool and skill."""

from __future__ import annotations

import json
from collections.abc import Mapping

import click

from ...connectors.model import Connector, Skill, Tool
from ...connectors.offer import Offer
from ...graphs.findings import Severity
from ..signatures import signature
from .failures import errors_as_json
from .target import open_app


@click.command("list")
@click.argument("path", required=False)
@click.option("--format", "format", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(path: str | None, format: str) -> None:
    """List the connectors of PATH (a file, folder or glob; else the workspace's) with their tools and skills."""
    errors_as_json(format == "json")
    app = open_app(path)
    if app.paths:
        app.require_connectors()
    elif path is not None:
        app.connector(path)
    connectors = [one for slug, one in app.catalog.connectors.items() if app.paths or path in (None, slug)]
    names, reserved = offered_names(app.catalog.offer), _reserved(app.catalog.offer)
    if format == "json":
        click.echo(json.dumps([summary(one, names) for one in connectors], ensure_ascii=False, indent=2))
    else:
        for one in connectors:
            click.echo(f"{one.slug}  {one.name} {one.version}")
            parts: tuple[Tool | Skill, ...] = (*one.tools.values(), *one.skills.values())
            for part in parts:
                offered = _offered(part, names, (str(one.path or ""), part.pointer) in reserved)
                click.echo(f"  {part.category:6}  {signature(part)}{offered}")
        if not connectors:
            click.echo("No connectors here. `jackfield new NAME` writes one to start from.", err=True)
    errors = sum(finding.severity is Severity.ERROR for finding in app.catalog.findings)
    if errors:
        click.echo(f"{errors} error{'s' * (errors != 1)} in these files; see `jackfield lint`.", err=True)


def offered_names(offer: Offer) -> dict[str, str]:
    """The name by which agents know each tool and skill that they are offered, by its key."""
    tools = {each.tool.key: name for name, each in offer.tools.items()}
    return tools | {each.skill.key: name for name, each in offer.skills.items()}


def _reserved(offer: Offer) -> frozenset[tuple[str, str]]:
    """(file, pointer) of each tool and skill whose name the platform keeps for itself."""
    return frozenset((one.place.file, one.place.pointer) for one in offer.findings if one.code == "TOOL_NAME_RESERVED")


def _offered(part: Tool | Skill, names: Mapping[str, str], is_reserved: bool) -> str:
    """What agents see, where it is not the id."""
    name = names.get(part.key)
    if name is None:
        why = "its name is one of the platform's" if is_reserved else "another has its name"
        return f"  (not offered to agents: {why})"
    return "" if name == part.id else f"  (agents: {name})"


def summary(connector: Connector, names: Mapping[str, str]) -> dict[str, object]:
    return {
        "slug": connector.slug,
        "name": connector.name,
        "version": connector.version,
        "path": str(connector.path) if connector.path else None,
        "tools": [
            {
                "id": tool.id,
                "category": tool.category,
                "signature": signature(tool),
                "offered_as": names.get(tool.key),
            }
            for tool in connector.tools.values()
        ],
        "skills": [skill.id for skill in connector.skills.values()],
    }
