"""Paths that may not leave their folder: what a connector file names is resolved, checked, and only then opened.

A path is walked from its root one part at a time without following links, so what was checked is what is opened even
when someone swaps a folder for a link in between.
"""

from __future__ import annotations

import difflib
import errno
import glob
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ...graphs.errors import Code, JackfieldError

_NOT_LOCAL: Final = re.compile(r"^(~|[A-Za-z]:|[A-Za-z][A-Za-z0-9+.-]*://|file:)|[\\\x00]")
FOLDER_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
WILD: Final = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class Located:
    """A path that was checked: `parts` lead to it from `root`, and none is a link. `text` is as its author wrote it."""

    root: Path
    parts: tuple[str, ...]
    text: str

    @property
    def path(self) -> Path:
        return self.root.joinpath(*self.parts)

    @property
    def name(self) -> str:
        return self.parts[-1] if self.parts else ""

    def beside(self, name: str) -> Located:
        return Located(self.root, (*self.parts[:-1], name), name)


def locate(text: str, folder: Path, roots: Sequence[Path] = ()) -> Located:
    """Where `text`, relative to `folder`, leads. It need not exist.

    Raises CONFIG_INVALID when that is outside of `folder` and of each of `roots`.
    """
    if not text.strip():
        raise JackfieldError(Code.CONFIG_INVALID, "The path is empty.", "Name a file, relative to the connector.")
    if _NOT_LOCAL.search(text):
        raise JackfieldError(
            Code.CONFIG_INVALID,
            f"'{text}' is not a path inside the connector's folder.",
            "Write it relative to the connector file, with forward slashes: ./data/orders.csv.",
            {"path": text},
        )
    real = Path(os.path.realpath(folder / text))
    for root in (folder, *roots):
        base = Path(os.path.realpath(root))
        if real.is_relative_to(base):
            return Located(base, real.relative_to(base).parts, text)
    raise JackfieldError(
        Code.CONFIG_INVALID,
        f"'{text}' leads out of the connector's folder.",
        "Move the file into that folder, or let the operator declare its folder as a root.",
        {"path": text},
    )


def matching(text: str, folder: Path, roots: Sequence[Path] = (), within: str = "*") -> tuple[Located, ...]:
    """The files that `text` names, sorted; it may hold `*`, `?`, `[…]` and `**`. Each match is confined by itself.

    A folder stands for all files in and below it whose names match `within`.

    Raises CONFIG_INVALID as `locate`, and SOURCE_UNREACHABLE when there is no such file.
    """
    if not WILD.search(text):
        found = locate(text, folder, roots)
        if not found.path.exists():
            raise missing(found)
        if not found.path.is_dir():
            return (found,)
        text = f"{text.rstrip('/')}/**/{within}"
    before = WILD.split(text)[0].rpartition("/")[0]
    locate(before or ".", folder, roots)
    names = sorted(glob.glob(text, root_dir=folder, recursive=True))
    files = [place for place in (locate(name, folder, roots) for name in names) if not place.path.is_dir()]
    if not files:
        raise JackfieldError(
            Code.SOURCE_UNREACHABLE,
            f"No file matches '{text}'.",
            "Check the pattern; it is relative to the connector file.",
            {"path": text},
        )
    return tuple(files)


def missing(place: Located) -> JackfieldError:
    """The error for a file that is not there, with the names that come near."""
    siblings = os.listdir(place.path.parent) if place.path.parent.is_dir() else []
    near = difflib.get_close_matches(place.name, siblings, 3, 0.6)
    hint = f"Did you mean {' or '.join(repr(name) for name in near)}?" if near else "Check the path of the source."
    return JackfieldError(
        Code.SOURCE_UNREACHABLE, f"There is no file '{place.text}'.", hint, {"path": place.text, "near": near}
    )


@contextmanager
def folder_of(place: Located, *, create: bool = False) -> Iterator[int]:
    """A descriptor of the folder that holds `place`, reached without following a link.

    Raises CONFIG_INVALID when a part has become a link, SOURCE_UNREACHABLE when a folder is missing.
    """
    current = os.open(place.root, FOLDER_FLAGS)
    try:
        for part in place.parts[:-1]:
            if create:
                _make(part, current)
            try:
                following = os.open(part, FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=current)
            except OSError as error:
                raise refused(place, error) from None
            os.close(current)
            current = following
        yield current
    finally:
        os.close(current)


def _make(name: str, parent: int) -> None:
    try:
        os.mkdir(name, dir_fd=parent)
    except FileExistsError:
        return
    os.fsync(parent)


def refused(place: Located, error: OSError) -> JackfieldError:
    """What the operating system said of `place`, as our error."""
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return JackfieldError(
            Code.CONFIG_INVALID,
            f"'{place.text}' is reached through a link that appeared while it was opened.",
            "Name the real path.",
            {"path": place.text},
        )
    if error.errno == errno.ENOENT:
        return missing(place)
    return JackfieldError(
        Code.SOURCE_UNREACHABLE,
        f"'{place.text}' cannot be opened: {os.strerror(error.errno or 0)}.",
        "Check the permissions of the file.",
        {"path": place.text},
    )


def open_file(place: Located) -> int:
    """A descriptor of the file at `place`, for reading. Raises as `folder_of`; also when it is not a regular file."""
    with folder_of(place) as folder:
        try:
            # A named pipe would block for ever without O_NONBLOCK; regular files do not mind it.
            file = os.open(place.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=folder)
        except OSError as error:
            raise refused(place, error) from None
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise JackfieldError(
            Code.SOURCE_UNREACHABLE, f"'{place.text}' is not a file.", "Name a file, or a pattern such as data/*.csv."
        )
    return file


def path_of(descriptor: int, place: Located) -> str:
    """A path by which another library opens what `descriptor` is: through /proc where there is one."""
    through = f"/proc/self/fd/{descriptor}"
    return through if os.path.exists(through) else unglobbed(str(place.path), place)


def path_below(root: int, place: Located) -> str:
    """A path by which another library opens `place`, below its root that `root` is. Raises as `unglobbed`."""
    through = f"/proc/self/fd/{root}"
    base = through if os.path.exists(through) else str(place.root)
    return unglobbed("/".join((base, *place.parts)), place)


def unglobbed(path: str, place: Located) -> str:
    """`path`, unless a library would take it for a pattern, whose matches nobody has checked. Raises CONFIG_INVALID."""
    if WILD.search(path):
        raise JackfieldError(
            Code.CONFIG_INVALID,
            f"The name of '{place.text}' holds one of * ? [, which can not be read among so many files.",
            "Rename it, or let the pattern name fewer files.",
            {"path": place.text},
        )
    return path
