"""The formats of files, one line each, and how a path tells its own."""

from __future__ import annotations

from typing import Final

from ...graphs.errors import Code, JackfieldError
from .base import FileConfiguration, FileFormat
from .csv import CSV
from .duckdb import DUCKDB
from .json import JSON, JSON_LINES
from .parquet import PARQUET
from .sqlite import SQLITE

FORMATS: Final[tuple[FileFormat, ...]] = (CSV, JSON, JSON_LINES, PARQUET, SQLITE, DUCKDB)


def format_of(config: FileConfiguration) -> FileFormat:
    """The format that is configured, else the one whose suffix the path has. Raises CONFIG_INVALID."""
    path = config.path.lower().removesuffix(".gz")
    for known in FORMATS:
        if config.format == known.name or (config.format is None and path.endswith(known.suffixes)):
            return known
    raise JackfieldError(
        Code.CONFIG_INVALID,
        f"The suffix of '{config.path}' names no known format.",
        f"Add 'format': one of {', '.join(known.name for known in FORMATS)}.",
        {"path": config.path},
    )
