import datetime as dt
import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jackfield.graphs.errors import Code, JackfieldError
from jackfield.graphs.model import Json
from jackfield.nodes.arguments import coerce, from_text
from jackfield.nodes.examples import example

UTC = dt.UTC
DATE: Json = {"type": "string", "format": "date"}
MOMENT: Json = {"type": "string", "format": "date-time"}
LOCAL: Json = {"type": "string", "format": "date-time-local"}


def schema(*required: str, **properties: Json) -> Json:
    return {"type": "object", "properties": properties, "required": list(required)}


@pytest.mark.parametrize(
    ("expected", "given", "value"),
    [
        ({"type": "string"}, "", ""),
        ({"type": "string"}, "x' OR 1=1 --", "x' OR 1=1 --"),
        ({"type": "string"}, "{{ env:SECRET }}", "{{ env:SECRET }}"),
        ({"type": "string"}, "😀", "😀"),
        ({"type": "integer"}, 0, 0),
        ({"type": "integer"}, -(2**63), -(2**63)),
        ({"type": "integer"}, 2**63 - 1, 2**63 - 1),
        ({"type": "integer"}, 3.0, 3),
        ({"type": "integer"}, Decimal("5"), 5),
        ({"type": "integer"}, Decimal("12E+2"), 1200),
        ({"type": "number"}, 2, 2.0),
        ({"type": "number"}, 1e308, 1e308),
        ({"type": "number"}, Decimal("1.10"), Decimal("1.10")),
        ({"type": "boolean"}, False, False),
        (DATE, "2024-02-29", dt.date(2024, 2, 29)),
        (DATE, dt.date(2024, 2, 29), dt.date(2024, 2, 29)),
        (MOMENT, "2026-01-02T03:04:05Z", dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        (MOMENT, "2026-01-02 03:04+02:00", dt.datetime(2026, 1, 2, 1, 4, tzinfo=UTC)),
        (LOCAL, "2026-01-02T03:04:05", dt.datetime.fromisoformat("2026-01-02T03:04:05")),
        ({"type": "array", "items": {"type": "integer"}}, [1, 2], [1, 2]),
        ({"type": "array", "items": DATE}, ("2026-01-01",), [dt.date(2026, 1, 1)]),
        ({"type": "array"}, [], []),
        (
            {"type": "object", "properties": {"a": DATE}},
            {"a": "2026-01-01", "b": 1},
            {"a": dt.date(2026, 1, 1), "b": 1},
        ),
        ({"type": "object", "properties": {"a": {"default": 7}}}, {}, {"a": 7}),
        ({"type": ["string", "integer"]}, 7, 7),
        ({"type": ["string", "null"]}, None, None),
        ({"type": "string", "enum": ["cat", "dog"]}, "cat", "cat"),
        ({}, [{"x": None}], [{"x": None}]),
    ],
)
def test_a_value_that_fits_gets_its_python_type(expected: Json, given: Json, value: object) -> None:
    found = coerce(schema(p=expected), {"p": given})["p"]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("expected", "given", "words"),
    [
        pytest.param({"type": "integer"}, "1; x", 'an integer, found "1; x"', id="SQL-11 text for an integer"),
        pytest.param({"type": "number"}, math.inf, "a finite number", id="SQL-11 1e400"),
        pytest.param({"type": "number"}, 10**400, "a finite number", id="SQL-11 an integer beyond floats"),
        pytest.param({"type": "number"}, Decimal("1e400"), "a finite number", id="SQL-11 a decimal beyond floats"),
        pytest.param({"type": "integer"}, math.inf, "an integer", id="SQL-11 infinity for an integer"),
        pytest.param({"type": "integer"}, 2**63, "an integer from -9223372036854775808", id="SQL-11 2^63"),
        pytest.param({"type": "number"}, math.nan, "a finite number", id="SQL-11 NaN"),
        pytest.param({"type": "integer"}, True, "an integer, found true", id="SQL-11 true for an integer"),
        pytest.param({"type": "number"}, True, "a number, found true", id="SQL-11 true for a number"),
        pytest.param(DATE, "2026-02-30", "a date of the calendar", id="SQL-11 a date that is none"),
        pytest.param(MOMENT, "2026-01-02T03:04:05", "with its zone", id="SQL-11 a datetime without zone"),
        pytest.param({"type": "string"}, "a\0b", "without NUL", id="SQL-11 NUL in a string"),
        pytest.param(
            {"type": "array", "items": {"type": "string"}}, ["a\0b"], "without NUL", id="SQL-11 NUL in a list"
        ),
        ({"type": "string"}, 7, "a string, found 7"),
        ({"type": "string"}, "\ud800", "valid Unicode"),
        ({"type": "integer"}, 1.5, "an integer, found 1.5"),
        ({"type": "integer"}, Decimal("1.5"), "an integer"),
        ({"type": "integer"}, Decimal("NaN"), "an integer"),
        ({"type": "integer"}, Decimal("1E+999999"), "an integer"),
        ({"type": "integer"}, 1e300, "an integer, found 1e+300"),
        ({"type": "integer"}, "7", "an integer"),
        ({"type": "boolean"}, 1, "true or false, found 1"),
        ({"type": "boolean"}, "true", "true or false"),
        (DATE, "20260102", "YYYY-MM-DD"),
        (DATE, "2026-W01-1", "YYYY-MM-DD"),
        (DATE, dt.datetime(2026, 1, 1, tzinfo=UTC), "YYYY-MM-DD, found a datetime"),
        (MOMENT, "2026-01-02", "a date and time"),
        (MOMENT, "2026-01-02T25:00:00Z", "a date and time"),
        (LOCAL, "2026-01-02T03:04:05Z", "without a zone"),
        ({"type": "array", "items": {"type": "integer"}}, 7, "a list, found 7"),
        ({"type": "array", "items": {"type": "integer"}}, "1,2", "a list"),
        ({"type": "array", "minItems": 1}, [], "at least 1 items"),
        ({"type": "array", "maxItems": 1}, [1, 2], "at most 1 items"),
        ({"type": "object"}, [], "an object"),
        ({"type": "string", "enum": ["cat", "dog"]}, "dgo", 'one of "cat", "dog"'),
        ({"type": "integer", "enum": [0, 1]}, False, "one of 0, 1"),
        ({"type": "string", "pattern": "^[a-z]+$"}, "A1", "matches ^[a-z]+$"),
        ({"type": "string", "minLength": 2}, "a", "at least 2 characters"),
        ({"type": "string", "maxLength": 2}, "abc", "at most 2 characters"),
        ({"type": "integer", "minimum": 1}, 0, "of at least 1, found 0"),
        ({"type": "integer", "maximum": 9}, 10, "of at most 9"),
        ({"type": "number", "exclusiveMinimum": 0}, 0, "above 0"),
        ({"type": "number", "exclusiveMaximum": 1}, 1, "below 1"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_by_name_and_rule(expected: Json, given: Json, words: str) -> None:
    with pytest.raises(JackfieldError) as refused:
        coerce(schema(p=expected), {"p": given})
    error = refused.value
    assert error.code is Code.VALIDATION_INVALID_PARAMS
    assert error.message.startswith("Parameter 'p")
    assert words in error.message
    assert error.details["parameter"] == "p"
    assert (error.http_status, error.exit_code) == (422, 2)


def test_the_place_inside_a_value_is_named() -> None:
    nested = {"type": "object", "properties": {"days": {"type": "array", "items": DATE}}}
    with pytest.raises(JackfieldError, match=r"Parameter 'p\.days\[1\]': expected a date .* found \"x\"") as refused:
        coerce(schema(p=nested), {"p": {"days": ["2026-01-01", "x"]}})
    assert refused.value.details["parameter"] == "p"
    closed = {**nested, "additionalProperties": False, "required": ["days"]}
    with pytest.raises(JackfieldError, match=r"Parameter 'p\.days': expected a value"):
        coerce(schema(p=closed), {"p": {}})
    with pytest.raises(JackfieldError, match=r"Parameter 'p\.x': expected only the properties 'days'"):
        coerce(schema(p=closed), {"p": {"days": [], "x": 1}})


@pytest.mark.parametrize(
    ("value", "hint"),
    [("2026-01-02T03:04", "2026-01-02T03:04:00Z"), (dt.datetime.fromisoformat("2026-01-02"), "AT TIME ZONE 'UTC'")],
)
def test_a_datetime_without_zone_is_refused_with_what_would_add_one(value: object, hint: str) -> None:
    with pytest.raises(JackfieldError) as refused:
        coerce(schema(p=MOMENT), {"p": value})
    assert hint in refused.value.hint


def test_a_wrong_choice_names_the_near_one() -> None:
    with pytest.raises(JackfieldError, match="Did you mean 'dog'"):
        coerce(schema(p={"type": "string", "enum": ["cat", "dog"]}), {"p": "dgo"})


def test_a_missing_required_argument_is_its_own_code_with_the_description() -> None:
    expected = schema("since", since={**DATE, "description": "First day counted"})
    for arguments in ({}, {"since": None}):
        with pytest.raises(JackfieldError) as refused:
            coerce(expected, arguments)
        assert refused.value.code is Code.VALIDATION_MISSING_FIELD
        assert refused.value.message == "Parameter 'since' is required, found nothing."
        assert refused.value.hint == "Give 'since' (date): First day counted"


def test_an_absent_argument_is_its_default_or_none() -> None:
    expected = schema(limit={"type": "integer", "default": 10}, since={**DATE, "default": "2026-01-01"}, city={})
    assert coerce(expected, {}) == {"limit": 10, "since": dt.date(2026, 1, 1), "city": None}
    assert coerce(expected, {"limit": None})["limit"] == 10
    assert coerce(schema(p={"type": "integer", "default": "7"}), {}) == {"p": 7}  # as BGL writes defaults
    assert coerce(schema(p={"type": "string", "default": "7"}), {}) == {"p": "7"}


def test_an_unknown_name_is_refused_with_the_near_one_unless_the_caller_is_lenient() -> None:
    expected = schema(species={"type": "string"}, city={"type": "string"})
    with pytest.raises(JackfieldError, match=r"There is no parameter 'specis'\. Did you mean 'species'\?"):
        coerce(expected, {"specis": "cat"})
    with pytest.raises(JackfieldError, match="Parameters: 'species', 'city'"):
        coerce(expected, {"zzz": 1})
    with pytest.raises(JackfieldError, match="It takes no parameters"):
        coerce({}, {"zzz": 1})
    assert coerce(expected, {"zzz": 1}, strict=False) == {"zzz": 1, "species": None, "city": None}


def test_all_problems_are_told_at_once() -> None:
    expected = schema("a", a={"type": "integer"}, b={"type": "integer"})
    with pytest.raises(JackfieldError, match="no parameter 'c'") as refused:
        coerce(expected, {"b": "x", "c": 1})
    codes = [problem["code"] for problem in refused.value.details["problems"]]
    assert codes == ["VALIDATION_INVALID_PARAMS", "VALIDATION_MISSING_FIELD", "VALIDATION_INVALID_PARAMS"]


def test_a_sensitive_value_is_never_repeated() -> None:
    expected = schema(token={"type": "string", "maxLength": 3, "x-sensitive": True})
    with pytest.raises(JackfieldError) as refused:
        coerce(expected, {"token": "hunter2"})
    assert "hunter2" not in str(refused.value.as_json())


def test_a_long_value_is_cut_in_the_message() -> None:
    with pytest.raises(JackfieldError) as refused:
        coerce(schema(p={"type": "integer"}), {"p": "x" * 5_000_000})
    assert len(refused.value.message) < 200


@given(st.from_type(type(None)) | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.integers()))
def test_whatever_is_sent_either_fits_or_is_refused(value: Json) -> None:
    codes = set()
    for kind in ("string", "integer", "number", "boolean", "array", "object"):
        for extra in ({}, {"format": "date"}, {"format": "date-time"}):
            try:
                coerce(schema("p", p={"type": kind, **extra}), {"p": value})
            except JackfieldError as error:
                codes.add(error.code)
    assert codes <= {Code.VALIDATION_INVALID_PARAMS, Code.VALIDATION_MISSING_FIELD}
    assert codes  # no value is of all six types


def test_a_command_lines_text_is_read_by_the_types_of_the_schema() -> None:
    expected = schema(
        i={"type": "integer"},
        n={"type": "number"},
        b={"type": "boolean"},
        s={"type": "string"},
        d=DATE,
        l={"type": "array", "items": {"type": "integer"}},
        w={"type": "array", "items": {"type": "string"}},
        j={"type": "array", "items": {"type": "string"}},
        o={"type": "object"},
    )
    pairs = {
        "i": "7",
        "n": "1.5",
        "b": "TRUE",
        "s": "7",
        "d": "2026-01-02",
        "l": "1, 2",
        "w": "Oslo,Bergen",
        "j": '["a,b"]',
        "o": '{"a": 1}',
    }
    arguments = from_text(expected, pairs)
    assert coerce(expected, arguments) == {
        "i": 7,
        "n": 1.5,
        "b": True,
        "s": "7",
        "d": dt.date(2026, 1, 2),
        "l": [1, 2],
        "w": ["Oslo", "Bergen"],
        "j": ["a,b"],
        "o": {"a": 1},
    }


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("integer", "1; x"),
        ("integer", "1e400"),
        ("number", "NaN"),
        ("number", "Infinity"),
        ("boolean", "yes"),
        ("object", "{"),
    ],
)
def test_text_that_does_not_read_is_refused_with_the_reason(kind: str, text: str) -> None:
    expected = schema(p={"type": kind})
    with pytest.raises(JackfieldError, match="Parameter 'p': expected"):
        coerce(expected, from_text(expected, {"p": text}))


