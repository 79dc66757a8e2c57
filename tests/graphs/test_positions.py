import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jackfield.graphs.findings import Finding, Place, Severity
from jackfield.graphs.model import Json
from jackfield.graphs.pointers import pointer
from jackfield.graphs.positions import caret, read, read_bytes
from jackfield.graphs.scanner import JsonSyntaxError, Spans

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=15,
)
layouts = st.sampled_from(
    [{}, {"indent": 2}, {"indent": "\t", "ensure_ascii": False}, {"separators": (" , ", "\n:\n")}]
)

TEXT = """{
  "name": "Shop",
  "tools": [
    { "id": "a", "sql": "SELECT \\"x\\" FROM \\u00e9tat" },
    { "id": "b" }
  ]
}
"""


@given(values, layouts)
def test_the_scanner_reads_what_the_standard_library_reads(value: Json, layout: dict[str, Json]) -> None:
    text = json.dumps(value, **layout)
    assert Spans(text).document == json.loads(text)
    assert read(text).value == json.loads(text)


@given(values, layouts)
def test_each_span_holds_the_text_of_its_value(value: Json, layout: dict[str, Json]) -> None:
    text = json.dumps(value, **layout)
    spans = Spans(text)

    def compare(expected: Json, where: str) -> None:
        start, end = spans.values[where]
        assert json.loads(text[start:end]) == expected
        pairs = (
            expected.items()
            if isinstance(expected, dict)
            else enumerate(expected)
            if isinstance(expected, list)
            else ()
        )
        for key, inner in pairs:
            below = where + pointer(key)
            if isinstance(expected, dict):
                start, end = spans.keys[below]
                assert json.loads(text[start:end]) == key
            compare(inner, below)

    compare(json.loads(text), "")


@given(st.text(alphabet='{}[]",:01eE+-.truefalsn\\ud8 \n', max_size=14))
def test_the_scanner_refuses_what_the_standard_library_refuses(text: str) -> None:
    refused: JsonSyntaxError | None = None
    try:
        json.loads(text)
        standard = True
    except ValueError:
        standard = False
    try:
        read(text)
    except JsonSyntaxError as error:
        refused = error
    assert standard or refused is not None
    if refused is not None:
        assert refused.finding.place.line is not None
    if standard and refused is not None:  # what we refuse beyond the standard
        beyond = ("is here twice", "is too large", "surrogate pair", "nested more")
        assert any(words in refused.message for words in beyond), refused.message


def test_a_value_has_its_line_and_column() -> None:
    document = read(TEXT, "shop.json")
    assert document.place("/tools/1/id") == Place("shop.json", "/tools/1/id", 5, 13, 16)
    assert document.place("/tools/1/id", key=True) == Place("shop.json", "/tools/1/id", 5, 7, 11)
    assert document.place("/tools", key=True).column == 3


def test_what_is_missing_is_shown_where_it_should_be() -> None:
    document = read(TEXT, "shop.json")
    place = document.place("/tools/1/sql")
    assert (place.line, place.column, place.pointer) == (5, 5, "/tools/1/sql")
    place = document.place("/tools/9/sql")
    assert (place.line, place.column, place.end_column) == (3, 3, 10)  # the key "tools"
    assert document.place("/nothing").line == 1


def test_a_word_inside_a_string_has_its_own_column_in_spite_of_escapes() -> None:
    document = read(TEXT, "shop.json")
    sql = document.value["tools"][0]["sql"]
    place = document.place_within("/tools/0/sql", sql.index("état"), 4)
    line = TEXT.splitlines()[3]
    assert place.column is not None
    assert place.end_column is not None
    assert line[place.column - 1 : place.end_column - 1] == "\\u00e9tat"


