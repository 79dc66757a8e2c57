"""Whether values of one JSON Schema fit another: what an edge between two typed ports needs to hold."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from .model import Json

Schema = Mapping[str, Json]
OPAQUE: Final = ("$ref", "allOf", "not", "if")  # keywords that we do not reason about: such a schema counts as open
ALL_TYPES: Final = frozenset({"string", "number", "integer", "boolean", "array", "object"})


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why values of a source schema may not fit a target. `certain`: none of them fits; else some do not."""

    reason: str
    certain: bool
    path: str = ""

    def __str__(self) -> str:
        return f"at '{self.path}' {self.reason}" if self.path else self.reason


def misfit(source: Schema, target: Schema) -> Misfit | None:
    """Why a value that `source` describes may not fit `target`; None where it fits, or where either says too little.

    null is not looked at: it never travels on an edge.
    """
    if not source or not target or any(word in schema for word in OPAQUE for schema in (source, target)):
        return None
    branches = _branches(source)
    if branches is not None:
        return _some(misfit(branch, target) for branch in branches)
    branches = _branches(target)
    if branches is not None:
        found = [misfit(source, branch) for branch in branches]
        return None if None in found else min(filter(None, found), key=lambda misfit: misfit.certain, default=None)
    given, taken = _types(source), _types(target)
    if given is None or taken is None:
        return _enum_misfit(source, target)
    fitting = {name for name in given if name in taken or (name == "integer" and "number" in taken)}
    narrowed = "number" in given and "integer" in taken
    if not fitting and not narrowed:
        return Misfit(f"gives {_named(given)}, where {_named(taken)} is expected", certain=True)
    if fitting != given:
        return Misfit(f"may give {_named(given - fitting)}, where {_named(taken)} is expected", certain=False)
    return _enum_misfit(source, target) or _format_misfit(source, target) or _inner_misfit(source, target, given)


def _branches(schema: Schema) -> list[Schema] | None:
    for word in ("anyOf", "oneOf"):
        if word in schema:
            return [branch for branch in schema[word] if branch.get("type") != "null"]
    return None


def _some(found: Iterable[Misfit | None]) -> Misfit | None:
    """Of the ways a value may come, the one that does not fit; certain only if all do not."""
    ways = list(found)
    misfits = [way for way in ways if way is not None]
    if not misfits:
        return None
    certain = len(misfits) == len(ways) and all(way.certain for way in misfits)
    return Misfit(misfits[0].reason, certain, misfits[0].path)


def _types(schema: Schema) -> frozenset[str] | None:
    """The JSON types of a schema without null; None: any."""
    found = schema.get("type")
    if found is None:
        if "properties" in schema:
            return frozenset({"object"})
        return frozenset({"array"}) if "items" in schema else None
    return frozenset({found} if isinstance(found, str) else found) & ALL_TYPES or None


def _named(types: Iterable[str]) -> str:
    return " or ".join(sorted(types))


def _enum_misfit(source: Schema, target: Schema) -> Misfit | None:
    allowed, given = _values(target), _values(source)
    if allowed is None or given is None:
        return None
    others = [value for value in given if value not in allowed]
    if not others:
        return None
    return Misfit(f"may give {others[0]}, which is not one of {', '.join(allowed)}", certain=len(others) == len(given))


def _values(schema: Schema) -> list[str] | None:
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    return None if values is None else [json.dumps(value) for value in values if value is not None]


def _format_misfit(source: Schema, target: Schema) -> Misfit | None:
    given, taken = source.get("format"), target.get("format")
    if given is None or taken is None or given == taken:
        return None
    return Misfit(f"gives text of format {given}, where {taken} is expected", certain=False)


def _inner_misfit(source: Schema, target: Schema, given: frozenset[str]) -> Misfit | None:
    if given == {"array"}:
        inner = misfit(source.get("items") or {}, target.get("items") or {})
        # A list may be empty, so its items alone never make it certain that none fits.
        return None if inner is None else Misfit(inner.reason, False, f"[]{inner.path}")
    return _object_misfit(source, target) if given == {"object"} else None


def _object_misfit(source: Schema, target: Schema) -> Misfit | None:
    given: Mapping[str, Schema] = source.get("properties") or {}
    taken: Mapping[str, Schema] = target.get("properties") or {}
    closed = source.get("additionalProperties") is False
    promised = set(source.get("required") or ())
    for name in target.get("required") or ():
        if closed and name not in given:
            return Misfit(f"never gives the property '{name}', which is required", certain=True)
    if target.get("additionalProperties") is False and taken:
        for name in given:
            if name not in taken:
                return Misfit(f"gives the property '{name}', which is not taken", certain=name in promised)
    for name, schema in taken.items():
        inner = misfit(given.get(name, {}), schema)
        if inner is not None:
            certain = inner.certain and name in promised
            return Misfit(inner.reason, certain, f".{name}{inner.path}")
    return None
