"""The cursor of a page, as its caller sees it: the name under which rows are kept, and the row that is next."""

from __future__ import annotations

import base64
import re
from typing import Final

from ..graphs.errors import Code, JackfieldError

NAME: Final = re.compile(r"[A-Za-z0-9_-]{22}")
CURSOR: Final = re.compile(rf"({NAME.pattern})\.(\d{{1,18}})")


def cursor_at(name: str, offset: int) -> str:
    return base64.urlsafe_b64encode(f"{name}.{offset}".encode()).decode().rstrip("=")


def read_cursor(cursor: str) -> tuple[str, int]:
    """Name and row. Raises VALIDATION_INVALID_PARAMS for what is no cursor."""
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
