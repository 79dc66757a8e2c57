"""`jackfield doctor`: versions, settings and where each comes from, connectors, and the variables they need."""

from __future__ import annotations

import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

import click

from ...connectors.model import Connector
from ...graphs.findings import Severity
from ...nodes.secrets import demands
from ..app import App
from ..settings import KEYS, Settings

PACKAGES: Final = ("jackfield", "duckdb", "pyarrow", "adbc-driver-postgresql", "asyncmy", "httpx2", "mcp")
EXTRAS: Final = {"deltalake": "delta", "pyiceberg": "iceberg"}


@click.command("doctor")
@click.argument("path", required=False)
def command(path: str | None) -> int:
    """Say what is set up here, what is missing and why. Exit code 1 when something is missing."""
    app = App([path] if path else ())
    problems: list[str] = []
    click.echo("versions")
    _line("python", f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    for package in PACKAGES:
        _line(package, _version(package) or _problem(problems, f"{package} is not installed"))
    for package, extra in EXTRAS.items():
        _line(package, _version(package) or f"not installed (optional: the extra '{extra}')")
    _settings(app.settings, problems)
    _connectors(app, problems)
    click.echo()
    for problem in problems:
        click.echo(f"missing: {problem}", err=True)
    click.echo("Nothing is missing." if not problems else f"{len(problems)} to mend.", err=bool(problems))
    return int(bool(problems))


def _settings(settings: Settings, problems: list[str]) -> None:
    _section("settings")
    _line("workspace", str(settings.folder))
    for key in KEYS:
        setting = settings.settings[key.name]
        value = json.dumps(setting.value, ensure_ascii=False)
        _line(
            key.name,
            f"{value}  (default; set {key.variable})"
            if setting.origin == "default"
            else f"{value}  (from {setting.origin})",
        )
    state = settings.state
    existing = next(folder for folder in (state, *state.parents) if folder.exists())
    if not os.access(existing, os.W_OK):
        _problem(problems, f"the state folder {state} cannot be written")


def _connectors(app: App, problems: list[str]) -> None:
    _section("connectors")
    for connector in app.catalog.connectors.values():
        skills = f", {len(connector.skills)} skills" if connector.skills else ""
        _line(connector.slug, f"{len(connector.tools)} tools{skills}  {connector.path}")
        for variable in variables(connector):
            state = (
                "set" if os.environ.get(variable) else _problem(problems, f"{variable}, which {connector.slug} needs")
            )
            _line(f"  {variable}", state)
    for finding in app.catalog.findings:
        if finding.severity is Severity.ERROR:
            _problem(problems, f"{finding.place}: {finding.message}")
    if not app.catalog.connectors:
        click.echo("  none; `jackfield new NAME` writes one to start from")


def variables(connector: Connector) -> list[str]:
    """The environment variables that a connector's file names, in order."""
    if connector.path is None:
        return []
    document = json.loads(Path(connector.path).read_text("utf-8-sig"))
    return list(dict.fromkeys(name for _, name in demands(document)))


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _problem(problems: list[str], problem: str) -> str:
    problems.append(problem)
    return "MISSING"


def _section(title: str) -> None:
    click.echo(f"\n{title}")


def _line(name: str, value: str) -> None:
    click.echo(f"  {name:24} {value}")
