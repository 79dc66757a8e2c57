"""Listening to folders: waits until a file in them may have changed. What changed is for the watcher to find.

A listener hears of one folder as it was when it began; so each second is looked whether the folders are still the same,
and a folder that came, or took the place of another, is listened to anew.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.to_thread

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

LOOK_S: Final = 1.0  # where nothing tells us: an edit is live within 2 s
LOOK_WHEN_TOLD_S: Final = 10.0  # where we are told, but a network folder may never tell: well within 30 s


class Listening:
    """Listeners to `folders()`, each with whether what lies deeper matters; they live in `tasks`."""

    def __init__(self, tasks: TaskGroup, folders: Callable[[], Mapping[Path, bool]]) -> None:
        self._tasks = tasks
        self._folders = folders
        self._listeners: dict[Path, _Listener] = {}
        self._event = anyio.Event()
        self._looked = 0.0

    async def wait(self) -> None:
        """Return when it is time to look: something was heard, folders came or went, or nothing tells of changes."""
        while not await self._changed():
            with anyio.move_on_after(LOOK_S):
                await self._event.wait()
            if self._event.is_set() or anyio.current_time() - self._looked >= self._patience_s():
                break
        self._event = anyio.Event()
        self._looked = anyio.current_time()

    def _patience_s(self) -> float:
        deaf = not self._listeners or any(one.is_deaf for one in self._listeners.values())
        return LOOK_S if deaf else LOOK_WHEN_TOLD_S

    async def _changed(self) -> bool:
        """Let go of folders that went or were replaced, and listen to those that came. True: there were such."""
        wanted, stale = await anyio.to_thread.run_sync(self._compared)
        for folder in stale:
            self._listeners.pop(folder).end()
        for folder, listener in wanted.items():
            self._listeners[folder] = listener
            listener.start(self._tasks, self._hear)
        return bool(wanted or stale)

    def _compared(self) -> tuple[dict[Path, _Listener], list[Path]]:
        folders = self._folders()
        stale = [
            folder for folder, one in self._listeners.items() if one.deeper != folders.get(folder) or one.is_stale()
        ]
        new: dict[Path, _Listener] = {}
        for folder, deeper in folders.items():
            if folder in stale or folder not in self._listeners:
                try:
                    new[folder] = _Listener(folder, deeper)
                except OSError:
                    continue  # it is not there, or may not be read
        return new, stale

    def _hear(self) -> None:
        self._event.set()


class _Listener:
    """Hears of one folder. The descriptor keeps the number of its inode from being given to the one that follows."""

    def __init__(self, folder: Path, deeper: bool) -> None:
        """Raises OSError where there is no such folder."""
        self.deeper = deeper
        self.is_deaf = False
        self._folder = folder
        self._scope: anyio.CancelScope | None = None
        self._descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, self._descriptor)

    def is_stale(self) -> bool:
        """Whether the folder is another than the one that is listened to, or gone."""
        try:
            return not os.path.samestat(os.stat(self._folder), os.fstat(self._descriptor))
        except OSError:
            return True

    def start(self, tasks: TaskGroup, hear: Callable[[], None]) -> None:
        """Call `hear` at each change, until `end`."""
        self._scope = anyio.CancelScope()
        tasks.start_soon(self._listen, self._scope, hear)

    def end(self) -> None:
        if self._scope is not None:
            self._scope.cancel()

    async def _listen(self, scope: anyio.CancelScope, hear: Callable[[], None]) -> None:
        with scope:
            await self._listened(hear)

    async def _listened(self, hear: Callable[[], None]) -> None:
        from watchfiles import awatch

        # A cancelled watch ends when its thread next wakes by itself: after `rust_timeout` milliseconds.
        options: dict[str, Any] = {"debounce": 100, "step": 20, "rust_timeout": 400, "recursive": self.deeper}
        try:
            changes = awatch(self._folder, watch_filter=self._matters, **options)
            hear()  # what changed before the watch was set up is found by one more look
            async for _ in changes:
                hear()
        except (OSError, RuntimeError):  # no watches left, or a folder that went away: look every second instead
            pass
        self.is_deaf = True
        await anyio.sleep_forever()

    def _matters(self, change: object, path: str) -> bool:
        """JSON files and folders, but nothing hidden: the state of the workspace is written at each call."""
        inside = os.path.relpath(path, self._folder)
        if not inside.startswith(os.pardir) and any(part[:1] == "." != part for part in inside.split(os.sep)):
            return False
        return path.endswith(".json") or not os.path.splitext(path)[1] or os.path.isdir(path)
