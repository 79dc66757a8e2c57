"""Files that are replaced whole: written beside their place, forced to disk, and renamed over it.

One save at a time works in a folder, held by a lock on the folder itself, which the kernel lets go of when a process
dies. So whatever bears our temporary name while we hold the lock was left by a save that was killed, and is removed.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import BinaryIO, Final

from ...graphs.errors import Code, JackfieldError
from ..files.confine import Located, folder_of
from ..table import nothing

SUFFIX: Final = ".jackfield-tmp"
WAIT_S: Final = 30.0


def temporary(name: str) -> str:
    """A name beside `name` that `clean` knows as ours."""
    return f".{name[:80]}.{secrets.token_hex(4)}{SUFFIX}"


def clean(folder: int) -> list[str]:
    """Remove what killed saves left in `folder`, an open folder that the caller has locked; the names removed."""
    left = [name for name in os.listdir(folder) if name.startswith(".") and SUFFIX in name]
    for name in left:
        remove(folder, name)
    return left


def remove(folder: int, name: str) -> None:
    """Remove the file or the tree `name` of `folder`; it may be gone already."""
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno not in (errno.EISDIR, errno.EPERM):
            raise
        shutil.rmtree(name, dir_fd=folder)


@contextmanager
def locked(place: Located, check: Callable[[], None] = nothing) -> Iterator[int]:
    """The folder of `place`, made if need be, with no other save in it and no leftovers.

    Raises OVERLOADED, and what `check` raises while it waits.
    """
    with folder_of(place, create=True) as folder:
        until = time.monotonic() + WAIT_S
        while True:
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise JackfieldError(
                        Code.OVERLOADED,
                        f"Other saves held the folder of '{place.text}' for {WAIT_S:.0f} s.",
                        "Try again, or save into different folders.",
                    ) from None
                check()
                time.sleep(0.01)
        clean(folder)
        yield folder  # closing the folder unlocks it


@dataclass(slots=True)
class Replacement:
    """A file being written beside its place. `path` opens it for other libraries."""

    folder: int
    parent: str
    name: str
    file: BinaryIO

    @property
    def path(self) -> str:
        return f"{self.parent}/{self.name}"

    def publish(self, place: Located, before: Callable[[os.stat_result], None]) -> None:
        """Make it `place`. `before` learns what identifies the new file, just before it becomes visible."""
        self.file.flush()
        os.fsync(self.file.fileno())
        before(os.fstat(self.file.fileno()))
        os.replace(self.name, place.name, src_dir_fd=self.folder, dst_dir_fd=self.folder)
        os.fsync(self.folder)


def no_journal(fact: os.stat_result) -> None:
    """For a save without an idempotency key."""


@contextmanager
def replacing(
    place: Located, folder: int, before: Callable[[os.stat_result], None] = no_journal
) -> Iterator[Replacement]:
    """A file to write, which becomes `place` at the end of the block, and vanishes if the block raises."""
    name = temporary(place.name)
    descriptor = os.open(
        name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode_of(place, folder), dir_fd=folder
    )
    try:
        with os.fdopen(descriptor, "r+b") as file:
            replacement = Replacement(folder, folder_path(folder, place), name, file)
            yield replacement
            replacement.publish(place, before)
    except BaseException:
        with suppress(OSError):
            os.unlink(name, dir_fd=folder)
        raise


def folder_path(folder: int, place: Located) -> str:
    """A path by which other libraries reach the open `folder`."""
    through = f"/proc/self/fd/{folder}"
    return through if os.path.exists(through) else str(place.path.parent)


def mode_of(place: Located, folder: int) -> int:
    """The permissions of the file that is there, so that replacing it does not change who may read it."""
    try:
        return os.stat(place.name, dir_fd=folder, follow_symlinks=False).st_mode & 0o777
    except FileNotFoundError:
        return 0o666
