"""Answers that are no table and too long for their caller, kept whole for a while: JSON text by a name.

They lie beside the results in Arrow files, in files of their own, and are good for the principal that they were given
to, until their time is over.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
import time
from hashlib import sha256
from pathlib import Path
from typing import Final

from ..graphs.errors import Code, JackfieldError

NAME: Final = re.compile(r"v[A-Za-z0-9_-]{22}")
SUFFIX: Final = ".value"
MOST_BYTES: Final = 256 << 20  # of all values together


class ValueStore:
    """Keeps texts in `folder` (0700, files 0600) for `ttl_s` seconds. Reading and writing block: use a thread."""

    def __init__(self, folder: Path, *, ttl_s: float = 900, max_bytes: int = MOST_BYTES) -> None:
        self.folder = Path(folder)
        self.ttl_s = ttl_s
        self.max_bytes = max_bytes

    def keep(self, text: str, principal: str) -> str:
        """Write `text` whole or not at all, and give the name to find it by."""
        data = text.encode("utf-8", "surrogatepass")
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._make_room(len(data))
        name = f"v{secrets.token_urlsafe(16)}"
        draft = self.folder / f"{name}.draft"
        try:
            handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(_owner(name, principal) + data)
            draft.replace(self.folder / f"{name}{SUFFIX}")
        finally:
            draft.unlink(missing_ok=True)
        return name

    def read(self, name: str, principal: str) -> str:
        """Raises RESULT_EXPIRED when it is gone, or was given to another."""
        if NAME.fullmatch(name):
            path = self.folder / f"{name}{SUFFIX}"
            try:
                fresh = path.stat().st_mtime + self.ttl_s >= time.time()
                data = path.read_bytes()
            except FileNotFoundError:
                fresh, data = False, b""
            owner = _owner(name, principal)
            if fresh and hmac.compare_digest(data[: len(owner)], owner):
                return data[len(owner) :].decode("utf-8", "surrogatepass")
        raise JackfieldError(Code.RESULT_EXPIRED, "This result is no longer kept.", "Call the tool again.")

    def _make_room(self, size: int) -> None:
        """Remove what is over, then the oldest until `size` bytes fit."""
        held = []
        for path in self.folder.glob(f"v*{SUFFIX}"):
            try:
                held.append((path.stat().st_mtime, path.stat().st_size, path))
            except FileNotFoundError:
                continue
        total = sum(length for _, length, _ in held)
        for written, length, path in sorted(held):
            if written + self.ttl_s < time.time() or total + size > self.max_bytes:
                path.unlink(missing_ok=True)
                total -= length


def _owner(name: str, principal: str) -> bytes:
    return sha256(f"{name}:{principal}".encode()).hexdigest().encode()
