"""An error from outside says which source of which connector it is of, and a missing secret which field asks for it."""

from __future__ import annotations

from typing import Any

import pytest
from servers.flow import KINDS, flow, kind

from jackfield.engine.engine import Engine, Settings
from jackfield.engine.environment import Environment
from jackfield.graphs.errors import Code, JackfieldError
from jackfield.nodes.base import Context, Effect, Inputs, Outputs
from jackfield.nodes.request import request_node
from jackfield.nodes.rest import rest_node
from jackfield.nodes.secrets import EnvironmentSecrets

pytestmark = pytest.mark.anyio
NOBODY = "http://127.0.0.1:9/orders"
SHOP = Environment(connector="shop", secrets=EnvironmentSecrets({"SPLIT": "two\nlines"}))


async def failure(configuration: dict[str, Any], environment: Environment = SHOP, type: str = "rest") -> JackfieldError:
    graph = flow({"orders": (type, configuration), "out": "output"}, "orders -> out")
    async with Engine((*KINDS, rest_node, request_node), Settings(backoff_s=0.001)) as engine:
        with pytest.raises(JackfieldError) as caught:
            await engine.run(graph, {}, environment=environment, timeout_s=5)
    return caught.value


async def test_a_dead_host_names_the_source_and_its_connector() -> None:
    error = await failure({"url": NOBODY})
    assert error.code is Code.SOURCE_UNREACHABLE
    assert error.message == "Source 'orders' of connector 'shop': No connection to http://127.0.0.1:9."
    assert (error.details["node"], error.details["connector"]) == ("orders", "shop")


async def test_outside_of_a_connector_the_source_alone_is_named() -> None:
    error = await failure({"url": NOBODY}, Environment())
    assert error.message == "Source 'orders': No connection to http://127.0.0.1:9."
    assert "connector" not in error.details


async def test_a_url_that_is_none_names_the_source() -> None:
    error = await failure({"url": "ftp://example.com/x"})
    assert error.message.startswith("Source 'orders' of connector 'shop': A URL must be")


async def test_what_is_no_source_is_named_as_a_node() -> None:
    error = await failure({"url": NOBODY, "method": "POST"}, type="request")
    assert error.message.startswith("Node 'orders' (request) of connector 'shop': No connection to")


@pytest.mark.parametrize(
    ("asking", "field"),
    [
        ({"auth": {"type": "bearer", "secret_key": "UNSET"}}, "auth.secret_key"),
        ({"auth": {"type": "basic", "user_secret_key": "UNSET", "pass_secret_key": "UNSET"}}, "auth.user_secret_key"),
        ({"headers": {"X-Key": "k {{ env:UNSET }}"}}, "headers.X-Key"),
        ({"params": {"ids": ["{{ env:UNSET }}"]}}, "params.ids"),
    ],
)
async def test_a_missing_secret_names_the_field_that_asks_for_it(asking: dict[str, Any], field: str) -> None:
    error = await failure({"url": NOBODY, **asking})
    assert error.code is Code.SECRET_MISSING
    assert error.message == (
        f"Source 'orders' of connector 'shop', field '{field}': The environment variable 'UNSET' is not set."
    )
    assert (error.details["field"], error.details["variable"]) == (field, "UNSET")


async def test_a_secret_with_a_line_break_names_the_field_and_shows_nothing_of_it() -> None:
    error = await failure({"url": NOBODY, "auth": {"type": "bearer", "secret_key": "SPLIT"}})
    assert error.message.startswith("Source 'orders' of connector 'shop', field 'auth.secret_key': The value of")
    assert "lines" not in str(error.as_json())


@pytest.mark.parametrize(
    ("code", "details", "effect"),
    [
        (Code.SOURCE_ERROR, {"source": "orders"}, Effect.READS),  # its message names it
        (Code.SOURCE_ERROR, {"node": "inner"}, Effect.READS),  # named already, further in
        (Code.QUERY_INVALID, {}, Effect.READS),  # about the text of the tool
        (Code.SOURCE_ERROR, {}, Effect.PURE),
    ],
)
async def test_what_names_its_place_or_is_not_from_outside_keeps_its_words(
    code: Code, details: dict[str, Any], effect: Effect
) -> None:
    async def fail(inputs: Inputs, context: Context) -> Outputs:
        raise JackfieldError(code, "It failed.", "", details)

    graph = flow({"a": "failing", "out": "output"}, "a.v -> out.v")
    async with Engine((*KINDS, kind("failing", fail, effect))) as engine:
        with pytest.raises(JackfieldError) as caught:
            await engine.run(graph, {}, environment=SHOP)
    assert caught.value.message == "It failed."
    assert caught.value.details["node"] == details.get("node", "a")
