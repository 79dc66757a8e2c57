"""`rest`: a source that reads records from an HTTP API: authenticated, paged, retried, cached, as Arrow tables."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import ConfigDict, Field, field_validator

from ..graphs.errors import JackfieldError
from ..graphs.model import Json
from .base import ARGUMENTS, ROWS, SCAN, Context, Effect, Inputs, Outputs, Request, Response, node
from .blocking import in_thread
from .datapath import check_path, is_plain, record_slices
from .flatten import Flat
from .http.auth import Auth, Credentials, credentials
from .http.binding import bound_pairs, bound_url, bound_value, names_in
from .http.csv import text_rows, typed_rows
from .http.pagination import Page, Pages, Pagination, Step, pull_pages
from .http.pushdown import Pushdown, Pushed, pushed
from .http.ratelimit import Limiter, RateLimit, limiter_of
from .http.replies import check_status, utf8_body
from .http.retry import send
from .records import finished, line_slices, selected, tables_of
from .scan import EVERYTHING, Scan
from .source import SOURCE_INPUTS, SOURCE_OUTPUTS, SourceConfiguration, source_ports
from .table import Table

if TYPE_CHECKING:
    import pyarrow as pa

CACHE_TTL_S: Final = 30.0
CAPPED: Final = "$capped"
_LARGE: Final = 1 << 20  # bytes of JSON that take a thread to be cut into records
_SMALL: Final = 1 << 16  # and to be read
_FEW_KEYS: Final = 500  # each may be a column
_STRING: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_ACCEPT: Final = {"json": "application/json", "jsonl": "application/x-ndjson, application/jsonl", "csv": "text/csv"}


class RestConfiguration(SourceConfiguration):
    """`{name}` in `url` and `:name` in `params`, `headers` and `body` take the tool's arguments."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    url: str = Field(description="Address; `{name}` takes an argument as one path segment")
    method: Literal["GET", "POST"] = Field("GET", description="POST for APIs that are searched by a body")
    params: Mapping[str, Json] = Field(
        {}, description="Query parameters; `:name` takes an argument, absent is not sent"
    )
    headers: Mapping[str, str] = Field({}, description="Headers; `:name` takes an argument")
    body: Json = Field(None, description="JSON body of a POST; `:name` takes an argument in its own type")
    auth: Auth | None = Field(None, description="How the request proves who it is; secrets are named, never written")
    data_path: str = Field("", description="JMESPath to the list of records in the reply")
    format: Literal["json", "jsonl", "csv"] = Field("json", description="What the replies are")
    pagination: Pagination | None = Field(None, description="How further pages are found; absent: one reply is all")
    pushdown: Mapping[str, Pushdown | tuple[Pushdown, ...]] = Field(
        {}, description="Columns whose conditions the API can be asked for, and by which parameter"
    )
    limit_param: str | None = Field(None, description="Parameter that asks for at most so many records")
    rate_limit: RateLimit | None = Field(None, description="What we keep to, over all runs in this process")

    @field_validator("data_path")
    @classmethod
    def _is_a_path(cls, data_path: str) -> str:
        try:
            check_path(data_path)
        except JackfieldError as error:
            raise ValueError(error.message) from None
        return data_path


@dataclass(frozen=True, slots=True)
class _Call:
    """One pull, resolved: what would be sent, but for its pages."""

    config: RestConfiguration
    url: str
    query: tuple[tuple[str, str], ...]
    headers: tuple[tuple[str, str], ...]
    body: Any
    proof: Credentials
    pushed: Pushed

    @property
    def limit(self) -> int | None:
        return self.pushed.limit

    def key(self, connector: str, source: str) -> str:
        """What the rows depend on. The request and the credentials enter as a digest only."""
        config = self.config
        asked = [self.url, self.query, self.headers, self.body, self.limit, self.proof.identity]
        shape = config.model_dump(mode="json", include=_SHAPE)
        text = json.dumps([asked, shape], sort_keys=True, default=str)
        return f"{connector}|{source}|{hashlib.sha256(text.encode()).hexdigest()}"


