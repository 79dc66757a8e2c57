import json
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from jackfield.graphs.bgl import from_json
from jackfield.graphs.checks import CODES, RULES, Subject, check
from jackfield.graphs.checks.reach import fireable
from jackfield.graphs.findings import Finding, Severity
from jackfield.graphs.model import Edge, Graph, Json, Node
from jackfield.graphs.positions import read

TEXT: Json = {"type": "string"}
NUMBER: Json = {"type": "number"}


@dataclass(frozen=True)
class P:
    name: str
    schema: Json = field(default_factory=dict)
    required: bool = True


@dataclass(frozen=True)
class Ps:
    inputs: tuple[P, ...] = ()
    outputs: tuple[P, ...] = ()
    open_inputs: bool = False
    open_outputs: bool = False


KINDS = {
    "input": Ps(outputs=(P("$arguments"),), open_outputs=True, open_inputs=True),
    "output": Ps(open_inputs=True, open_outputs=True),
    "noop": Ps(open_inputs=True, open_outputs=True),
    "text": Ps(outputs=(P("text", TEXT),)),
    "upper": Ps((P("text", TEXT),), (P("text", TEXT),)),
    "add": Ps((P("a", NUMBER), P("b", NUMBER, required=False)), (P("sum", NUMBER),)),
    "invoke": Ps((P("$board", TEXT, required=False),), open_inputs=True, open_outputs=True),
}


def ports(node: Node) -> Ps | None:
    if node.type == "input" and "schema" in node.configuration:
        return Ps(outputs=tuple(P(n, s) for n, s in node.configuration["schema"]["properties"].items()))
    return KINDS.get(node.type)


def graph(nodes: Mapping[str, str | tuple[str, Json]], *edges: str, **more: Json) -> dict[str, Json]:
    """A board from `{id: type}` and edges written `a.out > b.in`; a `?` after the arrow makes an edge optional."""
    document: dict[str, Json] = {"nodes": [], "edges": [], **more}
    for name, kind in nodes.items():
        type_, configuration = kind if isinstance(kind, tuple) else (kind, None)
        document["nodes"].append(
            {"id": name, "type": type_} | ({"configuration": configuration} if configuration else {})
        )
    for edge in edges:
        start, arrow, end = edge.split()
        (from_, _, out), (to, _, in_) = start.partition("."), end.partition(".")
        found = {"from": from_, "out": out, "to": to, "in": in_, "optional": arrow == ">?"}
        document["edges"].append({key: value for key, value in found.items() if value})
    return document


def findings(document: dict[str, Json]) -> tuple[Finding, ...]:
    return check(from_json(document), ports, kinds=tuple(KINDS))


def codes(document: dict[str, Json]) -> list[str]:
    return [finding.code for finding in findings(document)]


def test_a_sound_graph_has_no_findings() -> None:
    assert findings(graph({"in": "input", "up": "upper", "out": "output"}, "in.text > up.text", "up.* > out")) == ()


