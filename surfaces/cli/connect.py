"""`jackfield connect`: the configuration by which an agent's program reaches the connectors, printed or written."""

from __future__ import annotations

import os
import re
import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from ...graphs.errors import Code, JackfieldError
from ...nodes.secrets import VARIABLE
from ..agent_clients import BY_NAME, AgentClient, Connection
from ..app import App
from ..client_files import entry_text, merged, read, write
from ..faults import unwritable
from .doctor import variables

if TYPE_CHECKING:
    from ..settings import Settings

SECRET_SETTINGS = ("model.secret_key", "telemetry.secret_key")


@click.command("connect")
@click.argument("client", type=click.Choice(list(BY_NAME)))
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--http", "url", metavar="URL", help="Reach a `jackfield serve` that runs, by the URL that it printed.")
@click.option("--stdio", is_flag=True, help="Let the client start `jackfield serve --stdio` itself (default).")
@click.option("--name", default="jackfield", show_default=True, help="The entry's name in the client's list.")
@click.option("--write", "writes", is_flag=True, help="Write it into the client's file, and keep what is there.")
@click.option(
    "--file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Another file of that client, as ~/.cursor/mcp.json.",
)
def command(
    client: str, paths: tuple[str, ...], url: str | None, stdio: bool, name: str, writes: bool, file: Path | None
) -> None:
    """Print the configuration by which CLIENT reaches the connectors of PATH (else the workspace's), or write it.

    Variables of the environment that the connectors need are named in it; their values never are.
    """
    if url and (stdio or paths):
        raise click.UsageError("--http is for a server that runs, which has its own paths; it stands alone.")
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
        raise click.BadParameter(f"'{name}' is not of letters, digits, - and _.", param_hint="--name")
    agent = BY_NAME[client]
    connection = Connection(url=_endpoint(url)) if url else _process(paths)
    target = (file or agent.path(Path.cwd())).expanduser()
    if writes:
        _write(agent, target, name, connection)
    else:
        click.echo(entry_text(agent, name, agent.entry(connection)), nl=False)
        click.echo(f"For {target}: put it there, or say --write. Then {agent.then}.", err=True)
    _say_needed(connection.variables)


def _endpoint(url: str) -> str:
    """The address of MCP itself. Raises VALIDATION_INVALID_PARAMS for what is no such URL."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.password:
        raise JackfieldError(
            Code.VALIDATION_INVALID_PARAMS,
            "--http takes the URL of a server without user and password.",
            "`jackfield serve` prints it, such as http://127.0.0.1:3000.",
        )
    return f"{url.rstrip('/')}/mcp" if parts.path in ("", "/") else url


def _process(paths: tuple[str, ...]) -> Connection:
    """This very program over these connectors, wherever it is started. Raises CONFIG_INVALID for a missing path."""
    app = App(paths)
    if paths:
        app.require_connectors()
    folder = ["--folder", str(app.settings.folder)]
    program, *more = _program()
    arguments = [*more, "serve", "--stdio", *folder, *(os.path.abspath(path) for path in paths)]
    return Connection(program, tuple(arguments), _needed(app))


def _program() -> list[str]:
    """Whole paths, since a client that was started from a desktop has not the terminal's PATH."""
    script = Path(sysconfig.get_path("scripts")) / "jackfield"
    return [str(script)] if script.is_file() else [sys.executable, "-m", __package__]


def _needed(app: App) -> tuple[str, ...]:
    named = [name for connector in app.catalog.connectors.values() for name in variables(connector)]
    return tuple(dict.fromkeys([*named, *_of_settings(app.settings)]))


def _of_settings(settings: Settings) -> list[str]:
    return [settings[name] for name in SECRET_SETTINGS if VARIABLE.fullmatch(settings[name])]


def _write(agent: AgentClient, target: Path, name: str, connection: Connection) -> None:
    try:
        before = read(target)
        after = merged(agent, before, name, agent.entry(connection), target)
        if after == before:
            click.echo(f"{target} has it already.", err=True)
            return
        backup = write(target, after)
    except OSError as error:
        raise unwritable(str(target), error) from None
    click.echo(str(target))
    if backup is not None:
        click.echo(f"What it held before is in {backup}.", err=True)
    click.echo(f"Now {agent.then}.", err=True)


def _say_needed(names: tuple[str, ...]) -> None:
    missing = [name for name in names if not os.environ.get(name)]
    if names:
        click.echo(f"The client takes these from its environment: {', '.join(names)}.", err=True)
    if missing:
        click.echo(f"Not set here: {', '.join(missing)}.", err=True)
