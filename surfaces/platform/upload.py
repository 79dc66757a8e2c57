"""`elliot_upload_file`: a file into the workspace's `uploads/`, where connectors may read it."""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections.abc import Mapping
from typing import Any, Final

from ...graphs.errors import Code, JackfieldError
from ...graphs.model import Json
from ..app import UPLOADS
from . import files
from .bench import Bench
from .tool import PlatformTool, answer_of, hints, object_of

LONGEST: Final = 120  # characters of a name; file systems take 255 bytes
UNSAFE: Final = re.compile(r"[/\\:*?\"<>|\[\]{}$%~`!;&]")
# Names that Windows keeps to itself: a workspace may be copied there.
RESERVED: Final = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)


async def run(bench: Bench, arguments: Mapping[str, Any], principal: str) -> dict[str, Json]:
    name = safe_name(arguments["file_name"])
    content = decoded(arguments["content"], arguments["encoding"])
    most = bench.app.settings["upload.max_bytes"]
    if len(content) > most:
        raise JackfieldError(
            Code.BUDGET_EXCEEDED,
            f"'{name}' has {len(content):,} bytes, and an upload may have {most:,}.",
            "Upload a part of it, or ask the operator to raise `upload.max_bytes`.",
            {"bytes": len(content), "limit_bytes": most},
        )
    place = bench.workspace / UPLOADS / name
    before = files.read(bench.workspace, place)
    if before != content:
        files.write(bench.workspace, place, content, replace=bool(arguments["replace"]))
    return {
        "managed_path": f"{UPLOADS}/{name}",
        "bytes": len(content),
        "sha256": files.digest(content),
        "replaced": before is not None and before != content,
    }


def safe_name(name: str) -> str:
    """`name`, which is that of one file and nothing else. Raises VALIDATION_INVALID_PARAMS saying what is wrong."""
    fault = ""
    if not name.strip() or len(name) > LONGEST or len(name.encode("utf-8", "surrogatepass")) > 200:
        fault = f"is empty, or longer than {LONGEST} characters"
    elif any(unicodedata.category(character)[0] in "CZ" and character != " " for character in name):
        fault = "has a control character, an invisible one or an unusual space"
    elif "/" in name or "\\" in name or name in (".", ".."):
        fault = "is a path, and uploads have no folders"
    elif name.startswith((".", "-", " ")) or name.endswith((".", " ")):
        fault = "begins or ends with a dot, a dash or a space"
    elif UNSAFE.search(name) or RESERVED.match(name):
        fault = "has a character or a word that file systems or patterns take for something else"
    if not fault:
        return unicodedata.normalize("NFC", name)
    raise JackfieldError(
        Code.VALIDATION_INVALID_PARAMS,
        f"The file name {name[:60]!r} {fault}.",
        "Give a plain name with letters, digits, '_', '-' and one suffix, such as orders.csv.",
        {"parameter": "file_name"},
    )


def decoded(content: str, encoding: str) -> bytes:
    """The bytes of `content`. Raises VALIDATION_INVALID_PARAMS."""
    try:
        if encoding == "base64":
            return base64.b64decode("".join(content.split()), validate=True)
        return content.encode("utf-8")
    except (binascii.Error, ValueError):
        raise JackfieldError(
            Code.VALIDATION_INVALID_PARAMS,
            f"Parameter 'content' is not {encoding}.",
            "Send text with encoding 'utf-8', and bytes as base64 with encoding 'base64'.",
            {"parameter": "content"},
        ) from None


UPLOAD: Final = PlatformTool(
    name="elliot_upload_file",
    title="Upload a file",
    description=(
        "Write a data file (CSV, JSON, JSON lines, Parquet, SQLite, DuckDB) into the workspace's uploads, and return "
        "the path by which elliot_discover_source reads it. A file of that name is only replaced on request."
    ),
    input_schema=object_of(
        {
            "file_name": {
                "type": "string",
                "description": "Plain name with its suffix, such as orders.csv",
            },
            "content": {
                "type": "string",
                "description": "The file's text, or its bytes as base64",
                "x-sensitive": True,
            },
            "encoding": {
                "type": "string",
                "enum": ["utf-8", "base64"],
                "default": "utf-8",
                "description": "How content is written",
            },
            "replace": {"type": "boolean", "default": False, "description": "Replace a file that has this name"},
        },
        ("file_name", "content"),
    ),
    output_schema=answer_of(
        {
            "managed_path": {"type": "string", "description": "The path to discover, below the workspace"},
            "bytes": {"type": "integer"},
            "sha256": {"type": "string"},
            "replaced": {"type": "boolean"},
        }
    ),
    annotations=hints(destroys=True),
    run=run,
)
