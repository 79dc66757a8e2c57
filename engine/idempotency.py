"""An idempotency key together with what is called and its arguments: the same write again, or another one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from ..nodes.table import Table

LENGTH: Final = 16
LONGEST: Final = 200  # of the key that a caller gave; a database's column for it is not endless


def scoped(key: str, called: str, arguments: Mapping[str, Any]) -> str:
    """`key` of one call: equal for equal `called` and arguments. Absent arguments are as good as null; none: no key.

    A table among the arguments counts by its columns only: its rows may come once.
    """
    if not key:
        return ""
    given = {name: value for name, value in arguments.items() if value is not None}
    document = json.dumps([key, called, given], sort_keys=True, ensure_ascii=False, default=_plain)
    return f"{key[:LONGEST]}~{hashlib.sha256(document.encode()).hexdigest()[:LENGTH]}"


def _plain(value: Any) -> Any:
    return value.schema.names if isinstance(value, Table) else str(value)
