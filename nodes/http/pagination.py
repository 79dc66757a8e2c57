"""Pages of one pull. Where pages can be computed (`page`, `offset`) about eight are under way at once; else each names
the next. However they come, their order is the order of the API.

A page that is shorter than `page_size` is the last one only if the size was really asked for (`size_param`,
`limit_param`): an API that gives fewer than it is asked for would lose rows silently. Without it, pages follow until
one is empty or shorter than the first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from urllib.parse import urljoin, urlsplit

import anyio
from pydantic import AliasChoices, ConfigDict, Field, model_validator

from ...graphs.errors import Code, JackfieldError
from ..base import Configuration, Response
from ..datapath import value_at, value_of

IN_FLIGHT: Final = 8
_LINK: Final = re.compile(r"<([^>]*)>((?:\s*;\s*[\w*-]+\s*=\s*(?:\"[^\"]*\"|[^\s,;]*))*)")
_NEXT: Final = re.compile(r";\s*rel\s*=\s*\"?(?:[^\";]*\s)?next(?=[\s\";]|$)", re.IGNORECASE)
_STRATEGY_OF: Final = {
    "cursor_param": "cursor",
    "cursor_field": "cursor",
    "next_url_field": "next_url",
    "offset_param": "offset",
    "page_param": "page",
}


class Pagination(Configuration):
    """How the pages after the first are found."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    strategy: Literal["none", "cursor", "next_url", "offset", "page", "link_header", "odata"] = Field(
        "none",
        description="What leads to the next page: its number (`page`), the records to skip (`offset`), a value or an "
        "address in the reply (`cursor`, `next_url`, `odata`) or its Link header; `none` reads one page, and the other "
        "fields need a strategy",
    )
    page_size: int = Field(100, gt=0, description="Records in one page")
    max_pages: int = Field(100, gt=0, description="Pages at most; the result says when more were there")
    page_param: str = Field("page", description="Parameter of `page` that carries the page's number")
    size_param: str | None = Field(None, description="Parameter that asks for `page_size` records")
    offset_param: str = Field("offset", description="Parameter of `offset` that carries the records to skip")
    limit_param: str | None = Field(None, description="Parameter that asks for `page_size` records")
    cursor_param: str = Field("cursor", description="Parameter of `cursor` that carries the cursor")
    cursor_field: str | None = Field(
        None,
        validation_alias=AliasChoices("cursor_field", "cursor_path"),
        description="Where the reply has the next cursor; absent: `next_cursor`",
    )
    next_url_field: str | None = Field(None, description="Where the reply has the next address; absent: `next`")
    start: int | None = Field(None, ge=0, description="Number of the first page (1), or first offset (0)")
    total_field: str | None = Field(None, description="Where the reply says how many records there are")
    total_header: str | None = Field(None, description="Header that says how many records there are")
    place: Literal["query", "body"] = Field("query", alias="in", description="Where parameters of pages are sent")

    @model_validator(mode="after")
    def _says_how(self) -> Pagination:
        """Without a strategy one page would be read, and nothing would say that there are more."""
        given = self.model_fields_set
        if given and "strategy" not in given:
            likely = next((strategy for field, strategy in _STRATEGY_OF.items() if field in given), "page")
            raise ValueError(
                f"pagination has {', '.join(sorted(given))} and no strategy, so that only one page would be read: "
                f'add "strategy": "{likely}", or "none" where one page is all'
            )
        return self

    @property
    def asks_size(self) -> str | None:
        return self.size_param or self.limit_param


@dataclass(frozen=True, slots=True)
class Step:
    """What to ask for one page: parameters to add, or the whole URL."""

    params: tuple[tuple[str, int | str], ...] = ()
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """One reply, and its records as the format reads them (`slices`: a list of them, or a table)."""

    response: Response
    body: bytes
    slices: Any