_SHAPE: Final = {"method", "data_path", "format", "pagination", "declared", "contract", "children", "limit_param"}


def arguments_of(configuration: RestConfiguration) -> frozenset[str]:
    """The arguments that the configuration names."""
    return names_in(configuration.url, configuration.params, configuration.headers, configuration.body)


def explain(config: RestConfiguration, scan: Scan) -> dict[str, Any]:
    """What `scan` makes the source send, and what is left to SQL and why. Reads no secret and sends nothing."""
    found = _pushed(config, scan)
    told = list(zip(found.predicates, found.params, found.exact, strict=True))
    return {
        "method": config.method,
        "url": config.url,
        "params": dict(config.params),
        "pushed": [{**predicate.as_json(), "param": name} for predicate, name, _ in told],
        "rechecked": [
            f"{each.column} {each.operator} …: '{name}' may give more" for each, name, is_exact in told if not is_exact
        ],
        "query": [list(pair) for pair in found.query],
        "kept": list(found.kept),
        "limit": found.limit,
        "pages": config.pagination.strategy if config.pagination else "none",
    }


@node(
    "rest",
    description="Records from an HTTP API",
    effect=Effect.READS,
    configuration=RestConfiguration,
    inputs=SOURCE_INPUTS,
    outputs=SOURCE_OUTPUTS,
    ports_of=source_ports,
)
async def rest_node(config: RestConfiguration, inputs: Inputs, context: Context) -> Outputs:
    scan: Scan = inputs.get(SCAN) or EVERYTHING
    call = _resolved(config, inputs.get(ARGUMENTS) or {}, scan, context)
    if call.pushed.predicates or call.pushed.kept or call.limit is not None:
        facts = [{"column": each.column, "operator": each.operator} for each in call.pushed.predicates]
        context.note("pushed", predicates=facts, kept=list(call.pushed.kept), limit=call.limit)

    pulled: list[Pages] = []
    pull = partial(_pull, call, context, pulled)
    ttl = CACHE_TTL_S if config.cache_ttl_s is None else config.cache_ttl_s
    if context.fresh:
        tables = dict(await pull())
    else:
        tables = dict(await context.cache.tables(call.key(context.connector, context.node), ttl, pull))
    if not pulled:
        context.note("pulled", rows=tables[ROWS].num_rows, cached=True)
    capped = tables.pop(CAPPED, None)
    if capped is not None:
        context.note("capped", **capped.to_pylist()[0])
    if scan.columns is not None:
        tables[ROWS] = Table.whole(selected(tables[ROWS].arrow(), scan.columns))
    return dict(tables)


def _resolved(config: RestConfiguration, arguments: Mapping[str, Any], scan: Scan, context: Context) -> _Call:
    secrets = context.secrets
    proof = credentials(config.auth, secrets)
    found = _pushed(config, scan)
    query = [*bound_pairs(config.params, arguments, secrets), *found.query]
    if config.limit_param and found.limit is not None:
        query.append((config.limit_param, str(found.limit)))
    headers = {"accept": _ACCEPT[config.format], **{name.lower(): value for name, value in config.headers.items()}}
    bound = [*bound_pairs(headers, arguments, secrets), *proof.headers]
    body = None if config.body is None else bound_value(config.body, arguments, secrets)
    if body is not None:
        bound.append(("content-type", "application/json"))
    url = bound_url(config.url, arguments, secrets)
    return _Call(config, url, tuple(query), tuple(bound), body, proof, found)


def _pushed(config: RestConfiguration, scan: Scan) -> Pushed:
    taken = [*config.params, *filter(None, (config.limit_param,))]
    found = pushed(config.pushdown, scan, taken)
    if config.contract == "discard_row":  # rows may yet be dropped, so that the first ten of the API are too few
        return replace(found, limit=None)
    return found


