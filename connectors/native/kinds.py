"""The kinds of source and save, by the `type` that a connector file gives: their fields come from the declarations."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, Final

from pydantic import BaseModel

from ...graphs.findings import Severity
from ...nodes import registry
from ...nodes.saves import SAVES
from .validate import Report, fitting

FILE_FORMATS: Final = ("csv", "json", "jsonl", "parquet", "sqlite", "duckdb")  # short for type file with the format
SOURCE_TYPES: Final = ("rest", "postgres", "mysql", "file", "rows")


def source_models() -> dict[str, type[BaseModel]]:
    kinds = registry()
    return {name: kinds[name].configuration for name in SOURCE_TYPES if name in kinds}


def save_models() -> dict[str, type[BaseModel]]:
    return {kind.name: kind.configuration for kind in SAVES}


def save_modes() -> dict[str, tuple[str, ...]]:
    return {kind.name: kind.modes for kind in SAVES}


def request_model() -> type[BaseModel]:
    return registry()["request"].configuration


def source_configuration(
    name: str, configuration: Mapping[str, Any], pointer: str, report: Report
) -> dict[str, Any] | None:
    """The source node's configuration, or None when an error was reported."""
    return _of_kind(source_models(), name, configuration, pointer, report, "source")


def save_configuration(
    name: str, configuration: Mapping[str, Any], pointer: str, report: Report
) -> dict[str, Any] | None:
    """The fields of one of the connector's saves, or None when an error was reported."""
    return _of_kind(save_models(), name, configuration, pointer, report, "save")


def request_configuration(fields: Mapping[str, Any], pointer: str, report: Report) -> dict[str, Any] | None:
    """The fields of a tool's `request`, or None when an error was reported."""
    return fitting(request_model(), fields, pointer, report)


def _of_kind(
    models: Mapping[str, type[BaseModel]],
    name: str,
    configuration: Mapping[str, Any],
    pointer: str,
    report: Report,
    what: str,
) -> dict[str, Any] | None:
    model = models.get(name)
    if model is None:
        known = [*models, *FILE_FORMATS] if what == "source" else list(models)
        message = f"There is no {what} type '{name}'; expected one of {', '.join(known)}."
        report("INVALID_VALUE", Severity.ERROR, f"{pointer}/type", message, nearest(name, known))
        return None
    return fitting(model, configuration, pointer, report)


def nearest(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), 1)
    return f"Did you mean '{close[0]}'?" if close else ""
