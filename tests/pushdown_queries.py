"""Random queries, and what it means that pushing parts of them to a source did not change an answer.

Shared by the tests of the planner (over a simulated source) and those of each database (over a real one).
"""

from __future__ import annotations

import datetime as dt
import operator
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa

from jackfield.nodes.scan import Scan
from jackfield.nodes.sqltext.bind import for_duckdb
from jackfield.nodes.sqltext.pushdown import prepare

COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda value, asked: value in asked,
}
NAMES = ("orders", "customers")
STATUSES = ("paid", "Paid", "PAID", "päid", "paid ", "new", "returned", "", None)
REGIONS = ("eu", "us", "EU", None)
FIRST_DAY = dt.date(2024, 1, 1)
FIRST_MINUTE = dt.datetime.combine(FIRST_DAY, dt.time())  # without a zone, as the column is


@dataclass(frozen=True)
class Case:
    """A query over NAMES. `limit`: the query ends in `LIMIT n` and leaves open which rows those are."""

    sql: str
    arguments: Mapping[str, Any]
    limit: int | None = None


def tables(seed: int = 7, rows: int = 400) -> dict[str, pa.Table]:
    """The rows of both tables. Text differs by case, accent and trailing blank; every column but `id` has NULLs."""
    some = random.Random(seed)

    def maybe(value: Any) -> Any:
        return None if some.random() < 0.12 else value

    orders = [
        {
            "id": number,
            "customer_id": maybe(some.randrange(40)),
            "status": some.choice(STATUSES),
            "amount": maybe(Decimal(some.randrange(-500, 20_000)) / 100),
            "weight": maybe(some.randrange(0, 400) / 8),
            "is_gift": maybe(some.random() < 0.4),
            "shipped_on": maybe(FIRST_DAY + dt.timedelta(some.randrange(700))),
            "created_at": maybe(FIRST_MINUTE + dt.timedelta(minutes=some.randrange(500_000))),
        }
        for number in range(rows)
    ]
    customers = [
        {"id": number, "region": some.choice(REGIONS), "vip": maybe(some.random() < 0.3), "score": maybe(number % 7)}
        for number in range(50)
    ]
    return {
        "orders": pa.Table.from_pylist(
            orders,
            schema=_schema(
                id=pa.int64(),
                customer_id=pa.int64(),
                status=pa.string(),
                amount=pa.decimal128(12, 2),
                weight=pa.float64(),
                is_gift=pa.bool_(),
                shipped_on=pa.date32(),
                created_at=pa.timestamp("us"),
            ),
        ),
        "customers": pa.Table.from_pylist(
            customers,
            schema=_schema(id=pa.int64(), region=pa.string(), vip=pa.bool_(), score=pa.int64()),
        ),
    }


def _schema(**kinds: pa.DataType) -> pa.Schema:
    return pa.schema(list(kinds.items()))


def cases(count: int, seed: int = 11) -> Iterator[Case]:
    """`count` queries: every shape in turn, with random conditions."""
    for number in range(count):
        some = random.Random(f"{seed}:{number}")
        yield SHAPES[number % len(SHAPES)](_Writer(some))


