"""`tool`: what the called tool is given, and what comes back."""

from typing import Any

import pytest

from jackfield.graphs.errors import Code, JackfieldError
from jackfield.nodes.tool import tool_node


class Calling:
    """The one thing of a Context that the kind uses."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []

    async def call_tool(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if tool == "gone":
            raise JackfieldError(Code.TOOL_NOT_FOUND, "There is no tool 'gone'.")
        self.calls.append((tool, arguments))
        return {"rows": "the rows", "report": 1}


async def called(inputs: dict[str, Any], **configuration: Any) -> tuple[dict[str, Any], Calling]:
    context = Calling()
    fire = tool_node.bind("node", configuration, frozenset(inputs))
    return dict(await fire(inputs, context)), context  # type: ignore[arg-type]


@pytest.mark.anyio
async def test_ports_and_configured_fields_are_arguments_and_all_outputs_come_back() -> None:
    outputs, context = await called({"species": "cat"}, tool="zoo/list_animals", limit=3)
    assert context.calls == [("zoo/list_animals", {"limit": 3, "species": "cat"})]
    assert outputs == {"rows": "the rows", "report": 1}


@pytest.mark.anyio
async def test_arguments_may_come_as_one_object_and_a_port_of_its_own_wins() -> None:
    whole: dict[str, Any] = {"species": "dog", "day": None, "ids": []}
    _, context = await called({"$arguments": whole, "species": "cat"}, tool="t")
    assert context.calls == [("t", {"species": "cat", "ids": []})]


@pytest.mark.anyio
async def test_a_tool_that_is_not_there_is_its_error() -> None:
    with pytest.raises(JackfieldError) as caught:
        await called({}, tool="gone")
    assert caught.value.code is Code.TOOL_NOT_FOUND
