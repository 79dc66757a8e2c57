"""One condition of a WHERE → predicates that a source may apply, or the reason why it can not be asked to.

A condition is pushed only if a row that makes it NULL is dropped by it, and only if every database means the same by
it. So: comparisons of a column with a constant, `IN`, `BETWEEN`, and what a call's arguments make of
`:p IS NULL OR …`. Never `IS NULL`, and never `<` on text, whose order differs between databases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from sqlglot import exp

from ..scan import Operator, Predicate
from .parameters import is_list

COMPARISONS: Final[Mapping[type[exp.Expr], Operator]] = {
    exp.EQ: "=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
TURNED: Final[Mapping[Operator, Operator]] = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<=", "in": "in"}


@dataclass(frozen=True, slots=True)
class Unknown:
    """Not a constant, or one whose meaning we do not reproduce."""


@dataclass(frozen=True, slots=True)
class Kept:
    """DuckDB alone applies the condition, for this reason."""

    reason: str


UNKNOWN: Final = Unknown()
NEVER: Final = Kept("it is never true for these arguments")
Mine = Callable[[exp.Column], bool]
Arguments = Mapping[str, Any]


def pushed(condition: exp.Expr, mine: Mine, arguments: Arguments) -> tuple[Predicate, ...] | Kept:
    """The predicates that say all of `condition`; () when it is true for every row."""
    condition = condition.unnest()
    value = constant(condition, arguments)
    if not isinstance(value, Unknown):
        return () if value is True else NEVER
    if isinstance(condition, exp.And):
        left, right = pushed(condition.left, mine, arguments), pushed(condition.right, mine, arguments)
        if isinstance(left, Kept) or isinstance(right, Kept):
            return left if isinstance(left, Kept) else right
        return left + right
    if isinstance(condition, exp.Or):
        return _either(condition, mine, arguments)
    if type(condition) in COMPARISONS:
        return _comparison(condition, mine, arguments)
    if isinstance(condition, exp.Between) and not condition.args.get("symmetric"):
        low = _compared(condition.this, ">=", condition.args["low"], mine, arguments)
        high = _compared(condition.this, "<=", condition.args["high"], mine, arguments)
        if isinstance(low, Kept) or isinstance(high, Kept):
            return low if isinstance(low, Kept) else high
        return low + high
    if isinstance(condition, exp.In):
        return _membership(condition, mine, arguments)
    return Kept("only comparisons of a column with a value are pushed")


def _either(condition: exp.Or, mine: Mine, arguments: Arguments) -> tuple[Predicate, ...] | Kept:
    """`:p IS NULL OR …` by what `:p` is; `a = 1 OR a = 2` as `a IN (1, 2)`."""
    for one, other in ((condition.left, condition.right), (condition.right, condition.left)):
        value = constant(one, arguments)
        if not isinstance(value, Unknown):
            return () if value is True else pushed(other, mine, arguments)
    left, right = pushed(condition.left, mine, arguments), pushed(condition.right, mine, arguments)
    if left is NEVER or right is NEVER:
        return right if left is NEVER else left
    if isinstance(left, Kept) or isinstance(right, Kept):
        return left if isinstance(left, Kept) else right
    if not left or not right:
        return ()
    sides = (left[0], right[0])
    alike = {side.operator for side in sides} <= {"=", "in"} and len({side.column.lower() for side in sides}) == 1
    if alike and len(left) == len(right) == 1:
        values = [value for side in sides for value in (side.value if side.operator == "in" else (side.value,))]
        return (Predicate(sides[0].column, "in", tuple(values)),)
    return Kept("OR over different columns or ranges is not pushed")


def _comparison(condition: exp.Expr, mine: Mine, arguments: Arguments) -> tuple[Predicate, ...] | Kept:
    assert isinstance(condition, exp.Binary)
    operator = COMPARISONS[type(condition)]
    left, right = condition.left.unnest(), condition.right.unnest()
    if isinstance(right, exp.Column) and not isinstance(left, exp.Column):
        left, right, operator = right, left, TURNED[operator]
    return _compared(left, operator, right, mine, arguments)


def _compared(
    column: exp.Expr, operator: Operator, other: exp.Expr, mine: Mine, arguments: Arguments
) -> tuple[Predicate, ...] | Kept:
    if not isinstance(column, exp.Column) or not mine(column):
        return Kept("it is not about a plain column of this table alone")
    value = constant(other, arguments)
    if isinstance(value, Unknown):
        return Kept("it does not compare with a constant or a parameter")
    if value is None:
        return NEVER
    if is_list(value) or (isinstance(value, float) and math.isnan(value)):
        return Kept("databases disagree about such a value")
    if operator != "=" and isinstance(value, (str, bytes, bool)):
        return Kept("databases order text differently")
    return (Predicate(column.name, operator, value),)


def _membership(condition: exp.In, mine: Mine, arguments: Arguments) -> tuple[Predicate, ...] | Kept:
    column = condition.this.unnest()
    if not isinstance(column, exp.Column) or not mine(column):
        return Kept("it is not about a plain column of this table alone")
    items = condition.expressions
    if not items or condition.args.get("query") is not None or condition.args.get("unnest") is not None:
        return Kept("IN over a query is not pushed")
    values: list[Any] = []
    for item in items:
        value = constant(item, arguments)
        if isinstance(value, Unknown):
            return Kept("it does not compare with a constant or a parameter")
        values += value if is_list(value) else [value]
    known = tuple(value for value in values if value is not None)
    if any(isinstance(value, float) and math.isnan(value) for value in known):
        return Kept("databases disagree about such a value")
    return (Predicate(column.name, "in", known),) if known else NEVER


def constant(node: exp.Expr, arguments: Arguments) -> Any:
    """The value of an expression without columns, None for NULL, or UNKNOWN."""
    node = node.unnest()
    if isinstance(node, (exp.Parameter, exp.Placeholder)):
        return arguments.get(node.name, UNKNOWN)
    if isinstance(node, exp.Literal):
        return node.this if node.is_string else _number(node.this)
    if isinstance(node, exp.Boolean):
        return node.this
    if isinstance(node, exp.Null):
        return None
    if isinstance(node, exp.Neg):
        value = constant(node.this, arguments)
        return -value if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool) else UNKNOWN
    if isinstance(node, exp.Cast) and not isinstance(node, exp.TryCast):
        return _cast(constant(node.this, arguments), node.to)
    if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
        value = constant(node.this, arguments)
        return UNKNOWN if isinstance(value, Unknown) else value is None
    if isinstance(node, exp.Not):
        value = constant(node.this, arguments)
        return (not value) if isinstance(value, bool) else value if value is None else UNKNOWN
    if isinstance(node, (exp.EQ, exp.NEQ)):
        left, right = constant(node.left, arguments), constant(node.right, arguments)
        if left is None or right is None:
            return None if not isinstance(left, Unknown) and not isinstance(right, Unknown) else UNKNOWN
        if type(left) is type(right) and isinstance(left, (str, int)):
            return (left == right) is isinstance(node, exp.EQ)
    return UNKNOWN


def _number(text: str) -> Any:
    """An integer, or a decimal as DuckDB reads `1.10`; with an exponent it is a double."""
    try:
        if "e" in text.lower():
            return float(text)
        return int(text) if text.isdigit() else Decimal(text)
    except (ValueError, InvalidOperation):
        return UNKNOWN


def _cast(value: Any, to: exp.DataType) -> Any:
    """`DATE '2024-01-31'` and the like, where Python reads the text as the databases do."""
    if isinstance(value, Unknown) or value is None:
        return value
    try:
        if to.is_type("date") and isinstance(value, str):
            return date.fromisoformat(value) if len(value) == 10 else UNKNOWN
        if to.is_type("date") and isinstance(value, date) and not isinstance(value, datetime):
            return value
        if to.is_type("timestamp", "datetime"):
            found = datetime.fromisoformat(value) if isinstance(value, str) else value
            return found if isinstance(found, datetime) and found.tzinfo is None else UNKNOWN
        if to.is_type("timestamptz"):
            found = datetime.fromisoformat(value) if isinstance(value, str) else value
            return found if isinstance(found, datetime) and found.tzinfo is not None else UNKNOWN
        if to.is_type("int", "bigint") and isinstance(value, int) and not isinstance(value, bool):
            return value
        if to.is_type("varchar", "text") and isinstance(value, str) and not to.expressions:
            return value
    except ValueError:
        return UNKNOWN
    return UNKNOWN
