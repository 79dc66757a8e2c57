"""`fill`: an object from a template, with nothing evaluated and nothing looked into twice (TPL-04)."""

from typing import Any

import pyarrow as pa
import pytest

from jackfield.nodes.fill import fill_node, filled
from jackfield.nodes.table import Table

ROWS = Table.whole(pa.table({"id": [7, 8], "name": ["Ann", None]}))
VALUES: dict[str, Any] = {
    "$arguments": {"day": None, "word": "{{rows.0.id}}", "deep": {"list": [1, {"x": 2}]}},
    "rows": ROWS,
}


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ({"a": "{{rows.0.id}}"}, {"a": 7}),
        ({"a": "{{ rows.1.id }}"}, {"a": 8}),
        ({"a": "row {{rows.0.id}} is {{rows.0.name}}"}, {"a": "row 7 is Ann"}),
        ({"a": "{{rows}}"}, {"a": [{"id": 7, "name": "Ann"}, {"id": 8, "name": None}]}),
        ({"a": "{{$arguments.deep.list.1.x}}"}, {"a": 2}),
        ({"a": "{{$arguments.deep}} {{$arguments.deep.list.0}}"}, {"a": '{"list": [1, {"x": 2}]} 1'}),
        ({"a": ["{{rows.0.id}}", "{{rows.9.id}}", 3]}, {"a": [7, 3]}),
        ({"a": {"b": "{{rows.0.name}}", "c": True}}, {"a": {"b": "Ann", "c": True}}),
    ],
)
def test_references_are_replaced_with_their_type(template: Any, value: Any) -> None:
    assert filled(template, VALUES) == value


@pytest.mark.parametrize(
    "reference",
    [
        *("$arguments.day", "$arguments.absent", "gone"),
        *("rows.2.id", "rows.x.id", "rows.0.absent", "rows.1.name", "rows.0.id.x"),
    ],
)
def test_a_field_whose_value_is_not_there_is_left_out(reference: str) -> None:
    assert filled({"a": "{{" + reference + "}}", "b": 1}, VALUES) == {"b": 1}
    assert filled({"a": "<{{" + reference + "}}>"}, VALUES) == {"a": "<>"}


def test_tpl_04_a_value_that_holds_a_reference_stays_text() -> None:
    assert filled({"a": "{{$arguments.word}}", "b": "say {{$arguments.word}}"}, VALUES) == {
        "a": "{{rows.0.id}}",
        "b": "say {{rows.0.id}}",
    }


@pytest.mark.anyio
async def test_a_stream_is_read_whole_before_it_is_looked_into() -> None:
    reader = pa.RecordBatchReader.from_batches(ROWS.schema, ROWS.arrow().to_batches())
    fire = fill_node.bind("fill", {"template": {"last": "{{rows.1.id}}"}})
    assert await fire({"rows": Table.stream(reader)}, None) == {"object": {"last": 8}}  # type: ignore[arg-type]
