"""The MCP client as one who can be asked while a call goes on, in both eras.

Handshake: each question is a request of the server's own, and the call waits. Stateless (2026-07-28): a question ends
the call, which is made anew with the answers; what was answered before travels in the sealed request state.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    ClientCapabilities,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    InputRequest,
    InputRequiredResult,
    InputResponseRequestParams,
    ListRootsRequest,
    ListRootsResult,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ValidationError

from ...graphs.errors import Code, JackfieldError
from ...graphs.model import Json
from ...nodes.base import Question
from .callers import Context
from .log_levels import LogLevels

NEEDED: Final[Mapping[str, Mapping[str, Any]]] = {
    "elicitation/create": {"elicitation": {"form": {}}},
    "sampling/createMessage": {"sampling": {}},
    "roots/list": {"roots": {}},
}
URL_NEEDED: Final[Mapping[str, Any]] = {"elicitation": {"url": {}}}
Answers = Mapping[str, Mapping[str, Json]]


def client_of(ctx: Context, params: InputResponseRequestParams, levels: LogLevels) -> HandshakeClient | StatelessClient:
    """Whoever made this request, to be given to the call that it makes."""
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return StatelessClient(ctx, levels, _Rounds.read(params))
    return HandshakeClient(ctx, levels)


@dataclass
class _McpClient:
    """What both eras have."""

    ctx: Context
    levels: LogLevels

    def takes(self, question: Question) -> bool:
        """Whether the client declared what the question needs."""
        declared = self.ctx.session.client_capabilities or ClientCapabilities()
        if question.method == "roots/list":
            return declared.roots is not None
        if question.method == "sampling/createMessage":
            return declared.sampling is not None
        elicitation = declared.elicitation
        if elicitation is None:
            return False
        if "url" in question.params:
            return elicitation.url is not None
        return elicitation.form is not None or elicitation.url is None  # before there were modes it declared none

    async def log(self, level: str, data: Json, logger: str = "") -> None:
        await self.levels.send(self.ctx, level, data, logger)


@dataclass
class HandshakeClient(_McpClient):
    """A client with a session, to whom requests can be sent."""

    def unanswered(self, error: JackfieldError) -> InputRequiredResult | None:
        """None: what is asked is answered within the call."""
        return None

    async def ask(self, questions: Sequence[Question]) -> Answers:
        """One after the other: a person fills in one form at a time."""
        for question in questions:
            if not self.takes(question):
                raise _cannot(question)
        return {question.key: await self._answer(question) for question in questions}

    async def _answer(self, question: Question) -> Mapping[str, Json]:
        request = _request(question, identified=True)
        related = ServerMessageMetadata(related_request_id=self.ctx.request_id)
        try:
            result = await self.ctx.session.send_request(request, _result_type(question), metadata=related)
        except MCPError as error:
            raise JackfieldError(
                Code.INPUT_REQUIRED,
                f"The client did not answer '{question.key}' ({question.method}): {error.error.message}",
                "Answer it, or call from a client that can.",
                {"question": question.key, "client_code": error.error.code},
            ) from None
        except ValidationError:
            raise JackfieldError(
                Code.SOURCE_BAD_REPLY,
                f"The client's answer to '{question.key}' is no result of {question.method}.",
                "",
                {"question": question.key},
            ) from None
        return _plain(result)


@dataclass
class _Rounds:
    """What is known of earlier rounds of this call. An answer belongs to the very question that was asked.

    `known` has answers, and `asked` the names on the wire of what was open, by the question's identity.
    """

    known: dict[str, Mapping[str, Json]] = field(default_factory=dict)
    asked: Mapping[str, str] = field(default_factory=dict)
    given: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    begun: bool = False  # in the first round an answer may come before its question
    used: set[str] = field(default_factory=set)

    @classmethod
    def read(cls, params: InputResponseRequestParams) -> _Rounds:
        """`request_state` is our own: the boundary has opened its seal, and let nothing else through."""
        given = {name: _plain(response) for name, response in (params.input_responses or {}).items()}
        if params.request_state is None:
            return cls(given=given)
        state = json.loads(params.request_state)
        return cls(dict(state["known"]), state["asked"], given, begun=True)

    def answer(self, identity: str, question: Question) -> Mapping[str, Json] | None:
        """The answer to a question, from an earlier round or this one."""
        if identity in self.known:
            return self.known[identity]
        name = self.asked.get(identity) if self.begun else question.key
        if name is None or name in self.used or name not in self.given:
            return None
        self.used.add(name)
        self.known[identity] = self.given[name]
        return self.given[name]

    def state(self, asked: Mapping[str, str]) -> str:
        return json.dumps({"known": self.known, "asked": asked}, separators=(",", ":"))


@dataclass
class StatelessClient(_McpClient):
    """A client that answers by making its call anew."""

    rounds: _Rounds = field(default_factory=_Rounds)
    _open: dict[str, tuple[str, Question]] = field(default_factory=dict)  # by name on the wire, with its identity
    _missing: dict[str, Any] = field(default_factory=dict)
    _times: Counter[str] = field(default_factory=Counter)

    def unanswered(self, error: JackfieldError) -> InputRequiredResult | None:
        """What to answer in place of a call that ended in `error`: the open questions; None for any other error.

        Raises MCPError -32021 when the client cannot be asked what has to be asked.
        """
        if error.code is not Code.INPUT_REQUIRED:
            return None
        if self._missing:
            data = {"requiredCapabilities": self._missing}
            message = f"This call needs what the client did not declare: {', '.join(self._missing)}."
            raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, message, data)
        if not self._open:
            return None
        requests = {name: _request(question, identified=False) for name, (_, question) in self._open.items()}
        asked = {identity: name for name, (identity, _) in self._open.items()}
        return InputRequiredResult(input_requests=requests, request_state=self.rounds.state(asked))

    async def ask(self, questions: Sequence[Question]) -> Answers:
        answers = {}
        unanswered = []
        for question in questions:
            identity = self._identity(question)
            found = self.rounds.answer(identity, question)
            if found is not None:
                answers[question.key] = found
            else:
                unanswered.append((identity, question))
        if not unanswered:
            return answers
        for _, question in unanswered:
            if not self.takes(question):
                for name, needed in _needed(question).items():
                    self._missing[name] = {**self._missing.get(name, {}), **needed}
                raise _cannot(question)
        for identity, question in unanswered:
            self._open[self._name(question.key)] = (identity, question)
        raise JackfieldError(
            Code.INPUT_REQUIRED,
            f"The client has to answer {', '.join(repr(question.key) for _, question in unanswered)} first.",
            "Make the call again with the answers.",
            {"questions": [question.key for _, question in unanswered]},
        )

    def _identity(self, question: Question) -> str:
        """The same in each round: what is asked, and which time that is asked within the call."""
        text = json.dumps([question.key, question.method, question.params], sort_keys=True, default=str)
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        self._times[digest] += 1
        return f"{digest}.{self._times[digest]}"

    def _name(self, key: str) -> str:
        """The question's own key; another where that would let an earlier answer be taken for one to this."""
        name, number = key, 1
        while name in self._open or name in self.rounds.given:
            number += 1
            name = f"{key}-{number}"
        return name


