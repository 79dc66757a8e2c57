"""The fields of the filter form (`filter_groups`, `return_fields`, `having`, `order_by`, `limit`), checked to the word.

Elsewhere what is not known is warned of and left out. Here it is refused: a condition, a sum or an order that is left
out gives an answer that looks right and is not.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field, StrictInt, model_validator

from ...graphs.findings import Severity
from ...graphs.model import Json
from ...nodes.base import Configuration
from . import document as fields
from .rewriting import Rewriting
from .validate import fitting

CODE: Final = "FILTER_INVALID"
WITHOUT_VALUE: Final = ("is_null", "is_not_null")
# What other query languages, or hands in a hurry, write for the same.
MEANT: Final[Mapping[str, str]] = {
    "=>": ">=", "=<": "<=", "==": "=", "<>": "!=", "eq": "=", "ne": "!=", "gt": ">", "gte": ">=", "lt": "<",
    "lte": "<=", "in": "in_list", "like": "contains", "ilike": "contains", "null": "is_null",
    "ascending": "ASC", "up": "ASC", "descending": "DESC", "down": "DESC", "average": "avg", "mean": "avg",
}  # fmt: skip


def _in_lower_case(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


def _in_upper_case(value: Any) -> Any:
    return value.upper() if isinstance(value, str) else value


Operator = Literal["=", "!=", ">", ">=", "<", "<=", "in_list", "contains", "is_null", "is_not_null"]
Aggregation = Literal["none", "count", "sum", "avg", "min", "max"]


def _value(value: Json) -> Json:
    items = value if isinstance(value, list | tuple) else [value]
    if any(isinstance(item, dict | list | tuple) for item in items):
        raise ValueError("'value' is a text, a number, true, false or a list of these")
    return value


class Condition(Configuration):
    """A column compared with an argument or with a value that is fixed in the file."""

    field: fields.Text
    operator: Operator
    parameter_name: str | None = Field(None, description="The argument; an optional one that is absent narrows nothing")
    value: Annotated[Json, AfterValidator(_value)] = Field(None, description="The fixed value; a list for in_list")

    @model_validator(mode="after")
    def _compares_with_something(self) -> Condition:
        if self.operator in WITHOUT_VALUE:
            return self
        if not self.parameter_name and self.value is None:
            raise ValueError(f"'{self.operator}' compares '{self.field}' with nothing: give parameter_name or value")
        if isinstance(self.value, list | tuple) and self.operator != "in_list" and not self.parameter_name:
            raise ValueError(f"'{self.operator}' compares with one value; a list of them belongs to in_list")
        return self


class Group(Configuration):
    """Conditions joined by one word; groups are joined by AND."""

    logic: Annotated[Literal["AND", "OR"] | None, BeforeValidator(_in_upper_case)] = "AND"
    conditions: tuple[Condition, ...] | None


class ReturnField(Configuration):
    """A column of the answer. Where one is aggregated, the others are what rows are grouped by."""

    field: fields.Text
    alias: str | None = None
    aggregation: Annotated[Aggregation | None, BeforeValidator(_in_lower_case)] = "none"


class Order(Configuration):
    """A column, or an alias, to sort by."""

    field: fields.Text
    direction: Annotated[Literal["ASC", "DESC"] | None, BeforeValidator(_in_upper_case)] = "ASC"


class FilterForm(Configuration):
    """A READ tool over one source without SQL, in the second spelling."""

    filter_groups: tuple[Group, ...] | None = None
    return_fields: tuple[ReturnField, ...] | None = None
    having: tuple[Group, ...] | None = Field(None, description="As filter_groups, of aggregates by their alias")
    order_by: tuple[Order, ...] | None = None
    limit: Annotated[StrictInt, Field(ge=0)] | None = None


NAMES: Final = tuple(FilterForm.model_fields)


def check(tool: Mapping[str, Any], pointer: str, rewriting: Rewriting) -> None:
    """Refuse, each at its place, whatever of a tool's filter form `select_of` would not carry into the SQL."""
    about = str(tool.get("id", ""))

    def report(code: str, severity: Severity, place: str, message: str, hint: str) -> None:
        meant = _meant(tool, place.removeprefix(pointer))
        rewriting.refuse(CODE, place, message.replace(" and is not read", ""), meant or hint, about)

    written = {name: tool[name] for name in NAMES if name in tool}
    fitting(FilterForm, written, pointer, report)
    for name in tool:
        if name in fields.Tool.model_fields or name in NAMES:
            continue
        if close := difflib.get_close_matches(name, [known for known in NAMES if known not in tool], 1, 0.8):
            message = f"Field '{name}' is not known here, and what it asks for would be dropped."
            rewriting.refuse(CODE, f"{pointer}/{name}", message, f"Did you mean '{close[0]}'?", about)
    known = [str(item.get("name")) for item in _objects(tool.get("parameters"))]
    for place, condition in _conditions(tool):
        argument = condition.get("parameter_name")
        if isinstance(argument, str) and argument and argument not in known:
            message = f"The condition takes its value from '{argument}', which is not a parameter of '{about}'."
            close = difflib.get_close_matches(argument, known, 1)
            hint = f"Did you mean '{close[0]}'?" if close else "Add it to the parameters, or give a `value`."
            rewriting.refuse(CODE, f"{pointer}{place}/parameter_name", message, hint, about)


def words_of(asked: Mapping[str, Any], pointer: str) -> dict[str, str]:
    """Where in the file each name that the SQL holds is written, the first time."""
    places: dict[str, str] = {}
    for place, condition in _conditions(asked):
        places.setdefault(str(condition.get("field")), f"{pointer}{place}/field")
        places.setdefault(str(condition.get("parameter_name")), f"{pointer}{place}/parameter_name")
    for name in ("return_fields", "order_by"):
        items = asked.get(name)
        for index, item in enumerate(items if isinstance(items, list) else ()):
            if isinstance(item, Mapping):
                places.setdefault(str(item.get("field")), f"{pointer}/{name}/{index}/field")
    return places


def _conditions(tool: Mapping[str, Any]) -> Iterable[tuple[str, Mapping[str, Any]]]:
    for form in ("filter_groups", "having"):
        groups = tool.get(form)
        for at, group in enumerate(groups if isinstance(groups, list) else ()):
            conditions = group.get("conditions") if isinstance(group, Mapping) else None
            for index, condition in enumerate(conditions if isinstance(conditions, list) else ()):
                if isinstance(condition, Mapping):
                    yield f"/{form}/{at}/conditions/{index}", condition


def _meant(tool: Mapping[str, Any], place: str) -> str:
    """A hint for a word that other query languages use for the same."""
    found: Any = tool
    for part in place.split("/")[1:]:
        found = found[int(part)] if isinstance(found, list) else found.get(part) if isinstance(found, Mapping) else None
    known = MEANT.get(found.lower()) if isinstance(found, str) else None
    return f"Did you mean '{known}'?" if known else ""


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []
