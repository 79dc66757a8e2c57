"""What is not seen is an error where agents read it, and is never offered to them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from connector_documents import put, text

from jackfield.connectors.lint import lint
from jackfield.connectors.reading import read_text
from jackfield.connectors.visible import HIDDEN, clean, clean_line

PATH = Path("zoo.connector.json")
DESCRIPTION = "Return the animals{} of one species by their id, at most 50."
CHARACTERS = ["\x00", "\x07", "\x1b", "\x7f", "\x9b", "\xad", "\u200b", "\u200e", "\u2028", "\u202e", "\u2066",
              "\ufeff", "\U000e0041", "\U000e0100"]  # fmt: skip


def pointers(*changes: Any) -> list[str]:
    return [one.place.pointer for one in lint(text(*changes), path=PATH) if one.code == "TEXT_INVISIBLE"]


@pytest.mark.parametrize("character", CHARACTERS)
def test_a_character_that_is_not_seen_is_found_where_it_stands_and_is_not_offered(character: str) -> None:
    changes = (
        put("name", f"Zoo{character}"),
        put("description", f"All{character} of it"),
        put("instructions", f"Ask{character} first."),
        put("tools/0/name", f"List{character} animals"),
        put("tools/0/description", DESCRIPTION.format(character)),
        put("tools/0/parameters/0/description", f"Which{character} one, exactly"),
        put("skills/0/name", f"Report{character} it"),
        put("skills/0/prompt_template", f"Go on{character}."),
    )
    assert set(pointers(*changes)) == {
        "/name", "/description", "/instructions", "/tools/0/name", "/tools/0/description",
        "/tools/0/parameters/0/description", "/skills/0/name", "/skills/0/prompt_template",
    }  # fmt: skip
    reading = read_text(text(*changes), PATH)
    assert reading is not None
    assert reading.connector is not None
    found = reading.connector
    tool, skill = next(iter(found.tools.values())), next(iter(found.skills.values()))
    parameter = next(iter(tool.input_schema["properties"].values()))
    shown = [found.name, found.description, found.instructions, tool.title, tool.description, skill.name, skill.prompt]
    shown.append(parameter["description"])
    assert [one for one in shown if character in one] == []
    assert tool.title == "List animals"
    assert tool.description == DESCRIPTION.format("")


def test_lines_and_tabs_stay_in_long_text_and_not_in_names() -> None:
    long = DESCRIPTION.format("") + "\n\tMore.\r\n"
    assert pointers(put("tools/0/description", long)) == []
    assert pointers(put("tools/0/name", "List\nanimals")) == ["/tools/0/name"]
    assert clean(long) == long
    assert clean_line("List\nall\u202e animals") == "List all animals"


def test_writing_that_needs_joiners_marks_and_emoji_is_left_as_it_is() -> None:
    written = "می\u200cخواهم क्\u200dष 👩\u200d👩\u200d👧 ❤\ufe0f é e\u0301 ١٢٣ 한국"
    assert HIDDEN.search(written) is None
    assert clean_line(written) == written


def test_no_message_about_such_a_character_holds_it() -> None:
    for finding in lint(text(put("tools/0/name", "List\x1b[31m")), path=PATH):
        if finding.code == "TEXT_INVISIBLE":
            assert "\x1b" not in str(finding.as_json())
