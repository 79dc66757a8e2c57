"""The agents' programs that `jackfield connect` knows: the file that each reads, and the shape of an entry in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Connection:
    """How a client reaches Jackfield: by a process that it starts, or by a URL when there is one.

    `variables` are the names of what the process needs of the environment; their values are nobody's to write down.
    """

    command: str = ""
    args: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    url: str = ""


@dataclass(frozen=True, slots=True)
class AgentClient:
    """`file` is where it looks, `~` the person's home; `table` holds its servers by name; `entry` is one of them."""

    name: str
    title: str
    file: str
    table: str
    entry: Callable[[Connection], Mapping[str, Any]]
    then: str

    @property
    def is_toml(self) -> bool:
        return self.file.endswith(".toml")

    def path(self, project: Path) -> Path:
        """The file for somebody who works in `project`."""
        home = os.environ.get("CODEX_HOME")
        if self.name == "codex" and home:
            return Path(home) / "config.toml"
        return project / Path(self.file).expanduser()


def _process(connection: Connection, reference: str) -> dict[str, Any]:
    """What all JSON files have in common. `reference` is how the client writes a variable of its own environment."""
    variables = {name: reference.replace("NAME", name) for name in connection.variables}
    return {
        "command": connection.command,
        "args": list(connection.args),
        **({"env": variables} if variables else {}),
    }


def _claude_code(connection: Connection) -> dict[str, Any]:
    if connection.url:
        return {"type": "http", "url": connection.url}
    # With a default, since a variable that is not set would reach us as the text of its reference.
    return {"type": "stdio", **_process(connection, "${NAME:-}")}


def _cursor(connection: Connection) -> dict[str, Any]:
    if connection.url:
        return {"url": connection.url}
    return {"type": "stdio", **_process(connection, "${env:NAME}")}


def _vscode(connection: Connection) -> dict[str, Any]:
    if connection.url:
        return {"type": "http", "url": connection.url}
    return {"type": "stdio", **_process(connection, "${env:NAME}")}


def _gemini(connection: Connection) -> dict[str, Any]:
    return {"httpUrl": connection.url} if connection.url else _process(connection, "$NAME")


def _codex(connection: Connection) -> dict[str, Any]:
    if connection.url:
        return {"url": connection.url}
    variables = {"env_vars": list(connection.variables)} if connection.variables else {}
    return {"command": connection.command, "args": list(connection.args), **variables}


CLIENTS: Final = (
    AgentClient(
        "claude-code",
        "Claude Code",
        ".mcp.json",
        "mcpServers",
        _claude_code,
        "start claude here, and approve the server",
    ),
    AgentClient(
        "cursor", "Cursor", ".cursor/mcp.json", "mcpServers", _cursor, "enable the server in Cursor's settings"
    ),
    AgentClient("codex", "Codex", "~/.codex/config.toml", "mcp_servers", _codex, "start codex; /mcp lists the server"),
    AgentClient(
        "vscode", "VS Code", ".vscode/mcp.json", "servers", _vscode, "start the server from that file's editor"
    ),
    AgentClient(
        "gemini",
        "Gemini CLI",
        ".gemini/settings.json",
        "mcpServers",
        _gemini,
        "start gemini here, and trust the folder",
    ),
)
BY_NAME: Final[Mapping[str, AgentClient]] = {client.name: client for client in CLIENTS}
