"""`jackfield save`: rows of a file or of stdin into a file, or into one of a connector's saves."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import anyio
import click

from ...graphs.errors import Code, JackfieldError
from ..app import App
from ..incoming import Incoming, incoming
from ..saving import TYPE_OF_SUFFIX, Target, connector_target, file_target, save_file
from .target import is_path, locate

FORMATS: Final = ("jsonl", "json", "csv", "parquet", "sqlite", "duckdb")
STDIN: Final = "standard input"
NO_COLUMNS: Final[Any] = []


@click.command("save")
@click.argument("target")
@click.argument("file", metavar="FILE|-")
@click.option(
    "--from", "format", type=click.Choice(FORMATS), help="What FILE holds. Stdin: found out by how it begins."
)
@click.option("--mode", type=click.Choice(["append", "overwrite", "upsert"]), help="Default: the save's own.")
@click.option("--key", multiple=True, metavar="COLUMN", help="A column that identifies a row, for upsert.")
@click.option("--table", default="rows", show_default=True, help="The table, in a database file.")
@click.option("--idempotency-key", default="", help="A repeated save of the same rows with this key happens once.")
@click.option("--allow-empty", is_flag=True, help="Input without any rows or columns is no error; nothing is written.")
def command(
    target: str,
    file: str,
    format: str | None,
    mode: str | None,
    key: tuple[str, ...],
    table: str,
    idempotency_key: str,
    allow_empty: bool,
) -> None:
    """Write the rows of FILE (- is stdin) into TARGET: a file, or CONNECTOR:SAVE.

    `jackfield call shop orders --format ndjson | jackfield save out/orders.parquet -`

    JSON may be lines of objects, a list of them, one object, or what `call --format json` prints, whose rows are
    meant. Empty input is refused, and what stands in TARGET stays.
    """
    app, place = _target(target, mode, key, table)

    async def main(rows: Incoming) -> dict[str, Any]:
        async with app:
            return await save_file(app, rows, place, idempotency_key=idempotency_key)

    with _rows_of(file, format) as rows:
        try:
            if rows.is_empty:
                raise _empty(rows)
            report = anyio.run(main, rows)
        except JackfieldError as error:
            if error.details.get("columns") != NO_COLUMNS:
                raise
            if not allow_empty:
                raise _empty(rows) from None
            report = {**{name: place.configuration.get(name) for name in ("type", "mode")}, "rows": 0}
    click.echo(json.dumps(report, ensure_ascii=False, default=str))


def _empty(rows: Incoming) -> JackfieldError:
    return JackfieldError(
        Code.VALIDATION_INVALID_PARAMS,
        f"There is nothing to save in {rows.name}: it has neither rows nor columns. The target is as it was.",
        "If that is no error, say --allow-empty.",
        {"columns": NO_COLUMNS},
    )


def _target(target: str, mode: str | None, key: tuple[str, ...], table: str) -> tuple[App, Target]:
    connector, colon, save = target.rpartition(":")
    if colon and (is_path(connector) or Path(target).suffix.lower() not in TYPE_OF_SUFFIX):
        app, owner = locate(connector)
        place = connector_target(owner, save, mode, key)
    else:
        app, place = App(), file_target(target, mode or "append", key, table)
    if place.configuration.get("mode") == "upsert" and not place.configuration.get("key"):
        raise JackfieldError(
            Code.VALIDATION_MISSING_FIELD,
            "Mode 'upsert' must know which columns identify a row.",
            "Say --key COLUMN, once for each.",
        )
    return app, place


@contextmanager
def _rows_of(file: str, format: str | None) -> Iterator[Incoming]:
    """The file to read and its format. Stdin is spooled to disk, so that any amount of rows fits."""
    if file != "-":
        if not Path(file).is_file():
            raise JackfieldError(Code.VALIDATION_INVALID_PARAMS, f"There is no file '{file}'.", "Use - for stdin.")
        yield incoming(Path(file).resolve(), file, format)
        return
    with tempfile.TemporaryDirectory(prefix="jackfield-") as folder:
        spool = Path(folder).resolve() / "stdin"
        with spool.open("wb") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
        yield incoming(spool, STDIN, format)
