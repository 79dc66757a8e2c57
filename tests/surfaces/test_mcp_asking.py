"""Nodes that ask, over MCP: by the official client in both eras, and round by round without a session."""

import json
import stat
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp.client.context import ClientRequestContext
from mcp_types import (
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestParams,
    ElicitRequestURLParams,
    ElicitResult,
    EmptyResult,
    ErrorData,
    ListRootsResult,
    LoggingMessageNotificationParams,
    Root,
    SetLevelRequest,
    SetLevelRequestParams,
    TextContent,
)

from jackfield.graphs.model import Json
from jackfield.surfaces.served import ServedCall
from jackfield.surfaces.sessions import SIGNALS, Sessions

from .asking_graphs import node, text, tool
from .serving import ERAS, connector, served

pytestmark = pytest.mark.anyio

NAME: Json = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


GREET = tool(
    "greet",
    [node("who", "ask", message="Your name?", schema=NAME), text("Hello {{content.name}}")],
    [("input", "who"), ("who", "content", "content", "content")],
)
TWICE = tool(
    "twice",
    [
        node("first", "ask", key="who", message="Your name?", schema=NAME),
        node("second", "ask", key="who", message="Your friend's name?", schema=NAME),
        text("{{a.name}} and {{b.name}}"),
    ],
    [
        ("input", "first"),
        ("first", "second"),
        ("first", "content", "content", "a"),
        ("second", "content", "content", "b"),
    ],
)
ALL = tool(
    "all",
    [
        node("capital", "sample", prompt="Capital?", max_tokens=9),
        node("folders", "roots"),
        text("{{text}} {{uris}}"),
    ],
    [
        ("input", "capital"),
        ("input", "folders"),
        ("capital", "content", "text", "text"),
        ("folders", "content", "uris", "uris"),
    ],
)
VISIT = tool(
    "visit",
    [node("page", "ask", message="Sign in.", url="https://example.com/sign-in"), text("{{action}}")],
    [("input", "page"), ("page", "content", "action", "action")],
)
SAY = tool(
    "say",
    [node("low", "log", data="low", level="debug"), node("high", "log", data={"n": 1}, level="error"), text("said")],
    [("input", "low"), ("low", "high"), ("high", "content")],
)
EACH = tool(
    "each",
    [node("all", "map", **{"$board": "#one", "items": [1, 2], "concurrency": 1}), text("{{list}}")],
    [("input", "all"), ("all", "content", "list", "list")],
)
EACH["graph"]["graphs"] = {
    "one": {
        "nodes": [
            {"id": "input", "type": "input"},
            node("sure", "ask", message="Sure?"),
            {"id": "o", "type": "output"},
        ],
        "edges": [{"from": "input", "to": "sure"}, {"from": "sure", "to": "o", "out": "action", "in": "action"}],
    }
}
ASKED_PROMPT: Json = {
    "id": "letter",
    "name": "Letter",
    "description": "Give a letter to whom the person names.",
    "graph": {
        "nodes": [*GREET["graph"]["nodes"]],
        "edges": [
            *GREET["graph"]["edges"][:2],
            {"from": "content", "to": "output", "out": "messages", "in": "messages"},
        ],
    },
}
ASKED_RESOURCE: Json = {
    "uri": "zoo://keeper",
    "name": "Keeper",
    "graph": {
        "nodes": [
            node("who", "ask", message="Your name?", schema=NAME),
            node(
                "content", "content", blocks=[{"type": "resource", "uri": "zoo://keeper", "text": "{{content.name}}"}]
            ),
            {"id": "output", "type": "output"},
        ],
        "edges": [
            {"from": "who", "to": "content", "out": "content", "in": "content"},
            {"from": "content", "to": "output", "out": "contents", "in": "contents"},
        ],
    },
}


def asking(folder: Path) -> Path:
    tools = [GREET, TWICE, ALL, VISIT, SAY, EACH]
    return connector(folder, tools=tools, skills=[ASKED_PROMPT], resources=[ASKED_RESOURCE])


