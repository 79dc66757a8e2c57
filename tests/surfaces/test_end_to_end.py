"""The promises of the first page: the seed's connector answers, and one SQL joins five kinds of source exactly."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from servers.http import HttpServer, Reply, Seen
from servers.mariadb import MariaDBServer
from servers.postgres import PostgresServer

from .conftest import Cli
from .test_call import connector

SEED = Path(__file__).parents[1] / "connectors" / "seed" / "petstore.connector.json"
ANIMALS = [{"id": 1, "name": "Mia", "species": "cat"}, {"id": 2, "name": "Rex", "species": "dog"},
           {"id": 3, "name": "Tom", "species": "cat"}]  # fmt: skip


@pytest.fixture
def petstore(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The seed's connector, word for word but for its host."""

    def animals(seen: Seen) -> Any:
        return {"items": ANIMALS} if seen.headers.get("x-api-key") == "key-of-the-shop" else Reply({}, 401)

    monkeypatch.setenv("PETSTORE_API_KEY", "key-of-the-shop")
    monkeypatch.chdir(tmp_path)
    with HttpServer({"/animals": animals}) as server:
        path = tmp_path / "petstore.connector.json"
        path.write_text(SEED.read_text().replace("https://api.example.com", server.url))
        (tmp_path / "data").mkdir()
        (tmp_path / "data" / "regions.csv").write_text("region\nnorth\n")
        yield path


def test_the_seed_connector_lints_clean_of_errors_and_answers(cli: Cli, petstore: Path) -> None:
    assert cli("lint", petstore).code == 0
    outcome = cli("call", "petstore", "list_animals", "species=cat", "--format", "json")
    assert outcome.code == 0
    assert [row["name"] for row in outcome.json["rows"]] == ["Mia", "Tom"]
    assert cli("call", "petstore", "list_animals", "--format", "json").json["row_count"] == 3


def test_the_seed_skill_gives_its_prompt(cli: Cli, petstore: Path) -> None:
    outcome = cli("call", "petstore", "animal_report")
    assert outcome.code == 0
    assert outcome.out.startswith("Using the results of list_animals, group by species and return counts.")


def test_the_graph_that_compile_prints_is_the_one_that_runs(cli: Cli, petstore: Path, tmp_path: Path) -> None:
    printed = cli("compile", "petstore", "list_animals", "--hash").out.split()[0]
    planned = cli("plan", "petstore", "list_animals", "--format", "json", "--analyze").json
    assert planned["hash"] == printed
    called = cli("call", "petstore", "list_animals", "species=dog", "--format", "json").json
    board = tmp_path / "again.bgl.json"
    assert cli("compile", "petstore", "list_animals", "-o", board).code == 0
    again = cli("run", board, "species=dog", "--format", "json", "-q")
    assert again.json == called
    assert cli("compile", board, "again", "--hash").out.split()[0] == printed


COUNTRIES = ["NO", "SE", "DE", "ES", "FR"]
DAY = date(2026, 1, 1)
SQL = (
    "SELECT r.region, p.category, count(*) AS orders, sum(o.total * x.rate) AS revenue, max(c.name) AS last_name "
    "FROM orders o JOIN customers c ON c.id = o.customer_id JOIN regions r ON r.country = c.country "
    "JOIN products p ON p.id = o.product_id LEFT JOIN rates x ON x.currency = o.currency "
    "WHERE o.day >= :since AND (:countries IS NULL OR c.country IN (:countries)) AND p.price < :below "
    "GROUP BY ALL ORDER BY ALL"
)
PARAMETERS = [
    {"name": "since", "type": "date", "description": "First day counted", "required": True},
    {"name": "countries", "type": "array", "items": "string", "description": "Exact codes to count", "required": False},
    {"name": "below", "type": "float", "description": "Highest price of the products counted", "required": True},
]


