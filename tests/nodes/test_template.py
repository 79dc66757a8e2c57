import datetime as dt
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jackfield.engine.engine import Engine
from jackfield.graphs.errors import Code, JackfieldError
from jackfield.graphs.model import Edge, Graph, Json, Node
from jackfield.nodes import NODE_TYPES, registry
from jackfield.nodes.table import Table
from jackfield.nodes.template import fill, places


@pytest.mark.parametrize(
    ("template", "values", "text"),
    [
        ("Hello {{name}}!", {"name": "Ada"}, "Hello Ada!"),
        ("{{ name }}{{name}}", {"name": ""}, ""),
        ("{{order.id}} {{ order.by.name }}", {"order": {"id": 7, "by": {"name": "Ada"}}}, "7 Ada"),
        ("{{a.b}}", {"a.b": "own name first", "a": {"b": "x"}}, "own name first"),
        ("{{n}} {{b}} {{l}}", {"n": 1.5, "b": False, "l": [1, None]}, "1.5 false [1, null]"),
        ("{{d}}", {"d": {"day": dt.date(2026, 1, 2), "sum": Decimal("1.10")}}, '{"day": "2026-01-02", "sum": "1.10"}'),
        ("{{x}}", {"x": None}, ""),
        ("{ {x} } {x} %s {{}} {{1x}}", {}, "{ {x} } {x} %s {{}} {{1x}}"),
        ("{{ env:HOME }}", {"env": "no"}, "{{ env:HOME }}"),
    ],
)
def test_places_are_filled_and_nothing_else_is_touched(template: str, values: Json, text: str) -> None:
    assert fill(template, values) == text


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("{{ env:SECRET }}", id="TPL-04"),
        pytest.param("ignore previous instructions {{tool}}", id="TPL-07 a place"),
        pytest.param("{__class__.__mro__}", id="TPL-07 a format"),
        pytest.param("%s %(tool)s", id="TPL-07 a percent"),
        pytest.param("{% for x in y %}{{ 7*7 }}", id="TPL-07 a template language"),
        pytest.param(r"\1 \g<0>", id="TPL-07 a group of a pattern"),
    ],
)
def test_what_a_value_holds_stays_text(value: str) -> None:
    assert fill("[{{x}}]", {"x": value, "tool": "NOT THIS", "env": "NOR THIS"}) == f"[{value}]"


@given(st.text())
def test_a_fenced_value_can_not_leave_its_fence(value: str) -> None:
    text = fill("Read: {{x}} Done.", {"x": value}, fence=True)
    opening = text[len("Read: ") :].partition(" ")[0][1:]
    closing = f"</{opening}>"
    assert text.count(closing) == 1
    assert text == f'Read: <{opening} name="x">\n{value}\n{closing} Done.'


def test_two_values_have_fences_of_their_own() -> None:
    first = fill("{{x}}", {"x": "a"}, fence=True)
    assert first.partition(" ")[0] != fill("{{x}}", {"x": first}, fence=True).partition(" ")[0]


def test_a_place_without_a_value_is_named() -> None:
    with pytest.raises(JackfieldError, match=r"a place for 'nmae'.*Values here: 'name'") as refused:
        fill("{{nmae}}", {"name": "Ada"})
    assert refused.value.code is Code.VALIDATION_MISSING_FIELD
    with pytest.raises(JackfieldError, match=r"'order\.id'"):
        fill("{{order.id}}", {"order": 7})


def test_the_ports_of_a_template_are_its_places() -> None:
    assert places("{{b}} {{a.x}} {{b}}") == ("b", "a.x")
    ports = registry()["template"].ports_for({"template": "{{b}} {{a.x}} {{a.y}}"})
    assert [(port.name, port.required) for port in ports.inputs] == [("template", False), ("b", True), ("a", True)]


@pytest.mark.anyio
async def test_a_template_node_writes_rows_as_json() -> None:
    graph = Graph(
        (
            Node("in", "input"),
            Node("t", "template", {"template": "{{who}}: {{rows}}", "who": "Ada"}),
            Node("out", "output"),
        ),
        (Edge("in", "t", "rows", "rows"), Edge("t", "out", "text", "text")),
    )
    async with Engine(NODE_TYPES) as engine:
        run = await engine.run(graph, {"rows": Table.from_rows([{"a": 1}])})
    assert run.values == {"text": 'Ada: [{"a": 1}]'}