class Someone:
    """The callbacks of a client: a person who answers in order, a model, a folder."""

    def __init__(self, *names: str) -> None:
        self.names = list(names)
        self.asked: list[str] = []
        self.heard: list[tuple[str, Any]] = []

    async def elicit(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult | ErrorData:
        self.asked.append(params.message)
        if isinstance(params, ElicitRequestURLParams):
            return ElicitResult(action="accept")
        if "name" not in params.requested_schema.get("properties", {}):
            return ElicitResult(action="accept", content={})
        return ElicitResult(action="accept", content={"name": self.names.pop(0)})

    async def sample(
        self, context: ClientRequestContext, params: CreateMessageRequestParams
    ) -> CreateMessageResult | ErrorData:
        return CreateMessageResult(role="assistant", content=TextContent(type="text", text="Oslo"), model="m")

    async def roots(self, context: ClientRequestContext) -> ListRootsResult | ErrorData:
        return ListRootsResult(roots=[Root(uri="file:///a")])

    async def log(self, params: LoggingMessageNotificationParams) -> None:
        self.heard.append((params.level, params.data))


async def answer(folder: Path, era: str, tool: str, someone: Someone, **callbacks: Any) -> Any:
    async with served(asking(folder)) as server, server.client(era, **callbacks) as client:
        result = await client.call_tool(tool, {})
    assert isinstance(result.content[0], TextContent)
    return result.content[0].text, result.is_error, server.calls


@pytest.mark.parametrize("era", ERAS)
async def test_a_person_is_asked_and_the_call_goes_on_with_his_answer(tmp_path: Path, era: str) -> None:
    someone = Someone("Ada")
    text, is_error, calls = await answer(tmp_path, era, "greet", someone, elicitation_callback=someone.elicit)
    assert (text, is_error) == ("Hello Ada", False)
    assert someone.asked == ["Your name?"]
    codes = [call.error and call.error.code.value for call in calls]
    assert codes == ([None] if era == "legacy" else ["INPUT_REQUIRED", None])


@pytest.mark.parametrize("era", ERAS)
async def test_two_questions_of_one_name_have_each_their_answer(tmp_path: Path, era: str) -> None:
    someone = Someone("Ada", "Bob")
    text, _, _ = await answer(tmp_path, era, "twice", someone, elicitation_callback=someone.elicit)
    assert text == "Ada and Bob"
    assert someone.asked == ["Your name?", "Your friend's name?"]


@pytest.mark.parametrize("era", ERAS)
async def test_a_question_that_is_asked_of_each_item_is_asked_anew(tmp_path: Path, era: str) -> None:
    someone = Someone()
    text, _, _ = await answer(tmp_path, era, "each", someone, elicitation_callback=someone.elicit)
    assert text == '["accept", "accept"]'
    assert someone.asked == ["Sure?", "Sure?"]


@pytest.mark.parametrize("era", ERAS)
async def test_a_model_and_the_roots_are_asked(tmp_path: Path, era: str) -> None:
    someone = Someone()
    callbacks = {"sampling_callback": someone.sample, "list_roots_callback": someone.roots}
    text, _, _ = await answer(tmp_path, era, "all", someone, **callbacks)
    assert text == 'Oslo ["file:///a"]'


@pytest.mark.parametrize("era", ERAS)
async def test_a_person_is_sent_to_a_page(tmp_path: Path, era: str) -> None:
    someone = Someone()
    text, _, _ = await answer(tmp_path, era, "visit", someone, elicitation_callback=someone.elicit)
    assert (text, someone.asked) == ("accept", ["Sign in."])


@pytest.mark.parametrize("era", ERAS)
async def test_prompts_and_resources_ask_too(tmp_path: Path, era: str) -> None:
    someone = Someone("Ada", "Bob")
    async with served(asking(tmp_path)) as server, server.client(era, elicitation_callback=someone.elicit) as client:
        prompt = await client.get_prompt("letter")
        resource = await client.read_resource("zoo://keeper")
    assert [message.content.text for message in prompt.messages] == ["Hello Ada"]  # type: ignore[union-attr]
    assert [contents.text for contents in resource.contents] == ["Bob"]  # type: ignore[union-attr]


@pytest.mark.parametrize("era", ERAS)
async def test_a_call_whose_progress_is_told_asks_too(tmp_path: Path, era: str) -> None:
    someone = Someone("Ada")
    told: list[float] = []

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)

    async with served(asking(tmp_path)) as server, server.client(era, elicitation_callback=someone.elicit) as client:
        result = await client.call_tool("greet", {}, progress_callback=tell)
    assert result.content[0].text == "Hello Ada"  # type: ignore[union-attr]
    assert told


async def test_a_client_with_a_session_that_cannot_be_asked_is_told_so(tmp_path: Path) -> None:
    text, is_error, _ = await answer(tmp_path, "legacy", "greet", Someone())
    error = json.loads(text)["error"]
    assert is_error
    assert (error["code"], error["details"]["requires"]) == ("INPUT_REQUIRED", ["elicitation"])


