"""The `rest` source against a real server: what it sends, how it reads, and how it fails."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import threading
from collections.abc import Mapping
from typing import Any

import anyio
import pytest
from servers.http import Hang, HttpServer, Reply, Seen

from jackfield.engine.engine import Engine, Settings
from jackfield.engine.environment import Environment
from jackfield.engine.runs import Run
from jackfield.graphs.errors import Code, JackfieldError
from jackfield.graphs.model import Edge, Graph, Node
from jackfield.nodes import NODE_TYPES, rest
from jackfield.nodes.records import tables_of
from jackfield.nodes.rest import RestConfiguration, arguments_of, explain
from jackfield.nodes.scan import Predicate, Scan
from jackfield.nodes.secrets import EnvironmentSecrets
from jackfield.nodes.table import Table

pytestmark = pytest.mark.anyio

SECRETS = {
    "TOKEN": "tok-123456",
    "USER": "ada",
    "PASS": "p:ä ss-word",
    "PAIR": "ada:p:w",
    "COLON": "a:b",
    "HOST_PATH": "v1",
}


def graph(source: Mapping[str, Any], *ports: str) -> Graph:
    """One source, wired to the arguments and the scan that the run is given."""
    nodes = (Node("input", "input"), Node("items", "rest", source), Node("output", "output"))
    wires = [Edge("items", "output", port, port) for port in ports or ("rows",)]
    inputs = [Edge("input", "items", "scan", "scan"), Edge("input", "items", "arguments", "$arguments")]
    return Graph(nodes, (*inputs, *wires))


async def pull(
    source: Mapping[str, Any],
    arguments: Mapping[str, Any] | None = None,
    scan: Scan | None = None,
    *,
    engine: Engine | None = None,
    ports: tuple[str, ...] = (),
    **options: Any,
) -> Run:
    environment = Environment(connector="shop", secrets=EnvironmentSecrets(SECRETS))
    inputs = {"arguments": arguments or {}, "scan": scan or Scan()}
    if engine is not None:
        return await engine.run(graph(source, *ports), inputs, environment=environment, **options)
    async with Engine(NODE_TYPES) as own:
        return await own.run(graph(source, *ports), inputs, environment=environment, **options)


def table(run: Run, port: str = "rows") -> Table:
    value = run.outputs[0][1][port]
    assert isinstance(value, Table)
    return value


def rows(run: Run) -> list[dict[str, Any]]:
    return table(run).to_pylist()


def notes(run: Run, kind: str) -> list[Mapping[str, Any]]:
    return [event.facts for event in run.events if event.kind == kind]


async def failure(
    source: Mapping[str, Any], arguments: Mapping[str, Any] | None = None, **options: Any
) -> JackfieldError:
    with pytest.raises(JackfieldError) as caught:
        await pull(source, arguments, **options)
    return caught.value


async def test_records_are_read_from_the_data_path() -> None:
    with HttpServer({"/items": {"data": {"items": [{"id": 1}, {"id": 2}]}}}) as server:
        run = await pull({"url": f"{server.url}/items", "data_path": "data.items"})
        assert rows(run) == [{"id": 1}, {"id": 2}]
        assert dict(notes(run, "pulled")[0]) == {"rows": 2, "bytes": 43, "requests": 1}
        assert server.last.headers["accept"] == "application/json"


async def test_params_bind_arguments_and_leave_out_what_is_absent() -> None:
    params = {
        "q": ":text",
        "since": ":since",
        "tag": ":tags",
        "gone": ":gone",
        "fixed": 5,
        "on": True,
        "key": "{{ env:TOKEN }}",
    }
    with HttpServer({"/items": []}) as server:
        arguments = {"text": "{{ env:PASS }} & :x", "since": dt.date(2025, 3, 1), "tags": ["a", "b"], "gone": None}
        await pull({"url": f"{server.url}/items", "params": params}, arguments)
        assert server.last.pairs == (
            ("q", "{{ env:PASS }} & :x"),
            ("since", "2025-03-01"),
            ("tag", "a"),
            ("tag", "b"),
            ("fixed", "5"),
            ("on", "true"),
            ("key", "tok-123456"),
        )


@pytest.mark.parametrize("value", ["a/b", "../keys", "1?admin=1", "1#x", "%2e%2e", "ü ;,", "{{ env:TOKEN }}", 7])
async def test_a_path_argument_is_one_segment_whatever_it_holds(value: object) -> None:
    """PATH-15, TPL-04"""
    with HttpServer({"/v1/users/{rest:path}": [{"id": 1}]}) as server:
        await pull({"url": server.url + "/{{ env:HOST_PATH }}/users/{id}/posts"}, {"id": value})
        assert server.last.raw_path.count("/") == 4
        assert server.last.params["rest"] == f"{value}/posts"
        assert server.last.pairs == ()


@pytest.mark.parametrize("value", ["", ".", ".."])
async def test_a_path_argument_that_would_climb_is_refused(value: str) -> None:
    """PATH-15"""
    error = await failure({"url": "http://127.0.0.1:1/users/{id}"}, {"id": value})
    assert (error.code, error.details["parameter"]) == (Code.VALIDATION_INVALID_PARAMS, "id")


async def test_two_path_arguments_can_not_climb_together() -> None:
    error = await failure({"url": "http://127.0.0.1:1/users/{a}{b}/x"}, {"a": ".", "b": "."})
    assert error.code is Code.VALIDATION_INVALID_PARAMS


async def test_a_missing_path_argument_is_named() -> None:
    error = await failure({"url": "http://127.0.0.1:1/users/{id}"}, {"id": None})
    assert (error.code, error.details["parameter"]) == (Code.VALIDATION_MISSING_FIELD, "id")


async def test_no_argument_may_choose_the_host() -> None:
    error = await failure({"url": "http://{host}/users"}, {"host": "evil.test"})
    assert error.code is Code.CONFIG_INVALID


def test_the_arguments_that_a_source_names_are_known() -> None:
    config = RestConfiguration(url="http://x/{id}", params={"q": ":text"}, body={"a": [":deep"]}, headers={"x": ":h"})
    assert arguments_of(config) == {"id", "text", "deep", "h"}


AUTHS: list[tuple[dict[str, Any], str, str]] = [
    ({"type": "bearer", "secret_key": "TOKEN"}, "authorization", "Bearer tok-123456"),
    ({"type": "api_key", "secret_key": "TOKEN", "header_name": "X-Api-Key"}, "x-api-key", "tok-123456"),
    (
        {"type": "api_key", "secret_key": "TOKEN", "header_name": "Authorization", "prefix": "Token "},
        "authorization",
        "Token tok-123456",
    ),
    (
        {"type": "basic", "user_secret_key": "USER", "pass_secret_key": "PASS"},
        "authorization",
        "Basic YWRhOnA6w6Qgc3Mtd29yZA==",
    ),
    ({"type": "basic", "secret_key": "PAIR"}, "authorization", "Basic YWRhOnA6dw=="),
]


@pytest.mark.parametrize(("auth", "name", "value"), AUTHS)
async def test_credentials_go_into_their_header(auth: dict[str, Any], name: str, value: str) -> None:
    """AUTH-13"""
    with HttpServer({"/items": []}) as server:
        await pull({"url": f"{server.url}/items", "auth": auth})
        assert server.last.headers[name] == value


@pytest.mark.parametrize("auth", [None, {"type": "none"}])
async def test_no_credentials_are_sent_without_auth(auth: object) -> None:
    with HttpServer({"/items": []}) as server:
        await pull({"url": f"{server.url}/items", "auth": auth})
        assert "authorization" not in server.last.headers


@pytest.mark.parametrize("place", [{"query_param": "key"}, {"header_name": "key", "in": "query"}])
async def test_an_api_key_may_go_into_the_query_and_into_no_message(place: dict[str, str]) -> None:
    auth = {"type": "api_key", "secret_key": "TOKEN", **place}
    with HttpServer({"/items": lambda seen: Reply(f"bad key {seen.query['key']}", 400)}) as server:
        error = await failure({"url": f"{server.url}/items", "auth": auth})
        assert server.last.query["key"] == "tok-123456"
        assert error.message == "Source 'items' answered 400 Bad Request: bad key ***."
        assert "tok-123456" not in repr(error)


@pytest.mark.parametrize(
    ("auth", "code"),
    [
        ({"type": "basic", "user_secret_key": "COLON", "pass_secret_key": "PASS"}, Code.CONFIG_INVALID),
        ({"type": "basic", "secret_key": "TOKEN"}, Code.CONFIG_INVALID),
        ({"type": "bearer", "secret_key": "UNSET"}, Code.SECRET_MISSING),
        ({"type": "basic", "user_secret_key": "USER"}, Code.CONFIG_INVALID),
        ({"type": "api_key", "secret_key": "TOKEN"}, Code.CONFIG_INVALID),
        ({"type": "bearer"}, Code.CONFIG_INVALID),
    ],
)
async def test_credentials_that_can_not_be_made_are_an_error_before_anything_is_sent(
    auth: dict[str, Any], code: Code
) -> None:
    """AUTH-13, TPL-02"""
    with HttpServer({"/items": []}) as server:
        error = await failure({"url": f"{server.url}/items", "auth": auth})
        assert (error.code, server.requests) == (code, [])


async def test_a_post_searches_by_its_body() -> None:
    body = {"filter": {"q": ":text", "none": ":gone", "n": ":n"}, "key": "{{ env:HOST_PATH }}"}
    with HttpServer({"POST /search": lambda seen: {"hits": [seen.json()["filter"]]}}) as server:
        source = {"url": f"{server.url}/search", "method": "POST", "body": body, "data_path": "hits"}
        run = await pull(source, {"text": "{{ env:TOKEN }}", "gone": None, "n": 3})
        assert rows(run) == [{"q": "{{ env:TOKEN }}", "n": 3}]
        assert server.last.json()["key"] == "v1"
        assert server.last.headers["content-type"] == "application/json"


STATUSES: list[tuple[int, Code, str]] = [
    (401, Code.AUTH_FAILED, "401 Unauthorized"),
    (403, Code.AUTH_FAILED, "403 Forbidden"),
    (404, Code.SOURCE_ERROR, "404 Not Found"),
    (418, Code.SOURCE_ERROR, "418"),
    (301, Code.SOURCE_BAD_REPLY, "redirects are not followed"),
    (308, Code.SOURCE_BAD_REPLY, "redirects are not followed"),
]


@pytest.mark.parametrize(("status", "code", "words"), STATUSES)
async def test_each_status_has_its_code(status: int, code: Code, words: str) -> None:
    """RED-02"""
    with HttpServer({"/items": Reply(b"", status, {"location": "http://169.254.169.254/"})}) as server:
        error = await failure({"url": f"{server.url}/items"})
        assert (error.code, error.details["status"], len(server.requests)) == (code, status, 1)
        assert words in error.message
        assert "169.254" not in repr(error)


async def test_an_error_shows_a_little_of_its_body_without_secrets() -> None:
    body = b"first\n<b>" + b"x" * 5000 + b" Authorization: Bearer abcdef123456"
    with HttpServer(
        {"/items": Reply(body, 400), "/b": Reply(b'{"token": "abcdef123456", "why": "old"}', 400)}
    ) as server:
        error = await failure({"url": f"{server.url}/items"})
        assert len(error.message) < 300
        assert error.message.startswith("Source 'items' answered 400 Bad Request: first <b>xxx")
        error = await failure({"url": f"{server.url}/b"})
        assert "abcdef" not in error.message
        assert "old" in error.message


BAD_BODIES: dict[str, tuple[Reply, str]] = {
    "HTML": (Reply("<!DOCTYPE html><p>Log in", headers={"content-type": "text/html; charset=utf-8"}), "HTML"),
    "HTML that says it is JSON": (Reply(" <html></html>", headers={"content-type": "application/json"}), "HTML"),
    "nothing": (Reply(b"", headers={"content-type": "application/json"}), "an empty body"),
    "not its charset": (Reply(b'["\xff"]', headers={"content-type": "application/json; charset=utf-16"}), "utf-16"),
    "no charset at all": (Reply(b"[]", headers={"content-type": "application/json; charset=klingon"}), "klingon"),
    "latin-1 unsaid": (Reply(b'[{"a": "\xe9"}]', headers={"content-type": "application/json"}), "UTF-8"),
    "half": (Reply(b'[{"a": 1', headers={"content-type": "application/json"}), "not JSON"),
}


@pytest.mark.parametrize(("reply", "words"), BAD_BODIES.values(), ids=BAD_BODIES.keys())
async def test_a_body_that_is_not_the_promised_json_is_a_bad_reply(reply: Reply, words: str) -> None:
    with HttpServer({"/items": reply}) as server:
        error = await failure({"url": f"{server.url}/items"})
        assert error.code is Code.SOURCE_BAD_REPLY
        assert words in error.message
        assert "JSON" in error.message + error.hint


@pytest.mark.parametrize(
    "reply",
    [
        Reply('[{"a": "é"}]'.encode("latin-1"), headers={"content-type": "application/json; charset=ISO-8859-1"}),
        Reply('[{"a": "é"}]'.encode("utf-16"), headers={"content-type": "application/json; charset=utf-16"}),
        Reply('[{"a": "é"}]'.encode(), headers={"content-type": "text/plain"}),
        Reply(gzip.compress('[{"a": "é"}]'.encode()), headers={"content-encoding": "gzip"}),
        Reply("\ufeff" + '[{"a": "é"}]'),
    ],
)
async def test_json_is_read_in_its_charset_and_encoding(reply: Reply) -> None:
    with HttpServer({"/items": reply}) as server:
        assert rows(await pull({"url": f"{server.url}/items"})) == [{"a": "é"}]


async def test_no_content_is_no_rows() -> None:
    with HttpServer({"/items": Reply(b"", 204)}) as server:
        assert rows(await pull({"url": f"{server.url}/items", "schema": {"id": "int"}})) == []


async def test_json_lines_and_csv_are_read_when_the_source_says_so() -> None:
    lines = Reply('{"a": 1}\n{"a": 2}\n', headers={"content-type": "application/x-ndjson"})
    csv = Reply(
        'id;name;day;zip;ok\r\n1;"a;b";2025-03-01;01;true\r\n2;;2025-03-02;2;false\r\n',
        headers={"content-type": "text/csv"},
    )
    with HttpServer({"/lines": lines, "/csv": csv}) as server:
        assert rows(await pull({"url": f"{server.url}/lines", "format": "jsonl"})) == [{"a": 1}, {"a": 2}]
        found = rows(await pull({"url": f"{server.url}/csv", "format": "csv"}))
        assert found == [
            {"id": 1, "name": "a;b", "day": dt.date(2025, 3, 1), "zip": "01", "ok": True},
            {"id": 2, "name": None, "day": dt.date(2025, 3, 2), "zip": "2", "ok": False},
        ]


async def test_child_tables_come_on_their_own_ports() -> None:
    records = [{"id": 7, "items": [{"sku": "a"}, {"sku": "b"}]}, {"id": 8}]
    with HttpServer({"/orders": records}) as server:
        source = {"url": f"{server.url}/orders", "children": ["items", "notes"]}
        run = await pull(source, ports=("rows", "items", "notes"))
        assert rows(run) == [{"id": 7}, {"id": 8}]
        assert [row["_parent_id"] for row in table(run, "items").to_pylist()] == [7, 7]
        assert table(run, "notes").to_pylist() == []


async def test_an_empty_source_still_has_the_columns_that_a_query_needs() -> None:
    """One empty source must not break a join."""
    with HttpServer({"/items": []}) as server:
        run = await pull({"url": f"{server.url}/items"}, scan=Scan(columns=("id", "name")))
        assert table(run).schema.names == ["id", "name"]


async def test_only_the_needed_columns_travel_on() -> None:
    with HttpServer({"/items": [{"id": 1, "Name": "x", "rest": 2}]}) as server:
        assert rows(await pull({"url": f"{server.url}/items"}, scan=Scan(columns=("name", "ID")))) == [
            {"id": 1, "Name": "x"}
        ]


PUSHDOWN = {
    "country": {"param": "country", "operators": ["=", "in"], "exact": True},
    "updated_at": [
        {"param": "since", "operators": [">="], "exact": False},
        {"param": "until", "operators": ["<"], "exact": True},
    ],
    "tag": {"param": "tags", "operators": ["in"], "exact": True, "list_style": "comma"},
}


@pytest.mark.parametrize(
    ("predicates", "sent", "limited"),
    [
        ([Predicate("country", "=", "NO")], [("country", "NO")], True),
        ([Predicate("COUNTRY", "in", ("NO", "SE"))], [("country", "NO"), ("country", "SE")], True),
        ([Predicate("tag", "in", ("a", "b"))], [("tags", "a,b")], True),
        ([Predicate("tag", "in", ("a,b",))], [], False),
        ([Predicate("updated_at", ">=", dt.date(2025, 3, 1))], [("since", "2025-03-01")], False),
        (
            [Predicate("updated_at", ">", dt.datetime(2025, 3, 1, tzinfo=dt.UTC))],
            [("since", "2025-03-01T00:00:00Z")],
            False,
        ),
        ([Predicate("updated_at", "<", 5)], [("until", "5")], True),
        ([Predicate("updated_at", "<=", 5)], [], False),
        ([Predicate("country", ">", "NO")], [], False),
        ([Predicate("price", "=", 5)], [], False),
        ([Predicate("country", "=", "NO"), Predicate("country", "=", "SE")], [("country", "NO")], False),
        ([Predicate("country", "=", "NO"), Predicate("price", "=", 5)], [("country", "NO")], False),
        ([], [], True),
    ],
)
async def test_predicates_become_parameters_and_the_limit_only_when_all_are_exact(
    predicates: list[Predicate], sent: list[tuple[str, str]], limited: bool
) -> None:
    with HttpServer({"/items": []}) as server:
        source = {"url": f"{server.url}/items", "pushdown": PUSHDOWN, "limit_param": "n"}
        scan = Scan(predicates=tuple(predicates), limit=3)
        await pull(source, scan=scan)
        assert list(server.last.pairs) == sent + [("n", "3")] * limited
        shown = explain(RestConfiguration.model_validate(source), scan)
        assert [tuple(pair) for pair in shown["query"]] == sent
        assert shown["limit"] == (3 if limited else None)
        assert len(shown["kept"]) == len(predicates) - len(shown["pushed"])
        assert bool(shown["rechecked"]) == any(name == "since" for name, _ in sent)


async def test_a_limit_is_not_asked_for_where_rows_may_be_discarded() -> None:
    records = [{"id": "x"}, {"id": 1}, {"id": 2}]
    with HttpServer({"/items": lambda seen: records[: int(seen.query.get("n", 3))]}) as server:
        source = {"url": f"{server.url}/items", "limit_param": "n", "schema": {"id": "int"}, "contract": "discard_row"}
        assert rows(await pull(source, scan=Scan(limit=2))) == [{"id": 1}, {"id": 2}]


async def test_a_parameter_that_the_source_sets_itself_is_not_overridden() -> None:
    with HttpServer({"/items": []}) as server:
        source = {"url": f"{server.url}/items", "pushdown": PUSHDOWN, "params": {"country": "DK"}}
        run = await pull(source, scan=Scan(predicates=(Predicate("country", "=", "NO"),)))
        assert server.last.pairs == (("country", "DK"),)
        assert notes(run, "pushed")[0]["kept"] == ["country = …: parameter 'country' is set already"]


async def test_events_say_what_was_pushed_without_its_values() -> None:
    with HttpServer({"/items": []}) as server:
        source = {"url": f"{server.url}/items", "pushdown": PUSHDOWN}
        run = await pull(source, scan=Scan(predicates=(Predicate("country", "=", "NO-private"),)))
        assert notes(run, "pushed")[0]["predicates"] == [{"column": "country", "operator": "="}]
        assert "NO-private" not in repr(run.events)


async def test_rows_are_kept_for_a_while_by_request_and_credentials() -> None:
    with HttpServer({"/items": [{"id": 1}], "/b": []}) as server:
        source = {"url": f"{server.url}/items", "params": {"q": ":q"}}
        async with Engine(NODE_TYPES) as engine:
            await pull(source, {"q": "a"}, engine=engine)
            again = await pull(source, {"q": "a"}, engine=engine)
            assert (rows(again), len(server.requests)) == ([{"id": 1}], 1)
            assert [dict(facts) for facts in notes(again, "pulled")] == [{"rows": 1, "cached": True}]
            await pull(source, {"q": "a"}, Scan(columns=("id",)), engine=engine)
            assert len(server.requests) == 1
            await pull(source, {"q": "b"}, engine=engine)
            assert len(server.requests) == 2
            await pull({**source, "auth": {"type": "bearer", "secret_key": "TOKEN"}}, {"q": "a"}, engine=engine)
            assert len(server.requests) == 3
            await pull(source, {"q": "a"}, engine=engine, fresh=True)
            assert len(server.requests) == 4
            await pull({**source, "cache_ttl_s": 0}, {"q": "c"}, engine=engine)
            await pull({**source, "cache_ttl_s": 0}, {"q": "c"}, engine=engine)
            assert len(server.requests) == 6


async def test_concurrent_pulls_are_one() -> None:
    async def slowly(seen: Seen) -> list[dict[str, int]]:
        await anyio.sleep(0.05)
        return [{"id": 1}]

    with HttpServer({"/items": slowly}) as server:
        async with Engine(NODE_TYPES) as engine, anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(lambda: pull({"url": f"{server.url}/items"}, engine=engine))
        assert len(server.requests) == 1


async def test_more_rows_or_bytes_than_the_budget_end_the_call() -> None:
    """LIM-16"""
    with HttpServer({"/items": [{"id": number} for number in range(100)]}) as server:
        for settings in (Settings(max_rows=99), Settings(max_bytes=500)):
            async with Engine(NODE_TYPES, settings) as engine:
                assert (await failure({"url": f"{server.url}/items"}, engine=engine)).code is Code.BUDGET_EXCEEDED


async def test_a_cancelled_call_closes_its_connection_within_a_second() -> None:
    hang = Hang()
    with HttpServer({"/items": hang}) as server:
        async with Engine(NODE_TYPES) as engine, anyio.create_task_group() as group:
            group.start_soon(lambda: pull({"url": f"{server.url}/items"}, engine=engine))
            assert await anyio.to_thread.run_sync(hang.arrived.wait, 5)
            group.cancel_scope.cancel()
        assert await anyio.to_thread.run_sync(hang.closed.wait, 1)


async def test_a_declared_schema_is_obeyed() -> None:
    with HttpServer({"/items": [{"id": 1, "day": "2025-03-01"}, {"id": "x", "day": None}]}) as server:
        source = {"url": f"{server.url}/items", "schema": {"id": "int", "day": "date"}}
        error = await failure(source)
        assert error.message.startswith("Source 'items', row 2, column 'id': found text, expected int")
        run = await pull({**source, "contract": "discard_row"})
        assert rows(run) == [{"id": 1, "day": dt.date(2025, 3, 1)}]


async def test_large_replies_are_the_same_rows() -> None:
    records = [{"id": number, "text": "x" * 40} for number in range(30_000)]
    with HttpServer({"/items": Reply(json.dumps(records))}) as server:
        found = table(await pull({"url": f"{server.url}/items"}))
        assert (found.num_rows, found.arrow()["id"].to_pylist()) == (30_000, list(range(30_000)))


async def test_a_small_reply_of_many_keys_is_not_read_on_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[threading.Thread] = []

    def observed(*arguments: Any) -> Any:
        threads.append(threading.current_thread())
        return tables_of(*arguments)

    monkeypatch.setattr(rest, "tables_of", observed)
    replies = {"/few": [{"a": 1}], "/many": [{f"c{n}": 1 for n in range(1_000)}]}
    with HttpServer(replies) as server:
        await pull({"url": f"{server.url}/few"})
        await pull({"url": f"{server.url}/many"})
    assert [thread is threading.main_thread() for thread in threads] == [True, False]


@pytest.mark.parametrize("path", ["records", "one"])
async def test_a_reply_with_a_column_for_each_record_is_refused(path: str) -> None:
    records = [{f"c{n}": 1} for n in range(30_000)] if path == "records" else [{f"c{n}": 1 for n in range(30_000)}]
    with HttpServer({"/items": records}) as server, anyio.fail_after(20):
        error = await failure({"url": f"{server.url}/items"})
    assert error.code is Code.BUDGET_EXCEEDED
    assert "30,000 columns" in error.message


async def test_a_csv_reply_of_too_many_columns_is_refused() -> None:
    body = (",".join(f"c{n}" for n in range(5_000)) + "\n").encode()
    with HttpServer({"/items": Reply(body, 200, {"content-type": "text/csv"})}) as server:
        error = await failure({"url": f"{server.url}/items", "format": "csv"})
    assert error.code is Code.BUDGET_EXCEEDED
    assert "5,000 columns" in error.message


@pytest.mark.parametrize("form", ["json", "jsonl", "csv", "projected"])
async def test_rows_do_not_show_a_secret_that_the_reply_echoes(form: str) -> None:
    """The address of the next page still holds it: there it is sent, not shown."""
    token = SECRETS["TOKEN"]

    def answer(seen: Seen) -> Any:
        record = {"id": 123, "said": f"you sent {token}!", "by": seen.headers.get("authorization", "")}
        if form == "csv":
            return Reply(f"id,said\n123,you sent {token}!\n".encode(), 200, {"content-type": "text/csv"})
        if form == "jsonl":
            return Reply(json.dumps(record).encode() + b"\n", 200, {"content-type": "application/jsonl"})
        if "page" in seen.query:
            return {"items": [record], "next": None}
        return {"items": [record], "next": f"{server.url}/items?page=2&key={token}"}

    source: dict[str, Any] = {"auth": {"type": "bearer", "secret_key": "TOKEN"}}
    if form in ("json", "projected"):
        source |= {"pagination": {"strategy": "next_url"}, "data_path": "items" if form == "json" else "items[*]"}
    else:
        source |= {"format": form}
    with HttpServer({"/items": answer}) as server:
        found = rows(await pull({"url": f"{server.url}/items", **source}))
        assert [each["said"] for each in found] == ["you sent ***!"] * len(found)
        assert {each["id"] for each in found} == {123}
        assert token not in str(found)
        if form in ("json", "projected"):
            assert server.requests[1].query["key"] == token
