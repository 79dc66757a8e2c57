"""Answers in pages: a page at a time, and a cursor that goes on in exactly the rows that were found.

When an answer does not fit its first page, all its rows are kept in one Arrow file; the cursor names that file and a
row. Pages end at the `max_rows` of the tool, the file does not. A cursor is good for the principal and the tool that it
was given for, until the file's time is over.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread

from ..graphs.errors import Code, JackfieldError
from ..graphs.model import EMPTY
from ..nodes.table import Table
from .first_call import digests, require_same
from .json_rows import json_rows, json_value
from .json_text import column_texts, row_texts
from .page_cursors import NAME, cursor_at, read_cursor
from .pages import Kept, Page, Shape, Whole

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Kept", "Page", "ResultStore", "Shape", "Whole", "json_rows", "json_value"]

FACTS: Final = b"jackfield"  # the key of our facts in the Arrow file's own metadata
SUFFIX: Final = ".arrow"
DRAFT: Final = ".draft"
NO_END: Final = 2**62
SHARE: Final = 4  # of the store's bytes, what rows that no page shows may take: one answer must not push out all others


@dataclass(frozen=True, slots=True)
class _Facts:
    """What is known of an answer beside its rows."""

    total_rows: int | None
    end: str | None  # why there are rows after the last page, if there are
    max_bytes: int
    max_rows: int = NO_END
    found: int = 0
    given: Mapping[str, str] = field(default_factory=dict)  # digests of the arguments of the call
    salt: str = ""
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
        self,
        table: Table,
        *,
        size: int,
        shape: Shape,
        principal: str,
        tool: str,
        capped: bool = False,
        arguments: Mapping[str, Any] = EMPTY,
    ) -> Page:
        """The first page of `table`, whose rows are kept if there are more. `capped`: a source stopped early."""
        if not table.is_stream and (table.num_rows or 0) <= size:
            return self._first(table, size, shape, principal, tool, capped, arguments)
        return await anyio.to_thread.run_sync(self._first, table, size, shape, principal, tool, capped, arguments)

    async def page(
        self, cursor: str, *, size: int, principal: str, tool: str, arguments: Mapping[str, Any] = EMPTY
    ) -> Page:
        """The page that `cursor` names.

        Raises VALIDATION_INVALID_PARAMS for what is no cursor, and for arguments that its first call did not have;
        RESULT_EXPIRED when its rows are gone, or when it is not this caller's or this tool's.
        """
        return await anyio.to_thread.run_sync(self._page, cursor, size, principal, tool, arguments)

    async def whole(self, name: str, *, principal: str) -> Whole:
        """All rows that are kept under `name`. Raises RESULT_EXPIRED when they are gone, or not this caller's."""
        return await anyio.to_thread.run_sync(self._whole, name, principal)

    def _whole(self, name: str, principal: str) -> Whole:
        if not NAME.fullmatch(name):
            raise _expired()
        rows, facts = self._kept(name)
        if facts is None or facts.owner != _owner(principal, facts.tool) or facts.expires < time.time():
            raise _expired()
        end = "result_cap" if rows.num_rows < facts.found else "source_cap" if facts.total_rows is None else None
        return Whole(rows, facts.tool, end, facts.total_rows, facts.expires)

    def _first(
        self,
        table: Table,
        size: int,
        shape: Shape,
        principal: str,
        tool: str,
        capped: bool,
        arguments: Mapping[str, Any],
    ) -> Page:
        if table.columns is not None and len(table.columns[0]) <= min(size, shape.max_rows):
            texts = _within(column_texts(table.schema.names, table.columns), shape.max_bytes)
            if len(texts) == table.num_rows:
                return Page(
                    table, capped, None if capped else len(texts), "source_cap" if capped else None, None, texts
                )
        rows = table.arrow()
        found = rows.num_rows
        end = "result_cap" if found > shape.max_rows else "source_cap" if capped else None
        facts = _Facts(None if capped else found, end, shape.max_bytes, shape.max_rows, found)
        texts = _fitting(rows.slice(0, shape.max_rows), 0, size, shape.max_bytes)
        if len(texts) >= found:
            return _cut(rows, 0, texts, size, facts, None)
        salt = secrets.token_hex(16)
        known: dict[str, Any] = {"owner": _owner(principal, tool), "tool": tool, "expires": time.time() + self.ttl_s}
        facts = replace(facts, given=digests(arguments, salt), salt=salt, **known)
        return _cut(rows, 0, texts, size, facts, self._keep_most(rows, facts))

    def _page(self, cursor: str, size: int, principal: str, tool: str, arguments: Mapping[str, Any]) -> Page:
        name, offset = read_cursor(cursor)
        rows, facts = self._kept(name)
        if facts is None or facts.owner != _owner(principal, tool) or facts.expires < time.time():
            raise _expired()
        require_same(arguments, facts.given, facts.salt)
        paged = rows.slice(0, facts.max_rows)
        if offset >= paged.num_rows:
            raise _expired()
        texts = _fitting(paged, offset, size, facts.max_bytes)
        return _cut(rows, offset, texts, size, facts, Kept(name, rows.num_rows, facts.found))

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

    def _keep_most(self, rows: pa.Table, facts: _Facts) -> Kept:
        """Keep all rows, or the first where all are too many; in any case those that pages show."""
        size, room = rows.nbytes, self.max_bytes // SHARE
        fitting = facts.found if size <= room else facts.found * room // size
        paged = min(facts.found, facts.max_rows)
        kept = rows.slice(0, max(fitting, paged))
        try:
            name = self._keep(kept, facts)
        except OSError:  # a full disk
            if kept.num_rows == paged:
                raise
            kept = rows.slice(0, paged)
            name = self._keep(kept, facts)
        return Kept(name, kept.num_rows, facts.found)

    def _keep(self, rows: pa.Table, facts: _Facts) -> str:
        """Write the rows whole or not at all, and give the name to find them by."""
        import pyarrow as pa

        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._make_room(rows.nbytes)
        name = secrets.token_urlsafe(16)
        rows = rows.replace_schema_metadata({**(rows.schema.metadata or {}), FACTS: json.dumps(asdict(facts)).encode()})
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


def _cut(rows: pa.Table, offset: int, texts: tuple[str, ...], size: int, facts: _Facts, kept: Kept | None) -> Page:
    length = len(texts)
    end = offset + length
    page = Table.whole(rows.slice(offset, length))
    if end < min(rows.num_rows, facts.max_rows):
        assert kept is not None
        reason = "page_size" if length >= size else "token_budget"
        return Page(page, True, facts.total_rows, reason, cursor_at(kept.name, end), texts, kept)
    more = kept if end < rows.num_rows else None
    return Page(page, facts.end is not None, facts.total_rows, facts.end, None, texts, more)


def _owner(principal: str, tool: str) -> str:
    return hashlib.sha256(f"{len(principal)}:{principal}{tool}".encode()).hexdigest()


def _expired() -> JackfieldError:
    return JackfieldError(
        Code.RESULT_EXPIRED,
        "The rows of this result are no longer kept.",
        "Call the tool again, and go on from its new cursor.",
    )
