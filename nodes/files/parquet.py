"""Parquet files, alone or as a data set whose folders carry columns (`day=2024-01-01/`)."""

from __future__ import annotations

from ..scan import Scan
from ..table import Table
from . import duck
from .base import FileConfiguration, FileFormat
from .opened import Opened
from .reading import explained, stream, types_of


def read(files: Opened, config: FileConfiguration, scan: Scan) -> Table:
    connection = duck.scratch()
    try:
        source = f"read_parquet({duck.literal(files.paths)}, union_by_name=true, hive_partitioning=false)"
        return stream(connection, source, types_of(connection, source), scan, files)
    except Exception as error:
        connection.close()
        raise explained(error, files) from None


PARQUET = FileFormat("parquet", (".parquet", ".pq"), read)
