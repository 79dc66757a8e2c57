"""Whatever a file holds, reading and linting it gives findings and raises nothing."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from connector_documents import SOUND
from hypothesis import given, settings
from hypothesis import strategies as st

from jackfield.connectors.lint import lint
from jackfield.connectors.model import Skill, Tool
from jackfield.connectors.reading import read_text
from jackfield.graphs.errors import JackfieldError

HERE = Path(__file__).parent
JUNK: list[Any] = [None, 5, -1.5, True, "x", "", "{{ env:A }}", [], {}, [None], [[]], {"a": {}}, "\0", "é" * 300]
DOCUMENTS = {
    "zoo": SOUND,
    **{
        path.name.split(".")[0]: json.loads(path.read_text())
        for path in [*(HERE / "second").glob("*.connector.json"), HERE / "native" / "shop.connector.json"]
    },
}


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in items:
        yield from places(item, (*path, name))


def replaced(document: Any, path: tuple[str | int, ...], value: Any) -> Any:
    changed = copy.deepcopy(document)
    holder = changed
    for part in path[:-1]:
        holder = holder[part]
    holder[path[-1]] = value
    return changed


def look(document: Any) -> None:
    content = json.dumps(document)
    lint(content, path=HERE / "zoo.connector.json")
    reading = read_text(content, HERE / "zoo.connector.json")
    if reading is None or reading.connector is None:
        return
    exports: list[Tool | Skill] = [*reading.connector.tools.values(), *reading.connector.skills.values()]
    for export in exports:
        try:
            _ = export.graph
        except JackfieldError:
            continue
    for tool in reading.connector.tools.values():
        _ = tool.output_schema


@pytest.mark.parametrize("name", DOCUMENTS)
def test_junk_in_any_place_is_a_finding_at_most(name: str) -> None:
    document = DOCUMENTS[name]
    for number, path in enumerate(places(document)):
        for junk in (JUNK[number % len(JUNK)], JUNK[(number + 5) % len(JUNK)]):
            look(replaced(document, path, junk))


def test_a_path_that_is_none_is_a_finding_at_most() -> None:
    for place in (("tools", 8, "graph"), ("evals",)):
        look(replaced(DOCUMENTS["shop"], place, "a\0b"))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(DOCUMENTS)), st.data(), json_values)
def test_any_value_in_any_place_is_a_finding_at_most(name: str, data: st.DataObject, value: Any) -> None:
    document = DOCUMENTS[name]
    look(replaced(document, data.draw(st.sampled_from(list(places(document)))), value))


@settings(max_examples=200, deadline=None)
@given(json_values)
def test_any_json_is_read_or_refused(value: Any) -> None:
    lint(json.dumps(value))
    look({"sources": value, "tools": value})
    look({"nodes": [value], "edges": value})