class _Writer:
    """Writes conditions, and remembers the arguments that they name."""

    def __init__(self, some: random.Random) -> None:
        self.some = some
        self.arguments: dict[str, Any] = {}

    def given(self, value: Any) -> str:
        name = f"p{len(self.arguments)}"
        self.arguments[name] = value
        return f":{name}"

    def case(self, sql: str, limit: int | None = None) -> Case:
        return Case(sql, dict(self.arguments), limit)

    def where(self, alias: str = "", most: int = 3, *further: str) -> str:
        conditions = [self.condition(alias) for _ in range(self.some.randrange(most + 1))] + list(further)
        self.some.shuffle(conditions)
        return f" where {' and '.join(conditions)}" if conditions else ""

    def condition(self, alias: str = "") -> str:
        """A condition on a row of orders."""
        a = f"{alias}." if alias else ""
        some = self.some
        optional = self.given(some.choice([None, some.randrange(45)])) if some.random() < 0.3 else ""
        day = FIRST_DAY + dt.timedelta(some.randrange(700))
        choices: list[Callable[[], str]] = [
            lambda: f"({optional} is null or {a}customer_id = {optional})" if optional else f"{a}customer_id = 3",
            lambda: f"{a}id {some.choice(['<', '<=', '>', '>=', '='])} {self.given(some.randrange(400))}",
            lambda: f"{self.given(some.randrange(400))} {some.choice(['<', '>='])} {a}id",
            lambda: f"{a}status = {self.given(some.choice(['paid', 'new', 'zzz', '']))}",
            lambda: f"{a}status in ('paid', 'returned', null)",
            lambda: f"{a}status in ({self.given(some.choice([['paid'], ['new', 'PAID', None], []]))})",
            lambda: f"{a}status not in ({self.given(some.choice([['paid'], ['new', 'PAID'], []]))})",
            lambda: f"{a}customer_id in ({self.given([1, 2, 3, 5, 8])}, 13)",
            lambda: f"{a}is_gift is null",
            lambda: f"{a}is_gift = {self.given(some.choice([True, False]))}",
            lambda: f"{a}is_gift",
            lambda: f"{a}status {some.choice(['>', '<='])} {self.given(some.choice(['m', 'Paid', 'paid']))}",
            lambda: f"not ({a}status = 'paid')",
            lambda: f"{a}status <> 'paid'",
            lambda: f"{a}shipped_on >= {self.given(day)}",
            lambda: f"{a}shipped_on between date '2024-03-01' and {self.given(day)}",
            lambda: f"{a}created_at < {self.given(FIRST_MINUTE + dt.timedelta(days=150))}",
            lambda: f"({a}customer_id = 3 or {a}customer_id in (4, 5))",
            lambda: f"({a}customer_id = 3 or {a}status = 'new')",
            lambda: f"{a}id between {some.randrange(200)} and {some.randrange(400)}",
            lambda: f"{a}amount > {self.given(Decimal(some.randrange(0, 15_000)) / 100)}",
            lambda: f"{a}amount = 12.5",
            lambda: f"{a}weight <= {self.given(some.randrange(0, 400) / 8)}",
            lambda: f"coalesce({a}customer_id, 7) = 7",
            lambda: f"{a}customer_id = {self.given(None)}",
            lambda: f"({self.given(some.choice([True, False]))} = true or {a}customer_id < 10)",
            lambda: f"{a}status like 'pa%'",
            lambda: f"{a}customer_id is distinct from 3",
        ]
        return some.choice(choices)()

    def of_customer(self, alias: str = "c") -> str:
        a = f"{alias}."
        return self.some.choice(
            [f"{a}region = 'eu'", f"{a}region is null", f"{a}vip = true", f"{a}id < 20", f"not {a}vip", f"{a}score = 3"]
        )


def _plain(w: _Writer) -> Case:
    chosen = w.some.choice(["*", "id, amount", "customer_id", "status as customer_id, id", "upper(status) as status"])
    return w.case(f"select {chosen} from orders{w.where()}")


def _limited(w: _Writer) -> Case:
    chosen = w.some.choice(["*", "id, amount", "id, customer_id, status"])
    limit = w.some.choice([1, 7, 50])
    text = str(limit) if w.some.random() < 0.5 else w.given(limit)
    return w.case(f"select {chosen} from orders{w.where('', 1)} limit {text}", limit)


def _ordered(w: _Writer) -> Case:
    offset = w.some.choice(["", " offset 5"])
    return w.case(f"select id, status from orders{w.where()} order by id desc limit 9{offset}")


def _cut_but_counted(w: _Writer) -> Case:
    chosen = w.some.choice(["count(*)", "sum(amount)", "max(id) over ()", "count(*) over ()"])
    return w.case(f"select {chosen} as n from orders{w.where()} limit 1")


def _distinct(w: _Writer) -> Case:
    return w.case(f"select distinct customer_id, status from orders{w.where()}")


def _unnested(w: _Writer) -> Case:
    return w.case(f"select unnest([id, id + 1][1:customer_id % 3]) as u from orders{w.where()} limit 12", 12)


def _grouped(w: _Writer) -> Case:
    having = w.some.choice(["", " having count(*) > 2"])
    return w.case(f"select status, count(*) as n, sum(amount) as s from orders{w.where()} group by all{having}")