@pytest.mark.parametrize(
    ("document", "code", "pointer", "message", "hint"),
    [
        (
            graph({"a": "text", "b": "output"}, "a.text > c.text", "a.text > b.text"),
            "EDGE_DANGLING",
            "/edges/0/to",
            "The edge a.text → c.text names the node 'c', which there is not.",
            "Nodes: 'a', 'b'.",
        ),
        (
            graph({"orders": "text", "b": "output"}, "order.text > b.text", "orders.text > b.text"),
            "EDGE_DANGLING",
            "/edges/0/from",
            "names the node 'order'",
            "Did you mean 'orders'?",
        ),
        (
            graph({"a": "text", "b": "upper", "c": "output"}, "a.txt > b.text", "b.text > c.text"),
            "PORT_UNKNOWN",
            "/edges/0/out",
            "Node 'a' (text) has no output 'txt'.",
            "Did you mean 'text'?",
        ),
        (
            graph({"a": "text", "b": ("upper", {"text": "x"})}, "a.text > b.zzz"),
            "PORT_UNKNOWN",
            "/edges/0/in",
            "Node 'b' (upper) has no input 'zzz'.",
            "Inputs: 'text'.",
        ),
        (
            graph({"a": "text", "b": "uper"}, "a.text > b.text"),
            "NODE_TYPE_UNKNOWN",
            "/nodes/1/type",
            "Node 'b' is of the type 'uper', which there is not.",
            "Did you mean 'upper'?",
        ),
        (
            graph({"a": "text", "b": "add"}, "a.text > b.a"),
            "PORT_TYPE_MISMATCH",
            "/edges/0/in",
            "The edge a.text → b.a: the output gives string, where number is expected.",
            "converts",
        ),
        (
            graph({"a": "text", "b": "add"}, "a > b"),
            "INPUT_MISSING",
            "/nodes/1",
            "Node 'b' (add) needs a value for 'a', and nothing gives one.",
            "set 'a' in the node's configuration",
        ),
        (
            graph({"a": "text", "b": "upper"}, "a > b"),
            "INPUT_MISSING",
            "/nodes/1",
            "needs a value for 'text'",
            "Wire 'a.text' to it",
        ),
        (
            graph({"a": "input", "b": "#lookup"}, "a.x > b.x", graphs={"look-up": graph({})}),
            "SUBGRAPH_UNKNOWN",
            "/nodes/1/type",
            "Node 'b' runs '#lookup', and the graph has no such sub-graph.",
            "Did you mean '#look-up'?",
        ),
        (
            graph({"a": "input", "b": ("invoke", {"$board": "#x"})}, "a.x > b.x"),
            "SUBGRAPH_UNKNOWN",
            "/nodes/1/configuration/$board",
            "Node 'b' runs '#x'",
            "Sub-graphs: none.",
        ),
        (
            graph({"a": "noop", "b": "output"}, "a.x > b.x", exports=["#gone", "#module:gone"]),
            "SUBGRAPH_UNKNOWN",
            "/exports/0",
            "The graph exports '#gone'",
            "",
        ),
        (
            graph({"a": "text", "lone": "noop", "b": "upper"}, "a.text > b.text"),
            "NODE_UNREACHABLE",
            "/nodes/1",
            "Node 'lone' can never fire: it stands alone",
            "remove it",
        ),
        (
            graph({"a": "text", "b": "noop", "c": "noop", "d": "noop"}, "b.x > c.x", "c.x > b.x", "c.y > d.y"),
            "CYCLE_WITHOUT_ENTRY",
            "/nodes/1",
            "The cycle b → c → b can never start: no edge leads into it.",
            "Lead an edge",
        ),
        (
            graph({"a": "text", "b": "noop", "c": "noop"}, "a.text > b.x", "c.y > b.y", "b.z > c.z"),
            "CYCLE_WITHOUT_ENTRY",
            "/nodes/1",
            "The cycle b → c → b can never start: each of its nodes waits for another of them.",
            "optional",
        ),
        (
            graph({"a": "text", "b": "noop"}, "a.text > b.x", "a > b.y"),
            "EDGE_UNFINISHED",
            "/edges/1",
            "names the port it goes to, and none that it comes from",
            "Add 'out'",
        ),
        (
            graph({"a": "text", "b": "noop"}, "a.text > b"),
            "EDGE_UNFINISHED",
            "/edges/0",
            "names the port it comes from, and none that it goes to",
            "Add 'in'",
        ),
    ],
)
def test_a_fault_is_found_at_its_place_with_a_hint(
    document: dict[str, Json], code: str, pointer: str, message: str, hint: str
) -> None:
    found = [finding for finding in findings(document) if finding.code == code]
    assert [finding.place.pointer for finding in found][:1] == [pointer], findings(document)
    assert message in found[0].message
    assert hint in found[0].hint
    assert code in CODES


def test_a_javascript_module_is_known_but_not_run() -> None:
    document = graph(
        {"a": "text", "b": "#module:m"}, "a.text > b.x", modules={"m": {"code": ""}}, exports=["#module:m"]
    )
    (found,) = findings(document)
    assert (found.code, found.severity, found.place.pointer) == ("MODULE_NOT_RUN", Severity.WARNING, "/nodes/1/type")
    assert found.code in CODES


def test_two_nodes_of_one_id_are_found() -> None:
    document = graph({"a": "text", "b": "noop"}, "a.text > b.x")
    document["nodes"].append({"id": "a", "type": "noop"})
    (found,) = [finding for finding in findings(document) if finding.code == "NODE_DUPLICATE"]
    assert found.place.pointer == "/nodes/2/id"
    assert found.message == "Two nodes have the id 'a': number 1 and number 3."


def test_a_finding_has_the_line_and_column_of_its_file() -> None:
    document = {"tools": [{"graph": graph({"a": "text", "b": "output"}, "a.text > c.text", "a.text > b.text")}]}
    text = json.dumps(document, indent=2)
    parsed = read(text, "shop.json")
    inner = from_json(parsed.value["tools"][0]["graph"])
    (found,) = check(inner, ports, file="shop.json", document=parsed, pointer="/tools/0/graph")
    assert found.place.pointer == "/tools/0/graph/edges/0/to"
    assert found.place.line is not None
    assert text.splitlines()[found.place.line - 1].strip().startswith('"to": "c"')


def test_faults_of_subgraphs_are_found_under_their_pointer() -> None:
    inner = graph({"x": "nope"})
    document = graph({"a": "input", "b": "#in/ner"}, "a.* > b", graphs={"in/ner": inner})
    (found,) = findings(document)
    assert (found.code, found.place.pointer) == ("NODE_TYPE_UNKNOWN", "/graphs/in~1ner/nodes/0/type")


def test_a_subgraph_may_run_its_siblings() -> None:
    first = graph({"i": "input", "call": "#second", "o": "output"}, "i.* > call", "call.* > o")
    second = graph({"i": "input", "o": "output"}, "i.* > o")
    assert codes(graph({"a": "input", "b": "#first"}, "a.* > b", graphs={"first": first, "second": second})) == []


