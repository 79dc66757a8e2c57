"""A model at an OpenAI-compatible endpoint, run with tools until it answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..graphs.errors import Code, JackfieldError
from .base import Context, Request
from .blocking import in_thread
from .table import Table

MOST_ROWS: Final = 50  # of one tool's answer that the model is shown
MOST_CHARACTERS: Final = 20_000


@dataclass(frozen=True, slots=True)
class ChatEndpoint:
    """Where the model is. `url` ends before /chat/completions; `secret_key` names the variable that holds the key."""

    url: str
    model: str
    secret_key: str = ""
    timeout_s: float = 60.0
    max_rounds: int = 8


@dataclass(frozen=True, slots=True)
class ChatTool:
    name: str
    description: str
    parameters: Mapping[str, Any]


async def converse(
    endpoint: ChatEndpoint, prompt: str, tools: Sequence[ChatTool], context: Context
) -> tuple[str, list[dict[str, Any]]]:
    """(the model's answer, the calls that it made). A tool's failure is told to the model, not raised.

    Raises BUDGET_EXCEEDED when it still calls tools after `max_rounds`, and what reaching the endpoint raises.
    """
    messages: list[dict[str, Any]] = [{"role": "user", "content": prompt}]
    calls: list[dict[str, Any]] = []
    for turn in range(endpoint.max_rounds):
        context.progress(turn, message=f"asking {endpoint.model}")
        message = await _completion(endpoint, messages, tools, context)
        wanted = message.get("tool_calls") or []
        if not wanted:
            return str(message.get("content") or ""), calls
        messages.append({"role": "assistant", "content": message.get("content"), "tool_calls": wanted})
        for call in wanted:
            answer = await _called(call, tools, context, calls)
            messages.append({"role": "tool", "tool_call_id": str(call.get("id", "")), "content": answer})
    raise JackfieldError(
        Code.BUDGET_EXCEEDED,
        f"The model still called tools after {endpoint.max_rounds} rounds.",
        "Ask for less at once, or raise the number of rounds.",
        {"rounds": endpoint.max_rounds, "calls": len(calls)},
    )


async def _called(
    call: Mapping[str, Any], tools: Sequence[ChatTool], context: Context, calls: list[dict[str, Any]]
) -> str:
    """The answer to one tool call as the model is given it."""
    function = call.get("function") or {}
    name = str(function.get("name", ""))
    try:
        if name not in {tool.name for tool in tools}:
            known = ", ".join(tool.name for tool in tools)
            raise JackfieldError(Code.TOOL_NOT_FOUND, f"This skill has no tool '{name}'.", f"Its tools: {known}.")
        arguments = _arguments(function.get("arguments"))
        calls.append({"tool": name, "arguments": arguments})
        return await shown(await context.call_tool(name, arguments))
    except JackfieldError as error:
        if error.code is Code.INPUT_REQUIRED:
            raise  # the caller is to answer it, not the model
        return json.dumps({"error": error.as_json()}, ensure_ascii=False)


def _arguments(text: Any) -> dict[str, Any]:
    try:
        arguments = json.loads(text) if isinstance(text, str) and text.strip() else text or {}
    except json.JSONDecodeError as error:
        raise JackfieldError(Code.VALIDATION_INVALID_PARAMS, f"The arguments are not JSON: {error.msg}.") from None
    if not isinstance(arguments, dict):
        raise JackfieldError(Code.VALIDATION_INVALID_PARAMS, "The arguments are not an object.")
    return arguments


async def shown(outputs: Mapping[str, Any]) -> str:
    """What a tool gave, as JSON text of a size that a model can read."""
    answer: dict[str, Any] = {}
    for port, value in outputs.items():
        if isinstance(value, Table):
            rows = await in_thread(value.arrow, cancel=value.cancel)
            answer[port] = rows.slice(0, MOST_ROWS).to_pylist()
            if rows.num_rows > MOST_ROWS:
                answer |= {"truncated": True, "total_rows": rows.num_rows}
        else:
            answer[port] = value
    text = json.dumps(answer, ensure_ascii=False, default=str)
    return text if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS] + " … (cut)"


async def _completion(
    endpoint: ChatEndpoint, messages: list[dict[str, Any]], tools: Sequence[ChatTool], context: Context
) -> Mapping[str, Any]:
    body: dict[str, Any] = {"model": endpoint.model, "messages": messages}
    if tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {"name": t.name, "description": t.description, "parameters": dict(t.parameters)},
            }
            for t in tools
        ]
    headers = [("content-type", "application/json"), ("accept", "application/json")]
    if endpoint.secret_key:
        headers.append(("authorization", f"Bearer {context.secrets.value(endpoint.secret_key)}"))
    response = await context.egress.send(
        Request(
            "POST",
            f"{context.secrets.expand(endpoint.url).rstrip('/')}/chat/completions",
            tuple(headers),
            body=json.dumps(body, default=str).encode(),
            timeout_s=endpoint.timeout_s,
        )
    )
    if response.status >= 400:
        refused = response.status in (401, 403)
        raise JackfieldError(
            Code.AUTH_FAILED if refused else Code.RATE_LIMITED if response.status == 429 else Code.SOURCE_ERROR,
            f"The model's endpoint answered with status {response.status}.",
            f"Check the variable '{endpoint.secret_key}'." if refused and endpoint.secret_key else "",
            {"status": response.status},
        )
    try:
        message = json.loads(response.body)["choices"][0]["message"]
    except (ValueError, LookupError, TypeError):
        message = None
    if not isinstance(message, dict):
        raise JackfieldError(
            Code.SOURCE_BAD_REPLY,
            "The model's endpoint answered with no message.",
            "Expected the chat completions form: {choices: [{message: {…}}]}.",
        )
    return message
