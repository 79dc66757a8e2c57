"""What a line keeps of arguments: AUD-02 and AUD-09."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from servers.audit import a_line, read

from jackfield.engine.audit.log import AuditLog
from jackfield.engine.audit.redaction import names_secret, sensitive_names
from jackfield.nodes.secrets import EnvironmentSecrets

SECRET = "correct-horse-battery"


def kept(folder: Path, args: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """The line of a call with these arguments."""
    redact = EnvironmentSecrets({"SHOP_TOKEN": SECRET})
    redact.expand("{{ env:SHOP_TOKEN }}")
    with AuditLog(folder, redact=redact.redact) as log:
        log.append(a_line(args=args, **fields))
    line: dict[str, Any] = read(folder)[-1]
    return line


@pytest.mark.parametrize(
    "name",
    ["password", "db_password", "dbPassword", "PASSWORD", "userpassword", "token", "accessToken", "ACCESS_TOKEN",
     "refresh-token", "Authorization", "authorization_header", "secret", "client_secret", "clientSecret", "api_key",
     "apiKey", "apikey", "X-API-Key", "private_key", "aws_secret_access_key", "credentials", "cookie", "passphrase",
     "pwd", "tokens", "jwt"],
)  # fmt: skip
def test_aud_02_a_field_named_like_a_secret_is_hidden(tmp_path: Path, name: str) -> None:
    line = kept(tmp_path, {name: "hunter2", "species": "cat", "deep": {"er": [{"est": {name: ["hunter2"]}}]}})
    assert line["args"] == {name: "***", "species": "cat", "deep": {"er": [{"est": {name: "***"}}]}}


@pytest.mark.parametrize(
    ("name", "value"),
    [("species", "cat"), ("max_tokens", 100), ("author", "Ann"), ("secretary", "Ann"), ("key", "id"),
     ("tokenizer", "bpe"), ("passenger", "Ann"), ("monkey", "Abu"), ("passed", True), ("compass", "N"),
     ("sort_key", "day"), ("password", None)],
)  # fmt: skip
def test_aud_02_other_fields_are_kept(tmp_path: Path, name: str, value: Any) -> None:
    assert kept(tmp_path, {name: value})["args"] == {name: value}


def test_aud_02_a_parameter_that_its_tool_marks_sensitive_is_hidden_at_any_depth(tmp_path: Path) -> None:
    schema = {
        "properties": {
            "iban": {"type": "string", "x-sensitive": True},
            "person": {"type": "object", "properties": {"born": {"type": "string", "x-sensitive": True}}},
            "city": {"type": "string"},
        }
    }
    sensitive = sensitive_names(schema)
    assert sensitive == {"iban", "born"}
    args = {"iban": "NO9386011117947", "person": {"born": "1970-01-01", "name": "Ann"}, "city": "Oslo"}
    line = kept(
        tmp_path, args, sensitive=sensitive, message="no account NO9386011117947", pushed={"iban": "NO9386011117947"}
    )
    assert line["args"] == {"iban": "***", "person": {"born": "***", "name": "Ann"}, "city": "Oslo"}
    assert (line["message"], line["pushed"]) == ("no account ***", {"iban": "***"})
    assert "sensitive" not in line


def test_a_message_repeats_nothing_that_was_hidden_whatever_its_type(tmp_path: Path) -> None:
    args = {"card": 4000123412341234, "person": {"names": ["Ann-Britt"]}, "on": True}
    line = kept(
        tmp_path,
        args,
        sensitive=frozenset({"card", "person", "on"}),
        message="no card 4000123412341234 of Ann-Britt, truly",
    )
    assert line["message"] == "no card *** of ***, truly"


def test_a_message_that_repeats_a_part_of_something_long_and_hidden_is_hidden_whole(tmp_path: Path) -> None:
    key = "".join(f"{number:04d}" for number in range(1_000))
    assert kept(tmp_path, {"password": key}, message=f"refused {key} here")["message"] == "refused *** here"
    assert kept(tmp_path, {"password": key}, message=f"refused {key[:100]}…")["message"] == "***"


def test_names_given_to_the_log_are_hidden_in_every_line(tmp_path: Path) -> None:
    with AuditLog(tmp_path, sensitive=frozenset({"iban"})) as log:
        log.append(a_line(args={"iban": "NO93", "city": "Oslo"}))
    assert read(tmp_path)[0]["args"] == {"iban": "***", "city": "Oslo"}


def test_a_secret_that_was_resolved_is_hidden_wherever_it_stands(tmp_path: Path) -> None:
    args = {"q": f"is {SECRET} here", "list": [SECRET, {SECRET: 1}], "plain": "kept"}
    line = kept(tmp_path, args, message=f"refused {SECRET}", pushed=[SECRET])
    assert line["args"] == {"q": "is *** here", "list": ["***", {"***": 1}], "plain": "kept"}
    assert (line["message"], line["pushed"]) == ("refused ***", ["***"])
    assert SECRET not in (tmp_path / "audit.log").read_text()


def test_a_number_that_is_a_secret_leaves_the_line_json(tmp_path: Path) -> None:
    secrets = EnvironmentSecrets({"PIN": "73519824"})
    secrets.expand("{{ env:PIN }}")
    with AuditLog(tmp_path, redact=secrets.redact) as log:
        log.append(a_line(args={"pin": 73519824, "n": 1, "x": 1735198240}))
    assert read(tmp_path)[0]["args"] == {"pin": "***", "n": 1, "x": "***"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgres://shop:hunter2@db/x?y=1", "postgres://shop:***@db/x?y=1"),
        ("see https://:t0ken@host/", "see https://:***@host/"),
        ("Authorization: Bearer abcdefgh1jkl", "Authorization: Bearer ***"),
        ("basic dXNlcjpwYXNz", "basic ***"),
        ("host=db password=hunter2 user=x", "host=db password=*** user=x"),
        ("a basic question @ https://example.com", "a basic question @ https://example.com"),
        ("mail ann@example.com", "mail ann@example.com"),
    ],
)
def test_credentials_inside_of_a_text_are_hidden(tmp_path: Path, text: str, shown: str) -> None:
    line = kept(tmp_path, {"url": text, "n": 1}, message=text)
    assert line["args"] == {"url": shown, "n": 1}
    assert line["message"] == shown


def test_a_secret_at_the_end_of_a_long_message_is_not_seen_in_part(tmp_path: Path) -> None:
    line = kept(tmp_path, {}, message="x" * 1_990 + SECRET)
    assert line["message"].endswith("…") or line["message"].endswith("***")
    assert SECRET[:6] not in line["message"]


def test_aud_09_a_long_text_is_cut_to_its_size_and_hash(tmp_path: Path) -> None:
    content = "æ" * 2_500_000
    line = kept(tmp_path, {"content": content, "name": "pets.json", "password": "p" * 100_000})
    assert line["args"] == {
        "content": {"cut_bytes": 5_000_000, "sha256": hashlib.sha256(content.encode()).hexdigest()},
        "name": "pets.json",
        "password": "***",
    }
    assert (tmp_path / "audit.log").stat().st_size < 16_384


@pytest.mark.parametrize(
    "args",
    [
        {"rows": [{"id": number, "name": f"n{number}"} for number in range(100_000)]},
        {f"k{number}": number for number in range(100_000)},
        {"k" * 5_000_000: 1},
        {f"k{number}": "v" * 500 for number in range(60)},
        {"deep": [[[["x" * 5_000_000]]]]},
        {"escaped": "\x01" * 3_000},
    ],
    ids=["many rows", "many names", "one long name", "many texts", "deep inside", "grows when escaped"],
)
def test_aud_09_no_arguments_make_a_line_long(tmp_path: Path, args: dict[str, Any]) -> None:
    line = kept(tmp_path, args)
    assert "sha256" in json.dumps(line["args"])
    assert (tmp_path / "audit.log").stat().st_size < 16_384


def test_aud_09_what_is_cut_as_a_whole_is_hashed_as_its_json(tmp_path: Path) -> None:
    args = {"rows": list(range(10_000))}
    text = json.dumps(args["rows"], separators=(",", ":")).encode()
    assert kept(tmp_path, args)["args"] == {
        "rows": {"cut_bytes": len(text), "sha256": hashlib.sha256(text).hexdigest()}
    }


def test_a_secret_in_arguments_of_which_some_are_cut_is_hidden(tmp_path: Path) -> None:
    line = kept(tmp_path, {"content": "x" * 100_000, "q": f"{SECRET} and more", "deep": {"token": "t"}})
    assert line["args"]["q"] == "*** and more"
    assert line["args"]["deep"] == {"token": "***"}


def test_a_name_is_judged_by_its_end_when_it_is_long() -> None:
    assert names_secret("x" * 10_000 + "_password", "p")
