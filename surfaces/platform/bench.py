"""Bench: what the platform tools work at: the app, the two folders that they may write to, and what was discovered."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import anyio

from ...connectors.discovery.found import Found
from ...graphs.errors import Code, JackfieldError
from ..app import App
from ..lookup import load_catalog

CONNECTORS: Final = "connectors"
DRAFTS: Final = ".drafts"  # below connectors/: hidden, so that nothing there is ever served
MOST_REMEMBERED: Final = 500


class Bench:
    """One for each served app.

    `publish` makes what the files now say live before it returns; without one, the app adopts a catalog read anew.
    """

    def __init__(self, app: App, publish: Callable[[], Awaitable[object]] | None = None) -> None:
        self.app = app
        self.deploying = anyio.Lock()
        self._publish = publish
        self._found: OrderedDict[tuple[str, str], Found] = OrderedDict()

    @property
    def workspace(self) -> Path:
        return self.app.settings.folder

    @property
    def connectors(self) -> Path:
        """Where connectors are deployed, and where the relative paths of a draft start."""
        return self.workspace / CONNECTORS

    def target(self, slug: str) -> Path:
        """The file that a connector with this slug is deployed to."""
        return self.connectors / f"{slug}.connector.json"

    async def publish(self) -> None:
        if self._publish is not None:
            await self._publish()
        else:
            self.app.adopt(load_catalog(self.app.paths, self.app.settings))

    def remember(self, principal: str, found: Found) -> None:
        """Keep what was discovered, for `build` to name it by its id; the oldest goes when there are too many."""
        self._found[(principal, found.id)] = found
        self._found.move_to_end((principal, found.id))
        while len(self._found) > MOST_REMEMBERED:
            self._found.popitem(last=False)

    def known(self, principal: str, id: str) -> Found | None:
        return self._found.get((principal, id))

    def recall(self, principal: str, id: str) -> Found:
        """What this principal discovered under `id`. Raises SCHEMA_NOT_FOUND with the known ids."""
        found = self._found.get((principal, id))
        if found is None:
            known = [name for owner, name in self._found if owner == principal]
            raise JackfieldError(
                Code.SCHEMA_NOT_FOUND,
                f"No source '{id}' has been discovered.",
                f"Discovered so far: {', '.join(known[-20:])}." if known else "Call elliot_discover_source first.",
                {"source_id": id, "available": known[-20:]},
            )
        return found
