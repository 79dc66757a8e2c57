"""The `mysql` source: the types of MySQL and MariaDB, and what is pushed to them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from servers.mariadb import MariaDBServer
from servers.stand import stand

from jackfield.graphs.errors import Code, JackfieldError
from jackfield.nodes.databases.columns import Column, Kind
from jackfield.nodes.databases.source import DatabaseSource, explain
from jackfield.nodes.mysql import mysql_node
from jackfield.nodes.query import query_node
from jackfield.nodes.scan import Predicate, Scan

TYPES = """
SET time_zone = '+02:00';
CREATE TABLE typed (
    flag tinyint(1), tiny tinyint, tiny_u tinyint unsigned, small smallint, medium mediumint, whole int unsigned,
    big bigint, big_u bigint unsigned, exact decimal(12,2), whole_exact decimal(20,0), exact_u decimal(9,3) unsigned,
    wide decimal(50,5), single float, twin double, word varchar(20), padded char(5), long_ longtext,
    feeling enum('glad','sad'), many set('a','b'), doc json, day date, moment datetime(6), seconds datetime,
    stamped timestamp(3) NULL, clock time(2), born year, bits bit(9), bytes_ varbinary(5), blob_ blob,
    id uuid, western varchar(9) CHARSET latin1);
INSERT INTO typed VALUES (
    2, -128, 255, -5, -7, 4294967295, -9223372036854775808, 18446744073709551615,
    1234567890.12, 12345678901234567890, 1.5, 1.5, 0.1, 0.1, 'æ ', 'ab ', 'long',
    'sad', 'a,b', '{"a": 1.10}', '2024-02-29', '2024-02-29 12:00:00.123456', '2024-02-29 12:00:00',
    '2024-02-29 12:00:00.5', '-25:00:00.5', 2024, b'100000001', x'00ff', x'',
    '0b7d8a7e-64e1-4a3a-9a4e-0f8f0b0f7a11', 'é');
