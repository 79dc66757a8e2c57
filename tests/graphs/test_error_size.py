"""An error that leaves is never large, whatever a caller put into it, and a small one leaves as it is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jackfield.graphs.error_size import MOST
from jackfield.graphs.errors import Code, JackfieldError

DEEP: Any = "end"
for _ in range(2_000):
    DEEP = {"in": DEEP}


def error(message: str = "No.", hint: str = "", **details: Any) -> JackfieldError:
    return JackfieldError(Code.VALIDATION_INVALID_PARAMS, message, hint, details)


def sent(found: JackfieldError) -> int:
    """Bytes of it twice, as MCP sends it."""
    text = json.dumps(found.as_json(), ensure_ascii=False)
    return len(text.encode()) + len(json.dumps(text, ensure_ascii=False).encode())


@pytest.mark.parametrize("large", [
    error("x" * 1_000_000), error("x", "\n\"\\" * 100_000), error("ü" * 7_000), error("\x01" * 4_000),
    error(name="y" * 4_000_000), error(available=[f"name{number}" for number in range(100_000)]),
    error(problems=[{"code": "A", "message": "m" * 5_000, "hint": "h" * 5_000}] * 90_000),
    error(**{f"k{number}": "v" * 900 for number in range(90)}), error(**{"k" * 1_000_000: "1"}),
    error(nested=DEEP), error(number=10**6_000), error(lists=[[["x" * 300] * 50] * 50] * 50),
])  # fmt: skip
def test_a_large_error_leaves_cut(large: JackfieldError) -> None:
    assert sent(large) <= MOST + 200
    told = large.as_json()
    assert told["code"] == "VALIDATION_INVALID_PARAMS"
    assert told["details"]["cut"] is True
    assert large.bounded().as_json()["message"] == told["message"]


def test_a_long_text_says_how_long_it_was() -> None:
    assert error("x" * 50_000).as_json()["message"] == "x" * 300 + "… (50,000 characters)"


def test_what_is_small_leaves_as_it_is() -> None:
    found = error("m" * 900, "h" * 900, available=[f"name{number}" for number in range(200)], depth={"a": [1, None]})
    assert found.as_json() == {
        "code": "VALIDATION_INVALID_PARAMS",
        "message": found.message,
        "hint": found.hint,
        "details": found.details,
    }


def test_of_a_long_list_as_much_is_told_as_fits() -> None:
    told = error(available=[f"name{number}" for number in range(100_000)]).as_json()["details"]
    assert told == {"available": [f"name{number}" for number in range(50)], "cut": True}
