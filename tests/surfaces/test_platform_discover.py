"""Discovery against real servers: APIs, databases, documents, files; and no secret that reaches a file or an answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from servers.http import HttpServer, Reply, Seen
from servers.mariadb import MariaDBServer
from servers.postgres import PostgresServer

from jackfield.graphs.errors import Code

from .platform_bench import Workbench, workbench

pytestmark = pytest.mark.anyio
PETS = [
    {"id": n, "name": f"Pet {n}", "status": ["free", "sold"][n % 2], "owner": {"city": "Oslo"}, "api_token": f"tok{n}"}
    for n in range(1, 36)
]
ALLOWED = {"JACKFIELD_DISCOVER_VARIABLES": "SHOP_DB,PETS_TOKEN,NOT_SET"}


async def discover(bench: Workbench, url: str, name: str = "pets", **config: Any) -> dict[str, Any]:
    return await bench("elliot_discover_source", source_type="rest", config={"url": url, **config}, name=name)


def by_page(seen: Seen) -> Any:
    page, size = int(seen.query.get("page", "1")), int(seen.query.get("per_page", "10"))
    items = PETS[(page - 1) * size : page * size]
    return {"data": {"items": items}, "page": page, "per_page": size, "total": len(PETS)}


def by_offset(seen: Seen) -> Any:
    skip, limit = int(seen.query.get("skip", "0")), int(seen.query.get("limit", "10"))
    return {"skip": skip, "limit": limit, "total": len(PETS), "pets": PETS[skip : skip + limit]}


def by_cursor(seen: Seen) -> Any:
    start = int(seen.query.get("after", "0"))
    following = str(start + 10) if start + 10 < len(PETS) else None
    return {"pets": PETS[start : start + 10], "page_info": {"end_cursor": following}}


def by_link(seen: Seen) -> Reply:
    page = int(seen.query.get("page", "1"))
    headers = {"link": f'</linked?page={page + 1}>; rel="next"'} if page < 4 else {}
    return Reply(PETS[(page - 1) * 10 : page * 10], headers={**headers, "x-total-count": "35"})


def by_next(seen: Seen) -> Any:
    page = int(seen.query.get("p", "1"))
    following = f"/next?p={page + 1}" if page < 4 else None
    return {"count": 35, "next": following, "results": PETS[(page - 1) * 10 : page * 10]}


@pytest.mark.parametrize(
    ("route", "handler", "strategy", "data_path"),
    [
        ("/paged", by_page, "page", "data.items"),
        ("/offset", by_offset, "offset", "pets"),
        ("/cursor", by_cursor, "cursor", "pets"),
        ("/linked", by_link, "link_header", None),
        ("/next", by_next, "next_url", "results"),
    ],
)
async def test_the_source_that_is_found_reads_every_page(
    tmp_path: Path, route: str, handler: Any, strategy: str, data_path: str | None
) -> None:
    with HttpServer({route: handler}) as server:
        async with workbench(tmp_path) as bench:
            found = await discover(bench, f"{server.url}{route}")
            assert found["pagination"]["strategy"] == strategy
            assert found["source"].get("data_path") == data_path
            columns = {column["name"]: column for column in found["columns"]}
            assert columns["id"]["key"]
            assert columns["status"]["values_seen"] == ["free", "sold"]
            assert columns["owner_city"]["type"] == "string"
            await bench("build-connector", name="Pets", sources=["pets"])
            assert (await bench("deploy-connector", connector="pets"))["blocks"] == []
            assert len(await bench.rows("pets", "list_pets", limit=500)) == 35


async def test_pages_are_made_larger_where_the_api_gives_so_many_and_not_where_it_gives_fewer(tmp_path: Path) -> None:
    rows = [{"id": n} for n in range(1, 1501)]

    def generous(seen: Seen) -> Any:
        page, size = int(seen.query.get("page", "1")), int(seen.query.get("limit", "20"))
        return {"page": page, "limit": 20, "total": 1500, "rows": rows[(page - 1) * size : page * size]}

    def stingy(seen: Seen) -> Any:
        page, size = int(seen.query.get("page", "1")), min(20, int(seen.query.get("limit", "20")))
        return {"page": page, "limit": 20, "total": 1500, "rows": rows[(page - 1) * size : page * size]}

    with HttpServer({"/generous": generous, "/stingy": stingy}) as server:
        async with workbench(tmp_path) as bench:
            for name, size in (("generous", 100), ("stingy", 20)):
                found = await discover(bench, f"{server.url}/{name}", name)
                assert found["pagination"]["page_size"] == size
                await bench("build-connector", name=name, sources=[name], tools=[count(name)])
                assert (await bench("deploy-connector", connector=name))["blocks"] == []
                assert await bench.rows(name, f"count_{name}") == [{"records": 1500}]


def count(name: str) -> dict[str, Any]:
    return {
        "id": f"count_{name}",
        "name": "Count",
        "category": "READ",
        "description": "Count the records that there are.",
        "sql": f"SELECT count(*) AS records FROM {name}",
        "parameters": [],
    }


async def test_a_guess_about_pages_that_the_api_does_not_know_is_given_up(tmp_path: Path) -> None:
    with HttpServer({"/pets": {"total": 100, "pets": PETS[:10]}}) as server:
        async with workbench(tmp_path) as bench:
            found = await discover(bench, f"{server.url}/pets")
            assert found["pagination"] is None
            assert (found["row_count"], found["row_count_is_exact"]) == (100, True)
            assert any("first page" in warning for warning in found["warnings"])


async def test_credentials_that_are_needed_are_told_and_named_but_never_asked_for(tmp_path: Path) -> None:
    def guarded(seen: Seen) -> Any:
        if seen.headers.get("authorization") != "Bearer open-sesame-77":
            return Reply({"error": "who?"}, 401, {"www-authenticate": 'Bearer realm="pets"'})
        return PETS

    with HttpServer({"/pets": guarded}) as server:
        async with workbench(tmp_path, variables={"PETS_TOKEN": "open-sesame-77"}, settings=ALLOWED) as bench:
            found = await discover(bench, f"{server.url}/pets")
            assert found["auth"]["required"]
            assert found["auth"]["add"] == {"type": "bearer", "secret_key": "PETS_TOKEN"}
            assert found["columns"] == []
            assert "PETS_TOKEN" in found["warnings"][0]
            refused = await bench.failed("build-connector", name="Pets", sources=["pets"])
            assert "PETS_TOKEN" in refused.hint
            again = await discover(bench, f"{server.url}/pets", auth=found["auth"]["add"])
            assert again["row_count"] == 35
            assert "open-sesame" not in json.dumps(again)


async def test_a_variable_that_is_not_set_is_named(tmp_path: Path) -> None:
    with HttpServer({"/pets": PETS}) as server:
        async with workbench(tmp_path, settings=ALLOWED) as bench:
            config = {"url": f"{server.url}/pets", "auth": {"type": "bearer", "secret_key": "NOT_SET"}}
            refused = await bench.failed("elliot_discover_source", source_type="rest", config=config)
            assert (refused.code, refused.details["variable"]) == (Code.SECRET_MISSING, "NOT_SET")


SECRET = "hunter2hunter2abc"


@pytest.mark.parametrize(
    ("source_type", "config"),
    [
        ("postgres", {"dsn": f"postgresql://user:{SECRET}@127.0.0.1/db"}),
        ("postgres", {"dsn": f"host=127.0.0.1 user=u password={SECRET} dbname=db"}),
        ("mysql", {"url": f"mysql://user:{SECRET}@127.0.0.1/db"}),
        ("rest", {"url": f"https://user:{SECRET}@127.0.0.1/x"}),
        ("rest", {"url": f"https://127.0.0.1/x?api_key={SECRET}"}),
        ("rest", {"url": "https://127.0.0.1/x", "auth": {"type": "bearer", "token": SECRET}}),
        ("rest", {"url": "https://127.0.0.1/x", "auth": {"type": "bearer", "secret_key": f"sk-{SECRET}-0000000"}}),
        ("rest", {"url": "https://127.0.0.1/x", "headers": {"Authorization": f"Bearer {SECRET}"}}),
        ("rest", {"url": "https://127.0.0.1/x", "headers": {"X-Api-Key": "a8F3kq0ZxP29LmT7"}}),
    ],
)
async def test_a_secret_in_the_config_is_refused_and_not_repeated(
    tmp_path: Path, source_type: str, config: dict[str, Any]
) -> None:
    async with workbench(tmp_path) as bench:
        refused = await bench.failed("elliot_discover_source", source_type=source_type, config=config)
        assert refused.code is Code.VALIDATION_INVALID_PARAMS
        told = json.dumps(refused.as_json())
        assert "hunter2" not in told
        assert "a8F3kq0ZxP29LmT7" not in told
        assert "environment variable" in refused.hint
        assert bench.files() == []


async def test_an_openapi_document_gives_a_source_for_each_list_and_each_record(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"}}}
    array = {"type": "array", "items": schema}
    document = {
        "openapi": "3.0.0",
        "paths": {
            "/pets": {
                "get": {
                    "parameters": [{"name": "name", "in": "query", "schema": {"type": "string"}}],
                    "responses": {"200": {"content": {"application/json": {"schema": array}}}},
                }
            },
            "/pets/{id}": {
                "get": {
                    "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"},
                                    "example": 3}],
                    "responses": {"200": {"content": {"application/json": {"schema": schema}}}},
                }
            },
        },
    }  # fmt: skip

    def listed(seen: Seen) -> Any:
        return [pet for pet in PETS if seen.query.get("name") in (None, pet["name"])]

    def one(seen: Seen) -> Any:
        return PETS[int(seen.params["id"]) - 1]

    with HttpServer({"/openapi.json": document, "/pets": listed, "/pets/{id}": one}) as server:
        async with workbench(tmp_path) as bench:
            config = {"url": f"{server.url}/openapi.json"}
            found = await bench("elliot_discover_source", source_type="openapi", config=config, name="petstore")
            assert [one["source_id"] for one in found["tables"]] == ["pets", "pet_by_id"]
            await bench("build-connector", name="Petstore", sources=["pets", "pet_by_id"])
            deployed = await bench("deploy-connector", connector="petstore")
            assert deployed["blocks"] == []
            assert [one["tool"] for one in deployed["smoke"]] == ["list_pets", "get_pet"]
            assert [row["id"] for row in await bench.rows("petstore", "list_pets", pet_name="Pet 7")] == [7]
            assert (await bench.rows("petstore", "get_pet", pet_id=9))[0]["name"] == "Pet 9"


SCHEMA = """
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE TABLE shops (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), name text NOT NULL, mood mood, password text);
INSERT INTO shops (name, mood, password) SELECT 'Shop ' || n, 'ok', 'hunter2' FROM generate_series(1, 3) n;
CREATE TABLE orders (id serial PRIMARY KEY, shop_id uuid REFERENCES shops (id), total numeric(10,2), day date,
                     status text, "Odd Name" text);