INSERT INTO typed (flag) VALUES (NULL);
"""
MOMENT = dt.datetime(2024, 2, 29, 12, 0, 0)  # noqa: DTZ001 – the columns have no zone
FIRST: dict[str, Any] = {
    "flag": True,
    "tiny": -128,
    "tiny_u": 255,
    "small": -5,
    "medium": -7,
    "whole": 2**32 - 1,
    "big": -(2**63),
    "big_u": 2**64 - 1,
    "exact": Decimal("1234567890.12"),
    "whole_exact": Decimal("12345678901234567890"),
    "exact_u": Decimal("1.500"),
    "wide": "1.50000",
    "single": pytest.approx(0.1, rel=1e-6),
    "twin": 0.1,
    "word": "æ ",
    "padded": "ab",
    "long_": "long",
    "feeling": "sad",
    "many": "a,b",
    "doc": '{"a": 1.10}',
    "day": dt.date(2024, 2, 29),
    "moment": MOMENT.replace(microsecond=123_456),
    "seconds": MOMENT,
    "stamped": dt.datetime(2024, 2, 29, 10, 0, 0, 500_000, tzinfo=dt.UTC),
    "clock": "-25:00:00.50",
    "born": 2024,
    "bits": 257,
    "bytes_": b"\x00\xff",
    "blob_": b"",
    "id": "0b7d8a7e-64e1-4a3a-9a4e-0f8f0b0f7a11",
    "western": "é",
}


@pytest.mark.anyio
@pytest.mark.parametrize("streams", [False, True])
async def test_every_type_arrives_as_promised_by_either_protocol(mariadb: MariaDBServer, streams: bool) -> None:
    with mariadb.database(TYPES) as dsn:
        async with stand(streams=streams) as on:
            found = (await on.fire(mysql_node, {"dsn": dsn, "table": "typed"}))["rows"].arrow()
            at = {"engine": "mysql", "dsn": dsn, "sql": "SELECT * FROM typed"}
            text = (await on.fire(query_node, at))["rows"].arrow()
            bound = await on.fire(query_node, {**at, "sql": "SELECT * FROM typed WHERE :x = 1"}, arguments={"x": 1})
    assert found.to_pylist() == [FIRST, dict.fromkeys(FIRST)]
    assert text.equals(found)
    assert bound["rows"].arrow().equals(found)
    assert found.schema.field("big_u").type == pa.uint64()
    assert found.schema.field("exact").type == pa.decimal128(12, 2)


@pytest.mark.anyio
async def test_days_that_no_calendar_has_are_null(mariadb: MariaDBServer) -> None:
    with mariadb.database(
        "SET sql_mode = ''; CREATE TABLE t (d date, m datetime, s timestamp NULL);"
        "INSERT INTO t VALUES ('0000-00-00', '0000-00-00', '0000-00-00'), ('2024-02-00', '2024-00-00', NULL),"
        "('2024-02-29', '2024-02-29', NULL)"
    ) as dsn:
        async with stand() as on:
            rows = (await on.fire(mysql_node, {"dsn": dsn, "table": "t"}))["rows"].to_pylist()
            at = {"engine": "mysql", "dsn": dsn, "sql": "SELECT * FROM t WHERE :x = 1"}
            bound = (await on.fire(query_node, at, arguments={"x": 1}))["rows"].to_pylist()
    assert rows == bound
    assert [row["d"] for row in rows] == [None, None, dt.date(2024, 2, 29)]
    assert [row["m"] for row in rows][:2] == [None, None]


@pytest.mark.anyio
async def test_text_is_compared_by_bytes_although_the_collation_knows_no_case(mariadb: MariaDBServer) -> None:
    words = ["ab", "AB", "ab ", "áb", "x"]
    values = ", ".join(f"('{word}')" for word in words)
    with mariadb.database(f"CREATE TABLE t (w varchar(9), KEY (w)); INSERT INTO t VALUES {values}") as dsn:
        async with stand() as on:
            for word in words:
                scan = Scan(None, (Predicate("w", "=", word),), 5)
                found = await on.fire(mysql_node, {"dsn": dsn, "table": "t"}, scan=scan)
                assert found["rows"].to_pylist() == [{"w": word}]
                assert on.facts("pushed")["limit"] == 5


def test_explain_shows_no_values_and_says_what_is_checked_again() -> None:
    columns = (Column("id", Kind.INT, "int64", "`id`"), Column("day", Kind.DATE, "date", "`day`", loose=True))
    config = DatabaseSource.model_validate({"dsn": "mysql://h/d", "table": "shop.orders"})
    scan = Scan(("id",), (Predicate("id", "=", 5), Predicate("day", ">=", dt.date(2024, 1, 1))), 9)
    told = explain("mysql", config, scan, columns)
    assert told.query.sql == "SELECT `id` FROM `shop`.`orders` WHERE `id` = 5 AND `day` >= DATE'2024-01-01'"
    assert told.as_json()["sql"] == "SELECT `id` FROM `shop`.`orders` WHERE `id` = … AND `day` >= …"
    assert told.rechecked == ("day >= …: the database may give more rows than match",)
    assert told.limit is None


@pytest.mark.anyio
async def test_columns_of_one_name_are_an_error_that_says_so(mariadb: MariaDBServer) -> None:
    with mariadb.database("CREATE TABLE t (a int)") as dsn:
        async with stand() as on:
            at = {"engine": "mysql", "dsn": dsn, "sql": "SELECT x.a, y.a FROM t x, t y"}
            with pytest.raises(JackfieldError) as caught:
                await on.fire(query_node, at)
    assert caught.value.code is Code.QUERY_INVALID
    assert "'a'" in str(caught.value)


@pytest.mark.anyio
async def test_a_database_that_is_not_there_is_named(mariadb: MariaDBServer) -> None:
    async with stand() as on:
        with pytest.raises(JackfieldError) as caught:
            await on.fire(mysql_node, {"dsn": mariadb.dsn_of("nowhere"), "table": "t"})
    assert (caught.value.code, "'nowhere'" in str(caught.value)) == (Code.SCHEMA_NOT_FOUND, True)


@pytest.mark.anyio
async def test_tls_that_the_server_does_not_speak_is_refused(mariadb: MariaDBServer) -> None:
    async with stand() as on:
        with pytest.raises(JackfieldError) as caught:
            await on.fire(mysql_node, {"dsn": mariadb.dsn, "table": "t", "tls": "require"})
    assert caught.value.code is Code.SOURCE_UNREACHABLE
    assert "TLS" in str(caught.value)
