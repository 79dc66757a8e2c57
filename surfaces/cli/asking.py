"""The person at the terminal as one who can be asked: a form is prompts on stderr, so that stdout holds the answer."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import anyio.to_thread
import click

from ...graphs.errors import Code, JackfieldError
from ...graphs.model import Graph, Json
from ...nodes.asking import ASKED
from ...nodes.base import Effect, Question
from ...nodes.forms import choices

TYPES: Final[Mapping[str, Any]] = {"integer": click.INT, "number": click.FLOAT}


def asks(graph: Graph) -> bool:
    """Whether a node of `graph` may ask: bars of progress would then write over its prompts."""
    from ...nodes import registry

    kinds = registry()
    every = [graph, *graph.graphs.values()]
    return any(kinds[node.type].effect is Effect.ASKS for one in every for node in one.nodes if node.type in kinds)


class Terminal:
    """Implements `Client`. Without a terminal only the folder is known, and nobody can be asked."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet

    def takes(self, question: Question) -> bool:
        if question.method == "elicitation/create":
            return sys.stdin.isatty() and sys.stderr.isatty()
        return question.method == "roots/list"

    async def ask(self, questions: Sequence[Question]) -> Mapping[str, Mapping[str, Json]]:
        for question in questions:
            if not self.takes(question):
                raise JackfieldError(
                    Code.INPUT_REQUIRED,
                    f"This call asks {ASKED[question.method]} '{question.key}', and cannot do so here.",
                    "Call it at a terminal."
                    if question.method == "elicitation/create"
                    else "Call it from an MCP client that has a model.",
                    {"question": question.key, "method": question.method},
                )
        answers: dict[str, Mapping[str, Json]] = {}
        for question in questions:
            if question.method == "roots/list":
                answers[question.key] = {"roots": [{"uri": Path.cwd().as_uri(), "name": Path.cwd().name}]}
            else:
                # Whoever never answers is left to himself when the call ends.
                answers[question.key] = await anyio.to_thread.run_sync(answer, question.params, abandon_on_cancel=True)
        return answers

    async def log(self, level: str, data: Json, logger: str = "") -> None:
        if not self._quiet:
            said = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, default=str)
            click.echo(f"{level}: {said}", err=True)


def answer(params: Mapping[str, Any]) -> Mapping[str, Json]:
    """Ask the person; the end of input is his refusal."""
    schema: Mapping[str, Any] = params.get("requestedSchema") or {}
    properties: Mapping[str, Mapping[str, Any]] = schema.get("properties") or {}
    message = str(params.get("message", ""))
    try:
        if not properties:
            text = f"{message} {params['url']}" if "url" in params else message
            return {"action": "accept" if click.confirm(text, err=True) else "decline", "content": {}}
        click.echo(f"{message} (Ctrl-D: no answer)", err=True)
        required = schema.get("required") or ()
        given = {name: _field(name, field, name in required) for name, field in properties.items()}
    except (click.Abort, EOFError):
        return {"action": "decline"}
    return {"action": "accept", "content": {name: value for name, value in given.items() if value is not None}}


def _field(name: str, field: Mapping[str, Any], required: bool) -> Json:
    label = str(field.get("title") or field.get("description") or name)
    default = field.get("default")
    if field.get("type") == "boolean":
        return click.confirm(f"  {label}", default=bool(default), err=True)
    known = choices(field)
    if known is not None:
        titles = ", ".join(value if value == title else f"{value} ({title})" for value, title in known.items())
        label = f"{label}: {titles}"
    if field.get("type") == "array":
        written = click.prompt(
            f"  {label}\n  with commas between them", default=",".join(default or ()), show_default=False, err=True
        )
        return [part.strip() for part in str(written).split(",") if part.strip()]
    kind: Any = click.Choice(list(known)) if known else TYPES.get(str(field.get("type")), click.STRING)
    optional = default is None and not required
    value = click.prompt(
        f"  {label}",
        default="" if optional else default,
        value_proc=lambda text: text if optional and text == "" else kind(text),
        err=True,
    )
    return None if optional and value == "" else value
