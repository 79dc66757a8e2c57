"""Saves into Postgres and MariaDB: whole or not at all, upsert by key, and a repeated key that writes nothing."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import anyio
import pyarrow as pa
import pytest
from servers.mariadb import MariaDBServer
from servers.postgres import PostgresServer
from servers.stand import Stand, stand

from jackfield.graphs.errors import Code, JackfieldError
from jackfield.nodes.databases.dsn import Engine
from jackfield.nodes.query import query_node
from jackfield.nodes.save import save_node
from jackfield.nodes.table import Table


class Place:
    def __init__(self, engine: Engine, server: PostgresServer | MariaDBServer, dsn: str) -> None:
        self.engine, self.server, self.dsn = engine, server, dsn
        self.name = dsn.rpartition("/")[2]

    def run(self, sql: str) -> list[list[str]]:
        return self.server.run(sql, self.name)

    async def save(self, on: Stand, rows: Table | Sequence[dict[str, Any]], **more: Any) -> dict[str, Any]:
        table = rows if isinstance(rows, Table) else Table.from_rows(list(rows))
        config = {"type": self.engine, "dsn": self.dsn, "table": "t", **more}
        report: dict[str, Any] = (await on.fire(save_node, config, rows=table))["report"]
        return report

    async def rows(self, on: Stand, sql: str = "SELECT * FROM t ORDER BY id") -> list[dict[str, Any]]:
        found = await on.fire(query_node, {"engine": self.engine, "dsn": self.dsn, "sql": sql})
        rows: list[dict[str, Any]] = found["rows"].to_pylist()
        return rows


@pytest.fixture(params=["postgres", "mysql"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    engine: Engine = request.param
    server = request.getfixturevalue("postgres" if engine == "postgres" else "mariadb")
    with server.database() as dsn:
        yield Place(engine, server, dsn)


MOMENT = dt.datetime(2024, 2, 29, 12, 0, 0, 123_456)  # noqa: DTZ001 – a column without a zone
EVERY = pa.table(
    {
        "id": pa.array([1, 2], pa.int64()),
        "small": pa.array([-5, None], pa.int16()),
        "unsigned": pa.array([2**64 - 1, None], pa.uint64()),
        "exact": pa.array([Decimal("1234567890.12"), None], pa.decimal128(12, 2)),
        "twin": pa.array([0.1, None]),
        "flag": pa.array([True, None]),
        "word": pa.array(["æ'\\\"%s\n", None]),
        "bytes_": pa.array([b"\x00\xff'", None]),
        "day": pa.array([dt.date(2024, 2, 29), None]),
        "clock": pa.array([dt.time(1, 2, 3, 4), None], pa.time64("us")),
        "moment": pa.array([MOMENT, None], pa.timestamp("us")),
        "zoned": pa.array([MOMENT, None], pa.timestamp("us", "UTC")),
        "nothing": pa.array([None, None]),
        "list_": pa.array([["a", "b"], None]),
        "object_": pa.array([{"a": Decimal("1.10")}, None]),
        "chosen": pa.array(["x", None]).dictionary_encode(),
    }
)


@pytest.mark.anyio
async def test_every_type_of_value_can_be_saved_and_read_again(place: Place) -> None:
    async with stand() as on:
        report = await place.save(on, Table.whole(EVERY))
        assert report == {"type": place.engine, "mode": "append", "rows": 2, "target": "t", "repeated": False}
        first, second = await place.rows(on)
    assert second == {"id": 2, **dict.fromkeys(EVERY.column_names[1:])}
    zoned = MOMENT if place.engine == "mysql" else MOMENT.replace(tzinfo=dt.UTC)
    assert first == {
        "id": 1,
        "small": -5,
        "unsigned": Decimal(2**64 - 1),
        "exact": Decimal("1234567890.12"),
        "twin": 0.1,
        "flag": True,
        "word": "æ'\\\"%s\n",
        "bytes_": b"\x00\xff'",
        "day": dt.date(2024, 2, 29),
        "clock": "01:02:03.000004" if place.engine == "mysql" else dt.time(1, 2, 3, 4),
        "moment": MOMENT,
        "zoned": zoned,
        "nothing": None,
        "list_": '["a","b"]',
        "object_": '{"a":1.10}',
        "chosen": "x",
    }


@pytest.mark.anyio
async def test_append_adds_overwrite_replaces_and_upsert_does_both(place: Place) -> None:
    async with stand() as on:
        await place.save(on, [{"id": 1, "word": "a"}, {"id": 2, "word": "b"}], mode="upsert", key=["id"])
        await place.save(on, [{"word": "B", "id": 2}, {"word": "c", "id": 3}], mode="upsert", key=["id"])
        assert [row["word"] for row in await place.rows(on)] == ["a", "B", "c"]
        await place.save(on, [{"id": 4, "word": "d"}])
        assert [row["id"] for row in await place.rows(on)] == [1, 2, 3, 4]
        await place.save(on, [{"id": 9, "word": "z"}], mode="overwrite")
        assert await place.rows(on) == [{"id": 9, "word": "z"}]
        await place.save(on, [{"id": 1, "other": 1.5}], mode="overwrite")
        assert await place.rows(on) == [{"id": 1, "other": 1.5}]


@pytest.mark.anyio
async def test_upsert_into_a_table_without_a_unique_index_replaces_every_row_of_a_key(place: Place) -> None:
    place.run(
        "CREATE TABLE t (id int, word varchar(9), extra int); INSERT INTO t VALUES (1,'a',5), (1,'b',6), (2,'c',7)"
    )
    async with stand() as on:
        await place.save(on, [{"id": 1, "word": "new"}, {"id": 3, "word": "d"}], mode="upsert", key=["id"])
        assert await place.rows(on) == [
            {"id": 1, "word": "new", "extra": None},
            {"id": 2, "word": "c", "extra": 7},
            {"id": 3, "word": "d", "extra": None},
        ]


@pytest.mark.anyio
async def test_a_repeated_idempotency_key_writes_nothing(place: Place) -> None:
    async with stand(idempotency_key="call-1") as on:
        first = await place.save(on, [{"id": 1}, {"id": 2}])
        again = await place.save(on, [{"id": 1}, {"id": 2}])
        other = await place.save(on, [{"id": 7}], table="other")
        on.idempotency_key = "call-2"
        third = await place.save(on, [{"id": 3}])
        assert [each["repeated"] for each in (first, again, other, third)] == [False, True, False, False]
        assert again["rows"] == 2
        assert [row["id"] for row in await place.rows(on)] == [1, 2, 3]


@pytest.mark.anyio
async def test_of_many_saves_at_once_with_one_key_one_writes(place: Place) -> None:
    place.run("CREATE TABLE t (id int)")
    async with stand(idempotency_key="same") as on:
        reports: list[dict[str, Any]] = []

        async def one() -> None:
            reports.append(await place.save(on, [{"id": 1}]))

        async with anyio.create_task_group() as group:
            for _ in range(4):
                group.start_soon(one)
        assert sorted(report["repeated"] for report in reports) == [False, True, True, True]
        assert len(await place.rows(on)) == 1


@pytest.mark.anyio
async def test_a_save_that_fails_half_way_leaves_the_target_as_it_was(place: Place) -> None:
    place.run("CREATE TABLE t (id int PRIMARY KEY, word varchar(3)); INSERT INTO t VALUES (1, 'a')")
    columns: list[tuple[str, pa.DataType]] = [("id", pa.int64()), ("word", pa.string())]
    schema = pa.schema(columns)

    def batches() -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pylist([{"id": 2, "word": "b"}], schema)
        raise JackfieldError(Code.SOURCE_TIMEOUT, "the source went away")

    async with stand(idempotency_key="k") as on:
        for mode in ("append", "overwrite", "upsert"):
            stream = Table.stream(pa.RecordBatchReader.from_batches(schema, batches()))
            with pytest.raises(JackfieldError) as caught:
                await place.save(on, stream, mode=mode, key=["id"])
            assert caught.value.code is Code.SOURCE_TIMEOUT
            with pytest.raises(JackfieldError):
                await place.save(on, [{"id": 5, "word": "b"}, {"id": 6, "word": "too long"}], mode=mode, key=["id"])
            with pytest.raises(JackfieldError):
                await place.save(on, [{"id": 5, "word": "b"}, {"id": None, "word": "c"}], mode=mode, key=["id"])
            assert await place.rows(on) == [{"id": 1, "word": "a"}]
        assert (await place.save(on, [{"id": 2, "word": "b"}]))["repeated"] is False


@pytest.mark.anyio
async def test_a_cancelled_save_is_rolled_back(place: Place) -> None:
    place.run("CREATE TABLE t (id int)")
    schema = pa.schema([("id", pa.int64())])
    async with stand() as on:
        async with anyio.create_task_group() as group:
            started = threading.Event()

            def batches() -> Iterator[pa.RecordBatch]:
                while True:
                    yield pa.RecordBatch.from_pylist([{"id": 1}] * 1000, schema)
                    started.set()

            async def save() -> None:
                await place.save(on, Table.stream(pa.RecordBatchReader.from_batches(schema, batches())))

            group.start_soon(save)
            assert await anyio.to_thread.run_sync(started.wait, 5)
            group.cancel_scope.cancel()
        assert await place.rows(on) == []


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("rows", "code", "told"),
    [
        ([{"id": "x"}], Code.TYPE_MISMATCH, "'id'"),
        ([{"id": 1, "more": 2}], Code.SCHEMA_CHANGED, "'more'"),
        ([{"id": 1, "day": "x"}, {"id": 1, "day": "y"}], Code.VALIDATION_INVALID_PARAMS, "same key"),
        ([{"id": None, "day": "x"}], Code.VALIDATION_INVALID_PARAMS, "no value in the key"),
        ([{"day": "x"}], Code.SCHEMA_NOT_FOUND, "key column 'id'"),
    ],
)
async def test_rows_that_do_not_fit_are_refused_before_anything_changes(
    place: Place, rows: list[dict[str, Any]], code: Code, told: str
) -> None:
    place.run("CREATE TABLE t (id int PRIMARY KEY, day varchar(9)); INSERT INTO t VALUES (7, 'a')")
    async with stand() as on:
        with pytest.raises(JackfieldError) as caught:
            await place.save(on, rows, mode="upsert", key=["id"])
        assert (caught.value.code, told in str(caught.value)) == (code, True)
        assert await place.rows(on) == [{"id": 7, "day": "a"}]


@pytest.mark.anyio
async def test_can_save_answers_and_changes_nothing(place: Place) -> None:
    async with stand() as on:
        config = {"type": place.engine, "dsn": place.dsn, "table": "t", "method": "canSave"}
        assert (await on.fire(save_node, config))["canSave"] is True
        wrong = {**config, "dsn": place.dsn.replace(place.server.quoted, "wrong")}
        answer = await on.fire(save_node, wrong)
        assert (answer["canSave"], "password" in answer["report"]["reason"]) == (False, True)
    listed = "SELECT count(*) FROM information_schema.tables WHERE table_name IN ('t', '_jackfield_saves')"
    assert place.run(f"{listed} AND table_schema IN ('public', '{place.name}')") == [["0"]]


@pytest.mark.anyio
async def test_saved_rows_pass_through_and_secrets_do_not(place: Place) -> None:
    async with stand(variables={"DB": place.dsn}) as on:
        config = {"type": place.engine, "url": "{{ env:DB }}", "table": "t"}
        outputs = await on.fire(save_node, config, rows=Table.from_rows([{"id": 1}]))
        assert outputs["rows"].to_pylist() == [{"id": 1}]
        assert place.server.password not in repr(on.events) + repr(outputs["report"])


@pytest.mark.anyio
async def test_a_table_without_transactions_is_refused(mariadb: MariaDBServer) -> None:
    with mariadb.database("CREATE TABLE t (id int) ENGINE=MyISAM") as dsn:
        async with stand() as on:
            with pytest.raises(JackfieldError) as caught:
                await Place("mysql", mariadb, dsn).save(on, [{"id": 1}])
    assert caught.value.code is Code.CONFIG_INVALID
    assert "InnoDB" in str(caught.value)