def _needed(question: Question) -> Mapping[str, Any]:
    return URL_NEEDED if "url" in question.params else NEEDED[question.method]


def _cannot(question: Question) -> JackfieldError:
    names = list(_needed(question))
    return JackfieldError(
        Code.INPUT_REQUIRED,
        f"This call asks '{question.key}' ({question.method}), and the client did not declare {names[0]}.",
        "Call it from a client that can be asked that.",
        {"question": question.key, "requires": names},
    )


def _request(question: Question, *, identified: bool) -> InputRequest:
    """The MCP request. `identified`: a page to visit has a name, as the handshake era wants it."""
    params: dict[str, Any] = dict(question.params)
    match question.method:
        case "roots/list":
            return ListRootsRequest()
        case "sampling/createMessage":
            return CreateMessageRequest(params=CreateMessageRequestParams.model_validate(params, by_name=False))
    if "url" in params:
        if identified:
            params["elicitationId"] = secrets.token_hex(8)
        return ElicitRequest(params=ElicitRequestURLParams.model_validate(params, by_name=False))
    return ElicitRequest(params=ElicitRequestFormParams.model_validate(params, by_name=False))


def _result_type(question: Question) -> type[BaseModel]:
    if question.method == "elicitation/create":
        return ElicitResult
    return CreateMessageResult if question.method == "sampling/createMessage" else ListRootsResult


def _plain(result: BaseModel) -> Mapping[str, Json]:
    plain: dict[str, Json] = result.model_dump(by_alias=True, mode="json", exclude_none=True)
    return plain