async def test_a_client_that_answers_with_an_error_ends_the_call(tmp_path: Path) -> None:
    async def refuse(context: ClientRequestContext, params: ElicitRequestParams) -> ErrorData:
        return ErrorData(code=-1, message="Nobody is here.")

    text, is_error, _ = await answer(tmp_path, "legacy", "greet", Someone(), elicitation_callback=refuse)
    assert is_error
    assert "Nobody is here." in text


async def test_a_session_hears_from_the_level_on_that_it_set(tmp_path: Path) -> None:
    someone = Someone()
    async with served(asking(tmp_path)) as server, server.client("legacy", logging_callback=someone.log) as client:
        await client.call_tool("say", {})
        await client.session.send_request(SetLevelRequest(params=SetLevelRequestParams(level="warning")), EmptyResult)
        await client.call_tool("say", {})
    assert someone.heard == [("debug", "low"), ("error", {"n": 1}), ("error", {"n": 1})]


@pytest.mark.parametrize(("level", "heard"), [(None, []), ("info", [("error", {"n": 1})])])
async def test_a_stateless_request_hears_what_it_asks_for(tmp_path: Path, level: Any, heard: Json) -> None:
    someone = Someone()
    options = {"logging_callback": someone.log, "log_level": level}
    async with served(asking(tmp_path)) as server, server.client("2026-07-28", **options) as client:
        await client.call_tool("say", {})
    assert someone.heard == heard


async def test_a_connector_serves_others_while_a_person_thinks(tmp_path: Path) -> None:
    someone = Someone("Ada")
    asked, answered = anyio.Event(), anyio.Event()

    async def think(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult | ErrorData:
        asked.set()
        await answered.wait()
        return await someone.elicit(context, params)

    one_at_a_time = {"JACKFIELD_SERVE_CALLS": "1"}
    async with (
        served(asking(tmp_path), environment=one_at_a_time) as server,
        server.client("legacy", elicitation_callback=think) as slow,
        server.client("legacy") as quick,
        anyio.create_task_group() as tasks,
    ):
        given: list[Any] = []

        async def greet() -> None:
            given.append(await slow.call_tool("greet", {}))

        tasks.start_soon(greet)
        with anyio.fail_after(10):
            await asked.wait()
            assert server.service.bulkheads.depth() == {"zoo": (0, 0)}
            assert not (await quick.call_tool("say", {})).is_error
            answered.set()
    assert given[0].content[0].text == "Hello Ada"


@pytest.mark.parametrize("era", ERAS)
async def test_a_question_is_no_error_and_its_answer_no_retry(tmp_path: Path, era: str) -> None:
    someone, sessions = Someone("Ada"), Sessions()
    async with served(asking(tmp_path)) as server:
        server.service.observers = (sessions,)
        async with server.client(era, elicitation_callback=someone.elicit) as client:
            await client.call_tool("greet", {})
    (session,) = (one.as_json() for one in sessions.list("local"))
    assert session["signals"] == dict.fromkeys(SIGNALS, 0)
    assert session["calls"] == (1 if era == "legacy" else 2)


class Ended:
    """An observer that tells of the end of a call."""

    def __init__(self) -> None:
        self.event = anyio.Event()

    def call_began(self, call: ServedCall) -> None: ...

    def call_ended(self, call: ServedCall) -> None:
        self.event.set()


async def test_a_call_ends_when_its_client_leaves_before_he_answers(tmp_path: Path) -> None:
    asked, ended = anyio.Event(), Ended()

    async def never(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult | ErrorData:
        asked.set()
        await anyio.sleep_forever()
        raise AssertionError("unreachable")

    async with served(asking(tmp_path)) as server:
        server.service.observers = (ended,)
        with anyio.fail_after(10):
            client = server.client("legacy", elicitation_callback=never)
            async with client, anyio.create_task_group() as tasks:
                tasks.start_soon(client.call_tool, "greet", {})
                await asked.wait()
                tasks.cancel_scope.cancel()
            await ended.event.wait()
        assert [call.error and call.error.code.value for call in server.calls] == ["CANCELLED"]
        assert server.service.bulkheads.depth() == {"zoo": (0, 0)}


# Round by round, as a client without a session makes them.

CAN: Json = {"elicitation": {}}


async def call(url: str, name: str, *, can: Json = CAN, headers: Json = None, **params: Any) -> tuple[int, Any]:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": can,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    }
    sent = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": name,
        **(headers or {}),
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "_meta": meta, **params}}
    async with httpx2.AsyncClient(timeout=10) as client:
        reply = await client.post(url, headers=sent, json=body)
    return reply.status_code, reply.json()


def accept(name: str) -> Json:
    return {"action": "accept", "content": {"name": name}}


