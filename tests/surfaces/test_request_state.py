"""The key of sealed states: made once, whoever comes first, and the owner's alone."""

import stat
import threading
from pathlib import Path

import pytest

from jackfield.surfaces.mcp_server.request_state import KEY_BYTES, KEY_FILE, kept_key


def test_a_key_is_made_once_and_kept(tmp_path: Path) -> None:
    state = tmp_path / "state"
    key = kept_key(state)
    assert len(key) == KEY_BYTES
    assert kept_key(state) == key
    assert stat.S_IMODE((state / KEY_FILE).stat().st_mode) == 0o600
    assert [path.name for path in state.iterdir()] == [KEY_FILE]


def test_many_who_make_a_key_at_once_have_the_same(tmp_path: Path) -> None:
    together = threading.Barrier(16)
    found: list[bytes] = []

    def make() -> None:
        together.wait()
        found.append(kept_key(tmp_path))

    threads = [threading.Thread(target=make) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 16
    assert len(set(found)) == 1
    assert [path.name for path in tmp_path.iterdir()] == [KEY_FILE]


def test_what_is_no_key_is_not_used(tmp_path: Path) -> None:
    (tmp_path / KEY_FILE).write_bytes(b"short")
    with pytest.raises(ValueError, match="5 bytes; a key has 32"):
        kept_key(tmp_path)
