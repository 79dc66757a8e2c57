"""The `request` action: what it sends, that it is sent once, and what is said when nobody knows."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest
from servers.http import Hang, HttpServer, Reply, Seen
from servers.raw import RawServer, read_request, reset

from jackfield.engine.engine import Engine
from jackfield.engine.environment import Environment
from jackfield.graphs.errors import Code, JackfieldError
from jackfield.graphs.model import Edge, Graph, Node
from jackfield.nodes import NODE_TYPES
from jackfield.nodes.http import retry
from jackfield.nodes.secrets import EnvironmentSecrets

pytestmark = pytest.mark.anyio


async def act(request: Mapping[str, Any], arguments: Mapping[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    nodes = (Node("input", "input"), Node("act", "request", request), Node("output", "output"))
    edges = (Edge("input", "act", "arguments", "$arguments"), Edge("act", "output", "response", "response"))
    environment = Environment(connector="shop", secrets=EnvironmentSecrets({"TOKEN": "tok-123456"}))
    async with Engine(NODE_TYPES) as engine:
        run = await engine.run(Graph(nodes, edges), {"arguments": arguments or {}}, environment=environment, **options)
    response: dict[str, Any] = run.values["response"]
    return response


async def failure(
    request: Mapping[str, Any], arguments: Mapping[str, Any] | None = None, **options: Any
) -> JackfieldError:
    with pytest.raises(JackfieldError) as caught:
        await act(request, arguments, **options)
    return caught.value


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "backoff", lambda attempt: 0.0)


async def test_an_action_sends_its_arguments_where_they_are_mapped() -> None:
    request = {
        "url": "{base}/orders/{id}/cancel",
        "auth": {"type": "bearer", "secret_key": "TOKEN"},
        "query": {"notify": ":notify", "gone": ":gone"},
        "headers": {"X-Source": "jackfield"},
        "body": {
            "reason": ":reason",
            "gone": ":gone",
            "when": [{"day": ":day"}],
            "price": ":price",
            "n": ":n",
            "k": "{{ env:TOKEN }}",
        },
    }
    arguments = {
        "id": 7,
        "reason": "{{ env:TOKEN }} :n",
        "gone": None,
        "notify": True,
        "day": dt.date(2025, 3, 1),
        "price": Decimal("12.50"),
        "n": 3,
    }
    answer = Reply({"done": True}, 201, {"location": "/orders/7", "set-cookie": "a=b"})
    with HttpServer({"POST /orders/{id}/cancel": answer}) as server:
        url = request["url"]
        assert isinstance(url, str)
        response = await act({**request, "url": url.replace("{base}", server.url)}, arguments)
        assert response["status"] == 201
        assert response["body"] == {"done": True}
        assert response["headers"] == {"content-type": "application/json", "location": "/orders/7"}
        seen = server.last
        assert (seen.params["id"], seen.pairs) == ("7", (("notify", "true"),))
        assert seen.headers["authorization"] == "Bearer tok-123456"
        assert seen.headers["x-source"] == "jackfield"
        assert seen.json() == {
            "reason": "{{ env:TOKEN }} :n",
            "when": [{"day": "2025-03-01"}],
            "price": 12.5,
            "n": 3,
            "k": "tok-123456",
        }
        assert b'"price":12.50' in seen.body


async def test_a_form_is_sent_as_a_form() -> None:
    with HttpServer({"POST /f": {}}) as server:
        body = {"a": ":a", "gone": ":gone", "many": ":many"}
        request = {"url": f"{server.url}/f", "body": body, "body_format": "form"}
        await act(request, {"a": "x & y", "gone": None, "many": [1, 2]})
        assert server.last.body == b"a=x+%26+y&many=1&many=2"
        assert server.last.headers["content-type"] == "application/x-www-form-urlencoded"


@pytest.mark.parametrize("text", ['"', "a\nb", "{}", "null", ""])
async def test_a_body_may_be_one_argument_as_json_text(text: str) -> None:
    with HttpServer({"PUT /f": {}}) as server:
        await act({"url": f"{server.url}/f", "method": "PUT", "body": ":text"}, {"text": text})
        assert server.last.json() == text


@pytest.mark.parametrize(
    ("reply", "body"),
    [
        (Reply(b"", 204), None),
        (Reply(b"", 200), None),
        (Reply("fine", headers={"content-type": "text/plain"}), "fine"),
        (Reply("{broken", headers={"content-type": "application/json"}), "{broken"),
        (Reply("é".encode("latin-1"), headers={"content-type": "text/plain; charset=latin-1"}), "é"),
        (Reply('{"a": 1}', headers={"content-type": "application/problem+json"}), {"a": 1}),
        (Reply("your token is tok-123456", headers={"content-type": "text/plain"}), "your token is ***"),
    ],
)
async def test_the_answer_is_json_text_or_nothing(reply: Reply, body: object) -> None:
    with HttpServer({"POST /f": reply}) as server:
        request = {"url": f"{server.url}/f", "auth": {"type": "bearer", "secret_key": "TOKEN"}}
        assert (await act(request))["body"] == body


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, Code.SOURCE_ERROR),
        (401, Code.AUTH_FAILED),
        (429, Code.RATE_LIMITED),
        (500, Code.SOURCE_ERROR),
        (303, Code.SOURCE_BAD_REPLY),
        (502, Code.OUTCOME_UNKNOWN),
        (504, Code.OUTCOME_UNKNOWN),
    ],
)
async def test_a_refused_action_is_sent_once_and_says_why(status: int, code: Code) -> None:
    with HttpServer({"POST /f": Reply("why", status)}) as server:
        error = await failure({"url": f"{server.url}/f"})
        assert (error.code, len(server.requests)) == (code, 1)


async def _reset_after_reading(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_request(reader)
    reset(writer)


async def test_a_connection_lost_after_sending_leaves_the_outcome_unknown() -> None:
    with RawServer(_reset_after_reading) as server:
        error = await failure({"url": f"{server.url}/f", "body": {"a": 1}})
        assert (error.code, server.connections) == (Code.OUTCOME_UNKNOWN, 1)
        assert "Look whether it happened" in error.hint


async def test_no_answer_in_time_leaves_the_outcome_unknown() -> None:
    hang = Hang()
    with HttpServer({"POST /f": hang}) as server:
        error = await failure({"url": f"{server.url}/f", "timeout_s": 0.2})
        assert (error.code, error.details["cause"]) == (Code.OUTCOME_UNKNOWN, "SOURCE_TIMEOUT")


async def test_a_host_that_was_never_reached_got_nothing() -> None:
    error = await failure({"url": "http://127.0.0.1:1/f"})
    assert error.code is Code.SOURCE_UNREACHABLE


async def test_under_an_idempotency_header_it_is_sent_again_with_the_same_key() -> None:
    def answer(seen: Seen) -> Reply:
        return Reply({}, 503 if len(server.requests) < 3 else 200)

    with HttpServer({"POST /f": answer}) as server:
        await act({"url": f"{server.url}/f", "idempotency_header": "Idempotency-Key"})
        keys = [seen.headers["idempotency-key"] for seen in server.requests]
        assert len(keys) == 3
        assert len(set(keys)) == 1


async def test_under_a_key_a_lost_connection_is_tried_again_and_then_unknown() -> None:
    with RawServer(_reset_after_reading) as server:
        error = await failure({"url": f"{server.url}/f", "idempotency_header": "Idempotency-Key"})
        assert (error.code, server.connections) == (Code.OUTCOME_UNKNOWN, 3)
        assert "same idempotency key" in error.hint


async def test_the_callers_key_gives_the_same_key_for_the_same_request_and_another_for_another() -> None:
    with HttpServer({"POST /f/{id}": {}}) as server:
        request = {"url": server.url + "/f/{id}", "idempotency_header": "Idempotency-Key"}
        for number, key in ((1, "k"), (1, "k"), (2, "k"), (1, "other"), (1, ""), (1, "")):
            await act(request, {"id": number}, idempotency_key=key)
        keys = [seen.headers["idempotency-key"] for seen in server.requests]
        assert keys[0] == keys[1]
        assert len(set(keys)) == 5


async def test_a_cancelled_or_late_action_closes_its_connection() -> None:
    hang = Hang()
    with HttpServer({"POST /f": hang}) as server:
        error = await failure({"url": f"{server.url}/f"}, timeout_s=0.3)
        assert error.code in (Code.OUTCOME_UNKNOWN, Code.QUERY_TIMEOUT)
        assert await asyncio.to_thread(hang.closed.wait, 1)


async def test_an_argument_that_the_tool_does_not_have_is_a_configuration_error() -> None:
    error = await failure({"url": "http://127.0.0.1:1/f", "body": {"a": ":nmae"}}, {"name": "x"})
    assert error.code is Code.CONFIG_INVALID
    assert "name" in error.hint


async def test_an_answer_does_not_show_a_secret_that_it_echoes() -> None:
    echo = {"location": "/x?key=tok-123456", "etag": '"Bearer tok-123456"', "x-request-id": "tok-123456"}
    with HttpServer({"POST /f": Reply({"you": ["sent tok-123456"], "id": 7}, 201, echo)}) as server:
        answer = await act({"url": f"{server.url}/f", "headers": {"x-key": "{{ env:TOKEN }}"}})
    assert "tok-123456" not in str(answer)
    assert answer["headers"]["location"] == "/x?key=***"
    assert answer["body"] == {"you": ["sent ***"], "id": 7}
