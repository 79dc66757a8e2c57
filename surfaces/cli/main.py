"""The entry point: the list of commands, and how a failure of any of them ends the process."""

from __future__ import annotations

import difflib
import importlib
import os
import signal
import sys
from collections.abc import Sequence
from typing import Final, NamedTuple

import click

from ...graphs.errors import Code, JackfieldError
from ..faults import unwritable
from .failures import INTERRUPTED, PIPE_CLOSED, TERMINATED, Invocation, of_bug, show_error


class Listed(NamedTuple):
    """A command as `--help` shows it. Its module holds a click command named `command`."""

    name: str
    module: str
    summary: str


# The summaries stand here so that `--help` imports no command.
COMMANDS: Final = (
    Listed("demo", "demo", "Join a REST API, a database and a CSV, offline, and save Parquet."),
    Listed("new", "new", "Write a connector file to start from."),
    Listed("lint", "lint", "Check connector files: schema, SQL, five principles."),
    Listed("list", "list", "List connectors with their tools and skills."),
    Listed("show", "show", "Show one connector with its tools' signatures."),
    Listed("plan", "plan", "Draw a tool's graph and what is pushed into its sources."),
    Listed("call", "call", "Call a tool or a skill; rows go to stdout."),
    Listed("serve", "serve", "Serve the connectors to agents: MCP over HTTP or stdio."),
    Listed("connect", "connect", "Print or write the configuration of an agent's program."),
    Listed("run", "run", "Run a graph file, with progress per node."),
    Listed("eval", "eval", "Run a connector's eval cases."),
    Listed("save", "save", "Write rows of a file or of stdin into a save."),
    Listed("audit", "audit", "Look at the record of served calls: tail, query, verify, export."),
    Listed("compile", "compile", "Print a connector's graphs as BGL."),
    Listed("schema", "schema", "Print the JSON Schema of connector files, node kinds or saves."),
    Listed("doctor", "doctor", "Say what is set up, what is missing and why."),
    Listed("completion", "completion", "Print the completion script of a shell."),
)


class Commands(click.Group):
    """Commands by name, each imported on use; an unknown name is answered with near ones."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [listed.name for listed in COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        for listed in COMMANDS:
            if listed.name == cmd_name:
                command = importlib.import_module(f"{__package__}.{listed.module}").command
                assert isinstance(command, click.Command)
                return command
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        names = self.list_commands(ctx)
        if name not in names and not name.startswith("-") and not ctx.resilient_parsing:
            near = difflib.get_close_matches(name, names, 3, 0.5)
            hint = (
                f"Did you mean {' or '.join(f'`jackfield {n}`' for n in near)}?" if near else "See `jackfield --help`."
            )
            raise click.UsageError(f"There is no command '{name}'. {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(listed.name, listed.summary) for listed in COMMANDS])


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="jackfield", prog_name="jackfield")
def cli() -> None:
    """Connectors as executable graphs: one SQL tool joins REST APIs, databases and files."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and answer its exit code: 0 success, 1 findings, else by the error's code."""
    invocation = Invocation()
    terminated: list[int] = []

    def terminate(number: int, frame: object) -> None:
        """A termination ends a command as Ctrl-C does, whoever handles that now."""
        terminated.append(number)
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        result = cli.main(arguments, prog_name="jackfield", standalone_mode=False, obj=invocation)
        sys.stdout.flush()
    except click.exceptions.Exit as ending:
        return ending.exit_code
    except click.ClickException as error:
        error.show(sys.stderr)
        return error.exit_code
    except JackfieldError as error:
        show_error(error, invocation.as_json)
        return error.exit_code
    except BrokenPipeError:
        # Whoever read our rows has enough. Python would complain once more when it flushes stdout at exit.
        _leave_stdout()
        return PIPE_CLOSED
    except (KeyboardInterrupt, click.Abort):
        show_error(JackfieldError(Code.CANCELLED, "Cancelled.", "Nothing is left running."), invocation.as_json)
        return TERMINATED if terminated else INTERRUPTED
    except OSError as error:
        if error.filename is None:
            _leave_stdout()
        failure = unwritable(error.filename or "Standard output", error)
        show_error(failure, invocation.as_json)
        return failure.exit_code
    except Exception as error:
        failure = of_bug(error)
        show_error(failure, invocation.as_json)
        return failure.exit_code
    finally:
        signal.signal(signal.SIGTERM, before)
    return result if isinstance(result, int) else 0


def _leave_stdout() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
