"""What an agent says of a source, held to all that a connector file is held to: no secret, no path outside, no typo."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from ...connectors.discovery import naming
from ...connectors.lint import lint
from ...connectors.masking import SECRET_CODES, masked
from ...connectors.model import Source
from ...connectors.reading import read_text
from ...graphs.errors import Code, JackfieldError
from ...graphs.findings import Finding, Severity
from ...graphs.model import Json
from ..app import UPLOADS
from .bench import Bench

KINDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("rest", "api", "http", "openapi"), "rest"),
    **dict.fromkeys(("postgres", "postgresql", "db"), "postgres"),
    **dict.fromkeys(("mysql", "mariadb"), "mysql"),
    **dict.fromkeys(("file", "csv", "json", "jsonl", "parquet", "sqlite", "duckdb"), "file"),
}
FORMATS: Final = ("csv", "json", "jsonl", "parquet", "sqlite", "duckdb")
ADDRESS: Final = re.compile(r"([a-z]+)(?:\+\w+)?://", re.IGNORECASE)


def native_source(source_type: str, config: Mapping[str, Any], name: str) -> dict[str, Json]:
    """The source object of a connector file that `config` describes. Raises VALIDATION_INVALID_PARAMS."""
    kind = KINDS[source_type]
    given = {field: value for field, value in config.items() if value is not None}
    for other in ("connection_string", "connection", "dsn_env"):
        if other in given:
            value = given.pop(other)
            given.setdefault("dsn", f"{{{{ env:{value} }}}}" if other == "dsn_env" else value)
    if kind in ("postgres", "mysql") and "url" in given:
        given.setdefault("dsn", given.pop("url"))
    if kind == "postgres" and source_type == "db":
        scheme = ADDRESS.match(str(given.get("dsn", "")))
        kind = "mysql" if scheme and scheme[1].lower() in ("mysql", "mariadb") else kind
    if kind == "file":
        for other in ("managed_path", "file_path", "file"):
            if other in given:
                given.setdefault("path", given.pop(other))
        if source_type in FORMATS:
            given.setdefault("format", source_type)
        if isinstance(given.get("path"), str):
            given["path"] = from_connectors(given["path"])
    needed = {"rest": "url", "postgres": "dsn", "mysql": "dsn", "file": "path"}[kind]
    if not isinstance(given.get(needed), str) or not given[needed].strip():
        raise JackfieldError(
            Code.VALIDATION_MISSING_FIELD,
            f"A source of type '{source_type}' needs '{needed}' in its config, found nothing.",
            f'Give config: {{"{needed}": …}}.',
            {"parameter": f"config.{needed}"},
        )
    for field in ("id", "type"):
        given.pop(field, None)
    return {"id": naming.identifier(name) if name else _name(kind, given), "type": kind, **given}


def from_connectors(path: str) -> str:
    """A path of the workspace as a connector in `connectors/` writes it."""
    plain = path.removeprefix("./")
    if plain.startswith(f"{UPLOADS}/"):
        return f"../{plain}"
    return plain.removeprefix("connectors/")


def _name(kind: str, given: Mapping[str, Any]) -> str:
    if kind == "rest":
        return naming.name_of_address(re.sub(r"\{\{.*?\}\}", "https://service", str(given["url"])))
    if kind == "file":
        return naming.identifier(str(given["path"]).rpartition("/")[2].partition(".")[0].replace("*", ""))
    table = str(given.get("table") or "").rpartition(".")[2]
    return naming.identifier(table) if table else "database"


def checked(bench: Bench, source: Mapping[str, Json]) -> Source:
    """The source as its node takes it.

    Raises VALIDATION_INVALID_PARAMS with the first thing that lint would refuse; the message holds no secret.
    """
    document = {"name": "Draft", "slug": "draft", "version": "0.0.1", "sources": [source], "tools": []}
    try:
        text = json.dumps(document, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        raise JackfieldError(Code.VALIDATION_INVALID_PARAMS, "The config is not plain JSON.") from None
    path = bench.target("draft")
    wrong = [finding for finding in lint(text, path=path) if finding.severity is Severity.ERROR]
    wrong += [finding for finding in lint(text, path=path) if finding.code == "UNKNOWN_FIELD"]
    if wrong:
        wrong.sort(key=lambda finding: finding.code not in SECRET_CODES)
        raise _refused(wrong[0], str(source.get("id", "source")))
    reading = read_text(text, path)
    assert reading is not None
    assert reading.connector is not None
    return next(iter(reading.connector.sources.values()))


def _refused(finding: Finding, name: str) -> JackfieldError:
    field = finding.place.pointer.removeprefix("/sources/0").strip("/").replace("/", ".")
    message, hint = masked(finding.message), masked(finding.hint)
    if finding.code in SECRET_CODES:
        variable = naming.variable(name, "dsn" if field in ("dsn", "url") and "://" not in hint else "token")
        message = f"config.{field}: {message} A secret must not reach a file, so nothing was done with it."
        hint = (
            f"Ask the person to set an environment variable where Jackfield runs, such as {variable}, and name it:"
            f' "{{{{ env:{variable} }}}}" in an address, or "secret_key": "{variable}" in auth.'
        )
        return JackfieldError(
            Code.VALIDATION_INVALID_PARAMS, message, hint, {"parameter": f"config.{field}", "variable": variable}
        )
    return JackfieldError(
        Code.VALIDATION_INVALID_PARAMS,
        f"config.{field}: {message}" if field else message,
        hint,
        {"parameter": f"config.{field}" if field else "config", "finding": finding.as_json()},
    )
