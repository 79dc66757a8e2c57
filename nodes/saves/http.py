"""The `http` save: rows posted to a service in batches of JSON.

HTTP has no transaction over several requests, so unlike other saves this one can stop half way: the error then says how
many rows were accepted. Each batch carries an idempotency key that is the same whenever it is sent again: at once after
a fault that passes, or when the whole save is repeated under the same key of the caller. A service that honours the
header keeps each row once.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from pydantic import Field

from ...graphs.errors import Code, JackfieldError
from ...graphs.model import Json
from ..base import Context, Request
from ..blocking import in_thread
from ..http.auth import Auth, Credentials, credentials
from ..http.binding import bound_pairs, bound_url
from ..http.replies import check_status
from ..http.retry import send
from ..table import Table
from .base import CanSave, SaveConfiguration, Saved, SaveType

if TYPE_CHECKING:
    import pyarrow as pa

_KEYS: Final = uuid.UUID("5a1ff1e1-d000-4000-8000-000000000001")


class HttpSave(SaveConfiguration):
    """A body is a JSON array of records, or `{wrap: [...]}`."""

    url: str = Field(description="Address that takes the POSTs")
    headers: Mapping[str, str] = Field({}, description="Further headers")
    auth: Auth | None = Field(None, description="How the request proves who it is; secrets are named, never written")
    batch_rows: int = Field(500, gt=0, description="Rows in one request")
    wrap: str = Field("", description="Key under which the records stand; empty: the body is the list itself")
    body: Mapping[str, Json] = Field({}, description="Further fields of the body, beside `wrap`")
    idempotency_header: str = Field("Idempotency-Key", description="Header that carries the key of a batch")
    timeout_s: float = Field(30, gt=0, description="Seconds for one request")


async def save(config: HttpSave, table: Table, context: Context) -> Saved:
    proof = credentials(config.auth, context.secrets)
    url = bound_url(config.url, {}, context.secrets)
    seed = context.idempotency_key or uuid.uuid4().hex
    batches = bodies(config, table)
    accepted = number = 0
    try:
        while (found := await in_thread(partial(next, batches, None), cancel=table.cancel)) is not None:
            body, rows = found
            key = uuid.uuid5(_KEYS, "\0".join((seed, context.connector, context.node, config.url, str(number))))
            await _post(config, url, body, str(key), proof, context, accepted)
            accepted, number = accepted + rows, number + 1
            context.progress(accepted, table.num_rows)
    finally:
        table.close()
    return Saved(accepted, config.url)


def bodies(config: HttpSave, table: Table) -> Iterator[tuple[bytes, int]]:
    """The body of each request with its number of rows, cut at the same rows whatever batches the table comes in."""
    from .jsonrows import records

    waiting: list[bytes] = []
    reader: pa.RecordBatchReader = table.reader()
    for batch in reader:
        waiting += records(batch)
        while len(waiting) >= config.batch_rows:
            yield _body(config, waiting[: config.batch_rows]), config.batch_rows
            del waiting[: config.batch_rows]
    if waiting:
        yield _body(config, waiting), len(waiting)


def _body(config: HttpSave, rows: list[bytes]) -> bytes:
    import msgspec

    array = b"[" + b",".join(rows) + b"]"
    return msgspec.json.encode({**config.body, config.wrap: msgspec.Raw(array)}) if config.wrap else array


async def _post(
    config: HttpSave, url: str, body: bytes, key: str, proof: Credentials, context: Context, accepted: int
) -> None:
    headers = {"content-type": "application/json"}
    headers |= {name.lower(): value for name, value in bound_pairs(config.headers, {}, context.secrets)}
    headers |= {**dict(proof.headers), config.idempotency_header.lower(): key}
    request = Request("POST", url, tuple(headers.items()), proof.query, body, config.timeout_s)
    try:
        response = await send(request, context)
        check_status(response, context.node, proof.secrets)
    except JackfieldError as error:
        raise _stopped(error, accepted) from None


def _stopped(error: JackfieldError, accepted: int) -> JackfieldError:
    """The error, with how far the save came."""
    unknown = bool(error.details.get("sent"))
    of_next = ", of the next batch it is not known" if unknown else ""
    again = "Repeat the save with the same idempotency key: batches that were accepted are then not doubled."
    return replace(
        error,
        code=Code.OUTCOME_UNKNOWN if unknown else error.code,
        message=f"{error.message} {accepted:,} rows were accepted before{of_next}.",
        hint=f"{error.hint} {again}".strip(),
        details={**error.details, "rows_accepted": accepted, "cause": error.code.value},
    )


async def can_save(config: HttpSave, context: Context) -> CanSave:
    """Whether the address and the secrets can be resolved; nothing is sent."""
    try:
        credentials(config.auth, context.secrets)
        bound_url(config.url, {}, context.secrets)
        tuple(bound_pairs(config.headers, {}, context.secrets))
    except JackfieldError as error:
        return CanSave(False, error.message)
    return CanSave(True)


SAVE = SaveType("http", "POST to a service, in batches with an idempotency key", HttpSave, ("append",), save, can_save)