@dataclass(slots=True)
class Pages:
    """`capped`: there is more than `max_pages` gave."""

    pages: list[Page] = field(default_factory=list)
    rows: int = 0
    capped: bool = False

    def add(self, page: Page) -> None:
        self.pages.append(page)
        self.rows += len(page.slices)


Fetch = Callable[[Step], Awaitable[Page]]


async def pull_pages(config: Pagination | None, fetch: Fetch, source: str, limit: int | None = None) -> Pages:
    """Every page, or those that hold the first `limit` records. Raises SOURCE_BAD_REPLY when pages go in circles."""
    if config is None or config.strategy == "none":
        found = Pages()
        found.add(await fetch(Step()))
        return found
    size = config.page_size if limit is None else max(1, min(config.page_size, limit))
    if config.strategy in ("page", "offset"):
        return await _computed(config, fetch, source, size, limit)
    return await _followed(config, fetch, source, size, limit)


async def _followed(config: Pagination, fetch: Fetch, source: str, size: int, limit: int | None) -> Pages:
    """Pages that name the next one."""
    found = Pages()
    asked: tuple[tuple[str, int | str], ...] = ((config.asks_size, size),) if config.asks_size else ()
    step = Step(asked)
    seen: set[str | int] = set()
    while True:
        page = await fetch(step)
        found.add(page)
        mark = _next_mark(config, page)
        if mark is None or (limit is not None and found.rows >= limit):
            return found
        if config.strategy != "cursor":
            mark = _same_origin(page.response.url, str(mark), source)
        if mark in seen:
            raise _circle(source, f"page {len(found.pages)} leads to a page that was read already", config)
        if len(found.pages) >= config.max_pages:
            found.capped = True
            return found
        seen.add(mark)
        step = Step((*asked, (config.cursor_param, mark))) if config.strategy == "cursor" else Step(url=str(mark))


async def _computed(config: Pagination, fetch: Fetch, source: str, size: int, limit: int | None) -> Pages:
    """Pages by number: the first alone, for what it tells of size and total; then more and more side by side."""
    found = Pages()
    first = await fetch(_step(config, 0, size, size))
    found.add(first)
    stride = len(first.slices) if not config.asks_size else max(size, len(first.slices))
    total = _total(config, first)
    pages = config.max_pages
    if total is not None and stride:
        pages = min(pages, math.ceil(total / stride))
    if limit is not None and stride:
        pages = min(pages, math.ceil(limit / stride))

    def is_last(page: Page) -> bool:
        if limit is not None and found.rows >= limit:
            return True
        if total is not None:
            return found.rows >= total or not page.slices
        return not page.slices or (len(page.slices) < stride and (page is not first or config.asks_size is not None))

    if is_last(first):
        return found
    steps = (_step(config, number, size, stride) for number in range(1, pages))
    width = IN_FLIGHT if total is not None else 1
    async with _Ahead(fetch, steps, width) as ahead:
        while (page := await ahead.next()) is not None:
            if len(found.pages) == 1 and page.slices and _alike(first, page):
                ahead.failure = _circle(source, "page 2 holds the very records of page 1", config)
                break
            found.add(page)
            if is_last(page):
                return found
    if ahead.failure is not None:
        raise ahead.failure
    found.capped = len(found.pages) >= config.max_pages and not is_last(found.pages[-1])
    return found


