"""What makes a JSON value a message of JSON-RPC: the SDK tells its whole list of models to whoever sends another."""

from __future__ import annotations

from typing import Any, Final

SHAPE: Final = 'Send one object such as {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}.'


def wrong_with(document: Any) -> str | None:
    """Why `document` is no message; None where it may be one."""
    if isinstance(document, list):
        return "it is a list, and MCP takes one message at a time"
    if not isinstance(document, dict):
        return "it is no object"
    if document.get("jsonrpc") != "2.0":
        return "'jsonrpc' is not \"2.0\""
    if "method" not in document:
        is_answer = "id" in document and ("result" in document or "error" in document)
        return None if is_answer else "it has no 'method'"
    if not isinstance(document["method"], str):
        return "'method' is no text"
    if not isinstance(document.get("params"), (dict, type(None))):
        return "'params' is no object"
    return None
