"""Files that are open for reading, and the paths by which other libraries read just what was opened."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self

from .confine import FOLDER_FLAGS, Located, open_file, path_below, path_of
from .ending import Ending

HELD: Final = 256
MOST_HELD: Final = 10_000


@dataclass(frozen=True, slots=True)
class Opened:
    """Confined files. `paths` may be read until `close`; `texts` are how messages name them."""

    places: tuple[Located, ...]
    descriptors: tuple[int, ...]
    paths: tuple[str, ...]
    size: int
    stamp: str  # changes when the files do
    ending: Ending = field(default_factory=Ending, compare=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def text(self) -> str:
        return (
            self.places[0].text if len(self.places) == 1 else f"{self.places[0].text} and {len(self.places) - 1} more"
        )

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(place.text for place in self.places)

    @property
    def gzipped(self) -> bool:
        return self.places[0].name.lower().endswith(".gz")

    def close(self) -> None:
        for descriptor in self.descriptors:
            os.close(descriptor)

    def named(self, message: str) -> str:
        """`message` of a library, with the files named as their author named them."""
        for path, text in zip(self.paths, self.texts, strict=True):
            message = message.replace(path, text)
        return message


def open_all(places: Sequence[Located]) -> Opened:
    """Open each file. Raises as `open_file`; then none stays open.

    Of more files than a process may well hold open, each is opened and checked once, and then read by its name below
    its root, which stays open.
    """
    many = len(places) > held()
    descriptors: list[int] = []
    facts: list[os.stat_result] = []
    try:
        for place in places:
            descriptors.append(open_file(place))
            facts.append(os.fstat(descriptors[-1]))
            if many:
                os.close(descriptors.pop())
        if many:
            roots = {}
            for root in {place.root for place in places}:
                roots[root] = os.open(root, FOLDER_FLAGS)
                descriptors.append(roots[root])
            paths = tuple(path_below(roots[place.root], place) for place in places)
        else:
            paths = tuple(path_of(d, place) for d, place in zip(descriptors, places, strict=True))
    except BaseException:
        for descriptor in descriptors:
            os.close(descriptor)
        raise
    stamp = ";".join(
        f"{place.path}:{fact.st_ino}:{fact.st_size}:{fact.st_mtime_ns}{logs(place)}"
        for place, fact in zip(places, facts, strict=True)
    )
    return Opened(tuple(places), tuple(descriptors), paths, sum(fact.st_size for fact in facts), stamp)


def held() -> int:
    """How many files one source may hold open."""
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(HELD, min(soft // 4, MOST_HELD))


def logs(place: Located) -> str:
    """What changes when a database writes into the log beside its file, and the file stays as it was."""
    found = (place.path.with_name(place.name + suffix) for suffix in ("-wal", "-journal", ".wal"))
    facts = [path.stat() for path in found if path.exists()]
    return "".join(f"+{fact.st_size}:{fact.st_mtime_ns}" for fact in facts)


def contents(files: Opened) -> Iterator[Any]:
    """Each file from its beginning, decompressed."""
    are_held = len(files.descriptors) == len(files.places)
    for place, path in zip(files.places, files.paths, strict=True):
        with open(path if are_held else open_file(place), "rb") as raw:
            if files.gzipped:
                with gzip.GzipFile(fileobj=raw) as unpacked:
                    yield unpacked
            else:
                yield raw
