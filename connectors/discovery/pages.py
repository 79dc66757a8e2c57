"""How further pages are found, guessed from one reply: its Link header, the fields around its records, its address.

A guess is tried before it is believed: `guesses` gives them likeliest first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from ...graphs.model import Json
from ...nodes.http.pagination import next_link
from .envelope import path_of

DEEPEST: Final = 3
MAX_PAGES: Final = 100
NEXT_ADDRESS: Final = frozenset(
    ("next", "next_url", "nexturl", "next_page_url", "nextpageurl", "nextlink", "next_link", "next_href", "next_page")
)
# The field that holds a cursor, in lower case without `_`, to the parameters that may carry it.
CURSORS: Final[Mapping[str, tuple[str, ...]]] = {
    "nextcursor": ("cursor",),
    "cursor": ("cursor",),
    "endcursor": ("after", "cursor"),
    "after": ("after",),
    "nextpagetoken": ("page_token", "pageToken"),
    "pagetoken": ("page_token", "pageToken"),
    "nexttoken": ("next_token", "nextToken", "NextToken"),
    "continuationtoken": ("continuation_token", "continuationToken"),
    "continuation": ("continuation",),
    "scrollid": ("scroll_id",),
    "next": ("cursor", "_next", "next", "page", "offset"),
    "nextpage": ("page",),
    "nextoffset": ("offset",),
}
TOTALS: Final = frozenset(
    ("total", "totalcount", "count", "totalresults", "totalrecords", "totalitems", "totalelements")
)
TOTAL_HEADERS: Final = ("x-total-count", "x-wp-total", "x-total", "total-count", "x-pagination-total-count")
PAGE_FIELDS: Final = frozenset(("page", "currentpage", "pagenumber", "pageno"))
OFFSET_FIELDS: Final = frozenset(("offset", "skip", "start"))
SIZE_FIELDS: Final = frozenset(("perpage", "pagesize", "limit", "size", "itemsperpage"))
COUNT_FIELDS: Final = frozenset(("totalpages", "pages", "lastpage", "pagecount"))
NUMBER: Final = re.compile(r"[0-9]{1,15}")
ROUND: Final = frozenset((10, 20, 25, 30, 50, 100, 200, 250, 500, 1000))


@dataclass(frozen=True, slots=True)
class Around:
    """The values around the records of a reply, by (keys, value); none of a record."""

    fields: tuple[tuple[tuple[str, ...], Json], ...]

    def first(self, names: frozenset[str], kind: type | tuple[type, ...]) -> tuple[tuple[str, ...], Any] | None:
        for keys, value in self.fields:
            if _plain(keys[-1]) in names and isinstance(value, kind) and not isinstance(value, bool):
                return keys, value
        return None


def around(document: Any) -> Around:
    return Around(tuple(_values(document, ()))) if isinstance(document, Mapping) else Around(())


def guesses(url: str, headers: Mapping[str, str], document: Any, count: int) -> tuple[dict[str, Json], ...]:
    """Pagination objects of a source, likeliest first. `count` is how many records the reply holds."""
    fields = around(document)
    found = [*_named_next(headers, fields), *_cursors(url, fields), *_computed(url, fields, count)]
    unique: list[dict[str, Json]] = []
    for guess in found:
        if guess not in unique:
            unique.append(guess)
    return tuple(unique)


def total_of(headers: Mapping[str, str], document: Any) -> int | None:
    """How many records there are in all, where the reply says so."""
    for name in TOTAL_HEADERS:
        if NUMBER.fullmatch(headers.get(name, "")):
            return int(headers[name])
    found = around(document).first(TOTALS - {"count"}, int) or around(document).first(TOTALS, int)
    return None if found is None else int(found[1])


def may_be_cut(count: int, guessed: bool) -> bool:
    """Whether a reply that names no further page holds just as many records as a first page would."""
    return not guessed and count in ROUND


def _values(value: Mapping[str, Any], keys: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Json]]:
    nested = []
    for key, held in value.items():
        here = (*keys, str(key))
        if isinstance(held, Mapping):
            nested.append((held, here))
        elif not isinstance(held, list):
            yield here, held
    for held, here in nested:
        if len(here) < DEEPEST:
            yield from _values(held, here)


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def _named_next(headers: Mapping[str, str], fields: Around) -> Iterator[dict[str, Json]]:
    """The reply has the address of the next page."""
    for keys, value in fields.fields:
        if keys in (("@odata.nextLink",), ("odata.nextLink",)) and isinstance(value, str):
            yield _strategy("odata")
    if next_link(headers.get("link", "")) is not None:
        yield _strategy("link_header")
    for keys, value in fields.fields:
        last, before = keys[-1].lower(), (keys[-2].lower() if len(keys) > 1 else "")
        named = last in NEXT_ADDRESS or (last == "href" and before == "next")
        if named and (_is_address(value) or (value is None and last != "next_page" and _has_total(fields))):
            yield _strategy("next_url", next_url_field=path_of(keys))


def _is_address(value: Json) -> bool:
    return isinstance(value, str) and (value.startswith(("http://", "https://", "/", "?")))


def _has_total(fields: Around) -> bool:
    return fields.first(TOTALS, int) is not None


def _cursors(url: str, fields: Around) -> Iterator[dict[str, Json]]:
    """The reply has a value that leads on, and a parameter carries it."""
    given = [name for name, _ in parse_qsl(urlsplit(url).query, keep_blank_values=True)]
    for keys, value in fields.fields:
        names = CURSORS.get(_plain(keys[-1]))
        if names is None or isinstance(value, bool | float) or _is_address(value):
            continue
        if value is None and not _plain(keys[-1]).startswith("next"):
            continue
        if value is None and _plain(keys[-1]) in ("next", "nextpage"):
            continue
        own = (keys[-1],) if _plain(keys[-1]).startswith("next") and _plain(keys[-1]) != "next" else ()
        for name in dict.fromkeys([*(n for n in names if n in given), *_styled(keys[-1], names), *own]):
            yield _strategy("cursor", cursor_param=name, cursor_field=path_of(keys))


def _styled(field: str, names: tuple[str, ...]) -> list[str]:
    """The parameters, those first that are spelled as the field is: `nextPageToken` goes with `pageToken`."""
    camel = "_" not in field and field != field.lower()
    return sorted(names, key=lambda name: ("_" not in name) != camel if len(names) > 1 else False)


def _computed(url: str, fields: Around, count: int) -> Iterator[dict[str, Json]]:
    """The reply says which page it is, or how many records it skipped."""
    given = [name for name, _ in parse_qsl(urlsplit(url).query, keep_blank_values=True)]
    size = fields.first(SIZE_FIELDS, int)
    total = fields.first(TOTALS - {"count"}, int) or fields.first(frozenset(("count",)), int)
    extra: dict[str, Json] = {}
    if total is not None and total[1] > count:
        extra["total_field"] = path_of(total[0])
    asked = next((name for name in given if _plain(name) in SIZE_FIELDS), None) or (size[0][-1] if size else None)
    if size is not None and size[1] > 0:
        extra["page_size"] = int(size[1])
    elif count:
        extra["page_size"] = count
    offset, page = fields.first(OFFSET_FIELDS, int), fields.first(PAGE_FIELDS, int)
    if page is not None or fields.first(COUNT_FIELDS, int) is not None:
        param = next((name for name in given if _plain(name) in PAGE_FIELDS), page[0][-1] if page else "page")
        start: dict[str, Json] = {"start": 0} if page is not None and page[1] == 0 else {}
        if asked:
            yield _strategy("page", page_param=param, size_param=asked, **extra, **start)
        yield _strategy("page", page_param=param, **extra, **start)
    if offset is not None or any(_plain(name) in OFFSET_FIELDS for name in given):
        param = next((name for name in given if _plain(name) in OFFSET_FIELDS), offset[0][-1] if offset else "offset")
        yield _strategy("offset", offset_param=param, limit_param=asked or "limit", **extra)
    elif page is None and "total_field" in extra:
        yield _strategy("page", page_param="page", **extra)
        yield _strategy("offset", offset_param="offset", limit_param=asked or "limit", **extra)


def _strategy(strategy: str, **fields: Json) -> dict[str, Json]:
    return {"strategy": strategy, **fields, "max_pages": MAX_PAGES}
