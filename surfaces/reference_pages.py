"""The reference pages that are about the whole: the command line, the lint codes, the error codes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from inspect import cleandoc

import click

from ..connectors.lint.codes import CODES
from ..graphs.checks import CODES as GRAPH_CODES
from ..graphs.errors import STATUS
from .cli.main import cli


def error_page() -> str:
    rows = ((f"`{code.value}`", str(status.http), str(status.exit)) for code, status in STATUS.items())
    lines = [
        "# Error codes",
        "",
        "Every failure is `{code, message, hint, details}`, the same on the command line, over MCP and over HTTP.",
        "",
        *table(("code", "HTTP status", "exit code"), rows),
    ]
    return text(lines)


def lint_page() -> str:
    ours = (
        (f"`{code}`", known.severity.value, "" if known.principle is None else str(known.principle), known.meaning)
        for code, known in CODES.items()
    )
    lines = [
        "# Lint codes",
        "",
        "`jackfield lint` exits with 1 when it finds an error. The principles are: 1 descriptions are contracts,",
        "2 results fit the context window, 3 errors are actionable, 4 every session is observable, 5 the platform is",
        "safe to hand over.",
        "",
        *table(("code", "severity", "principle", "what it means"), ours),
        "",
        "## In graphs",
        "",
        *table(("code", "what it means"), ((f"`{code}`", meaning) for code, meaning in GRAPH_CODES.items())),
    ]
    return text(lines)


def command_page() -> str:
    context = click.Context(cli, info_name="jackfield")
    lines = ["# Commands", "", "Rows go to standard output, everything else to standard error."]
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None, f"{name} is listed and not there"
        lines.extend(["", f"## `jackfield {name}`", "", *_command(command, click.Context(command, context, name))])
    return text(lines)


def _command(command: click.Command, context: click.Context) -> Iterator[str]:
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"Usage: `{context.command_path} {usage}`"
    yield ""
    yield from cleandoc(command.help or "").replace("\b\n", "").splitlines()
    options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
    if options:
        yield ""
        yield from table(("option", "value", "what it does"), map(_option, options))


def _option(option: click.Option) -> tuple[str, str, str]:
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    if option.is_flag or option.count:
        value = ""
    elif isinstance(option.type, click.Choice):
        value = ", ".join(f"`{choice}`" for choice in option.type.choices)
    else:
        value = option.metavar or option.type.name
    return names, value, option.help or ""


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A Markdown table; each cell becomes one line."""
    yield "| " + " | ".join(heads) + " |"
    yield "|" + "---|" * len(heads)
    for row in rows:
        yield "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in row) + " |"


def text(lines: Iterable[str]) -> str:
    """The lines as a file's text."""
    return "\n".join(line.rstrip() for line in lines) + "\n"
