from __future__ import annotations

from pathlib import Path

import pytest

from jackfield.graphs.errors import Code, JackfieldError
from jackfield.surfaces.settings import KEYS, load


def test_without_a_file_every_key_has_its_default(tmp_path: Path) -> None:
    settings = load(tmp_path, {})
    assert {key.name: settings[key.name] for key in KEYS} == {key.name: key.default for key in KEYS}
    assert all(setting.origin == "default" for setting in settings.settings.values())


def test_a_variable_holds_over_the_file_and_says_where_it_came_from(tmp_path: Path) -> None:
    (tmp_path / "jackfield.toml").write_text('roots = ["data"]\n[call]\ntimeout_s = 5\n')
    settings = load(tmp_path / "deep" / "down", {"JACKFIELD_CALL_TIMEOUT_S": "7"})
    assert settings["call.timeout_s"] == 7
    assert settings.settings["call.timeout_s"].origin == "JACKFIELD_CALL_TIMEOUT_S"
    assert settings.roots == (tmp_path / "data",)
    assert settings.state == tmp_path / ".jackfield"


def test_an_unknown_key_is_refused_with_the_near_one(tmp_path: Path) -> None:
    (tmp_path / "jackfield.toml").write_text("[call]\ntimeout = 5\n")
    with pytest.raises(JackfieldError) as caught:
        load(tmp_path, {})
    assert caught.value.code is Code.CONFIG_INVALID
    assert "call.timeout'" in caught.value.message
    assert "'call.timeout_s'" in caught.value.hint


@pytest.mark.parametrize("value", ["soon", "-1", "0", ""])
def test_a_wrong_value_is_refused_with_what_was_expected(tmp_path: Path, value: str) -> None:
    with pytest.raises(JackfieldError, match="expected a number") as caught:
        load(tmp_path, {"JACKFIELD_CALL_TIMEOUT_S": value})
    assert caught.value.details == {"key": "call.timeout_s"}


def test_a_broken_file_is_an_error_that_says_why(tmp_path: Path) -> None:
    (tmp_path / "jackfield.toml").write_text("roots = nothing\n")
    with pytest.raises(JackfieldError, match=r"jackfield\.toml is not valid TOML: .*line 1"):
        load(tmp_path, {})


def test_every_key_says_what_it_means() -> None:
    assert all(key.meaning and key.variable.startswith("JACKFIELD_") for key in KEYS)
