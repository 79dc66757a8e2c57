"""How a `rest` source reads what comes back, and what it says of a reply that is none."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import threading
from typing import Any

import anyio
import pytest
from servers.http import HttpServer, Reply, Seen
from servers.rest import SECRETS, failure, notes, pull, rows, table

from jackfield.graphs.errors import Code
from jackfield.nodes import rest
from jackfield.nodes.records import tables_of

pytestmark = pytest.mark.anyio


async def test_records_are_read_from_the_data_path() -> None:
    with HttpServer({"/items": {"data": {"items": [{"id": 1}, {"id": 2}]}}}) as server:
        run = await pull({"url": f"{server.url}/items", "data_path": "data.items"})
        assert rows(run) == [{"id": 1}, {"id": 2}]
        assert dict(notes(run, "pulled")[0]) == {"rows": 2, "bytes": 43, "requests": 1}
        assert server.last.headers["accept"] == "application/json"


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
