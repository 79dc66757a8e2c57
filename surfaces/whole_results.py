"""The whole of an answer that was given in pages, and rows in the formats that programs take.

Agents read it as the resource `jackfield://results/{id}`, people under `/api/results/{id}`. It is kept for its
principal alone, until its time is over.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any, Final

import msgspec

from ..engine.json_rows import json_rows
from ..engine.results import Whole
from ..graphs.errors import Code, JackfieldError
from ..nodes.blocking import in_thread
from ..nodes.table import Table
from .answers import in_parts
from .cli.rows import STREAMED

if TYPE_CHECKING:
    from ..engine.results import Page
    from .app import App

FORMATS: Final[Mapping[str, str]] = {
    "json": "application/json",
    "csv": "text/csv",
    "ndjson": "application/x-ndjson",
    "arrow": "application/vnd.apache.arrow.stream",
    "parquet": "application/vnd.apache.parquet",
}
PART_ROWS: Final = 5_000
IN_MEMORY: Final = 8 << 20  # of what is being written; more goes to a temporary file
CHUNK: Final = 256 << 10


def result_id(page: Page | None) -> str | None:
    """The id under which all rows of an answer are kept; None when this page is all of them."""
    return None if page is None or page.kept is None else page.kept.name


async def read(app: App, id: str, principal: str) -> Whole:
    """What is kept under `id`. Raises RESULT_EXPIRED when it is gone, or was not given to `principal`."""
    return await app.results.whole(id, principal=principal)


def as_json(whole: Whole) -> dict[str, Any]:
    """The whole in the shape of a page. `truncated`: not even this is all that was found."""
    return {
        "rows": json_rows(whole.table),
        "row_count": whole.table.num_rows,
        "truncated": whole.end is not None,
        "total_rows": whole.total_rows,
        "truncation_reason": whole.end,
        "next_cursor": None,
    }


def cut_facts(whole: Whole) -> dict[str, Any]:
    """What formats that have rows alone cannot say of a whole that is not all that was found. Else empty."""
    if whole.end is None:
        return {}
    return {"row_count": whole.table.num_rows, "total_rows": whole.total_rows, "truncation_reason": whole.end}


async def encoded(whole: Whole, format: str) -> bytes:
    """The whole as the bytes of one of `FORMATS`. Raises VALIDATION_INVALID_PARAMS."""
    if format == "json":
        return await in_thread(lambda: msgspec.json.encode(as_json(whole)))
    file = await written(Table.whole(whole.table), format)
    with file:
        return await in_thread(file.read)


async def written(table: Table, format: str) -> IO[bytes]:
    """All rows in one of `FORMATS` but json, in a temporary file at its start, for the caller to close."""
    require_format(format)
    return await in_thread(lambda: _write(table, format))


def _write(table: Table, format: str) -> IO[bytes]:
    file: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 - its reader closes it
    try:
        with STREAMED[format](table.schema, file) as write:
            for part in in_parts(table, PART_ROWS):
                write(part.arrow())
    except BaseException:
        file.close()
        raise
    file.seek(0)
    return file


def chunks(file: IO[bytes]) -> Iterator[bytes]:
    """What is left of `file`, which is closed in the end."""
    with file:
        while chunk := file.read(CHUNK):
            yield chunk


def require_format(format: str) -> str:
    """`format`. Raises VALIDATION_INVALID_PARAMS when it is none of `FORMATS`."""
    if format not in FORMATS:
        raise JackfieldError(
            Code.VALIDATION_INVALID_PARAMS,
            f"There is no format '{format[:40]}'.",
            f"Rows are given as {', '.join(FORMATS)}.",
            {"parameter": "format", "available": list(FORMATS)},
        )
    return format


def accepted(accept: str) -> str:
    """The format that an Accept header asks for first; json where it asks for none of ours."""
    known = {media: name for name, media in FORMATS.items()}
    for part in accept.lower().split(","):
        media = part.partition(";")[0].strip()
        if media in known:
            return known[media]
    return "json"
