"""What `jackfield save` is given: a file or standard input, which format it has, and how messages call it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import msgspec

from ..graphs.errors import Code, JackfieldError
from ..graphs.model import Json
from .faults import redacted

FIRST_LINE: Final = 16_000_000
MARK: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Incoming:
    """`fields` are what a `file` source is told to read `path`; `name` is what a person calls it."""

    path: Path
    name: str
    fields: Mapping[str, Json]

    @property
    def is_empty(self) -> bool:
        with self.path.open("rb") as file:
            return not any(part.removeprefix(MARK).strip() for part in iter(lambda: file.read(1 << 20), b""))

    def scoped(self, idempotency_key: str) -> str:
        """The key for these very bytes, read in this way: other rows are never taken for them."""
        from ..engine.idempotency import scoped

        with self.path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return scoped(idempotency_key, "save", {"rows": digest, "read_as": self.fields})

    def named(self, error: JackfieldError) -> JackfieldError:
        """The error as it is said to who gave the rows: by the name they know, and with the line that is not JSON."""
        found = redacted(error, lambda text: text.replace(str(self.path), self.name))
        if error.code is not Code.SOURCE_BAD_REPLY or "line" in error.details:
            return found
        where = _broken_line(self.path, self.fields.get("format"))
        if where is None:
            return found
        line, why = where
        return replace(
            found,
            message=f"{self.name}, line {line}, is not JSON: {why}.",
            hint="Nothing was saved. Correct the line.",
            details={**found.details, "line": line},
        )


def incoming(path: Path, name: str, format: str | None) -> Incoming:
    """Rows in `path`, whose format is found by its name, else by how it begins.

    JSON may be a list of records, one record, or the result object of `call --format json`, whose rows are meant.
    """
    suffix = path.suffix.lower()
    chosen = format or {".json": "json"}.get(suffix) or (None if suffix else _begins(path))
    if chosen == "json":
        return Incoming(path, name, {"format": "json", **_records(path)})
    return Incoming(path, name, {"format": chosen} if chosen else {})


def _begins(path: Path) -> str:
    """Parquet begins with its mark, a JSON list with `[`; an object is JSON, or with more after its line JSON lines."""
    with path.open("rb") as file:
        head = file.readline(FIRST_LINE).removeprefix(MARK)
        while head and not head.strip():
            head = file.readline(FIRST_LINE)
        if head.startswith(b"PAR1"):
            return "parquet"
        if head.lstrip().startswith(b"["):
            return "json"
        if not head.lstrip().startswith(b"{"):
            return "csv"
        more = any(part.strip() for part in iter(lambda: file.read(1 << 20), b""))
    return "json" if _object(head) is None or not more else "jsonl"


def _object(text: bytes) -> dict[str, msgspec.Raw] | None:
    try:
        return msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, RecursionError):
        return None


def _records(path: Path) -> Mapping[str, Json]:
    """Where the records are within the document; nothing where it is a list, or no JSON."""
    text = path.read_bytes().removeprefix(MARK)
    if not text.lstrip().startswith(b"{"):
        return {}
    found = _object(text)
    if found is None:
        return {}
    rows = found.get("rows")
    is_result = rows is not None and "row_count" in found and bytes(rows).lstrip().startswith(b"[")
    return {"data_path": "rows" if is_result else "[@]"}


def _broken_line(path: Path, format: Json) -> tuple[int, str] | None:
    """The first line that is not JSON, and why; None where all are, or the file is of another format."""
    if format == "json":
        try:
            json.loads(path.read_bytes().removeprefix(MARK))
        except json.JSONDecodeError as error:
            return error.lineno, error.msg[:1].lower() + error.msg[1:]
        except ValueError:
            return None
    elif format == "jsonl" or path.suffix in (".jsonl", ".ndjson"):
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    found = json.loads(line.removeprefix(MARK)) if line.strip() else {}
                except json.JSONDecodeError as error:
                    return number, error.msg[:1].lower() + error.msg[1:]
                except ValueError:
                    return None
                if not isinstance(found, dict):
                    return number, "expected an object"
    return None
