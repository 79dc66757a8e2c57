"""Answers in pages: a page at a time, and a cursor that goes on in exactly the rows that were found.

When an answer does not fit its first page, its rows are kept in one Arrow file; the cursor names that file and a row.
It is good for the principal and the tool that it was given for, until the file's time is over.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import anyio.to_thread
import msgspec

from ..graphs.errors import Code, JackfieldError
from ..nodes.table import Table
from .json_rows import json_rows, json_value
from .json_text import column_texts, row_texts

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Page", "ResultStore", "Whole", "json_rows", "json_value", "name_of"]

FACTS: Final = b"jackfield"  # the key of our facts in the Arrow file's own metadata
SUFFIX: Final = ".arrow"
DRAFT: Final = ".draft"
NAME: Final = re.compile(r"[A-Za-z0-9_-]{22}")
CURSOR: Final = re.compile(rf"({NAME.pattern})\.(\d{{1,18}})")


class Shape(Protocol):
    """How an answer is cut: `max_rows` in all, `max_bytes` of JSON on a page."""

    @property
    def max_rows(self) -> int: ...

    @property
    def max_bytes(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Page:
    """`truncated`: there are rows after those of this page. Why is `truncation_reason`:

    `page_size` and `token_budget` (bytes) go on at `next_cursor`; `result_cap` (rows in all) and `source_cap` (a source
    stopped early) do not. `total_rows` is None when nobody counted them.
    """

    rows: Table
    truncated: bool
    total_rows: int | None
    truncation_reason: str | None
    next_cursor: str | None
    row_texts: tuple[str, ...] = field(repr=False, compare=False)  # the JSON of each row

    @property
    def table(self) -> pa.Table:
        return self.rows.arrow()

    @property
    def row_count(self) -> int:
        return len(self.row_texts)

    def as_json(self) -> dict[str, Any]:
        return {"rows": json_rows(self.table), "row_count": self.row_count, **self._facts()}

    def as_text(self) -> str:
        """`as_json`, encoded."""
        rest = msgspec.json.encode({"row_count": self.row_count, **self._facts()}).decode()
        return f'{{"rows":[{",".join(self.row_texts)}],{rest[1:]}'

    def _facts(self) -> dict[str, Any]:
        return {
            "truncated": self.truncated,
            "total_rows": self.total_rows,
            "truncation_reason": self.truncation_reason,
            "next_cursor": self.next_cursor,
        }


@dataclass(frozen=True, slots=True)
class Whole:
    """All that is kept of an answer. `end` says why it is not all that was found; None when it is."""

    table: pa.Table
    tool: str
    end: str | None
    total_rows: int | None
    expires: float


@dataclass(frozen=True, slots=True)
class _Facts:
    """What is known of an answer beside its rows."""

    total_rows: int | None
    end: str | None  # why the kept rows are not all, if they are not
    max_bytes: int
    owner: str = ""  # a digest of principal and tool
    tool: str = ""
    expires: float = 0.0


class ResultStore:
    """Keeps answers in `folder` (0700, files 0600) for `ttl_s` seconds, at most `max_bytes` of them in all."""

    def __init__(self, folder: Path, *, ttl_s: float = 900, max_bytes: int = 1 << 30) -> None:
        self.folder = Path(folder)
        self.ttl_s = ttl_s
        self.max_bytes = max_bytes

    async def first(
        self, table: Table, *, size: int, shape: Shape, principal: str, tool: str, capped: bool = False
    ) -> Page:
        """The first page of `table`, whose rows are kept if there are more. `capped`: a source stopped early."""
        if not table.is_stream and (table.num_rows or 0) <= size:
            return self._first(table, size, shape, principal, tool, capped)
        return await anyio.to_thread.run_sync(self._first, table, size, shape, principal, tool, capped)

    async def page(self, cursor: str, *, size: int, principal: str, tool: str) -> Page:
        """The page that `cursor` names.

        Raises VALIDATION_INVALID_PARAMS for what is no cursor; RESULT_EXPIRED when its rows are gone, or when it is not
        this caller's or this tool's.
        """
        return await anyio.to_thread.run_sync(self._page, cursor, size, principal, tool)

    async def whole(self, name: str, *, principal: str) -> Whole:
        """All rows that are kept under `name`. Raises RESULT_EXPIRED when they are gone, or not this caller's."""
        return await anyio.to_thread.run_sync(self._whole, name, principal)

    def _whole(self, name: str, principal: str) -> Whole:
        if not NAME.fullmatch(name):
            raise _expired()
        rows, facts = self._kept(name)
        if facts is None or facts.owner != _owner(principal, facts.tool) or facts.expires < time.time():
            raise _expired()
        return Whole(rows, facts.tool, facts.end, facts.total_rows, facts.expires)

    def _first(self, table: Table, size: int, shape: Shape, principal: str, tool: str, capped: bool) -> Page:
        if table.columns is not None and len(table.columns[0]) <= min(size, shape.max_rows):
            texts = _within(column_texts(table.schema.names, table.columns), shape.max_bytes)
            if len(texts) == table.num_rows:
                return Page(
                    table, capped, None if capped else len(texts), "source_cap" if capped else None, None, texts
                )
        rows = table.arrow()
        found = rows.num_rows
        end = "result_cap" if found > shape.max_rows else "source_cap" if capped else None
        kept = rows.slice(0, shape.max_rows)
        facts = _Facts(None if capped else found, end, shape.max_bytes)
        texts = _fitting(kept, 0, size, shape.max_bytes)
        if len(texts) >= kept.num_rows:
            return _cut(kept, 0, texts, size, facts, None)
        facts = _Facts(facts.total_rows, end, shape.max_bytes, _owner(principal, tool), tool, time.time() + self.ttl_s)
        name = self._keep(kept, facts)
        return _cut(kept, 0, texts, size, facts, name)

    def _page(self, cursor: str, size: int, principal: str, tool: str) -> Page:
        name, offset = _read_cursor(cursor)
        rows, facts = self._kept(name)
        if facts is None or facts.owner != _owner(principal, tool) or facts.expires < time.time():
            raise _expired()
        if offset >= rows.num_rows:
            raise _expired()
        return _cut(rows, offset, _fitting(rows, offset, size, facts.max_bytes), size, facts, name)

    def _kept(self, name: str) -> tuple[pa.Table, _Facts | None]:
        import pyarrow as pa

        try:
            with pa.memory_map(str(self.folder / f"{name}{SUFFIX}")) as file:
                rows = pa.ipc.open_file(file).read_all()
        except (OSError, pa.ArrowInvalid):
            raise _expired() from None
        metadata = dict(rows.schema.metadata or {})
        facts = json.loads(metadata.pop(FACTS, b"null"))
        return rows.replace_schema_metadata(metadata or None), None if facts is None else _Facts(**facts)

    def _keep(self, rows: pa.Table, facts: _Facts) -> str:
        """Write the rows whole or not at all, and give the name to find them by."""
        import pyarrow as pa

        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._make_room(rows.nbytes)
        name = secrets.token_urlsafe(16)
        known = {
            "total_rows": facts.total_rows,
            "end": facts.end,
            "max_bytes": facts.max_bytes,
            "owner": facts.owner,
            "tool": facts.tool,
            "expires": facts.expires,
        }
        rows = rows.replace_schema_metadata({**(rows.schema.metadata or {}), FACTS: json.dumps(known).encode()})
        draft = self.folder / f"{name}{DRAFT}"
        try:
            handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
                writer.write_table(rows)
            draft.replace(self.folder / f"{name}{SUFFIX}")
        finally:
            draft.unlink(missing_ok=True)
        return name

    def _make_room(self, size: int) -> None:
        """Remove what is over, then the oldest until `size` bytes fit."""
        held = sorted(self._held(), key=lambda entry: entry[1])
        total = sum(entry[2] for entry in held)
        for path, written, held_bytes in held:
            if written + self.ttl_s < time.time() or total + size > self.max_bytes:
                path.unlink(missing_ok=True)
                total -= held_bytes

    def _held(self) -> Iterator[tuple[Path, float, int]]:
        for path in self.folder.iterdir():
            if path.suffix in (SUFFIX, DRAFT):
                try:
                    status = path.stat()
                except FileNotFoundError:
                    continue
                yield path, status.st_mtime, status.st_size