@pytest.mark.parametrize(
    ("text", "line", "column", "message", "hint"),
    [
        ("", 1, 1, "The text ends where a value was expected.", "empty or cut off"),
        ('{"a": 1,\n}', 1, 8, "There is a comma before '}'.", "trailing commas"),
        ("[1, 2,]", 1, 6, "There is a comma before ']'.", "trailing commas"),
        ('{"a": 1\n "b": 2}', 1, 7, "There is no comma between two values.", "Add a comma here"),
        ('{"a": 1, "a": 2}', 1, 10, "The property 'a' is here twice; it was first on line 1.", "Remove one"),
        ('{"a" 1}', 1, 6, "Expected ':' after the property name, found '1'.", ""),
        ("{'a': 1}", 1, 2, "Expected a property name in double quotes", "double quotes"),
        ('{"a": NaN}', 1, 7, "'NaN' is not a JSON value.", "no NaN"),
        ('{"a": True}', 1, 7, "'True' is not a JSON value.", "small letters"),
        ('{"a": 1e400}', 1, 7, "The number is too large.", ""),
        ('{"a": 007}', 1, 7, "A number begins with 0.", "without the zero"),
        ('{"a": "x\\q"}', 1, 9, "This is no escape of JSON.", "escapes are"),
        ('{"a": "x\\u12"}', 1, 9, "The \\u escape needs four hexadecimal digits.", ""),
        ('{"a": "x\ty"}', 1, 9, "A string holds a raw control character.", "tab as \\t"),
        ('{\n "a": "x\n}', 2, 7, "The string is not closed on its line.", "double quote"),
        ('{"a": "\\ud800"}', 1, 7, "A string holds one half of a surrogate pair.", "U+D800"),
        ('{"a": [1, 2', 1, 11, "The text ends where ',' or ']' was expected.", "'[' of line 1 is not closed"),
        ("// shop\n{}", 1, 1, "Expected a value, found '/'.", "no comments"),
        ("{} {}", 1, 4, "There is more text after the end of the document.", ""),
        ("\ufeff{}", 1, 1, "The text begins with a byte order mark.", "without BOM"),
        ("[" * 101 + "]" * 101, 1, 101, "Values are nested more than 100 levels deep.", ""),
        ("[" * 100_000, 1, 101, "Values are nested more than 100 levels deep.", ""),
        ('{"a": ' + "9" * 5000 + "}", 1, 7, "The number is too large.", ""),
    ],
)
def test_a_syntax_error_names_its_place_and_what_would_fix_it(
    text: str, line: int, column: int, message: str, hint: str
) -> None:
    with pytest.raises(JsonSyntaxError) as refused:
        read(text, "c.json")
    finding = refused.value.finding
    assert (finding.place.file, finding.place.line, finding.place.column) == ("c.json", line, column)
    assert finding.message.startswith(message)
    assert hint in finding.hint
    assert refused.value.exit_code == 1


def test_a_hundred_levels_and_whole_surrogate_pairs_are_read() -> None:
    assert read("[" * 100 + "]" * 100).value
    assert read('"\\ud83d\\ude00"').value == "\U0001f600"


def test_a_file_that_is_not_utf_8_is_refused_at_the_byte() -> None:
    with pytest.raises(JsonSyntaxError, match=r"b\.json:2:3: Byte 0xff is not UTF-8"):
        read_bytes(b'{\n"a\xff": 1}', "b.json")
    with pytest.raises(JsonSyntaxError, match="byte order mark of UTF-16"):
        read_bytes("{}".encode("utf-16"))
    with pytest.raises(JsonSyntaxError, match="byte order mark of UTF-8"):
        read_bytes(b"\xef\xbb\xbf{}")


def test_a_frame_shows_the_line_with_carets_and_the_hint() -> None:
    document = read(TEXT, "shop.json")
    sql = document.value["tools"][0]["sql"]
    place = document.place_within("/tools/0/sql", sql.index("FROM"), 4)
    finding = Finding("QUERY_INVALID", Severity.ERROR, "FROM what?", place, "Name a source.")
    assert caret(finding, TEXT).splitlines() == [
        "error[QUERY_INVALID]: FROM what?",
        " --> shop.json:4:39",
        "  |",
        '4 |     { "id": "a", "sql": "SELECT \\"x\\" FROM \\u00e9tat" },',
        "  | " + " " * 38 + "^^^^",
        "  = Name a source.",
    ]


def test_a_frame_cuts_a_long_line_around_its_place() -> None:
    text = '{"a": "' + "x" * 5000 + '", "b": 1, "c": "' + "y" * 5000 + '"}'
    finding = Finding("C", Severity.WARNING, "look", read(text).place("/b"))
    _, _, _, line, carets = caret(finding, text).splitlines()
    assert len(line) < 130
    assert line.startswith("1 | …")
    assert line.endswith("…")
    assert line[carets.index("^")] == "1"


def test_a_frame_does_not_obey_control_characters_and_counts_wide_ones() -> None:
    text = '{"漢字\x7f": 7}'
    frame = caret(Finding("C", Severity.ERROR, "m", read(text).place("/漢字\x7f")), text)
    assert "\x7f" not in frame
    assert frame.splitlines()[4] == "  | " + " " * len('{"xxxx?": ') + "^"


def test_a_finding_without_a_place_is_a_frame_without_a_line() -> None:
    finding = Finding("C", Severity.ERROR, "m", Place("f.json", "/a"), "fix it")
    assert caret(finding, "").splitlines() == ["error[C]: m", "  --> f.json#/a", "   = fix it"]
