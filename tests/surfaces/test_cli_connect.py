"""`jackfield connect`: what each client reads, what is kept of its file, and that the printed command really serves."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import StdioServerParameters
from mcp.client import Client

from .conftest import Cli
from .serving import LIST_ANIMALS, SOURCE, connector

SECRET = "canary-5f1d"
TOKEN = {"id": "orders", "type": "rest", "url": "{{ env:ORDERS_API }}/orders",
         "auth": {"type": "bearer", "secret_key": "ORDERS_TOKEN"}}  # fmt: skip


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace whose connector needs two variables, one of which is set; and a home of its own."""
    folder = tmp_path / "work"
    folder.mkdir()
    connector(folder, sources=[SOURCE, TOKEN], tools=[LIST_ANIMALS])
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CODEX_HOME", raising=False)
    monkeypatch.setenv("ORDERS_TOKEN", SECRET)
    return folder


def entry(text: str, table: str = "mcpServers", name: str = "jackfield") -> dict[str, Any]:
    document = tomllib.loads(text) if table == "mcp_servers" else json.loads(text)
    found: dict[str, Any] = document[table][name]
    return found


@pytest.mark.parametrize(
    ("client", "table", "more", "reference"),
    [
        ("claude-code", "mcpServers", {"type": "stdio"}, "${ORDERS_API:-}"),
        ("cursor", "mcpServers", {"type": "stdio"}, "${env:ORDERS_API}"),
        ("vscode", "servers", {"type": "stdio"}, "${env:ORDERS_API}"),
        ("gemini", "mcpServers", {}, "$ORDERS_API"),
    ],
)
def test_a_client_is_given_whole_paths_and_the_names_of_variables(
    cli: Cli, workspace: Path, client: str, table: str, more: dict[str, str], reference: str
) -> None:
    outcome = cli("connect", client)
    assert outcome.code == 0
    found = entry(outcome.out, table)
    env = {name: reference.replace("ORDERS_API", name) for name in ("ORDERS_API", "ORDERS_TOKEN")}
    assert Path(found.pop("command")).is_absolute()
    assert found.pop("args")[-4:] == ["serve", "--stdio", "--folder", str(workspace)]
    assert found == {**more, "env": env}
    assert "takes these from its environment: ORDERS_API, ORDERS_TOKEN" in outcome.err
    assert "Not set here: ORDERS_API.\n" in outcome.err
    assert SECRET not in outcome.out + outcome.err


def test_codex_is_told_which_variables_to_pass_on(cli: Cli, workspace: Path) -> None:
    outcome = cli("connect", "codex", "--name", "zoo", ".")
    found = entry(outcome.out, "mcp_servers", "zoo")
    assert found["args"][-5:] == ["serve", "--stdio", "--folder", str(workspace), str(workspace)]
    assert found["env_vars"] == ["ORDERS_API", "ORDERS_TOKEN"]
    assert f"For {workspace.parent / 'home' / '.codex' / 'config.toml'}" in outcome.err


@pytest.mark.parametrize(
    ("client", "table", "expected"),
    [
        ("claude-code", "mcpServers", {"type": "http", "url": "http://127.0.0.1:3000/mcp"}),
        ("cursor", "mcpServers", {"url": "http://127.0.0.1:3000/mcp"}),
        ("codex", "mcp_servers", {"url": "http://127.0.0.1:3000/mcp"}),
        ("vscode", "servers", {"type": "http", "url": "http://127.0.0.1:3000/mcp"}),
        ("gemini", "mcpServers", {"httpUrl": "http://127.0.0.1:3000/mcp"}),
    ],
)
def test_a_server_that_runs_is_reached_by_the_url_that_it_printed(
    cli: Cli, workspace: Path, client: str, table: str, expected: dict[str, str]
) -> None:
    for url in ("http://127.0.0.1:3000", "http://127.0.0.1:3000/", "http://127.0.0.1:3000/mcp"):
        assert entry(cli("connect", client, "--http", url).out, table) == expected


