"""`jackfield lint`: check connector files; exit 1 when there are errors."""

from __future__ import annotations

from pathlib import Path

import click

from ...connectors.lint import in_order, lint_all
from ...connectors.lint.subject import Columns
from ...graphs.findings import Finding, Severity, has_errors
from .failures import errors_as_json
from .findings import FORMATS


@click.command("lint")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--format", "format", type=click.Choice(list(FORMATS)), default="text", show_default=True)
@click.option("--online", is_flag=True, help="Also ask the sources which columns they have.")
@click.option("--strict", is_flag=True, help="Exit 1 for warnings too.")
def command(paths: tuple[Path, ...], format: str, online: bool, strict: bool) -> int:
    """Check the connectors of PATHS (files, folders or globs; the current folder's when none is given).

    The whole schema, the SQL of every tool, and the five principles. Exit code 1 when there are errors.
    """
    errors_as_json(format == "json")
    chosen = paths or (Path(),)
    refused: list[Finding] = []
    linted = lint_all(chosen, columns=_columns(chosen, refused) if online else None)
    findings = in_order([*linted.findings, *refused])
    click.echo(FORMATS[format](findings, linted.texts))
    warned = any(finding.severity is Severity.WARNING for finding in findings)
    return int(has_errors(findings) or (strict and warned))


def _columns(paths: tuple[Path, ...], refused: list[Finding]) -> Columns:
    from ..columns import real_columns

    return real_columns(paths, lambda text: click.echo(text, err=True), refused)