def test_an_unknown_name_on_a_command_line_reaches_the_check() -> None:
    with pytest.raises(JackfieldError, match="no parameter 'x'"):
        coerce({}, from_text({}, {"x": "1"}))


def test_of_very_many_and_very_long_unknown_names_a_few_are_told_in_short() -> None:
    with pytest.raises(JackfieldError) as caught:
        coerce(schema(name={"type": "string"}), {f"k{number}": number for number in range(90_000)})
    assert len(caught.value.details["problems"]) == 50
    with pytest.raises(JackfieldError) as caught:
        coerce(schema(name={"type": "string"}), {"y" * 3_900_000: 1})
    assert (caught.value.code, len(str(caught.value)) < 400) == (Code.VALIDATION_INVALID_PARAMS, True)
    with pytest.raises(JackfieldError, match="expected one of"):
        coerce(schema(name={"enum": ["cat", "dog"]}), {"name": "y" * 3_900_000})


@pytest.mark.parametrize(
    ("expected", "given", "hint"),
    [
        ({"type": "string"}, 3, 'Send a string, for example {"x": "text"}.'),
        ({"type": "string", "enum": ["cat", "dog"]}, 3, 'Send one of "cat", "dog", for example {"x": "cat"}.'),
        ({"type": "string", "enum": ["cat", "dog"]}, "cats", "Did you mean 'cat'?"),
        ({"type": "integer"}, [], 'Send an integer, for example {"x": 10}.'),
        ({"type": "integer", "minimum": 20}, 3, 'Send a number of at least 20, for example {"x": 20}.'),
        ({"type": "integer", "maximum": 2}, 3, 'Send a number of at most 2, for example {"x": 2}.'),
        (DATE, "1 May", 'Send a date of the calendar as YYYY-MM-DD, for example {"x": "2026-03-01"}.'),
        ({"type": "array", "items": DATE}, ["x"],
         'Send a date of the calendar as YYYY-MM-DD as \'x[0]\', for example {"x": ["2026-03-01"]}.'),
        ({"type": "object", "required": ["a"], "properties": {"a": {"type": "boolean"}}}, 1,
         'Send an object, for example {"x": {"a": true}}.'),
        ({"type": "string", "pattern": "^[A-Z]{2}$", "examples": ["NO"]}, "no",
         'Send text that matches ^[A-Z]{2}$, for example {"x": "NO"}.'),
        ({"type": "string", "pattern": "^[A-Z]{2}$"}, "no", "Send text that matches ^[A-Z]{2}$."),
        ({"type": "string", "minLength": 6}, "no", 'Send at least 6 characters, for example {"x": "textxx"}.'),
    ],
)  # fmt: skip
def test_a_value_that_does_not_fit_is_told_what_would(expected: Json, given: Json, hint: str) -> None:
    with pytest.raises(JackfieldError) as caught:
        coerce(schema(x=expected), {"x": given})
    assert caught.value.hint == hint


@given(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["string", "integer", "number", "boolean", "array", "object"])},
        optional={
            "format": st.sampled_from(["date", "date-time"]),
            "minimum": st.integers(-5, 50),
            "maximum": st.integers(-5, 50),
            "minLength": st.integers(0, 9),
            "maxLength": st.integers(0, 9),
            "minItems": st.integers(0, 3),
            "items": st.just({"type": "integer", "minimum": 7}),
        },
    )
)
def test_an_example_fits_its_own_schema_or_there_is_none(expected: Json) -> None:
    made = example(expected)
    if made is not None:
        coerce(schema(x=expected), {"x": made})
