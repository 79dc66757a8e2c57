"""`jackfield audit`: read, query, verify and export what `serve` has recorded, also while it is serving."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import anyio
import click

from ...engine.audit.reading import Filter, moment
from ...engine.audit.verify import Verdict, nothing_recorded
from ...graphs.errors import Code, JackfieldError
from ..auditing import audit_folders
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


def of_one(function: Command) -> Command:
    """The option that says which audit."""
    return click.option(
        "--only", default="", metavar="NAME", help="One audit, as audit-2 of a process beside the first."
    )(function)


def recorded(only: str) -> dict[str, Path]:
    """The folders of the workspace's audits, by name. Raises SCHEMA_NOT_FOUND where none was ever written;
    ACCESS_DENIED; VALIDATION_INVALID_PARAMS where none is called `only`.
    """
    folders = audit_folders(load(), only)
    for folder in folders.values():
        if not folder.is_dir():
            raise nothing_recorded(folder)
        if not os.access(folder, os.R_OK | os.X_OK):
            raise JackfieldError(
                Code.ACCESS_DENIED,
                f"The audit in '{folder}' may be read by its owner alone.",
                "Ask as the user that serves this workspace.",
            )
    return folders


@command.command("tail")
@click.option("-n", "count", type=click.IntRange(0), default=10, show_default=True, help="Lines to begin with.")
@click.option("-f", "--follow", "goes_on", is_flag=True, help="Go on with each new line, until Ctrl-C.")
@of_one
def tail(count: int, goes_on: bool, only: str) -> None:
    """Print the last lines, as they were written: those of all audits, by time."""
    from ...engine.audit.following import last_lines
    from ...engine.audit.several import by_time, follow_all

    folders = recorded(only)
    last = {name: last_lines(folder, max(count, 1)) for name, folder in folders.items()}
    for line in by_time(line for lines in last.values() for line in lines)[-count:] if count else []:
        _put(line)
    if goes_on:
        seen = {name: lines[-1] for name, lines in last.items() if lines}
        for line in follow_all(lambda: recorded(only), seen):
            _put(line)


def _put(line: bytes) -> None:
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


@command.command("query")
@click.argument("sql")
@click.option("--format", "format", type=click.Choice(FORMATS), help="Default: table, or what the name of FILE says.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE")
@of_one
def query(sql: str, format: str | None, output: Path | None, only: str) -> None:
    """Run one SELECT over the table `audit`: a column for each key, `args` as JSON text, `ts` in UTC."""
    from ...engine.audit.table import query

    errors_as_json(format in ("json", "ndjson"))
    chosen_format = format_for(format, output)
    rows = anyio.run(query, list(recorded(only).values()), sql).arrow()
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
@of_one
def verify(archived: bool, against: IO[bytes] | None, format: str, only: str) -> int:
    """Check that every line is the one that was written, in its place. Exit code 1 names the first that is not.

    Each audit is a chain of its own. --against is of the one that --only names, else of `audit`.
    """
    from ...engine.audit.chain import head_of
    from ...engine.audit.verify import verify

    errors_as_json(format == "json")
    kept = None if against is None else head_of(against.read())
    if against is not None and kept is None:
        raise click.BadParameter("It is no copy of head.json.", param_hint="--against")
    folders = recorded(only)
    held = only or next(iter(folders))
    verdicts = {
        name: verify(folder, archived=archived, against=kept if name == held else None)
        for name, folder in folders.items()
    }
    if format == "json":
        click.echo(json.dumps(as_json(verdicts), ensure_ascii=False, indent=2))
    else:
        for name, verdict in verdicts.items():
            _say(verdict, f"{name}: " if len(verdicts) > 1 else "")
    return int(any(verdict.fault is not None for verdict in verdicts.values()))


def as_json(verdicts: Mapping[str, Verdict]) -> dict[str, Any]:
    """The verdict of the first audit that has a fault, else of the first; and all of them by name."""
    shown = next((one for one in verdicts.values() if one.fault is not None), next(iter(verdicts.values())))
    return {**shown.as_json(), "audits": {name: one.as_json() for name, one in verdicts.items()}}


def _say(verdict: Verdict, name: str) -> None:
    for note in verdict.notes:
        click.echo(f"{name}{note}", err=True)
    if verdict.fault is not None:
        click.echo(f"{name}{verdict.fault}")
        return
    span = f": {verdict.first} to {verdict.last}" if verdict.lines else ""
    click.echo(f"{name}{verdict.lines:,} line{'s' * (verdict.lines != 1)} as they were written{span}.")


@command.command("export")
@filtered
@of_one
@click.option("--format", "format", type=click.Choice(EXPORTS), default="csv", show_default=True)
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE")
def export(format: str, output: Path | None, only: str, **options: Any) -> None:
    """Write the lines, oldest first: as CSV that no spreadsheet takes for formulas, or as they are."""
    from ...engine.audit.export import csv_parts, ndjson_parts

    wanted = chosen(options)
    parts = csv_parts if format == "csv" else ndjson_parts
    folders = list(recorded(only).values())
    with sink(output) as target:
        for part in parts(folders, wanted):
            target.write(part)
