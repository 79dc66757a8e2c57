"""An endpoint: one declaration over one async function. Routing, checks and the OpenAPI document come from it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict
from starlette.requests import Request
from starlette.responses import Response

from ...graphs.errors import Code, JackfieldError

if TYPE_CHECKING:
    from ..feed import Feed
    from ..service import Service
    from ..sessions import Sessions

Method = Literal["GET", "POST", "PUT"]
Q = TypeVar("Q", bound="Given")
B = TypeVar("B", bound="Given")


class Given(BaseModel):
    """What a caller gives, in a query or a body: an unknown field is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Told(BaseModel):
    """What an endpoint answers."""

    model_config = ConfigDict(frozen=True)


class Nothing(Given):
    """No query, or no body."""


@dataclass(frozen=True, slots=True)
class World:
    """What endpoints work on."""

    service: Service
    feed: Feed
    sessions: Sessions


@dataclass(frozen=True, slots=True)
class Asked(Generic[Q, B]):
    """One request: who asks, and what was given, checked."""

    world: World
    request: Request
    principal: str
    path: Mapping[str, str]
    query: Q
    body: B

    @property
    def service(self) -> Service:
        return self.world.service


Answer = BaseModel | Response
Handler = Callable[[Asked[Any, Any]], Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class Other:
    """A form of the answer that is no JSON of ours."""

    media: str
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "string"})


@dataclass(frozen=True, slots=True, eq=False)
class Endpoint:
    """`operator`: for the local principal alone. `errors` are the codes that it can answer beside those of all.

    `headers` are (name, where it stands: `request` or `response`, meaning, whether it is required).
    """

    method: Method
    path: str
    tag: str
    summary: str
    run: Handler
    description: str = ""
    query: type[Given] = Nothing
    body: type[Given] = Nothing
    answer: type[BaseModel] | None = None
    others: tuple[Other, ...] = ()
    status: int = 200
    operator: bool = False
    parameters: Mapping[str, str] = field(default_factory=dict)
    headers: tuple[tuple[str, str, str, bool], ...] = ()
    errors: tuple[Code | tuple[Code, int], ...] = ()

    @property
    def name(self) -> str:
        """The operation's id: the function's name."""
        return str(getattr(self.run, "__name__", self.path))


class Refused(Exception):  # noqa: N818 - it is an answer
    """An error with a status of its own, where HTTP has one that says it better than the code's."""

    def __init__(self, status: int, error: JackfieldError, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(str(error))
        self.status = status
        self.error = error
        self.headers = dict(headers or {})


def endpoint(
    method: Method,
    path: str,
    *,
    tag: str,
    summary: str,
    query: type[Given] = Nothing,
    body: type[Given] = Nothing,
    answer: type[BaseModel] | None = None,
    others: tuple[Other, ...] = (),
    status: int = 200,
    operator: bool = False,
    parameters: Mapping[str, str] | None = None,
    headers: tuple[tuple[str, str, str, bool], ...] = (),
    errors: tuple[Code | tuple[Code, int], ...] = (),
) -> Callable[[Callable[[Asked[Any, Any]], Awaitable[Answer]]], Endpoint]:
    """Declare an endpoint of `/api` over the function that answers it; the function's docstring describes it."""

    def declare(run: Handler) -> Endpoint:
        return Endpoint(
            method, path, tag, summary, run, " ".join((run.__doc__ or "").split()), query, body, answer, others, status,
            operator, dict(parameters or {}), headers, errors,
        )  # fmt: skip

    return declare


def with_headers(model: BaseModel, headers: Mapping[str, str], status: int = 200) -> Response:
    """The answer with headers beside it."""
    return Response(model.model_dump_json(by_alias=True), status, dict(headers), "application/json")


OPERATOR_ONLY: Final = "Only the local operator may do this."