class _Ahead:
    """Fetches steps side by side, gives pages in order, and drops what is under way when no more are wanted.

    How many are under way doubles with each page that came, so that a source of one page is not asked for eight.
    """

    def __init__(self, fetch: Fetch, steps: Iterator[Step], width: int) -> None:
        self._fetch, self._steps, self._width = fetch, steps, width
        self._under_way: list[_Slot] = []
        self._group = anyio.create_task_group()
        self.failure: JackfieldError | None = None

    async def __aenter__(self) -> _Ahead:
        await self._group.__aenter__()
        return self

    async def __aexit__(self, *exception: Any) -> bool | None:
        self._group.cancel_scope.cancel()
        return await self._group.__aexit__(*exception)

    async def next(self) -> Page | None:
        """The next page; None at the end, or when it failed (`failure`), which is not raised inside the group."""
        while len(self._under_way) < self._width and (step := next(self._steps, None)) is not None:
            slot = _Slot()
            self._under_way.append(slot)
            self._group.start_soon(self._fill, slot, step)
        if not self._under_way:
            return None
        slot = self._under_way.pop(0)
        await slot.done.wait()
        self.failure = slot.failure
        self._width = min(IN_FLIGHT, self._width * 2)
        return slot.page

    async def _fill(self, slot: _Slot, step: Step) -> None:
        try:
            slot.page = await self._fetch(step)
        except JackfieldError as error:
            slot.failure = error
        slot.done.set()


class _Slot:
    def __init__(self) -> None:
        self.done = anyio.Event()
        self.page: Page | None = None
        self.failure: JackfieldError | None = None


def _step(config: Pagination, number: int, size: int, stride: int) -> Step:
    if config.strategy == "page":
        place: tuple[str, int] = (config.page_param, number + (1 if config.start is None else config.start))
    else:
        place = (config.offset_param, number * stride + (config.start or 0))
    return Step((place, (config.asks_size, size)) if config.asks_size else (place,))


def _total(config: Pagination, page: Page) -> int | None:
    found: Any = None
    if config.total_header:
        found = page.response.headers.get(config.total_header.lower())
    elif config.total_field:
        found = value_at(page.body, config.total_field)
    try:
        return None if found is None or isinstance(found, bool) else int(found)
    except (ValueError, TypeError):
        return None


def _next_mark(config: Pagination, page: Page) -> str | int | None:
    """The cursor or the address of the next page; None when this was the last."""
    found: Any
    match config.strategy:
        case "cursor":
            found = value_at(page.body, config.cursor_field or "next_cursor")
        case "next_url":
            found = value_at(page.body, config.next_url_field or "next")
        case "odata":
            found = value_of(page.body, "@odata.nextLink") or value_of(page.body, "odata.nextLink")
        case _:
            found = next_link(page.response.headers.get("link", ""))
    if found is None or found == "" or found is False:
        return None
    return found if isinstance(found, int) else str(found)


def next_link(header: str) -> str | None:
    """The address that a Link header gives the relation `next`."""
    return next((address for address, rest in _LINK.findall(header) if _NEXT.search(rest)), None)


def _same_origin(base: str, link: str, source: str) -> str:
    """The address, absolute. Another origin is refused: our credentials would go there."""
    url = urljoin(base, link)
    try:
        here, there = urlsplit(base), urlsplit(url)
        same = (here.scheme, here.hostname, here.port) == (there.scheme, there.hostname, there.port)
        same = same and there.username is None
    except ValueError:
        same = False
    if not same:
        raise JackfieldError(
            Code.SOURCE_BAD_REPLY,
            f"Source '{source}' names a next page at another origin, where its credentials must not go.",
            "Write the API's own scheme, host and port into `url`.",
            {"source": source},
        )
    return url


def _alike(one: Page, other: Page) -> bool:
    a, b = one.slices, other.slices
    if not isinstance(a, Sequence):
        return bool(a.equals(b))
    return len(a) == len(b) and all(bytes(x) == bytes(y) for x, y in zip(a, b, strict=True))


def _circle(source: str, found: str, config: Pagination) -> JackfieldError:
    field_names = {"cursor": "cursor_param and cursor_field", "page": "page_param", "offset": "offset_param"}
    look = field_names.get(config.strategy, "next_url_field")
    return JackfieldError(
        Code.SOURCE_BAD_REPLY,
        f"The pages of source '{source}' go in circles: {found}.",
        f"Check `{look}` of its pagination: the API seems not to know it.",
        {"source": source, "strategy": config.strategy},
    )
