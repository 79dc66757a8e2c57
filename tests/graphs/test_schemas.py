import pytest

from jackfield.graphs.model import Json
from jackfield.graphs.schemas import misfit

TEXT: Json = {"type": "string"}
INTEGER: Json = {"type": "integer"}
NUMBER: Json = {"type": "number"}
TABLE: Json = {"type": "array", "items": {"type": "object"}, "behavior": ["table"]}


def record(*required: str, open: bool = True, **properties: Json) -> Json:
    schema: Json = {"type": "object", "properties": properties, "required": list(required)}
    return schema if open else {**schema, "additionalProperties": False}


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ({}, TEXT),
        (TEXT, {}),
        (TEXT, TEXT),
        (INTEGER, NUMBER),
        (TEXT, {"type": ["string", "number"]}),
        ({"type": ["string", "null"]}, TEXT),
        (TEXT, {"anyOf": [NUMBER, TEXT]}),
        ({"anyOf": [TEXT, {"type": "null"}]}, TEXT),
        ({"enum": ["a"]}, {"enum": ["a", "b"]}),
        ({"const": 1}, {"enum": [1, 2]}),
        (TABLE, {"type": "array"}),
        ({"type": "array"}, TABLE),
        ({"type": "array", "items": INTEGER}, {"type": "array", "items": NUMBER}),
        (record("a", a=TEXT), record("a", a=TEXT)),
        (record(a=TEXT), record("b", b=TEXT)),
        (record(a=TEXT), {"type": "object"}),
        ({"$ref": "#/x"}, TEXT),
        ({"type": "string", "format": "date"}, TEXT),
    ],
)
def test_it_fits(source: Json, target: Json) -> None:
    assert misfit(source, target) is None


@pytest.mark.parametrize(
    ("source", "target", "reason", "certain"),
    [
        (TEXT, NUMBER, "gives string, where number is expected", True),
        (TABLE, TEXT, "gives array, where string is expected", True),
        (NUMBER, INTEGER, "may give number, where integer is expected", False),
        ({"type": ["string", "integer"]}, TEXT, "may give integer, where string is expected", False),
        ({"anyOf": [TEXT, INTEGER]}, TEXT, "gives integer, where string is expected", False),
        ({"anyOf": [TEXT, INTEGER]}, {"type": "boolean"}, "gives string, where boolean is expected", True),
        (TEXT, {"oneOf": [NUMBER, {"type": "boolean"}]}, "gives string, where number is expected", True),
        ({"enum": ["a", "c"]}, {"enum": ["a", "b"]}, 'may give "c", which is not one of "a", "b"', False),
        ({"enum": ["c"]}, {"enum": ["a", "b"]}, 'may give "c", which is not one of "a", "b"', True),
        (
            {"type": "string", "format": "date"},
            {"type": "string", "format": "date-time"},
            "gives text of format date, where date-time is expected",
            False,
        ),
        (
            {"type": "array", "items": TEXT},
            {"type": "array", "items": NUMBER},
            "at '[]' gives string, where number is expected",
            False,
        ),
        (
            record("a", a=TEXT),
            record("a", a=NUMBER),
            "at '.a' gives string, where number is expected",
            True,
        ),
        (record(a=TEXT), record(a=NUMBER), "at '.a' gives string, where number is expected", False),
        (
            record(a=TEXT, open=False),
            record("b", b=TEXT),
            "never gives the property 'b', which is required",
            True,
        ),
        (record("x", x=TEXT), record(a=TEXT, open=False), "gives the property 'x', which is not taken", True),
    ],
)
def test_it_does_not_fit(source: Json, target: Json, reason: str, certain: bool) -> None:
    found = misfit(source, target)
    assert found is not None
    assert str(found) == reason
    assert found.certain is certain
