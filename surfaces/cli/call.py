"""`jackfield call`: call a tool or a skill; its rows go to stdout, all that is said about them to stderr."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import click

from ...nodes.blocking import in_thread
from ..answers import CallResult
from ..facts import by_node, duration, seconds_of
from .arguments import read_arguments
from .asking import Terminal, asks
from .failures import errors_as_json
from .progress import progress
from .rows import FORMATS, STREAMED, format_for, write_json, write_rows, write_stream
from .target import locate


@click.command("call")
@click.argument("connector")
@click.argument("tool")
@click.argument("arguments", nargs=-1)
@click.option("--format", "format", type=click.Choice(FORMATS), help="Default: table, or what the name of FILE says.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE")
@click.option("--limit", type=click.IntRange(0), default=0, help="Give N rows and a cursor for more; 0 (default): all.")
@click.option("--cursor", help="Go on where an earlier call with --limit ended.")
@click.option("--no-cache", is_flag=True, help="Pull every source anew.")
@click.option("--args", "document", metavar="JSON", help="Arguments as a JSON object, or @FILE.")
@click.option("--timeout", type=float, metavar="SECONDS")
@click.option("--idempotency-key", default="", help="A repeated write with this key happens once.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing on stderr but errors.")
def command(
    connector: str,
    tool: str,
    arguments: tuple[str, ...],
    format: str | None,
    output: Path | None,
    limit: int,
    cursor: str | None,
    no_cache: bool,
    document: str | None,
    timeout: float | None,
    idempotency_key: str,
    quiet: bool,
) -> None:
    """Call TOOL of CONNECTOR (a slug, or a file) with ARGUMENTS written as name=value."""
    errors_as_json(format in ("json", "ndjson"))
    app, owner = locate(connector, tool)
    _, found = app.find(owner.slug, tool)
    given = read_arguments(found.input_schema, arguments, document)
    chosen = format_for(format, output)

    async def main() -> None:
        async with app:
            with progress(quiet=quiet, bars=not asks(found.graph)) as listener:
                result = await app.call(
                    owner.slug,
                    tool,
                    given,
                    page=limit or None,
                    cursor=cursor,
                    bounded=False,
                    stream=output is not None and chosen in STREAMED,
                    timeout_s=timeout,
                    fresh=no_cache,
                    idempotency_key=idempotency_key,
                    listener=listener,
                    client=Terminal(quiet=quiet),
                )
                written = await give(result, chosen, output)
            if not quiet:
                click.echo(said(result, output, written), err=True)

    anyio.run(main)


async def give(result: CallResult, format: str, output: Path | None) -> int | None:
    """Show the result; of rows that stream, gives how many were written."""
    table = result.table
    if table is None or not table.is_stream:
        show(result, format, output)
        return None
    return await in_thread(lambda: write_stream(table, format, output), cancel=table.cancel)


def show(result: CallResult, format: str, output: Path | None) -> None:
    """Rows in `format`; for json the whole result object; a value that is not rows as JSON, a prompt as text."""
    rows = result.rows
    if rows is not None and format != "json":
        write_rows(rows, format, output)
    elif format == "table" and output is None and (text := _text(result.value)):
        click.echo(text)
    else:
        write_json(result.as_json(), output)


def _text(value: Any) -> str:
    """What a model or a prompt says, what a save did, or MCP content, for a person; empty for any other value."""
    match value:
        case {"content": [{"type": str()}, *_] as blocks}:
            return "\n".join(map(_block, blocks))
        case {"messages": [{"role": str(), "content": {"type": str()}}, *_] as messages}:
            return "\n".join(f"{message['role']}: {_block(message['content'])}" for message in messages)
        case {"answer": str(text)} | {"prompt": str(text)}:
            return text
        case {"report": {"rows": int(rows), "target": target, "mode": mode} as report}:
            again = ", which this idempotency key had saved before" if report.get("repeated") else ""
            return f"{rows:,} row{'s' * (rows != 1)} saved ({mode}): {target}{again}"
    return ""


def _block(block: Mapping[str, Any]) -> str:
    """A text as it is; of anything else only what it is."""
    if block["type"] == "text":
        return str(block["text"])
    within = block.get("resource", block)
    named = [str(within[name]) for name in ("uri", "mimeType") if within.get(name)]
    return f"[{' '.join([str(block['type']), *named])}]"


def said(result: CallResult, output: Path | None, written: int | None = None) -> str:
    """One line about the call: rows, those `written` if it streamed, what each source gave, the time, how to go on."""
    parts = []
    count = written if written is not None or result.rows is None else result.rows.num_rows
    if count is not None:
        parts.append(f"{count:,} row{'s' * (count != 1)}")
    if result.run is not None:
        pulled = [f"{facts.node} {facts.amount}" for facts in by_node(result.run.events).values() if facts.pulled]
        if pulled:
            parts.append(f"pulled: {', '.join(pulled)}")
        parts.append(duration(seconds_of(result.run.events) or result.run.duration_s))
    if output is not None:
        parts.append(str(output))
    if result.page is not None and result.page.next_cursor:
        parts.append(f"more: --cursor {result.page.next_cursor}")
    return " · ".join(parts)