async def _pull(call: _Call, context: Context, pulled: list[Pages]) -> Mapping[str, Table]:
    """What is kept in the cache: the tables, and beside them under `CAPPED` that there was more."""
    config, source = call.config, context.node
    limiter = limiter_of(config.rate_limit, context.connector, source, config.url)
    rows = 0

    async def fetch(step: Step) -> Page:
        nonlocal rows
        page = await _fetch(call, limiter, context, step)
        rows += len(page.slices)
        context.progress(rows, None, f"{rows:,} rows")
        return page

    found = await pull_pages(config.pagination, fetch, source, call.limit)
    pulled.append(found)
    size = sum(len(page.body) for page in found.pages)
    read = partial(_read, config, found, source)
    is_quick = size <= _SMALL and sum(page.body.count(b":") for page in found.pages) <= _FEW_KEYS
    tables = read() if is_quick and config.format != "csv" else await in_thread(read)
    context.note("pulled", rows=found.rows, bytes=size, requests=len(found.pages))
    kept = {name: Table.whole(table) for name, table in tables.items()}
    if found.capped:
        kept[CAPPED] = Table.from_rows([{"rows": found.rows, "max_pages": len(found.pages)}])
    return kept


async def _fetch(call: _Call, limiter: Limiter | None, context: Context, step: Step) -> Page:
    config, source = call.config, context.node
    response = await send(_request(call, step), context, limiter)
    check_status(response, source, call.proof.secrets)
    if response.status == 204:
        return Page(response, b"", ())
    context.budget.spend_bytes(len(response.body))
    cut = partial(_cut, call, response, context)
    page = cut() if len(response.body) <= (_SMALL if _is_parsed(config) else _LARGE) else await in_thread(cut)
    context.budget.spend_rows(len(page.slices))
    return page


def _is_parsed(config: RestConfiguration) -> bool:
    """Whether replies are not only cut into records but read whole."""
    return config.format == "csv" or not is_plain(config.data_path)


def _cut(call: _Call, response: Response, context: Context) -> Page:
    """The records of a reply. A secret of ours that it echoes is hidden in them."""
    config, source = call.config, context.node
    body = utf8_body(response, source, config.format.upper())
    is_echoed = context.secrets.is_echoed(body)
    if config.format == "csv":
        shown = context.secrets.conceal(body.decode(errors="replace")).encode() if is_echoed else body
        return Page(response, body, text_rows(shown, source))
    if config.format == "jsonl":
        slices: Any = line_slices(body, source)
    else:
        slices = record_slices(body, config.data_path or _envelope(config), source)
    if is_echoed:  # not in the body: the address of the next page may need it
        slices = [_concealed(bytes(record), context) for record in slices]
    return Page(response, body, slices)


def _concealed(record: bytes, context: Context) -> bytes:
    return _STRING.sub(lambda found: context.secrets.conceal(found[0].decode(errors="replace")).encode(), record)


def _envelope(config: RestConfiguration) -> str:
    return "value" if config.pagination is not None and config.pagination.strategy == "odata" else ""


def _request(call: _Call, step: Step) -> Request:
    config = call.config
    query = list(call.query)
    body = call.body
    if step.url is not None:
        named = {name for name, _ in call.proof.query}
        query = [pair for pair in call.proof.query if f"{pair[0]}=" not in step.url] if named else []
    else:
        query += call.proof.query
    if step.params and config.pagination is not None and config.pagination.place == "body":
        body = {**(body or {}), **dict(step.params)}
    elif step.params:
        named = {name for name, _ in step.params}
        query = [pair for pair in query if pair[0] not in named]
        query += [(name, str(value)) for name, value in step.params]
    from .conversions import json_text

    content = None if body is None else json_text(body).encode()
    url = call.url if step.url is None else step.url
    return Request(config.method, url, call.headers, tuple(query), content, config.timeout_s)


def _read(config: RestConfiguration, found: Pages, source: str) -> Mapping[str, pa.Table]:
    if config.format == "csv":
        import pyarrow as pa

        texts = [page.slices for page in found.pages if page.body]
        rows = typed_rows(texts, tuple(config.declared or ())) if texts else pa.table({})
        return finished(Flat({ROWS: rows}), declared=config.declared, contract=config.contract, source=source)
    slices = [record for page in found.pages for record in page.slices]
    return tables_of(slices, config.declared, config.contract, source, config.children)
