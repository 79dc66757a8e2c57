"""Parquet files, alone or as a data set whose folders carry columns (`day=2024-01-01/`)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from ..scan import Scan
from ..table import Table
from . import duck
from .base import FileConfiguration, FileFormat
from .confine import Located
from .opened import Opened
from .reading import explained, stream, types_of

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

NO_VALUE: Final = "__HIVE_DEFAULT_PARTITION__"
FILE: Final = "_jackfield_file"


def read(files: Opened, config: FileConfiguration, scan: Scan) -> Table:
    connection = duck.scratch()
    try:
        source = source_of(connection, files)
        return stream(connection, source, types_of(connection, source), scan, files)
    except Exception as error:
        connection.close()
        raise explained(error, files) from None


def source_of(connection: duckdb.DuckDBPyConnection, files: Opened) -> str:
    """The files, joined with the values that their folders carry: DuckDB reads them by descriptors, without names."""
    paths, options = duck.literal(files.paths), "union_by_name=true, hive_partitioning=false"
    values = [partition(place) for place in files.places]
    plain = f"read_parquet({paths}, {options})"
    names = list(dict.fromkeys(name for value in values for name in value))
    if not names:
        return plain
    import pyarrow as pa

    inside = types_of(connection, plain)
    columns: dict[str, Any] = {FILE: pa.array(files.paths)}
    columns |= {name: typed([value.get(name) for value in values]) for name in names if name not in inside}
    connection.register("places", pa.table(columns))
    named = f"read_parquet({paths}, {options}, filename={duck.literal(FILE)})"
    return f"(SELECT * EXCLUDE ({FILE}) FROM {named} JOIN places USING ({FILE}))"


def partition(place: Located) -> dict[str, str | None]:
    pairs = [part.partition("=") for part in place.parts[:-1] if "=" in part]
    return {name: None if value == NO_VALUE else unquote(value) for name, _, value in pairs}


def typed(values: list[str | None]) -> pa.Array[Any]:
    """Folder names as whole numbers or dates, if all of them are."""
    import pyarrow as pa

    texts = pa.array(values, pa.string())
    present = [value for value in values if value is not None]
    for form, target in ((r"0|-?[1-9]\d{0,17}", pa.int64()), (r"\d{4}-\d\d-\d\d", pa.date32())):
        if present and all(re.fullmatch(form, value) for value in present):
            try:
                result: pa.Array[Any] = texts.cast(target)
                return result
            except pa.ArrowInvalid:
                break
    return texts


PARQUET = FileFormat("parquet", (".parquet", ".pq"), read)
