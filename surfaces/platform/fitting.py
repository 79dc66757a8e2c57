"""Answers of discovery cut to what an agent can take in: what is left out is told, and can be asked for by name."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from ...connectors.discovery.found import Found

MOST_BYTES: Final = 20_000
MOST_COLUMNS: Final = 60
BRIEF: Final = ("name", "type", "key", "references", "sensitive")
SHORTER: Final = ("name", "type")


def one(found: Found) -> dict[str, Any]:
    """A source as it is told by itself."""
    told = found.as_json()
    columns = told["columns"]
    if len(columns) > MOST_COLUMNS:
        told["columns"] = columns[:MOST_COLUMNS]
        told["warnings"].append(
            f"{len(columns) - MOST_COLUMNS} of {len(columns)} columns are not shown; drafted tools give the first."
        )
    return told


def many(found: Sequence[Found]) -> list[dict[str, Any]]:
    """Sources as they are told together: all of each where that fits, else their columns in ever fewer words."""
    told = [one(each) for each in found]
    for fields in (BRIEF, SHORTER):
        if _size(told) <= MOST_BYTES:
            return told
        for each in told:
            each["columns"] = [{name: column[name] for name in fields if name in column} for column in each["columns"]]
    for each in told:
        if _size(told) > MOST_BYTES and each["columns"]:
            count = len(each["columns"])
            each["columns"] = []
            each["warnings"].append(f"Its {count} columns are not shown here: discover it alone to see them.")
    return told


def _size(told: Sequence[Any]) -> int:
    return len(json.dumps(told, ensure_ascii=False).encode("utf-8", "replace"))
