import base64
from pathlib import Path
from typing import Any

import pytest

from jackfield.engine.engine import Engine
from jackfield.engine.environment import Environment
from jackfield.graphs.errors import Code, JackfieldError
from jackfield.graphs.model import Edge, Graph, Json, Node
from jackfield.nodes import NODE_TYPES
from jackfield.nodes.blocks import MOST_BYTES

pytestmark = pytest.mark.anyio


async def made(blocks: Json, inputs: Json = None, folder: Path = Path(), port: str = "content") -> Any:
    properties: Json = {name: {} for name in inputs or ()}
    nodes = (
        Node("input", "input", {"schema": {"type": "object", "properties": properties}}),
        Node("c", "content", {"blocks": blocks}),
        Node("output", "output"),
    )
    wires = [Edge("input", "c", name, name) for name in properties] or [Edge("input", "c")]
    graph = Graph(nodes, (*wires, Edge("c", "output", port, port)))
    async with Engine(NODE_TYPES) as engine:
        run = await engine.run(graph, inputs or {}, environment=Environment(folder=folder), timeout_s=10)
    return run.values[port]


async def test_blocks_are_written_as_mcp_has_them_with_inputs_in_their_places() -> None:
    blocks = [
        {"type": "text", "text": "Hello {{name}}, {{more.x}}"},
        {"type": "image", "data": "aGk=", "mime_type": "image/png"},
        {"type": "audio", "data": "aGk=", "mime_type": "audio/wav"},
        {"type": "resource", "uri": "test://{{name}}", "mime_type": "application/json", "text": '{"a": "{{name}}"}'},
        {"type": "resource", "uri": "test://b", "blob": "aGk="},
        {"type": "resource_link", "uri": "test://{{name}}", "name": "L", "description": "Of {{name}}"},
    ]
    assert await made(blocks, {"name": "Ada", "more": {"x": [1]}}) == [
        {"type": "text", "text": "Hello Ada, [1]"},
        {"type": "image", "data": "aGk=", "mimeType": "image/png"},
        {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
        {
            "type": "resource",
            "resource": {"uri": "test://Ada", "mimeType": "application/json", "text": '{"a": "Ada"}'},
        },
        {
            "type": "resource",
            "resource": {"uri": "test://b", "mimeType": "application/octet-stream", "blob": "aGk="},
        },
        {"type": "resource_link", "uri": "test://Ada", "name": "L", "description": "Of Ada"},
    ]


async def test_the_blocks_are_messages_too_each_of_its_role() -> None:
    blocks = [{"type": "text", "text": "Q"}, {"type": "text", "text": "A", "role": "assistant"}]
    assert await made(blocks, port="messages") == [
        {"role": "user", "content": {"type": "text", "text": "Q"}},
        {"role": "assistant", "content": {"type": "text", "text": "A"}},
    ]


async def test_files_below_the_connectors_folder_are_text_or_bytes_by_their_type(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("Größe", "utf-8")
    (tmp_path / "pixel.png").write_bytes(b"\x89PNG")
    blocks = [
        {"type": "resource", "uri": "n://", "path": "notes.txt"},
        {"type": "image", "path": "{{which}}.png"},
        {"type": "resource", "uri": "p://", "path": "pixel.png"},
    ]
    text, image, blob = await made(blocks, {"which": "pixel"}, tmp_path)
    encoded = base64.b64encode(b"\x89PNG").decode()
    assert text["resource"] == {"uri": "n://", "mimeType": "text/plain", "text": "Größe"}
    assert image == {"type": "image", "data": encoded, "mimeType": "image/png"}
    assert blob["resource"] == {"uri": "p://", "mimeType": "image/png", "blob": encoded}


@pytest.mark.parametrize("path", ["../secret.txt", "/etc/passwd", "{{which}}"])
async def test_no_file_outside_of_the_folder_is_read(tmp_path: Path, path: str) -> None:
    (tmp_path / "secret.txt").write_text("no")
    (tmp_path / "in").mkdir()
    with pytest.raises(JackfieldError) as failed:
        await made([{"type": "resource", "uri": "x://", "path": path}], {"which": "../secret.txt"}, tmp_path / "in")
    assert failed.value.code is Code.CONFIG_INVALID


async def test_a_file_too_large_to_be_content_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "big.bin").open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(JackfieldError, match="content may have") as failed:
        await made([{"type": "resource", "uri": "x://", "path": "big.bin"}], folder=tmp_path)
    assert failed.value.code is Code.BUDGET_EXCEEDED


async def test_what_is_no_base64_is_refused() -> None:
    with pytest.raises(JackfieldError, match="base64"):
        await made([{"type": "image", "data": "{{d}}"}], {"d": "not base64!"})


@pytest.mark.parametrize(
    "block", [{"type": "image"}, {"type": "audio", "data": "aGk=", "path": "a.wav"}, {"type": "video", "data": "x"}]
)
async def test_a_block_that_cannot_be_made_is_a_fault_of_the_configuration(block: Json) -> None:
    with pytest.raises(JackfieldError) as failed:
        await made([block])
    assert failed.value.code is Code.CONFIG_INVALID


async def test_a_place_without_a_value_is_an_input_that_must_be_wired() -> None:
    from jackfield.nodes import registry
    from jackfield.nodes.checking import check_graph

    graph = Graph(
        (Node("i", "input"), Node("c", "content", {"blocks": [{"type": "text", "text": "{{name}}"}]})),
        (Edge("i", "c"),),
    )
    assert [(one.code, one.subject) for one in check_graph(graph, registry())] == [("INPUT_MISSING", "c")]
