"""No command prints a secret that stands in a connector file, whatever it stops at in that file."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from connector_documents import Change, put, sound

from .conftest import Cli

LITERALS: dict[str, tuple[str, Any, str]] = {
    "secret_key": ("sources/0/auth", {"type": "bearer", "secret_key": "sk-abc123def456"}, "abc123def456"),
    "token": ("sources/0/auth", {"type": "bearer", "token": "sk-live-abcdefghijkl"}, "abcdefghijkl"),
    "short token": ("sources/0/auth", {"type": "bearer", "token": "hunter2"}, "hunter2"),
    "password beside an error": ("sources/1", {"id": "keepers", "type": "postgrs", "password": "hunter2"}, "hunter2"),
    "header": ("sources/0/headers", {"X-Trace": "Bearer abcdefghijklmnop", "no": 7}, "abcdefghijklmnop"),
    "dsn": ("sources/1", {"id": "keepers", "type": "postgrs", "dsn": "postgresql://a:hunter2@h/db"}, "hunter2"),
}
COMMANDS = [
    *(["call", "{}", "list_animals"], ["show", "{}"], ["list", "{}"], ["lint", "{}"], ["eval", "{}"]),
    *(["plan", "{}", "list_animals"], ["compile", "{}"], ["run", "{}"], ["doctor", "{}"]),
]


def laid(folder: Path, change: Change, indent: int | None) -> Path:
    path = folder / "zoo.connector.json"
    path.write_text(json.dumps(sound(change), indent=indent))
    return path


@pytest.mark.parametrize("indent", [None, 2], ids=["one line", "indented"])
@pytest.mark.parametrize("name", LITERALS)
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_no_command_prints_the_secret_of_a_file_that_it_refuses(
    cli: Cli, tmp_path: Path, command: list[str], name: str, indent: int | None
) -> None:
    place, value, secret = LITERALS[name]
    path = laid(tmp_path, put(place, value), indent)
    outcome = cli(*(part.format(path) for part in command))
    assert outcome.code != 0 or command[0] in ("list", "show", "compile", "doctor")
    assert secret not in outcome.out + outcome.err


def test_the_frame_of_a_refusal_still_points_at_the_place(cli: Cli, tmp_path: Path) -> None:
    place, value, _ = LITERALS["secret_key"]
    err = cli("call", laid(tmp_path, put(place, value), 2), "list_animals").err
    assert re.search(r'"secret_key": "•+"', err)
    assert "^^^" in err


def test_names_and_references_stay_readable_in_a_frame(cli: Cli, tmp_path: Path) -> None:
    auth = {
        "type": "bearr",
        "secret_key": "ZOO_TOKEN",
        "token": "{{ env:ZOO }}",
        "authorization": "Bearer {{ env:ZOO }}",
    }
    err = cli("call", laid(tmp_path, put("sources/0/auth", auth), None), "list_animals").err
    assert "•" not in err


@pytest.mark.parametrize("token", ["hunter2", "sk-live-abcdefghijkl"])
def test_a_token_that_is_written_out_is_what_lint_says_it_is(cli: Cli, tmp_path: Path, token: str) -> None:
    path = laid(tmp_path, put("sources/0/auth", {"type": "bearer", "secret_key": "ZOO", "token": token}), 2)
    found = cli("lint", path, "--format", "json").json["findings"]
    assert [one["pointer"] for one in found if one["code"] == "SECRET_LITERAL"] == ["/sources/0/auth/token"]
