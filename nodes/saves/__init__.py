"""Every kind of save, one line each; what it needs to write is imported when it writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from . import csv, delta, duckdb, http, iceberg, json, jsonl, mysql, parquet, postgres, sqlite
from .base import AnySaveType

SAVES: Final[tuple[AnySaveType, ...]] = (
    parquet.SAVE,
    csv.SAVE,
    json.SAVE,
    jsonl.SAVE,
    duckdb.SAVE,
    sqlite.SAVE,
    postgres.SAVE,
    mysql.SAVE,
    delta.SAVE,
    iceberg.SAVE,
    http.SAVE,
)


def by_name() -> Mapping[str, AnySaveType]:
    """The saves by the name that a save's `type` gives."""
    return {save.name: save for save in SAVES}
