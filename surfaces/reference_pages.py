"""The reference pages that are about the whole: the command line, SQL, the lint codes, the error codes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from inspect import cleandoc
from typing import Final

import click

from ..connectors.lint.codes import CODES
from ..graphs.checks import CODES as GRAPH_CODES
from ..graphs.errors import STATUS
from ..nodes.sqltext.functions import FUNCTIONS, TABLE_FUNCTIONS
from ..nodes.sqltext.tokens import LONGEST, MOST_TOKENS
from .cli.main import cli


def error_page() -> str:
    rows = ((f"`{code.value}`", status.meaning, str(status.http), str(status.exit)) for code, status in STATUS.items())
    lines = [
        "# Error codes",
        "",
        "Every failure is `{code, message, hint, details}`, the same on the command line and in Python.",
        "",
        *table(("code", "what it means", "HTTP status", "exit code"), rows),
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
        "Only `lint --online` asks sources. One whose file, table or query is not there or is refused is",
        "`SOURCE_NOT_READABLE`; a service that is away, or a variable that is not set, is only noted.",
        "",
        "## In graphs",
        "",
        *table(("code", "what it means"), ((f"`{code}`", meaning) for code, meaning in GRAPH_CODES.items())),
    ]
    return text(lines)


MEMORY: Final = (
    "",
    "## Memory",
    "",
    "`sql.memory` bounds tables, joins, sorts and aggregates of all SQL in DuckDB together; they spill to disk. It",
    "does not count one value while a function makes it. So `repeat`, `range`, `generate_series`, `list_resize` and",
    "`array_resize` stop at 100,000 bytes or items, and `lpad`, `rpad` and `bitstring` at 32,767. In FROM, `range` and",
    "`generate_series` give rows and have no such bound. A date and a text as the ends of one series want a cast",
    "(`DATE '2026-12-31'`).",
    "",
    "What remains is a value made of other values: `replace` and `regexp_replace` of one long argument by another, a",
    "lambda that gives a long text for each item, a text joined to itself again and again. Each can make gigabytes",
    "before anything stops it. Where callers are not trusted, let such a tool's arguments be of an `enum`, and give",
    "the process a memory limit of its own.",
)


def sql_page() -> str:
    lines = [
        "# SQL",
        "",
        "A READ tool's `sql` is one SELECT (WITH is allowed); a WRITE tool's is one INSERT, UPDATE, DELETE or MERGE.",
        "Over sources it is DuckDB's dialect; a tool with `at` speaks that of its database. `:name` binds an argument.",
        "",
        "Refused are: more than one statement; what writes, locks or sets in a query; files and schemas as tables;",
        "session variables; functions that are not listed below; hints, comments inside of comments and characters",
        "that nobody sees outside of strings and quoted names; the type VARIANT; formats and fixed counts that make",
        f"one value too large; texts of more than {LONGEST:,} characters or {MOST_TOKENS:,} words and signs.",
    ]
    lines += [*MEMORY]
    names = {"duckdb": "DuckDB", "postgres": "Postgres", "mysql": "MySQL and MariaDB"}
    for dialect, functions in FUNCTIONS.items():
        listed = ", ".join(f"`{each}`" for each in sorted(functions))
        lines += ["", f"## Functions of {names[dialect]}", "", f"{listed}."]
        rows = ", ".join(f"`{each}`" for each in sorted(TABLE_FUNCTIONS[dialect]))
        lines += ["", f"In FROM: {rows}."]
    return text(lines)


def command_page() -> str:
    context = click.Context(cli, info_name="jackfield")
    lines = ["# Commands", "", "Rows go to standard output, everything else to standard error."]
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None, f"{name} is listed and not there"
        lines.extend(_command_lines(command, click.Context(command, context, name), 2))
    return text(lines)


def _command_lines(command: click.Command, context: click.Context, level: int) -> Iterator[str]:
    """A heading and what follows it; the commands of a group come below."""
    yield from ("", f"{'#' * level} `{context.command_path}`", "", *_command(command, context))
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from _command_lines(inner, click.Context(inner, context, name), level + 1)


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
