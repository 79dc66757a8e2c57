"""One reply of an HTTP API as it is: the kind of node by which discovery looks, through the engine's own way out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import SplitResult, urljoin, urlsplit

from ..graphs.errors import Code, JackfieldError
from ..nodes.base import OBJECT, Context, Effect, Inputs, Outputs, Port, Request, node
from ..nodes.http.auth import credentials
from ..nodes.http.binding import bound_pairs, bound_url, bound_value
from ..nodes.http.replies import check_status
from ..nodes.http.retry import send
from ..nodes.rest import RestConfiguration

MAX_BYTES: Final = 16 * 2**20
ACCEPT: Final = "application/json, text/csv;q=0.9, application/x-ndjson;q=0.9, */*;q=0.5"


@node(
    "probe",
    description="One reply of an HTTP API as it is, for discovery.",
    effect=Effect.READS,
    configuration=RestConfiguration,
    outputs=(Port("reply", OBJECT),),
)
async def probe_node(config: RestConfiguration, inputs: Inputs, context: Context) -> Outputs:
    secrets = context.secrets
    proof = credentials(config.auth, secrets)
    query = (*bound_pairs(config.params, {}, secrets), *proof.query)
    headers = {"accept": ACCEPT, **{name.lower(): value for name, value in config.headers.items()}}
    bound = [*bound_pairs(headers, {}, secrets), *proof.headers]
    body = None
    if config.body is not None:
        from ..nodes.conversions import json_text

        body = json_text(bound_value(config.body, {}, secrets)).encode()
        bound.append(("content-type", "application/json"))
    url = bound_url(config.url, {}, secrets)
    request = Request(config.method, url, tuple(bound), query, body, config.timeout_s, MAX_BYTES)
    response = await send(request, context)
    is_refused = response.status in (401, 403) and not proof.secrets
    if not is_refused and not _is_redirect_within(response.status, response.headers.get("location", ""), url):
        check_status(response, context.node, proof.secrets)
    text = context.secrets.conceal(response.body.decode("utf-8-sig", errors="replace"))
    reply = {"status": response.status, "headers": dict(response.headers), "text": text, "url": url}
    return {"reply": reply}


@dataclass(frozen=True, slots=True)
class Reply:
    """`url` may hold what an environment variable said: it is for comparing, never for showing."""

    status: int
    headers: Mapping[str, str]
    text: str
    url: str

    @property
    def kind(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def moved_to(self) -> str:
        """Where a redirect within the same origin leads; empty when this is none."""
        location = self.headers.get("location", "")
        return urljoin(self.url, location) if _is_redirect_within(self.status, location, self.url) else ""


def _is_redirect_within(status: int, location: str, url: str) -> bool:
    """Whether a redirect stays at the very scheme, host and port, so that following it tells nobody else anything."""
    if not 300 <= status < 400 or not location:
        return False
    try:
        here, there = urlsplit(url), urlsplit(urljoin(url, location))
        is_same = (here.scheme, here.hostname, _port(here)) == (there.scheme, there.hostname, _port(there))
        return is_same and there.username is None
    except ValueError:
        return False


def _port(address: SplitResult) -> int | None:
    return address.port or {"http": 80, "https": 443}.get(address.scheme)


def not_followed(reply: Reply) -> JackfieldError:
    """The error for an address that moves more than once."""
    return JackfieldError(
        Code.SOURCE_BAD_REPLY,
        f"The address answers {reply.status} again after one redirect.",
        "Write the address that it leads to in the end.",
    )
