import copy
import json
import pickle
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jackfield.graphs.bgl import Rest, from_json, to_json
from jackfield.graphs.errors import Code, JackfieldError
from jackfield.graphs.model import Edge, Graph, Json, Node

BOARD: dict[str, Json] = {
    "$schema": "https://example.com/board.json",
    "edges": [
        {"from": "in", "to": "loop", "out": "*"},
        {"from": "in", "to": "loop", "out": "", "in": ""},
        {"from": "loop", "out": "text", "to": "out", "in": "text", "optional": False, "constant": True, "colour": 7},
    ],
    "title": "",
    "nodes": [
        {"type": "input", "id": "in", "metadata": {"visual": {"x": 1}}},
        {"id": "loop", "type": "#inner", "configuration": {}},
        {"id": "out", "type": "output", "configuration": {"schema": {"type": "object"}}, "note": [1, None]},
    ],
    "modules": {"m": {"code": "export default 1"}},
    "graphs": {"inner": {"nodes": [{"id": "x", "type": "noop"}], "edges": [], "metadata": {"tags": ["tool"]}}},
    "exports": ["#inner", "#module:m"],
}

text = st.text(max_size=6)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(text, values, max_size=3)
KNOWN = {
    *("id", "type", "configuration", "metadata", "from", "to", "in", "out", "optional", "constant", "nodes", "edges"),
    *("graphs", "exports", "title", "description", "version", "url"),
}
others = st.dictionaries(text.filter(lambda name: name not in KNOWN), values, max_size=2)


def shuffled(known: st.SearchStrategy[dict[str, Json]]) -> st.SearchStrategy[dict[str, Json]]:
    """Objects with the fields of `known` and unknown ones, in any order."""
    merged = st.tuples(known, others).map(lambda both: {**both[1], **both[0]})
    return merged.flatmap(lambda fields: st.permutations(list(fields.items())).map(dict))


nodes = shuffled(
    st.fixed_dictionaries({"id": text, "type": text}, optional={"configuration": objects, "metadata": objects})
)
edges = shuffled(
    st.fixed_dictionaries(
        {"from": text, "to": text},
        optional={
            "in": text,
            "out": text | st.just("*"),
            "optional": st.booleans(),
            "constant": st.booleans(),
            "metadata": objects,
        },
    )
)


def boards(inner: st.SearchStrategy[dict[str, Json]]) -> st.SearchStrategy[dict[str, Json]]:
    return shuffled(
        st.fixed_dictionaries(
            {"nodes": st.lists(nodes, max_size=3), "edges": st.lists(edges, max_size=3)},
            optional={
                "title": text,
                "description": text,
                "version": text,
                "url": text,
                "metadata": objects,
                "exports": st.lists(text, max_size=2),
                "graphs": st.dictionaries(text, inner, max_size=2),
            },
        )
    )


documents = boards(boards(st.just({"nodes": [], "edges": []})))


@given(documents)
def test_what_is_written_is_what_was_read(document: dict[str, Json]) -> None:
    graph = from_json(document)
    assert to_json(graph) == document
    assert json.dumps(to_json(graph)) == json.dumps(document)  # the order of fields too


@given(documents)
def test_reading_what_was_written_gives_the_same_graph_and_hash(document: dict[str, Json]) -> None:
    graph = from_json(document)
    again = from_json(to_json(graph))
    assert again == graph
    assert again.hash == graph.hash


def test_a_board_becomes_nodes_edges_and_subgraphs() -> None:
    graph = from_json(BOARD, "file:///boards/a.bgl.json")
    assert graph.url == "file:///boards/a.bgl.json"
    assert graph.edges[0].is_wildcard
    assert graph.edges[1].is_control
    assert graph.edges[2] == Edge("loop", "out", "text", "text", constant=True, rest=graph.edges[2].rest)
    assert graph.edges[2].rest["colour"] == 7
    assert graph.by_id["out"].configuration == {"schema": {"type": "object"}}
    assert graph.graphs["inner"].nodes[0] == Node("x", "noop")
    assert graph.exports == ("#inner", "#module:m")
    assert graph.rest["modules"] == BOARD["modules"]


