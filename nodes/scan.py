"""What a query needs of one source: columns, predicates and a limit. A source honours as much as it safely can.

The rows a source returns may be a superset: the whole SQL runs again over them. So a source drops what it can not
push, and then it drops `limit` too, which holds only while every predicate is applied exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

Operator = Literal["=", "<", "<=", ">", ">=", "in"]
OPERATORS: Final[tuple[Operator, ...]] = ("=", "<", "<=", ">", ">=", "in")


@dataclass(frozen=True, slots=True)
class Predicate:
    """`column operator value`, null-rejecting; `value` is a Python value, a tuple of them for `in`."""

    column: str
    operator: Operator
    value: Any

    def as_json(self) -> dict[str, Any]:
        value = [_json(each) for each in self.value] if isinstance(self.value, tuple) else _json(self.value)
        return {"column": self.column, "operator": self.operator, "value": value}


def _json(value: Any) -> Any:
    return value if isinstance(value, (str, int, float)) else str(value)


@dataclass(frozen=True, slots=True)
class Scan:
    """`columns` None: all of them. `kept` says in words why something was not pushed, for `jackfield plan`."""

    columns: tuple[str, ...] | None = None
    predicates: tuple[Predicate, ...] = ()
    limit: int | None = None
    kept: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {
            "columns": None if self.columns is None else list(self.columns),
            "predicates": [predicate.as_json() for predicate in self.predicates],
            "limit": self.limit,
            "kept": list(self.kept),
        }


EVERYTHING: Final = Scan()
