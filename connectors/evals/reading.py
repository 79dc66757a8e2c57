"""Case files → suites. Three forms: calls with expectations, prompts for an agent, and the older JSON with rows."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import ValidationError

from ...graphs.errors import Code, JackfieldError
from ..model import Connector
from ..native.names import near
from .fields import ASSERTION, CASE, EXPECTATIONS, OLDER, PROMPT, SUITE, unknown
from .literals import from_json, from_yaml
from .suite import Case, Expectation, Suite

UNKNOWN_TOOL: Final = ("TOOL_NOT_FOUND", "NOT_FOUND", "VALIDATION_UNKNOWN_TOOL")
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
            if connector.slug == suite.connector or path.name.split(".", 1)[0] == stem:
                found.append(suite_of(path, connector))
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
    return suite_of(path, connector)


def suite_of(path: Path, connector: Connector) -> Suite:
    """The file of cases, which must be for `connector`. Raises CONFIG_INVALID."""
    return fitting(read_suite(path), path, connector)


def fitting(suite: Suite, path: Path, connector: Connector) -> Suite:
    """`suite`, which must be for `connector`. Raises CONFIG_INVALID."""
    if suite.connector and suite.connector != connector.slug:
        what = f"its cases are for the connector '{suite.connector}', and '{connector.slug}' is to run them"
        raise _invalid(path, what, f"Write `connector: {connector.slug}`, or run them with '{suite.connector}'.")
    known = {*connector.tools, *connector.skills}
    for case in suite.cases:
        # Elsewhere the call says so; a case that expects an error would take this one for it.
        if case.tool not in known and case.expect.error_code not in (None, *UNKNOWN_TOOL):
            what = f"'{case.id}' expects an error of '{case.tool}', and the connector has no such tool"
            raise _invalid(path, what, near(case.tool, known, "tools"))
    return suite


def read_suite(path: Path) -> Suite:
    """One file of cases. Raises CONFIG_INVALID with the case and the field that are wrong."""
    try:
        return suite_in(path.read_text("utf-8"), path)
    except OSError as error:
        raise _invalid(path, error.strerror or "it cannot be read", "") from None
    except UnicodeDecodeError as error:
        raise _invalid(path, _where(error), "") from None


def suite_in(text: str, path: Path) -> Suite:
    """The suite of a text that is, or will be, the file `path`, whose suffix says what it is. Raises CONFIG_INVALID."""
    try:
        document = from_json(text) if path.suffix == ".json" else from_yaml(text)
    except (yaml.YAMLError, json.JSONDecodeError, RecursionError) as error:
        raise _invalid(path, _where(error), "") from None
    if not isinstance(document, dict) or not isinstance(document.get("cases"), list):
        raise _invalid(path, "it has no list of cases", "A suite is {name, connector, cases: […]}.")
    _known(path, "it", document, SUITE)
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
    where = f"{where} ('{name}')"
    if "prompt" in case:
        _known(path, where, case, PROMPT)
        arguments = _object(path, f"{where}: expect_args", case.get("expect_args"))
        return Case(name, str(case.get("expect_tool", "")), arguments, Expectation(), prompt=str(case["prompt"]))
    _known(path, where, case, CASE)
    tool = case.get("tool_id") or case.get("skill_id") or case.get("tool")
    if not tool:
        raise _invalid(path, f"{where} names no tool", "Give it as tool_id.")
    older = [key for key in OLDER if key in case]
    if "expect" in case and older:
        what = f"{where} has `expect`, and so its {', '.join(older)} would not be read"
        raise _invalid(path, what, "Write all that is expected into `expect`.")
    fields = _older(case) if older else _fields(path, where, case.get("expect"))
    try:
        expect = Expectation.model_validate(fields)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise _invalid(path, f"{where} expects '{field}': {first['msg']}", "") from None
    arguments = _object(path, f"{where}: arguments", case.get("arguments", case.get("params")))
    return Case(name, str(tool), arguments, expect, str(case.get("description") or ""))


def _fields(path: Path, where: str, expect: Any) -> dict[str, Any]:
    """The expectations of a case, its two kinds of match made one."""
    fields = _object(path, f"{where}: expect", expect)
    _known(path, f"{where}: expect", fields, EXPECTATIONS)
    matches = _assertions(path, f"{where}: all_rows_match", fields.pop("all_rows_match", None))
    for match in _assertions(path, f"{where}: field_assertions", fields.pop("field_assertions", None)):
        if "equals" in match:
            match["value"] = match.pop("equals")
        match.setdefault("row", 0)
        matches.append(match)
    return {**{name: value for name, value in fields.items() if value is not None}, "matches": matches}


def _assertions(path: Path, where: str, value: Any) -> list[dict[str, Any]]:
    """One assertion or a list of them."""
    items = value if isinstance(value, list) else [] if value is None else [value]
    found = [_object(path, where, item) for item in items]
    for item in found:
        _known(path, where, item, ASSERTION)
    return found


def _older(case: Mapping[str, Any]) -> dict[str, Any]:
    error = case.get("expect_error")
    if error:
        return {"error_code": error if isinstance(error, str) else "any"}
    fields: dict[str, Any] = {"rows_mode": case.get("match_mode") or "exact"}
    if case.get("expected_rows") is not None:
        fields["rows"] = case["expected_rows"]
    return fields


def _object(path: Path, where: str, value: Any) -> dict[str, Any]:
    if value is not None and not isinstance(value, Mapping):
        raise _invalid(path, f"{where} is no object", "Write fields with values: {name: value}.")
    return dict(value or {})


def _known(path: Path, where: str, value: Mapping[str, Any], known: Collection[str]) -> None:
    if found := unknown(value, known):
        raise _invalid(path, f"{where} has the field '{found[0]}', which is not known", found[1])


def _where(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    if mark is not None:
        return f"line {mark.line + 1}, column {mark.column + 1}: {getattr(error, 'problem', 'not YAML')}"
    if isinstance(error, json.JSONDecodeError):
        return f"line {error.lineno}, column {error.colno}: {error.msg}"
    return "it is not text that can be read"


def _invalid(path: Path, what: str, hint: str) -> JackfieldError:
    return JackfieldError(Code.CONFIG_INVALID, f"The suite '{path.name}': {what}.", hint, {"file": str(path)})
