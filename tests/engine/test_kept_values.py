"""Values that are kept for their caller: bound to a principal, for a while, in bounded room."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

import pytest

from jackfield.engine.kept_values import ValueStore
from jackfield.graphs.errors import Code, JackfieldError


def test_a_value_is_read_by_whom_it_was_given_to_and_by_nobody_else(tmp_path: Path) -> None:
    store = ValueStore(tmp_path / "results")
    name = store.keep('{"a": "ü\ud800"}', "ada")
    assert store.read(name, "ada") == '{"a": "ü\ud800"}'
    for other, principal in ((name, "bob"), (name[:-1] + "_", "ada"), (f"../{name}", "ada"), ("", "ada")):
        with pytest.raises(JackfieldError) as refused:
            store.read(other, principal)
        assert refused.value.code is Code.RESULT_EXPIRED
    assert stat.S_IMODE(store.folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in store.folder.iterdir()} == {0o600}


def test_a_value_is_gone_when_its_time_is_over_and_its_room_is_used_again(tmp_path: Path) -> None:
    store = ValueStore(tmp_path, ttl_s=60)
    name = store.keep("old", "ada")
    past = time.time() - 61
    os.utime(tmp_path / f"{name}.value", (past, past))
    with pytest.raises(JackfieldError):
        store.read(name, "ada")
    store.keep("new", "ada")
    assert len(list(tmp_path.iterdir())) == 1


def test_the_oldest_goes_when_there_is_no_room(tmp_path: Path) -> None:
    store = ValueStore(tmp_path, max_bytes=3_000)
    names = []
    for number in range(4):
        names.append(store.keep("x" * 900, "ada"))
        os.utime(tmp_path / f"{names[-1]}.value", (time.time() - 10 + number,) * 2)
    assert {file.stem for file in tmp_path.iterdir()} == set(names[1:])
