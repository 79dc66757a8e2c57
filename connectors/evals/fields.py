"""The fields that a file of cases may have. Any other is an error: an expectation that is not read always holds."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from typing import Any, Final

SUITE: Final = ("name", "suite", "id", "connector", "version", "description", "cases")
OLDER: Final = ("expected_rows", "match_mode", "expect_error")
PROMPT: Final = ("id", "description", "prompt", "expect_tool", "expect_args")
CASE: Final = ("id", "description", "tool_id", "skill_id", "tool", "arguments", "params", "expect", *OLDER)
EXPECTATIONS: Final = (
    *("no_error", "min_rows", "max_rows", "fields_present", "all_rows_match", "field_assertions"),
    *("error_code", "max_token_estimate", "rows", "rows_mode"),
)
ASSERTION: Final = ("field", "equals", "value", "match", "row", "abs_tol", "rel_tol", "sig_figs")


def unknown(value: Mapping[str, Any], known: Collection[str]) -> tuple[str, str] | None:
    """(the first field that is not one of `known`, a hint), or None."""
    for name in value:
        if name not in known:
            close = difflib.get_close_matches(str(name), [field for field in known if field not in value], 1)
            return str(name), f"Did you mean '{close[0]}'?" if close else f"Known fields: {', '.join(known)}."
    return None
