"""Whole answers of which an agent was given a part: kept for a while, for the caller that they were given to."""

from __future__ import annotations

from ..engine.kept_values import NAME, ValueStore
from ..nodes.blocking import in_thread
from .app import App
from .served import Caller


class KeptAnswers:
    """JSON texts, in the folder of the app's results."""

    def __init__(self, app: App) -> None:
        self._store = ValueStore(app.settings.state / "results", ttl_s=app.settings["result.ttl_s"])

    async def keep(self, caller: Caller, text: str) -> str:
        """The name to read it by."""
        return await in_thread(lambda: self._store.keep(text, caller.principal))

    async def read(self, caller: Caller, name: str) -> str:
        """Raises RESULT_EXPIRED when it is gone, or was given to another."""
        return await in_thread(lambda: self._store.read(name, caller.principal))

    def names(self, name: str) -> bool:
        """Whether a name is one of a kept text, rather than of kept rows."""
        return NAME.fullmatch(name) is not None
