"""Lists in pages. A cursor names the place and the list it was cut from; of a list that changed it is refused."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, PaginatedRequestParams

PAGE: Final = 100

Item = TypeVar("Item")


def page_of(
    items: Sequence[Item], params: PaginatedRequestParams | None, name: Callable[[Item], str], size: int = PAGE
) -> tuple[list[Item], str | None]:
    """The page that `params` asks for, and the cursor of the next. Raises MCPError for a foreign cursor."""
    cursor = None if params is None else params.cursor
    digest = hashlib.sha256("\n".join(map(name, items)).encode()).hexdigest()[:12] if len(items) > size else ""
    start = 0 if cursor is None else _place(cursor, digest)
    end = start + size
    following = None if end >= len(items) else base64.urlsafe_b64encode(f"{end}.{digest}".encode()).decode()
    return list(items[start:end]), following


def _place(cursor: str, digest: str) -> int:
    try:
        place, _, of = base64.urlsafe_b64decode(cursor.encode()).decode("ascii").partition(".")
        if of == digest and place.isdecimal() and digest:
            return int(place)
    except (binascii.Error, ValueError):
        pass
    raise MCPError(INVALID_PARAMS, "This cursor is of a list that has changed, or no cursor. List again without one.")
