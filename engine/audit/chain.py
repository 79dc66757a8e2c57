"""The chain: each line carries the hash of the line before it, and the head record, kept apart, that of the last."""

from __future__ import annotations

import hashlib
import os
import zlib
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from .places import HEAD

T = TypeVar("T")
START: Final = "0" * 64  # `prev` of the first line there ever was
READINGS: Final = 5
HEAD_BYTES: Final = 192  # always as long, so that one write replaces the whole record


class Head(msgspec.Struct, frozen=True):
    """The last line recorded: its seq and hash, and the seq with which the current file begins."""

    file: str
    first: int
    seq: int
    hash: str
    check: int = 0  # so that a record that was read while it was being written is known

    def checked(self) -> int:
        return zlib.crc32(f"{self.file} {self.first} {self.seq} {self.hash}".encode())


class Link(msgspec.Struct, frozen=True):
    """What the chain needs of a line."""

    seq: int
    prev: str


class Dated(Link, frozen=True):
    ts: str


_head: Final = msgspec.json.Decoder(Head)
_link: Final = msgspec.json.Decoder(Link)
_dated: Final = msgspec.json.Decoder(Dated)


def line_hash(line: bytes) -> str:
    """The hash of a line, without its line end."""
    return hashlib.sha256(line).hexdigest()


def link_of(line: bytes) -> Link | None:
    """The chain's part of a line; None for what is no line of the audit."""
    return _decoded(_link, line)


def dated(line: bytes) -> Dated | None:
    return _decoded(_dated, line)


def _decoded(decoder: msgspec.json.Decoder[T], line: bytes) -> T | None:
    try:
        return decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def read_head(folder: Path) -> Head | None:
    """The head record; None when it is missing or unreadable. One that is just being written is read again."""
    for _ in range(READINGS):
        try:
            found = head_of((folder / HEAD).read_bytes())
        except OSError:
            return None
        if found is not None:
            return found
    return None


def head_of(text: bytes) -> Head | None:
    """The record that this text is; None when it is none, or only parts of two."""
    found = _decoded(_head, text)
    return found if found is not None and found.check == found.checked() else None


def write_head(descriptor: int, head: Head) -> None:
    """Replace the record. Raises OSError, also when it could be written in part only."""
    record = Head(head.file, head.first, head.seq, head.hash, head.checked())
    text = msgspec.json.encode(record).ljust(HEAD_BYTES - 1) + b"\n"
    if os.pwrite(descriptor, text, 0) != len(text):
        raise OSError("the head record was written in part")
