"""The seal of what a stateless client carries between its calls: made with a key that the workspace keeps.

So the state of a call holds after a restart, and with every process that serves the same workspace.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Final

from mcp.server.request_state import AESGCMRequestStateCodec, RequestStateBoundary, RequestStateSecurity

from .callers import caller_of

KEY_FILE: Final = "request_state.key"
KEY_BYTES: Final = 32
TTL_S: Final = 3600.0  # what a person may take to answer


def sealing(state: Path) -> RequestStateBoundary:
    """Middleware of a server: seals what goes out, and refuses what is not its own or another principal's."""
    security = RequestStateSecurity(
        codec=_Kept(state), ttl=TTL_S, bind_principal=lambda ctx: caller_of(ctx).principal, audience="jackfield"
    )
    return RequestStateBoundary(security, default_audience=None)


class _Kept:
    """AES-GCM with the kept key, which is read or made when it is first needed."""

    def __init__(self, state: Path) -> None:
        self._state = state

    @cached_property
    def _codec(self) -> AESGCMRequestStateCodec:
        return AESGCMRequestStateCodec([kept_key(self._state)])

    def seal(self, payload: bytes) -> str:
        return self._codec.seal(payload)

    def unseal(self, token: str) -> bytes:
        return self._codec.unseal(token)


def kept_key(state: Path) -> bytes:
    """The key in the state folder, made when there is none: of two processes that make one, one is kept.

    Raises OSError when the folder cannot be written, ValueError when what is there is no key.
    """
    path = state / KEY_FILE
    if not path.exists():
        state.mkdir(parents=True, exist_ok=True)
        made = state / f".{KEY_FILE}.{secrets.token_hex(8)}"
        descriptor = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(secrets.token_bytes(KEY_BYTES))
                file.flush()
                os.fsync(file.fileno())
            with suppress(FileExistsError):
                os.link(made, path)
        finally:
            made.unlink()
    key = path.read_bytes()
    if len(key) != KEY_BYTES:
        raise ValueError(f"'{path.name}' in the state folder has {len(key)} bytes; a key has {KEY_BYTES}")
    return key
