"""Prompts written as messages or graphs, and resources: what they compile to, and what running that gives."""

import json
from pathlib import Path
from typing import Any

import pytest
from connector_documents import Change, put, text

from jackfield.connectors.lint import lint
from jackfield.connectors.model import Connector
from jackfield.connectors.reading import read_text
from jackfield.engine.engine import Engine
from jackfield.engine.environment import Environment
from jackfield.graphs.model import Graph, Json
from jackfield.nodes import NODE_TYPES

pytestmark = pytest.mark.anyio

ROWS: Json = {"id": "cages", "type": "rows", "rows": [{"cage": 1, "animal": "lion"}, {"cage": 2, "animal": "owl"}]}
TOOL: Json = {
    "id": "list_cages",
    "name": "Cages",
    "description": "Return the animal of one cage.",
    "category": "READ",
    "sql": "SELECT animal FROM cages WHERE cage = :cage",
    "parameters": [{"name": "cage", "type": "int", "description": "Number of the cage"}],
}


def connector(folder: Path, *, skills: Json = (), resources: Json = ()) -> Connector:
    document = {
        "name": "Zoo",
        "slug": "zoo",
        "version": "1.0.0",
        "sources": [ROWS],
        "tools": [TOOL],
        "skills": list(skills),
        "resources": list(resources),
    }
    reading = read_text(json.dumps(document), folder / "zoo.connector.json")
    assert reading is not None
    assert reading.connector is not None, reading.findings
    return reading.connector


async def run(owner: Connector, graph: Graph, inputs: Json = None) -> Any:
    async def resolve(name: str) -> tuple[Graph, Environment]:
        return owner.tools[name].graph, environment

    environment = Environment(owner.slug, owner.folder, resolve=resolve)
    async with Engine(NODE_TYPES) as engine:
        return (await engine.run(graph, inputs or {}, environment=environment, timeout_s=10)).values


GREETING: Json = {
    "id": "greeting",
    "name": "Greeting",
    "description": "Give a greeting for one visitor.",
    "parameters": [
        {"name": "name", "type": "string", "description": "Who comes"},
        {"name": "cage", "type": "int", "description": "Where he stands", "required": False},
    ],
    "messages": [
        {"type": "text", "text": "Greet {{name}} at cage {{cage}}."},
        {"type": "text", "text": "Hello!", "role": "assistant"},
    ],
}


async def test_a_prompt_of_messages_has_its_arguments_in_their_places(tmp_path: Path) -> None:
    owner = connector(tmp_path, skills=[GREETING])
    skill = owner.skills["greeting"]
    assert skill.gives_messages
    assert await run(owner, skill.graph, {"name": "Ada {{cage}}"}) == {
        "messages": [
            {"role": "user", "content": {"type": "text", "text": "Greet Ada {{cage}} at cage ."}},
            {"role": "assistant", "content": {"type": "text", "text": "Hello!"}},
        ]
    }


async def test_a_prompt_that_is_a_graph_takes_what_its_input_asks_for(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"who": {"type": "string"}}, "required": ["who"]}
    graph = {
        "nodes": [
            {"id": "input", "type": "input", "configuration": {"schema": schema}},
            {"id": "m", "type": "content", "configuration": {"blocks": [{"type": "text", "text": "Hi {{who}}"}]}},
            {"id": "output", "type": "output"},
        ],
        "edges": [
            {"from": "input", "to": "m", "out": "who", "in": "who"},
            {"from": "m", "to": "output", "out": "messages", "in": "messages"},
        ],
    }
    (tmp_path / "hi.bgl.json").write_text(json.dumps(graph))
    skill: Json = {"id": "hi", "name": "Hi", "description": "Give a greeting."}
    for given in (graph, "hi.bgl.json"):
        owner = connector(tmp_path, skills=[{**skill, "graph": given}])
        assert owner.skills["hi"].input_schema == schema
        answer = await run(owner, owner.skills["hi"].graph, {"who": "Ada"})
        assert answer["messages"] == [{"role": "user", "content": {"type": "text", "text": "Hi Ada"}}]
    assert owner.graph_files == (tmp_path / "hi.bgl.json",)


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        ({"text": "Do not feed."}, {"mimeType": "text/plain", "text": "Do not feed."}),
        ({"blob": "aGk=", "mime_type": "image/png"}, {"mimeType": "image/png", "blob": "aGk="}),
        ({"path": "rules.md"}, {"mimeType": "text/markdown", "text": "# Rules"}),
    ],
)
async def test_a_resource_gives_its_contents(tmp_path: Path, contents: Json, expected: Json) -> None:
    (tmp_path / "rules.md").write_text("# Rules")
    owner = connector(tmp_path, resources=[{"uri": "zoo://rules", "name": "Rules", **contents}])
    resource = owner.resources["zoo://rules"]
    assert not resource.is_template
    assert await run(owner, resource.graph) == {"contents": [{"uri": "zoo://rules", **expected}]}


CAGE: Json = {"uri_template": "zoo://cages/{cage}/animal", "name": "Animal of a cage"}


async def test_a_template_fills_its_contents_from_the_uri(tmp_path: Path) -> None:
    owner = connector(tmp_path, resources=[{**CAGE, "text": "In {{cage}}", "mime_type": "text/x-note"}])
    resource = owner.resources["zoo://cages/{cage}/animal"]
    given = resource.arguments("zoo://cages/a%20b/animal")
    assert given == {"cage": "a b"}
    assert await run(owner, resource.graph, given) == {
        "contents": [{"uri": "zoo://cages/a b/animal", "mimeType": "text/x-note", "text": "In a b"}]
    }


@pytest.mark.parametrize(
    "uri", ["zoo://cages//animal", "zoo://cages/1/2/animal", "zoo://cages/1", "xzoo://cages/1/animal"]
)
def test_another_uri_is_not_of_the_template(tmp_path: Path, uri: str) -> None:
    owner = connector(tmp_path, resources=[{**CAGE, "text": "{{cage}}"}])
    assert owner.resources["zoo://cages/{cage}/animal"].arguments(uri) is None


async def test_a_resource_may_be_the_answer_of_a_tool(tmp_path: Path) -> None:
    owner = connector(tmp_path, resources=[{**CAGE, "tool": "list_cages"}])
    resource = owner.resources["zoo://cages/{cage}/animal"]
    (contents,) = (await run(owner, resource.graph, resource.arguments("zoo://cages/2/animal")))["contents"]
    assert contents["mimeType"] == "application/json"
    assert json.loads(contents["text"]) == [{"animal": "owl"}]


def test_a_skill_has_one_form() -> None:
    both: Change = put("skills/0/messages", [{"type": "text", "text": "x"}])
    found = [finding.message for finding in lint(text(both)) if finding.code == "INVALID_VALUE"]
    assert found == ["a skill has a prompt_template and steps, or messages, or a graph; keep one of them."]
