"""The text and values that each database gets for an SQL text with `:name` parameters and the arguments of a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final
from uuid import UUID

from ...graphs.errors import Code, JackfieldError
from .parameters import Bound, InList, Span, argument, bound, is_list

MYSQL_NO_LIMIT: Final = "18446744073709551615"  # MySQL has no LIMIT NULL; its manual gives this number for "all"


def for_duckdb(sql: str, arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """`sql` with `$name`, and the values by name; in `IN (:names)` a list gives one parameter an item.

    Raises QUERY_INVALID for a name that `arguments` does not have.
    """
    query = bound(sql)
    given = {name: argument(name, arguments) for name in query.names}
    if not any(is_list(value) for value in given.values()) or not query.lists:
        return query.sql, given
    values: dict[str, Any] = {}

    def whole(span: Span, value: Any) -> str:
        values[span.name] = list(value) if is_list(value) else value
        return f"${span.name}"

    def item(span: Span, number: int, value: Any) -> str:
        name = f"{span.name}_{number}"
        while name in given:
            name += "_"
        values[name] = value
        return f"${name}"

    return _rendered(query, given, whole, item, lambda group: _in(group, "SELECT NULL WHERE false")), values


def for_postgres(sql: str, arguments: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """`sql` with `$1::type`, and the values in order. A value of a type that the driver misreads goes as text.

    An absent argument is written NULL, which fits a column of any type as `$1::text` would not.
    """
    query = bound(sql, "postgres")
    given = {name: argument(name, arguments) for name in query.names}
    if not any(is_list(value) for value in given.values()):
        kinds_and_values = {name: (None, None) if v is None else _for_postgres(v) for name, v in given.items()}
        text, names = _of_scalars(sql, tuple(kind for kind, _ in kinds_and_values.values()))
        return text, [kinds_and_values[name][1] for name in names]
    values: list[Any] = []

    def one(value: Any) -> str:
        if value is None:
            return "NULL"
        kind, sent = _for_postgres(value)
        values.append(sent)
        return f"${len(values)}::{kind}"

    def whole(span: Span, value: Any) -> str:
        if not is_list(value):
            return one(value)
        return f"ARRAY[{', '.join(one(each) for each in value)}]" if value else "'{}'"

    def empty(group: InList) -> str:
        return "<> ALL ('{}')" if group.negated else "= ANY ('{}')"

    return _rendered(query, given, whole, lambda span, number, value: one(value), empty), values


@lru_cache(maxsize=512)
def _of_scalars(sql: str, kinds: tuple[str | None, ...]) -> tuple[str, tuple[str, ...]]:
    """The text for values of these kinds, None where there is none, and whose value each `$1`, `$2` … is."""
    query = bound(sql, "postgres")
    order: list[str] = []

    def whole(span: Span, kind: Any) -> str:
        if kind is None:
            return "NULL"
        order.append(span.name)
        return f"${len(order)}::{kind}"

    given = dict(zip(query.names, kinds, strict=True))
    return _rendered(query, given, whole, lambda span, number, kind: whole(span, kind), lambda group: ""), tuple(order)


def for_mysql(sql: str, arguments: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """`sql` with `%s` and other percent signs doubled, and the values in order (to be passed even if empty)."""
    query = bound(sql, "mysql")
    given = {name: argument(name, arguments) for name in query.names}
    values: list[Any] = []

    def one(value: Any) -> str:
        values.append(_for_mysql(value))
        return "%s"

    def whole(span: Span, value: Any) -> str:
        if is_list(value):
            raise JackfieldError(
                Code.QUERY_INVALID,
                f"':{span.name}' is a list, and MySQL has no lists outside of IN.",
                f"Write `IN (:{span.name})`.",
                {"parameter": span.name},
            )
        if value is None and span.after in ("LIMIT", "OFFSET"):
            return MYSQL_NO_LIMIT if span.after == "LIMIT" else "0"
        return one(value)

    def empty(group: InList) -> str:
        return _in(group, "SELECT NULL FROM DUAL WHERE FALSE")

    return _rendered(query, given, whole, lambda span, number, value: one(value), empty, double_percent=True), values


Whole = Callable[[Span, Any], str]
Item = Callable[[Span, int, Any], str]


def _rendered(
    query: Bound,
    given: Mapping[str, Any],
    whole: Whole,
    item: Item,
    empty: Callable[[InList], str],
    *,
    double_percent: bool = False,
) -> str:
    """The text with each parameter replaced, in the order in which they stand.

    `empty` gives what stands for `[NOT] IN (…)` when there are no items.
    """
    parts: list[str] = []

    def copied(start: int, end: int) -> None:
        text = query.sql[start:end]
        parts.append(text.replace("%", "%%") if double_percent else text)

    def between(start: int, end: int) -> None:
        """The text from `start` to `end` with the parameters that stand in it."""
        for span in query.spans:
            if start <= span.start < end:
                copied(start, span.start)
                parts.append(whole(span, given[span.name]))
                start = span.end
        copied(start, end)

    end = 0
    for group in query.lists:
        spans = [entry for entry in group.items if isinstance(entry, Span)]
        if group.start < end or not any(is_list(given[span.name]) for span in spans):
            continue
        between(end, group.start)
        end = group.end
        if all(
            isinstance(entry, Span) and is_list(given[entry.name]) and not given[entry.name] for entry in group.items
        ):
            parts.append(empty(group))
            continue
        begin = len(parts)
        for entry in group.items:
            if not isinstance(entry, Span):
                parts.append(", ")
                between(*entry)
            elif is_list(given[entry.name]):
                parts += [f", {item(entry, number, value)}" for number, value in enumerate(given[entry.name])]
            else:
                parts.append(f", {whole(entry, given[entry.name])}")
        parts[begin:] = [_in(group, "".join(parts[begin:]).removeprefix(", "))]
    between(end, len(query.sql))
    return "".join(parts)


def _in(group: InList, content: str) -> str:
    return f"{'NOT IN' if group.negated else 'IN'} ({content})"


def _for_postgres(value: Any) -> tuple[str, Any]:
    """The cast and what is sent. Times with a zone go as text: the driver leaves the connection in a transaction."""
    if isinstance(value, bool):
        return "boolean", value
    if isinstance(value, int):
        return ("bigint", value) if -(2**63) <= value < 2**63 else ("text::numeric", str(value))
    if isinstance(value, float):
        return "double precision", value
    if isinstance(value, Decimal):
        return "text::numeric", str(value)
    if isinstance(value, datetime):
        return f"text::{'timestamp' if value.tzinfo is None else 'timestamptz'}", value.isoformat()
    if isinstance(value, date):
        return "text::date", value.isoformat()
    if isinstance(value, time):
        return "text::time", value.isoformat()
    if isinstance(value, UUID):
        return "text::uuid", str(value)
    if isinstance(value, bytes):
        return "bytea", value
    if isinstance(value, str):
        return "text", value
    import json

    return "text::jsonb", json.dumps(value, default=str)


def _for_mysql(value: Any) -> Any:
    """Times with a zone go as UTC, which is the zone of the session."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, dict):
        import json

        return json.dumps(value, default=str)
    return value
