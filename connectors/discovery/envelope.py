"""Where the records are in a JSON reply: the `data_path` that leads to them, found by looking at the document."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
DEEPEST: Final = 5
HEADERS: Final = ("columns", "headers", "fields", "header")
USUAL: Final = (
    *("data", "items", "results", "records", "rows", "entries", "value", "values", "hits", "list", "content", "docs"),
    *("objects", "documents", "features", "elements", "nodes", "resources", "collection", "members", "response"),
)


@dataclass(frozen=True, slots=True)
class Envelope:
    """`path` is the data_path, "" for the reply itself; `others` are further lists of objects in the reply."""

    path: str
    count: int
    others: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    is_single: bool = False


def envelope_of(document: Any, name: str = "") -> Envelope | None:
    """Where the list of records is; None where there is nothing that could be one. `name` is what they are called."""
    if isinstance(document, list):
        return _of_list(document, "")
    if not isinstance(document, Mapping):
        return None
    columnar = _columnar(document)
    if columnar is not None:
        return columnar
    lists = list(_lists(document, ()))
    if lists:
        best = max(lists, key=lambda found: _rank(found[0], found[1], name))
        path = path_of(best[0])
        found = _of_list(best[1], path)
        if found is not None:
            others = tuple(path_of(keys) for keys, items in lists if items is not best[1] and items)
            return Envelope(found.path, found.count, others, found.warnings)
    keyed = _keyed(document)
    if keyed is not None:
        keys, records = keyed
        inner = f"values({path_of(keys) or '@'})"
        warning = "The records stand under keys that are no part of them; the keys are lost."
        return Envelope(inner, len(records), (), (warning,))
    return Envelope("[@]", 1, (), (), is_single=True) if document else None


def path_of(keys: tuple[str, ...]) -> str:
    """Keys as a JMESPath: plain names as they are, others quoted."""
    return ".".join(key if PLAIN.fullmatch(key) else json.dumps(key) for key in keys)


def _columnar(document: Mapping[str, Any]) -> Envelope | None:
    """Rows as lists, with the names of their columns beside them: the path makes objects of them."""
    for names_key in HEADERS:
        names = document.get(names_key)
        if not isinstance(names, list) or not names:
            continue
        named = [name.get("name") if isinstance(name, Mapping) else name for name in names]
        if not all(isinstance(name, str) and name for name in named) or len(set(named)) != len(named):
            continue
        for key, rows in document.items():
            if key != names_key and isinstance(rows, list) and _are_rows(rows, len(named)):
                fields = ", ".join(f"{json.dumps(name)}: [{place}]" for place, name in enumerate(named))
                return Envelope(f"{path_of((str(key),))}[*].{{{fields}}}", len(rows))
    return None


def _are_rows(rows: list[Any], width: int) -> bool:
    return bool(rows) and all(isinstance(row, list) and len(row) == width for row in rows)


def _of_list(items: list[Any], path: str) -> Envelope | None:
    if all(isinstance(item, Mapping) for item in items):
        warnings = () if items else ("The reply holds no records, so nothing is known of their columns.",)
        return Envelope(path, len(items), (), warnings)
    if any(isinstance(item, Mapping | list) for item in items):
        return None
    return Envelope(f"{path}[].{{value: @}}", len(items), (), ("The records are plain values; each is `value`.",))


def _lists(value: Mapping[str, Any], keys: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], list[Any]]]:
    """(keys, list) of each list outside of the records: of objects, or an empty one."""
    for key, held in value.items():
        here = (*keys, str(key))
        if isinstance(held, list) and all(isinstance(item, Mapping) for item in held):
            yield here, held
        elif isinstance(held, Mapping) and len(here) < DEEPEST:
            yield from _lists(held, here)


def _rank(keys: tuple[str, ...], items: list[Any], name: str) -> tuple[int, ...]:
    last = keys[-1].lower()
    named = last == name.lower() or (bool(name) and last.rstrip("s") == name.lower().rstrip("s"))
    usual = last in USUAL or any(key.lower() in USUAL for key in keys)
    messages = last in ("errors", "warnings", "links", "messages", "included", "columns", "fields")
    return (not messages, bool(items), named or usual, -len(keys), len(items))


def _keyed(document: Mapping[str, Any]) -> tuple[tuple[str, ...], Mapping[str, Any]] | None:
    """An object of objects that are alike: records under their ids."""
    candidates = [((), document), *(((str(key),), held) for key, held in document.items() if isinstance(held, Mapping))]
    for keys, held in candidates:
        records = list(held.values())
        if len(records) < 2 or not all(isinstance(record, Mapping) and record for record in records):
            continue
        fields = [frozenset(record) for record in records]
        if all(len(one & fields[0]) * 2 > len(one | fields[0]) for one in fields):
            return keys, held
    return None