def _left(w: _Writer) -> Case:
    where = w.where("o", 2, w.of_customer())
    return w.case(f"select o.id, o.amount, c.region from orders o left join customers c on c.id = o.customer_id{where}")


def _right(w: _Writer) -> Case:
    where = w.where("o", 2, w.of_customer())
    return w.case(f"select o.id, c.vip from orders o right join customers c on c.id = o.customer_id{where}")


def _full(w: _Writer) -> Case:
    where = w.where("o", 1, w.of_customer()) if w.some.random() < 0.7 else w.where("o", 2)
    return w.case(f"select o.id, c.id as cid from orders o full join customers c on c.id = o.customer_id{where}")


def _inner(w: _Writer) -> Case:
    where = w.where("o", 2, w.of_customer())
    joined = "join customers c on c.id = o.customer_id and o.id > 20"
    return w.case(f"select c.region, count(*) as n, sum(o.amount) as s from orders o {joined}{where} group by all")


def _comma(w: _Writer) -> Case:
    where = w.where("o", 2, "c.id = o.customer_id")
    return w.case(f"select region, status, o.id from orders o, customers c{where}")


def _using(w: _Writer) -> Case:
    where = w.where("o", 2, w.of_customer())
    return w.case(f"select id, o.amount, c.region from orders o join customers c using (id){where}")


def _natural(w: _Writer) -> Case:
    return w.case(f"select id, amount, region from orders natural join customers{w.where('orders', 2)}")


def _anti(w: _Writer) -> Case:
    inner = w.where("o", 2, "o.customer_id = c.id")
    return w.case(f"select c.id, c.region from customers c where not exists (select 1 from orders o{inner})")


def _member(w: _Writer) -> Case:
    word = w.some.choice(["in", "not in"])
    inner = w.where("", 2, "customer_id is not null")
    return w.case(f"select id from customers where id {word} (select customer_id from orders{inner})")


def _correlated(w: _Writer) -> Case:
    inner = w.where("", 1, "customer_id = c.id")
    return w.case(f"select c.id, (select count(*) from orders{inner}) as n from customers c where c.score = 3")


def _lateral(w: _Writer) -> Case:
    inner = w.where("o", 1, "o.customer_id = c.id")
    return w.case(f"select c.id, l.n from customers c, lateral (select count(*) as n from orders o{inner}) l")


def _with(w: _Writer) -> Case:
    return w.case(f"with t as (select * from orders{w.where()}) select status, count(*) as n from t group by 1")


def _with_twice(w: _Writer) -> Case:
    body = f"select id, customer_id from orders{w.where()}"
    return w.case(f"with t as ({body}) select count(*) as n from t join t as u using (customer_id) where t.id < 100")


def _hidden(w: _Writer) -> Case:
    """A WITH query that takes the name of the table that it reads."""
    return w.case(f"with orders as (select * from orders{w.where()}) select id from orders{w.where('', 1)}")


def _derived(w: _Writer) -> Case:
    return w.case(f"select t.id from (select id, status from orders{w.where()} limit 5000) t where t.status = 'paid'")


def _whole_row(w: _Writer) -> Case:
    return w.case(f"select o from orders o{w.where()}")


def _twice(w: _Writer) -> Case:
    where = w.where("o", 2, "o2.id > 300")
    return w.case(f"select count(*) as n from orders o join orders o2 on o.customer_id = o2.customer_id{where}")


def _union(w: _Writer) -> Case:
    both = w.some.choice(["union", "union all", "except", "intersect"])
    return w.case(f"select id from orders{w.where('', 2)} {both} select id from customers where score > 2")


def _union_twice(w: _Writer) -> Case:
    return w.case(f"select id from orders{w.where('', 2)} union all select customer_id from orders{w.where('', 2)}")


def _asof(w: _Writer) -> Case:
    where = w.where("o", 2, "c.id < 300")
    return w.case(
        f"select c.id, o.id as oid from customers c asof join orders o on c.id >= o.id and c.score > -1{where}"
    )


def _positional(w: _Writer) -> Case:
    return w.case(f"select o.id, c.id as cid from orders o positional join customers c{w.where('o', 2)}")


