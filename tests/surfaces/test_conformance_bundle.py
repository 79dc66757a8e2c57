"""The bundle of conformance fixtures: it lints, and each of its tools answers through a call."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from servers.person import Person

from jackfield.connectors.lint import lint_all
from jackfield.graphs.errors import Code, JackfieldError
from jackfield.graphs.findings import has_errors
from jackfield.surfaces.app import App
from jackfield.surfaces.settings import load

pytestmark = pytest.mark.anyio
MADE = shutil.ignore_patterns("changing.*", ".jackfield")  # where somebody served it in its place
BUNDLE = Path(__file__).parents[2] / "examples" / "conformance"
NAMED = {"action": "accept", "content": {"name": "Ada"}}
SAID = {"role": "assistant", "content": {"type": "text", "text": "Paris"}, "model": "m"}
ROOTS = {"roots": [{"uri": "file:///a"}]}
AGREED = {"action": "accept", "content": {"ok": True}}


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A copy: two of its tools write beside it."""
    return Path(shutil.copytree(BUNDLE, tmp_path / "conformance", ignore=MADE))


async def called(folder: Path, tool: str, arguments: Any = None, answers: Any = None) -> tuple[Any, Person]:
    person = Person(answers or {})
    async with App([folder], settings=load(folder, {}), variables={}) as app:
        result = await app.call(owner_of(app, tool), tool, arguments or {}, client=person)
        return result.as_json(), person


def owner_of(app: App, name: str) -> str:
    """The one connector of the bundle that has this tool or skill."""
    (slug,) = (slug for slug, one in app.catalog.connectors.items() if name in one.tools or name in one.skills)
    return slug


def test_it_lints_without_a_finding(bundle: Path) -> None:
    findings = lint_all([bundle]).findings
    assert findings == ()


@pytest.mark.parametrize(
    ("tool", "arguments", "answers", "text"),
    [
        ("test_simple_text", {}, {}, "This is a simple text response for testing."),
        ("test_tool_with_logging", {}, {}, "Three messages were logged."),
        ("test_tool_with_progress", {}, {}, "All of it is done."),
        ("test_sampling", {"prompt": "Capital?"}, {"sample": SAID}, "LLM response: Paris"),
        (
            "test_elicitation",
            {"message": "Who?"},
            {"ask": {"action": "accept", "content": {"username": "ada", "email": "a@example.com"}}},
            'User response: <action: accept, content: {"username": "ada", "email": "a@example.com"}>',
        ),
        (
            "test_elicitation",
            {"message": "?"},
            {"ask": {"action": "decline"}},
            "User response: <action: decline, content: {}>",
        ),
        (
            "test_elicitation_sep1034_defaults",
            {},
            {"ask": {"action": "accept", "content": {}}},
            'Elicitation completed: action=accept, content={"name": "John Doe", "age": 30, "score": 95.5, '
            '"status": "active", "verified": true}',
        ),
        (
            "test_elicitation_sep1330_enums",
            {},
            {"ask": {"action": "accept", "content": {"titledMulti": ["value1"]}}},
            'Elicitation completed: action=accept, content={"titledMulti": ["value1"]}',
        ),
        ("test_reconnection", {}, {}, "Reconnection test completed."),
        ("test_missing_capability", {}, {"sample": SAID}, "Paris"),
        ("test_streaming_elicitation", {}, {"ask": {"action": "accept"}}, "accept"),
        ("test_logging_tool", {}, {}, "One message was logged."),
        ("test_input_required_result_elicitation", {}, {"user_name": NAMED}, "Hello, Ada!"),
        ("test_input_required_result_sampling", {}, {"capital_question": SAID}, "Paris"),
        ("test_input_required_result_list_roots", {}, {"client_roots": ROOTS}, 'Roots: ["file:///a"]'),
        ("test_input_required_result_request_state", {}, {"confirm": AGREED}, "state-ok: true"),
        (
            "test_input_required_result_multiple_inputs",
            {},
            {"user_name": NAMED, "greeting": SAID, "client_roots": ROOTS},
            'Paris Ada, of ["file:///a"]',
        ),
        (
            "test_input_required_result_multi_round",
            {},
            {"step1": NAMED, "step2": {"action": "accept", "content": {"color": "blue"}}},
            "Ada likes blue.",
        ),
        ("test_input_required_result_tampered_state", {}, {"confirm": AGREED}, "Confirmed: true"),
    ],
)  # fmt: skip
async def test_a_tool_answers_in_text(bundle: Path, tool: str, arguments: Any, answers: Any, text: str) -> None:
    body, _ = await called(bundle, tool, arguments, answers)
    assert body == {"content": [{"type": "text", "text": text}]}