def test_where_a_graph_was_found_is_not_written_into_it() -> None:
    assert to_json(from_json(BOARD, "file:///boards/a.bgl.json")) == BOARD
    own = {**BOARD, "url": "https://example.com/a.json"}
    assert from_json(own, "file:///elsewhere").url == "https://example.com/a.json"
    assert to_json(from_json(own, "file:///elsewhere")) == own


def test_a_changed_graph_is_written_as_changed() -> None:
    graph = from_json(BOARD)
    changed = replace(graph, title="Loop", nodes=(replace(graph.nodes[0], id="start"), *graph.nodes[1:]))
    document = to_json(changed)
    assert document["title"] == "Loop"
    assert document["nodes"][0] == {"type": "input", "id": "start", "metadata": {"visual": {"x": 1}}}
    assert list(document) == list(BOARD)


def test_a_graph_made_in_python_is_written_without_empty_fields() -> None:
    graph = Graph((Node("a", "input"), Node("b", "output")), (Edge("a", "b", "x", "y", optional=True),))
    assert to_json(graph) == {
        "nodes": [{"id": "a", "type": "input"}, {"id": "b", "type": "output"}],
        "edges": [{"from": "a", "out": "x", "to": "b", "in": "y", "optional": True}],
    }


def test_the_hash_is_of_what_runs_and_not_of_where_it_lies() -> None:
    graph = from_json(BOARD)
    assert from_json(BOARD, "file:///x").hash == graph.hash
    assert from_json(dict(reversed(BOARD.items()))).hash == graph.hash
    assert replace(graph, edges=graph.edges[1:]).hash != graph.hash


def test_a_graph_can_be_copied_and_sent_to_another_process() -> None:
    graph = from_json(BOARD, "file:///x")
    for other in (copy.deepcopy(Rest({"a": [1]}, ["b", "a"], "f")), pickle.loads(pickle.dumps(graph.rest))):
        assert isinstance(other, Rest)
        assert other.order
        assert other.found_at


@pytest.mark.parametrize(
    ("document", "pointer", "message"),
    [
        ([], "", "a graph must be an object, found a list"),
        ({"edges": []}, "", "'nodes' must be a list, found nothing"),
        ({"nodes": {}, "edges": []}, "/nodes", "'nodes' must be a list, found an object"),
        ({"nodes": [], "edges": [7]}, "/edges/0", "an edge must be an object, found a number"),
        ({"nodes": [{"id": 1, "type": "x"}], "edges": []}, "/nodes/0/id", "'id' must be a string, found a number"),
        ({"nodes": [{"id": "a"}], "edges": []}, "/nodes/0", "'type' must be a string, found nothing"),
        ({"nodes": [], "edges": [{"from": "a"}]}, "/edges/0", "'to' must be a string, found nothing"),
        ({"nodes": [], "edges": [], "metadata": None}, "/metadata", "'metadata' must be an object, found null"),
        ({"nodes": [], "edges": [], "exports": [1]}, "/exports/0", "an export must be a string such as '#id'"),
        ({"nodes": [], "edges": [], "graphs": {"a/b": []}}, "/graphs/a~1b", "a graph must be an object"),
        (
            {"nodes": [], "edges": [{"from": "a", "to": "b", "optional": "yes"}]},
            "/edges/0/optional",
            "'optional' must be true or false, found a string",
        ),
    ],
)
def test_a_document_that_is_no_graph_is_refused_at_its_place(document: Json, pointer: str, message: str) -> None:
    with pytest.raises(JackfieldError, match="The graph at") as refused:
        from_json(document)
    assert refused.value.code is Code.CONFIG_INVALID
    assert refused.value.details["pointer"] == pointer
    assert message in refused.value.message
