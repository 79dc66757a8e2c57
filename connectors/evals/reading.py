"""Case files → suites. Three forms: calls with expectations, prompts for an agent, and the older JSON with rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import ValidationError

from ...graphs.errors import Code, JackfieldError
from ..model import Connector
from .literals import from_json, from_yaml
from .suite import Case, Expectation, Suite

ENDINGS: Final = (".eval.yaml", ".eval.yml", ".eval.json")


def suites_of(connector: Connector) -> tuple[Suite, ...]:
    """The suites of a connector: those that it names, else those beside it that bear its slug or its file's name.

    Raises CONFIG_INVALID.
    """
    folder = connector.folder
    if connector.evals:
        return tuple(_confined(name, connector) for name in connector.evals)
    stem = connector.path.name.split(".", 1)[0] if connector.path else connector.slug
    found = []
    for path in sorted(folder.iterdir()):
        if path.name.endswith(ENDINGS):
            suite = read_suite(path)
            if connector.slug == suite.connector or (not suite.connector and path.name.split(".", 1)[0] == stem):
                found.append(suite)
    return tuple(found)


def _confined(name: str, connector: Connector) -> Suite:
    try:
        path = (connector.folder / name).resolve()
        inside = path.is_relative_to(connector.folder.resolve())
    except (OSError, ValueError):  # a NUL in it, a link to itself
        inside = False
    if not inside:
        raise JackfieldError(
            Code.CONFIG_INVALID,
            f"The file of cases {name!r} lies outside of the connector's folder, or is no path.",
            "Move it beside the connector.",
        )
    return read_suite(path)


def read_suite(path: Path) -> Suite:
    """One file of cases. Raises CONFIG_INVALID with the case and the field that are wrong."""
    try:
        text = path.read_text("utf-8")
        document = from_json(text) if path.suffix == ".json" else from_yaml(text)
    except OSError as error:
        raise _invalid(path, error.strerror or "it cannot be read", "") from None
    except (yaml.YAMLError, json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _invalid(path, _where(error), "") from None
    if not isinstance(document, dict) or not isinstance(document.get("cases"), list):
        raise _invalid(path, "it has no list of cases", "A suite is {name, connector, cases: […]}.")
    cases = tuple(_case(path, index, case) for index, case in enumerate(document["cases"]))
    name = document.get("name") or document.get("suite") or document.get("id") or path.name.split(".", 1)[0]
    return Suite(
        name=str(name),
        connector=str(document.get("connector") or ""),
        cases=cases,
        file=str(path),
        version=str(document.get("version") or ""),
    )


def _case(path: Path, index: int, case: Any) -> Case:
    where = f"cases/{index}"
    if not isinstance(case, dict):
        raise _invalid(path, f"{where} is no object", "")
    name = str(case.get("id") or case.get("prompt") or f"case {index + 1}")
    if "prompt" in case:
        return Case(
            name,
            str(case.get("expect_tool", "")),
            _arguments(case.get("expect_args")),
            Expectation(),
            prompt=str(case["prompt"]),
        )
    tool = case.get("tool_id") or case.get("skill_id") or case.get("tool")
    if not tool:
        raise _invalid(path, f"{where} names no tool", "Give it as tool_id.")
    older = any(key in case for key in ("expected_rows", "match_mode", "expect_error", "params"))
    fields = _older(case) if older and "expect" not in case else _fields(case.get("expect"))
    try:
        expect = Expectation.model_validate(fields)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        hint = f"Known expectations: {', '.join(KNOWN)}." if first["type"] == "extra_forbidden" else ""
        raise _invalid(path, f"{where} ('{name}') expects '{field}': {first['msg']}", hint) from None
    arguments = _arguments(case.get("arguments", case.get("params")))
    return Case(name, str(tool), arguments, expect, str(case.get("description") or ""))


KNOWN: Final = (
    *("no_error", "min_rows", "max_rows", "fields_present", "all_rows_match", "field_assertions"),
    *("error_code", "max_token_estimate", "rows", "rows_mode"),
)


def _fields(expect: Any) -> dict[str, Any]:
    """The expectations of a case, its two kinds of match made one."""
    fields = dict(expect) if isinstance(expect, Mapping) else {}
    every = fields.pop("all_rows_match", None) or []
    matches = [dict(item) for item in (every if isinstance(every, list) else [every]) if isinstance(item, Mapping)]
    for item in fields.pop("field_assertions", None) or []:
        match = dict(item)
        if "equals" in match:
            match["value"] = match.pop("equals")
        match.setdefault("row", 0)
        matches.append(match)
    return {**{name: value for name, value in fields.items() if value is not None}, "matches": matches}


def _older(case: Mapping[str, Any]) -> dict[str, Any]:
    error = case.get("expect_error")
    if error:
        return {"error_code": error if isinstance(error, str) else "any"}
    fields: dict[str, Any] = {"rows_mode": case.get("match_mode") or "exact"}
    if case.get("expected_rows") is not None:
        fields["rows"] = case["expected_rows"]
    return fields


def _arguments(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}


def _where(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    if mark is not None:
        return f"line {mark.line + 1}, column {mark.column + 1}: {getattr(error, 'problem', 'not YAML')}"
    if isinstance(error, json.JSONDecodeError):
        return f"line {error.lineno}, column {error.colno}: {error.msg}"
    return "it is not text that can be read"


def _invalid(path: Path, what: str, hint: str) -> JackfieldError:
    return JackfieldError(Code.CONFIG_INVALID, f"The suite '{path.name}': {what}.", hint, {"file": str(path)})
