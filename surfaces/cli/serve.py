"""`jackfield serve`: agents reach the connectors, over HTTP on loopback or over stdin and stdout."""

from __future__ import annotations

import gc
import signal
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyio.abc import TaskStatus

    from ..app import App
    from ..service import Service

PORT = 3000
COLLECT_EVERY: Final = 20_000  # objects: a page of rows makes some thousands that are gone when it is sent
CLIENTS = "claude-code, cursor, codex, vscode or gemini"


@click.command("serve")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="[PATH]...")
@click.option("--host", default="127.0.0.1", show_default=True, help="A loopback address, or localhost.")
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="0: any that is free.")
@click.option("--stdio", is_flag=True, help="Speak MCP on stdin and stdout, and listen nowhere.")
@click.option("--tls-cert", type=click.Path(path_type=Path), metavar="FILE", help="A PEM certificate chain.")
@click.option("--tls-key", type=click.Path(path_type=Path), metavar="FILE", help="Its PEM key, without a passphrase.")
@click.option("--tool-search", is_flag=True, help="Offer a tool to search for tools, in place of their whole list.")
@click.option(
    "-C", "--folder", type=click.Path(exists=True, file_okay=False, path_type=Path), help="The workspace, if not here."
)
def command(
    paths: tuple[Path, ...],
    host: str,
    port: int,
    stdio: bool,
    tls_cert: Path | None,
    tls_key: Path | None,
    tool_search: bool,
    folder: Path | None,
) -> None:
    """Serve the connectors of PATH (files, folders or globs; else the workspace's) to agents, until Ctrl-C.

    The URL is printed on stdout as soon as it answers; all else that is said goes to stderr.
    """
    from ..app import App
    from ..auditing import AuditJournal, audit_folder, open_beside
    from ..logs import log_to_stderr
    from ..service import Service
    from ..settings import load

    if stdio and (tls_cert or tls_key):
        raise click.UsageError("--tls-cert and --tls-key are for HTTP; --stdio listens nowhere.")
    if (tls_cert is None) != (tls_key is None):
        raise click.UsageError("--tls-cert and --tls-key belong together.")
    log_to_stderr()
    settings = load(folder)
    if tool_search:
        settings = settings.with_value("serve.tool_search", "on", "--tool-search")
    app = App(paths, settings=settings)
    run = _over_stdio() if stdio else _over_http(host, port, tls_cert, tls_key)

    async def main() -> None:
        redact = app.secrets.redact
        with closing(open_beside(settings, redact)) as log:
            if log.folder != audit_folder(settings):
                click.echo(
                    f"Another process serves this workspace and writes its audit: that of this one is {log.folder}.",
                    err=True,
                )
            async with Service(app, AuditJournal(log)) as service:
                for note in log.notes:
                    click.echo(note, err=True)
                _settle()
                await run(service)

    anyio.run(main, backend_options={"use_uvloop": _has_uvloop()})


def _settle() -> None:
    """What is loaded stays: to look through all of it for garbage, again and again, would make calls wait 0.1 s."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_EVERY, 20, 50)


def _over_stdio() -> Callable[[Service], Any]:
    async def run(service: Service) -> None:
        from ..observing import observed
        from ..stdio import serve_stdio
        from .telling import tell

        stop = anyio.Event()
        async with observed(service), anyio.create_task_group() as tasks:
            await tasks.start(_on_signals, stop.set)
            say(service.app, "stdin and stdout")
            tasks.start_soon(tell, service)
            await serve_stdio(service, stop)
            tasks.cancel_scope.cancel()

    return run


def _over_http(host: str, port: int, tls_cert: Path | None, tls_key: Path | None) -> Callable[[Service], Any]:
    from ..http.listening import bind, raise_file_limit, tls, url_of

    context = tls(tls_cert, tls_key) if tls_cert and tls_key else None
    sockets = bind(host, port)
    raise_file_limit()

    async def run(service: Service) -> None:
        from ..http.serving import serving
        from ..observing import observed
        from .telling import tell

        async with (
            observed(service) as observing,
            serving(service, sockets, context=context, routes=observing.routes()) as under_way,
            anyio.create_task_group() as tasks,
        ):
            await tasks.start(_on_signals, under_way.stop)
            url = url_of(sockets[0], context is not None)
            say(service.app, f"{url}/mcp")
            click.echo(url)
            tasks.start_soon(tell, service)
            await under_way.ended.wait()
            tasks.cancel_scope.cancel()

    return run


async def _on_signals(stop: Callable[[], None], *, task_status: TaskStatus[None]) -> None:
    """The first asks to stop, the second to be quick about it."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for _ in signals:
            stop()


def say(app: App, where: str) -> None:
    """What is served, where, and to whom."""
    for line in lines_of(app, where):
        click.echo(line, err=True)


def lines_of(app: App, where: str) -> list[str]:
    from ...graphs.findings import Severity

    catalog = app.catalog
    skills = sum(len(connector.skills) for connector in catalog.connectors.values())
    loaded = [
        _many(len(catalog.connectors), "connector"),
        _many(len(catalog.offer.tools), "tool"),
        _many(skills, "skill"),
    ]
    origin = ", ".join(str(path) for path in app.paths) or str(app.settings.folder)
    lines = [f"Jackfield serves {where}", f"  {', '.join(loaded)} of {origin}"]
    for severity, word in ((Severity.ERROR, "error"), (Severity.WARNING, "warning")):
        found = [finding for finding in catalog.findings if finding.severity is severity]
        if found:
            lines.append(
                f"  {_many(len(found), word)}: see `jackfield lint`. The first: {found[0].place}: {found[0].message}"
            )
    if not catalog.connectors:
        lines.append("  `jackfield new NAME` writes a connector to start from; it is served as soon as it is there.")
    if searched(app):
        lines.append("  Agents get two tools, to search for tools and to call them, in place of the whole list.")
    lines.append("  There is no policy: the local principal may do everything, and nobody else anything.")
    lines.append(f"  To connect an agent: jackfield connect CLIENT ({CLIENTS}).")
    return lines


def searched(app: App) -> bool:
    """Whether agents get the tool search in place of the list."""
    from ..mcp_server.tool_search import MANY

    wanted = app.settings["serve.tool_search"]
    return wanted == "on" or (wanted == "auto" and len(app.catalog.offer.tools) > MANY)


def _many(count: int, word: str) -> str:
    return f"{count:,} {word}{'s' * (count != 1)}"


def _has_uvloop() -> bool:
    try:
        import uvloop  # noqa: F401
    except ImportError:
        return False
    return True
