"""`jackfield show`: one connector with its sources, tools, skills and saves, or as an agent sees it."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from typing import Any

import click

from ...connectors.model import Connector
from ..faults import not_found
from ..signatures import as_mcp, signature, type_word
from .failures import errors_as_json
from .list import offered_names, summary
from .target import locate

WIDTH = 96


@click.command("show")
@click.argument("connector")
@click.argument("tool", required=False)
@click.option("--format", "format", type=click.Choice(["text", "json", "mcp"]), default="text", show_default=True,
              help="mcp: the entries of an agent's tools/list.")  # fmt: skip
def command(connector: str, tool: str | None, format: str) -> None:
    """Show CONNECTOR (a slug or a file), or one TOOL of it."""
    errors_as_json(format != "text")
    app, owner = locate(connector, tool)
    if tool is not None and tool not in owner.tools and tool not in owner.skills:
        raise not_found("tool", tool, [*owner.tools, *owner.skills], f" in connector '{owner.slug}'")
    if format == "mcp":
        entries = [as_mcp(one) for one in owner.tools.values() if tool in (None, one.id)]
        click.echo(json.dumps(entries[0] if tool and entries else {"tools": entries}, ensure_ascii=False, indent=2))
    elif format == "json":
        click.echo(json.dumps(summary(owner, offered_names(app.catalog.offer)), ensure_ascii=False, indent=2))
    else:
        click.echo("\n".join(_lines(owner, tool)))


def _lines(connector: Connector, only: str | None) -> list[str]:
    lines = []
    if only is None:
        lines.append(f"{connector.name} {connector.version} ({connector.slug})")
        if connector.description:
            lines.extend(_wrapped(connector.description, "  "))
        lines.append("\nsources")
        lines.extend(
            f"  {source.id}: {source.type}{_where(source.configuration)}" for source in connector.sources.values()
        )
        if connector.saves:
            lines.append("saves")
            lines.extend(f"  {name}: {save.get('type')}{_where(save)}" for name, save in connector.saves.items())
        lines.append("\ntools" if connector.tools else "")
    for tool in connector.tools.values():
        if only in (None, tool.id):
            lines.append(f"  {signature(tool)}  [{tool.category}]")
            lines.extend(_wrapped(tool.description, "      "))
            properties = tool.input_schema.get("properties") or {}
            for name, schema in properties.items():
                lines.extend(_wrapped(f"{name} ({type_word(schema)}): {schema.get('description', '')}", "        "))
    skills = [skill for skill in connector.skills.values() if only in (None, skill.id)]
    if skills:
        lines.append("\nskills")
    for skill in skills:
        lines.append(f"  {signature(skill)}")
        lines.extend(_wrapped(skill.description, "      "))
        if skill.tool_ids:
            lines.extend(_wrapped(f"tools: {', '.join(skill.tool_ids)}", "        "))
        for step in skill.steps:
            given = ", ".join(f"{name}={value}" for name, value in step.params.items())
            lines.extend(_wrapped(f"step {step.alias}: {step.tool}({given})", "        "))
    if only is None and connector.resources:
        lines.append("\nresources")
        for resource in connector.resources.values():
            lines.append(f"  {resource.uri}  {resource.mime_type}".rstrip())
            lines.extend(_wrapped(resource.description or resource.name, "      "))
    return lines


def _where(configuration: Mapping[str, Any]) -> str:
    """The place of a source as it is written, where secrets are only named. A DSN is not shown."""
    shown = [configuration.get(name) for name in ("path", "url", "table", "query")]
    return "".join(f" {text}" for text in shown if isinstance(text, str) and "@" not in text)


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent)
