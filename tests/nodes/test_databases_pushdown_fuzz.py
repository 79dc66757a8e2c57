"""Pushing to a real server never changes an answer: random queries, and random comparisons of every awkward type."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import duckdb
import pushdown_queries
import pyarrow as pa
import pytest
from pushdown_queries import cases, difference
from servers.mariadb import MariaDBServer
from servers.postgres import PostgresServer

from jackfield.nodes.databases import narrowing, pushdown
from jackfield.nodes.databases.arrow import fitted, whole
from jackfield.nodes.databases.columns import Column, Kind
from jackfield.nodes.databases.dsn import Engine, parse
from jackfield.nodes.databases.engines import database, dialect, relation
from jackfield.nodes.databases.narrowing import Comparison, Narrowed
from jackfield.nodes.databases.postgres_types import PostgresDialect
from jackfield.nodes.databases.pushdown import Query, push
from jackfield.nodes.databases.session import Session
from jackfield.nodes.scan import EVERYTHING, Predicate, Scan
from jackfield.nodes.schema import obey

POSTGRES = """
CREATE TABLE orders (id bigint PRIMARY KEY, customer_id bigint, status text, amount numeric(12,2), weight float8,
    is_gift boolean, shipped_on date, created_at timestamp);
CREATE TABLE customers (id bigint, region text, vip boolean, score bigint);
"""
MARIADB = """
CREATE TABLE orders (id bigint PRIMARY KEY, customer_id bigint, status varchar(20), amount decimal(12,2), weight double,
    is_gift tinyint(1), shipped_on date, created_at datetime(6));
CREATE TABLE customers (id bigint, region text, vip tinyint(1), score bigint);
"""
ODD_POSTGRES = """
CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TYPE mood AS ENUM ('glad', 'sad', '');
CREATE TABLE odd (n serial, small smallint, whole int, big bigint, exact numeric(8,3), open numeric, tens numeric(5,-2),
    single real, twin float8, flag boolean, word text, padded char(4), short varchar(4), loosely text COLLATE loose,
    day date, moment timestamp(3), zoned timestamptz, id uuid, feeling mood, price money);
"""
ODD_MARIADB = """
CREATE TABLE odd (n serial, small tinyint unsigned, whole int, big bigint unsigned, exact decimal(8,3), single float,
    twin double, flag tinyint(1), word varchar(20), padded char(4), strict_ varchar(20) COLLATE utf8mb4_bin,
    western varchar(20) CHARSET latin1, old varchar(20) CHARSET utf8mb3, feeling enum('glad','sad',''),
    many set('a','b'), day date, moment datetime(3), stamped timestamp(6) NULL, bits bit(9), born year, took time);
"""
WORDS = ("a", "A", "ä", "a ", "ab", "", "Ä", "ß", "ss", "a\\b", "it's", '"', "%", "glad", "GLAD", "a,b", "Ж", "😀")
NUMBERS: tuple[Any, ...] = (
    *(0, 1, -1, 2, 255, 256, 32767, 2**31 - 1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), 2**64 - 1),
    *(0.1, 0.5, -0.0, 1.5, 1e-50, 1e20, 0.30000000000000004, 2.0**53, 16777217.0, 3.3333333333333335, 123.456),
    *(Decimal("0.1"), Decimal("0.10"), Decimal("1.5"), Decimal("123.456"), Decimal("-1"), Decimal("1234.5678")),
    *(Decimal("0.30000000000000004"), Decimal("16777217"), Decimal(200), Decimal("99999.999")),
)
UTC = dt.UTC
RANDOM = random.Random(9)  # of the ways to write values, bound or as literals, each is tried
EAST = dt.timezone(dt.timedelta(hours=5))
DAYS: tuple[Any, ...] = (
    dt.date(2024, 2, 29),
    dt.date(1, 1, 1),
    dt.date(9999, 12, 31),
    dt.datetime(2024, 2, 29),  # noqa: DTZ001 – naive on purpose
    dt.datetime(2024, 2, 29, 23, 59, 59, 999_500),  # noqa: DTZ001
    dt.datetime(2024, 3, 1, 1, 30, tzinfo=EAST),
    dt.datetime(2024, 2, 29, 20, 30, tzinfo=UTC),
    dt.datetime(2024, 3, 31, 1, 30, tzinfo=UTC),
)
UUIDS = ("0b7d8a7e-64e1-4a3a-9a4e-0f8f0b0f7a11", "0B7D8A7E-64E1-4A3A-9A4E-0F8F0B0F7A11", "nonsense")


@contextmanager
def opened(engine: Engine, dsn: str) -> Iterator[Session]:
    session = database(parse(dsn, engine)).open()
    try:
        yield session
    finally:
        session.close()


def pulled(session: Session, engine: Engine, table: str, scan: Scan) -> tuple[pa.Table, pushdown.Pushdown]:
    place = relation(engine, table)
    made = push(scan, session.columns(place), place, dialect(engine, stream=bool(RANDOM.getrandbits(1))))
    rows = session.read(made.query, guarded=False)
    found = fitted(whole(rows.schema, rows.batches), rows.open)
    session.finish()
    return found, made


class Server:
    """Pulls from a real table, and counts what was pushed."""

    def __init__(self, session: Session, engine: Engine) -> None:
        self.session, self.engine = session, engine
        self.seen = Counter[str]()
        self.full = {name: self.typed(name, pulled(session, engine, name, EVERYTHING)[0]) for name in FULL}

    def __call__(self, name: str, scan: Scan) -> pa.Table:
        found, made = pulled(self.session, self.engine, name, scan)
        self.seen["predicates"] += len(made.pushed)
        self.seen["limits"] += made.limit is not None
        self.seen["projections"] += len(made.query.columns) < len(FULL[name].schema)
        return self.typed(name, found)

    def typed(self, name: str, found: pa.Table) -> pa.Table:
        words: dict[str, str] = {c: "int" for c in ("id", "customer_id", "score") if c in found.column_names}
        return obey(found, words, "evolve", name).select(found.column_names)


FULL = pushdown_queries.tables()


def fill(session: Any, engine: Engine, tables: Mapping[str, pa.Table]) -> None:
    """By literals, of which both dialects' servers take the same ones."""
    for name, table in tables.items():
        rows = [", ".join(written(value, engine) for value in row.values()) for row in table.to_pylist()]
        session.run(f"INSERT INTO {name} ({', '.join(table.column_names)}) VALUES ({'), ('.join(rows)})")