async def test_the_first_question_ends_the_call_and_the_answer_completes_it(tmp_path: Path) -> None:
    async with served(asking(tmp_path)) as server:
        _, first = await call(server.url, "greet", arguments={})
        asked = first["result"]
        assert asked["resultType"] == "input_required"
        assert asked["inputRequests"] == {
            "who": {
                "method": "elicitation/create",
                "params": {"mode": "form", "message": "Your name?", "requestedSchema": NAME},
            }
        }
        assert "Your name" not in asked["requestState"]
        _, second = await call(
            server.url,
            "greet",
            arguments={},
            inputResponses={"who": accept("Ada"), "other": accept("Eve")},
            requestState=asked["requestState"],
        )
    assert second["result"]["content"] == [{"type": "text", "text": "Hello Ada"}]


async def test_an_answer_of_another_name_leaves_the_question_open(tmp_path: Path) -> None:
    async with served(asking(tmp_path)) as server:
        _, reply = await call(server.url, "greet", inputResponses={"wrong": accept("Ada")})
    assert list(reply["result"]["inputRequests"]) == ["who"]


async def test_an_answer_counts_for_the_question_that_it_was_given_to(tmp_path: Path) -> None:
    async with served(asking(tmp_path)) as server:
        _, first = await call(server.url, "twice")
        state = first["result"]["requestState"]
        _, second = await call(server.url, "twice", inputResponses={"who": accept("Ada")}, requestState=state)
        (name,) = second["result"]["inputRequests"]
        assert name != "who"
        state = second["result"]["requestState"]
        again = {"who": accept("Eve"), name: accept("Bob")}
        _, third = await call(server.url, "twice", inputResponses=again, requestState=state)
    assert third["result"]["content"][0]["text"] == "Ada and Bob"


async def test_what_a_client_cannot_be_asked_is_an_error_of_the_protocol(tmp_path: Path) -> None:
    async with served(asking(tmp_path)) as server:
        status, reply = await call(server.url, "greet", can={})
        _, page = await call(server.url, "visit")
    assert (status, reply["error"]["code"]) == (400, -32021)
    assert reply["error"]["data"] == {"requiredCapabilities": {"elicitation": {"form": {}}}}
    assert page["error"]["data"] == {"requiredCapabilities": {"elicitation": {"url": {}}}}


@pytest.mark.parametrize("change", ["tampered", "other arguments", "other tool", "foreign"])
async def test_a_state_that_is_not_that_of_this_call_is_refused(tmp_path: Path, change: str) -> None:
    async with served(asking(tmp_path)) as server:
        _, first = await call(server.url, "greet", arguments={})
        state = first["result"]["requestState"]
        name, arguments = "greet", {}
        if change == "tampered":
            state += "x"
        elif change == "other arguments":
            arguments = {"x": 1}
        elif change == "other tool":
            name = "visit"
        else:
            state = json.dumps({"known": {}, "asked": {}})
        status, reply = await call(
            server.url, name, arguments=arguments, inputResponses={"who": accept("Ada")}, requestState=state
        )
    assert (status, reply["error"]["code"]) == (400, -32602)
    assert "result" not in reply


async def test_a_state_holds_after_a_restart_and_its_key_is_the_owners_alone(tmp_path: Path) -> None:
    path = asking(tmp_path)
    async with served(path) as server:
        _, first = await call(server.url, "greet")
    state = first["result"]["requestState"]
    async with served(path) as server:
        _, second = await call(server.url, "greet", inputResponses={"who": accept("Ada")}, requestState=state)
    assert second["result"]["content"][0]["text"] == "Hello Ada"
    key = tmp_path / ".jackfield" / "request_state.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert len(key.read_bytes()) == 32


def by_token(scope: Any) -> str | None:
    headers = {name: value.decode() for name, value in scope["headers"]}
    return {"Bearer a": "ada", "Bearer b": "bob"}.get(headers.get(b"authorization", ""))


async def test_a_state_is_of_use_to_its_own_principal_only(tmp_path: Path) -> None:
    async with served(asking(tmp_path), authenticate=by_token) as server:
        ada, bob = {"authorization": "Bearer a"}, {"authorization": "Bearer b"}
        _, first = await call(server.url, "greet", headers=ada)
        given = {"inputResponses": {"who": accept("Ada")}, "requestState": first["result"]["requestState"]}
        status, stolen = await call(server.url, "greet", headers=bob, **given)
        _, own = await call(server.url, "greet", headers=ada, **given)
    assert (status, stolen["error"]["code"]) == (400, -32602)
    assert own["result"]["content"][0]["text"] == "Hello Ada"
