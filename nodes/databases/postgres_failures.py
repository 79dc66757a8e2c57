"""What a failure of Postgres or its driver is called here. Messages carry the server's words.

The address stands in a message only where nothing answers there: then host and port, and no more of it.
"""

from __future__ import annotations

import re
from typing import Final

from ...graphs.errors import Code, JackfieldError
from .columns import TableChangedError
from .dsn import Dsn
from .session import ConnectionLostError

# SQLSTATE by code, else by its class of two letters.
DRIVERS: Final = ("adbc_driver_manager", "pyarrow")
NO_SUCH: Final = ("42P01", "42703", "3F000")
CHANGED: Final = (*NO_SUCH, "42883", "0A000", "42804")
CANCELED: Final = "57014"
GONE: Final = ("57P01", "57P02", "57P03", "57P05", "08")
BUSY: Final = ("40", "53300", "55P03")
LOST_WORDS: Final = re.compile(
    r"no connection to the server|server closed the connection|connection (?:not open|reset)|terminating connection"
    r"|could not (?:receive|send) data|SSL (?:SYSCALL|connection)|the database system is",
    re.IGNORECASE,
)
# A limit reached while rows are being copied arrives as words alone.
STATEMENT_TIMEOUT: Final = re.compile(r"statement timeout", re.IGNORECASE)


def failure(error: Exception, dsn: Dsn, *, connecting: bool = False) -> Exception:
    """The JackfieldError for `error`; inside a ConnectionLostError or TableChangedError when trying again may help."""
    if isinstance(error, (JackfieldError, ConnectionLostError, TableChangedError)):
        return error
    if not isinstance(error, OSError) and type(error).__module__.partition(".")[0] not in DRIVERS:
        return error  # a fault of ours
    said = str(error)
    state = getattr(error, "sqlstate", None) or ""
    if connecting:
        return _connecting(said, dsn)
    words = _words(error, said)
    details = {"sqlstate": state} if state else {}
    if state.startswith(GONE) or (not state and LOST_WORDS.search(said)):
        return ConnectionLostError(unreachable(f"The connection to the {dsn.place} was lost", words))
    if state == CANCELED or (not state and STATEMENT_TIMEOUT.search(said)):
        return JackfieldError(
            Code.SOURCE_TIMEOUT,
            f"The {dsn.place} ended the query: {words}.",
            "Ask for less, add an index, or raise `timeout_s`.",
            details,
        )
    if state.startswith("25006"):
        return JackfieldError(
            Code.ACCESS_DENIED,
            f"The query writes, and this connection only reads: {words}.",
            "A tool that writes is of category WRITE.",
            details,
        )
    if state == "42501":
        return JackfieldError(
            Code.ACCESS_DENIED, f"The {dsn.place} refused: {words}.", "Grant it to the user, or use another.", details
        )
    if state.startswith(CHANGED):
        code = Code.SCHEMA_NOT_FOUND if state in NO_SUCH else Code.QUERY_INVALID
        return TableChangedError(JackfieldError(code, f"The {dsn.place} refused: {words}.", _hint(error), details))
    if state.startswith("42"):
        return JackfieldError(Code.QUERY_INVALID, f"The {dsn.place} refused: {words}.", _hint(error), details)
    if state.startswith("22") or state == "23502":
        return JackfieldError(Code.TYPE_MISMATCH, f"The {dsn.place} refused a value: {words}.", _hint(error), details)
    return JackfieldError(
        Code.SOURCE_ERROR,
        f"The {dsn.place} failed: {words}.",
        _hint(error),
        details,
        transient=state.startswith(BUSY),
    )


def unreachable(message: str, words: str = "") -> JackfieldError:
    return JackfieldError(
        Code.SOURCE_UNREACHABLE,
        f"{message}{f': {words}' if words else ''}.",
        "Is the server running, and are host and port right?",
        transient=True,
    )


def _connecting(said: str, dsn: Dsn) -> Exception:
    """No SQLSTATE comes with a refused connection, so its words decide; they may be of another language."""
    low = said.lower()
    if "password authentication failed" in low or "no password supplied" in low or "role " in low:
        return JackfieldError(
            Code.AUTH_FAILED,
            f"The {dsn.place} refused the user name or password.",
            "Check user and password of the `dsn`.",
        )
    if "pg_hba.conf" in low or "authentication" in low:
        return JackfieldError(
            Code.AUTH_FAILED, f"The {dsn.place} does not let this user in from here.", "See the server's pg_hba.conf."
        )
    if re.search(r'database ".*" does not exist', said):
        return JackfieldError(
            Code.SCHEMA_NOT_FOUND, f"The server has no database '{dsn.database}'.", "Check the end of the `dsn`."
        )
    if "ssl" in low or "certificate" in low or "tls" in low:
        return JackfieldError(
            Code.SOURCE_UNREACHABLE,
            f"No TLS connection to the {dsn.place} at {dsn.endpoint} as '{dsn.tls}' asks for it.",
            "Check `sslmode` and `sslrootcert`, and whether the server has TLS on.",
        )
    for words in ("Connection refused", "timeout expired", "could not translate host name", "too many clients"):
        if words.lower() in low:
            return _unanswered(dsn, words)
    if "starting up" in low or "shutting down" in low:
        return _unanswered(dsn, "the server is starting up or shutting down")
    return _unanswered(dsn)


def _unanswered(dsn: Dsn, words: str = "") -> JackfieldError:
    return unreachable(f"No connection to the {dsn.place} at {dsn.endpoint}", words)


def _words(error: Exception, said: str) -> str:
    """The server's own sentence, one line, without the query."""
    primary = _detail(error, b"PG_DIAG_MESSAGE_PRIMARY")
    if not primary:
        match = re.search(r"(?:ERROR|FATAL):\s*(.+)", said)
        primary = match[1] if match else said.partition("\n")[0].rpartition("] ")[2]
    return primary.split("\nQuery was")[0].split("\n")[0].strip().rstrip(".")[:300]


def _hint(error: Exception) -> str:
    hint = _detail(error, b"PG_DIAG_MESSAGE_HINT")
    return hint[:300]


def _detail(error: Exception, name: str | bytes) -> str:
    key = name if isinstance(name, bytes) else name.encode()
    for found, value in getattr(error, "details", None) or ():
        if (found.encode() if isinstance(found, str) else found) == key:
            return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return ""