def made() -> dict[str, list[dict[str, Any]]]:
    chance = random.Random(5)
    return {
        "orders": [
            {"id": n, "customer_id": chance.randint(1, 40), "product_id": chance.randint(1, 12),
             "day": DAY + timedelta(days=chance.randrange(90)), "total": Decimal(chance.randrange(100, 9999)) / 100,
             "currency": chance.choice(["EUR", "NOK", None])}
            for n in range(1, 801)
        ],
        "customers": [{"id": n, "name": f"Käufer {n}", "country": chance.choice(COUNTRIES)} for n in range(1, 41)],
        "products": [
            {"id": n, "category": chance.choice(["book", "map", "pen"]), "price": Decimal(n * 3)} for n in range(1, 13)
        ],
        "regions": [{"country": code, "region": "north" if code in ("NO", "SE") else "south"} for code in COUNTRIES],
        "rates": [{"currency": "EUR", "rate": Decimal("1.0")}, {"currency": "NOK", "rate": Decimal("0.5")}],
    }  # fmt: skip


def values(rows: list[dict[str, Any]]) -> str:
    def literal(value: Any) -> str:
        return "NULL" if value is None else f"'{value}'" if isinstance(value, (str, date)) else str(value)

    return ", ".join("(" + ", ".join(literal(value) for value in row.values()) + ")" for row in rows)


@pytest.mark.parametrize("countries", [None, ["NO"], ["NO", "DE", "FR"], []], ids=["all", "one", "three", "none"])
def test_one_sql_over_five_kinds_of_source_equals_duckdb_over_copies(
    cli: Cli, tmp_path: Path, postgres: PostgresServer, mariadb: MariaDBServer, countries: list[str] | None
) -> None:
    data = made()

    def customers(seen: Seen) -> Any:
        wanted = [value for name, value in seen.pairs if name == "country"]
        rows = [row for row in data["customers"] if not wanted or row["country"] in wanted]
        page = int(seen.query.get("page", "1"))
        return {"data": {"items": rows[(page - 1) * 15 : page * 15]}}

    pacsv.write_csv(pa.Table.from_pylist(data["regions"]), tmp_path / "regions.csv")
    pq.write_table(pa.Table.from_pylist(data["rates"]), tmp_path / "rates.parquet")
    orders = ("CREATE TABLE orders (id int PRIMARY KEY, customer_id int, product_id int, day date, "
              "total numeric(8, 2), currency varchar(3)); "
              f"INSERT INTO orders VALUES {values(data['orders'])}")  # fmt: skip
    products = ("CREATE TABLE products (id int PRIMARY KEY, category varchar(20), price decimal(8, 2)); "
                f"INSERT INTO products VALUES {values(data['products'])}")  # fmt: skip
    arguments = {"since": "2026-02-01", "countries": countries, "below": 20}
    with (
        HttpServer({"/customers": customers}) as server,
        postgres.database(orders) as pg,
        mariadb.database(products) as my,
    ):
        sources = [
            {"id": "orders", "type": "postgres", "dsn": pg, "table": "orders"},
            {"id": "customers", "type": "rest", "url": f"{server.url}/customers", "data_path": "data.items",
             "pagination": {"strategy": "page", "page_param": "page", "size_param": "size", "page_size": 15},
             "pushdown": {"country": {"param": "country", "operators": ["=", "in"], "exact": True}}},
            {"id": "products", "type": "mysql", "dsn": my, "table": "products"},
            {"id": "regions", "type": "csv", "path": "./regions.csv"},
            {"id": "rates", "type": "file", "path": "./rates.parquet"},
        ]  # fmt: skip
        tool = {"id": "count_revenue", "name": "Count revenue", "category": "READ", "parameters": PARAMETERS,
                "description": "Count orders and revenue for each region and category.", "sql": SQL}  # fmt: skip
        path = connector(tmp_path, sources, [tool])
        output = tmp_path / "answer.parquet"
        outcome = cli("call", path, "count_revenue", "--args", json.dumps(arguments), "-o", output)
        assert outcome.code == 0, outcome.err
        planned = cli("plan", path, "count_revenue", "--args", json.dumps(arguments), "--format", "json").json
    answer = pq.read_table(output).to_pylist()
    assert answer == in_duckdb(data, arguments)
    sent = {plan["source"]: plan["sent"][0] for plan in planned["sources"]}
    assert "WHERE" in sent["orders"]
    assert "WHERE" in sent["products"]
    if countries == ["NO"]:
        assert all(seen.pairs[0] == ("country", "NO") for seen in server.requests)
        assert "country=NO" in sent["customers"]


