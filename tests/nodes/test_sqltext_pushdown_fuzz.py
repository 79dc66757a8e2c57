"""Whatever a planner that keeps the rules pushes, the answer stays; a planner that breaks one is caught."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import duckdb
import pushdown_queries
import pytest
from pushdown_queries import Honouring, cases, difference
from sqlglot import exp

from jackfield.nodes.scan import Predicate, Scan
from jackfield.nodes.sqltext import predicates, pushdown
from jackfield.nodes.sqltext.predicates import Kept

FULL = pushdown_queries.tables()


@pytest.fixture(autouse=True)
def _plans_are_made_anew() -> Iterator[None]:
    pushdown.prepare.cache_clear()
    yield
    pushdown.prepare.cache_clear()


def test_pushing_never_changes_an_answer() -> None:
    source = Honouring(FULL)
    differences = [found for case in cases(700) if (found := difference(case, FULL, source))]
    assert not differences, "\n\n".join(differences[:3])
    assert source.seen["predicates"] > 400
    assert source.seen["projections"] > 400
    assert source.seen["limits"] > 20


def limit_beside_a_condition_that_was_not_pushed(monkeypatch: pytest.MonkeyPatch) -> None:
    planned = pushdown.Need.scan

    def scan(need: pushdown.Need, arguments: dict[str, Any]) -> Scan:
        limit = None if need.limit is None else predicates.constant(need.limit, arguments)
        return replace(planned(need, arguments), limit=limit)

    monkeypatch.setattr(pushdown.Need, "scan", scan)


def is_null_pushed_under_an_outer_join(monkeypatch: pytest.MonkeyPatch) -> None:
    planned = predicates.pushed

    def pushed(condition: exp.Expr, mine: Callable[[exp.Column], bool], arguments: Any) -> Any:
        if isinstance(condition, exp.Is) and isinstance(condition.this, exp.Column) and mine(condition.this):
            return (Predicate(condition.this.name, "=", None),)
        return planned(condition, mine, arguments)

    monkeypatch.setattr(pushdown, "pushed", pushed)


def a_table_read_twice_taken_for_its_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    planned = pushdown._need
    monkeypatch.setattr(pushdown, "_need", lambda name, uses, parsed: planned(name, uses[:1], parsed))


def text_compared_by_order(monkeypatch: pytest.MonkeyPatch) -> None:
    planned = predicates._compared

    def compared(column: exp.Expr, operator: Any, other: exp.Expr, mine: Any, arguments: Any) -> Any:
        found = planned(column, operator, other, mine, arguments)
        value = predicates.constant(other, arguments)
        if isinstance(found, Kept) and isinstance(value, str):
            return (Predicate(column.name, operator, value),)
        return found

    monkeypatch.setattr(predicates, "_compared", compared)


def conditions_pushed_where_rows_match_by_order(monkeypatch: pytest.MonkeyPatch) -> None:
    planned = pushdown._need

    def need(name: str, uses: list[exp.Table], parsed: exp.Expr) -> pushdown.Need:
        found = planned(name, uses, parsed)
        select = uses[0].parent_select if len(uses) == 1 else None
        where = select.args.get("where") if select is not None else None
        if not isinstance(where, exp.Where) or any("pivot" in why for why in found.kept):
            return found
        return replace(found, alias=uses[0].alias_or_name.lower(), conditions=tuple(pushdown._conjuncts(where.this)))

    monkeypatch.setattr(pushdown, "_need", need)


def a_limit_below_what_decides_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        pushdown, "_limit", lambda select, parsed, single: (getattr(select.args.get("limit"), "expression", None), "")
    )


def columns_counted_in_the_select_list_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    planned = pushdown._columns

    def columns(table: exp.Table, select: exp.Select, single: bool) -> tuple[tuple[str, ...] | None, str]:
        bare = select.copy()
        for part in ("where", "joins"):
            bare.set(part, None)
        return planned(table, bare, single)

    monkeypatch.setattr(pushdown, "_columns", columns)


MUTANTS = (
    limit_beside_a_condition_that_was_not_pushed,
    is_null_pushed_under_an_outer_join,
    a_table_read_twice_taken_for_its_first_use,
    text_compared_by_order,
    conditions_pushed_where_rows_match_by_order,
    a_limit_below_what_decides_the_rows,
    columns_counted_in_the_select_list_alone,
)


@pytest.mark.parametrize("broken", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_planner_that_breaks_a_rule_is_caught(
    broken: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch)
    source = Honouring(FULL)
    assert any(_differs(case, source) for case in cases(700))


def _differs(case: pushdown_queries.Case, source: Honouring) -> bool:
    try:
        return bool(difference(case, FULL, source))
    except duckdb.BinderException:  # a column that was not asked for is missed by the query itself
        return True
