"""What an answer lacks of what its case expects, in sentences; nothing when the case passes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...graphs.errors import JackfieldError
from .matching import matches
from .suite import Expectation, Match

# What connectors' older case files call the same failures. A code of ours means itself alone.
SAME_ERRORS: Final[Mapping[str, tuple[str, ...]]] = {
    "MISSING_PARAM": ("VALIDATION_MISSING_FIELD",),
    "VALIDATION_MISSING_PARAMETER": ("VALIDATION_MISSING_FIELD",),
    "VALIDATION_REQUIRED": ("VALIDATION_MISSING_FIELD",),
    "INVALID_PARAMS": ("VALIDATION_INVALID_PARAMS", "VALIDATION_MISSING_FIELD"),
    "VALIDATION_ERROR": ("VALIDATION_INVALID_PARAMS", "VALIDATION_MISSING_FIELD"),
    "INVALID_PARAM_TYPE": ("VALIDATION_INVALID_PARAMS",),
    "INVALID_PARAM_VALUE": ("VALIDATION_INVALID_PARAMS",),
    "UNKNOWN_PARAM": ("VALIDATION_INVALID_PARAMS",),
    "NOT_FOUND": ("TOOL_NOT_FOUND", "SCHEMA_NOT_FOUND"),
    "VALIDATION_UNKNOWN_TOOL": ("TOOL_NOT_FOUND",),
    "TABLE_NOT_FOUND": ("SCHEMA_NOT_FOUND",),
    "INVALID_SQL": ("QUERY_INVALID",),
    "UPSTREAM_FETCH_FAILED": ("SOURCE_UNREACHABLE", "SOURCE_ERROR", "SOURCE_BAD_REPLY", "SOURCE_TIMEOUT"),
    "RATE_LIMIT_EXCEEDED": ("RATE_LIMITED",),
    "FILE_NOT_FOUND": ("SOURCE_UNREACHABLE", "SCHEMA_NOT_FOUND"),
}
CHARACTERS_A_TOKEN: Final = 4


def problems(expect: Expectation, answer: Mapping[str, Any] | JackfieldError) -> Iterator[str]:
    if isinstance(answer, JackfieldError):
        yield from _error(expect, answer)
        return
    if expect.error_code is not None:
        yield f"expected the error {expect.error_code}, and the call succeeded"
        return
    rows = rows_of(answer)
    if len(rows) < expect.min_rows:
        yield f"{len(rows)} rows; expected at least {expect.min_rows}"
    if expect.max_rows is not None and len(rows) > expect.max_rows:
        yield f"{len(rows)} rows; expected at most {expect.max_rows}"
    yield from _fields(expect, rows)
    for match in expect.matches:
        yield from _match(match, rows)
    if expect.max_token_estimate is not None:
        tokens = tokens_of(answer)
        if tokens > expect.max_token_estimate:
            yield f"the answer is about {tokens} tokens; expected at most {expect.max_token_estimate}"
    if expect.rows is not None:
        yield from _rows(expect, list(expect.rows), rows)


def rows_of(answer: Mapping[str, Any]) -> list[Any]:
    """The rows of an answer; one that gives no rows counts as one row: its response, or itself."""
    if isinstance(answer.get("rows"), list):
        return list(answer["rows"])
    response = answer.get("response")
    body = response.get("body") if isinstance(response, Mapping) else None
    if isinstance(body, list):
        return body
    return [body if isinstance(body, Mapping) else answer]


def tokens_of(answer: Mapping[str, Any]) -> int:
    text = json.dumps(answer, ensure_ascii=False, separators=(",", ":"), default=str)
    return -(-len(text) // CHARACTERS_A_TOKEN)


def _error(expect: Expectation, error: JackfieldError) -> Iterator[str]:
    code = error.code.value
    if expect.error_code is None:
        if expect.no_error:
            yield f"the call failed: {code}: {error.message}"
    elif (
        expect.error_code != "any" and code != expect.error_code and code not in SAME_ERRORS.get(expect.error_code, ())
    ):
        yield f"the call failed with {code}; expected {expect.error_code}"


def _fields(expect: Expectation, rows: list[Any]) -> Iterator[str]:
    for name in expect.fields_present:
        if not rows:
            yield f"no rows, so none has the field '{name}'"
        elif any(_value(row, name) is _ABSENT for row in rows):
            known = ", ".join(rows[0]) if isinstance(rows[0], Mapping) else "none"
            yield f"a row has no field '{name}'; the first row's fields: {known}"


def _match(match: Match, rows: list[Any]) -> Iterator[str]:
    if match.row is not None:
        if match.row >= len(rows):
            yield f"there is no row {match.row}; the answer has {len(rows)}"
            return
        places = [(match.row, rows[match.row])]
    else:
        places = list(enumerate(rows))
    for index, row in places:
        actual = _value(row, match.field)
        if actual is _ABSENT:
            yield f"row {index} has no field '{match.field}'"
            return
        if not matches(match.value, actual, match):
            wanted = getattr(match.value, "text", None) or json.dumps(match.value, ensure_ascii=False, default=str)
            found = json.dumps(actual, ensure_ascii=False, default=str)
            yield f"row {index}: '{match.field}' is {found}; expected {wanted} ({match.match})"
            return


def _rows(expect: Expectation, wanted: list[Any], rows: list[Any]) -> Iterator[str]:
    exact = Match(field="")
    match expect.rows_mode:
        case "exact":
            if not matches(wanted, rows, exact):
                yield f"the rows are not the expected ones: {len(rows)} rows; expected {len(wanted)}"
        case "contains":
            for index, row in enumerate(wanted):
                if not any(_within(row, found, exact) for found in rows):
                    yield f"no row holds the expected row {index}"
        case "shape":
            columns = {name for row in wanted if isinstance(row, Mapping) for name in row}
            given = {name for row in rows if isinstance(row, Mapping) for name in row}
            if columns != given:
                yield f"the columns are {', '.join(sorted(given))}; expected {', '.join(sorted(columns))}"


def _within(wanted: Any, found: Any, exact: Match) -> bool:
    if not isinstance(wanted, Mapping) or not isinstance(found, Mapping):
        return matches(wanted, found, exact)
    return all(name in found and matches(value, found[name], exact) for name, value in wanted.items())


_ABSENT: Final = object()


def _value(row: Any, field: str) -> Any:
    """A field by its name, or by a dotted path."""
    if isinstance(row, Mapping) and field in row:
        return row[field]
    for part in field.split("."):
        if isinstance(row, list) and part.isdecimal() and int(part) < len(row):
            row = row[int(part)]
        elif isinstance(row, Mapping) and part in row:
            row = row[part]
        else:
            return _ABSENT
    return row
