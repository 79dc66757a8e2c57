"""`jackfield completion`: the script by which a shell completes our commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script of SHELL. For bash: `eval "$(jackfield completion bash)"` in ~/.bashrc."""
    from .main import cli

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(cli, {}, "jackfield", "_JACKFIELD_COMPLETE").source())