def _fitting(rows: pa.Table, offset: int, size: int, max_bytes: int) -> tuple[str, ...]:
    """The JSON of the rows from `offset` that make a page: at most `size`, and no more than have room; but one."""
    return _within(row_texts(rows.slice(offset, max(1, size))), max_bytes)


def _within(texts: list[str], max_bytes: int) -> tuple[str, ...]:
    used = 0
    for number, text in enumerate(texts):
        used += (len(text) if text.isascii() else len(text.encode())) + 1
        if used > max_bytes and number:
            return tuple(texts[:number])
    return tuple(texts)


def _cut(rows: pa.Table, offset: int, texts: tuple[str, ...], size: int, facts: _Facts, name: str | None) -> Page:
    length = len(texts)
    end = offset + length
    page = rows.slice(offset, length)
    if end < rows.num_rows:
        assert name is not None
        reason = "page_size" if length >= size else "token_budget"
        return Page(Table.whole(page), True, facts.total_rows, reason, _cursor(name, end), texts)
    return Page(Table.whole(page), facts.end is not None, facts.total_rows, facts.end, None, texts)


def _cursor(name: str, offset: int) -> str:
    return base64.urlsafe_b64encode(f"{name}.{offset}".encode()).decode().rstrip("=")


def name_of(cursor: str) -> str:
    """The name under which the rows of `cursor` are kept. Raises VALIDATION_INVALID_PARAMS for what is no cursor."""
    return _read_cursor(cursor)[0]


def _read_cursor(cursor: str) -> tuple[str, int]:
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii")
        match = CURSOR.fullmatch(text)
    except ValueError:
        match = None
    if match is None:
        raise JackfieldError(
            Code.VALIDATION_INVALID_PARAMS,
            "This is no cursor.",
            "Give the `next_cursor` of an earlier answer as it was.",
            {"parameter": "cursor"},
        )
    return match[1], int(match[2])


def _owner(principal: str, tool: str) -> str:
    return hashlib.sha256(f"{len(principal)}:{principal}{tool}".encode()).hexdigest()


def _expired() -> JackfieldError:
    return JackfieldError(
        Code.RESULT_EXPIRED,
        "The rows of this result are no longer kept.",
        "Call the tool again, and go on from its new cursor.",
    )
