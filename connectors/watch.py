"""Hot reload: a catalog that follows its files. The last good version of a file serves while a bad edit is reported.

Changes are told by the operating system where it can, and looked for every few seconds where it cannot (network
folders, containers). A new catalog replaces the old one whole; calls under way keep the one they began with.
"""

from __future__ import annotations

import glob
import os
import threading
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread

from ..graphs.errors import JackfieldError
from ..graphs.findings import Finding, Place, Severity, has_errors
from .catalog import Catalog, PathLike, assemble, discover
from .formats.base import Reading
from .listening import Listening
from .model import Connector
from .reading import read_file
from .versions import changed_without_bump

# Of a connector file and the graph files that it names: mtime, size and inode, for an editor may replace a file
# within one tick of the clock. None: the file is not there.
Stamp = tuple[tuple[int, int, int] | None, ...]
GONE: Final[Stamp] = ()


@dataclass(frozen=True, slots=True)
class _Held:
    stamp: Stamp
    named: bool
    reading: Reading | None
    good: Connector | None  # the last version that could be served


class Watcher:
    """Holds the `catalog` of some paths; `refresh` looks once, `run` keeps looking until it is cancelled."""

    def __init__(self, paths: PathLike | Iterable[PathLike], *, later: Iterable[PathLike] = ()) -> None:
        """Reads everything once. Raises CONFIG_INVALID for one of `paths` that is not there; `later` may come to be."""
        self._paths = [Path(p) for p in ([paths] if isinstance(paths, str | os.PathLike) else paths)]
        self._held: dict[Path, _Held] = {}
        self._looking = threading.Lock()
        present = discover(self._paths)
        # These a person gave: they are missed when they go. What a folder or a pattern holds comes and goes.
        self._given = frozenset(path for path in self._paths if path.is_file())
        self._paths += [Path(path) for path in later]
        for path, named in {**present, **self._present()}.items():
            self._held[path] = _first(path, named)
        self.catalog = self._assembled()

    def refresh(self) -> bool:
        """Read what changed since the last look. True: `catalog` is a new one. Any thread may ask."""
        with self._looking:
            return self._refreshed()

    def _refreshed(self) -> bool:
        present = self._present()
        changed = False
        for path in list(self._held):
            if path not in present:
                changed |= self._gone(path)
        for path, named in present.items():
            held = self._held.get(path)
            if held is None:
                self._held[path] = _first(path, named)
            elif held.stamp != _stamp(path, held.good):
                self._held[path] = _reread(path, held)
            else:
                continue
            changed = True
        if changed:
            self.catalog = self._assembled()
        return changed

    async def run(self, on_change: Callable[[Catalog], Awaitable[None]]) -> None:
        """Follow the files, and give each new catalog to `on_change`, until cancelled."""
        async with anyio.create_task_group() as tasks:
            listening = Listening(tasks, self._folders)
            while True:
                await listening.wait()
                if await anyio.to_thread.run_sync(self.refresh):
                    await on_change(self.catalog)

    def _folders(self) -> dict[Path, bool]:
        """The folders to listen to, whether they are there or not, and whether what lies deeper matters."""
        found: dict[Path, bool] = {}
        for path in self._paths:
            folder, deeper = _listened(path)
            found[folder] = found.get(folder, False) or deeper
        for held in list(self._held.values()):
            for file in held.good.graph_files if held.good else ():
                found.setdefault(file.parent, False)
        return found

    def _present(self) -> dict[Path, bool]:
        found: dict[Path, bool] = {}
        for path in self._paths:
            try:
                for file, named in discover(path).items():
                    found.setdefault(file, named)
            except JackfieldError:
                continue  # it was there at the start: moved away, or in the middle of being replaced
        return found

    def _gone(self, path: Path) -> bool:
        held = self._held[path]
        if path not in self._given:
            del self._held[path]
            return True
        if held.stamp == GONE:
            return False
        lost = Finding("FILE_UNREADABLE", Severity.ERROR, f"'{path.name}' is no longer there.", Place(str(path)))
        self._held[path] = replace(held, stamp=GONE, reading=_serving(held.good, (lost,)))
        return True

    def _assembled(self) -> Catalog:
        there = {held.good.slug for held in self._held.values() if held.good and held.stamp != GONE}
        readings = {path: _yielding(held, there) for path, held in self._held.items()}
        return assemble(readings, [path for path, held in self._held.items() if held.named])


def _listened(path: Path) -> tuple[Path, bool]:
    """The folder in which `path` shows that it changed, and whether what lies deeper in it matters."""
    if path.is_dir():
        return path, True
    folder, deeper = path.parent, False
    while glob.has_magic(str(folder)):
        folder, deeper = folder.parent, True
    return folder, deeper or "**" in path.name


def _yielding(held: _Held, there: Iterable[str]) -> Reading | None:
    """What is served of a file: of one that is gone nothing, where another that is there has its slug."""
    if held.stamp == GONE and held.reading and held.good and held.good.slug in there:
        return Reading(None, held.reading.findings)
    return held.reading


def _stamp(path: Path, connector: Connector | None) -> Stamp:
    return tuple(_stamp_of(file) for file in (path, *(connector.graph_files if connector else ())))


def _stamp_of(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _first(path: Path, named: bool) -> _Held:
    stamp = _stamp(path, None)  # before it is read: what changes meanwhile is then seen at the next look
    reading = read_file(path)
    connector = None if reading is None else reading.connector
    return _Held(stamp + _stamp(path, connector)[1:], named, reading, connector)


def _reread(path: Path, held: _Held) -> _Held:
    good = held.good
    stamp = _stamp(path, None)
    reading = read_file(path)
    if reading is None or reading.connector is None:
        findings = () if reading is None else reading.findings
        kept = _serving(good, findings) if good or findings else None
        return _Held(stamp + _stamp(path, good)[1:], held.named, kept, good)
    connector = reading.connector
    stamp += _stamp(path, connector)[1:]
    if good is not None and connector.digest == good.digest and not connector.graph_files:
        return _Held(stamp, held.named, Reading(good, reading.findings), good)
    broken = uncompilable(connector)
    if good is not None and has_errors(broken):
        stamp = stamp[:1] + _stamp(path, good)[1:]
        return _Held(stamp, held.named, _serving(good, (*reading.findings, *broken)), good)
    notes = () if good is None else changed_without_bump(good, connector)
    return _Held(stamp, held.named, Reading(connector, (*reading.findings, *broken, *notes)), connector)


def _serving(good: Connector | None, findings: Iterable[Finding]) -> Reading:
    """The last good version, if there is one, and why the file as it stands is not served."""
    findings = tuple(findings)
    if good is not None:
        kept = f"Version {good.version} as it was before the edit stays in service."
        findings = tuple(replace(f, hint=f"{f.hint} {kept}".strip()) for f in findings)
    return Reading(good, findings)


def uncompilable(connector: Connector) -> tuple[Finding, ...]:
    """An error for each tool whose graph cannot be made."""
    found = []
    for tool in connector.tools.values():
        try:
            _ = tool.graph
        except JackfieldError as error:
            place = Place(str(connector.path or ""), tool.pointer)
            found.append(Finding(error.code.value, Severity.ERROR, error.message, place, error.hint, subject=tool.id))
    return tuple(found)