@pytest.mark.parametrize("url", ["127.0.0.1:3000", "ftp://host/mcp", "https://me:canary@host/mcp", "http://"])
def test_what_is_no_url_of_a_server_is_refused(cli: Cli, workspace: Path, url: str) -> None:
    outcome = cli("connect", "cursor", "--http", url)
    assert outcome.code == 2
    assert "VALIDATION_INVALID_PARAMS" in outcome.err
    assert "canary" not in outcome.err


@pytest.mark.parametrize(
    "arguments", [["--http", "http://h", "--stdio"], ["--http", "http://h", "."], ["--name", "a b"], ["missing.json"]]
)
def test_what_cannot_be_meant_is_refused_and_nothing_written(cli: Cli, workspace: Path, arguments: list[str]) -> None:
    assert cli("connect", "cursor", "--write", *arguments).code in (1, 2)
    assert not (workspace / ".cursor").exists()


@pytest.mark.anyio
async def test_the_printed_command_serves_from_wherever_it_is_started(
    cli: Cli, workspace: Path, tmp_path: Path
) -> None:
    found = entry(cli("connect", "claude-code").out)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    environment = {**os.environ, "ORDERS_API": "http://127.0.0.1:9"}
    server = StdioServerParameters(command=found["command"], args=found["args"], env=environment, cwd=elsewhere)
    with anyio.fail_after(60):
        async with Client(server) as client:
            answer = await client.call_tool("list_animals", {"species": "cat"})
    assert (answer.structured_content or {})["row_count"] == 2
    assert (workspace / ".jackfield" / "audit" / "audit.log").exists()
    assert list(elsewhere.iterdir()) == []


