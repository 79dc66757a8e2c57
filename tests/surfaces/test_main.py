"""The command line itself: help, unknown names, exit codes, and what it does not import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from jackfield.surfaces.cli.main import COMMANDS, Commands
from jackfield.surfaces.cli.main import cli as group

from .conftest import Cli

DEMO = Path(__file__).parents[2] / "surfaces" / "demo"
HEAVY = {"duckdb", "pyarrow", "mcp", "networkx"}


def test_help_names_every_command(cli: Cli) -> None:
    outcome = cli("--help")
    assert outcome.code == 0
    for listed in COMMANDS:
        assert listed.name in outcome.out


@pytest.mark.parametrize("listed", COMMANDS, ids=[listed.name for listed in COMMANDS])
def test_each_command_explains_itself(cli: Cli, listed: object) -> None:
    name = getattr(listed, "name")  # noqa: B009
    outcome = cli(name, "--help")
    assert outcome.code == 0
    assert outcome.out.startswith(f"Usage: jackfield {name}")


def test_an_unknown_command_is_answered_with_the_near_one(cli: Cli) -> None:
    outcome = cli("lnit")
    assert outcome.code == 2
    assert "Did you mean `jackfield l" in outcome.err
    assert "`jackfield lint`" in outcome.err
    assert outcome.out == ""


def test_an_unknown_option_exits_2(cli: Cli) -> None:
    assert cli("list", "--nothing").code == 2


@pytest.mark.parametrize(
    "arguments", [["--help"], ["list", str(DEMO)], ["lint", str(DEMO)], ["show", str(DEMO)]], ids=lambda a: a[0]
)
def test_looking_imports_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys\n"
        "from jackfield.surfaces.cli import main\n"
        f"code = main({arguments!r})\n"
        "print(' '.join(sorted(m for m in sys.modules if '.' not in m)), file=sys.stderr)\n"
        "sys.exit(code)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert HEAVY.isdisjoint(done.stderr.splitlines()[-1].split())


def test_completion_knows_our_commands(cli: Cli) -> None:
    for shell in ("bash", "zsh", "fish"):
        outcome = cli("completion", shell)
        assert outcome.code == 0
        assert "_JACKFIELD_COMPLETE" in outcome.out


def test_the_listed_commands_are_those_that_exist() -> None:
    assert isinstance(group, Commands)
    for listed in COMMANDS:
        command = group.get_command(None, listed.name)  # type: ignore[arg-type]
        assert command is not None
        assert command.name == listed.name


def test_a_bug_is_an_error_with_its_exit_code_and_a_trace_on_demand(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("secret-word")

    monkeypatch.setattr("jackfield.surfaces.cli.list.open_app", broken)
    outcome = cli("list")
    assert outcome.code == 5
    assert outcome.err.startswith("INTERNAL_ERROR: Jackfield failed by a bug: ZeroDivisionError.")
    assert "secret-word" not in outcome.err
    monkeypatch.setenv("JACKFIELD_TRACEBACK", "1")
    assert "Traceback" in cli("list").err
