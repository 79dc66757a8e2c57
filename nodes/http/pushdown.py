"""`pushdown`: which predicates of a query a REST source can be asked for, by which query parameter.

    "pushdown": {"country": {"param": "country", "operators": ["=", "in"], "exact": true}}

`exact` says that the API returns just the rows that fit; otherwise it returns at least those, and SQL filters again.
Without that word of the author nothing is sent: a parameter that the API reads differently would lose rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import Field

from ..base import Configuration
from ..scan import Operator, Predicate, Scan
from .binding import text_of


class Pushdown(Configuration):
    """The query parameter that carries conditions on one column."""

    param: str = Field(description="Query parameter")
    operators: tuple[Operator, ...] = Field(("=",), description="Conditions that it can carry")
    exact: bool = Field(False, description="Just the rows that fit come back, not some more")
    list_style: Literal["repeat", "comma"] = Field("repeat", description="How several values of `in` are sent")


Declared = Mapping[str, Pushdown | tuple[Pushdown, ...]]
_WIDER: Final[Mapping[str, Operator]] = {">": ">=", "<": "<="}  # what may be asked in place of it: a superset


@dataclass(frozen=True, slots=True)
class Pushed:
    """`query` to send. `kept` says, predicate by predicate, why it was not sent. `limit` holds if all were exact."""

    query: tuple[tuple[str, str], ...] = ()
    predicates: tuple[Predicate, ...] = ()
    params: tuple[str, ...] = ()  # of each predicate
    exact: tuple[bool, ...] = ()  # whether just the rows that fit it come back
    kept: tuple[str, ...] = ()
    limit: int | None = None


def pushed(declared: Declared, scan: Scan, taken: Sequence[str] = ()) -> Pushed:
    """What of `scan` the source is asked for. `taken` are query parameters that the configuration itself sets."""
    by_name = {column.lower(): entry for column, entry in declared.items()}
    used = set(taken)
    query: list[tuple[str, str]] = []
    sent: list[Predicate] = []
    params: list[str] = []
    exact: list[bool] = []
    kept = list(scan.kept)
    for predicate in scan.predicates:
        entries = by_name.get(predicate.column.lower(), ())
        choice = _choice(entries if isinstance(entries, tuple) else (entries,), predicate, used)
        if isinstance(choice, str):
            kept.append(choice)
            continue
        used.add(choice.param)
        query += _pairs(choice, predicate)
        sent.append(predicate)
        params.append(choice.param)
        exact.append(choice.exact and bool(_same(predicate) & {*choice.operators}))
    limit = scan.limit if len(sent) == len(scan.predicates) and all(exact) else None
    return Pushed(tuple(query), tuple(sent), tuple(params), tuple(exact), tuple(kept), limit)


def _choice(entries: Sequence[Pushdown], predicate: Predicate, used: set[str]) -> Pushdown | str:
    """The entry that can carry the predicate, or in words why there is none."""
    subject = f"{predicate.column} {predicate.operator}"
    if not entries:
        return f"{subject} …: the source declares no pushdown for '{predicate.column}'"
    wanted = _same(predicate) | {_WIDER.get(predicate.operator, predicate.operator)}
    able = [entry for entry in entries if wanted & {*entry.operators} and _can_list(entry, predicate)]
    if not able:
        offered = ", ".join(dict.fromkeys(operator for entry in entries for operator in entry.operators))
        return f"{subject} …: the source takes only {offered} for '{predicate.column}'"
    free = [entry for entry in able if entry.param not in used]
    if not free:
        return f"{subject} …: parameter '{able[0].param}' is set already"
    return free[0]


def _same(predicate: Predicate) -> set[str]:
    """The operators that mean just what the predicate does: `in` of one value is `=`."""
    one = predicate.operator == "in" and isinstance(predicate.value, tuple) and len(predicate.value) == 1
    return {"in", "="} if one else {predicate.operator}


def _can_list(entry: Pushdown, predicate: Predicate) -> bool:
    """A comma inside a value would part it in two, and lose rows."""
    values = predicate.value if isinstance(predicate.value, tuple) else ()
    return entry.list_style == "repeat" or not any("," in text_of(value) for value in values)


def _pairs(entry: Pushdown, predicate: Predicate) -> list[tuple[str, str]]:
    values: Sequence[Any] = predicate.value if isinstance(predicate.value, tuple) else (predicate.value,)
    texts = [text_of(value) for value in values]
    if entry.list_style == "comma":
        return [(entry.param, ",".join(texts))]
    return [(entry.param, text) for text in texts]
