"""`jackfield list`: what is here, one line a tool and skill."""

from __future__ import annotations

import json

import click

from ...connectors.model import Connector
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
    if format == "json":
        click.echo(json.dumps([summary(one) for one in connectors], ensure_ascii=False, indent=2))
    else:
        for one in connectors:
            click.echo(f"{one.slug}  {one.name} {one.version}")
            for tool in one.tools.values():
                click.echo(f"  {tool.category:6}  {signature(tool)}")
            for skill in one.skills.values():
                click.echo(f"  {'SKILL':6}  {signature(skill)}")
        if not connectors:
            click.echo("No connectors here. `jackfield new NAME` writes one to start from.", err=True)
    errors = sum(finding.severity is Severity.ERROR for finding in app.catalog.findings)
    if errors:
        click.echo(f"{errors} error{'s' * (errors != 1)} in these files; see `jackfield lint`.", err=True)


def summary(connector: Connector) -> dict[str, object]:
    return {
        "slug": connector.slug,
        "name": connector.name,
        "version": connector.version,
        "path": str(connector.path) if connector.path else None,
        "tools": [
            {"id": tool.id, "category": tool.category, "signature": signature(tool)}
            for tool in connector.tools.values()
        ],
        "skills": [skill.id for skill in connector.skills.values()],
    }