def test_a_node_that_runs_a_subgraph_has_the_ports_of_its_inputs_and_outputs() -> None:
    schema = {"type": "object", "properties": {"text": TEXT}}
    inner = graph(
        {"i": ("input", {"schema": schema}), "up": "upper", "o": "output"}, "i.text > up.text", "up.text > o.loud"
    )
    nodes: Mapping[str, str | tuple[str, Json]] = {
        "a": "input",
        "b": "#inner",
        "c": ("invoke", {"$board": "#inner"}),
        "out": "output",
    }
    edges = ("a.x > b.text", "b.loud > out.x", "a.y > c.text", "c.loud > out.y")
    assert codes(graph(nodes, *edges, graphs={"inner": inner})) == []
    wrong = graph(nodes, "a.x > b.txt", "b.quiet > out.x", "a.y > c.text", "c.loud > out.y", graphs={"inner": inner})
    assert codes(wrong) == ["PORT_UNKNOWN", "PORT_UNKNOWN"]


def test_a_wildcard_and_a_configured_value_count_as_given() -> None:
    assert codes(graph({"a": "text", "b": "upper"}, "a.* > b")) == []
    assert codes(graph({"a": "text", "b": ("add", {"a": 1})}, "a > b")) == []


def test_types_are_compared_over_a_wildcard_too() -> None:
    document = graph({"a": ("input", {"schema": {"properties": {"a": TEXT}}}), "b": "add"}, "a.* > b")
    (found,) = findings(document)
    assert found.message.startswith("The edge a.a → b.a: the output gives string")


def test_what_may_not_fit_is_a_warning_and_what_never_fits_an_error() -> None:
    either = {"schema": {"properties": {"a": {"type": ["string", "number"]}}}}
    (found,) = findings(graph({"a": ("input", either), "b": "add"}, "a.a > b.a"))
    assert found.severity is Severity.WARNING
    (found,) = findings(graph({"a": "text", "b": "add"}, "a.text > b.a"))
    assert found.severity is Severity.ERROR


def test_an_error_port_is_always_there() -> None:
    assert codes(graph({"a": "text", "b": "output"}, "a.$error > b.error")) == []


@pytest.mark.parametrize(
    ("document", "fired"),
    [
        (graph({"a": "noop", "b": "noop"}, "a.x > b.x", "b.y > a.y"), set()),
        (graph({"s": "noop", "a": "noop", "b": "noop"}, "s.x > a.x", "a.x > b.x", "b.x > a.x"), {"s", "a", "b"}),
        (graph({"s": "noop", "a": "noop", "b": "noop"}, "s.x > a.x", "a.x > b.x", "b.y > a.y"), {"s"}),
        (graph({"s": "noop", "a": "noop", "b": "noop"}, "s.x > a.x", "a.x > b.x", "b.y >? a.y"), {"s", "a", "b"}),
        (
            graph({"s": "noop", "a": ("noop", {"y": 1}), "b": "noop"}, "s.x > a.x", "a.x > b.x", "b.y > a.y"),
            {"s", "a", "b"},
        ),
        (graph({"s": "noop", "a": "noop"}, "s > a", "a > a"), {"s", "a"}),
        (graph({"one": "noop", "two": "noop"}), {"one"}),
    ],
)
def test_which_nodes_can_fire(document: dict[str, Json], fired: set[str]) -> None:
    assert fireable(from_json(document)) == fired


def test_a_marked_start_among_nodes_that_stand_alone_is_the_only_entry() -> None:
    document = graph({"one": "noop", "two": "noop"})
    document["nodes"][1]["metadata"] = {"start": True}
    assert fireable(from_json(document)) == {"two"}


def test_each_rule_finds_something_in_a_graph_with_every_fault() -> None:
    broken = graph(
        {"a": "text", "b": "add", "c": "nope", "d": "#gone", "lone": "noop", "e": "add"},
        "a.text > b.a",
        "a.txt > b.b",
        "a > d.x",
        "a.text > gone.x",
        "a > c",
        "a > e",
    )
    broken["nodes"].append({"id": "lone", "type": "add"})
    subject = Subject(from_json(broken), ports)
    assert [rule.__name__ for rule in RULES if not list(rule(subject))] == []
    assert set(codes(broken)) <= CODES.keys()


def test_a_graph_of_ten_thousand_nodes_is_checked_without_recursion() -> None:
    nodes = [Node(f"n{i}", "noop") for i in range(10_000)]
    edges = [Edge(f"n{i}", f"n{i + 1}", "x", "x") for i in range(9_999)] + [Edge("n9999", "n5000", "y", "y")]
    found = check(Graph(tuple(nodes), tuple(edges)), ports)
    assert found[0].code == "CYCLE_WITHOUT_ENTRY"
    assert "n5000 → n5001" in found[0].message