def in_duckdb(data: dict[str, list[dict[str, Any]]], arguments: dict[str, Any]) -> list[dict[str, Any]]:
    countries = arguments["countries"]
    sql = SQL.replace(":since", "DATE '2026-02-01'").replace(":below", "20::DOUBLE")
    sql = sql.replace(":countries IS NULL", str(countries is None))
    listed = ", ".join(f"'{code}'" for code in countries or [])
    sql = sql.replace("IN (:countries)", f"IN ({listed})" if listed else "= ANY([]::VARCHAR[])")
    with duckdb.connect() as database:
        for name, held in data.items():
            database.register(name, typed(name, held))
        rows: list[dict[str, Any]] = database.sql(sql).to_arrow_table().to_pylist()
        return rows


def typed(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    """As a copy of the database's own table would be."""
    table = pa.Table.from_pylist(rows)
    for column, kind in (("total", pa.decimal128(8, 2)), ("price", pa.decimal128(8, 2))):
        if column in table.column_names:
            index = table.column_names.index(column)
            table = table.set_column(index, column, table[column].cast(kind))
    return table


def test_a_connector_in_the_second_spelling_answers_acts_and_joins(
    cli: Cli, tmp_path: Path, postgres: PostgresServer, mariadb: MariaDBServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tickets(seen: Seen) -> Any:
        if seen.headers.get("authorization") != "Basic YWRhOnBhc3N3b3Jk":  # ada:password
            return Reply({}, 401)
        if seen.query.get("cursor") is None:
            return {"items": [{"id": 1, "words": seen.query["words"]}], "meta": {"next": "second"}}
        return {"items": [{"id": 2, "words": seen.query["words"]}], "meta": {"next": None}}

    entries = (
        "CREATE TABLE entries (id int, amount numeric(8, 2), booked bool); "
        "INSERT INTO entries VALUES (1, 2.5, true), (2, 4, false), (3, 1.25, true)"
    )
    stock = "CREATE TABLE stock (id int); INSERT INTO stock VALUES (1), (2)"
    file = SEED.parents[1] / "second" / "helpdesk.connector.json"
    with (
        HttpServer({"/v2/tickets": tickets, "PATCH /v2/tickets/{id}/close": {"closed": True}}) as server,
        postgres.database(entries) as ledger,
        mariadb.database(stock) as goods,
    ):
        monkeypatch.setenv("DESK_LOGIN", "ada:password")
        monkeypatch.setenv("LEDGER_URL", ledger)
        monkeypatch.setenv("STOCK_URL", goods)
        path = tmp_path / "helpdesk.connector.json"
        path.write_text(file.read_text().replace("https://desk.example.com", server.url))
        assert cli("lint", path).code == 0
        found = cli("call", path, "search_tickets", "words=printer", "--format", "json")
        assert found.code == 0, found.err
        assert [(row["id"], row["words"]) for row in found.json["rows"]] == [(1, "printer"), (2, "printer")]
        closed = cli("call", path, "close_ticket", "ticket_id=7", "reason=fixed", "notify=true", "--format", "json")
        assert closed.json["response"]["body"] == {"closed": True}
        assert (server.last.path, server.last.json()) == ("/v2/tickets/7/close", {"reason": "fixed"})
        assert cli("call", path, "sum_ledger", "--format", "json").json["rows"] == [{"booked": "3.75", "goods": 1}]
