"""Arguments of a call as a command line gives them: `name=text` typed by the tool's schema, over `--args` JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from ...graphs.errors import Code, JackfieldError
from ...nodes.arguments import coerce, from_text

EXAMPLES: Final = {"integer": "3", "number": "2.5", "boolean": "true", "array": "a,b", "object": "'{\"key\": 1}'"}


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
        if name in texts:
            raise JackfieldError(
                Code.VALIDATION_INVALID_PARAMS,
                f"'{name}' is given twice, and has one value.",
                f"A list is written with commas, such as {name}=a,b.",
                {"parameter": name},
            )
        texts[name] = text
    read = from_text(schema, texts)
    for name, value in read.items():
        _check(name, (schema.get("properties") or {}).get(name), value)
    return {**_document(document), **read}


def _check(name: str, expected: Mapping[str, Any] | None, value: Any) -> None:
    """Refuse text that is no number here, where it can be said how a command line writes one."""
    if not isinstance(value, str) or expected is None:
        return
    try:
        coerce({"properties": {name: expected}}, {name: value})
    except JackfieldError as error:
        if "JSON" not in error.hint:
            raise
        raise replace(
            error, hint=f"Write it such as {name}={EXAMPLES.get(str(expected.get('type')), 'VALUE')}."
        ) from None


def _document(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        value = json.loads(Path(text[1:]).read_text("utf-8") if text.startswith("@") else text)
    except OSError as error:
        raise JackfieldError(
            Code.VALIDATION_INVALID_PARAMS,
            f"--args names the file '{text[1:]}', which cannot be read: {error.strerror}.",
            "Name a file of JSON after the @.",
        ) from None
    except ValueError as error:
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
