"""Refusals are recorded as calls are, but bounded: whoever can only be refused must not be able to fill the disk.

Of each reason, MOST lines in WINDOW_S seconds are written; what comes beyond is counted, and one line says how many.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import msgspec
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND
from starlette.types import Scope, Send

from ...graphs.errors import Code, JackfieldError
from ..served import PRINCIPAL, Caller, ServedCall
from .refusal import MCP_PATHS, Refusal, refusal, send_refusal

MOST: Final = 20
NOTED: Final = "jackfield.noted"  # key of the scope: it has its line
OF_CALLS: Final = frozenset({METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR})
WINDOW_S: Final = 60.0


class _Error(msgspec.Struct):
    """Of a JSON-RPC answer."""

    code: int = 0
    message: str = ""


class _Answer(msgspec.Struct):
    error: _Error


@dataclass(slots=True)
class _Window:
    began: float
    count: int = 0
    last: ServedCall | None = None  # of those that were not written


class Refusals:
    """Answers refusals, and gives `record` the lines of them; AUDIT_UNAVAILABLE from it changes no answer."""

    def __init__(self, record: Callable[[ServedCall], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._record = record
        self._clock = clock
        self._windows: dict[str, _Window] = {}

    def heard(self, scope: Scope, status: int, body: bytes) -> None:
        """What MCP itself answered with an error status. What a tool call gave has its line already."""
        if scope.get(NOTED) or scope["path"] not in MCP_PATHS:
            return
        try:
            error = msgspec.json.decode(body, type=_Answer).error
        except msgspec.DecodeError:
            error = _Error()
        if error.code in OF_CALLS:
            return
        code = Code.ACCESS_DENIED if status in (401, 403, 404) else Code.VALIDATION_INVALID_PARAMS
        self.note(refusal(status, f"mcp_{error.code or status}", error.message[:200], code=code), scope)

    async def answer(self, refused: Refusal, scope: Scope, send: Send) -> None:
        self.note(refused, scope)
        await send_refusal(refused, scope, send)

    def note(self, refused: Refusal, scope: Scope | None = None) -> None:
        self.settle()
        if scope is not None:
            scope[NOTED] = True
        window = self._windows.get(refused.reason)
        if window is None:
            window = self._windows[refused.reason] = _Window(self._clock())
        window.count += 1
        call = _call_of(refused, scope)
        if window.count <= MOST:
            self._write(call)
        else:
            window.last = call

    def settle(self, *, ended: bool = False) -> None:
        """Write how many more there were in windows that are over; in all of them when this server has `ended`."""
        now = self._clock()
        for reason, window in list(self._windows.items()):
            if not ended and now - window.began < WINDOW_S:
                continue
            del self._windows[reason]
            if window.last is not None and window.last.error is not None:
                error = window.last.error
                more = f"{window.count - MOST:,} more within {now - window.began:.0f} s"
                message = f"{more}, of which the last: {error.message}"
                self._write(replace(window.last, error=replace(error, message=message)))

    def _write(self, call: ServedCall) -> None:
        try:
            self._record(call)
        except JackfieldError:
            return  # what was refused stays refused


def _call_of(refused: Refusal, scope: Scope | None) -> ServedCall:
    peer = "" if scope is None else f"{(scope.get('client') or ('',))[0]}"
    principal = "" if scope is None else str(scope.get(PRINCIPAL, ""))
    where = "" if scope is None else f"{scope['method'][:20]} {scope['path'][:200]}"
    error = replace(refused.error, message=f"{refused.reason}: {where}: {refused.error.message}")
    call = ServedCall(Caller(principal, peer, "http"), "", {}, "")
    call.error = error
    return call
