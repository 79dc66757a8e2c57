"""Opening the audit for writing: one writer, what a crash left is mended, and the chain goes on where it ended."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from ...graphs.errors import Code, JackfieldError
from .backwards import lines_from_end
from .chain import START, Head, dated, line_hash, link_of, read_head, write_head
from .places import CURRENT, HEAD, LOCK, rotated

FOLDER_MODE: Final = 0o700
FILE_MODE: Final = 0o600
NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


class Position(NamedTuple):
    """The end of the chain: the last line's seq and hash."""

    seq: int
    hash: str


@dataclass
class Opened:
    """The open files, and how they stand. `first_ts` is empty while the current file has no line."""

    folder: Path
    lock: int = -1
    log: int = -1
    head: int = -1
    seq: int = 0
    hash: str = START
    first: int = 1
    first_ts: str = ""
    size: int = 0
    inode: int = 0
    device: int = 0
    notes: list[str] = field(default_factory=list)

    def record(self) -> None:
        """Write the head record. Raises OSError."""
        write_head(self.head, Head(CURRENT, self.first, self.seq, self.hash))

    def start_file(self) -> None:
        """Open the current file, which is new or goes on. Raises OSError."""
        self.log = os.open(self.folder / CURRENT, NEW | os.O_APPEND, FILE_MODE)
        state = os.fstat(self.log)
        self.size, self.inode, self.device = state.st_size, state.st_ino, state.st_dev

    def close(self) -> None:
        """Close what is open; the lock goes last."""
        for name in ("log", "head", "lock"):
            descriptor: int = getattr(self, name)
            setattr(self, name, -1)
            if descriptor >= 0:
                with suppress(OSError):
                    os.close(descriptor)


def open_audit(folder: Path, known: Position | None = None) -> Opened:
    """Lock the folder, mend what a crash left and go on. What was mended, or is wrong, is in `notes`.

    `known` is where this process ended before: then the folder is not made anew, and another file is not taken for
    ours. Raises OSError; CONFIG_INVALID while another process writes; AUDIT_UNAVAILABLE when the file was replaced.
    """
    if known is None:
        folder.mkdir(parents=True, exist_ok=True, mode=FOLDER_MODE)
        if folder.stat().st_mode & 0o077:
            folder.chmod(FOLDER_MODE)
    opened = Opened(folder)
    try:
        opened.lock = _locked(folder)
        _mend(opened)
        last = _last(folder)
        _go_on(opened, last, read_head(folder), known)
        opened.start_file()
        _note_beginning(opened)
        opened.head = os.open(folder / HEAD, NEW, FILE_MODE)
        opened.record()
        os.ftruncate(opened.head, os.lseek(opened.head, 0, os.SEEK_END))
    except BaseException:
        opened.close()
        raise
    return opened


def _locked(folder: Path) -> int:
    lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
    except BlockingIOError:
        holder = os.pread(lock, 32, 0).decode("ascii", "replace").strip()
        os.close(lock)
        raise JackfieldError(
            Code.CONFIG_INVALID,
            f"Another process{f' ({holder})' if holder.isdigit() else ''} writes the audit in '{folder}'.",
            "An audit has one writer: end the other, or give this one a `state` folder of its own.",
            {"key": "state"} | ({"process": int(holder)} if holder.isdigit() else {}),
        ) from None
    except BaseException:
        os.close(lock)
        raise
    return lock


def _mend(opened: Opened) -> None:
    """Move a torn last line aside: a crash, or a full disk, ended it before its line end."""
    path = opened.folder / CURRENT
    try:
        log = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    with os.fdopen(log, "r+b") as file:
        end = file.seek(0, os.SEEK_END)
        torn = next(iter(lines_from_end(file)), None)
        if torn is None or torn.is_whole:
            return
        aside = f"torn-{time.strftime('%Y-%m-%dT%H-%M-%S', time.gmtime())}-{torn.start}.part"
        kept = os.open(opened.folder / aside, NEW | os.O_TRUNC, FILE_MODE)
        with os.fdopen(kept, "wb") as target:
            target.write(torn.text)
        file.truncate(torn.start)
    opened.notes.append(f"The last {end - torn.start} bytes of {CURRENT} were no whole line; they are in {aside} now.")


def _last(folder: Path) -> bytes | None:
    """The last line of the newest file that has one."""
    full = rotated(folder)
    for path in (folder / CURRENT, *(one.path for one in reversed(full[-1:]))):
        with suppress(FileNotFoundError), path.open("rb") as file:
            for line in lines_from_end(file):
                return line.text
    return None


def _go_on(opened: Opened, last: bytes | None, head: Head | None, known: Position | None) -> None:
    """Choose the seq and hash to go on from: never so that a missing or changed line would go unnoticed afterwards."""
    link = link_of(last) if last is not None else None
    ends = Position(link.seq, line_hash(last)) if link is not None and last is not None else None
    if known is not None:
        if last is None:
            ends = Position(0, START)
        if ends != known and os.path.lexists(opened.folder / CURRENT):
            raise JackfieldError(Code.AUDIT_UNAVAILABLE, f"{CURRENT} is not the file that was written.")
        if ends != known:
            opened.notes.append(f"{CURRENT} was gone with what it held; a new one goes on at line {known.seq + 1}.")
        opened.seq, opened.hash = known
        return
    if last is not None and link is None:
        opened.notes.append(f"The last line of {CURRENT} is no line of the audit; see `jackfield audit verify`.")
    if head is None:
        if ends is not None:
            opened.notes.append(f"{HEAD} was missing: lines cut from the end before now cannot be found.")
        opened.seq, opened.hash = ends or Position(0, START)
    elif ends is None or ends.seq < head.seq:
        if head.seq:
            opened.notes.append(f"Lines up to {head.seq} were recorded, and the last that is here is {_seq(ends)}.")
        opened.seq, opened.hash = head.seq, head.hash
    elif ends.seq == head.seq:
        if ends.hash != head.hash:
            opened.notes.append(f"Line {head.seq} is not what was written; see `jackfield audit verify`.")
        opened.seq, opened.hash = head.seq, head.hash
    else:
        if ends.seq > head.seq + 1 or (link is not None and link.prev != head.hash):
            opened.notes.append(f"There are lines after {head.seq}, the last recorded; see `jackfield audit verify`.")
        opened.seq, opened.hash = ends


def _seq(ends: Position | None) -> str:
    return "none" if ends is None else str(ends.seq)


def _note_beginning(opened: Opened) -> None:
    """Learn the first line of the current file, after which it will be named."""
    opened.first = opened.seq + 1
    if opened.size:
        with (opened.folder / CURRENT).open("rb") as file:
            found = dated(file.readline())
        if found is not None:
            opened.first, opened.first_ts = found.seq, found.ts
