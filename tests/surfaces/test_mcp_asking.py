"""Nodes that ask, over MCP: by the official client in both eras."""

import json
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client import Client
from mcp.client.context import ClientRequestContext
from mcp.client.stdio import StdioServerParameters
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

from .asking_graphs import asking
from .serving import ERAS, served

pytestmark = pytest.mark.anyio


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


@pytest.mark.parametrize("era", ERAS)
async def test_a_person_is_asked_over_stdio(tmp_path: Path, era: str) -> None:
    someone = Someone("Ada")
    command = ["-m", "jackfield.surfaces.cli", "serve", str(asking(tmp_path)), "--stdio"]
    process = StdioServerParameters(command=sys.executable, args=command, cwd=tmp_path)
    with anyio.fail_after(30):
        async with Client(process, mode=era, elicitation_callback=someone.elicit) as client:
            result = await client.call_tool("greet", {})
    assert result.content[0].text == "Hello Ada"  # type: ignore[union-attr]


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
