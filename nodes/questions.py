"""The questions that nodes ask, as they are configured: to the person, to the client's model, for its roots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, model_validator

from ..graphs.errors import Code, JackfieldError
from ..graphs.model import Json
from .base import Configuration, Question
from .forms import filled_in, misfit, refuse

ACTIONS: Final = ("accept", "decline", "cancel")
EMPTY_FORM: Final[Mapping[str, Json]] = {"type": "object", "properties": {}}


class PersonQuestion(Configuration):
    """A form that the person fills in or, with `url`, a page that he is asked to visit."""

    message: str = Field("", description="What the person reads")
    form: Mapping[str, Json] = Field(
        default_factory=lambda: EMPTY_FORM,
        alias="schema",
        description="JSON Schema of the form: a flat object; without fields the person only agrees",
    )
    url: str = Field("", description="A page to visit in place of the form")

    @model_validator(mode="after")
    def _is_a_form(self) -> Self:
        if why := misfit(self.form):
            raise ValueError(why)
        return self

    def question(self, key: str) -> Question:
        if self.url:
            return Question(key, "elicitation/create", {"mode": "url", "message": self.message, "url": self.url})
        schema = {"type": "object", **self.form}
        return Question(key, "elicitation/create", {"message": self.message, "requestedSchema": schema})

    def answer(self, result: Mapping[str, Any], node: str) -> dict[str, Json]:
        """`{action, content}`. Raises for content that does not fit the form."""
        action = result.get("action")
        if action not in ACTIONS:
            raise refuse(node, "has no action", f"Expected one of {', '.join(ACTIONS)}.")
        if action != "accept" or self.url:
            return {"action": action, "content": {}}
        return {"action": action, "content": filled_in(self.form, result.get("content"), node)}


class ModelQuestion(Configuration):
    """Messages for the client's model. `prompt` is short for one text of the user."""

    prompt: str = Field("", description="What the model is asked")
    messages: tuple[Mapping[str, Json], ...] = Field((), description="In place of prompt: {role, content} as in MCP")
    system_prompt: str = ""
    max_tokens: int = Field(1000, ge=1)
    temperature: float | None = Field(None, ge=0)
    stop_sequences: tuple[str, ...] = ()
    models: tuple[str, ...] = Field((), description="Names of models to prefer, the best first")

    def question(self, key: str) -> Question:
        messages = list(self.messages) or [{"role": "user", "content": {"type": "text", "text": self.prompt}}]
        params: dict[str, Json] = {"messages": messages, "maxTokens": self.max_tokens}
        if self.system_prompt:
            params["systemPrompt"] = self.system_prompt
        if self.temperature is not None:
            params["temperature"] = self.temperature
        if self.stop_sequences:
            params["stopSequences"] = list(self.stop_sequences)
        if self.models:
            params["modelPreferences"] = {"hints": [{"name": name} for name in self.models]}
        return Question(key, "sampling/createMessage", params)

    def answer(self, result: Mapping[str, Any], node: str) -> dict[str, Json]:
        """`{text, content, model, stop_reason}`; `text` is empty when the model gave none."""
        content = result.get("content")
        parts = [part for part in (content if isinstance(content, list) else [content]) if isinstance(part, Mapping)]
        if not parts:
            raise refuse(node, "has no content", "Expected the result of sampling/createMessage.")
        text = "".join(str(part.get("text", "")) for part in parts if part.get("type") == "text")
        given = {"model": result.get("model"), "stop_reason": result.get("stopReason")}
        return {"text": text, "content": content, **{name: value for name, value in given.items() if value is not None}}


class RootsQuestion(Configuration):
    """The folders that the client opens to servers."""

    def question(self, key: str) -> Question:
        return Question(key, "roots/list")

    def answer(self, result: Mapping[str, Any], node: str) -> dict[str, Json]:
        """`{roots, uris}`"""
        roots = result.get("roots")
        if not isinstance(roots, list) or not all(isinstance(root, Mapping) and "uri" in root for root in roots):
            raise refuse(node, "has no roots", "Expected the result of roots/list.")
        return {"roots": roots, "uris": [str(root["uri"]) for root in roots]}


class _OneOfSeveral(Configuration):
    optional: bool = Field(False, description="Left out for a client that cannot be asked this")


class AskPerson(PersonQuestion, _OneOfSeveral):
    type: Literal["ask"]


class AskModel(ModelQuestion, _OneOfSeveral):
    type: Literal["sample"]


class AskRoots(RootsQuestion, _OneOfSeveral):
    type: Literal["roots"]


AnyQuestion = Annotated[AskPerson | AskModel | AskRoots, Field(discriminator="type")]


def declined(node: str, action: str, message: str) -> JackfieldError:
    """The error for a person who does not answer, where the graph does not go on without."""
    word = "declined" if action == "decline" else "closed"
    return JackfieldError(
        Code.CANCELLED,
        f"The person {word} what node '{node}' asks: {message}" if message else f"The person {word} node '{node}'.",
        'Nothing was done. A node with "on_decline": "pass" goes on and gives the action.',
        {"node": node, "action": action},
    )
