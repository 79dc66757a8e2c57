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
from ..saving import TYPE_OF_SUFFIX, Target, connector_target, file_target, save_file
from .target import is_path, locate

FORMATS: Final = ("jsonl", "json", "csv", "parquet", "sqlite", "duckdb")


@click.command("save")
@click.argument("target")
@click.argument("file", metavar="FILE|-")
@click.option(
    "--from", "format", type=click.Choice(FORMATS), help="What FILE holds. Stdin: found out by its first byte."
)
@click.option("--mode", type=click.Choice(["append", "overwrite", "upsert"]), help="Default: the save's own.")
@click.option("--key", multiple=True, metavar="COLUMN", help="A column that identifies a row, for upsert.")
@click.option("--table", default="rows", show_default=True, help="The table, in a database file.")
@click.option("--idempotency-key", default="", help="A repeated save with this key happens once.")
def command(
    target: str, file: str, format: str | None, mode: str | None, key: tuple[str, ...], table: str, idempotency_key: str
) -> None:
    """Write the rows of FILE (- is stdin) into TARGET: a file, or CONNECTOR:SAVE.

    `jackfield call shop orders --format ndjson | jackfield save out/orders.parquet -`
    """
    app, place = _target(target, mode, key, table)

    async def main(path: Path, chosen: str | None) -> dict[str, Any]:
        async with app:
            return await save_file(app, path, chosen, place, idempotency_key=idempotency_key)

    with _rows_of(file, format) as (path, chosen):
        report = anyio.run(main, path, chosen)
    click.echo(json.dumps(report, ensure_ascii=False, default=str))


def _target(target: str, mode: str | None, key: tuple[str, ...], table: str) -> tuple[App, Target]:
    connector, colon, save = target.rpartition(":")
    if colon and (is_path(connector) or Path(target).suffix.lower() not in TYPE_OF_SUFFIX):
        app, owner = locate(connector)
        return app, connector_target(owner, save, mode, key)
    return App(), file_target(target, mode or "append", key, table)


@contextmanager
def _rows_of(file: str, format: str | None) -> Iterator[tuple[Path, str | None]]:
    """The file to read and its format. Stdin is spooled to disk, so that any amount of rows fits."""
    if file != "-":
        if not Path(file).is_file():
            raise JackfieldError(Code.VALIDATION_INVALID_PARAMS, f"There is no file '{file}'.", "Use - for stdin.")
        yield Path(file).resolve(), format
        return
    with tempfile.TemporaryDirectory(prefix="jackfield-") as folder:
        spool = Path(folder).resolve() / "stdin"
        with spool.open("wb") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
        yield spool, format or _guessed(spool)


def _guessed(spool: Path) -> str:
    """JSON begins with `[`, JSON lines with `{`, Parquet with its mark, all else is CSV."""
    with spool.open("rb") as file:
        head = file.read(4096).lstrip(b"\xef\xbb\xbf").lstrip()
    if head.startswith(b"PAR1"):
        return "parquet"
    return {b"[": "json", b"{": "jsonl"}.get(head[:1], "csv")
