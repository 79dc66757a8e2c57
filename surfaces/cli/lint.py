"""`jackfield lint`: check connector files; exit 1 when there are errors."""

from __future__ import annotations

from pathlib import Path

import click

from ...connectors import catalog
from ...connectors.lint import lint
from ...graphs.findings import has_errors
from .failures import errors_as_json
from .findings import FORMATS


@click.command("lint")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--format", "format", type=click.Choice(list(FORMATS)), default="text", show_default=True)
@click.option("--online", is_flag=True, help="Also ask the sources which columns they have.")
@click.option("--strict", is_flag=True, help="Exit 1 for warnings too.")
def command(paths: tuple[Path, ...], format: str, online: bool, strict: bool) -> int:
    """Check the connectors of PATHS (files, folders or globs; the workspace's when none is given).

    The whole schema, the SQL of every tool, and the five principles. Exit code 1 when there are errors.
    """
    errors_as_json(format == "json")
    files = list(catalog.discover(paths or (Path(),)))
    texts = {str(path): path.read_text("utf-8", errors="replace") for path in files}
    findings = [finding for path in files for finding in lint(path)]
    click.echo(FORMATS[format](findings, texts))
    return int(has_errors(findings) or (strict and bool(findings)))
