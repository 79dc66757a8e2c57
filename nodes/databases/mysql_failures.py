"""What a failure of MySQL, MariaDB or the driver is called here. Messages carry the server's words.

The address stands in a message only where nothing answers there: then host and port, and no more of it.
"""

from __future__ import annotations

import re
from typing import Any, Final

from ...graphs.errors import Code, JackfieldError
from .columns import TableChangedError
from .dsn import Dsn
from .session import ConnectionLostError

AUTHENTICATION: Final = (1045, 1698, 1251, 2059)
NO_DATABASE: Final = (1044, 1049)
LOST: Final = (0, 1053, 1152, 1158, 1159, 1160, 1161, 1927, 2006, 2013, 2014, 2055, 4031)
LIMIT: Final = (1969, 3024)
INTERRUPTED: Final = 1317
DENIED: Final = (1142, 1143, 1227, 1370)
READ_ONLY: Final = (1290, 1792, 1836)
NO_SUCH: Final = (1054, 1051, 1109, 1146)
BUSY: Final = (1040, 1203, 1205, 1213, 1226)
VALUE: Final = (1048, 1264, 1265, 1292, 1364, 1366, 1406, 1411, 1690, 3819, 4025)
SYNTAX: Final = (1052, 1055, 1056, 1060, 1064, 1066, 1111, 1140, 1222, 1235, 1248, 1305, 1318)


def failure(error: BaseException, dsn: Dsn, *, connecting: bool = False) -> BaseException:
    """The JackfieldError for `error`; inside a ConnectionLostError or TableChangedError when trying again may help."""
    if isinstance(error, (JackfieldError, ConnectionLostError, TableChangedError)):
        return error
    if isinstance(error, (TimeoutError, OSError, EOFError)):
        number, words = 2013, "the connection broke"
    elif type(error).__module__.startswith("asyncmy"):
        number, words = _said(error)
    else:
        return error  # a fault of ours
    if connecting:
        return _connecting(number, words, dsn)
    details: dict[str, Any] = {"errno": number}
    if number in LOST:
        return ConnectionLostError(unreachable(f"The connection to the {dsn.place} was lost"))
    if number in LIMIT or number == INTERRUPTED:
        return JackfieldError(
            Code.SOURCE_TIMEOUT,
            f"The {dsn.place} ended the query: {words}.",
            "Ask for less, add an index, or raise `timeout_s`.",
            details,
        )
    if number in READ_ONLY:
        return JackfieldError(
            Code.ACCESS_DENIED,
            f"The query writes, and this connection only reads: {words}.",
            "A tool that writes is of category WRITE.",
            details,
        )
    if number in DENIED:
        return JackfieldError(
            Code.ACCESS_DENIED, f"The {dsn.place} refused: {words}.", "Grant it to the user, or use another.", details
        )
    if number in NO_SUCH:
        return TableChangedError(
            JackfieldError(Code.SCHEMA_NOT_FOUND, f"The {dsn.place} refused: {words}.", "", details)
        )
    if number in VALUE:
        return JackfieldError(Code.TYPE_MISMATCH, f"The {dsn.place} refused a value: {words}.", "", details)
    if number in SYNTAX:
        return JackfieldError(Code.QUERY_INVALID, f"The {dsn.place} refused: {words}.", "", details)
    return JackfieldError(Code.SOURCE_ERROR, f"The {dsn.place} failed: {words}.", "", details, transient=number in BUSY)


def unreachable(message: str, words: str = "") -> JackfieldError:
    return JackfieldError(
        Code.SOURCE_UNREACHABLE,
        f"{message}{f': {words}' if words else ''}.",
        "Is the server running, and are host and port right?",
        transient=True,
    )


def _connecting(number: int, words: str, dsn: Dsn) -> JackfieldError:
    if number in AUTHENTICATION:
        return JackfieldError(
            Code.AUTH_FAILED,
            f"The {dsn.place} refused the user name or password.",
            "Check user and password of the `dsn`.",
        )
    if number in NO_DATABASE:
        return JackfieldError(
            Code.SCHEMA_NOT_FOUND,
            f"The server has no database '{dsn.database}' that this user may use.",
            "Check the end of the `dsn`.",
        )
    if number == 2026 or "ssl" in words.lower() or "certificate" in words.lower():
        return JackfieldError(
            Code.SOURCE_UNREACHABLE,
            f"No TLS connection to the {dsn.place} at {dsn.endpoint} as '{dsn.tls}' asks for it.",
            "Check `sslmode` and `sslrootcert`, and whether the server has TLS on.",
        )
    if number == 1040:
        return _unanswered(dsn, "the server has too many connections")
    why = "Connection refused" if "Errno 111" in words else "no such host" if "not known" in words else ""
    return _unanswered(dsn, why)


def _unanswered(dsn: Dsn, words: str = "") -> JackfieldError:
    return unreachable(f"No connection to the {dsn.place} at {dsn.endpoint}", words)


def _said(error: BaseException) -> tuple[int, str]:
    """Number and words, without the text of the SQL that MySQL quotes and without our own account's name."""
    arguments = error.args
    number = arguments[0] if arguments and isinstance(arguments[0], int) else -1
    words = str(arguments[1] if len(arguments) > 1 else arguments[0] if arguments else error)
    words = re.sub(r" for user '.*?'@'.*?'", "", words)
    return number, words.split("\n")[0].strip().rstrip(".")[:300]
