"""Arguments of a call as a command line gives them: `name=text` typed by the tool's schema, over `--args` JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...graphs.errors import Code, JackfieldError
from ...nodes.arguments import from_text


def read_arguments(schema: Mapping[str, Any], pairs: Sequence[str], document: str | None) -> dict[str, Any]:
    """One object. `document` is JSON, `@FILE` of JSON, or None. Raises VALIDATION_INVALID_PARAMS."""
    texts: dict[str, str] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            names = ", ".join(schema.get("properties") or ()) or "none"
            raise JackfieldError(
                Code.VALIDATION_INVALID_PARAMS,
                f"'{pair}' is not an argument.",
                f"Write arguments as name=value. This tool's are: {names}.",
            )
        texts[name] = text
    return {**_document(document), **from_text(schema, texts)}


def _document(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        value = json.loads(Path(text[1:]).read_text("utf-8") if text.startswith("@") else text)
    except (OSError, ValueError) as error:
        raise JackfieldError(
            Code.VALIDATION_INVALID_PARAMS,
            f"--args is not JSON: {error}.",
            'Write it such as \'{"day": "2026-03-01"}\'.',
        ) from None
    if not isinstance(value, dict):
        raise JackfieldError(
            Code.VALIDATION_INVALID_PARAMS, "--args is not a JSON object.", "Write an object of arguments by name."
        )
    return value
