"""The `postgres` source: its types, its configuration and what `jackfield plan` shows of it."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from servers.postgres import PostgresServer
from servers.stand import Stand, stand

from jackfield.graphs.errors import Code, JackfieldError
from jackfield.nodes.databases.columns import Column, Kind
from jackfield.nodes.databases.source import DatabaseSource, explain
from jackfield.nodes.postgres import postgres_node
from jackfield.nodes.query import query_node
from jackfield.nodes.scan import Predicate, Scan

TYPES = """
CREATE TYPE mood AS ENUM ('glad', 'sad');
CREATE TYPE pair AS (a int, b text);
CREATE DOMAIN cents AS numeric(9,2);
CREATE TABLE typed (
    flag boolean, small smallint, whole int, big bigint, single real, twin double precision,
    exact numeric(12,2), open numeric, wide numeric(50,5), tens numeric(4,-2), money_ money, domain_ cents,
    word text, short varchar(5), padded char(4), bytes_ bytea, id uuid, doc jsonb, plain json,
    day date, clock time, clock_tz timetz, moment timestamp, zoned timestamptz, span interval,
    feeling mood, both_ pair, numbers int[], words text[], ids uuid[], moods mood[],
    net inet, range_ int4range, xml_ xml, bits bit(3), search tsvector, place point, number_ oid);
INSERT INTO typed VALUES (
    true, 1, 2, 9223372036854775807, 0.1, 0.1,
    1234567890.12, 12345678901234567890.123456789, 1.5, 1250, '-1.50', 3.10,
    'æ', 'ab', 'ab', '\\x00ff', '0b7d8a7e-64e1-4a3a-9a4e-0f8f0b0f7a11', '{"b": 1.10, "a": [1]}', '{"a":1}',
    '2024-02-29', '12:34:56.789', '12:00+02', '2024-02-29 12:00:00.123456', '2024-02-29 12:00+02', '1 day 2 hours',
    'glad', '(1,x)', '{1,null,3}', '{a,null}', '{0b7d8a7e-64e1-4a3a-9a4e-0f8f0b0f7a11}', '{sad}',
    '10.0.0.1/8', '[1,5)', '<a/>', B'101', 'a b', '(1,2)', 4000000000);
