"""`jackfield audit`: read, query, verify and export what `serve` has recorded, also while it is serving."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import anyio
import click

from ...engine.audit.reading import Filter, moment
from ...engine.audit.verify import nothing_recorded
from ...graphs.errors import Code, JackfieldError
from ..auditing import audit_folder
from ..settings import load
from .failures import errors_as_json
from .rows import FORMATS, format_for, sink, write_json, write_rows

if TYPE_CHECKING:
    import pyarrow as pa

Command = Callable[..., Any]
EXPORTS: Final = ("csv", "ndjson")


@click.group("audit")
def command() -> None:
    """Look at the record of calls that `serve` has written in this workspace: one line of JSON a call."""


def filtered(function: Command) -> Command:
    """The options that say which lines."""
    for option in (
        click.option("--until", metavar="TIME", help="Only lines before TIME."),
        click.option("--since", metavar="TIME", help="Only lines from TIME on: 2026-11-21[T08:30]; 30m, 2h or 7d ago."),
        click.option("--session", metavar="ID"),
        click.option("--principal", metavar="NAME"),
        click.option("--error", metavar="CODE", help="Only calls that failed with CODE."),
        click.option("--tool", metavar="NAME"),
    ):
        function = option(function)
    return function


def chosen(options: dict[str, Any]) -> Filter:
    since, until = options["since"], options["until"]
    return Filter(
        tool=options["tool"],
        error=options["error"],
        principal=options["principal"],
        session_id=options["session"],
        since=moment(since) if since else None,
        until=moment(until) if until else None,
    )


def recorded() -> Path:
    """The folder of the workspace's audit. Raises SCHEMA_NOT_FOUND where none was ever written; ACCESS_DENIED."""
    folder = audit_folder(load())
    if not folder.is_dir():
        raise nothing_recorded(folder)
    if not os.access(folder, os.R_OK | os.X_OK):
        raise JackfieldError(
            Code.ACCESS_DENIED,
            f"The audit in '{folder}' may be read by its owner alone.",
            "Ask as the user that serves this workspace.",
        )
    return folder


@command.command("tail")
@click.option("-n", "count", type=click.IntRange(0), default=10, show_default=True, help="Lines to begin with.")
@click.option("-f", "--follow", "goes_on", is_flag=True, help="Go on with each new line, until Ctrl-C.")
def tail(count: int, goes_on: bool) -> None:
    """Print the last lines, as they were written."""
    from ...engine.audit.following import follow, last_lines

    folder = recorded()
    lines = last_lines(folder, max(count, 1))
    for line in lines[-count:] if count else []:
        _put(line)
    if goes_on:
        for line in follow(folder, lines[-1] if lines else b""):
            _put(line)


def _put(line: bytes) -> None:
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


@command.command("query")
@click.argument("sql")
@click.option("--format", "format", type=click.Choice(FORMATS), help="Default: table, or what the name of FILE says.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE")
def query(sql: str, format: str | None, output: Path | None) -> None:
    """Run one SELECT over the table `audit`: a column for each key, `args` as JSON text, `ts` in UTC."""
    from ...engine.audit.table import query

    errors_as_json(format in ("json", "ndjson"))
    chosen_format = format_for(format, output)
    rows = anyio.run(query, recorded(), sql).arrow()
    if chosen_format == "json":
        from ...engine.json_rows import json_rows

        write_json({"rows": json_rows(rows), "row_count": rows.num_rows}, output)
    else:
        write_rows(_guarded(rows) if chosen_format == "csv" else rows, chosen_format, output)


def _guarded(rows: pa.Table) -> pa.Table:
    """The rows with no text in them that a spreadsheet would take for a formula."""
    import pyarrow as pa

    from ...engine.audit.export import guarded

    for index, field in enumerate(rows.schema):
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            cells = [guarded(cell) for cell in rows.column(index).to_pylist()]
            rows = rows.set_column(index, field, pa.array(cells, field.type))
    return rows


@command.command("verify")
@click.option("--archived", is_flag=True, help="Older files were moved away: begin with the oldest that is here.")
@click.option("--against", type=click.File("rb"), metavar="FILE", help="A copy of head.json, kept elsewhere.")
@click.option("--format", "format", type=click.Choice(["text", "json"]), default="text", show_default=True)
def verify(archived: bool, against: IO[bytes] | None, format: str) -> int:
    """Check that every line is the one that was written, in its place. Exit code 1 names the first that is not."""
    from ...engine.audit.chain import head_of
    from ...engine.audit.verify import verify

    errors_as_json(format == "json")
    kept = None if against is None else head_of(against.read())
    if against is not None and kept is None:
        raise click.BadParameter("It is no copy of head.json.", param_hint="--against")
    verdict = verify(recorded(), archived=archived, against=kept)
    if format == "json":
        click.echo(json.dumps(verdict.as_json(), ensure_ascii=False, indent=2))
        return int(verdict.fault is not None)
    for note in verdict.notes:
        click.echo(note, err=True)
    if verdict.fault is not None:
        click.echo(str(verdict.fault))
        return 1
    span = f": {verdict.first} to {verdict.last}" if verdict.lines else ""
    click.echo(f"{verdict.lines:,} line{'s' * (verdict.lines != 1)} as they were written{span}.")
    return 0


@command.command("export")
@filtered
@click.option("--format", "format", type=click.Choice(EXPORTS), default="csv", show_default=True)
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE")
def export(format: str, output: Path | None, **options: Any) -> None:
    """Write the lines, oldest first: as CSV that no spreadsheet takes for formulas, or as they are."""
    from ...engine.audit.export import csv_parts, ndjson_parts

    wanted = chosen(options)
    parts = csv_parts if format == "csv" else ndjson_parts
    with sink(output) as target:
        for part in parts(recorded(), wanted):
            target.write(part)