def _windowed(w: _Writer) -> Case:
    rank = "row_number() over (partition by customer_id order by id)"
    return w.case(f"select id, {rank} as r from orders{w.where()} qualify r <= 2")


def _pivoted(w: _Writer) -> Case:
    pivot = "pivot (count(*) for is_gift in (true, false) group by status)"
    return w.case(f"select * from orders {pivot} where status = 'paid' limit 3")


def _everything(w: _Writer) -> Case:
    return w.case(f"from orders{w.where()}")


SHAPES: tuple[Callable[[_Writer], Case], ...] = (
    _plain,
    _limited,
    _left,
    _twice,
    _limited,
    _asof,
    _ordered,
    _cut_but_counted,
    _distinct,
    _unnested,
    _grouped,
    _right,
    _full,
    _inner,
    _comma,
    _using,
    _natural,
    _anti,
    _member,
    _correlated,
    _lateral,
    _with,
    _with_twice,
    _hidden,
    _derived,
    _whole_row,
    _union,
    _union_twice,
    _positional,
    _windowed,
    _pivoted,
    _everything,
    _left,
)


def difference(case: Case, full: Mapping[str, pa.Table], pull: Callable[[str, Scan], pa.Table]) -> str:
    """What the answer over `pull`'s rows and the answer over all rows do not agree in; "" when they agree."""
    scans = prepare(case.sql, NAMES).scans(case.arguments)
    pulled = {name: pull(name, scan) for name, scan in scans.items()}
    got, expected = answer(case, pulled), answer(case, full, whole=True)
    if case.limit is None:
        same = got == expected
    else:
        same = sum(got.values()) == min(case.limit, sum(expected.values())) and not got - expected
    if same:
        return ""
    return f"{case.sql}\n{dict(case.arguments)}\n{scans}\n{got - expected} instead of {expected - got}"


@cache
def _database() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def answer(case: Case, rows: Mapping[str, pa.Table], *, whole: bool = False) -> Counter[str]:
    """The rows of the answer, in any order; with `whole` those that an open LIMIT chooses from."""
    sql = case.sql[: case.sql.rindex(" limit ")] if whole and case.limit is not None else case.sql
    text, values = for_duckdb(sql, case.arguments)
    with _database().cursor() as cursor:
        for name, table in rows.items():
            cursor.register(name, table)
        answer = cursor.sql(text, params=values or None).to_arrow_table()
    return Counter(str(sorted(row.items())) for row in answer.to_pylist())


class Honouring:
    """A source that does what it may: it drops predicates at random, compares text without case, sends more rows."""

    def __init__(self, full: Mapping[str, pa.Table], seed: int = 3) -> None:
        self._full = full
        self._some = random.Random(seed)
        self.seen = Counter[str]()

    def __call__(self, name: str, scan: Scan) -> pa.Table:
        rows = self._full[name]
        exact = True
        found = rows.to_pylist()
        for predicate in scan.predicates:
            known = next((column for column in rows.column_names if column.lower() == predicate.column.lower()), None)
            if known is None or self._some.random() < 0.1:
                exact = False
                continue
            is_text = rows.schema.field(known).type == pa.string()
            exact = exact and not is_text
            self.seen["predicates"] += 1
            found = [row for row in found if _holds(row[known], predicate.operator, predicate.value)]
        if scan.limit is not None and exact:
            self.seen["limits"] += 1
            found = found[: scan.limit]
        columns = rows.column_names
        if scan.columns is not None and self._some.random() < 0.9:
            asked = {column.lower() for column in scan.columns}
            columns = [column for column in columns if column.lower() in asked] or columns[:1]
            self.seen["projections"] += 1
        return pa.Table.from_pylist(found, schema=rows.schema).select(columns)


def _holds(value: Any, sign: str, asked: Any) -> bool:
    """As a database with a collation that knows no case would compare; NULL never holds."""
    if asked is None:
        return value is None  # only a planner that breaks the rules asks so
    if value is None:
        return False
    if isinstance(value, str):
        value = value.casefold().rstrip()
        asked = tuple(each.casefold().rstrip() for each in asked) if sign == "in" else asked.casefold().rstrip()
    return bool(COMPARE[sign](value, asked))
