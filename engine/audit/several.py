"""The audits of several processes read as one: each has a chain of its own, and their lines come by time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .following import LOOK_S, Following, rest
from .reading import EVERYTHING, Filter, Lines, read_page, ts_of

Folders = Mapping[str, Path]  # by the names of the audits


@dataclass(frozen=True, slots=True)
class Pages:
    """A page, newest first. `before` is where the next page begins in each audit; None at the end of them all."""

    lines: tuple[dict[str, Any], ...]
    before: dict[str, int] | None


def read_pages(
    folders: Folders, wanted: Filter = EVERYTHING, *, limit: int = 100, before: Mapping[str, int] | None = None
) -> Pages:
    """`read_page` of them all. An audit that `before` does not name began after the first page, and is left out."""
    at: dict[str, int | None] = {name: None if before is None else before.get(name, 0) for name in folders}
    pages = {name: read_page(folder, wanted, limit=limit, before=at[name]) for name, folder in folders.items()}
    taken = dict.fromkeys(folders, 0)
    found: list[dict[str, Any]] = []
    while len(found) < limit:
        # Of one whose page is at its end, but not its audit, nobody knows how new the next line is.
        if any(taken[name] == len(page.lines) and page.before is not None for name, page in pages.items()):
            break
        left = [name for name, page in pages.items() if taken[name] < len(page.lines)]
        if not left:
            return Pages(tuple(found), None)
        newest = max(left, key=lambda name: pages[name].lines[taken[name]].get("ts") or "")
        found.append(pages[newest].lines[taken[newest]])
        taken[newest] += 1
    following = {name: _next(page, taken[name], at[name]) for name, page in pages.items()}
    return Pages(tuple(found), following if any(following.values()) else None)


def _next(page: Lines, taken: int, at: int | None) -> int:
    """Before which line of an audit the next page begins; 0: it has been read."""
    if taken == len(page.lines):
        return page.before or 0
    if taken:
        return int(page.lines[taken - 1]["seq"])
    return int(page.lines[0]["seq"]) + 1 if at is None else at


def by_time(lines: Iterable[bytes]) -> list[bytes]:
    return sorted(lines, key=ts_of)


def follow_all(
    find: Callable[[], Folders], seen: Mapping[str, bytes], go_on: Callable[[], bool] = rest
) -> Iterator[bytes]:
    """Each line after those `seen`, for as long as `go_on` (called when none is left) says so.

    `find` is asked for the audits about once a second: one that begins meanwhile is followed from its first line.
    """
    following = {name: Following(folder, seen.get(name, b"")) for name, folder in find().items()}
    looks = 0
    try:
        while True:
            yield from by_time(line for one in following.values() for line in one.lines())
            if not go_on():
                return
            looks += 1
            if looks * LOOK_S >= 1:
                looks = 0
                for name, folder in find().items():
                    if name not in following:
                        following[name] = Following(folder, b"")
    finally:
        for one in following.values():
            one.close()
