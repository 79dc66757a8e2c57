"""Whether a call that goes on at a cursor is the one that found the rows: by digests of arguments, not by values."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from ..graphs.errors import Code, JackfieldError


def digests(arguments: Mapping[str, Any], salt: str) -> dict[str, str]:
    """One for each argument that was given; null counts as not given."""
    return {name: _digest(value, salt) for name, value in arguments.items() if value is not None}


def require_same(arguments: Mapping[str, Any], first: Mapping[str, str], salt: str) -> None:
    """Raises VALIDATION_INVALID_PARAMS for an argument that the first call did not have so. None need be repeated."""
    for name, digest in digests(arguments, salt).items():
        if first.get(name) != digest:
            raise JackfieldError(
                Code.VALIDATION_INVALID_PARAMS,
                f"The cursor goes on in rows that were found with another '{name}', or without one.",
                "Give the cursor alone to go on in those rows, or leave the cursor out to ask anew.",
                {"parameter": name},
            )


def _digest(value: Any, salt: str) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.blake2b(text.encode(), key=salt.encode()[:64], digest_size=16).hexdigest()