INSERT INTO typed (flag) VALUES (NULL);
"""
UTC = dt.UTC
interval: Any = pa.MonthDayNano
FIRST: dict[str, Any] = {
    "flag": True,
    "small": 1,
    "whole": 2,
    "big": 2**63 - 1,
    "single": pytest.approx(0.1, rel=1e-6),
    "twin": 0.1,
    "exact": Decimal("1234567890.12"),
    "open": Decimal("12345678901234567890.123456789"),
    "wide": "1.50000",
    "tens": Decimal(1300),
    "money_": Decimal("-1.50"),
    "domain_": Decimal("3.10"),
    "word": "æ",
    "short": "ab",
    "padded": "ab  ",
    "bytes_": b"\x00\xff",
    "id": "0b7d8a7e-64e1-4a3a-9a4e-0f8f0b0f7a11",
    "doc": '{"a": [1], "b": 1.10}',
    "plain": '{"a":1}',
    "day": dt.date(2024, 2, 29),
    "clock": dt.time(12, 34, 56, 789_000),
    "clock_tz": "12:00:00+02",
    "moment": dt.datetime(2024, 2, 29, 12, 0, 0, 123_456),  # noqa: DTZ001 – the column has no zone
    "zoned": dt.datetime(2024, 2, 29, 10, tzinfo=UTC),
    "span": interval([0, 1, 2 * 3600 * 10**9]),
    "feeling": "glad",
    "both_": "(1,x)",
    "numbers": [1, None, 3],
    "words": ["a", None],
    "ids": ["0b7d8a7e-64e1-4a3a-9a4e-0f8f0b0f7a11"],
    "moods": ["sad"],
    "net": "10.0.0.1/8",
    "range_": "[1,5)",
    "xml_": "<a/>",
    "bits": "101",
    "search": "'a' 'b'",
    "place": "(1,2)",
    "number_": 4000000000,
}


async def rows_of(on: Stand, dsn: str, scan: Scan | None = None, **config: Any) -> pa.Table:
    ports = {} if scan is None else {"scan": scan}
    outputs = await on.fire(postgres_node, {"dsn": dsn, **config}, **ports)
    found: pa.Table = outputs["rows"].arrow()
    return found


@pytest.mark.anyio
@pytest.mark.parametrize("streams", [False, True])
async def test_every_type_arrives_as_promised(postgres: PostgresServer, streams: bool) -> None:
    with postgres.database(TYPES) as dsn:
        async with stand(streams=streams) as on:
            found = await rows_of(on, dsn, table="typed")
            by_query = await rows_of(on, dsn, query="SELECT * FROM typed")
            at = await on.fire(query_node, {"engine": "postgres", "dsn": dsn, "sql": "SELECT * FROM typed"})
    assert found.to_pylist() == [FIRST, dict.fromkeys(FIRST)]
    assert by_query.equals(found)
    assert at["rows"].arrow().equals(found)
    assert found.schema.field("exact").type == pa.decimal128(12, 2)
    assert found.schema.field("zoned").type == pa.timestamp("us", "UTC")


@pytest.mark.anyio
async def test_what_no_calendar_and_no_decimal_holds_is_null(postgres: PostgresServer) -> None:
    with postgres.database(
        "CREATE TABLE t (n int, d date, m timestamp, z timestamptz, e numeric(8,2), o numeric);"
        "INSERT INTO t VALUES (1, 'infinity', '-infinity', 'infinity', 'NaN', 'NaN'),"
        "(2, '0044-03-15 BC', '294000-01-01', '0044-03-15 BC', 1.5, 'infinity'),"
        "(3, '2024-01-01', '2024-01-01', '2024-01-01 00:00+00', 2.5, 1e10)"
    ) as dsn:
        async with stand() as on:
            found = await rows_of(on, dsn, table="t")
    day = dt.datetime(2024, 1, 1)  # noqa: DTZ001
    assert found.drop_columns(["n"]).to_pylist() == [
        {"d": None, "m": None, "z": None, "e": None, "o": None},
        {"d": None, "m": None, "z": None, "e": Decimal("1.50"), "o": None},
        {"d": day.date(), "m": day, "z": day.replace(tzinfo=UTC), "e": Decimal("2.50"), "o": Decimal(10**10)},
    ]


@pytest.mark.anyio
async def test_an_array_of_two_dimensions_is_an_error_and_not_flattened(postgres: PostgresServer) -> None:
    with postgres.database("CREATE TABLE t (a int[]); INSERT INTO t VALUES ('{{1,2},{3,4}}')") as dsn:
        async with stand() as on:
            with pytest.raises(JackfieldError) as caught:
                await rows_of(on, dsn, table="t")
            assert (await rows_of(on, dsn, query="SELECT to_json(a)::text AS a FROM t")).to_pylist() == [
                {"a": "[[1,2],[3,4]]"}
            ]
    assert caught.value.code is Code.TYPE_MISMATCH
    assert "an array of 2 dimensions" in str(caught.value)


@pytest.mark.anyio
async def test_an_empty_table_still_has_its_columns(postgres: PostgresServer) -> None:
    with postgres.database(TYPES + "DELETE FROM typed") as dsn:
        async with stand() as on:
            found = await rows_of(on, dsn, table="typed")
    assert (found.num_rows, found.column_names) == (0, list(FIRST))


@pytest.mark.anyio
async def test_only_what_the_scan_asks_for_is_fetched(postgres: PostgresServer) -> None:
    with postgres.database(
        'CREATE SCHEMA shop; CREATE TABLE shop."Orders" ("Id" int, total numeric(8,2), "ID" text);'
        "INSERT INTO shop.\"Orders\" SELECT g, g / 2.0, 'x' FROM generate_series(1, 100) g"
    ) as dsn:
        async with stand() as on:
            scan = Scan(("TOTAL",), (Predicate("Total", ">", 10), Predicate("total", "<=", Decimal("12.0"))), 3)
            found = await rows_of(on, dsn, scan, table='shop."Orders"')
            assert found.to_pylist() == [
                {"total": Decimal("10.50")},
                {"total": Decimal("11.00")},
                {"total": Decimal("11.50")},
            ]
            assert on.facts("pulled")["rows"] == 3
            ambiguous = await rows_of(on, dsn, Scan(("id",), (Predicate("id", "=", 5),), 1), table='shop."Orders"')
            assert (ambiguous.num_rows, ambiguous.column_names) == (100, ["Id", "ID"])
            assert "no one column has this name" in on.facts("pushed")["kept"][0]
            counted = await rows_of(on, dsn, Scan((), (), None), table='shop."Orders"')
            assert (counted.num_rows, counted.num_columns) == (100, 1)


def test_explain_says_what_is_sent_and_why_something_is_not() -> None:
    columns = (
        Column("id", Kind.INT, "int8", '"id"'),
        Column("word", Kind.TEXT, "text", '"word"'),
        Column("code", Kind.PADDED, "bpchar", '"code"'),
    )
    config = DatabaseSource.model_validate({"dsn": "postgresql://h/d", "table": "t"})
    scan = Scan(("id",), (Predicate("id", "in", (1, 2)), Predicate("word", "<", "m"), Predicate("code", "=", "a")), 9)
    assert explain("postgres", config, scan, columns).as_json() == {
        "sql": 'SELECT "id" FROM "t" WHERE "id" = ANY ($1::int8[]) AND "code" = $2::text::bpchar',
        "pushed": [
            {"column": "id", "operator": "in", "value": [1, 2]},
            {"column": "code", "operator": "=", "value": "a"},
        ],
        "rechecked": ["code = …: the database may give more rows than match"],
        "kept": [
            "word < …: text is ordered by collation there and by bytes here",
            "LIMIT 9: not every predicate is applied exactly by the database",
        ],
        "limit": None,
    }


@pytest.mark.anyio
async def test_a_declared_schema_is_obeyed_and_compared_here(postgres: PostgresServer) -> None:
    with postgres.database("CREATE TABLE t (id int, code int); INSERT INTO t VALUES (1, 7), (2, 8)") as dsn:
        async with stand() as on:
            scan = Scan(None, (Predicate("code", "=", 7), Predicate("id", ">", 0)), 1)
            found = await rows_of(on, dsn, scan, table="t", schema={"id": "int", "code": "float"})
            assert found.to_pylist() == [{"id": 1, "code": 7.0}, {"id": 2, "code": 8.0}]
            assert on.facts("pushed")["kept"] == [
                "code = …: declared as float, which is not the database's int4",
                "LIMIT 1: not every predicate is applied exactly by the database",
            ]
            with pytest.raises(JackfieldError) as caught:
                await rows_of(on, dsn, table="t", schema={"code": "date"})
            assert caught.value.code is Code.TYPE_MISMATCH
            with pytest.raises(JackfieldError) as caught:
                await rows_of(on, dsn, Scan(("id",)), table="t", schema={"id": "int"}, contract="freeze")
            assert caught.value.code is Code.SCHEMA_CHANGED


@pytest.mark.anyio
async def test_a_query_may_name_arguments(postgres: PostgresServer) -> None:
    with postgres.database("CREATE TABLE t AS SELECT g AS id, g % 3 AS shop FROM generate_series(1, 9) g") as dsn:
        async with stand() as on:
            config = {"url": dsn, "query": "SELECT id FROM t WHERE shop = :shop -- the shop's"}
            scan = Scan(None, (Predicate("id", ">", 4),))
            outputs = await on.fire(postgres_node, config, scan=scan, arguments={"shop": 1})
            assert outputs["rows"].to_pylist() == [{"id": 7}]


@pytest.mark.parametrize(
    "fields",
    [
        {"table": "t"},
        {"dsn": "x", "url": "y", "table": "t"},
        {"dsn": "x"},
        {"dsn": "x", "table": "t", "query": "SELECT 1"},
        {"dsn": "x", "table": "t", "timeout_s": 0},
        {"dsn": "x", "table": "t", "tabel": "u"},
    ],
)
def test_a_source_has_one_address_and_one_table_or_query(fields: dict[str, Any]) -> None:
    with pytest.raises(JackfieldError) as caught:
        postgres_node.bind("orders", fields)
    assert caught.value.code is Code.CONFIG_INVALID


@pytest.mark.anyio
async def test_a_database_that_is_not_there_is_named(postgres: PostgresServer) -> None:
    async with stand() as on:
        with pytest.raises(JackfieldError) as caught:
            await rows_of(on, postgres.dsn_of("nowhere"), table="t")
    assert (caught.value.code, "'nowhere'" in str(caught.value)) == (Code.SCHEMA_NOT_FOUND, True)


@pytest.mark.anyio
async def test_tls_that_the_server_does_not_speak_is_refused(postgres: PostgresServer) -> None:
    async with stand() as on:
        with pytest.raises(JackfieldError) as caught:
            await rows_of(on, postgres.dsn, table="t", tls="require")
    assert caught.value.code is Code.SOURCE_UNREACHABLE
    assert "TLS" in str(caught.value)
