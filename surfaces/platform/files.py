"""The files that platform tools write: in `connectors/` and `uploads/` of the workspace, whole or not at all.

A path is walked from the workspace without following a link, so that nothing in it can lead elsewhere.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from ...graphs.errors import Code, JackfieldError
from ...nodes.files.confine import Located, folder_of
from ...nodes.saves.atomic import SUFFIX, temporary
from ..app import UPLOADS
from ..faults import unwritable
from .bench import CONNECTORS

WRITABLE: Final = (CONNECTORS, UPLOADS)


def write(workspace: Path, place: Path, content: bytes, *, replace: bool = True) -> None:
    """Make `place` hold `content`, atomically and on disk. Without `replace` it must not be there yet.

    Raises ACCESS_DENIED for a place outside, CONFIG_INVALID for a link on the way, VALIDATION_INVALID_PARAMS when it is
    there, SOURCE_ERROR for what the system refuses.
    """
    located = _located(workspace, place)
    try:
        with folder_of(located, create=True) as folder:
            _refuse_link(located, folder)
            with _beside(located, folder, content) as name:
                if replace:
                    os.replace(name, located.name, src_dir_fd=folder, dst_dir_fd=folder)
                else:
                    os.link(name, located.name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
            os.fsync(folder)
    except FileExistsError:
        raise JackfieldError(
            Code.VALIDATION_INVALID_PARAMS,
            f"'{located.text}' is there already.",
            "Choose another name, or say replace: true.",
            {"path": located.text},
        ) from None
    except OSError as error:
        raise unwritable(f"'{located.text}'", error) from None


def remove(workspace: Path, place: Path) -> None:
    """Take the file at `place` away; it may be gone already. Raises as `write`."""
    located = _located(workspace, place)
    if not os.path.lexists(place):
        return
    try:
        with folder_of(located) as folder, suppress(FileNotFoundError):
            os.unlink(located.name, dir_fd=folder)
    except OSError as error:
        raise unwritable(f"'{located.text}'", error) from None


def read(workspace: Path, place: Path) -> bytes | None:
    """What the file at `place` holds; None when it is not there. Raises as `write`."""
    from ...nodes.files.confine import open_file

    located = _located(workspace, place)
    if not place.exists():
        return None
    descriptor = open_file(located)
    with os.fdopen(descriptor, "rb") as file:
        return file.read()


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _located(workspace: Path, place: Path) -> Located:
    try:
        parts = place.relative_to(workspace).parts
    except ValueError:
        parts = ()
    if len(parts) < 2 or parts[0] not in WRITABLE or ".." in parts:
        raise JackfieldError(
            Code.ACCESS_DENIED,
            f"Platform tools write to {' and '.join(WRITABLE)} of the workspace only.",
            "Settings, policy and state are for the operator to change.",
        )
    return Located(Path(os.path.realpath(workspace)), parts, "/".join(parts))


def _refuse_link(place: Located, folder: int) -> None:
    """A link in the place of the file: replacing it would be safe, and is not what anybody meant."""
    if os.path.islink(place.path) or (os.path.lexists(place.path) and not place.path.is_file()):
        raise JackfieldError(
            Code.CONFIG_INVALID,
            f"'{place.text}' is a link or no file, and is not written over.",
            "Remove it, or choose another name.",
            {"path": place.text},
        )


@contextmanager
def _beside(place: Located, folder: int, content: bytes) -> Iterator[str]:
    """The content under a name of its own in the same folder, on disk; gone at the end."""
    for left in os.listdir(folder):  # by a process that was killed
        if left.startswith(f".{place.name[:80]}.") and left.endswith(SUFFIX):
            os.unlink(left, dir_fd=folder)
    name = temporary(place.name)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(name, flags, 0o644, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        yield name
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
