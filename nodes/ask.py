"""`ask`: a question to the person who called, or several questions at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, Self

from pydantic import Field, model_validator

from ..graphs.model import Json
from .asking import ask, key_of
from .base import OBJECT, Context, Effect, Inputs, Outputs, Port, Ports, node
from .questions import AnyQuestion, PersonQuestion, declined


class AskConfiguration(PersonQuestion):
    """One question to the person, or `questions`: several, also to the client's model and for its roots."""

    key: str = Field("", description="Name of the question; the node's id when empty")
    on_decline: Literal["fail", "pass"] = Field(
        "fail", description="When the person declines: fail the call, or go on and give the action"
    )
    questions: Mapping[str, AnyQuestion] = Field(
        default_factory=dict, description="In place of message: questions by their key, all asked at once"
    )

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        if self.questions and (self.message or self.url):
            raise ValueError("give either 'message' or 'questions'")
        return self


ACTION = Port("action", {"type": "string", "enum": ["accept", "decline", "cancel"]}, "What the person did")
CONTENT = Port("content", OBJECT, "The filled form; empty when the person did not accept")
ANSWERS = Port("answers", OBJECT, "With questions: what each gave, by its key")
MESSAGE = Port("message", {"type": "string"}, "What the person reads", required=False)


def _ports(configuration: Mapping[str, Json]) -> Ports:
    if configuration.get("questions"):
        return Ports(outputs=(ANSWERS,))
    return Ports(inputs=(replace(MESSAGE, required=True),), outputs=(ACTION, CONTENT))


@node(
    "ask",
    description="Asks the person who called to fill in a form, to agree, or to visit a page.",
    effect=Effect.ASKS,
    configuration=AskConfiguration,
    inputs=(MESSAGE,),
    outputs=(ACTION, CONTENT, ANSWERS),
    ports_of=_ports,
)
async def ask_node(config: AskConfiguration, inputs: Inputs, context: Context) -> Outputs:
    if config.questions:
        return {"answers": await _several(config, context)}
    key = key_of(context, config.key)
    result = await ask(context, [config.question(key)])
    answer = config.answer(result[key], context.node)
    if answer["action"] != "accept" and config.on_decline == "fail":
        raise declined(context.node, answer["action"], config.message)
    return answer


async def _several(config: AskConfiguration, context: Context) -> dict[str, Json]:
    wanted = [one.question(key) for key, one in config.questions.items()]
    optional = frozenset(key for key, one in config.questions.items() if one.optional)
    results = await ask(context, wanted, optional)
    answers = {key: config.questions[key].answer(result, context.node) for key, result in results.items()}
    for answer in answers.values():
        if answer.get("action", "accept") != "accept" and config.on_decline == "fail":
            raise declined(context.node, answer["action"], "")
    return answers
