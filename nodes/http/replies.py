"""What a reply says: a good body as UTF-8, or the error that its status or its content type makes of it."""

from __future__ import annotations

import codecs
import math
import re
from collections.abc import Iterable
from email.message import Message
from http import HTTPStatus
from typing import Final

from ...graphs.errors import Code, JackfieldError
from ..base import Response
from ..secrets import redacted
from .retry import retry_after

HEAD: Final = 200  # characters of an error's body that are shown
_TAG: Final = re.compile(rb"\s*<[!?a-zA-Z]")
_TOKENS: Final = re.compile(r"(?i)\b(bearer|basic|token|api[_-]?key|secret|password)(\W{1,4})[^\s\"'&,}]{6,}")


def check_status(response: Response, source: str, secrets: Iterable[str]) -> None:
    """Raises AUTH_FAILED, RATE_LIMITED, SOURCE_BAD_REPLY for a redirect, SOURCE_ERROR for any other status but 2xx."""
    status = response.status
    if 200 <= status < 300:
        return
    details = {"source": source, "status": status}
    named = f"{status} {phrase(status)}".strip()
    if 300 <= status < 400:
        raise JackfieldError(
            Code.SOURCE_BAD_REPLY,
            f"Source '{source}' answered {named}: a redirect, and redirects are not followed.",
            "Write the address that it leads to into `url`; often only https or a slash at the end differs.",
            details,
        )
    if status in (401, 403):
        raise JackfieldError(
            Code.AUTH_FAILED,
            f"Source '{source}' refused our credentials: {named}.",
            "Check `auth` and the secret that it names; it may have expired or lack a permission.",
            details,
        )
    wait = retry_after(response.headers.get("retry-after"))
    if wait is not None:
        details["retry_after_s"] = math.ceil(wait)
    if status == 429:
        when = f" Try again in {math.ceil(wait)} s." if wait is not None else " Try again later."
        raise JackfieldError(
            Code.RATE_LIMITED,
            f"Source '{source}' is asked too often: {named}.",
            "Declare its `rate_limit`, so that requests are spaced." + when,
            details,
        )
    head = excerpt(response.body, secrets)
    raise JackfieldError(
        Code.SOURCE_ERROR,
        f"Source '{source}' answered {named}{f': {head}' if head else ''}.",
        "It is the service's own failure." if status >= 500 else "Check the URL, the parameters and their values.",
        details,
    )


def utf8_body(response: Response, source: str, expected: str = "JSON") -> bytes:
    """The body as UTF-8. Raises SOURCE_BAD_REPLY for HTML, for an empty body, for a charset that it is not in."""
    kind, charset = content_type(response.headers.get("content-type", ""))
    body = response.body
    if charset not in ("utf-8", "utf8", "us-ascii", "ascii"):
        try:
            body = codecs.lookup(charset).decode(body)[0].encode()
        except (LookupError, ValueError, TypeError):
            raise _bad(source, f"a body that is not in its charset '{charset[:40]}'", kind, expected) from None
    body = body.removeprefix(codecs.BOM_UTF8)
    if "html" in kind or ("xml" not in expected.lower() and _TAG.match(body)):
        raise _bad(source, "a page of HTML or XML", kind, expected)
    if not body.strip():
        raise _bad(source, "an empty body", kind, expected)
    return body


def content_type(header: str) -> tuple[str, str]:
    """The media type, and the charset that it names, else utf-8."""
    message = Message()
    message["content-type"] = header
    kind = message.get_content_type() if header else ""
    return kind, str(message.get_content_charset() or "utf-8").lower()


def excerpt(body: bytes, secrets: Iterable[str]) -> str:
    """The start of a body for a message: one line, without the secrets of this request or what looks like one."""
    text = " ".join(redacted(body[: HEAD * 8].decode(errors="replace"), secrets).split())
    text = _TOKENS.sub(r"\1\2***", text)
    text = "".join(character for character in text if character.isprintable())
    return text if len(text) <= HEAD else text[:HEAD] + "…"


def phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def _bad(source: str, found: str, kind: str, expected: str) -> JackfieldError:
    return JackfieldError(
        Code.SOURCE_BAD_REPLY,
        f"Source '{source}' sent {found} (content type '{kind[:60] or 'none'}'), expected {expected}.",
        "Check that `url` is the API's and not a web page's, and that no log-in page answers in its place.",
        {"source": source, "content_type": kind[:60], "expected": expected},
    )
