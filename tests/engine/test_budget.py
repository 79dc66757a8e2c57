"""Budgets of a run."""

import pytest

from jackfield.engine.budget import CountedBudget
from jackfield.graphs.errors import Code, JackfieldError


def test_what_is_within_the_budget_is_counted() -> None:
    budget = CountedBudget(10, None)
    budget.spend_rows(4)
    budget.spend_rows(6)
    budget.spend_bytes(1 << 40)
    assert (budget.rows, budget.bytes) == (10, 1 << 40)


def test_what_goes_over_is_refused_with_what_was_used_and_the_limit() -> None:
    budget = CountedBudget(None, 1000)
    budget.spend_bytes(900)
    with pytest.raises(JackfieldError) as caught:
        budget.spend_bytes(101)
    assert caught.value.code is Code.BUDGET_EXCEEDED
    assert caught.value.message == "The call read 1,001 bytes; its budget is 1,000."
    assert caught.value.details == {"unit": "bytes", "used": 1001, "limit": 1000}
