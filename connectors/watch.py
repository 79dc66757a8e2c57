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
from typing import Any, Final

import anyio
import anyio.to_thread

from ..graphs.errors import JackfieldError
from ..graphs.findings import Finding, Place, Severity, has_errors
from .catalog import Catalog, PathLike, assemble, discover
from .formats.base import Reading
from .model import Connector
from .reading import read_file
from .versions import changed_without_bump

POLL_S: Final = 1.0  # where nothing tells us: an edit is live within 2 s
POLL_WHEN_TOLD_S: Final = 10.0  # where we are told, but a network folder may never tell: well within 30 s
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
        told = _Told()
        async with anyio.create_task_group() as tasks:
            for folder, recursive in self._folders().items():
                tasks.start_soon(told.listen, folder, recursive)
            while True:
                await told.wait()
                if await anyio.to_thread.run_sync(self.refresh):
                    await on_change(self.catalog)

    def _folders(self) -> dict[Path, bool]:
        """The folders to listen to, and whether what lies deeper matters."""
        found = {path: True for path in self._paths if path.is_dir()}
        for path in self._paths:
            if glob.has_magic(path.name) and path.parent.is_dir():
                found.setdefault(path.parent, False)
        for file, held in self._held.items():
            if held.named:
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
        if not held.named:
            del self._held[path]
            return True
        if held.stamp == GONE:
            return False
        lost = Finding("FILE_UNREADABLE", Severity.ERROR, f"'{path.name}' is no longer there.", Place(str(path)))
        self._held[path] = replace(held, stamp=GONE, reading=_serving(held.good, (lost,)))
        return True

    def _assembled(self) -> Catalog:
        readings = {path: held.reading for path, held in self._held.items()}
        return assemble(readings, [path for path, held in self._held.items() if held.named])


class _Told:
    """Waits until the operating system tells of a change, or it is time to look without being told."""

    def __init__(self) -> None:
        self._event = anyio.Event()
        self._every = POLL_S

    async def wait(self) -> None:
        with anyio.move_on_after(self._every):
            await self._event.wait()
        self._event = anyio.Event()

    async def listen(self, folder: Path, recursive: bool) -> None:
        from watchfiles import awatch

        self._every = POLL_WHEN_TOLD_S
        try:
            # A cancelled watch ends when its thread next wakes by itself: after `rust_timeout` milliseconds.
            options: dict[str, Any] = {"debounce": 100, "step": 20, "rust_timeout": 400, "recursive": recursive}
            async for _ in awatch(folder, watch_filter=_is_json, **options):
                self._event.set()
        except (OSError, RuntimeError):  # no watches left, or a folder that went away: look every second instead
            pass
        self._every = POLL_S


def _is_json(change: object, path: str) -> bool:
    return path.endswith(".json")


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