def written(value: Any, engine: Engine) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str) and engine == "mysql":
        return f"_utf8mb4 0x{value.encode().hex()}" if value else "''"
    if isinstance(value, (str, dt.date)):
        return "'" + str(value).replace("'", "''") + "'"
    return str(value)


@pytest.fixture(scope="module", params=["postgres", "mysql"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    engine: Engine = request.param
    real: PostgresServer | MariaDBServer = request.getfixturevalue("postgres" if engine == "postgres" else "mariadb")
    with real.database(POSTGRES if engine == "postgres" else MARIADB) as dsn:
        writer: Any = database(parse(dsn, engine), read_only=False).open()
        fill(writer, engine, FULL)
        writer.close()
        with opened(engine, dsn) as session:
            yield Server(session, engine)


def test_pushing_queries_never_changes_an_answer(server: Server) -> None:
    server.seen.clear()
    differences = [found for case in cases(600) if (found := difference(case, server.full, server))]
    assert not differences, "\n\n".join(differences[:3])
    assert server.seen["predicates"] > 300
    assert server.seen["projections"] > 300
    assert server.seen["limits"] > 15


ODD: Mapping[str, Sequence[Any]] = {
    **dict.fromkeys(("small", "whole", "big", "exact", "open", "tens", "single", "twin", "price", "born"), NUMBERS),
    "bits": NUMBERS,
    "flag": (True, False, 1, "true"),
    **dict.fromkeys(("word", "padded", "short", "loosely", "strict_", "western", "old", "feeling", "many"), WORDS),
    **dict.fromkeys(("day", "moment", "zoned", "stamped"), DAYS),
    "id": UUIDS,
    "took": WORDS,
}


def odd_rows(engine: Engine) -> Iterator[tuple[str, str]]:
    """(column, literal) of values that each column can hold."""
    limits: dict[str, tuple[Any, Any]] = {
        "small": (0, 255) if engine == "mysql" else (-32768, 32767),
        "whole": (-(2**31), 2**31 - 1),
        "big": (0, 2**64 - 1) if engine == "mysql" else (-(2**63), 2**63 - 1),
        "exact": (-99999, 99999),
        "tens": (-9_000_000, 9_000_000),
        "price": (-(10**6), 10**6),
        "born": (1970, 2150),
        "bits": (0, 511),
    }
    special = {
        "postgres": [
            *(("day", f"'{word}'") for word in ("infinity", "-infinity", "0044-03-15 BC")),
            *(("moment", f"'{word}'") for word in ("infinity", "-infinity")),
            *(("zoned", f"'{word}'") for word in ("infinity", "0044-03-15 BC", "294000-01-01")),
            *(("twin", f"'{word}'") for word in ("NaN", "Infinity", "-Infinity")),
            *(("single", f"'{word}'") for word in ("NaN", "Infinity")),
            *(("exact", "'NaN'"), ("open", "'NaN'"), ("open", "1e25"), ("open", "0.000000000001")),
        ],
        "mysql": [
            *(("day", f"'{word}'") for word in ("0000-00-00", "2024-02-00", "2024-00-00")),
            *(("moment", f"'{word}'") for word in ("0000-00-00 00:00:00", "2024-02-00 01:00:00")),
            *(("flag", "2"), ("flag", "-1"), ("took", "'-838:59:59'"), ("took", "'25:00:00'"), ("many", "'b,a'")),
        ],
    }
    yield from special[engine]  # first, so that a LIMIT meets them first
    for column, values in ODD.items():
        for value in values:
            if column == "flag" and not isinstance(value, bool):
                continue
            if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
                low, high = limits.get(column, (-1e300, 1e300))
                if column == "single" and 0 < abs(float(value)) < 1e-37:
                    continue
                if low <= value <= high and (column not in ("born", "bits") or value == int(value)):
                    yield column, repr(value) if isinstance(value, float) else str(value)
            elif isinstance(value, dt.datetime):
                moment = value.astimezone(UTC) if value.tzinfo else value
                yield column, f"'{moment.replace(tzinfo=None).isoformat(' ')}'"
            elif isinstance(value, bool):
                yield column, str(value)
            elif isinstance(value, (str, dt.date)) and fits(column, str(value), engine):
                yield column, written(value, engine)


def fits(column: str, text: str, engine: Engine) -> bool:
    if column == "feeling":
        return text in ("glad", "sad", "")
    if column == "many":
        return text in ("a", "a,b", "")
    if column == "id":
        return len(text) == 36
    if column == "western":
        return all(ord(letter) < 256 for letter in text)
    if column == "old":
        return all(ord(letter) < 0x10000 for letter in text)
    if column == "took":
        return False
    return column not in ("padded", "short") or len(text) <= 4


@pytest.fixture(scope="module", params=["postgres", "mysql"])
def odd(request: pytest.FixtureRequest) -> Iterator[tuple[Session, Engine]]:
    engine: Engine = request.param
    real: PostgresServer | MariaDBServer = request.getfixturevalue("postgres" if engine == "postgres" else "mariadb")
    with real.database(ODD_POSTGRES if engine == "postgres" else ODD_MARIADB) as dsn:
        if engine == "mysql":
            name = dsn.rpartition("/")[2]
            statements = "; ".join(f"INSERT INTO odd ({c}) VALUES ({v})" for c, v in odd_rows(engine) if has(c, engine))
            real.run(f"SET sql_mode=''; SET time_zone='+00:00'; {statements}", name)
        else:
            writer: Any = database(parse(dsn, engine), read_only=False).open()
            writer.run("SET TIME ZONE 'UTC'")
            for column, value in odd_rows(engine):
                if has(column, engine):
                    writer.run(f"INSERT INTO odd ({column}) VALUES ({value})")
            writer.close()
        with opened(engine, dsn) as session:
            yield session, engine


def has(column: str, engine: Engine) -> bool:
    return f" {column} " in (ODD_POSTGRES if engine == "postgres" else ODD_MARIADB)


def predicates(engine: Engine, count: int, seed: int = 5) -> Iterator[Predicate]:
    some = random.Random(seed)
    columns = [column for column in ODD if has(column, engine)]
    for number in range(count):
        column = columns[number % len(columns)]
        values = ODD[column] if some.random() < 0.9 else some.choice((WORDS, NUMBERS, DAYS))
        operator = some.choice(("=", "=", "<", "<=", ">", ">=", "in"))
        if operator == "in":
            yield Predicate(column, "in", tuple(some.sample(list(values), min(3, len(values)))))
        else:
            yield Predicate(column, operator, some.choice(list(values)))  # type: ignore[arg-type]


DUCK = duckdb.connect()
DUCK.execute("SET TimeZone = 'UTC'")


def kept(rows: pa.Table, predicate: Predicate) -> list[int] | None:
    """The rows that DuckDB keeps, by their number; None when it cannot compare such types."""
    text = f"{predicate.column} {predicate.operator} $value"
    values: dict[str, Any] = {"value": predicate.value}
    if predicate.operator == "in":
        values = {f"v{i}": value for i, value in enumerate(predicate.value)}
        text = f"{predicate.column} in ({', '.join('$' + name for name in values)})"
    with DUCK.cursor() as cursor:
        cursor.register("odd", rows)
        try:
            return [
                row[0] for row in cursor.sql(f"SELECT n FROM odd WHERE {text} ORDER BY n", params=values).fetchall()
            ]
        except duckdb.Error:
            return None


def odd_differences(session: Session, engine: Engine, count: int, seen: Counter[str]) -> Iterator[str]:
    full, _ = pulled(session, engine, "odd", EVERYTHING)
    for predicate in predicates(engine, count):
        expected = kept(full, predicate)
        if expected is None:
            continue
        found, made = pulled(session, engine, "odd", Scan(("n", predicate.column), (predicate,), 2))
        seen["pushed"] += bool(made.pushed)
        seen["limited"] += made.limit is not None
        got = kept(found, predicate)
        same = got == expected if made.limit is None else got is not None and len(got) == min(2, len(expected))
        if not same:
            yield f"{predicate}: {got} instead of {expected} by {made.query.shown}"


def test_pushing_comparisons_of_any_type_never_changes_an_answer(odd: tuple[Session, Engine]) -> None:
    seen = Counter[str]()
    wrong = list(odd_differences(*odd, 900, seen))
    assert not wrong, "\n".join(wrong[:10])
    assert seen["pushed"] > 200
    assert seen["limited"] > 100


def exact_where_sides_round(monkeypatch: pytest.MonkeyPatch) -> None:
    def rule(column: Column, operator: Any, value: Any) -> Narrowed:
        narrowing._require_number(column, value)
        return Narrowed((Comparison(column, operator, Decimal(value), Kind.DECIMAL),), True)

    monkeypatch.setitem(narrowing.RULES, Kind.DECIMAL, rule)


def float_compared_as_double(monkeypatch: pytest.MonkeyPatch) -> None:
    def rule(column: Column, operator: Any, value: Any) -> Narrowed:
        narrowing._require_number(column, value)
        return Narrowed((Comparison(column, operator, float(value), Kind.FLOAT64),), True)

    monkeypatch.setitem(narrowing.RULES, Kind.FLOAT32, rule)


def infinite_times_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    def rule(column: Column, operator: Any, value: Any, *, exact: bool = True) -> Narrowed:
        return Narrowed((Comparison(column, operator, value, column.kind),), exact)

    monkeypatch.setattr(narrowing, "_within_calendar", rule)


def days_compared_as_moments(monkeypatch: pytest.MonkeyPatch) -> None:
    real = narrowing._date

    def rule(column: Column, operator: Any, value: Any) -> Narrowed:
        moment = narrowing._moment(value)
        return real(column, operator, moment.date() if isinstance(moment, dt.datetime) else value)

    monkeypatch.setitem(narrowing.RULES, Kind.DATE, rule)


def padding_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    def rule(column: Column, operator: Any, value: Any) -> Narrowed:
        if operator != "=":
            raise narrowing.NotPushedError("order")
        return Narrowed((Comparison(column, operator, str(value), Kind.PADDED),), True)

    monkeypatch.setitem(narrowing.RULES, Kind.PADDED, rule)


def collations_taken_for_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    def condition(
        self: Any, comparison: Comparison, values: list[Any], *, shown: bool = False, exact: bool = False
    ) -> str:
        return str(real(self, comparison, values, shown=shown, exact=False))

    real = PostgresDialect.condition
    monkeypatch.setattr(PostgresDialect, "condition", condition)


MUTANTS = (
    collations_taken_for_bytes,
    exact_where_sides_round,
    float_compared_as_double,
    infinite_times_limited,
    days_compared_as_moments,
    padding_forgotten,
)


OF_POSTGRES = (collations_taken_for_bytes, infinite_times_limited, padding_forgotten)  # rules for types of its own


@pytest.mark.parametrize(
    ("odd", "broken"),
    [("postgres", mutant) for mutant in MUTANTS] + [("mysql", each) for each in MUTANTS if each not in OF_POSTGRES],
    ids=lambda each: each if isinstance(each, str) else each.__name__,
    indirect=["odd"],
)
def test_a_broken_rule_is_caught_on_a_real_server(
    broken: Callable[[pytest.MonkeyPatch], None], odd: tuple[Session, Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    session, engine = odd
    broken(monkeypatch)
    assert any(odd_differences(session, engine, 900, Counter()))


def test_a_limit_pushed_with_a_dropped_predicate_is_caught(server: Server) -> None:
    def careless(name: str, scan: Scan) -> pa.Table:
        place = relation(server.engine, name)
        columns = server.session.columns(place)
        made = push(Scan(scan.columns, (), scan.limit), columns, place, server.session.dialect)
        rows = server.session.read(Query(made.query.sql, made.query.values, made.query.columns), guarded=False)
        found = whole(rows.schema, rows.batches)
        server.session.finish()
        return server.typed(name, found)

    assert any(difference(case, server.full, careless) for case in cases(200))