INSERT INTO orders (shop_id, total, day, status)
  SELECT (SELECT id FROM shops ORDER BY name LIMIT 1), n, date '2026-01-01' + n,
         CASE WHEN n % 2 = 0 THEN 'open' ELSE 'shut' END FROM generate_series(1, 700) n;
CREATE SCHEMA other; CREATE TABLE other.notes (id int PRIMARY KEY, text text);
CREATE VIEW open_orders AS SELECT id, total FROM orders WHERE status = 'open';
"""


async def test_every_table_of_postgres_is_found_with_keys_enums_and_counts(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    with postgres.database(SCHEMA) as dsn:
        async with workbench(tmp_path, variables={"SHOP_DB": dsn}, settings=ALLOWED) as bench:
            config = {"dsn": "{{ env:SHOP_DB }}"}
            found = await bench("elliot_discover_source", source_type="postgres", config=config)
            tables = {table["source_id"]: table for table in found["tables"]}
            assert list(tables) == ["notes", "open_orders", "orders", "shops"]
            assert tables["notes"]["source"]["table"] == "other.notes"
            assert (tables["orders"]["row_count"], tables["orders"]["row_count_is_exact"]) == (700, True)
            columns = {column["name"]: column for column in tables["orders"]["columns"]}
            assert columns["shop_id"]["references"] == "shops.id"
            assert columns["total"]["type"] == "decimal(10,2)"
            shop = {column["name"]: column for column in tables["shops"]["columns"]}
            assert shop["mood"]["values"] == ["sad", "ok"]
            assert shop["password"]["sensitive"]
            told = json.dumps(found)
            assert "hunter2" not in told
            assert postgres.quoted not in told
            await bench("build-connector", name="Shop", sources=list(tables))
            deployed = await bench("deploy-connector", connector="shop")
            assert deployed["blocks"] == []
            rows = await bench.rows("shop", "list_orders_with_shop", status="open", limit=3)
            assert [row["shop_name"] for row in rows] == ["Shop 1"] * 3
            assert "password" not in rows[0]
            assert "hunter2" not in json.dumps(bench.bench.target("shop").read_text())


async def test_mysql_and_one_query_of_it_are_found_alike(tmp_path: Path, mariadb: MariaDBServer) -> None:
    sql = """
    CREATE TABLE shops (id int PRIMARY KEY, mood enum('sad', 'ok'), `rank` int);
    INSERT INTO shops VALUES (1, 'ok', 3), (2, 'sad', 4);
    CREATE TABLE orders (id int PRIMARY KEY, shop_id int, FOREIGN KEY (shop_id) REFERENCES shops (id));
    INSERT INTO orders VALUES (1, 1), (2, 1), (3, 2);
    """
    with mariadb.database(sql) as dsn:
        async with workbench(tmp_path, variables={"SHOP_DB": dsn}, settings=ALLOWED) as bench:
            config = {"dsn": "{{ env:SHOP_DB }}"}
            found = await bench("elliot_discover_source", source_type="mariadb", config=config)
            assert [table["source_id"] for table in found["tables"]] == ["orders", "shops"]
            await bench("build-connector", name="Shop", sources=["orders", "shops"])
            assert (await bench("deploy-connector", connector="shop"))["blocks"] == []
            assert [row["shop_mood"] for row in await bench.rows("shop", "list_orders_with_shop")] == [
                "ok",
                "ok",
                "sad",
            ]
            query = {**config, "query": "SELECT mood, count(*) AS shops FROM shops GROUP BY mood"}
            one = await bench("elliot_discover_source", source_type="mysql", config=query, name="moods")
            assert [column["name"] for column in one["columns"]] == ["mood", "shops"]


NAMES = ["order", "user", "rank", "key", "groups", "desc", "interval", "Odd Name", "UPPER", "camelCase", "type",
         "limit", "else", "values", "condition", "número", "a-b", "2nd", "end", "row_number"]  # fmt: skip


@pytest.mark.parametrize("engine", ["postgres", "mysql"])
async def test_columns_of_any_name_are_read_and_filtered_in_the_database(
    tmp_path: Path, engine: str, request: pytest.FixtureRequest
) -> None:
    server = request.getfixturevalue("postgres" if engine == "postgres" else "mariadb")
    mark = '"' if engine == "postgres" else "`"
    parts = [NAMES[number : number + 5] for number in range(0, len(NAMES), 5)]  # a list is narrowed by five at most
    sql = ""
    for number, part in enumerate(parts):
        table = f"{mark}Select {number}{mark}"
        columns = ", ".join(f"{mark}{name}{mark} varchar(9)" for name in part)
        sql += f"CREATE TABLE {table} (id int PRIMARY KEY, {columns});"
        for row in range(1, 9):
            values = ", ".join([repr("ab"[row % 2])] * len(part))
            sql += f"INSERT INTO {table} VALUES ({row}, {values});"
    with server.database(sql) as dsn:
        async with workbench(tmp_path, variables={"SHOP_DB": dsn}, settings=ALLOWED) as bench:
            config = {"dsn": "{{ env:SHOP_DB }}"}
            found = await bench("elliot_discover_source", source_type=engine, config=config)
            tables = [table["source_id"] for table in found["tables"]]
            built = await bench("build-connector", name="Odd", sources=tables)
            assert (len(tables), built["errors"], built["warnings"]) == (len(parts), 0, 0)
            assert (await bench("deploy-connector", connector="odd"))["blocks"] == []
            for listing in list(bench.app.connector("odd").tools.values())[: len(parts)]:
                filters = [name for name in listing.input_schema["properties"] if name != "limit"]
                assert (listing.id[:5], len(filters), listing.at is not None) == ("list_", 5, True)
                rows = await bench.rows("odd", listing.id, **dict.fromkeys(filters, "a"))
                assert [row["id"] for row in rows] == [2, 4, 6, 8]


@pytest.mark.parametrize(
    ("name", "text", "config"),
    [
        ("a.csv", "id,name\n1,Tom\n2,Rex\n", {}),
        ("a.json", '{"zoo": {"animals": [{"id": 1}, {"id": 2}]}}', {"data_path": "zoo.animals"}),
        ("b.json", '{"zoo": {"name": "x", "animals": [{"id": 1}, {"id": 2}]}}', {}),
        ("a.jsonl", '{"id": 1}\n{"id": 2}\n', {}),
    ],
)
async def test_files_are_found_by_the_node_that_will_read_them(
    tmp_path: Path, name: str, text: str, config: dict[str, Any]
) -> None:
    async with workbench(tmp_path) as bench:
        await bench("elliot_upload_file", file_name=name, content=text)
        path = f"uploads/{name}"
        found = await bench("elliot_discover_source", source_type="file", config={"path": path, **config})
        assert (found["row_count"], found["columns"][0]["name"]) == (2, "id")


async def test_many_tables_and_wide_ones_are_told_in_few_words(tmp_path: Path, postgres: PostgresServer) -> None:
    columns = ", ".join(f"column_number_{n} text" for n in range(60))
    sql = "".join(f"CREATE TABLE wide_{n:02} (id int PRIMARY KEY, {columns});" for n in range(30))
    with postgres.database(sql) as dsn:
        async with workbench(tmp_path, variables={"SHOP_DB": dsn}, settings=ALLOWED) as bench:
            config = {"dsn": "{{ env:SHOP_DB }}"}
            found = await bench("elliot_discover_source", source_type="postgres", config=config)
            assert len(json.dumps(found)) < 25_000
            assert len(found["tables"]) == 25
            assert "5 more tables were not looked at: wide_25" in found["tables"][0]["warnings"][0]
            one = await bench("elliot_discover_source", source_type="postgres", config={**config, "table": "wide_29"})
            assert len(one["columns"]) == 60
            assert "1 of 61 columns" in one["warnings"][-1]
            built = await bench("build-connector", name="Wide", sources=["wide_00", "wide_29"])
            assert (built["errors"], built["warnings"]) == (0, 0)


async def test_a_source_that_an_agent_changed_keeps_what_was_found_of_it(tmp_path: Path) -> None:
    with HttpServer({"/pets": PETS}) as server:
        async with workbench(tmp_path) as bench:
            found = await discover(bench, f"{server.url}/pets")
            asked = len(server.requests)
            source = {**found["source"], "cache_ttl_s": 5, "rate_limit": {"requests": 5, "per_s": 1}}
            built = await bench("build-connector", name="Pets", sources=[source])
            assert len(server.requests) == asked
            assert json.loads(built["text"])["sources"] == [source]
            whole = await bench("build-connector", name="Pets", sources=[found])
            assert json.loads(whole["text"])["sources"] == [found["source"]]
            moved = {**source, "url": f"{server.url}/pets?x=1"}
            await bench("build-connector", name="Pets", sources=[moved])
            assert len(server.requests) > asked


@pytest.mark.parametrize("path", ["../../etc/passwd", "/etc/passwd", "~/x.csv", "uploads/../../x.csv", "file:///etc/x"])
async def test_a_file_outside_of_the_workspace_is_refused(tmp_path: Path, path: str) -> None:
    (tmp_path / "x.csv").write_text("a\n1\n")
    async with workbench(tmp_path / "workspace") as bench:
        refused = await bench.failed("elliot_discover_source", source_type="csv", config={"path": path})
        assert refused.code is Code.VALIDATION_INVALID_PARAMS


async def test_a_page_of_html_and_a_redirect_elsewhere_are_told_for_what_they_are(tmp_path: Path) -> None:
    html = Reply("<html>log in</html>", 200, {"content-type": "text/html"})
    away = Reply(b"", 302, {"location": "https://elsewhere.example.net/"})
    with HttpServer(
        {"/html": html, "/away": away, "/moved": Reply(b"", 301, {"location": "/pets"}), "/pets": PETS}
    ) as s:
        async with workbench(tmp_path) as bench:
            for route in ("/html", "/away"):
                config = {"url": f"{s.url}{route}"}
                refused = await bench.failed("elliot_discover_source", source_type="rest", config=config)
                assert refused.code is Code.SOURCE_BAD_REPLY
            found = await discover(bench, f"{s.url}/moved")
            assert found["source"]["url"] == f"{s.url}/pets"
            assert "redirected" in found["warnings"][0]


async def test_a_mistaken_config_names_the_field(tmp_path: Path) -> None:
    async with workbench(tmp_path) as bench:
        missing = await bench.failed("elliot_discover_source", source_type="postgres", config={})
        assert (missing.code, missing.details["parameter"]) == (Code.VALIDATION_MISSING_FIELD, "config.dsn")
        config = {"url": "https://127.0.0.1/x", "datapath": "a"}
        unknown = await bench.failed("elliot_discover_source", source_type="rest", config=config)
        assert unknown.details["parameter"] == "config.datapath"
        kind = await bench.failed("elliot_discover_source", source_type="ftp", config={"url": "x"})
        assert kind.code is Code.VALIDATION_INVALID_PARAMS


async def test_what_one_principal_discovered_is_not_anothers(tmp_path: Path) -> None:
    with HttpServer({"/pets": PETS}) as server:
        async with workbench(tmp_path) as bench:
            await discover(bench, f"{server.url}/pets")
            refused = await bench.failed("build-connector", principal="eve", name="Pets", sources=["pets"])
            assert (refused.code, refused.details["available"]) == (Code.SCHEMA_NOT_FOUND, [])
