"""Folders that are replaced whole: the old and the new change names in one step, where the system has such a step.

Linux and macOS can exchange two names. Elsewhere the old folder first moves aside under a name that `recover` knows:
a crash between the two renames leaves no folder at all, until the next save or start moves the old one back.
"""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from ..files.confine import Located
from .atomic import folder_path, remove, temporary

EXCHANGE: Final = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS
ASIDE: Final = ".jackfield-old"
UNSUPPORTED: Final = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EXDEV}


def exchange(folder: int, one: str, other: str) -> bool:
    """Let two names of `folder` change places; False where the system or the file system cannot."""
    library = ctypes.CDLL(None, use_errno=True)
    call: Callable[..., int] | None = getattr(library, "renameat2", None) or getattr(library, "renameatx_np", None)
    if call is None:
        return False
    if call(folder, os.fsencode(one), folder, os.fsencode(other), EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), other)


@contextmanager
def replacing_folder(place: Located, folder: int) -> Iterator[str]:
    """The path of a new folder to fill, which becomes `place` at the end of the block, and vanishes if it raises."""
    new = temporary(place.name)
    os.mkdir(new, dir_fd=folder)
    path = f"{folder_path(folder, place)}/{new}"
    try:
        yield path
        sync(path)
        publish(folder, new, place.name)
    finally:
        with suppress(OSError):  # what is left is removed by the next save
            remove(folder, new)


def publish(folder: int, new: str, name: str) -> None:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        os.rename(new, name, src_dir_fd=folder, dst_dir_fd=folder)
    else:
        if not exchange(folder, new, name):
            aside = f".{name}{ASIDE}"
            os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=folder)
            os.rename(new, name, src_dir_fd=folder, dst_dir_fd=folder)
            os.fsync(folder)
            os.rename(aside, new, src_dir_fd=folder, dst_dir_fd=folder)
    os.fsync(folder)


def recover(folder: int) -> None:
    """Finish in `folder`, which is locked, what a crash interrupted between the two renames of `publish`."""
    for aside in [name for name in os.listdir(folder) if name.startswith(".") and name.endswith(ASIDE)]:
        name = aside[1 : -len(ASIDE)]
        try:
            os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            os.rename(aside, name, src_dir_fd=folder, dst_dir_fd=folder)
        else:
            remove(folder, aside)


def sync(path: str) -> None:
    """Force a folder, and the folders and files below it, to disk."""
    for place, _, files in os.walk(path):
        for name in (*(f"{place}/{file}" for file in files), place):
            descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