def test_what_a_file_holds_is_kept_and_a_copy_of_it_too(cli: Cli, workspace: Path) -> None:
    path = workspace / ".gemini" / "settings.json"
    path.parent.mkdir()
    before = '{\n\t"theme": "Größe",\n\t"mcpServers": {"other": {"command": "x"}},\n\t"z": [1, 2.50]\n}'
    path.write_text(before, "utf-8")
    path.chmod(0o600)
    outcome = cli("connect", "gemini", "--write")
    assert (outcome.code, outcome.out) == (0, f"{path}\n")
    assert f"What it held before is in {path}.bak." in outcome.err
    after = json.loads(path.read_text("utf-8"))
    assert entry(path.read_text("utf-8"))["args"][-1] == str(workspace)
    del after["mcpServers"]["jackfield"]
    assert after == json.loads(before)
    assert list(after) == ["theme", "mcpServers", "z"]
    assert '\n\t"theme": "Größe"' in path.read_text("utf-8")
    assert path.with_name("settings.json.bak").read_text("utf-8") == before
    assert {file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {0o600}

    again = cli("connect", "gemini", "--write")
    assert (again.out, "has it already" in again.err) == ("", True)
    cli("connect", "gemini", "--write", "--http", "http://127.0.0.1:3000")
    assert {file.name for file in path.parent.iterdir()} == {
        "settings.json", "settings.json.bak", "settings.json.bak1",
    }  # fmt: skip
    assert path.with_name("settings.json.bak").read_text("utf-8") == before


def test_a_new_file_is_made_with_its_folder(cli: Cli, workspace: Path) -> None:
    assert cli("connect", "vscode", "--write").code == 0
    path = workspace / ".vscode" / "mcp.json"
    assert path.read_text("utf-8") == cli("connect", "vscode").out
    assert [file.name for file in path.parent.iterdir()] == ["mcp.json"]


def test_what_the_person_added_to_an_entry_stays_while_it_is_reached_in_the_same_way(cli: Cli, workspace: Path) -> None:
    path = workspace / ".cursor" / "mcp.json"
    mine = {"command": "old", "args": ["old"], "disabled": True, "env": {"ORDERS_API": "http://mine", "MORE": "1"}}
    path.parent.mkdir()
    path.write_text(json.dumps({"mcpServers": {"jackfield": mine}}))
    cli("connect", "cursor", "--write")
    found = entry(path.read_text())
    assert found["command"] != "old"
    assert found["disabled"] is True
    assert found["env"] == {"ORDERS_API": "http://mine", "ORDERS_TOKEN": "${env:ORDERS_TOKEN}", "MORE": "1"}
    cli("connect", "cursor", "--write", "--http", "http://127.0.0.1:3000")
    assert entry(path.read_text()) == {"url": "http://127.0.0.1:3000/mcp"}


TOML = """\
# mine
model = "o9" # the best

[mcp_servers.other]
command = "x"

[mcp_servers."jackfield"]
command = "old"
args = [
  "serve", # [not a table]
  "--stdio",
]
# slow machine
startup_timeout_sec = 40

[mcp_servers.jackfield.tools.list_animals]
approval_mode = "approve"

# of my project
[projects."/home/me"]
trust_level = "trusted"
"""


def test_a_toml_file_keeps_its_comments_and_what_the_person_added(cli: Cli, workspace: Path, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(TOML)
    assert cli("connect", "codex", "--write", "--file", path).code == 0
    after = path.read_text()
    found = entry(after, "mcp_servers")
    assert found.pop("command") != "old"
    assert found.pop("args")[-1] == str(workspace)
    assert found == {
        "env_vars": ["ORDERS_API", "ORDERS_TOKEN"],
        "startup_timeout_sec": 40,
        "tools": {"list_animals": {"approval_mode": "approve"}},
    }
    for kept in ("# mine\n", "# the best", "# slow machine\n", '# of my project\n[projects."/home/me"]'):
        assert kept in after
    cli("connect", "codex", "--write", "--file", path, "--http", "http://127.0.0.1:3000")
    document = tomllib.loads(path.read_text())
    assert document["mcp_servers"] == {"other": {"command": "x"}, "jackfield": {"url": "http://127.0.0.1:3000/mcp"}}
    assert document["projects"] == {"/home/me": {"trust_level": "trusted"}}


def test_a_toml_file_without_an_entry_is_added_to(cli: Cli, workspace: Path) -> None:
    path = workspace.parent / "home" / ".codex" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text('model = "o9"')
    cli("connect", "codex", "--write")
    assert path.read_text() == f'model = "o9"\n\n{cli("connect", "codex").out}'


@pytest.mark.parametrize(
    ("client", "name", "text", "said"),
    [
        ("vscode", ".vscode/mcp.json", '{\n  // mine\n  "servers": {}\n}', "is not plain JSON: "),
        ("cursor", ".cursor/mcp.json", '{"mcpServers": []}', "holds no object 'mcpServers'"),
        ("cursor", ".cursor/mcp.json", "[]", "holds no object 'mcpServers'"),
        ("codex", "c.toml", "a = [", "is not valid TOML"),
        ("codex", "c.toml", "mcp_servers = 1", "holds no table 'mcp_servers'"),
        (
            "codex",
            "c.toml",
            'mcp_servers = { jackfield = { command = "x" } }',
            "holds 'jackfield' in a way that is not changed safely",
        ),
    ],
)
def test_a_file_that_cannot_be_merged_safely_is_left_as_it_is(
    cli: Cli, workspace: Path, client: str, name: str, text: str, said: str
) -> None:
    path = workspace / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    outcome = cli("connect", client, "--write", "--file", path)
    assert outcome.code == 1
    assert f"CONFIG_INVALID: {path} {said}" in outcome.err
    assert "Nothing was written." in outcome.err
    assert path.read_text() == text
    assert not path.with_name(f"{path.name}.bak").exists()


def test_a_link_to_the_file_stays_one(cli: Cli, workspace: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text("{}")
    link = tmp_path / "mcp.json"
    link.symlink_to(real)
    cli("connect", "cursor", "--write", "--file", link)
    assert link.is_symlink()
    assert "jackfield" in json.loads(real.read_text())["mcpServers"]


def test_a_place_that_cannot_be_written_is_said(cli: Cli, workspace: Path) -> None:
    (workspace / ".cursor").write_text("no folder")
    outcome = cli("connect", "cursor", "--write")
    assert outcome.code == 3
    assert "cannot be written" in outcome.err