@pytest.mark.parametrize(
    ("tool", "types"),
    [
        ("test_image_content", ["image/png"]),
        ("test_audio_content", ["audio/wav"]),
        ("test_embedded_resource", ["resource"]),
        ("test_multiple_content_types", ["text", "image/png", "resource"]),
    ],
)
async def test_a_tool_answers_in_other_content(bundle: Path, tool: str, types: list[str]) -> None:
    body, _ = await called(bundle, tool)
    assert [block.get("mimeType", block["type"]) for block in body["content"]] == types


async def test_three_messages_are_logged_in_their_order(bundle: Path) -> None:
    _, person = await called(bundle, "test_tool_with_logging")
    assert [data for _, data, _ in person.heard] == [
        "Tool execution started",
        "Tool processing data",
        "Tool execution completed",
    ]


async def test_the_failing_tool_fails(bundle: Path) -> None:
    with pytest.raises(JackfieldError, match="intentionally") as failed:
        await called(bundle, "test_error_handling")
    assert failed.value.code is Code.SOURCE_ERROR


async def test_only_what_a_client_takes_is_asked(bundle: Path) -> None:
    person = Person({"greeting": SAID}, methods=("sampling/createMessage",))
    async with App([bundle], settings=load(bundle, {}), variables={}) as app:
        name = "test_input_required_result_capabilities"
        result = await app.call(owner_of(app, name), name, {}, client=person)
    assert [one.method for one in person.asked[0]] == ["sampling/createMessage"]
    assert "Paris" in result.as_json()["content"][0]["text"]


async def test_a_schema_with_every_keyword_is_shown_as_it_was_written(bundle: Path) -> None:
    app = App([bundle], settings=load(bundle, {}), variables={})
    schema = app.find("conformance", "json_schema_2020_12_tool")[1].input_schema
    written = json.loads((bundle / "conformance.connector.json").read_text())
    (tool,) = (one for one in written["tools"] if one["id"] == "json_schema_2020_12_tool")
    assert schema == tool["graph"]["nodes"][0]["configuration"]["schema"]


@pytest.mark.parametrize("tool", ["test_trigger_tool_change", "test_trigger_prompt_change"])
async def test_a_trigger_writes_a_connector_that_lints(bundle: Path, tool: str) -> None:
    await called(bundle, tool)
    made = bundle / "changing.connector.json"
    assert not has_errors(lint_all([made]).findings)
    changed = App([made], settings=load(bundle, {}), variables={}).connector("changing")
    assert [name.startswith("changed_") for name in (*changed.tools, *changed.skills)] == [True] * (
        2 if "prompt" in tool else 1
    )


@pytest.mark.parametrize(
    ("skill", "arguments", "answers", "types"),
    [
        ("test_simple_prompt", {}, {}, ["text"]),
        ("test_prompt_with_arguments", {"arg1": "a", "arg2": "b"}, {}, ["text"]),
        ("test_prompt_with_embedded_resource", {"resourceUri": "test://x"}, {}, ["resource", "text"]),
        ("test_prompt_with_image", {}, {}, ["image", "text"]),
        (
            "test_input_required_result_prompt",
            {},
            {"user_context": {"action": "accept", "content": {"context": "a test"}}},
            ["text"],
        ),
    ],
)
async def test_a_prompt_gives_its_messages(
    bundle: Path, skill: str, arguments: Any, answers: Any, types: list[str]
) -> None:
    body, _ = await called(bundle, skill, arguments, answers)
    assert [message["content"]["type"] for message in body["messages"]] == types


async def test_each_resource_gives_its_contents(bundle: Path) -> None:
    async with App([bundle], settings=load(bundle, {}), variables={}) as app:
        owner = app.connector("conformance")
        read = {}
        for uri, resource in owner.resources.items():
            given = resource.arguments(uri.replace("{id}", "123"))
            (contents,) = (await app.perform(owner, resource, given or {})).as_json()["contents"]
            read[contents["uri"]] = (contents["mimeType"], contents.get("text", "")[:12])
    assert read == {
        "test://static-text": ("text/plain", "This is the "),
        "test://static-binary": ("image/png", ""),
        "test://template/123/data": ("application/json", '{"id":"123",'),
        "test://watched-resource": ("text/plain", "Subscribe to"),
    }
