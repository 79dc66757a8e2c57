"""Whether a value of an answer is the expected one, by the five match modes."""

from __future__ import annotations

import math
import re
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any, Final

from .literals import Written
from .suite import Match

DECORATION: Final = re.compile(r"[$€£,%\s]")


def matches(expected: Any, actual: Any, how: Match) -> bool:
    """`actual` against `expected` by `how.match` and its tolerances."""
    match how.match:
        case "exact":
            return _exact(expected, actual)
        case "numeric":
            return _numeric(expected, actual, how)
        case "scientific":
            return _scientific(expected, actual, how)
        case "normalized":
            return _normal(expected) == _normal(actual)
        case "regex":
            return actual is not None and re.search(str(expected), str(actual)) is not None


def _exact(expected: Any, actual: Any) -> bool:
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if isinstance(expected, list) and isinstance(actual, list):
        return len(expected) == len(actual) and all(map(_exact, expected, actual))
    if isinstance(expected, dict) and isinstance(actual, dict):
        return expected.keys() == actual.keys() and all(_exact(expected[key], actual[key]) for key in expected)
    return bool(expected == actual)


def number(value: Any) -> Decimal | None:
    """The number that a value is or shows, without currency signs, thousands separators and percent signs."""
    if isinstance(value, bool) or value is None:
        return None
    text = value.text if isinstance(value, Written) else str(value)
    try:
        found = Decimal(DECORATION.sub("", text).replace("_", ""))
    except InvalidOperation:
        return None
    return found if found.is_finite() else None


def _numeric(expected: Any, actual: Any, how: Match) -> bool:
    """Equal within the tolerances; without any, equal after rounding to the decimals that were written."""
    wanted, found = number(expected), number(actual)
    if wanted is None or found is None:
        return False
    if how.abs_tol is not None or how.rel_tol is not None:
        return _close(wanted, found, how)
    exponent = wanted.as_tuple().exponent
    decimals = -exponent if isinstance(exponent, int) and exponent < 0 else 0
    return found.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP) == wanted


def _scientific(expected: Any, actual: Any, how: Match) -> bool:
    """Equal in so many significant figures (3 if not said), or within the tolerances."""
    wanted, found = number(expected), number(actual)
    if wanted is None or found is None:
        return False
    if how.abs_tol is not None or how.rel_tol is not None:
        return _close(wanted, found, how)
    figures = how.sig_figs or 3
    return _rounded(wanted, figures) == _rounded(found, figures)


def _rounded(value: Decimal, figures: int) -> Decimal:
    if value.is_zero():
        return Decimal(0)
    return value.quantize(Decimal(1).scaleb(value.adjusted() - figures + 1), ROUND_HALF_UP)


def _close(wanted: Decimal, found: Decimal, how: Match) -> bool:
    return math.isclose(found, wanted, abs_tol=how.abs_tol or 0.0, rel_tol=how.rel_tol or 0.0)


def _normal(value: Any) -> str:
    """Without case, punctuation at the ends, and differences in white space."""
    return re.sub(r"\s+", " ", str(value)).strip(" \t\n.,;:!?\"'").casefold()
