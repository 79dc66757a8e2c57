"""CSV files. Only the delimiter and the types are found out; a row that does not fit the header is an error."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

from ...graphs.errors import Code, JackfieldError
from ..scan import Scan
from ..table import Table
from . import csvtypes, duck
from .base import FileConfiguration, FileFormat
from .encodings import is_utf8, recoded
from .names import distinct, quoted
from .opened import Opened
from .reading import explained, stream

if TYPE_CHECKING:
    pass

DELIMITERS: Final = ",;\t|"
MAX_COLUMNS: Final = 4_000
WIDE: Final = 500  # columns from which on reading takes more memory
LINE_BYTES: Final = 2_000_000
SMALL_BYTES: Final = 64_000_000  # files up to this size are looked at whole to find their types


def read(files: Opened, config: FileConfiguration, scan: Scan) -> Table:
    with ExitStack() as stack:
        paths = files.paths if is_utf8(config.encoding) else stack.enter_context(recoded(files, config.encoding))
        is_gzipped = files.gzipped and paths is files.paths
        heads = [head(path, text, config, is_gzipped) for path, text in zip(paths, files.texts, strict=True)]
        copies = stack.pop_all()
    try:
        return read_headed(files, paths, heads, config, scan, copies.close)
    except BaseException:
        copies.close()
        raise


Head = tuple[str, tuple[str, ...]]  # delimiter, columns; no columns for an empty file


def read_headed(
    files: Opened,
    paths: Sequence[str],
    heads: Sequence[Head],
    config: FileConfiguration,
    scan: Scan,
    close_copies: Callable[[], None],
) -> Table:
    import pyarrow as pa

    columns = list(dict.fromkeys(column for _, names in heads for column in names))
    is_gzipped = files.gzipped and paths is files.paths
    if not columns:
        close_copies()
        files.close()
        return Table.whole(pa.table({}))
    connection = duck.scratch("1GB" if len(columns) > WIDE else "256MB")
    try:
        groups: dict[Head, list[str]] = {}
        for path, found in zip(paths, heads, strict=True):
            if found[1]:
                groups.setdefault(found, []).append(path)
        texts = " UNION ALL BY NAME ".join(
            f"SELECT * FROM {texts_of(group, found, config, is_gzipped)}" for found, group in groups.items()
        )
        is_small = files.size < SMALL_BYTES
        undeclared = [column for column in columns if column not in (config.declared or {})]
        types = dict.fromkeys(columns, "VARCHAR")
        if undeclared:
            types |= csvtypes.found(connection, texts, undeclared, all_rows=is_small)
        if is_small:
            listed = ", ".join(f"CAST({quoted(name)} AS {types[name]}) AS {quoted(name)}" for name in columns)
        else:
            listed = ", ".join(csvtypes.guarded(name, types[name]) for name in columns)
        return stream(connection, f"(SELECT {listed} FROM ({texts}))", types, scan, files, close_copies)
    except Exception as error:
        connection.close()
        raise explained(error, files) from None


def texts_of(paths: Sequence[str], found: Head, config: FileConfiguration, is_gzipped: bool) -> str:
    """The `read_csv(…)` that reads files of one header, each value as text."""
    delimiter, columns = found
    fixed = {
        "auto_detect": False,
        "delim": delimiter,
        "quote": '"',
        "escape": '"',
        "header": config.header,
        "nullstr": config.null_values,
        "compression": "gzip" if is_gzipped else "none",
        "max_line_size": LINE_BYTES,
    }
    listed = ", ".join(f"{duck.literal(column)}: 'VARCHAR'" for column in columns)
    return f"read_csv({duck.literal(tuple(paths))}{duck.options(fixed)}, columns={{{listed}}})"


def head(path: str, text: str, config: FileConfiguration, is_gzipped: bool) -> Head:
    """The delimiter that the first line holds most of, and its columns.

    Raises BUDGET_EXCEEDED for a line that is too long or too wide, SOURCE_BAD_REPLY for one that is not text.
    """
    with open(path, "rb") as raw:
        begin = gzip.GzipFile(fileobj=raw).read(LINE_BYTES) if is_gzipped else raw.read(LINE_BYTES)
    decoded = begin.decode("utf-8-sig", errors="replace")
    line = decoded.partition("\n")[0]
    delimiter = config.delimiter or max(DELIMITERS, key=line.count)
    width = line.count(delimiter) + 1
    if width > MAX_COLUMNS or (len(line) >= csv.field_size_limit() > 0 and len(begin) == LINE_BYTES == len(line)):
        raise too_wide(text, width)
    try:
        names = next(csv.reader(io.StringIO(decoded, newline=""), delimiter=delimiter), [])
    except csv.Error:
        raise too_wide(text, width) from None
    if any("\x00" in name for name in names):
        raise JackfieldError(
            Code.SOURCE_BAD_REPLY,
            f"'{text}', line 1: the header holds NUL bytes; this is no text file in UTF-8.",
            "Give the source its 'encoding', utf-16 for instance, or its right 'format'.",
            {"path": text, "line": 1},
        )
    if not config.header:
        names = ["" for _ in names]
    return delimiter, tuple(distinct([name or f"column{place}" for place, name in enumerate(names)]))


def too_wide(text: str, width: int) -> JackfieldError:
    return JackfieldError(
        Code.BUDGET_EXCEEDED,
        f"'{text}', line 1: {width} columns, or a line of more than {LINE_BYTES:,} bytes; {MAX_COLUMNS:,} columns are"
        " the most.",
        "Check the delimiter and the quotes of the file.",
        {"path": text, "line": 1},
    )


CSV = FileFormat("csv", (".csv", ".tsv", ".txt"), read, is_untyped=True)
